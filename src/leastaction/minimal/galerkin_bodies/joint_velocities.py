"""Joints of the body-wise rule: velocities at the nodes, springs, dampers, armatures and their derivatives.

Bodies are interpolated by their poses, but joint forces depend on the joint's own coordinates: x' at a node is
sum_k b[j, k] x_k / dt, for ball and free joints with the rotation vector y_k = log(q_0^-1 q_k) for x, as in
`rotational_energy`. Displacements d of ball joints are in the child's frame: dy_k = J_r^-1(y_k) d_k - J_l^-1(y_k) d_0.
"""

from leastaction._jit import inline, routine
from leastaction.forces import total
from leastaction.kinematics.sweeps import FREE
from leastaction.minimal.galerkin_bodies.rotational_energy import (
    angular_velocity,
    angular_velocity_slope,
    plus9,
    polynomial,
    polynomial_slope,
    set_turn,
    turning_gradient,
    turning_hessian,
)
from leastaction.spatial import (
    ZERO3,
    axpy3,
    load3,
    matmul,
    mattmul,
    mattvec,
    matvec,
    quat_conj,
    quat_log,
    quat_mul,
    quat_to_rotation,
    sub3,
)
from leastaction.spatial import exponential as ex


@inline
def quaternion_at(q, j, n):
    """Quaternion q[j, n:n+4] as a tuple."""
    return (q[j, n], q[j, n + 1], q[j, n + 2], q[j, n + 3])


@inline
def turn_index(node):
    """Index in q of the quaternion of a ball or free joint."""
    return node.iq + 3 if node.kind == FREE else node.iq


@inline
def shift_at(Q, k, n):
    """Displacement of a free joint at node k, in the joint's frame [m]."""
    return (Q[k, n] - Q[0, n], Q[k, n + 1] - Q[0, n + 1], Q[k, n + 2] - Q[0, n + 2])


@inline
def drive_inertia(dofs, n):
    """Armature (6) of a ball joint."""
    return (dofs[n].armature, 0.0, 0.0, dofs[n + 1].armature, 0.0, dofs[n + 2].armature)


@routine
def turn_joints(model, settings, data):
    """Rotation vectors of ball and free joints over the step, and derivatives of kinetic energies of armatures."""
    turns, Q = data.joint_turns, data.Q
    for i in range(model.nodes.shape[0]):
        node = model.nodes[i]
        if node.nv == 1:
            continue
        n = turn_index(node)
        first = quat_conj(quaternion_at(Q, 0, n))
        for j in range(1, turns.shape[0]):
            set_turn(turns, j, i, quat_log(quat_mul(first, quaternion_at(Q, j, n))))
        if model.geared:
            turning_gradient(model.rule.w, model.rule.b, turns, i, drive_inertia(model.dofs, node.iv), settings.dt)


@routine
def joint_velocities(model, settings, data, j):
    """Joint velocities at node j."""
    rule, Q, dt = model.rule, data.Q, settings.dt
    v = data.V[j]
    for i in range(model.nodes.shape[0]):
        node = model.nodes[i]
        n, m = node.iq, node.iv
        if node.nv == 1:
            v[m] = 0.0
            for k in range(1, rule.c.shape[0]):
                v[m] += rule.b[j, k] * (Q[k, n] - Q[0, n]) / dt
            continue
        v[m], v[m + 1], v[m + 2] = angular_velocity(rule.b, data.joint_turns, j, i, dt)
        if node.kind == FREE:
            shift = ZERO3
            for k in range(1, rule.c.shape[0]):
                shift = axpy3(rule.b[j, k] / dt, shift_at(Q, k, n), shift)
            v[m + 3], v[m + 4], v[m + 5] = mattvec(quat_to_rotation(quaternion_at(Q, j, n + 3)), shift)


@routine
def hold_servos(model, data, j, tau):
    """Add `quadrature_rules.stiff_correction`, which stabilises stiff servos, to the generalised forces at node j."""
    nodes, dofs, rule, Q = model.nodes, model.dofs, model.rule, data.Q
    for i in range(nodes.shape[0]):
        n, m = nodes[i].iq, nodes[i].iv
        if nodes[i].nv == 1 and dofs[m].servo != 0.0:
            x = 0.0
            for k in range(1, rule.c.shape[0]):
                x += rule.z[k] * (Q[k, n] - Q[0, n])
            tau[m] += dofs[m].servo * rule.z[j] / rule.w[j] * x


