"""Joint equations and coordinates as functions of two poses, with their gradients as wrenches.

A gradient is (tb, ta, f): the rate of the value is tb . wb + f . vb + ta . wa - f . va, with angular velocities w and
COM velocities v in world directions. These are also the torques and forces that a unit multiplier exerts on the two
bodies (G^T of Bruedigam 2023, Eq. 20).
"""

import math

from leastaction._jit import inline, routine
from leastaction.maximal.maximal_records import HINGE, ROPE
from leastaction.mechanism.closure import COUPLING, DOT, SCREW
from leastaction.spatial import (
    ZERO3,
    add3,
    axpy3,
    cross,
    dot3,
    load3,
    load9,
    matmul,
    mattmul,
    mattvec,
    matvec,
    neg3,
    norm3,
    scale3,
    sub3,
)
from leastaction.spatial.angles import angle_of

TWO_PI = 2.0 * math.pi


@inline
def along(n, pa, pb, Ra, xa, Rb, xb):
    """n . (x_b - x_a) for a direction n fixed in a (Eq. B.1), and its gradient."""
    n = matvec(Ra, n)
    arm = matvec(Rb, pb)
    x = add3(xb, arm)
    arm_a = sub3(x, xa)
    value = dot3(n, sub3(arm_a, matvec(Ra, pa)))
    return value, cross(arm, n), neg3(cross(arm_a, n)), n


@inline
def angle(c, near, Ra, Rb):
    """Angle of a hinge, on the branch nearest to `near`, and its gradient (a torque on b, its opposite on a)."""
    n = matvec(Ra, load3(c.n))
    m = matvec(Ra, load3(c.n2))
    w = matvec(Rb, load3(c.w2))
    x = dot3(w, m)
    y = dot3(w, cross(n, m))
    raw = c.sign * angle_of(y, x)
    value = raw + TWO_PI * math.floor((near - raw) / TWO_PI + 0.5)
    # The zero mark of b may lean towards the axis (universal joints): n - across (w . n) / |across|^2.
    wn = dot3(w, n)
    across = axpy3(-wn, n, w)
    t = scale3(c.sign, axpy3(-wn / (x * x + y * y), across, n))
    return value, t


@inline
def stretched(c, Ra, xa, Rb, xb):
    """Length of a rope, and its gradient."""
    arm_a, arm = matvec(Ra, load3(c.pa)), matvec(Rb, load3(c.pb))
    d = sub3(add3(xb, arm), add3(xa, arm_a))
    far = norm3(d)
    f = scale3(c.pitch / far if far > 0.0 else 0.0, d)
    return c.rest + c.pitch * far, cross(arm, f), neg3(cross(arm_a, f)), f


@inline
def coordinate(c, near, Ra, xa, Rb, xb):
    """Value of a ROPE, SLIDE or HINGE (angle on the branch nearest to `near`), and its gradient."""
    if c.kind == HINGE:
        value, t = angle(c, near, Ra, Rb)
        return value, t, neg3(t), ZERO3
    if c.kind == ROPE:
        return stretched(c, Ra, xa, Rb, xb)
    return along(load3(c.n), load3(c.pa), load3(c.pb), Ra, xa, Rb, xb)


@inline
def equation(row, turned, Ra, xa, Rb, xb):
    """Residual of a joint row and its gradient; `turned` is the angle of a screw."""
    if row.kind == DOT:
        n = matvec(Ra, load3(row.n))
        w = matvec(Rb, load3(row.w))
        t = cross(w, n)
        return dot3(n, w) - row.value, t, neg3(t), ZERO3
    value, tb, ta, f = along(load3(row.n), load3(row.pa), load3(row.pb), Ra, xa, Rb, xb)
    if row.kind == SCREW:
        t = scale3(row.pitch, f)
        return value - row.pitch * turned, sub3(tb, t), add3(ta, t), f
    return value, tb, ta, f


@inline
def goal_frame(goals, row):
    """(R, p) of the frame that a row of a prescribed pose follows; goals: prescribed values at one end of the step."""
    i = row.goal
    R = (goals[i], goals[i + 1], goals[i + 2], goals[i + 3], goals[i + 4], goals[i + 5], goals[i + 6], goals[i + 7])
    return (*R, goals[i + 8]), (goals[i + 9], goals[i + 10], goals[i + 11])


@inline
def is_coupling(row):
    """Whether a row couples two joint coordinates."""
    return row.kind == COUPLING


@inline
def is_screw(row):
    """Whether a row is of a screw, which needs the joint angle."""
    return row.kind == SCREW


@routine(allocates=False)
def polynomial(row, coefficients, x):
    """Polynomial of a coupling and its derivative at x."""
    f = 0.0
    slope = 0.0
    for k in range(row.first + row.count - 1, row.first - 1, -1):
        slope = slope * x + f
        f = f * x + coefficients[k]
    return f, slope


@inline
def relative(c, Ra, xa, Rb, xb):
    """Rotation and origin of the moved frame of a BALL or FREE coordinate in its joint's frame."""
    Ja = matmul(Ra, load9(c.Ra))
    Jb = matmul(Rb, load9(c.Rb))
    d = sub3(add3(xb, matvec(Rb, load3(c.pb))), add3(xa, matvec(Ra, load3(c.pa))))
    return mattmul(Ja, Jb), mattvec(Ja, d)
