"""Kernels of the linearly implicit step: (M + dt D - dt^2 K) v1 = M v0 + dt (f + D v0) (Sueda 2021, 2.86).

K = df/dq and D = -df/dv of joint springs, dampers and limits, of all body forces of section 1.9 but gravity, and of
springs in loops; gravity, Coriolis forces and controls are explicit, as in the paper. The dense matrix has the maximal
stiffness J^T K_m J with the forces differentiated in the frames of their bodies, which is not symmetric; the
matrix-free product, meant for conjugate gradients, has springs and cables without the turning of those frames.
"""

import math

from leastaction._finite import is_finite
from leastaction._jit import entry, inline, routine
from leastaction.dynamics import recursions
from leastaction.dynamics.hybrid_recursions import back_substitute, factor
from leastaction.forces.passive import (
    body_forces,
    clear,
    drive_forces,
    joint_forces,
    path_length,
    path_point,
    path_tension,
    penalty_forces,
)
from leastaction.forces.slopes import body_force_slopes
from leastaction.kinematics.closure import evaluate, is_coupling, push, soft_force
from leastaction.kinematics.loop_equations import add_row, equations
from leastaction.kinematics.manifold import retract
from leastaction.kinematics.sweeps import add_to, parent_twist, positions, velocities
from leastaction.spatial import (
    ZERO6,
    ad,
    add3,
    axpy,
    axpy3,
    cross,
    cross_force,
    dot,
    dot3,
    load6,
    load_inertia,
    momentum,
    scale3,
    store6,
    sub3,
)


@inline
def _point_velocity(T, x):
    """Velocity of the world point x that moves with the twist T."""
    return add3(T[1], cross(T[0], x))


@routine
def _project(nodes, screws, out, k, scale, A):
    """Add scale * J^T out to column k of A, for world wrenches out (nodes, 6), which are destroyed."""
    for i in range(nodes.shape[0] - 1, -1, -1):
        node = nodes[i]
        F = load6(out[i])
        for m in range(node.iv, node.iv + node.nv):
            A[m, k] += scale * dot(load6(screws[m].S), F)
        if node.parent >= 0:
            add_to(out[node.parent], F)


@routine
def body_force_terms(arrays, links, screws, own, dt, A, D, T, dV, out):
    """Add to A dt D - dt^2 K of body forces, and to D their D, column by column.

    own: the wrenches of these forces (nodes, 6); T, dV, out: scratch (nodes, 6).
    """
    nodes, dofs, _, _, paths, points, wrenches, _, penalties = arrays
    damped = penalties.shape[0] > 0
    for i in range(paths.shape[0]):
        damped = damped or paths[i].damping > 0.0
    for k in range(A.shape[0]):
        S = load6(screws[k].S)
        for i in range(nodes.shape[0]):
            # Subtrees are contiguous, but a child knows its parent anyway: what carries the parent carries it.
            parent = nodes[i].parent
            carried = i == dofs[k].node or (parent >= 0 and out[parent, 0] != 0.0)
            out[i, 0] = 1.0 if carried else 0.0
            store6(T[i], S if carried else ZERO6)
            store6(dV[i], ad(S, load6(links[i].v)) if carried else ZERO6)
        for i in range(nodes.shape[0]):
            # The paper's K_m is taken in the body's frame, which turns away under a force that does not (1.43).
            F = cross_force(load6(T[i]), load6(own[i]))
            store6(out[i], (scale3(-1.0, F[0]), scale3(-1.0, F[1])))
        body_force_slopes(paths, points, wrenches, penalties, links, T, dV, out)
        _project(nodes, screws, out, k, -dt * dt, A)
        if damped:
            for i in range(nodes.shape[0]):
                store6(dV[i], load6(T[i]))
                store6(T[i], ZERO6)
                store6(out[i], ZERO6)
            body_force_slopes(paths, points, wrenches, penalties, links, T, dV, out)
            _project(nodes, screws, out, k, -1.0, D)


