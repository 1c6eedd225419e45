"""What acts in joints beside the springs and dampers of single axes: limits that push back, ball and free joints.

As `pulls` does, half of the impulses act at each end of the step: springs with the positions there, dampers with the
mean velocity of the step. That is the body-wise rule of order 2, see `bodywise.joints`.

Drives of ball and free joints have the discrete Lagrangian (y . I y + m d . d) / (2 dt), with the turn y of the joint
in the step about the axes of its child, its way d, and the inertias I and m; their momenta at both ends are its
derivatives. Newton's matrix has the slopes of y and d by themselves, I / dt and m / dt, which lack terms of the size of
y: with these it still converges, by as much as y is small.
"""

from leastaction._jit import inline, routine
from leastaction.forces.joint_limits import limit_force, limit_slopes
from leastaction.forces.joint_springs import turning_springs
from leastaction.forces.touch import BY_DEPTH
from leastaction.kinematics.sweeps import FREE
from leastaction.spatial import axpy3, cross, dot3, mattvec, quat_conj, quat_log, quat_mul, quat_to_rotation
from leastaction.spatial._series import inverse_jacobian_terms


@inline
def quaternion(q, n):
    """Four entries of q, from n on."""
    return (q[n], q[n + 1], q[n + 2], q[n + 3])


@routine
def pull_in_joints(model, lane, pulls, dt):
    """Add to the impulses at both ends of the step, and to their slopes."""
    for i in range(model.nodes.shape[0]):
        node = model.nodes[i]
        if node.nv == 1:
            if model.dofs[node.iv].limit_stiffness > 0.0:
                push_back(model.dofs[node.iv], lane, pulls, node, dt)
        elif node.nv > 1:
            turn_back(model, lane, pulls, node, dt)
            drive_momenta(model.dofs, lane, pulls, node, dt)


@routine
def push_back(dof, lane, pulls, node, dt):
    """The limits of a joint with one axis."""
    c, x, z = node.iv, lane.q0[node.iq], lane.q1[node.iq]
    rate = (z - x) / dt
    pulls.start[c] += 0.5 * dt * limit_force(dof, BY_DEPTH, x, rate)[0]
    pulls.end[c] += 0.5 * dt * limit_force(dof, BY_DEPTH, z, rate)[0]
    pulls.slope[c] += 0.5 * limit_slopes(dof, BY_DEPTH, x, rate)[1]


@routine
def turn_back(model, lane, pulls, node, dt):
    """Springs and dampers of a ball or a free joint."""
    dofs, rest, q0, q1, tau, n, j = model.dofs, model.forces.rest, lane.q0, lane.q1, pulls.tau, node.iv, node.iq
    for end in range(2):
        q, out = q0 if end == 0 else q1, pulls.start if end == 0 else pulls.end
        for c in range(n, n + node.nv):
            tau[c] = 0.0
        turning_springs(node, dofs, rest, q, tau)
        at = j
        if node.kind == FREE:
            at = j + 3
            shift = (q1[j] - q0[j], q1[j + 1] - q0[j + 1], q1[j + 2] - q0[j + 2])
            v = mattvec(quat_to_rotation(quaternion(q, at)), shift)
            for c in range(3):
                tau[n + 3 + c] -= dofs[n + 3 + c].damping / dt * v[c]
        y = quat_log(quat_mul(quat_conj(quaternion(q0, at)), quaternion(q1, at)))
        for c in range(3):
            tau[n + c] -= dofs[n + c].damping / dt * y[c]
        for c in range(n, n + node.nv):
            out[c] += 0.5 * dt * tau[c]
    for c in range(n, n + node.nv):
        pulls.slope[c] += 0.5 * dofs[c].damping + dofs[c].armature / dt


@routine
def drive_momenta(dofs, lane, pulls, node, dt):
    """Momenta of the drives of a ball or a free joint at both ends of the step, into `pulls.drives`."""
    q0, q1, n, at = lane.q0, lane.q1, node.iv, node.iq
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
