"""Tree-sparse Newton direction: LDU of the DEL Jacobian along ancestor paths, from leaves to root without fill-in.

Block (i, j) of the Jacobian is nonzero only where i is an ancestor or a descendant of j. Every coordinate becomes a
chain of s scalar nodes, one per control point, so that a scalar LDU serves every order and every joint. Row k of U and
column k of L are stored over the ancestors of scalar node k, root first. O(n depth^2 s^3).
"""

import numpy as np

from leastaction._jit import inline, routine
from leastaction.minimal.galerkin_joints.quadrature_points import is_nodal
from leastaction.minimal.galerkin_joints.variations import pose_block
from leastaction.spatial import (
    ZERO3,
    add,
    add_inertia,
    coad,
    cross,
    load3,
    load6,
    load_inertia,
    momentum,
    scale3,
    store_inertia,
    sub,
    sub3,
)


@routine
def composites(nodes, pts, al):
    """Inertias of all subtrees at a quadrature point."""
    for i in range(nodes.shape[0]):
        store_inertia(pts[al, i].C, load_inertia(pts[al, i].M))
    for i in range(nodes.shape[0] - 1, 0, -1):
        j = nodes[i].parent
        if j >= 0:
            store_inertia(pts[al, j].C, add_inertia(load_inertia(pts[al, j].C), load_inertia(pts[al, i].C)))


@inline
def gravity_slope(C, g, k, T):
    """Spatial variation of the gravity impulse k (h x g, m g) of a subtree for the pose variation T."""
    x = scale3(k, cross(g, T[0]))
    return (cross(C[1], x), scale3(C[0], x))


@inline
def gravity_slope_transposed(C, g, k, T):
    """Transpose of `gravity_slope`; only its angular part is nonzero."""
    return scale3(k, cross(sub3(scale3(C[0], T[1]), cross(C[1], T[0])), g))


@inline
def poses_vary(rule, al):
    """Whether impulses at point al vary and enter the residual."""
    return (not is_nodal(rule)) or (al > 0 and al < rule.w.shape[0] - 1)


@routine
def assemble(model, settings, pts, data):
    """Fill U, L and D of the DEL Jacobian (Fan 2018, Algorithms 2 and 3, gathered along paths)."""
    col, row, own = data.var.col, data.var.row, data.var.own
    LU, D, pcol, prow, up, down, line = data.LU, data.D, data.cols, data.rows, data.up, data.down, data.line
    nodes, rule = model.nodes, settings.rule
    s = rule.c.shape[0] - 1
    g = load3(model.gravity)
    for al in range(rule.w.shape[0]):
        composites(nodes, pts, al)
    for i in range(nodes.shape[0]):
        node = nodes[i]
        n, nv = node.iv, node.nv
        d = data.depth[n]
        for j in range(nv):
            for a in range(s):
                for c in range(col.shape[2]):
                    pcol[a, c, d + j] = col[n + j, a, c]
                for c in range(row.shape[2]):
                    prow[a, c, d + j] = row[n + j, a, c]
        for j in range(nv):
            k = n + j
            for a in range(s):
                _weights(settings, pts, data, g, i, k, a)
            for a in range(s):
                for b in range(s):
                    _products(rule, up, a, pcol, b, d + nv, line, True)
                    for c in range(d):
                        LU[0, s * k + a, s * c + b] = line[c]
                    for m in range(nv):
                        x = line[d + m] + own[k, a, m, b]
                        # entry (row (k, a), column (n + m, b)) of the joint's own block
                        if s * m + b < s * j + a:
                            LU[0, s * k + a, s * (d + m) + b] = x
                        elif s * m + b > s * j + a:
                            LU[1, s * (n + m) + b, s * (d + j) + a] = x
                        else:
                            D[s * k + a] = x
                    _products(rule, down, b, prow, a, d, line, False)
                    for c in range(d):
                        LU[1, s * k + b, s * c + a] = line[c]


@inline
def _get(A, i, j, o):
    """Six numbers of A[i, j] from o as a tuple, without a view (views cost more than the arithmetic here)."""
    return ((A[i, j, o], A[i, j, o + 1], A[i, j, o + 2]), (A[i, j, o + 3], A[i, j, o + 4], A[i, j, o + 5]))


@inline
def _put(A, i, o, V):
    """Write six numbers to A[i] from o."""
    A[i, o], A[i, o + 1], A[i, o + 2] = V[0]
    A[i, o + 3], A[i, o + 4], A[i, o + 5] = V[1]