@routine
def drive_impulses(soft, model, settings, data, j, out):
    """Add the derivatives of the kinetic energies of all armatures by the joints' displacements at node j.

    Nothing without armatures, or where they are disabled (None).
    """
    if soft is None:
        return
    if not model.geared:
        return
    rule, Q, dt = model.rule, data.Q, settings.dt
    s = rule.c.shape[0] - 1
    for i in range(model.nodes.shape[0]):
        node = model.nodes[i]
        m = node.iv
        if node.nv == 1:
            if model.dofs[m].armature != 0.0:
                for k in range(1, s + 1):
                    out[m] += model.dofs[m].armature / dt * rule.m[j, k] * (Q[k, node.iq] - Q[0, node.iq])
            continue
        t = ZERO3
        for k in range(1, s + 1):
            turn = data.joint_turns[k, i]
            y, g = load3(turn.y), load3(turn.g)
            if j == 0:  # -J_l^-T = -J_r^-1
                t = sub3(t, matvec(polynomial(y, 0.5, turn.k[6]), g))
            elif j == k:  # J_r^-T = J_l^-1
                t = matvec(polynomial(y, -0.5, turn.k[6]), g)
        for c in range(3):
            out[m + c] += t[c]
        if node.kind == FREE:
            f = ZERO3
            for k in range(1, s + 1):
                f = axpy3(model.dofs[m + 3].armature / dt * rule.m[j, k], shift_at(Q, k, node.iq), f)
            f = mattvec(quat_to_rotation(quaternion_at(Q, j, node.iq + 3)), f)
            for c in range(3):
                out[m + 3 + c] += f[c]


@inline
def _add_block(L, row, col, weight, A):
    """Add weight times a matrix (9) to a block of L."""
    for a in range(3):
        for b in range(3):
            L[row + a, col + b] += weight * A[3 * a + b]


@inline
def _add_cross(L, row, col, weight, f):
    """Add weight times the matrix of the map e -> e x f to a block of L."""
    _add_block(L, row, col, weight, (0.0, f[2], -f[1], -f[2], 0.0, f[0], f[1], -f[0], 0.0))


@inline
def _nine(a):
    return (a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8])


@routine
def joint_slopes(model, settings, data, i):
    """Derivatives of the impulses in joint i by its own displacements: `local`, rows and columns by node, then axis."""
    rule, dt, L = model.rule, settings.dt, data.local
    node = model.nodes[i]
    nodes = rule.c.shape[0]
    if node.nv == 1:
        dof = model.dofs[node.iv]
        for j in range(nodes):
            mode = data.modes.limits[j, node.iv]
            stiffness, damping = total.axis_slopes(dof, mode, data.Q[j, node.iq], data.V[j, node.iv])
            for k in range(nodes):
                L[j, k] = dof.armature / dt * rule.m[j, k] - rule.w[j] * damping * rule.b[j, k]
            L[j, j] -= dt * rule.w[j] * stiffness
        if dof.servo != 0.0:
            for j in range(nodes):
                for k in range(nodes):
                    L[j, k] += dt * dof.servo * rule.z[j] * rule.z[k]
        return
    size = nodes * node.nv
    for a in range(size):
        for b in range(size):
            L[a, b] = 0.0
    if model.sprung:
        _spring_slopes(model, settings, data, i)
    if model.damped:
        _damper_slopes(model, settings, data, i)
    if model.geared:
        _drive_slopes(model, settings, data, i)


@routine
def _spring_slopes(model, settings, data, i):
    """Add derivatives of springs of ball and free joints, which depend on their own node alone."""
    rule, L, dofs, rest, Q = model.rule, data.local, model.dofs, model.forces.rest, data.Q
    node = model.nodes[i]
    n, m, nv = turn_index(node), node.iv, node.nv
    stiffness = (dofs[m].stiffness, dofs[m + 1].stiffness, dofs[m + 2].stiffness)
    first = quat_conj((rest[n], rest[n + 1], rest[n + 2], rest[n + 3]))
    for j in range(rule.c.shape[0]):
        weight, at = settings.dt * rule.w[j], j * nv
        phi = quat_log(quat_mul(first, quaternion_at(Q, j, n)))
        k = ex.coefficients(phi)
        x = ex.spring_torque_slope(phi, k, stiffness, (1.0, 0.0, 0.0))
        y = ex.spring_torque_slope(phi, k, stiffness, (0.0, 1.0, 0.0))
        z = ex.spring_torque_slope(phi, k, stiffness, (0.0, 0.0, 1.0))
        _add_block(L, at, at, weight, (x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2]))
        if node.kind == FREE:
            # f = -R^T K d, with dd = R dv and dR^T a = -dw x R^T a.
            R = quat_to_rotation(quaternion_at(Q, j, n))
            d = (Q[j, n - 3] - rest[n - 3], Q[j, n - 2] - rest[n - 2], Q[j, n - 1] - rest[n - 1])
            K = (dofs[m + 3].stiffness, dofs[m + 4].stiffness, dofs[m + 5].stiffness)
            KR = (K[0] * R[0], K[0] * R[1], K[0] * R[2], K[1] * R[3], K[1] * R[4], K[1] * R[5])
            KR = KR + (K[2] * R[6], K[2] * R[7], K[2] * R[8])
            _add_block(L, at + 3, at + 3, -weight, mattmul(R, KR))
            _add_cross(L, at + 3, at, weight, mattvec(R, (K[0] * d[0], K[1] * d[1], K[2] * d[2])))


