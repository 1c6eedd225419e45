"""Second derivatives of joint equations and coordinates: how their gradients change with the poses of two bodies.

A joint's equation or coordinate g of two poses acts on them with its gradient G. For a motion E fixed in the body
frames, the gradient of E . G by the poses is the derivative of G along E: second derivatives are symmetric, and
rotations in a body's frame commute with those in the world's.

Gradients by poses are by rotations and translations in world directions, as is E: arrays (bodies, 6).
"""

from leastaction._jit import inline
from leastaction.maximal.maximal_records import HINGE, ROPE
from leastaction.maximal.step.bodies import end_pose, start_pose
from leastaction.mechanism.closure import DOT
from leastaction.spatial import (
    ZERO3,
    add3,
    axpy3,
    cross,
    dot3,
    load3,
    load9,
    matvec,
    neg3,
    norm3,
    scale3,
    sub3,
)


@inline
def motion_of(E, body):
    """(Rotation, translation) of a body in E, zero for the world."""
    if body < 0:
        return ZERO3, ZERO3
    return (E[body, 0], E[body, 1], E[body, 2]), (E[body, 3], E[body, 4], E[body, 5])


@inline
def add_to(G, body, t, f, k):
    """Add k (t, f) to the gradient by the pose of a body."""
    if body >= 0:
        for c in range(3):
            G[body, c] += k * t[c]
            G[body, 3 + c] += k * f[c]


@inline
def add_gradient(G, a, b, tb, ta, f, k):
    """Add k times a gradient (tb, ta, f), as those of `joint_rows`, to the bodies a and b."""
    add_to(G, a, ta, neg3(f), k)
    add_to(G, b, tb, f, k)


@inline
def motions_of(E, a, b):
    """(wa, va, wb, vb) of two bodies among E."""
    wa, va = motion_of(E, a)
    wb, vb = motion_of(E, b)
    return wa, va, wb, vb


@inline
def rate_with(motion, tb, ta, f):
    """A gradient (tb, ta, f) times the motion (wa, va, wb, vb) of both bodies."""
    wa, va, wb, vb = motion
    return dot3(tb, wb) + dot3(ta, wa) + dot3(f, sub3(vb, va))


@inline
def rate_along(E, a, b, tb, ta, f):
    """A gradient (tb, ta, f) times the motions E of bodies a and b."""
    return rate_with(motions_of(E, a, b), tb, ta, f)


@inline
def along_hessian(n, pb, Ra, xa, Rb, xb, motion):
    """Derivative of the gradient of `joint_rows.along` for the motion (wa, va, wb, vb) of both bodies."""
    wa, va, wb, vb = motion
    n = matvec(Ra, n)
    arm = matvec(Rb, pb)
    arm_a = sub3(add3(xb, arm), xa)
    dn, darm = cross(wa, n), cross(wb, arm)
    darm_a = sub3(add3(vb, darm), va)
    return add3(cross(darm, n), cross(arm, dn)), neg3(add3(cross(darm_a, n), cross(arm_a, dn))), dn


@inline
def angle_hessian(c, Ra, Rb, wa, wb):
    """Derivative of the torque of `joint_rows.angle` by rotations wa and wb of both bodies."""
    n, w = matvec(Ra, load3(c.n)), matvec(Rb, load3(c.w2))
    dn, dw = cross(wa, n), cross(wb, w)
    wn, dwn = dot3(w, n), dot3(dw, n) + dot3(w, dn)
    across = axpy3(-wn, n, w)
    dacross = axpy3(-wn, dn, axpy3(-dwn, n, dw))
    square = dot3(across, across)
    k = wn / square
    dk = (dwn - 2.0 * k * dot3(across, dacross)) / square
    return scale3(c.sign, axpy3(-k, dacross, axpy3(-dk, across, dn)))


@inline
def rope_hessian(c, Ra, xa, Rb, xb, motion):
    """Derivative of the gradient of `joint_rows.stretched` for the motion (wa, va, wb, vb) of both bodies."""
    wa, va, wb, vb = motion
    arm_a, arm = matvec(Ra, load3(c.pa)), matvec(Rb, load3(c.pb))
    d = sub3(add3(xb, arm), add3(xa, arm_a))
    far = norm3(d)
    k = c.pitch / far if far > 0.0 else 0.0
    darm_a, darm = cross(wa, arm_a), cross(wb, arm)
    dd = sub3(add3(vb, darm), add3(va, darm_a))
    f = scale3(k, d)
    df = axpy3(-k * dot3(d, dd) / (far * far) if far > 0.0 else 0.0, d, scale3(k, dd))
    return add3(cross(darm, f), cross(arm, df)), neg3(add3(cross(darm_a, f), cross(arm_a, df))), df


