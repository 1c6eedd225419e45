"""Forces that the mechanism itself exerts: joint springs, dampers and limits, body springs, cables, constant wrenches,
planes that push back.

Each force stands here once, with its potential energy. Body forces come as world wrenches per node, joint forces
as generalised forces.
"""

import math

from leastaction._jit import inline, routine
from leastaction.forces.touch import touch
from leastaction.kinematics.sweeps import FREE, SPHERICAL, add_to
from leastaction.spatial import (
    ZERO3,
    add3,
    cross,
    dot3,
    load3,
    load6,
    load9,
    mattvec,
    matvec,
    neg3,
    quat_conj,
    quat_log,
    quat_mul,
    quat_to_rotation,
    right_jacobian_inv,
    scale3,
    sub3,
)


@inline
def path_point(point, links):
    """World position and velocity [m, m/s] of a point on a spring or cable; links must hold poses and twists."""
    return point_state(point.node, load3(point.p), links)


@inline
def point_state(node, local, links):
    """World position and velocity [m, m/s] of a point fixed to a node (-1: the world)."""
    if node < 0:
        return local, ZERO3
    link = links[node]
    x = add3(load3(link.p), matvec(load9(link.R), local))
    V = load6(link.v)
    return x, add3(V[1], cross(V[0], x))


@inline
def path_length(path, points, links):
    """Length of a spring or cable and its rate [m, m/s]."""
    length = 0.0
    rate = 0.0
    x, xd = path_point(points[path.first], links)
    for k in range(path.first + 1, path.first + path.count):
        y, yd = path_point(points[k], links)
        d = sub3(y, x)
        r = math.sqrt(dot3(d, d))
        length += r
        if r > 0.0:
            rate += dot3(d, sub3(yd, xd)) / r
        x, xd = y, yd
    return length, rate


@inline
def path_tension(path, length, rate):
    """Tension [N] of a spring or cable; a cable is slack rather than pushing."""
    if path.pulls_only == 0:
        return path.stiffness * (length - path.rest_length) + path.damping * rate
    acts, share, _ = touch(path.mode, path.rest_length - length)
    if not acts:
        return 0.0
    tension = path.stiffness * (length - path.rest_length) + share * path.damping * rate
    return max(tension, 0.0) if path.clip != 0 else tension


@inline
def tension_slopes(path, length, rate):
    """Derivatives of `path_tension` by length, rate and damping; all zero for a slack cable."""
    if path.pulls_only == 0:
        return path.stiffness, path.damping, rate
    acts, share, slope = touch(path.mode, path.rest_length - length)
    if not acts or (path.clip != 0 and path_tension(path, length, rate) <= 0.0):
        return 0.0, 0.0, 0.0
    return path.stiffness - path.damping * rate * slope, share * path.damping, share * rate


@inline
def pull(external, node, x, f):
    """Add the force f at the world position x to the wrench of a node."""
    if node >= 0:
        add_to(external[node], (cross(x, f), f))


@inline
def isotropic_force(path, points, links, external):
    """Add the wrenches of a spring in proportion to the difference of its points (Sueda 2021, Eqs. 1.40, 1.45)."""
    a, b = points[path.first], points[path.first + 1]
    x, xd = path_point(a, links)
    y, yd = path_point(b, links)
    f = add3(scale3(path.stiffness, sub3(y, x)), scale3(path.damping, sub3(yd, xd)))
    pull(external, a.node, x, f)
    pull(external, b.node, y, neg3(f))


@inline
def penalty_force(contact, x, v):
    """(whether it acts, force, depth, sliding velocity, whether it sticks) at a point x with velocity v (1.9.6).

    The signs are those of a plane that pushes out and of friction against the sliding, not those of Eqs. 1.49, 1.59.
    """
    n = load3(contact.normal)
    d = dot3(n, sub3(x, load3(contact.origin)))
    acts, share, _ = touch(contact.mode, d)
    if not acts:
        return False, ZERO3, d, ZERO3, False
    rate = dot3(n, v)
    f = scale3(-contact.stiffness * d - share * contact.damping * rate, n)
    a = sub3(v, scale3(rate, n))
    size = math.sqrt(dot3(a, a))
    most = -contact.friction * contact.stiffness * min(d, 0.0)
    sticks = most > contact.stiction * size
    if sticks:
        f = sub3(f, scale3(contact.stiction, a))
    elif size > 0.0:
        f = sub3(f, scale3(most / size, a))
    return True, f, d, a, sticks


@inline
def penalty_slopes_along(contact, d, rate):
    """Derivatives of the normal force by depth and rate, less their signs: stiffness and damping."""
    _, share, slope = touch(contact.mode, d)
    return contact.stiffness + contact.damping * rate * slope, share * contact.damping


@routine
def penalty_forces(penalties, links, external):
    """Add the wrenches of planes that push back to `external`, shape (nodes, 6)."""
    for i in range(penalties.shape[0]):
        contact = penalties[i]
        x, v = point_state(contact.node, load3(contact.at), links)
        acts, f, _, _, _ = penalty_force(contact, x, v)
        if acts:
            pull(external, contact.node, x, f)


@routine
def penalty_energy(penalties, links):
    """Energy of planes that push back [J]."""
    energy = 0.0
    for i in range(penalties.shape[0]):
        contact = penalties[i]
        x, _ = point_state(contact.node, load3(contact.at), links)
        d = min(0.0, dot3(load3(contact.normal), sub3(x, load3(contact.origin))))
        energy += 0.5 * contact.stiffness * d * d
    return energy


@inline
def limit_gap(dof, q):
    """(direction away from the nearer limit, distance to it, negative beyond)."""
    low, high = q - dof.lower, dof.upper - q
    if low < high:
        return 1.0, low
    return -1.0, high