@routine
def soft_row_terms(nodes, rows, count, links, screws, dt, A, D, G):
    """Add to A -dt^2 K of springs in loops, and to D the dampers' D; G: scratch (1, nv)."""
    for i in range(count, rows.shape[0]):
        row = rows[i]
        _, W = evaluate(row, links)
        for k in range(G.shape[1]):
            G[0, k] = 0.0
        add_row(nodes, screws, row.b, W, 1.0, G, 0)
        add_row(nodes, screws, row.a, W, -1.0, G, 0)
        for k in range(G.shape[1]):
            for j in range(G.shape[1]):
                A[j, k] += dt * dt * row.stiffness * G[0, k] * G[0, j]
                D[j, k] += row.damping * G[0, k] * G[0, j]


@routine
def joint_terms(nodes, dofs, q, dt, A, D):
    """Add to A -dt^2 K of joint springs and limits, and to D the D of their dampers."""
    for i in range(nodes.shape[0]):
        node = nodes[i]
        for k in range(node.iv, node.iv + node.nv):
            stiffness, damping = dofs[k].stiffness, dofs[k].damping
            x = q[node.iq]
            if node.nv == 1 and dofs[k].limit_stiffness > 0.0 and (x < dofs[k].lower or x > dofs[k].upper):
                stiffness += dofs[k].limit_stiffness
                damping += dofs[k].limit_damping
            A[k, k] += dt * dt * stiffness
            D[k, k] += damping


@routine
def explicit_forces(arrays, closure, links, screws, external, own, tau, zero, q, v, u, f):
    """f = all generalised forces less Coriolis and centrifugal ones, loops left open.

    `own` gets the wrenches of body forces (nodes, 6), `external` those of drives and of springs in loops as well.
    """
    nodes, dofs, gravity, rest, paths, points, wrenches, drives, penalties = arrays
    rows, _, count = closure
    positions(nodes, links, screws, q)
    velocities(nodes, links, screws, v)
    clear(external, tau)
    body_forces(paths, points, wrenches, links, external)
    penalty_forces(penalties, links, external)
    for i in range(nodes.shape[0]):
        store6(own[i], load6(external[i]))
    joint_forces(nodes, dofs, rest, q, v, tau)
    drive_forces(drives, links, u, external, tau)
    for i in range(count, rows.shape[0]):
        h, W = evaluate(rows[i], links)
        push(rows[i], external, W, soft_force(rows[i], links, h, W))
    recursions.required_forces(nodes, dofs, gravity, links, screws, v, zero, external, f)
    for k in range(v.shape[0]):
        f[k] = tau[k] - f[k]


@entry
def assemble(arrays, closure, links, screws, external, tau, zero, q, v, u, dt, M, A, b, h, G, scratch):
    """M (nv, nv), A = M + dt D - dt^2 K, b = M v + dt (f + D v); loop equations h and their Jacobian G."""
    nodes, dofs, paths, wrenches, penalties = arrays[0], arrays[1], arrays[4], arrays[6], arrays[8]
    rows, coefficients, count = closure
    D, own, T, dV, out, g = scratch
    n = v.shape[0]
    explicit_forces(arrays, closure, links, screws, external, own, tau, zero, q, v, u, b)
    equations(nodes, rows, coefficients, count, links, screws, q, h, G)
    for i in range(n):
        for j in range(n):
            M[i, j] = 0.0
            D[i, j] = 0.0
    recursions.mass_matrix(nodes, dofs, links, screws, q, M)
    for i in range(n):
        for j in range(n):
            A[i, j] = M[i, j]
    joint_terms(nodes, dofs, q, dt, A, D)
    if paths.shape[0] + wrenches.shape[0] + penalties.shape[0] > 0:
        body_force_terms(arrays, links, screws, own, dt, A, D, T, dV, out)
    soft_row_terms(nodes, rows, count, links, screws, dt, A, D, g)
    for i in range(n):
        b[i] *= dt
        for j in range(n):
            b[i] += (M[i, j] + dt * D[i, j]) * v[j]
            A[i, j] += dt * D[i, j]