@inline
def add_coordinate_hessian(c, Ra, xa, Rb, xb, E, G, k):
    """Add k times the derivative along E of the gradient of a ROPE, SLIDE or HINGE."""
    wa, va, wb, vb = motions_of(E, c.a, c.b)
    if c.kind == HINGE:
        t = angle_hessian(c, Ra, Rb, wa, wb)
        add_gradient(G, c.a, c.b, t, neg3(t), ZERO3, k)
    elif c.kind == ROPE:
        tb, ta, f = rope_hessian(c, Ra, xa, Rb, xb, (wa, va, wb, vb))
        add_gradient(G, c.a, c.b, tb, ta, f, k)
    else:
        tb, ta, f = along_hessian(load3(c.n), load3(c.pb), Ra, xa, Rb, xb, (wa, va, wb, vb))
        add_gradient(G, c.a, c.b, tb, ta, f, k)


@inline
def add_row_hessian(row, Ra, xa, Rb, xb, motion, G, k):
    """Add k times the derivative of the gradient of a row of a joint for the motion (wa, va, wb, vb) of both bodies."""
    wa, va, wb, vb = motion
    if row.kind == DOT:
        n, w = matvec(Ra, load3(row.n)), matvec(Rb, load3(row.w))
        t = add3(cross(cross(wb, w), n), cross(w, cross(wa, n)))
        add_gradient(G, row.a, row.b, t, neg3(t), ZERO3, k)
    else:
        tb, ta, f = along_hessian(load3(row.n), load3(row.pb), Ra, xa, Rb, xb, (wa, va, wb, vb))
        add_gradient(G, row.a, row.b, tb, ta, f, k)


@inline
def ball_direction(c, j, Rb):
    """Direction j of a BALL or FREE in the world."""
    e = (1.0 if j % 3 == 0 else 0.0, 1.0 if j % 3 == 1 else 0.0, 1.0 if j % 3 == 2 else 0.0)
    return matvec(Rb, matvec(load9(c.Rb), e))


@inline
def ball_gradient(c, j, Ra, xa, Rb, xb):
    """Wrench of unit j of the force of a BALL or FREE (`ball_springs.ball_axis`), as a gradient (tb, ta, f)."""
    n = ball_direction(c, j, Rb)
    if j < 3:
        return n, neg3(n), ZERO3
    arm = matvec(Rb, load3(c.pb))
    return cross(arm, n), cross(n, sub3(add3(xb, arm), xa)), n


@inline
def ball_rate(c, j, Ra, xa, Rb, xb, motion):
    """Power of unit j of the force of a BALL or FREE at the motion (wa, va, wb, vb) of both bodies."""
    tb, ta, f = ball_gradient(c, j, Ra, xa, Rb, xb)
    return rate_with(motion, tb, ta, f)


@inline
def read_ball(c, j, Ra, xa, Rb, xb, G, k):
    """Add k times the gradient of the coordinate whose rate is `ball_rate`."""
    tb, ta, f = ball_gradient(c, j, Ra, xa, Rb, xb)
    add_gradient(G, c.a, c.b, tb, ta, f, k)


@inline
def add_ball_hessian(c, j, Ra, xa, Rb, xb, motion, G, k):
    """Add k times the gradient of `ball_rate` by the poses, for a motion fixed in the body frames."""
    wa, va, _wb, vb = motion
    n = ball_direction(c, j, Rb)
    if j < 3:
        # The part on b is fixed to it; that on a is -wa . n, where wa rotates with a and n with b.
        t = cross(wa, n)
        add_to(G, c.a, t, ZERO3, -k)
        add_to(G, c.b, t, ZERO3, k)
        return
    arm = matvec(Rb, load3(c.pb))
    r = sub3(add3(xb, arm), xa)
    # n . (vb - va) + wa . (n x r), and wb . (arm x n) is fixed to b.
    along = sub3(sub3(vb, va), cross(wa, r))
    back = cross(wa, n)  # gradient by r
    add_to(G, c.a, cross(cross(r, n), wa), neg3(back), k)
    add_to(G, c.b, add3(cross(n, along), cross(arm, back)), back, k)


@inline
def poses_at(states, a, b, when):
    """Poses of two bodies at the start (0) or end (1) of the step."""
    if when == 1:
        Ra, xa = end_pose(states, a)
        Rb, xb = end_pose(states, b)
        return Ra, xa, Rb, xb
    Ra, xa = start_pose(states, a)
    Rb, xb = start_pose(states, b)
    return Ra, xa, Rb, xb
