"""Kernels of the linearly implicit step: (M + dt D - dt^2 K) v1 = M v0 + dt (f + D v0) (Sueda 2021, 2.86).

K = df/dq and D = -df/dv of joint springs and dampers, of springs and cables and of springs in loops; gravity, Coriolis
forces, constant wrenches and controls are explicit, as in the paper. The dense matrix has the paper's maximal
stiffness J^T K_m J with the forces differentiated in the frames of their bodies (1.64 to 1.80), which is not
symmetric; the matrix-free product, meant for conjugate gradients, has its symmetric part without the turning frames.
"""

import math

from leastaction._finite import is_finite
from leastaction._jit import entry, inline, routine
from leastaction.dynamics import recursions
from leastaction.dynamics.kinematics import add_to, parent_twist, positions, velocities
from leastaction.dynamics.loops import add_row, equations
from leastaction.dynamics.manifold import retract
from leastaction.forces.closure import evaluate, is_coupling, push, soft_force
from leastaction.forces.passive import (
    body_forces,
    clear,
    drive_forces,
    joint_forces,
    path_length,
    path_point,
    path_tension,
)
from leastaction.redmax.recursive import back_substitute, factor
from leastaction.spatial import (
    ZERO6,
    add3,
    axpy,
    axpy3,
    cross,
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
def _touched(nodes, points, path, index, mark):
    """List in `index` the degrees of freedom that move any point of the path; gives back their number."""
    count = 0
    for p in range(path.first, path.first + path.count):
        i = points[p].node
        while i >= 0:
            for k in range(nodes[i].iv, nodes[i].iv + nodes[i].nv):
                if mark[k] == 0:
                    mark[k] = 1
                    index[count] = k
                    count += 1
            i = nodes[i].parent
    for m in range(count):
        mark[index[m]] = 0
    return count


@routine
def _end_columns(nodes, screws, node, x, sign, B):
    """Add to B (nv, 6) the point velocity (0:3) and angular velocity (3:6) of each degree of freedom at x on a node."""
    i = node
    while i >= 0:
        for k in range(nodes[i].iv, nodes[i].iv + nodes[i].nv):
            S = load6(screws[k].S)
            d = _point_velocity(S, x)
            for c in range(3):
                B[k, c] += sign * d[c]
                B[k, 3 + c] = S[0][c]
        i = nodes[i].parent


@routine
def _clear_rows(index, count, B):
    for m in range(count):
        for c in range(B.shape[1]):
            B[index[m], c] = 0.0


@routine
def path_terms(nodes, paths, points, links, screws, v, dt, A, b, a, c, B, E, index, mark):
    """Add to A dt D - dt^2 K of springs and cables, and to b dt D v.

    a, c: scratch (nv,), zero: slope of the length, and of its rate at fixed twists; B, E: scratch (nv, 6), zero.
    """
    for p in range(paths.shape[0]):
        path = paths[p]
        length, rate = path_length(path, points, links)
        tension = path_tension(path, length, rate)
        if path.pulls_only != 0 and tension <= 0.0:
            continue
        count = _touched(nodes, points, path, index, mark)
        for s in range(path.first, path.first + path.count - 1):
            x, xd = path_point(points[s], links)
            y, yd = path_point(points[s + 1], links)
            d = sub3(y, x)
            r = math.sqrt(dot3(d, d))
            if r == 0.0:
                continue
            n = scale3(1.0 / r, d)
            side = sub3(yd, xd)
            side = axpy3(-dot3(n, side), n, side)
            for end in range(2):
                node = points[s + end].node
                at, rate_at, sign = (y, yd, 1.0) if end == 1 else (x, xd, -1.0)
                _end_columns(nodes, screws, node, at, sign, B)
                _end_columns(nodes, screws, node, at, 1.0, E)
                F = scale3(-sign * tension, n)
                for m in range(count):
                    k = index[m]
                    turn = (E[k, 3], E[k, 4], E[k, 5])
                    c[k] += sign * dot3(n, cross(turn, rate_at))
                    G = cross(F, turn)
                    if G[0] != 0.0 or G[1] != 0.0 or G[2] != 0.0:
                        for j in range(count):
                            # The force keeps its direction in the world: it turns back in the body's frame (1.43).
                            e = (E[index[j], 0], E[index[j], 1], E[index[j], 2])
                            A[index[j], k] -= dt * dt * dot3(e, G)
                _clear_rows(index, count, E)
            for m in range(count):
                k = index[m]
                Bk = (B[k, 0], B[k, 1], B[k, 2])
                along = dot3(n, Bk)
                a[k] += along
                c[k] += dot3(side, Bk) / r
                across = axpy3(-along, n, Bk)
                for j in range(count):
                    Bj = (B[index[j], 0], B[index[j], 1], B[index[j], 2])
                    A[index[j], k] += dt * dt * tension / r * dot3(across, Bj)
            _clear_rows(index, count, B)
        for m in range(count):
            k = index[m]
            slope = (dt * path.damping + dt * dt * path.stiffness) * a[k] + dt * dt * path.damping * c[k]
            b[k] += dt * path.damping * rate * a[k]
            for j in range(count):
                A[index[j], k] += slope * a[index[j]]
        for m in range(count):
            a[index[m]] = 0.0
            c[index[m]] = 0.0


@routine
def soft_row_terms(nodes, rows, count, links, screws, v, dt, A, b, G):
    """Add to A dt D - dt^2 K of springs and dampers in loops, and to b dt D v; G: scratch (1, nv)."""
    for i in range(count, rows.shape[0]):
        row = rows[i]
        _, W = evaluate(row, links)
        for k in range(G.shape[1]):
            G[0, k] = 0.0
        add_row(nodes, screws, row.b, W, 1.0, G, 0)
        add_row(nodes, screws, row.a, W, -1.0, G, 0)
        rate = 0.0
        for k in range(G.shape[1]):
            rate += G[0, k] * v[k]
        for k in range(G.shape[1]):
            if G[0, k] == 0.0:
                continue
            b[k] += dt * row.damping * rate * G[0, k]
            for j in range(G.shape[1]):
                A[j, k] += (dt * row.damping + dt * dt * row.stiffness) * G[0, k] * G[0, j]


@routine
def explicit_forces(arrays, closure, links, screws, external, tau, zero, q, v, u, f):
    """f = all generalised forces less Coriolis and centrifugal ones, loops left open; positions and velocities after."""
    nodes, dofs, gravity, rest, paths, points, wrenches, drives = arrays
    rows, _, count = closure
    positions(nodes, links, screws, q)
    velocities(nodes, links, screws, v)
    clear(external, tau)
    body_forces(paths, points, wrenches, links, external)
    joint_forces(nodes, dofs, rest, q, v, tau)
    drive_forces(drives, links, u, external, tau)
    for i in range(count, rows.shape[0]):
        h, W = evaluate(rows[i], links)
        push(rows[i], external, W, soft_force(rows[i], links, h, W))
    recursions.inverse_dynamics(nodes, dofs, gravity, links, screws, q, v, zero, external, f)
    for k in range(v.shape[0]):
        f[k] = tau[k] - f[k]


@entry
def assemble(arrays, closure, links, screws, external, tau, zero, q, v, u, dt, M, A, b, h, G, scratch):
    """M (nv, nv), A = M + dt D - dt^2 K, b = M v + dt (f + D v); loop equations h and their Jacobian G."""
    nodes, dofs, gravity, rest, paths, points, wrenches, drives = arrays
    rows, coefficients, count = closure
    a, c, B, E, g, index, mark = scratch
    n = v.shape[0]
    explicit_forces(arrays, closure, links, screws, external, tau, zero, q, v, u, b)
    equations(nodes, rows, coefficients, count, links, screws, q, h, G)
    for i in range(n):
        for j in range(n):
            M[i, j] = 0.0
    recursions.mass_matrix(nodes, dofs, links, screws, q, M)
    for i in range(n):
        b[i] = dt * (b[i] + dofs[i].damping * v[i])
        for j in range(n):
            A[i, j] = M[i, j]
            b[i] += M[i, j] * v[j]
        A[i, i] += dt * dofs[i].damping + dt * dt * dofs[i].stiffness
    path_terms(nodes, paths, points, links, screws, v, dt, A, b, a, c, B, E, index, mark)
    soft_row_terms(nodes, rows, count, links, screws, v, dt, A, b, g)


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
                    F = axpy3((cd * path.damping + ck * path.stiffness) * change, n, F)
                    if points[s + 1].node >= 0:
                        add_to(links[points[s + 1].node].f, (cross(y, F), F))
                    if points[s].node >= 0:
                        F = scale3(-1.0, F)
                        add_to(links[points[s].node].f, (cross(x, F), F))
            x = y


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
        if path.pulls_only != 0 and tension <= 0.0:
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
            across = ck * max(tension, 0.0) / r
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
    links, screws, external, tau, zero = work
    b, f = scratch[4], scratch[5]
    n = V.shape[1]
    for step in range(U.shape[0]):
        explicit_forces(arrays, closure, links, screws, external, tau, zero, Q[step], V[step], U[step, 0], f)
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
