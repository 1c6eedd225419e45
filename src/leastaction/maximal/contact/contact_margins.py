"""Bounds on the motion of bodies within a step: contact margins, and when the list of near pairs is out of date."""

import math

from leastaction._jit import inline, routine
from leastaction.contact.records import MESH
from leastaction.maximal.step.bodies import start_pose
from leastaction.spatial import act, dot3, load3, sub3

REACH, CLOSE = 4.0, 1.0
"""A contact takes part when its gap is less than the distance that its bodies may cover in so many steps. CLOSE is
used between two bodies and for meshes, which may have many contacts; `contact_update` finds those that the step closes
in addition."""

FELT = 1e-3
"""Fraction of a body's weight below which the force of a smoothed contact may be omitted."""


@inline
def speed_of(states, body, reach):
    """Bound on the speed of the points of a body within `reach` of its COM."""
    if body < 0:
        return 0.0
    s = states[body]
    v = math.sqrt(s.vc[0] ** 2 + s.vc[1] ** 2 + s.vc[2] ** 2)
    return v + reach * math.sqrt(s.w[0] ** 2 + s.w[1] ** 2 + s.w[2] ** 2)


@inline
def reach_of(shape):
    """Radius about the COM of its body that contains a shape [m]; 0 for unbounded shapes."""
    if shape.bound > 1e30:
        return 0.0
    c = load3(shape.centre)
    return shape.bound + math.sqrt(c[0] * c[0] + c[1] * c[1] + c[2] * c[2])


@inline
def lightest(bodies, a, b):
    """Smaller mass of two bodies [kg], without the world, and without massless bodies where the other has a mass."""
    least = behind = math.inf
    for body in (a, b):
        if body >= 0:
            behind = min(behind, bodies[body].behind)
            if bodies[body].mass > 0.0:
                least = min(least, bodies[body].mass)
    return least if least < math.inf else (behind if behind < math.inf else 1.0)


@routine(allocates=False)
def has_moved(states, near, dt):
    """Whether the list of near pairs is out of date.

    It is where, relative to the mean motion of all bodies, a body has moved by more than `most` [m] since the list was
    made, or its velocity has changed so much that it may cover that distance in a step.
    """
    anchors, most = near.anchors, near.most
    n = anchors.shape[0]
    x = y = z = vx = vy = vz = 0.0
    for i in range(n):
        s = states[i]
        x, y, z = x + s.p[0] - anchors[i, 0], y + s.p[1] - anchors[i, 1], z + s.p[2] - anchors[i, 2]
        vx, vy, vz = vx + s.vc[0] - anchors[i, 3], vy + s.vc[1] - anchors[i, 4], vz + s.vc[2] - anchors[i, 5]
    drift, gain = (x / max(n, 1), y / max(n, 1), z / max(n, 1)), (vx / max(n, 1), vy / max(n, 1), vz / max(n, 1))
    for i in range(n):
        s, a = states[i], anchors[i]
        d = sub3(sub3(load3(s.p), (a[0], a[1], a[2])), drift)
        v = sub3(sub3(load3(s.vc), (a[3], a[4], a[5])), gain)
        spin = max(math.sqrt(dot3(load3(s.w), load3(s.w))) - a[6], 0.0) * a[7]
        if dot3(d, d) > most * most or dt * (math.sqrt(dot3(v, v)) + spin) > most:
            return True
    return False


@routine(allocates=False)
def spread_speeds(coordinates, states, near, contact, dt):
    """Raise the speed bound of each body [m/s] to that of bodies that may accelerate it by contacts or joints."""
    shapes, pairs, speeds, listed = near.shapes, near.pairs, contact.speeds, contact.now[0].listed
    for sweep in range(2):  # forwards and backwards, so that a speed spreads along a row of bodies in both directions
        for j in range(listed):
            pair = pairs[contact.listed[j if sweep == 0 else listed - 1 - j]]
            a, b = shapes[pair.a], shapes[pair.b]
            if a.body < 0 or b.body < 0 or speeds[a.body] == speeds[b.body]:
                continue
            x = act(start_pose(states, a.body), load3(a.centre))
            d = sub3(x, act(start_pose(states, b.body), load3(b.centre)))
            near = a.bound + b.bound + dt * (speeds[a.body] + speeds[b.body])
            if dot3(d, d) < near * near:
                speeds[a.body] = speeds[b.body] = max(speeds[a.body], speeds[b.body])
        for j in range(coordinates.shape[0]):
            c = coordinates[j if sweep == 0 else coordinates.shape[0] - 1 - j]
            if c.a >= 0 and c.b >= 0:
                speeds[c.a] = speeds[c.b] = max(speeds[c.a], speeds[c.b])


@routine(allocates=False)
def largest_margin(bodies, settings, near, fastest, dt):
    """Upper bound of `margin_of` for all pairs [m]; fastest: largest speed of a body [m/s]."""
    reach = 0.0
    for i in range(near.reach.shape[0]):
        reach = max(reach, near.reach[i])
    movers = 2.0 if settings.smoothing > 0.0 else 1.0  # moving bodies of the pairs for which REACH counts
    margin = REACH * dt * (settings.gravity * dt + movers * fastest) + 1e-3 * reach
    if settings.smoothing > 0.0:
        least = 1.0
        for i in range(bodies.shape[0]):
            least = min(least, lightest(bodies, i, i))
        margin += settings.smoothing / (FELT * settings.gravity * least)
    return margin


@routine(allocates=False)
def margin_of(bodies, settings, near, speeds, k, dt):
    """Largest gap of pair k at which its contacts take part in a step [m]."""
    a, b = near.shapes[near.pairs[k].a], near.shapes[near.pairs[k].b]
    ra, rb = reach_of(a), reach_of(b)
    speed = settings.gravity * dt
    for body in (a.body, b.body):
        if body >= 0:
            speed += speeds[body]
    many = (a.body >= 0 and b.body >= 0) or a.kind == MESH or b.kind == MESH
    steps = CLOSE if many and settings.smoothing == 0.0 else REACH
    margin = steps * dt * speed + 1e-3 * min(ra if ra > 0.0 else rb, rb)
    if settings.smoothing > 0.0:
        margin += settings.smoothing / (FELT * settings.gravity * lightest(bodies, a.body, b.body))
    return margin
