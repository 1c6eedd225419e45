"""Restitution that adds no energy.

Newton's law makes the mean normal velocity of a step -e times the velocity at its start, by the gap that is asked for
at its end. With Coulomb's friction this may add energy (Kane and Levinson 1985; Stronge 1990; Glocker 2013), so the
work of all impulses with the mean of the velocities before and after is looked at; see `contact.restitution` for
another law. In joint coordinates it is a sum over the joints. Where it is above zero, all contacts that bounce keep one
and the same share of their restitution, the largest without work.

Mean velocities are not those of the momenta where bodies turn far in a step. So the work with the latter (see `energy`)
must not be above zero either, but for `SLIGHT`.
"""

from leastaction._jit import routine
from leastaction.minimal.contact.robot_records import CONTACT, LIMIT
from leastaction.minimal.contact.row_vec6 import six
from leastaction.minimal.vec6 import times

BOUNCE = 2.0
"""Restitution acts on impacts faster than what gravity adds in so many steps; slower ones come to rest."""

LEFT = 1e-7
"""Work of the impulses, relative to the kinetic energy before, that counts as none."""

SLIGHT = 1e-4
"""The same of the work with velocities of momenta, relative to the kinetic energies before and after: forces of motors
are in it."""

RIGID = 1e-9
"""How well the work is brought to its bound, relative to the kinetic energy before."""


@routine
def rate_along(model, data, rates, i, h, j):
    """Velocity of body i relative to body j along a wrench h at the start, with these rates of the joints."""
    nodes, S0_, sign, rate = model.nodes, data.S[data.now[0]], 1.0, 0.0
    while i != j:
        if i < j:
            i, j, sign = j, i, -sign
        for k in range(nodes[i].iv, nodes[i].iv + nodes[i].nv):
            rate += sign * rates[k] * times(six(S0_[k]), h)
        i = nodes[i].parent
    return rate


@routine
def bounced(model, data, cone, h, phi, least, dt, fall):
    """Gap that a contact with the gap phi and the unit wrench h of its normal must have at the end of the step [m]."""
    if cone.restitution <= 0.0:
        return least
    before = rate_along(model, data, data.touch.v, cone.node, h, cone.other)
    if phi + dt * before >= 0.0 or -before * dt <= BOUNCE * fall:
        return least
    return max(least, phi - data.touch.share[0] * cone.restitution * dt * before)


@routine
def bounces(touch):
    """Whether restitution acts at a contact of the step."""
    acts = False
    for c in range(touch.active.shape[0]):
        acts = acts or (touch.active[c] != 0 and touch.least[c] > 0.0)
    return acts


@routine
def mass_of(model):
    """Mass of all bodies [kg]."""
    mass = 0.0
    for i in range(model.nodes.shape[0]):
        mass += model.nodes[i].mass
    return mass


@routine
def given(model, touch, found, dt):
    """Energy that contacts may add [J] as they leave overlaps, and surfaces that move along their shapes."""
    if found is None:
        return parting(model.cones, touch, model.cones.shape[0]) / dt
    many = model.cones.shape[0] + found.now[0].count
    return (parting(found.cones, touch, many) + belt_work(model, touch, found)) / dt


@routine
def belt_work(model, touch, found):
    """Most work of moving surfaces in the step, times its length [J s]."""
    work = 0.0
    for j in range(found.now[0].count):
        c = model.cones.shape[0] + j
        if touch.active[c]:
            at, way = found.cones[c].row, found.cones[c].drift
            work += abs(touch.lam[at + 1] * way[0]) + abs(touch.lam[at + 2] * way[1])
    return work


@routine
def parting(cones, touch, many):
    """Work of contacts and limits that leave overlaps, times the length of the step [J s].

    It is at most twice the impulse of the position phase times the overlap: C in docs/theory/contact.md.
    """
    work = 0.0
    for c in range(many):
        if touch.active[c] and (cones[c].kind == CONTACT or cones[c].kind == LIMIT):
            work += 2.0 * touch.lam[cones[c].row] * max(-touch.begun[c], 0.0)
    return work


@routine
def work_of_impulses(model, data, dt):
    """Work of all impulses of a solved step, with the mean of the velocities at its start and within it [J]; beside
    what may be `given`."""
    touch, work = data.touch, 0.0
    for k in range(data.p.shape[0]):
        work += 0.5 * touch.kick[k] * (touch.v[k] + data.moved[k] / dt)
    return work - given(model, touch, touch.found, dt)