@routine
def product(nodes, dofs, paths, points, links, screws, cm, cd, ck, x, y):
    """y = (cm M + cd D - ck K) x in O(n), K without turning frames; positions and velocities must be there."""
    for i in range(nodes.shape[0]):
        T = parent_twist(links, nodes[i].parent, ZERO6, False)
        for k in range(nodes[i].iv, nodes[i].iv + nodes[i].nv):
            T = axpy(x[k], load6(screws[k].S), T)
        store6(links[i].a, T)
        P = momentum(load_inertia(links[i].M), T)
        store6(links[i].f, (scale3(cm, P[0]), scale3(cm, P[1])))
    if cd != 0.0 or ck != 0.0:
        for i in range(paths.shape[0]):
            _path_product(paths[i], points, links, cd, ck)
    for i in range(nodes.shape[0] - 1, -1, -1):
        node = nodes[i]
        f = load6(links[i].f)
        for k in range(node.iv, node.iv + node.nv):
            own = cm * dofs[k].armature + cd * dofs[k].damping + ck * dofs[k].stiffness
            y[k] = dot(load6(screws[k].S), f) + own * x[k]
        if node.parent >= 0:
            add_to(links[node.parent].f, f)


@routine
def _path_product(path, points, links, cd, ck):
    """Add to links.f the wrenches of one spring or cable for the displacements links.a."""
    along_all = cd * path.damping + ck * path.stiffness
    if path.isotropic != 0:
        x, _ = path_point(points[path.first], links)
        y, _ = path_point(points[path.first + 1], links)
        w = sub3(_displacement(points[path.first + 1], links, y), _displacement(points[path.first], links, x))
        _push_apart(points[path.first].node, x, points[path.first + 1].node, y, scale3(along_all, w), links)
        return
    length, rate = path_length(path, points, links)
    tension = path_tension(path, length, rate)
    if path.pulls_only != 0 and tension <= 0.0:
        return
    change = 0.0
    for sweep in range(2):
        x, _ = path_point(points[path.first], links)
        for s in range(path.first, path.first + path.count - 1):
            y, _ = path_point(points[s + 1], links)
            d = sub3(y, x)
            r = math.sqrt(dot3(d, d))
            if r > 0.0:
                n = scale3(1.0 / r, d)
                w = sub3(_displacement(points[s + 1], links, y), _displacement(points[s], links, x))
                along = dot3(n, w)
                if sweep == 0:
                    change += along
                else:
                    # A compressed spring would make the matrix indefinite: what buckles is left explicit.
                    F = scale3(ck * max(tension, 0.0) / r, axpy3(-along, n, w))
                    F = axpy3(along_all * change, n, F)
                    _push_apart(points[s].node, x, points[s + 1].node, y, F, links)
            x = y


@inline
def _push_apart(a, x, b, y, F, links):
    """Add the force F at y on node b, and its opposite at x on node a, to links.f."""
    if b >= 0:
        add_to(links[b].f, (cross(y, F), F))
    if a >= 0:
        F = scale3(-1.0, F)
        add_to(links[a].f, (cross(x, F), F))


@inline
def _displacement(point, links, x):
    if point.node < 0:
        return (0.0, 0.0, 0.0)
    return _point_velocity(load6(links[point.node].a), x)


@routine
def path_blocks(paths, points, links, cd, ck, blocks):
    """Add to blocks (nodes, 21) the part of cd D - ck K of springs and cables that couples no two bodies."""
    for p in range(paths.shape[0]):
        path = paths[p]
        length, rate = path_length(path, points, links)
        tension = path_tension(path, length, rate)
        if path.isotropic == 0 and path.pulls_only != 0 and tension <= 0.0:
            continue
        along = cd * path.damping + ck * path.stiffness
        for s in range(path.first, path.first + path.count - 1):
            x, _ = path_point(points[s], links)
            y, _ = path_point(points[s + 1], links)
            d = sub3(y, x)
            r = math.sqrt(dot3(d, d))
            if r == 0.0 or points[s].node == points[s + 1].node:
                continue
            n = scale3(1.0 / r, d)
            across = along if path.isotropic != 0 else ck * max(tension, 0.0) / r
            if points[s].node >= 0:
                _add_block(blocks[points[s].node], x, n, along, across)
            if points[s + 1].node >= 0:
                _add_block(blocks[points[s + 1].node], y, n, along, across)


