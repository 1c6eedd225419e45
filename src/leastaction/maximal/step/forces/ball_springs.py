"""Springs of ball and free joints, by a discrete gradient.

The rotation of the child relative to the other body within a step is the unit quaternion D = A* B, with A and B as in
`bodies`, in the frame of the child; its logarithm r is the same in the frames at the start and at the end. With the
torques t0 and t1 of the spring at both ends, each in the frame of the child there, the torque over the step is

    t + f r,    t = (t0 + t1) / 2,    f = (V0 - V1 - t . r) / r^2

(Gonzalez 1996), so that its work over r is the difference of the energies V. f is of the order of r, from the
curvature of the torque; far below r = LEAST it is negligible, and dividing by r^2 would amplify round-off. The torque
acts on the child, and its opposite on the other body, at both ends of the step, so momenta are conserved exactly, and
the energy up to the square of the angles by which bodies rotate in half a step. The springs of a free joint along the
axes of its frame are those of three slides (`joint_springs`).
"""

import math

from leastaction._jit import inline, routine
from leastaction.forces.joint_springs import has_ball_spring, mean_torque, mean_torque_slope
from leastaction.maximal.maximal_records import FREE
from leastaction.maximal.step.block_parts import add_kick, add_pair, end_row, push
from leastaction.maximal.step.bodies import END, START, end_pose, start_pose
from leastaction.maximal.step.joint_rows import along
from leastaction.spatial import (
    EYE,
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
    quat_conj,
    quat_exp,
    quat_from_rotation,
    quat_log,
    quat_mul,
    quat_to_rotation,
    scale3,
)


@inline
def _unit(j):
    """Unit vector j."""
    return (1.0 if j == 0 else 0.0, 1.0 if j == 1 else 0.0, 1.0 if j == 2 else 0.0)


@inline
def ball_axis(c, j, states):
    """Wrenches (a, b) at the start poses of a unit force on velocity component j of a BALL or FREE."""
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
    """Vector parts of A* and B, in the child's frame at the start poses."""
    joint = load9(c.Rb)
    b = mattvec(joint, scale3(0.5 * dt, load3(states[c.b].w)))
    if c.a < 0:
        return (0.0, 0.0, 0.0), b
    Rb, _ = start_pose(states, c.b)
    Ra, _ = start_pose(states, c.a)
    return mattvec(joint, mattvec(Rb, matvec(Ra, scale3(-0.5 * dt, load3(states[c.a].w))))), b


@inline
def scalar_of(v):
    """Scalar part of the unit quaternion with the vector part v."""
    return math.sqrt(max(1.0 - dot3(v, v), 1e-12))


@inline
def ball_rate(c, states, dt, when):
    """Mean rate of a BALL over the step, about the axes of its child [rad/s], from the poses at its START or END."""
    a, b = _turns(c, states, dt)
    A, B = (scalar_of(a), a[0], a[1], a[2]), (scalar_of(b), b[0], b[1], b[2])
    return scale3(1.0 / dt, quat_log(quat_mul(B, A) if when == END else quat_mul(A, B)))


@inline
def _rate_slopes(c, states, dt, j):
    """Derivatives of component j of the rate by (w, v) of both bodies (6, 6), at the start of the step."""
    a, b = _turns(c, states, dt)
    ca, cb = scalar_of(a), scalar_of(b)
    d = add3(add3(scale3(ca, b), scale3(cb, a)), cross(a, b))
    scalar, sine = ca * cb - dot3(a, b), math.sqrt(dot3(d, d))
    e = (1.0 if j == 0 else 0.0, 1.0 if j == 1 else 0.0, 1.0 if j == 2 else 0.0)
    # Derivative of the logarithm: across and along the axis.
    across, along = 2.0 / scalar, 0.0
    if sine > 1e-8:
        across = 2.0 * math.atan2(sine, scalar) / sine
        along = (2.0 / scalar - across) * dot3(d, e) / (sine * sine)
    n = axpy3(along, d, scale3(across, e))
    # Derivative of the product of both unit quaternions, whose scalar parts follow from a and b.
    of_b = add3(axpy3(-dot3(a, n) / cb, b, scale3(ca, n)), cross(n, a))
    of_a = add3(axpy3(-dot3(b, n) / ca, a, scale3(cb, n)), cross(b, n))
    joint = load9(c.Rb)
    eb = scale3(0.5, matvec(joint, of_b))
    ea = (0.0, 0.0, 0.0)
    if c.a >= 0:
        Rb, _ = start_pose(states, c.b)
        Ra, _ = start_pose(states, c.a)
        ea = scale3(-0.5, mattvec(Ra, matvec(Rb, matvec(joint, of_a))))
    zero = 0.0 * dt  # of the type of the others: tuples of mixed types cannot be indexed
    return (ea[0], ea[1], ea[2], zero, zero, zero), (eb[0], eb[1], eb[2], zero, zero, zero)


