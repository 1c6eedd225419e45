"""Springs and dampers in joints, as generalised forces.

The energy of a spherical joint is 1/2 sum k_j phi_j^2, with the rotation vector phi from its rest orientation; its
gradient is dexp^-T K phi. A free joint also has springs along the axes of its frame.
"""

from leastaction._jit import inline, routine
from leastaction.kinematics.sweeps import FREE, SPHERICAL
from leastaction.spatial import (
    add3,
    axpy3,
    dot3,
    mattvec,
    matvec,
    neg3,
    quat_conj,
    quat_log,
    quat_mul,
    quat_to_rotation,
    right_jacobian,
    right_jacobian_inv,
    scale3,
)
from leastaction.spatial import exponential as ex

LEAST = 1e-4
"""Rotation in a step [rad] far below which the torque needs no correction term."""


@inline
def spring_force(dof, rest, x, rate):
    """(force, energy) of the spring and damper of one degree of freedom at position x and velocity `rate`."""
    d = x - rest
    return -dof.stiffness * d - dof.damping * rate, 0.5 * dof.stiffness * d * d


@inline
def spring_cotangents(dof, rest, z, x, rate, out):
    """Add to out[0:3] the gradients of z . force by stiffness, rest and damping."""
    out[0] -= z * (x - rest)
    out[1] += z * dof.stiffness
    out[2] -= z * rate


@inline
def ball_torque(dofs, n, phi):
    """Spring torque, in the child's frame, of a spherical joint with degrees of freedom n ... n + 2, at phi."""
    return ex.spring_torque(phi, ex.coefficients(phi), _stiffness(dofs, n))[0]


@inline
def ball_torque_slope(dofs, n, phi, k, eta):
    """Change of `ball_torque` for a rotation eta of the child in its frame; k = exponential.coefficients(phi)."""
    return ex.spring_torque_slope(phi, k, _stiffness(dofs, n), eta)


@inline
def has_ball_spring(dofs, n):
    """Whether a spherical joint has a spring."""
    k = _stiffness(dofs, n)
    return k[0] != 0.0 or k[1] != 0.0 or k[2] != 0.0


@inline
def _stiffness(dofs, n):
    return (dofs[n].stiffness, dofs[n + 1].stiffness, dofs[n + 2].stiffness)


@inline
def _ball_torque(q, rest, i, k):
    """Spring torque in the child's frame, and energy, of a spherical joint with coordinates q[i:i+4]."""
    c = quat_mul(quat_conj((rest[i], rest[i + 1], rest[i + 2], rest[i + 3])), (q[i], q[i + 1], q[i + 2], q[i + 3]))
    phi = quat_log(c)
    kp = (k[0] * phi[0], k[1] * phi[1], k[2] * phi[2])
    return neg3(mattvec(right_jacobian_inv(phi), kp)), 0.5 * dot3(kp, phi)


@inline
def mean_torque(dofs, n, first, last, turn):
    """Discrete gradient of the spring energy of a spherical joint over a step: (torque on the child, factor f).

    It is t + f r with the mean t of the torques at both ends, the rotation r of the step and
    f = (V0 - V1 - t . r) / r^2 (Gonzalez 1996), so that its work over r is the difference of the energies V.

    Args:
        n: first degree of freedom of the joint.
        first, last: rotation vectors from the rest orientation at both ends.
        turn: rotation vector r of the step, in the child's axes.
    """
    stiffness = _stiffness(dofs, n)
    t0, V0 = ex.spring_torque(first, ex.coefficients(first), stiffness)
    t1, V1 = ex.spring_torque(last, ex.coefficients(last), stiffness)
    t = scale3(0.5, add3(t0, t1))
    factor = (V0 - V1 - dot3(t, turn)) / (dot3(turn, turn) + LEAST * LEAST)
    return axpy3(factor, turn, t), factor


@inline
def mean_torque_slope(dofs, n, first, last, turn, d):
    """Change of `mean_torque` for a change d of the step's rotation, at a fixed start."""
    stiffness = _stiffness(dofs, n)
    k = ex.coefficients(last)
    t0, _ = ex.spring_torque(first, ex.coefficients(first), stiffness)
    t1, _ = ex.spring_torque(last, k, stiffness)
    _, factor = mean_torque(dofs, n, first, last, turn)
    eta = matvec(right_jacobian(turn), d)
    half = scale3(0.5, ex.spring_torque_slope(last, k, stiffness, eta))
    change = dot3(t1, eta) - dot3(half, turn) - 0.5 * dot3(add3(t0, t1), d) - 2.0 * factor * dot3(turn, d)
    change /= dot3(turn, turn) + LEAST * LEAST
    return axpy3(change, turn, axpy3(factor, d, half))


@inline
def turning_springs(node, dofs, rest, q, tau):
    """Add the generalised spring forces of a spherical or free joint to tau; returns their energy [J]."""
    energy, n, j = 0.0, node.iv, node.iq
    if node.kind == FREE:
        # The displacement is in the joint's frame, the force in the child's.
        R = quat_to_rotation((q[j + 3], q[j + 4], q[j + 5], q[j + 6]))
        d = (q[j] - rest[j], q[j + 1] - rest[j + 1], q[j + 2] - rest[j + 2])
        kd = (dofs[n + 3].stiffness * d[0], dofs[n + 4].stiffness * d[1], dofs[n + 5].stiffness * d[2])
        f = mattvec(R, kd)
        tau[n + 3] -= f[0]
        tau[n + 4] -= f[1]
        tau[n + 5] -= f[2]
        energy += 0.5 * dot3(kd, d)
        j += 3
    if (node.kind == FREE or node.kind == SPHERICAL) and has_ball_spring(dofs, n):
        t, e = _ball_torque(q, rest, j, _stiffness(dofs, n))
        tau[n] += t[0]
        tau[n + 1] += t[1]
        tau[n + 2] += t[2]
        energy += e
    return energy


@routine
def joint_forces(nodes, dofs, rest, q, v, tau):
    """Add the generalised forces to tau; returns the springs' energy [J]."""
    energy = 0.0
    for i in range(nodes.shape[0]):
        node = nodes[i]
        n = node.iv
        for k in range(n, n + node.nv):
            tau[k] -= dofs[k].damping * v[k]
        if node.nv == 1:
            d = q[node.iq] - rest[node.iq]
            tau[n] -= dofs[n].stiffness * d
            energy += 0.5 * dofs[n].stiffness * d * d
            continue
        energy += turning_springs(node, dofs, rest, q, tau)
    return energy