@inline
def _add_block(block, x, n, along, across):
    """Add J^T (across I + (along - across) n n^T) J for the point x, J the map from twists to its velocity."""
    m = cross(x, n)
    t = along - across
    for i in range(3):
        for j in range(3):
            block[6 + 3 * i + j] += t * m[i] * n[j]
    # [x] is the mixed block of a point mass, -[x][x] its moments.
    block[7] -= across * x[2]
    block[8] += across * x[1]
    block[9] += across * x[2]
    block[11] -= across * x[0]
    block[12] -= across * x[1]
    block[13] += across * x[0]
    k = 0
    for i in range(3):
        for j in range(i, 3):
            own = across if i == j else 0.0
            block[15 + k] += t * n[i] * n[j] + own
            block[k] += t * m[i] * m[j] + own * dot3(x, x) - across * x[i] * x[j]
            k += 1


@routine
def conjugate_gradients(arrays, links, screws, dt, b, x, scratch, tolerance):
    """x <- (M + dt D - dt^2 K)^-1 b from the guess x; Algorithm 10 must have been prepared. Iterations, or -1."""
    nodes, dofs, paths, points = arrays[0], arrays[1], arrays[4], arrays[5]
    r, z, p, y = scratch[0], scratch[1], scratch[2], scratch[3]
    n = x.shape[0]
    product(nodes, dofs, paths, points, links, screws, 1.0, dt, dt * dt, x, y)
    goal = 0.0
    for k in range(n):
        r[k] = b[k] - y[k]
        p[k] = 0.0
    # The residual is measured in the norm of the inverse inertia, where joints of all kinds count alike.
    back_substitute(nodes, links, screws, b, z)
    for k in range(n):
        goal += z[k] * b[k]
    goal *= tolerance * tolerance
    old = 1.0
    for iteration in range(10 * n + 10):
        back_substitute(nodes, links, screws, r, z)
        rho = 0.0
        for k in range(n):
            rho += r[k] * z[k]
        if rho <= goal:
            return iteration
        for k in range(n):
            p[k] = z[k] + (rho / old if iteration > 0 else 0.0) * p[k]
        product(nodes, dofs, paths, points, links, screws, 1.0, dt, dt * dt, p, y)
        curvature = 0.0
        for k in range(n):
            curvature += p[k] * y[k]
        if not curvature > 0.0:
            return -1
        for k in range(n):
            x[k] += rho / curvature * p[k]
            r[k] -= rho / curvature * y[k]
        old = rho
    return -1


@entry
def preconditioned_rollout(arrays, closure, work, dt, U, Q, V, iterations, blocks, scratch, tolerance):
    """Linearly implicit steps of a tree by preconditioned conjugate gradients; gives back the steps done."""
    nodes, dofs, paths, points = arrays[0], arrays[1], arrays[4], arrays[5]
    links, screws, external, own, tau, zero = work
    b, f = scratch[4], scratch[5]
    n = V.shape[1]
    for step in range(U.shape[0]):
        explicit_forces(arrays, closure, links, screws, external, own, tau, zero, Q[step], V[step], U[step, 0], f)
        product(nodes, dofs, paths, points, links, screws, 1.0, dt, 0.0, V[step], b)
        for k in range(n):
            b[k] += dt * f[k]
            tau[k] = dt * dofs[k].damping + dt * dt * dofs[k].stiffness
            V[step + 1, k] = V[step, k]
        for i in range(blocks.shape[0]):
            for c in range(21):
                blocks[i, c] = 0.0
        path_blocks(paths, points, links, dt, dt * dt, blocks)
        factor(nodes, dofs, links, screws, tau, blocks)
        count = conjugate_gradients(arrays, links, screws, dt, b, V[step + 1], scratch, tolerance)
        if count < 0:
            return step
        iterations[step + 1] = count
        for k in range(n):
            f[k] = dt * V[step + 1, k]
            if not is_finite(f[k]):
                return step
        retract(nodes, Q[step], f, Q[step + 1])
    return U.shape[0]


@entry
def push_rows(rows, coefficients, count, links, forces, external):
    """Add to external (nodes, 6) the wrenches of loop equations with multipliers `forces` (count,)."""
    for c in range(count):
        if not is_coupling(rows[c]):
            _, W = evaluate(rows[c], links)
            push(rows[c], external, W, forces[c])


@entry
def moved(nodes, q, x, out):
    """out = q moved by the tangent vector x."""
    retract(nodes, q, x, out)
