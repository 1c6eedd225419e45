"""Effective masses of cones: those of their bodies alone, and with the mass that joints attach to them."""

from leastaction._jit import inline, routine
from leastaction.contact.laws import cones as ip
from leastaction.contact.laws.compliance import DEEPEST


@inline
def inertia_of(bodies, body, d):
    """Inverse effective mass of a body for the wrench d[0:6] [1/kg]; 0 for the world and for bodies without mass."""
    if body < 0 or bodies[body].mass <= 0.0:
        return 0.0
    m, r = bodies[body].mass, bodies[body].radius
    turn, shift = d[0] ** 2 + d[1] ** 2 + d[2] ** 2, d[3] ** 2 + d[4] ** 2 + d[5] ** 2
    return (shift + turn / (r * r)) / m


@routine(allocates=False)
def weigh_cone(bodies, c, load):
    """Fill the masses that a cone moves along the normal (`weight`) and friction (`drag`); load: see `CONTACT_STATE`.

    `drag` counts the bodies alone; joints can only add to it. While it is at most the mass that the contact moves, a
    contact that reverses its sliding passes through sticking. With drag |y| > 2 mu gam, friction would reverse at once,
    and again in the next iteration.
    """
    if c.kind == ip.DRY:
        lightness = inertia_of(bodies, c.a, c.da[6:12]) + inertia_of(bodies, c.b, c.db[6:12])
    else:
        lightness = inertia_of(bodies, c.a, c.da) + inertia_of(bodies, c.b, c.db)
    c.weight, c.drag = (load / lightness, 1.0 / lightness) if lightness > 0.0 else (load, 1.0)
    if c.kind == ip.TURN:
        lightness = inertia_of(bodies, c.a, c.da[6:12]) + inertia_of(bodies, c.b, c.db[6:12])
        c.drag = 1.0 / lightness if lightness > 0.0 else 1.0


@routine(allocates=False)
def fill_compliance(settings, c, dt):
    """Fill the compliance of a cone (`laws.compliance`), as velocity per unit of impulse over dt."""
    give, turn = settings.compliance / (dt * dt), settings.angular_compliance / (dt * dt)
    row = 9 if c.kind == ip.DRY else 3
    angle = c.source < 0
    for i in range(3):
        angle = angle and c.da[row + i] == 0.0 and c.db[row + i] == 0.0
    c.compliance = turn if angle else give
    c.slip_compliance = 0.0 if c.kind == ip.LINEAR else (turn if angle or c.kind == ip.TURN else give)
    c.deepest = DEEPEST * settings.whole * settings.whole / dt
