"""Typical masses, speeds and impulses of a step with contacts, and the tolerances that follow from them."""

import math

from leastaction._jit import inline, routine
from leastaction.contact.laws import cones as ip
from leastaction.maximal.step.initial_guess import LATER, SECOND

SHARPEST = 1e-8
"""Least central-path parameter, relative to the typical energy of the contacts, and least slack of the contact with the
largest impulse, relative to their typical speed: below it contact stiffness makes the bodies' inertia vanish in
round-off in the Newton matrix."""

BLURRED = 1e-15
"""Round-off of a gap [m or rad]: slacks of a step of dt are resolved down to this over dt."""

SETTLED = 3e-9
"""Residuals with contacts, relative to their typical speed, at which a step is solved: round-off leaves about 1e-9."""

ROUNDED = 1e-14
"""Round-off of gaps [m or rad]: over dt it bounds velocity residuals from below in short substeps."""

CLOSED = 5e-10
"""Largest violation of joints at the end of a step [m or rad], independent of the speed of the contacts."""


LESS = 1e-3
"""Least fraction of the impulses of motors and other forces that contacts and limits are assumed to carry."""

NOTHING = 1e-3
"""Updates, relative to the tolerance, after which residuals of bodies count as round-off, even if they would
accelerate links with little mass compared with the armature of their joints."""


@routine(allocates=False)
def largest_push(model, settings, data, dt):
    """Largest impulse of all forces but gravity on a body between the velocities before and within a step [N s]."""
    bodies, states, halves, largest = model.bodies, data.bodies, settings.halves, 0.0
    # Where the step before is known, the momenta contain the impulse at its end.
    before, known = data.past[0].dt, data.past[0].known
    held = 1.0 if known in (SECOND, LATER) else 0.0
    whole = 1.0 if held > 0.0 else 1.0 / halves
    weight = halves * dt + held * (1.0 - halves) * before
    # Spring impulses at the start follow from the solved step: approximated by those at the end of the step before.
    noted = 1 if held > 0.0 and halves < 1.0 else 0
    early = halves * dt / ((1.0 - halves) * before) if noted == 1 else 1.0
    for i in range(bodies.shape[0]):
        s, radius = states[i], bodies[i].radius
        for c in range(3):
            turn = s.I[c] + early * data.kicks[noted, i, c] + held * (s.P[c] - data.minus[i, c])
            push = s.I[3 + c] + early * data.kicks[noted, i, 3 + c] + held * (s.P[3 + c] - data.minus[i, 3 + c])
            push -= bodies[i].mass * model.gravity[c] * weight
            largest = max(largest, whole * abs(push), whole * abs(turn) / radius if radius > 0.0 else 0.0)
    return largest


@inline
def speed_scale(settings, push, mass, dt):
    """Velocity change of a step [m/s]: gravity times dt, or more where motors push bodies of a mass much harder."""
    return max(settings.gravity * dt, LESS * push / mass) if mass > 0.0 else settings.gravity * dt


@inline
def heavier(bodies, a, b):
    """Larger mass of two bodies [kg]; where both have none, the larger of the masses that move with them."""
    mass = behind = 0.0
    for body in (a, b):
        if body >= 0:
            mass, behind = max(mass, bodies[body].mass), max(behind, bodies[body].behind)
    return mass if mass > 0.0 else behind


@routine(allocates=False)
def heaviest(bodies, contact):
    """Largest mass of a body in contact [kg], see `heavier`."""
    m = 0.0
    for k in range(contact.now[0].count):
        m = max(m, heavier(bodies, contact.cones[k].a, contact.cones[k].b))
    return m


@routine(allocates=False)
def strongest(contact):
    """Largest normal impulse of a contact or limit [N s]."""
    gam = 0.0
    for k in range(contact.now[0].count):
        if contact.cones[k].kind != ip.DRY:
            gam = max(gam, contact.cones[k].gam)
    return gam


@inline
def least_product(typical, contact, dt):
    """Least central-path parameter that slacks of cones resolve [J]; typical: the typical speed of contacts [m/s]."""
    return max(SHARPEST * typical, BLURRED / dt) * strongest(contact)


@routine(allocates=False)
def fastest(contact):
    """Largest component of the cones' sliding velocities y at the start [m/s]."""
    y = 0.0
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        y = max(y, abs(c.y[0]), abs(c.y[1]))
    return y


@routine(allocates=False)
def largest_residual(bodies, states):
    """Largest residual of a body, as the velocity change that it would cause [m/s]."""
    worst = 0.0
    for i in range(bodies.shape[0]):
        m, radius, r = bodies[i].mass, bodies[i].radius, states[i].r
        if m > 0.0:
            for c in range(3):
                worst = max(worst, abs(r[c]) / (m * radius), abs(r[3 + c]) / m)
    return worst


@routine(allocates=False)
def scales(bodies, settings, contact, dt):
    """(Mass behind contacts [kg], typical speed, bounds of the residuals of bodies and cones, and of joints [m/s])."""
    now, tolerance = contact.now[0], settings.tolerance
    mass = now.load * heaviest(bodies, contact)
    typical = math.sqrt(now.energy / mass)
    limit = max(tolerance, SETTLED * (typical + fastest(contact)), ROUNDED / dt)
    return mass, typical, limit, max(tolerance, CLOSED / dt)
