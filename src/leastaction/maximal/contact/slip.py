"""Mean slip of contacts and dry friction over a step: displacement along the tangents over dt.

The contact point of body i consists of a material point c, fixed to the body (a corner, the centre of a sphere), and an
offset to the surface that does not rotate with the body (from that centre along the normal). Over a step of dt the body
moves with v and rotates by the quaternion (s, dt w / 2), W = R w in the world, so that a material point at the arm r
moves by exactly dt (v + s W x r + dt/2 W x (W x r)). For an offset o the last term is zero, since its direction is
fixed; s W x o is the velocity that belongs to the angular momentum at the ends of the step: steady rolling is kept.
The velocity at the start alone, v + W x r, would let a corner that sticks to the ground creep by dt^2 w^2 r / 2 in each
step of a rotating body, a first-order error.

Impulses act along the directions at the start of the step, see `contact_setup`.
"""

import math

from leastaction._jit import inline, routine
from leastaction.contact.laws import cones as ip
from leastaction.maximal.step.block_parts import end_row, work
from leastaction.maximal.step.bodies import end_pose
from leastaction.maximal.step.joint_rows import coordinate
from leastaction.spatial import dot3, load3, load9, mattvec

ZERO6 = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@inline
def slip_of(states, body, wrench, at, r, dt):
    """Mean slip of a body along a tangent [m/s], and its gradient (6) by (w, v).

    Args:
        wrench: unit wrenches on the body at the start; the tangent's are the six numbers from `at` on.
        r: arm of the material point, in the body frame [m].
    """
    if body < 0:
        return 0.0, ZERO6
    state, h = states[body], 0.5 * dt
    w, v = load3(state.w), load3(state.vc)
    turn, t = (wrench[at], wrench[at + 1], wrench[at + 2]), (wrench[at + 3], wrench[at + 4], wrench[at + 5])
    d = mattvec(load9(state.R), t)
    s = math.sqrt(max(1.0 - h * h * dot3(w, w), 1e-12))
    along, rate, across, place = dot3(d, w), dot3(turn, w), dot3(w, r), dot3(d, r)
    slip = dot3(t, v) + s * rate + h * (along * across - place * dot3(w, w))
    k = -h * h * rate / s - 2.0 * h * place
    row = (
        s * turn[0] + k * w[0] + h * (d[0] * across + r[0] * along),
        s * turn[1] + k * w[1] + h * (d[1] * across + r[1] * along),
        s * turn[2] + k * w[2] + h * (d[2] * across + r[2] * along),
        t[0],
        t[1],
        t[2],
    )
    return slip, row


@routine(allocates=False)
def slip_velocities(coordinates, states, cstates, c, dt, second, fresh):
    """Sliding velocities of a cone along its two tangents; with `fresh` also their gradients (`ya`, `yb`).

    In the first phase of a step they are means over dt, in the second (`second`) those of the velocities at its end.
    Spinning and rolling (TURN) are angular velocities along directions of the start of the step.
    """
    if second or c.kind == ip.TURN:
        if fresh:
            for i in range(12):
                c.ya[i], c.yb[i] = c.da[6 + i], c.db[6 + i]
        y0 = work(states, c.da[6:12], c.a) + work(states, c.db[6:12], c.b)
        y1 = work(states, c.da[12:18], c.a) + work(states, c.db[12:18], c.b)
        return y0 + c.drift[0], y1 + c.drift[1]
    if c.kind == ip.DRY:
        Ra, xa = end_pose(states, c.a)
        Rb, xb = end_pose(states, c.b)
        j = -1 - c.source
        value, tb, ta, f = coordinate(coordinates[j], cstates[j].value, Ra, xa, Rb, xb)
        if fresh:
            store_rows(c, 0, end_row(states, c.a, ta, f, -1.0), end_row(states, c.b, tb, f, 1.0))
            store_rows(c, 6, ZERO6, ZERO6)
        return (value - cstates[j].value) / dt, 0.0
    ra, rb = load3(c.ra), load3(c.rb)
    a0, ea0 = slip_of(states, c.a, c.da, 6, ra, dt)
    b0, eb0 = slip_of(states, c.b, c.db, 6, rb, dt)
    a1, ea1 = slip_of(states, c.a, c.da, 12, ra, dt)
    b1, eb1 = slip_of(states, c.b, c.db, 12, rb, dt)
    if fresh:
        store_rows(c, 0, ea0, eb0)
        store_rows(c, 6, ea1, eb1)
    return a0 + b0 + c.drift[0], a1 + b1 + c.drift[1]


@inline
def store_rows(c, at, ea, eb):
    """Store the gradients of a sliding velocity from index `at` on."""
    for i in range(6):
        c.ya[at + i], c.yb[at + i] = ea[i], eb[i]