@inline
def _weights(settings, pts, data, g, i, k, a):
    """up: weights of row (k, a) for z of an ancestor; down: f of an ancestor by column (k, a + 1)."""
    rule, dt, col, row = settings.rule, settings.dt, data.var.col, data.var.row
    up, down, w = data.up, data.down, rule.w
    mine = a if is_nodal(rule) else 0
    moved = a + 1 if is_nodal(rule) else 0
    T = _get(col, k, a, pose_block(rule, moved))
    for al in range(w.shape[0]):
        C = load_inertia(pts[al, i].C)
        x = momentum(C, _get(row, k, a, 6 * al))
        if al == mine:
            x = add(x, _get(data.var.e, k, a, 0))
        _put(up, a, 6 * al, x)
        x = momentum(C, _get(col, k, a, 6 * al))
        if al == moved:
            x = sub(x, coad(T, load6(pts[al, i].mu)))
        _put(down, a, 6 * al, x)
    end = 6 * w.shape[0]
    if poses_vary(rule, moved):
        C = load_inertia(pts[moved, i].C)
        x = sub(gravity_slope(C, g, w[moved] * dt, T), coad(T, load6(pts[moved, i].G)))
        _put(down, a, end, x)
    if poses_vary(rule, mine):
        C = load_inertia(pts[mine, i].C)
        R = _get(row, k, a, pose_block(rule, mine))
        _put(up, a, end, (gravity_slope_transposed(C, g, w[mine] * dt, R), ZERO3))


@inline
def _products(rule, weights, other, path, a, count, line, upwards):
    """line[c] = weights[other] . path[a, :, c] for the joints c of the path, root first.

    upwards: weights of row `other` on the variations z of columns a + 1; else f of column `other` + 1 on rows a.
    """
    Q = rule.w.shape[0]
    for c in range(count):
        line[c] = 0.0
    for al in range(Q):
        _add_products(weights, other, 6 * al, path, a, 6 * al, count, line)
    # Poses and impulses are coupled only at a common quadrature point.
    meets = (not is_nodal(rule)) or (other == a + 1 if upwards else other + 1 == a)
    point = (other if upwards else a) if is_nodal(rule) else 0
    if meets and poses_vary(rule, point):
        _add_products(weights, other, 6 * Q, path, a, pose_block(rule, point), count, line)


@inline
def _add_products(weights, other, o, path, a, block, count, line):
    """line[c] += sum of 6 weights from o times path[a, block ..., c]; six at once, for a vectorised loop over c."""
    w, v = _get2(weights, other, o)
    for c in range(count):
        x = w[0] * path[a, block, c] + w[1] * path[a, block + 1, c] + w[2] * path[a, block + 2, c]
        y = v[0] * path[a, block + 3, c] + v[1] * path[a, block + 4, c] + v[2] * path[a, block + 5, c]
        line[c] += x + y


@inline
def _get2(A, i, o):
    """Six numbers of A[i] from o."""
    return ((A[i, o], A[i, o + 1], A[i, o + 2]), (A[i, o + 3], A[i, o + 4], A[i, o + 5]))


@routine
def factor(data, s):
    """Eliminate from the leaves to the root, in place."""
    depth, anc, LU, D = data.depth, data.ancestors, data.LU, data.D
    for k in range(D.shape[0] - 1, -1, -1):
        inverse = 1.0 / D[k]
        for a in range(scalar_depth(depth, s, k) - 1, -1, -1):
            i = anc[k, a]
            la = LU[1, k, a] * inverse
            ua = LU[0, k, a] * inverse
            D[i] -= la * LU[0, k, a]
            for c in range(a):
                LU[0, i, c] -= la * LU[0, k, c]
                LU[1, i, c] -= ua * LU[1, k, c]


@inline
def scalar_depth(depth, s, k):
    """Number of scalar ancestors of scalar node k."""
    return s * depth[k // s] + k % s


@routine
def solve(data, s, x, transposed):
    """x <- J^-1 x (or J^-T x) with the factors of `factor`; x over scalar nodes."""
    depth, anc, LU, D = data.depth, data.ancestors, data.LU, data.D
    lower = 0 if transposed else 1
    upper = 1 - lower
    for k in range(D.shape[0] - 1, -1, -1):
        t = x[k] / D[k]
        for a in range(scalar_depth(depth, s, k)):
            x[anc[k, a]] -= LU[lower, k, a] * t
    for k in range(D.shape[0]):
        t = x[k]
        for a in range(scalar_depth(depth, s, k)):
            t -= LU[upper, k, a] * x[anc[k, a]]
        x[k] = t / D[k]


def depths(nodes, nv):
    """Number of coordinates above each coordinate, shape (nv,)."""
    depth = np.zeros(nv, np.int64)
    below = {-1: 0}
    for i, node in enumerate(nodes):
        first = below[int(node.parent)]
        depth[node.iv : node.iv + node.nv] = first + np.arange(node.nv)
        below[i] = first + int(node.nv)
    return depth


def tables(nodes, nv, s):
    """Depth of each coordinate, scalar ancestors of each scalar node (root first), and the longest path."""
    depth = depths(nodes, nv)
    reach = int(depth.max()) + 1 if nv else 1
    anc = np.zeros((s * nv, s * reach), np.int64)
    path = {-1: np.zeros(0, np.int64)}
    for i, node in enumerate(nodes):
        chain = path[int(node.parent)]
        for k in range(int(node.iv), int(node.iv + node.nv)):
            for a in range(s):
                anc[s * k + a, : len(chain)] = chain
                chain = np.append(chain, s * k + a)
        path[i] = chain
    return depth, anc, reach
