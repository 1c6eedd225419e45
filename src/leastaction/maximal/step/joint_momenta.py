"""Joint momenta between two steps with contacts: what of the contacts' impulses belongs to them."""

from leastaction._jit import routine
from leastaction.contact.cones import DRY
from leastaction.maximal.coordinates.recover import read_momenta
from leastaction.maximal.step.body_states import swap_momenta
from leastaction.maximal.step.pressed import (
    add_cones_impulses,
    hold_pressed,
    make_stiff,
    presses,
    presses_at_end,
    renew_wrenches,
)
from leastaction.maximal.step.projection import hold_joints

NOTHING = 1e-12
"""Share of the momenta that impulses of cones may add unnoticed: those of open contacts."""


@routine(allocates=False)
def bears_load(bodies, settings, contact):
    """Whether a cone gives a body more than a tenth of what gravity does in a step."""
    speed = settings.gravity * settings.dt
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        body = bodies[max(c.a, c.b)]
        least = 0.1 * speed * body.mass
        row = 9 if c.kind == DRY else 3
        if c.source < 0 and c.db[row] == 0.0 and c.db[row + 1] == 0.0 and c.db[row + 2] == 0.0:  # an angle's
            least *= body.radius
        if max(0.0 if c.kind >= DRY else c.gam, abs(c.beta[0]), abs(c.beta[1])) > least:
            return True
    return False


@routine(allocates=False)
def are_pushed(states, before):
    """Whether momenta are other than `before`, shape (bodies, 6), by more than `NOTHING`."""
    change = most = 0.0
    for i in range(states.shape[0]):
        for c in range(6):
            change = max(change, abs(states[i].P[c] - before[i, c]))
            most = max(most, abs(states[i].P[c]))
    return change > NOTHING * most


@routine(allocates=False)
def read_contact_momenta(model, settings, data, contact, p, share, dt):
    """Joint momenta at the start of a solved step of order 2, with a share of the cones' impulses.

    With half of them, these are the mean of the momenta before and after all impulses at that time, as `read_momenta`
    gives them without cones; a body at rest on the ground then has no momentum. Closed loops, prescribed motions
    and the joints between hold against cones. Where forces press, what cones hold is found by itself (`pressed`).

    Args:
        share: of the impulses.
        dt: length of the step; 0 to leave out the look at forces that press.
    """
    states, other, loops = data.bodies, data.T, settings.loops
    pressed = dt > 0.0 and presses(model, settings, data, contact, share, dt)
    for i in range(states.shape[0]):
        for c in range(6):
            other[i, c] = states[i].P[c]
    add_cones_impulses(contact, other, share)
    if pressed:
        make_stiff(model.bodies, settings, data, contact, share == 0.0, dt)
        hold_pressed(model, settings, data, contact, share)
    swap_momenta(data.bodies, data.T)
    if share > 0.0 and not pressed and are_pushed(data.bodies, data.T):
        hold_joints(model, data, contact.now[0].independent == 1, loops)
    read_momenta(model.bodies, model.coordinates, data.bodies, data.subtrees, p)
    swap_momenta(data.bodies, data.T)


@routine(allocates=False)
def read_end_momenta(model, settings, data, contact, p, steady, dt):
    """Joint momenta at the end of a step, as far as it knows; the step after may tell better, at order 2.

    What contacts will hold of the forces there only the next step knows. Until then those that bear a load are taken to
    push as they did in this step where the motion is steady, or else to hold all forces; without such contacts all
    forces count.

    Args:
        contact: `ContactData`, or None.
        steady: whether the motion is, so that contacts push as they did.
        dt: length of the step, 0 where another follows at once.
    """
    if contact is None:
        read_momenta(model.bodies, model.coordinates, data.bodies, data.subtrees, p)
        return
    if settings.halves == 1.0 or not bears_load(model.bodies, settings, contact):
        read_momenta(model.bodies, model.coordinates, data.bodies, data.subtrees, p)
    elif dt > 0.0 and presses_at_end(model, settings, data, contact, dt):
        for i in range(data.bodies.shape[0]):
            for c in range(6):
                data.T[i, c] = data.bodies[i].P[c]
        renew_wrenches(data, contact)
        make_stiff(model.bodies, settings, data, contact, dt < 0.0, dt)  # False, but no literal
        hold_pressed(model, settings, data, contact, 0.0)
        swap_momenta(data.bodies, data.T)
        read_momenta(model.bodies, model.coordinates, data.bodies, data.subtrees, p)
        swap_momenta(data.bodies, data.T)
    elif steady:
        read_contact_momenta(model, settings, data, contact, p, 0.5, 0.0)
    else:
        swap_momenta(data.bodies, data.minus)
        read_momenta(model.bodies, model.coordinates, data.bodies, data.subtrees, p)
        swap_momenta(data.bodies, data.minus)
