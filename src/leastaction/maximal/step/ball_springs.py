"""Springs of ball joints that are stiff for the step: they pull from its middle, as those of hinges do (`assembly`).

The turn of the child beside the other body within a step is a unit quaternion of both: D = A* B, with A and B as in
`bodies`, in the directions of the child. Its logarithm over dt is the mean rate r, and the torque of the spring in the
middle is that at an end and half a step of its stiffness times r more.
"""

import math

from leastaction._jit import inline, routine
from leastaction.maximal.step.block_parts import add_pair, push
from leastaction.maximal.step.bodies import END, START, start_pose
from leastaction.spatial import (
    add3,
    axpy3,
    cross,
    dot3,
    load3,
    load9,
    mattvec,
    matvec,
    neg3,
    quat_log,
    quat_mul,
    scale3,
)


@inline
def ball_axis(c, j, states):
    """Wrenches (a, b) at the start poses that unit j of the velocity of a BALL or FREE is dual to."""
    e = (1.0 if j % 3 == 0 else 0.0, 1.0 if j % 3 == 1 else 0.0, 1.0 if j % 3 == 2 else 0.0)
    Rb, xb = start_pose(states, c.b)
    Ra, xa = start_pose(states, c.a)
    local = matvec(load9(c.Rb), e)
    n = matvec(Rb, local)
    na = mattvec(Ra, n)
    if j < 3:
        return (*neg3(na), 0.0, 0.0, 0.0), (*local, 0.0, 0.0, 0.0)
    pb = load3(c.pb)
    arm = matvec(Rb, pb)
    xa = (xb[0] + arm[0] - xa[0], xb[1] + arm[1] - xa[1], xb[2] + arm[2] - xa[2])
    pa = mattvec(Ra, xa)
    ta = (na[1] * pa[2] - na[2] * pa[1], na[2] * pa[0] - na[0] * pa[2], na[0] * pa[1] - na[1] * pa[0])
    tb = (pb[1] * local[2] - pb[2] * local[1], pb[2] * local[0] - pb[0] * local[2], pb[0] * local[1] - pb[1] * local[0])
    return (*ta, -n[0], -n[1], -n[2]), (*tb, *n)


@inline
def _turns(c, states, dt):
    """Vector parts of A* and B, in the child's directions at the poses of the records' start."""
    joint = load9(c.Rb)
    b = mattvec(joint, scale3(0.5 * dt, load3(states[c.b].w)))
    if c.a < 0:
        return (0.0, 0.0, 0.0), b
    Rb, _ = start_pose(states, c.b)
    Ra, _ = start_pose(states, c.a)
    return mattvec(joint, mattvec(Rb, matvec(Ra, scale3(-0.5 * dt, load3(states[c.a].w))))), b


@inline
def _scalar(v):
    return math.sqrt(max(1.0 - dot3(v, v), 1e-12))


@inline
def ball_rate(c, states, dt, when):
    """Mean rate of a BALL over the step, about the axes of its child [rad/s], from the poses at its START or END."""
    a, b = _turns(c, states, dt)
    A, B = (_scalar(a), a[0], a[1], a[2]), (_scalar(b), b[0], b[1], b[2])
    return scale3(1.0 / dt, quat_log(quat_mul(B, A) if when == END else quat_mul(A, B)))


@inline
def _rate_slopes(c, states, dt, j):
    """Derivatives of component j of the rate by (w, v) of both bodies (6, 6), at the start of the step."""
    a, b = _turns(c, states, dt)
    ca, cb = _scalar(a), _scalar(b)
    d = add3(add3(scale3(ca, b), scale3(cb, a)), cross(a, b))
    scalar, sine = ca * cb - dot3(a, b), math.sqrt(dot3(d, d))
    e = (1.0 if j == 0 else 0.0, 1.0 if j == 1 else 0.0, 1.0 if j == 2 else 0.0)
    # Of the logarithm: across and along the axis.
    across, along = 2.0 / scalar, 0.0
    if sine > 1e-8:
        across = 2.0 * math.atan2(sine, scalar) / sine
        along = (2.0 / scalar - across) * dot3(d, e) / (sine * sine)
    n = axpy3(along, d, scale3(across, e))
    # Of the product of both quaternions; each is of unit length.
    of_b = add3(axpy3(-dot3(a, n) / cb, b, scale3(ca, n)), cross(n, a))
    of_a = add3(axpy3(-dot3(b, n) / ca, a, scale3(cb, n)), cross(b, n))
    joint = load9(c.Rb)
    eb = scale3(0.5, matvec(joint, of_b))
    ea = (0.0, 0.0, 0.0)
    if c.a >= 0:
        Rb, _ = start_pose(states, c.b)
        Ra, _ = start_pose(states, c.a)
        ea = scale3(-0.5, mattvec(Ra, matvec(Rb, matvec(joint, of_a))))
    zero = 0.0 * dt  # a number as the others are: tuples of two kinds of numbers have no elements by index
    return (ea[0], ea[1], ea[2], zero, zero, zero), (eb[0], eb[1], eb[2], zero, zero, zero)


@inline
def spring_rate(c, dofs, rate):
    """One number for the rate of a BALL: that of its stiffest axis which holds as much energy."""
    total = 0.0
    for j in range(3):
        total += dofs[c.iv + j].stiffness / c.servo * (rate[0] if j == 0 else (rate[1] if j == 1 else rate[2])) ** 2
    return math.sqrt(total)


@routine(allocates=False)
def pull_from_middle(c, s, dofs, states, graph, values, halves, dt, fresh):
    """Take the impulse of a stiff ball joint's spring, beside that at the start of the step, from the residuals."""
    if c.servo == 0.0:
        return
    rate = ball_rate(c, states, dt, START)
    s.now = spring_rate(c, dofs, rate)
    s.kick = -0.5 * halves * dt * dt * c.servo * s.now
    for j in range(3):
        wa, wb = ball_axis(c, j, states)
        gain = 0.5 * halves * dt * dt * dofs[c.iv + j].stiffness
        along = rate[0] if j == 0 else (rate[1] if j == 1 else rate[2])
        push(states, c.a, wa, -gain * along)
        push(states, c.b, wb, -gain * along)
        if fresh:
            ea, eb = _rate_slopes(c, states, dt, j)
            add_pair(graph, values, c, wa, wb, ea, eb, gain)