@inline
def _wrench(states, body, t, f, sign):
    """Wrench (torque t about the COM, force sign f) in the body frame at the start of the step."""
    if body >= 0:
        t = mattvec(load9(states[body].R), t)
    return t[0], t[1], t[2], sign * f[0], sign * f[1], sign * f[2]


@inline
def _axis_displacement(c, j, a, b):
    """Displacement of a FREE along axis j of its frame at body poses (R, x), and its gradient; see `along`."""
    e = (1.0 if j == 0 else 0.0, 1.0 if j == 1 else 0.0, 1.0 if j == 2 else 0.0)
    return along(matvec(load9(c.Ra), e), load3(c.pa), load3(c.pb), a[0], a[1], b[0], b[1])


@inline
def shift_axis(c, j, states):
    """Displacement of a FREE along axis j of its frame at the start, and the wrenches (a, b) of a unit force."""
    value, tb, ta, f = _axis_displacement(c, j, start_pose(states, c.a), start_pose(states, c.b))
    return value, _wrench(states, c.a, ta, f, -1.0), _wrench(states, c.b, tb, f, 1.0)


@inline
def shift_row(c, j, states):
    """The same displacement at the end of the step, and its rows by (w, v) of both bodies."""
    value, tb, ta, f = _axis_displacement(c, j, end_pose(states, c.a), end_pose(states, c.b))
    return value, end_row(states, c.a, ta, f, -1.0), end_row(states, c.b, tb, f, 1.0)


@inline
def _earlier(states, i, dt):
    """Pose (R, p) of body i a step of dt before the start poses, from the velocities of that step."""
    if i < 0:
        return EYE, ZERO3
    s = states[i]
    u = scale3(-0.5 * dt, load3(s.w))
    back = quat_to_rotation((scalar_of(u), u[0], u[1], u[2]))
    return matmul(load9(s.R), back), axpy3(-dt, load3(s.vc), load3(s.p))


@inline
def shift_since(c, j, states, dt):
    """Change of the displacement along axis j over a step of dt that ends at the start poses."""
    e = (1.0 if j == 0 else 0.0, 1.0 if j == 1 else 0.0, 1.0 if j == 2 else 0.0)
    n, pa, pb = matvec(load9(c.Ra), e), load3(c.pa), load3(c.pb)
    Ra, xa = start_pose(states, c.a)
    Rb, xb = start_pose(states, c.b)
    Sa, ya = _earlier(states, c.a, dt)
    Sb, yb = _earlier(states, c.b, dt)
    return along(n, pa, pb, Ra, xa, Rb, xb)[0] - along(n, pa, pb, Sa, ya, Sb, yb)[0]


@inline
def spring_turn(c, rest, states, when):
    """Unit quaternion of the child relative to the rest orientation of a BALL or FREE spring, at START or END poses."""
    Ra, _ = end_pose(states, c.a) if when == END else start_pose(states, c.a)
    Rb, _ = end_pose(states, c.b) if when == END else start_pose(states, c.b)
    turn = quat_from_rotation(mattmul(matmul(Ra, load9(c.Ra)), matmul(Rb, load9(c.Rb))))
    i = c.iq + (3 if c.kind == FREE else 0)
    return quat_mul(quat_conj((rest[i], rest[i + 1], rest[i + 2], rest[i + 3])), turn)


