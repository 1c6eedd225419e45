"""Joint forces other than springs and dampers of single axes: compliant limits, ball and free joints.

Half of each impulse acts at either end of the step. Springs and limits use discrete gradients over the step (Gonzalez
1996): limits the mean force over all positions from one end to the other, springs of ball joints the torque of
`joint_springs.mean_torque`, equal in the directions of the child at both ends, those of free joints the midpoint force
along the axes of their frame. Dampers resist the mean velocity of the step, those of limits the change of penetration.

Armatures of ball and free joints have the discrete Lagrangian (y . I y + m d . d) / (2 dt), with the rotation vector y
of the joint in the step about the axes of its child, its displacement d, and the inertias I and m; their momenta at
both ends are its derivatives. Newton's matrix contains only I / dt and m / dt and lacks terms proportional to y, so
that convergence is linear with a rate proportional to y. Stiffnesses of ball joints are ties, see `spring_forces`.
"""

from leastaction._jit import inline, routine
from leastaction.forces.joint_springs import has_ball_spring, mean_torque, mean_torque_slope
from leastaction.forces.tendons.tendon_forces import mean_depth
from leastaction.kinematics.sweeps import FREE
from leastaction.spatial import (
    axpy3,
    cross,
    dot3,
    mattvec,
    quat_conj,
    quat_log,
    quat_mul,
    quat_to_rotation,
    right_jacobian_inv,
)
from leastaction.spatial._series import inverse_jacobian_terms
from leastaction.spatial.so3 import column


@inline
def quaternion(q, n):
    """Quaternion q[n:n+4] as a tuple."""
    return (q[n], q[n + 1], q[n + 2], q[n + 3])


@routine
def pull_in_joints(model, data, pulls, dt):
    """Add these forces to the impulses at both ends and to their slopes; returns the work over the step [J]."""
    work = 0.0
    for i in range(model.nodes.shape[0]):
        node = model.nodes[i]
        if node.nv == 1:
            if model.dofs[node.iv].limit_stiffness > 0.0:
                work += push_back(model.dofs[node.iv], data, pulls, node, dt)
        elif node.nv > 1:
            work += turn_back(model, data, pulls, node, dt)
            drive_momenta(model.dofs, data, pulls, node, dt)
    return work


@inline
def mean_push(dof, x, z, dt):
    """Mean force of the limits of a single-axis joint over a step from x to z, and its derivative by z."""
    k, d = dof.limit_stiffness, dof.limit_damping / dt
    high, _, high_z = mean_depth(x - dof.upper, z - dof.upper)
    low, _, low_z = mean_depth(dof.lower - x, dof.lower - z)
    force = k * (low - high) - d * (max(z - dof.upper, 0.0) - max(x - dof.upper, 0.0))
    force += d * (max(dof.lower - z, 0.0) - max(dof.lower - x, 0.0))
    return force, -k * (low_z + high_z) - (d if z > dof.upper or z < dof.lower else 0.0)


@routine
def push_back(dof, data, pulls, node, dt):
    """Add the force of the limits of a single-axis joint; returns its work [J]."""
    c, x, z = node.iv, data.q0[node.iq], data.q1[node.iq]
    force, slope = mean_push(dof, x, z, dt)
    pulls.start[c] += 0.5 * dt * force
    pulls.end[c] += 0.5 * dt * force
    pulls.slope[c] -= 0.5 * dt * slope
    return force * (z - x)


@inline
def turns_of(model, data, node):
    """Rotation vectors of a ball or free joint from its rest at both ends of the step, and that of the step."""
    at = node.iq + 3 if node.kind == FREE else node.iq
    one, two, rest = quaternion(data.q0, at), quaternion(data.q1, at), quat_conj(quaternion(model.forces.rest, at))
    return quat_log(quat_mul(rest, one)), quat_log(quat_mul(rest, two)), quat_log(quat_mul(quat_conj(one), two))


