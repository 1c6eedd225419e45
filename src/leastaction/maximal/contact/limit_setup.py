"""Limits and dry friction of joints, as cones at the start poses of a step."""

from leastaction._jit import inline, routine
from leastaction.contact.laws import cones as ip
from leastaction.contact.penetration.penetration_recovery import overlap_left, slight_overlap
from leastaction.maximal.contact.contact_margins import REACH
from leastaction.maximal.maximal_records import BALL, FREE
from leastaction.maximal.step.assembly import work
from leastaction.maximal.step.solver.tolerances import heavier, speed_scale


@routine(allocates=False)
def coordinate_wrenches(cone, s):
    """Write the unit wrenches of the limit or dry friction of a coordinate to its cone."""
    for i in range(6):
        if cone.kind == ip.DRY:
            cone.da[6 + i], cone.db[6 + i] = s.wa[i], s.wb[i]
        else:
            cone.da[i], cone.db[i] = cone.side * s.wa[i], cone.side * s.wb[i]


@routine(allocates=False)
def coordinate_cones(model, settings, data, contact, count, k, dt):
    """Append cones of coordinate k: limits that it may reach within the step, and dry friction for a share of it.

    Slack and sliding velocity are initial guesses, and `gam` is a typical energy [J].
    """
    bodies, states, c, s = model.bodies, data.bodies, model.coordinates[k], data.coordinates[k]
    cones, share = contact.cones, contact.now[0].dry
    if c.kind == BALL or c.kind == FREE:
        return count
    rate = work(states, s.wa, c.a) + work(states, s.wb, c.b)
    typical = typical_rate(bodies, settings, c, s, dt)
    for side in (1.0, -1.0):
        bound = c.lower if side > 0.0 else c.upper
        if abs(bound) > 1e30:
            continue
        room = side * (s.value - bound)
        if room + REACH * dt * min(side * rate - typical, -abs(rate)) < 0.0 and count < cones.shape[0]:
            limit_cone(model, settings, data, cones[count], k, side, rate, contact.now[0].push, dt)
            count += 1
    if c.friction > 0.0 and count < cones.shape[0]:
        cone = cones[count]
        base_cone(cone, c, k, ip.DRY)
        cone.bound, cone.side, cone.key = share * c.friction * dt, share, -4 * k - 3
        coordinate_wrenches(cone, s)
        cone.s, cone.gam = 1.0, cone.bound * (typical + abs(rate))
        cone.y[0], cone.y[1] = rate, 0.0
        count += 1
    return count


@inline
def limit_key(k, side):
    """Key of the lower (side 1) or upper (-1) limit of coordinate k."""
    return -4 * k - (1 if side > 0.0 else 2)


@inline
def size_of(bodies, c, s):
    """Length that converts a rate of a coordinate to a velocity [m]: radius of gyration for an angle, 1 for a slide."""
    if s.wb[3] == 0.0 and s.wb[4] == 0.0 and s.wb[5] == 0.0:  # an angle
        return bodies[max(c.a, c.b)].radius
    return 1.0


@inline
def typical_rate(bodies, settings, c, s, dt):
    """Change of a coordinate's rate by gravity in a step [m/s or rad/s]."""
    return settings.gravity * dt / size_of(bodies, c, s) + 1e-6


@routine(allocates=False)
def limit_cone(model, settings, data, cone, k, side, rate, push, dt):
    """Turn a limit of coordinate k into a cone; see `coordinate_cones`; push: see `tolerances.largest_push`."""
    bodies, c, s = model.bodies, model.coordinates[k], data.coordinates[k]
    typical = typical_rate(bodies, settings, c, s, dt)
    bound = c.lower if side > 0.0 else c.upper
    room = side * (s.value - bound)
    mass = heavier(bodies, c.a, c.b)
    base_cone(cone, c, k, ip.LIMIT)
    cone.side, cone.bound, cone.key = side, bound, limit_key(k, side)
    cone.gravity_drop, cone.gap = typical * dt, room
    whole = settings.whole
    cone.slight = slight_overlap(typical_rate(bodies, settings, c, s, whole) * whole, whole)
    cone.rest = overlap_left(room, cone.gravity_drop, cone.slight)
    coordinate_wrenches(cone, s)
    speed = max(typical, speed_scale(settings, push, mass, dt) / size_of(bodies, c, s)) + abs(rate)
    cone.s, cone.gam = max((room - cone.rest) / dt + side * rate, speed), mass * (size_of(bodies, c, s) * speed) ** 2
    cone.y[0] = cone.y[1] = 0.0


@routine(allocates=False)
def base_cone(cone, c, k, kind):
    """Fill the fields of a cone that limits and dry friction of coordinate k have in common."""
    cone.kind, cone.a, cone.b, cone.edge, cone.source, cone.mu = kind, c.a, c.b, c.edge, -1 - k, 0.0
    cone.directions = 0
    cone.drift[0] = cone.drift[1] = 0.0
    for i in range(18):
        cone.da[i] = cone.db[i] = 0.0
    for i in range(6):
        cone.ea[i] = cone.eb[i] = 0.0