@inline
def limit_force(dof, q, v):
    """(force, energy) of the limits of one degree of freedom."""
    side, d = limit_gap(dof, q)
    acts, share, _ = touch(dof.mode, d)
    if not acts or dof.limit_stiffness == 0.0:
        return 0.0, 0.0
    force = -side * dof.limit_stiffness * d - share * dof.limit_damping * v
    return force, 0.5 * dof.limit_stiffness * d * d


@inline
def limit_slopes(dof, q, v):
    """Derivatives of `limit_force` by position and velocity, less their signs: stiffness and damping."""
    side, d = limit_gap(dof, q)
    acts, share, slope = touch(dof.mode, d)
    if not acts or dof.limit_stiffness == 0.0:
        return 0.0, 0.0
    return dof.limit_stiffness + dof.limit_damping * side * v * slope, share * dof.limit_damping


@routine
def body_forces(paths, points, wrenches, links, external):
    """Add the wrenches of springs, cables and constant wrenches to `external`, shape (nodes, 6)."""
    for i in range(paths.shape[0]):
        path = paths[i]
        if path.isotropic != 0:
            isotropic_force(path, points, links, external)
            continue
        length, rate = path_length(path, points, links)
        tension = path_tension(path, length, rate)
        x, _ = path_point(points[path.first], links)
        for k in range(path.first + 1, path.first + path.count):
            y, _ = path_point(points[k], links)
            d = sub3(y, x)
            r = math.sqrt(dot3(d, d))
            if r > 0.0:
                f = scale3(tension / r, d)
                pull(external, points[k - 1].node, x, f)
                pull(external, points[k].node, y, neg3(f))
            x = y
    for i in range(wrenches.shape[0]):
        w = wrenches[i]
        if w.node >= 0:
            R = load9(links[w.node].R)
            x = add3(load3(links[w.node].p), matvec(R, load3(w.point)))
            F = load6(w.wrench)
            if w.local != 0:
                F = (matvec(R, F[0]), matvec(R, F[1]))
            add_to(external[w.node], (add3(F[0], cross(x, F[1])), F[1]))


@inline
def ball_spring(q, rest, i, k):
    """Torque in the child's frame and energy of a spring on a ball joint with coordinates q[i:i+4].

    Energy is 1/2 sum k_j phi_j^2 with phi the rotation vector from rest; its gradient is dexp^-T K phi.
    """
    c = quat_mul(quat_conj((rest[i], rest[i + 1], rest[i + 2], rest[i + 3])), (q[i], q[i + 1], q[i + 2], q[i + 3]))
    phi = quat_log(c)
    kp = (k[0] * phi[0], k[1] * phi[1], k[2] * phi[2])
    return neg3(mattvec(right_jacobian_inv(phi), kp)), 0.5 * dot3(kp, phi)


@routine
def joint_forces(nodes, dofs, rest, q, v, tau):
    """Add the generalised forces of joint springs and dampers to tau; gives back the springs' energy [J]."""
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
            if dofs[n].limit_stiffness > 0.0:
                f, e = limit_force(dofs[n], q[node.iq], v[n])
                tau[n] += f
                energy += e
            continue
        j = node.iq
        if node.kind == FREE:
            # Displacement is in the joint's frame, the force in the child's.
            R = quat_to_rotation((q[j + 3], q[j + 4], q[j + 5], q[j + 6]))
            d = (q[j] - rest[j], q[j + 1] - rest[j + 1], q[j + 2] - rest[j + 2])
            kd = (dofs[n + 3].stiffness * d[0], dofs[n + 4].stiffness * d[1], dofs[n + 5].stiffness * d[2])
            f = mattvec(R, kd)
            tau[n + 3] -= f[0]
            tau[n + 4] -= f[1]
            tau[n + 5] -= f[2]
            energy += 0.5 * dot3(kd, d)
            j += 3
        if node.kind == FREE or node.kind == SPHERICAL:
            k3 = (dofs[n].stiffness, dofs[n + 1].stiffness, dofs[n + 2].stiffness)
            if k3[0] != 0.0 or k3[1] != 0.0 or k3[2] != 0.0:
                t, e = ball_spring(q, rest, j, k3)
                tau[n] += t[0]
                tau[n + 1] += t[1]
                tau[n + 2] += t[2]
                energy += e
    return energy


@routine
def path_energy(paths, points, links):
    """Elastic energy of springs and cables [J]."""
    energy = 0.0
    for i in range(paths.shape[0]):
        path = paths[i]
        length, _ = path_length(path, points, links)
        d = length - path.rest_length
        if path.pulls_only == 0 or d > 0.0:
            energy += 0.5 * path.stiffness * d * d
    return energy


@inline
def drive_wrench(drive, u, R, p):
    """World wrench of a drive that pushes on a node with pose (R, p), for the control u."""
    F = load6(drive.wrench)
    force = scale3(u, matvec(R, F[1]))
    return (add3(scale3(u, matvec(R, F[0])), cross(p, force)), force)


@routine
def drive_forces(drives, links, u, external, tau):
    """Add the generalised forces (tau) and world wrenches (external) of the controls u, shape (nu,)."""
    for k in range(drives.shape[0]):
        drive = drives[k]
        if drive.dof >= 0:
            tau[drive.dof] += drive.gear * u[k]
        elif drive.node >= 0:  # pushing on a body that is welded to the world moves nothing
            link = links[drive.node]
            add_to(external[drive.node], drive_wrench(drive, u[k], load9(link.R), load3(link.p)))


@routine
def clear(external, tau):
    """Set wrenches and generalised forces to zero."""
    for i in range(external.shape[0]):
        for c in range(6):
            external[i, c] = 0.0
    for k in range(tau.shape[0]):
        tau[k] = 0.0