@routine(allocates=False)
def turning_springs(c, model, data, share, dt, fresh):
    """Subtract the impulse of a BALL or FREE spring at the start from the residuals; with `fresh` add blocks."""
    if c.stiffness == 0.0:
        return
    dofs, rest, states = model.springs, model.forces.rest, data.bodies
    graph, values = model.graph, data.factors.values
    if has_ball_spring(dofs, c.iv):
        turn = scale3(dt, ball_rate(c, states, dt, START))
        start = spring_turn(c, rest, states, START)
        first, last = quat_log(start), quat_log(quat_mul(start, quat_exp(turn)))
        t, _ = mean_torque(dofs, c.iv, first, last, turn)
        data.stretched[0] += share * dot3(t, turn)
        for j in range(3):
            wa, wb = ball_axis(c, j, states)
            pull = share * dot3(t, _unit(j))
            push(states, c.a, wa, pull)
            push(states, c.b, wb, pull)
            add_kick(data.kicks[0], c.a, wa, pull)
            add_kick(data.kicks[0], c.b, wb, pull)
        for j in range(3 if fresh else 0):
            d = mean_torque_slope(dofs, c.iv, first, last, turn, _unit(j))
            ea, eb = _rate_slopes(c, states, dt, j)
            for i in range(3):
                wa, wb = ball_axis(c, i, states)
                add_pair(graph, values, c, wa, wb, ea, eb, -dt * share * dot3(d, _unit(i)))
    for j in range(3 if c.kind == FREE else 0):
        gain = share * dofs[c.iv + 3 + j].stiffness
        start_way, wa, wb = shift_axis(c, j, states)
        end, ea, eb = shift_row(c, j, states)
        pull = gain * (rest[c.iq + j] - 0.5 * (start_way + end))
        data.stretched[0] += pull * (end - start_way)
        push(states, c.a, wa, pull)
        push(states, c.b, wb, pull)
        add_kick(data.kicks[0], c.a, wa, pull)
        add_kick(data.kicks[0], c.b, wb, pull)
        if fresh:
            add_pair(graph, values, c, wa, wb, ea, eb, 0.5 * dt * gain)


@routine(allocates=False)
def leave_turning(c, model, data, share, dt):
    """Add the impulse of a BALL or FREE spring at the end of the step to the momenta; `data` is at the next start."""
    dofs, rest, states = model.springs, model.forces.rest, data.bodies
    if has_ball_spring(dofs, c.iv):
        turn = scale3(dt, ball_rate(c, states, dt, END))
        end = spring_turn(c, rest, states, START)
        first = quat_log(quat_mul(end, quat_exp(neg3(turn))))
        t, _ = mean_torque(dofs, c.iv, first, quat_log(end), turn)
        for j in range(3):
            wa, wb = ball_axis(c, j, states)
            pull = share * dot3(t, _unit(j))
            add_momentum(states, c.a, wa, pull)
            add_momentum(states, c.b, wb, pull)
            add_kick(data.kicks[1], c.a, wa, pull)
            add_kick(data.kicks[1], c.b, wb, pull)
    for j in range(3 if c.kind == FREE else 0):
        way, wa, wb = shift_axis(c, j, states)
        way -= 0.5 * shift_since(c, j, states, dt)
        pull = share * dofs[c.iv + 3 + j].stiffness * (rest[c.iq + j] - way)
        add_momentum(states, c.a, wa, pull)
        add_momentum(states, c.b, wb, pull)
        add_kick(data.kicks[1], c.a, wa, pull)
        add_kick(data.kicks[1], c.b, wb, pull)


@inline
def add_momentum(states, body, w, k):
    """Add k w to the momentum of a body."""
    if body >= 0:
        for i in range(6):
            states[body].P[i] += k * w[i]
