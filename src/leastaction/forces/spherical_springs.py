"""Springs and dampers of spherical joints that are no nodes: torques between the nodes that the joint connects."""

from leastaction._jit import inline, routine
from leastaction.kinematics.sweeps import add_to
from leastaction.spatial import (
    EYE,
    ZERO3,
    add3,
    axpy3,
    cross,
    dot3,
    load6,
    load9,
    matmul,
    mattmul,
    mattvec,
    matvec,
    neg3,
    quat_conj,
    quat_from_rotation,
    quat_log,
    quat_mul,
    rot_exp,
    sub,
    sub3,
)
from leastaction.spatial import exponential as ex


@inline
def is_soft(ball):
    """Whether the joint has a spring or a damper."""
    k, d = ball.stiffness, ball.damping
    return k[0] + k[1] + k[2] + d[0] + d[1] + d[2] > 0.0


@inline
def _state(ball, links):
    """(rotation of the child, rotation vector from the rest orientation, relative world twist) of a spherical joint."""
    R = load9(links[ball.child].R)
    Ro = EYE
    V = load6(links[ball.child].v)
    if ball.other >= 0:
        Ro = load9(links[ball.other].R)
        V = sub(V, load6(links[ball.other].v))
    relative = mattmul(matmul(Ro, load9(ball.frame)), R)
    rest = (ball.rest[0], ball.rest[1], ball.rest[2], ball.rest[3])
    return R, quat_log(quat_mul(quat_conj(rest), quat_from_rotation(relative))), V


@inline
def _stiffness(ball):
    return (ball.stiffness[0], ball.stiffness[1], ball.stiffness[2])


@inline
def _damped(ball, t, w):
    """t minus damping times w, componentwise."""
    return (t[0] - ball.damping[0] * w[0], t[1] - ball.damping[1] * w[1], t[2] - ball.damping[2] * w[2])


@inline
def _torque(ball, R, phi, V):
    """(world torque on the child, energy)."""
    t, energy = ex.spring_torque(phi, ex.coefficients(phi), _stiffness(ball))
    return matvec(R, _damped(ball, t, mattvec(R, V[0]))), energy


@inline
def _twist_pair(out, ball, t):
    """Add the world torque t to the child and -t to the other node."""
    add_to(out[ball.child], (t, ZERO3))
    if ball.other >= 0:
        add_to(out[ball.other], (neg3(t), ZERO3))


@routine
def any_soft(balls):
    """Whether any joint has a spring or a damper."""
    found = False
    for k in range(balls.shape[0]):
        found = found or is_soft(balls[k])
    return found


@routine
def wrenches(balls, links, external):
    """Add the world wrenches to `external`, shape (nodes, 6)."""
    for k in range(balls.shape[0]):
        if is_soft(balls[k]):
            R, phi, V = _state(balls[k], links)
            t, _ = _torque(balls[k], R, phi, V)
            _twist_pair(external, balls[k], t)


@routine
def energy(balls, links):
    """Elastic energy [J]."""
    total = 0.0
    for k in range(balls.shape[0]):
        if is_soft(balls[k]):
            R, phi, V = _state(balls[k], links)
            total += _torque(balls[k], R, phi, V)[1]
    return total


@routine
def slopes(balls, links, T, dV, out):
    """Add the directional derivatives of the wrenches (JVP)."""
    for k in range(balls.shape[0]):
        ball = balls[k]
        if not is_soft(ball):
            continue
        R, phi, V = _state(ball, links)
        world, _ = _torque(ball, R, phi, V)
        t, d = load6(T[ball.child]), load6(dV[ball.child])
        eta, changed = t[0], d[0]
        if ball.other >= 0:
            eta = sub3(eta, load6(T[ball.other])[0])
            changed = sub3(changed, load6(dV[ball.other])[0])
        turned = ex.spring_torque_slope(phi, ex.coefficients(phi), _stiffness(ball), mattvec(R, eta))
        turned = _damped(ball, turned, mattvec(R, sub3(changed, cross(t[0], V[0]))))
        _twist_pair(out, ball, add3(cross(t[0], world), matvec(R, turned)))


@inline
def _unit3(c):
    return (1.0 if c == 0 else 0.0, 1.0 if c == 1 else 0.0, 1.0 if c == 2 else 0.0)


@routine
def cotangents(balls, links, cot, GT, GV, out):
    """Reverse mode, the transpose of `slopes`.

    out (balls, 12): by stiffness, damping, rotations of the rest orientation in its own frame, and rotations of the
    joint's frame in the node that carries it.
    """
    for i in range(balls.shape[0]):
        ball = balls[i]
        R, phi, V = _state(ball, links)
        omega = load6(cot[ball.child].W)[0]
        if ball.other >= 0:
            omega = sub3(omega, load6(cot[ball.other].W)[0])
        y, w = mattvec(R, omega), mattvec(R, V[0])
        k, stiffness = ex.coefficients(phi), _stiffness(ball)
        t, _ = ex.spring_torque(phi, k, stiffness)
        t = _damped(ball, t, w)
        m = ZERO3
        for c in range(3):
            m = axpy3(dot3(y, ex.spring_torque_slope(phi, k, stiffness, _unit3(c))), _unit3(c), m)
        u = matvec(R, (ball.damping[0] * y[0], ball.damping[1] * y[1], ball.damping[2] * y[2]))
        g = matvec(R, m)
        add_to(GT[ball.child], (add3(g, add3(cross(V[0], u), cross(matvec(R, t), omega))), ZERO3))
        add_to(GV[ball.child], (neg3(u), ZERO3))
        back = neg3(g)  # rotating the joint's frame also rotates the rest orientation
        if ball.other >= 0:
            add_to(GT[ball.other], (neg3(g), ZERO3))
            add_to(GV[ball.other], (u, ZERO3))
            back = mattvec(load9(links[ball.other].R), back)
        s, rest = ex.jr_inverse(phi, k, y), matvec(rot_exp(phi), m)
        for c in range(3):
            out[i, c] -= phi[c] * s[c]
            out[i, 3 + c] -= w[c] * y[c]
            out[i, 6 + c] -= rest[c]
            out[i, 9 + c] += back[c]
