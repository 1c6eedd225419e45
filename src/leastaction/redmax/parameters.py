"""Gradients of z . g by the parameters of joints, springs and wrenches, and by placements through body forces.

All are gradients of minus z . g: what the adjoint method adds to that of the objective (Sueda 2021, Eq. 3.90).
"""

import math

from leastaction._jit import inline, routine
from leastaction.dynamics.kinematics import add_to
from leastaction.forces.passive import clear, path_length, path_point, path_tension
from leastaction.redmax.columns import has_wrenches, wrench_changes
from leastaction.spatial import (
    ZERO3,
    ZERO6,
    Ad,
    ad,
    add3,
    cross,
    cross_force,
    dot,
    dot3,
    load3,
    load6,
    load9,
    mattvec,
    matvec,
    scale,
    store6,
    sub,
    sub3,
)


@routine
def add_joint_gradients(model, r, rd, rdd, z, out):
    """Add to `out` (nr, 4) the gradients by stiffness, rest, damping and armature of each reduced coordinate."""
    dofs = model[1]
    plain, blocks, rest, coords = model[3][0], model[3][1], model[4][0], model[4][7]
    for p in range(plain.shape[0]):
        k, q, v = plain[p, 0], plain[p, 1], plain[p, 2]
        out[k, 0] -= z[k] * (r[k] - rest[q])
        out[k, 1] += z[k] * dofs[v].stiffness
        out[k, 2] -= z[k] * rd[k]
        out[k, 3] -= z[k] * rdd[k]
    for b in range(blocks.shape[0]):
        for k in range(blocks[b].ir, blocks[b].ir + blocks[b].nr):
            out[k, 0] -= z[k] * (r[k] - coords[k].rest)
            out[k, 1] += z[k] * coords[k].stiffness
            out[k, 2] -= z[k] * rd[k]
            out[k, 3] -= z[k] * rdd[k]


@inline
def _virtual(point, cot, x):
    """Virtual velocity of a point of a spring."""
    if point.node < 0:
        return ZERO3
    W = load6(cot[point.node].W)
    return add3(W[1], cross(W[0], x))


@routine
def _path_gradient(path, points, links, cot, out):
    """Add to out (3,) the gradients by stiffness, rest length and damping of a spring or cable."""
    if path.isotropic != 0:
        a, b = points[path.first], points[path.first + 1]
        x, xd = path_point(a, links)
        y, yd = path_point(b, links)
        d = sub3(_virtual(b, cot, y), _virtual(a, cot, x))
        out[0] -= dot3(d, sub3(y, x))
        out[2] -= dot3(d, sub3(yd, xd))
        return
    length, rate = path_length(path, points, links)
    tension = path_tension(path, length, rate)
    if path.pulls_only != 0 and (length <= path.rest_length or (path.clip != 0 and tension <= 0.0)):
        return
    stretch = 0.0
    x, _ = path_point(points[path.first], links)
    w = _virtual(points[path.first], cot, x)
    for k in range(path.first + 1, path.first + path.count):
        y, _ = path_point(points[k], links)
        s = _virtual(points[k], cot, y)
        d = sub3(y, x)
        r = math.sqrt(dot3(d, d))
        if r > 0.0:
            stretch += dot3(d, sub3(s, w)) / r
        x, w = y, s
    out[0] -= stretch * (length - path.rest_length)
    out[1] += stretch * path.stiffness
    out[2] -= stretch * rate


@routine
def add_force_gradients(model, work, cot, of_paths, of_wrenches, of_gravity):
    """Add the gradients by springs and cables (paths, 3), constant wrenches (wrenches, 6) and gravity (3,)."""
    _, paths, points, wrenches, _, _, _, _, _ = model[4]
    links = work[0]
    for i in range(paths.shape[0]):
        _path_gradient(paths[i], points, links, cot, of_paths[i])
    for i in range(wrenches.shape[0]):
        w = wrenches[i]
        if w.node < 0:
            continue
        W = load6(cot[w.node].W)
        R = load9(links[w.node].R)
        x = add3(load3(links[w.node].p), matvec(R, load3(w.point)))
        turn, speed = W[0], add3(W[1], cross(W[0], x))
        if w.local != 0:
            turn, speed = mattvec(R, turn), mattvec(R, speed)
        for c in range(3):
            of_wrenches[i, c] += turn[c]
            of_wrenches[i, 3 + c] += speed[c]
    nodes = model[0]
    for i in range(nodes.shape[0]):
        if nodes[i].parent < 0:
            for c in range(3):
                of_gravity[c] += cot[i].alpha[3 + c]


@routine
def _is_below(nodes, i, j):
    """Whether node i hangs on node j or is it."""
    while i > j:
        i = nodes[i].parent
    return i == j


@inline
def _unit6(c):
    a = (1.0 if c == 0 else 0.0, 1.0 if c == 1 else 0.0, 1.0 if c == 2 else 0.0)
    b = (1.0 if c == 3 else 0.0, 1.0 if c == 4 else 0.0, 1.0 if c == 5 else 0.0)
    return (a, b)


@routine
def add_wrench_placements(model, loops, work, scratch, cot, u, out):
    """Add what body forces contribute to the gradients by placements (nodes, 6).

    The inertial part moves every wrench rigidly with its node; added is the true change less that.
    """
    if not has_wrenches(model, loops, u):
        return
    nodes, links = model[0], work[0]
    external, T, dV, change = work[5]
    tau = scratch[6][2]
    for j in range(nodes.shape[0]):
        p = nodes[j].parent
        for c in range(6):
            xi, V = _unit6(c), ZERO6
            if p >= 0:
                xi = Ad((load9(links[p].R), load3(links[p].p)), xi)
                V = load6(links[p].v)
            clear(change, tau)
            for i in range(nodes.shape[0]):
                below = i >= j and _is_below(nodes, i, j)
                store6(T[i], xi if below else ZERO6)
                store6(dV[i], ad(xi, sub(load6(links[i].v), V)) if below else ZERO6)
            wrench_changes(model, work, u, change)
            total = 0.0
            for i in range(nodes.shape[0]):
                add_to(change[i], scale(-1.0, cross_force(load6(T[i]), load6(external[i]))))
                total += dot(load6(cot[i].W), load6(change[i]))
            out[j, c] += total
