"""Masses that cones move: those of their bodies alone, and what joints put behind them."""

from leastaction._jit import inline, routine
from leastaction.contact import cones as ip
from leastaction.contact.compliance import compliance_of


@inline
def inertia_of(bodies, body, d):
    """Inverse of the mass that a body has for the wrench d[0:6]; nothing for the world and bodies without mass."""
    if body < 0 or bodies[body].mass <= 0.0:
        return 0.0
    m, r = bodies[body].mass, bodies[body].radius
    turn, shift = d[0] ** 2 + d[1] ** 2 + d[2] ** 2, d[3] ** 2 + d[4] ** 2 + d[5] ** 2
    return (shift + turn / (r * r)) / m


@routine(allocates=False)
def weigh_cone(bodies, c, load):
    """Fill the mass that a cone moves, and that along its friction; load: as in `CONTACT_STATE`."""
    if c.kind == ip.DRY:
        lightness = inertia_of(bodies, c.a, c.da[6:12]) + inertia_of(bodies, c.b, c.db[6:12])
    else:
        lightness = inertia_of(bodies, c.a, c.da) + inertia_of(bodies, c.b, c.db)
    c.weight = c.drag = load / lightness if lightness > 0.0 else load
    if c.kind == ip.TURN:
        lightness = inertia_of(bodies, c.a, c.da[6:12]) + inertia_of(bodies, c.b, c.db[6:12])
        c.drag = load / lightness if lightness > 0.0 else load


@inline
def mobility_of(bodies, body):
    """Inverse of the mass that hangs together with a body [1/kg], and of its moment of inertia [1/(kg m^2)].

    None for the world. The moment of inertia has the body's radius of gyration.
    """
    if body < 0 or bodies[body].group_mass <= 0.0:
        return 0.0, 0.0
    mass, radius = bodies[body].group_mass, bodies[body].radius
    return 1.0 / mass, 1.0 / (mass * radius * radius) if radius > 0.0 else 0.0


@routine(allocates=False)
def give_compliance(bodies, settings, c, dt):
    """Fill the compliance of a cone, see `contact.compliance`: of the reduced mass of both bodies, whatever the pose.

    Limits and dry friction of angles have that of the moment of inertia, and friction against turning as well.
    """
    shift_a, turn_a = mobility_of(bodies, c.a)
    shift_b, turn_b = mobility_of(bodies, c.b)
    shift, turn = shift_a + shift_b, turn_a + turn_b
    row = 9 if c.kind == ip.DRY else 3
    angle = c.source < 0
    for i in range(3):
        angle = angle and c.da[row + i] == 0.0 and c.db[row + i] == 0.0
    own = turn if angle else shift
    along = turn if angle or c.kind == ip.TURN else shift
    c.compliance = compliance_of(1.0 / own, settings.whole, dt) if own > 0.0 else 0.0
    c.slip_compliance = compliance_of(1.0 / along, settings.whole, dt) if along > 0.0 else 0.0
    if c.kind == ip.LINEAR:
        c.slip_compliance = 0.0
