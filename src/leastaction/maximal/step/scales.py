"""How large things are in a step with contacts, and how well it is to be solved."""

import math

from leastaction._jit import routine
from leastaction.contact import cones as ip

SHARPEST = 1e-8
"""Least central-path parameter, relative to the typical energy of the contacts, and least slack of the contact with the
largest impulse, relative to their typical speed: beyond it the Newton matrix loses the bodies' inertia beside the
contacts' stiffness."""

SETTLED = 3e-9
"""Residuals with contacts, relative to their typical speed, at which a step is solved: round-off leaves about 1e-9."""

ROUNDED = 1e-14
"""Round-off of gaps [m or rad], which parts of a step that are short make velocities of."""

CLOSED = 5e-9
"""Most that joints may be open at the end of a step [m or rad], however fast the contacts are."""


@routine(allocates=False)
def heaviest(bodies, contact):
    """Largest mass of a body in contact [kg]."""
    m = 0.0
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        if c.a >= 0:
            m = max(m, bodies[c.a].mass)
        if c.b >= 0:
            m = max(m, bodies[c.b].mass)
    return m


@routine(allocates=False)
def strongest(contact):
    """Largest impulse along the normal of a contact or of a limit [N s]."""
    gam = 0.0
    for k in range(contact.now[0].count):
        if contact.cones[k].kind != ip.DRY:
            gam = max(gam, contact.cones[k].gam)
    return gam


@routine(allocates=False)
def fastest(contact):
    """Largest sliding velocity of a cone at the start [m/s]."""
    y = 0.0
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        y = max(y, abs(c.y[0]), abs(c.y[1]))
    return y


@routine(allocates=False)
def largest_residual(bodies, states):
    """Largest residual of a body, as the velocity [m/s] that it would change."""
    worst = 0.0
    for i in range(bodies.shape[0]):
        m, radius, r = bodies[i].mass, bodies[i].radius, states[i].r
        if m > 0.0:
            for c in range(3):
                worst = max(worst, abs(r[c]) / (m * radius), abs(r[3 + c]) / m)
    return worst


@routine(allocates=False)
def scales(bodies, settings, contact, dt):
    """(mass behind contacts [kg], their typical speed, largest residual of bodies and cones, of joints [m/s])."""
    now, tolerance = contact.now[0], settings.tolerance
    mass = now.load * heaviest(bodies, contact)
    typical = math.sqrt(now.energy / mass)
    limit = max(tolerance, SETTLED * (typical + fastest(contact)), ROUNDED / dt)
    return mass, typical, limit, max(tolerance, CLOSED / dt)
