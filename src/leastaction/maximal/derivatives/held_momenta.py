"""Joint momenta between two steps of order 2 with contacts, on the way back: what of the contacts' impulses they have.

Where loops are closed or motions prescribed, these hold the momenta with that share once more, see
`joint_momenta.read_contact_momenta`. Gradients by q and p there are brought to the state before the matrix of the step
is factorised, for both need the room of the graph.
"""

from leastaction._jit import routine
from leastaction.contact import cones as ip
from leastaction.maximal.coordinates.recover import read_momenta
from leastaction.maximal.derivatives.joint_gradients import copy_bars, read_bars
from leastaction.maximal.derivatives.row_cotangents import project_back
from leastaction.maximal.step.judgement import share_of_cones
from leastaction.maximal.step.projection import hold_joints

TOLD = 1e-6
"""Largest difference of joint momenta to those of the run, relative to one and the largest (as `replay.TOLD`)."""


@routine(allocates=False)
def reads(b):
    """Whether any entry is not zero."""
    largest = 0.0
    for i in range(b.shape[0]):
        largest = max(largest, abs(b[i]))
    return largest > 0.0


@routine(allocates=False)
def push_of_cones(bodies, settings, data, contact, pushed, dt):
    """Impulses of the cones on the bodies, into `pushed`; the share of them in p at the start of the step."""
    for i in range(pushed.shape[0]):
        for j in range(6):
            pushed[i, j] = 0.0
    if contact is None:
        return 0.0
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        normal = 0.0 if c.kind >= ip.DRY else c.gam
        for i in range(6):
            if c.a >= 0:
                pushed[c.a, i] += normal * c.da[i] + c.beta[0] * c.da[6 + i] + c.beta[1] * c.da[12 + i]
            if c.b >= 0:
                pushed[c.b, i] += normal * c.db[i] + c.beta[0] * c.db[6 + i] + c.beta[1] * c.db[12 + i]
    if contact.now[0].count == 0 or settings.halves == 1.0:
        return 0.0
    return share_of_cones(bodies, data.bodies, settings.gravity, dt)


@routine(allocates=False)
def read_held(loops, model, settings, data, contact, back, k, j):
    """Gradients by the momenta and poses before step k from those by q and p there, into `back.asked`.

    `back.holds` tells whether that was to be done. Gives back whether all is well: not where p is none that this knows,
    as where forces press on contacts; nor with parameters, on which what holds the momenta depends, too.
    """
    back.holds[0] = 0
    if loops is None or contact is None:
        return True
    if j > 0 or settings.halves == 1.0 or (k == 0 and back.first_row) or not reads(back.bp[k]):
        return True
    if contact.now[0].count == 0:
        return True
    states, dt = data.bodies, back.lengths[back.begins[k]]
    share = push_of_cones(model.bodies, settings, data, contact, back.pushed, dt)
    if share > 0.0 and back.slots.y.shape[0] > 0:
        return False
    for i in range(states.shape[0]):
        for c in range(6):
            back.push[i, c] = states[i].P[c]
            states[i].P[c] += share * back.pushed[i, c]
    if share > 0.0:
        for i in range(states.shape[0]):
            for c in range(6):
                back.read[i, c] = states[i].P[c]
        hold_joints(model, data, contact.now[0].count < 0, loops)  # False, but no literal
    read_momenta(model.bodies, model.coordinates, states, data.subtrees, back.momenta_there)
    well = is_told(back.momenta_there, back.p[k])
    if well and share > 0.0:
        copy_bars(back.bars, back.aside)
        read_bars(model, data, back, back.bq[k], back.bp[k])
        for i in range(states.shape[0]):
            for c in range(6):
                states[i].P[c] = back.read[i, c]
        well = project_back(model, data, back)
        copy_bars(back.bars, back.asked)
        copy_bars(back.aside, back.bars)
        back.holds[0] = 1
    for i in range(states.shape[0]):
        for c in range(6):
            states[i].P[c] = back.push[i, c]
    return well


@routine(allocates=False)
def is_told(found, p):
    """Whether joint momenta are those that the run tells."""
    off = most = 0.0
    for i in range(p.shape[0]):
        off, most = max(off, abs(found[i] - p[i])), max(most, abs(p[i]))
    return off <= TOLD * (1.0 + most)