@routine
def _damper_slopes(model, settings, data, i):
    """Add derivatives of dampers of ball and free joints: tau = -d v."""
    rule, L, dofs, Q, dt = model.rule, data.local, model.dofs, data.Q, settings.dt
    node = model.nodes[i]
    n, m, nv = turn_index(node), node.iv, node.nv
    for j in range(rule.c.shape[0]):
        weight, row = dt * rule.w[j], j * nv
        for k in range(1, rule.c.shape[0]):
            turn = data.joint_turns[k, i]
            W = angular_velocity_slope(rule.b, data.joint_turns, j, i, k, dt)
            by_end = matmul(W, polynomial(load3(turn.y), 0.5, turn.k[6]))
            by_start = matmul(W, polynomial(load3(turn.y), -0.5, turn.k[6]))
            for a in range(3):
                for b in range(3):
                    L[row + a, k * nv + b] -= weight * dofs[m + a].damping * by_end[3 * a + b]
                    L[row + a, b] += weight * dofs[m + a].damping * by_start[3 * a + b]
        if node.kind == FREE:
            R = quat_to_rotation(quaternion_at(Q, j, n))
            damping = dofs[m + 3].damping  # equal along all axes
            for k in range(rule.c.shape[0]):
                W = mattmul(R, quat_to_rotation(quaternion_at(Q, k, n)))
                _add_block(L, row + 3, k * nv + 3, -damping * rule.w[j] * rule.b[j, k], W)
            v = (data.V[j, m + 3], data.V[j, m + 4], data.V[j, m + 5])
            _add_cross(L, row + 3, row, weight * damping, v)


@routine
def _drive_slopes(model, settings, data, i):
    """Add derivatives of the armatures of ball and free joints: as `wrench_blocks.body_blocks`, in the joint."""
    rule, L, G, dofs, Q, dt = model.rule, data.local, data.G, model.dofs, data.Q, settings.dt
    node = model.nodes[i]
    m, nv = node.iv, node.nv
    s = rule.c.shape[0] - 1
    turning_hessian(rule.w, rule.b, data.joint_turns, i, drive_inertia(dofs, m), dt, G)
    for k in range(1, s + 1):
        turn = data.joint_turns[k, i]
        ends = polynomial(load3(turn.y), 0.5, turn.k[6]), polynomial(load3(turn.y), -0.5, turn.k[6])
        for l in range(1, s + 1):
            turn = data.joint_turns[l, i]
            y, g, e, es = load3(turn.y), load3(turn.g), turn.k[6], turn.k[7]
            # The impulse at node l is J_l^-1(y_l) g_l, that at node 0 minus the sum of J_r^-1(y_l) g_l.
            at_start = matmul(polynomial(y, 0.5, e), _nine(G[l, k]))
            at_end = matmul(polynomial(y, -0.5, e), _nine(G[l, k]))
            if l == k:
                at_start = plus9(at_start, polynomial_slope(y, g, 0.5, 0.0, e, es))
                at_end = plus9(at_end, polynomial_slope(y, g, -0.5, 0.0, e, es))
            _add_block(L, 0, k * nv, -1.0, matmul(at_start, ends[0]))
            _add_block(L, l * nv, k * nv, 1.0, matmul(at_end, ends[0]))
            _add_block(L, 0, 0, 1.0, matmul(at_start, ends[1]))
            _add_block(L, l * nv, 0, -1.0, matmul(at_end, ends[1]))
    if node.kind == FREE:
        armature = dofs[m + 3].armature / dt
        for j in range(s + 1):
            R, f = quat_to_rotation(quaternion_at(Q, j, node.iq + 3)), ZERO3
            for k in range(s + 1):
                W = mattmul(R, quat_to_rotation(quaternion_at(Q, k, node.iq + 3)))
                _add_block(L, j * nv + 3, k * nv + 3, armature * rule.m[j, k], W)
                f = axpy3(armature * rule.m[j, k], shift_at(Q, k, node.iq), f)
            _add_cross(L, j * nv + 3, j * nv, -1.0, mattvec(R, f))