@routine
def turn_back(model, data, pulls, node, dt):
    """Add springs and dampers of a ball or a free joint; returns their work [J]."""
    dofs, rest, q0, q1, n, j, work = model.dofs, model.forces.rest, data.q0, data.q1, node.iv, node.iq, 0.0
    first, last, y = turns_of(model, data, node)
    t = (0.0, 0.0, 0.0)
    if has_ball_spring(dofs, n):
        t, _ = mean_torque(dofs, n, first, last, y)
    for c in range(3):
        torque = t[c] - dofs[n + c].damping / dt * y[c]
        work += torque * y[c]
        pulls.start[n + c] += 0.5 * dt * torque
        pulls.end[n + c] += 0.5 * dt * torque
        pulls.slope[n + c] += 0.5 * dofs[n + c].damping + dofs[n + c].armature / dt
    if node.kind == FREE:
        shift = (q1[j] - q0[j], q1[j + 1] - q0[j + 1], q1[j + 2] - q0[j + 2])
        f = (
            -0.5 * dofs[n + 3].stiffness * (q0[j] + q1[j] - 2.0 * rest[j]),
            -0.5 * dofs[n + 4].stiffness * (q0[j + 1] + q1[j + 1] - 2.0 * rest[j + 1]),
            -0.5 * dofs[n + 5].stiffness * (q0[j + 2] + q1[j + 2] - 2.0 * rest[j + 2]),
        )
        work += dot3(f, shift)
        for end in range(2):
            R, out = quat_to_rotation(quaternion(q0 if end == 0 else q1, j + 3)), pulls.start if end == 0 else pulls.end
            g, v = mattvec(R, f), mattvec(R, shift)
            for c in range(3):
                resistance = dofs[n + 3 + c].damping / dt * v[c]
                work -= 0.5 * resistance * v[c]
                out[n + 3 + c] += 0.5 * dt * (g[c] - resistance)
        for c in range(n + 3, n + 6):
            pulls.slope[c] += 0.5 * dofs[c].damping + dofs[c].armature / dt + 0.25 * dt * dofs[c].stiffness
    return work


@routine
def turn_slopes(model, data, node, axis, factor, out):
    """Add to `out` (nv,) minus the derivative of the torque of a ball joint's spring about one axis of its child by the
    end rotation, times a factor."""
    n = node.iv
    first, last, y = turns_of(model, data, node)
    J = right_jacobian_inv(y)
    for c in range(3):
        out[n + c] -= factor * mean_torque_slope(model.dofs, n, first, last, y, column(J, c))[axis]


@routine
def drive_momenta(dofs, data, pulls, node, dt):
    """Momenta of the armature of a ball or a free joint at both ends of the step, into `pulls.drives`."""
    q0, q1, n, at = data.q0, data.q1, node.iv, node.iq
    if node.kind == FREE:
        m, at = dofs[n + 3].armature / dt, node.iq + 3
        f = (m * (q1[at - 3] - q0[at - 3]), m * (q1[at - 2] - q0[at - 2]), m * (q1[at - 1] - q0[at - 1]))
        for end in range(2):
            v = mattvec(quat_to_rotation(quaternion(q0 if end == 0 else q1, at)), f)
            for c in range(3):
                pulls.drives[end, n + 3 + c] = v[c]
    y = quat_log(quat_mul(quat_conj(quaternion(q0, at)), quaternion(q1, at)))
    g = (dofs[n].armature / dt * y[0], dofs[n + 1].armature / dt * y[1], dofs[n + 2].armature / dt * y[2])
    e, _ = inverse_jacobian_terms(dot3(y, y))
    a = cross(y, g)
    both = axpy3(e, cross(y, a), g)
    for c in range(3):
        pulls.drives[0, n + c] = both[c] + 0.5 * a[c]
        pulls.drives[1, n + c] = both[c] - 0.5 * a[c]
