"""Springs and dampers of ball joints as torques between the two nodes that the joint connects."""

from leastaction._jit import inline
from leastaction.kinematics.sweeps import add_to
from leastaction.spatial import (
    EYE,
    ZERO3,
    add3,
    cross,
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
    sub,
    sub3,
)
from leastaction.spatial import exponential as ex


@inline
def is_soft(ball):
    """Whether the ball has a spring or a damper."""
    k, d = ball.stiffness, ball.damping
    return k[0] + k[1] + k[2] + d[0] + d[1] + d[2] > 0.0


@inline
def state(ball, links):
    """(rotation of the child, rotation vector from the rest, relative twist in the world) of a ball joint."""
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
def torque(ball, links):
    """(world torque on the child, energy) of the ball's spring and damper."""
    R, phi, V = state(ball, links)
    w = mattvec(R, V[0])
    stiffness = (ball.stiffness[0], ball.stiffness[1], ball.stiffness[2])
    t, energy = ex.spring_torque(phi, ex.coefficients(phi), stiffness)
    t = (t[0] - ball.damping[0] * w[0], t[1] - ball.damping[1] * w[1], t[2] - ball.damping[2] * w[2])
    return matvec(R, t), energy


@inline
def torque_slope(ball, links, T, dV):
    """Change of `torque` for displacements T and twist changes dV of the nodes, shape (nodes, 6) each."""
    R, phi, V = state(ball, links)
    world, _ = torque(ball, links)
    t, d = load6(T[ball.child]), load6(dV[ball.child])
    eta, change = t[0], d[0]
    if ball.other >= 0:
        eta = sub3(eta, load6(T[ball.other])[0])
        change = sub3(change, load6(dV[ball.other])[0])
    stiffness = (ball.stiffness[0], ball.stiffness[1], ball.stiffness[2])
    out = ex.spring_torque_slope(phi, ex.coefficients(phi), stiffness, mattvec(R, eta))
    w = mattvec(R, sub3(change, cross(t[0], V[0])))
    out = (out[0] - ball.damping[0] * w[0], out[1] - ball.damping[1] * w[1], out[2] - ball.damping[2] * w[2])
    return add3(cross(t[0], world), matvec(R, out))


@inline
def twist_pair(external, child, other, t):
    """Add the world torque t to the child and its opposite to the other node."""
    add_to(external[child], (t, ZERO3))
    if other >= 0:
        add_to(external[other], (neg3(t), ZERO3))
