"""The linearly implicit step without matrices: conjugate gradients, preconditioned by the O(n) inverse inertia.

The product with M + dt D - dt^2 K has springs and cables without the turning of their bodies' frames, which makes it
symmetric (Sueda 2021, Algorithm 10).
"""

import math

from leastaction._finite import is_finite
from leastaction._jit import entry, inline, routine
from leastaction.dynamics.recursions import articulate, respond
from leastaction.forces.points import path_point
from leastaction.forces.tendons.cable_paths import length_and_rate, tension
from leastaction.kinematics.manifold import retract
from leastaction.kinematics.sweeps import add_to, parent_twist
from leastaction.redmax.linear_implicit.arrays import LinearSettings, named_gradient_data, named_model
from leastaction.redmax.linear_implicit.system_assembly import explicit_forces
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
def product(forces, data, cm, cd, ck, x, y):
    """y = (cm M + cd D - ck K) x in O(n), K without turning frames; positions and velocities must be there."""
    nodes, dofs, paths, links, screws = forces.nodes, forces.dofs, forces.paths, data.links, data.screws
    for i in range(nodes.shape[0]):
        T = parent_twist(links, nodes[i].parent, ZERO6, False)
        for k in range(nodes[i].iv, nodes[i].iv + nodes[i].nv):
            T = axpy(x[k], load6(screws[k].S), T)
        store6(links[i].a, T)
        P = momentum(load_inertia(links[i].M), T)
        store6(links[i].f, (scale3(cm, P[0]), scale3(cm, P[1])))
    if cd != 0.0 or ck != 0.0:
        for i in range(paths.shape[0]):
            _path_product(paths[i], data.modes.paths[i], forces.points, links, cd, ck)
    for i in range(nodes.shape[0] - 1, -1, -1):
        node = nodes[i]
        f = load6(links[i].f)
        for k in range(node.iv, node.iv + node.nv):
            own = cm * dofs[k].armature + cd * dofs[k].damping + ck * dofs[k].stiffness
            y[k] = dot(load6(screws[k].S), f) + own * x[k]
        if node.parent >= 0:
            add_to(links[node.parent].f, f)


@routine
def _path_product(path, mode, points, links, cd, ck):
    """Add to links.f the wrenches of one spring or cable for the displacements links.a."""
    along_all = cd * path.damping + ck * path.stiffness
    if path.isotropic != 0:
        x, _ = path_point(points[path.first], links)
        y, _ = path_point(points[path.first + 1], links)
        w = sub3(_displacement(points[path.first + 1], links, y), _displacement(points[path.first], links, x))
        _push_apart(points[path.first].node, x, points[path.first + 1].node, y, scale3(along_all, w), links)
        return
    length, rate = length_and_rate(path, points, links)
    pull = tension(path, mode, length, rate)
    if path.pulls_only != 0 and pull <= 0.0:
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
                    F = scale3(ck * max(pull, 0.0) / r, axpy3(-along, n, w))
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
def path_blocks(forces, modes, links, cd, ck, blocks):
    """Add to blocks (nodes, 21) the part of cd D - ck K of springs and cables that couples no two bodies."""
    paths, points = forces.paths, forces.points
    for p in range(paths.shape[0]):
        path = paths[p]
        length, rate = length_and_rate(path, points, links)
        pull = tension(path, modes.paths[p], length, rate)
        if path.isotropic == 0 and path.pulls_only != 0 and pull <= 0.0:
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
            across = along if path.isotropic != 0 else ck * max(pull, 0.0) / r
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
def conjugate_gradients(model, settings, data, x):
    """x <- (M + dt D - dt^2 K)^-1 b from the guess x; Algorithm 10 must have been prepared. Iterations, or -1."""
    forces, links, screws, dt = model.forces, data.links, data.screws, settings.dt
    nodes, b, r, z, p, y = forces.nodes, data.b, data.r, data.z, data.p, data.y
    n = x.shape[0]
    product(forces, data, 1.0, dt, dt * dt, x, y)
    goal = 0.0
    for k in range(n):
        r[k] = b[k] - y[k]
        p[k] = 0.0
    # The residual is measured in the norm of the inverse inertia, where joints of all kinds count alike.
    respond(nodes, links, screws, b, z)
    for k in range(n):
        goal += z[k] * b[k]
    goal *= settings.tolerance * settings.tolerance
    old = 1.0
    for iteration in range(10 * n + 10):
        respond(nodes, links, screws, r, z)
        rho = 0.0
        for k in range(n):
            rho += r[k] * z[k]
        if rho <= goal:
            return iteration
        for k in range(n):
            p[k] = z[k] + (rho / old if iteration > 0 else 0.0) * p[k]
        product(forces, data, 1.0, dt, dt * dt, p, y)
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


@entry(nogil=True)
def preconditioned_rollout(model, settings, data, U, Q, V, iterations):
    """Linearly implicit steps of a tree by preconditioned conjugate gradients; returns the steps done."""
    model, settings, data = named_model(*model), LinearSettings(*settings), named_gradient_data(*data)
    forces, links, screws, dt = model.forces, data.links, data.screws, settings.dt
    nodes, dofs, blocks, b, f = forces.nodes, forces.dofs, data.blocks, data.b, data.f
    n = V.shape[1]
    for step in range(U.shape[0]):
        explicit_forces(model, data, Q[step], V[step], U[step, 0], f)
        product(forces, data, 1.0, dt, 0.0, V[step], b)
        for k in range(n):
            b[k] += dt * f[k]
            data.tau[k] = dt * dofs[k].damping + dt * dt * dofs[k].stiffness
            V[step + 1, k] = V[step, k]
        for i in range(blocks.shape[0]):
            for c in range(21):
                blocks[i, c] = 0.0
        path_blocks(forces, data.modes, links, dt, dt * dt, blocks)
        articulate(nodes, dofs, links, screws, data.tau, blocks)
        count = conjugate_gradients(model, settings, data, V[step + 1])
        if count < 0:
            return step
        iterations[step + 1] = count
        for k in range(n):
            f[k] = dt * V[step + 1, k]
            if not is_finite(f[k]):
                return step
        retract(nodes, Q[step], f, Q[step + 1])
    return U.shape[0]
