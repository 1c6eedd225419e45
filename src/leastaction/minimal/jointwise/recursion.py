"""Newton direction in O(n): Fan 2018, Algorithms B.1 and B.2, as one articulated-body recursion on stacked variations.

With z and f of `variations`, each subtree answers f_i = A_i^T z_i + l_i. A joint solves its own rows for its
coordinates, dx = X z_parent + dx0, and hands on what is left:

    A_parent += A + X^T H,   l_parent += l + H dx0,   H = A^T col - (turning of mu and Gamma with the joint)

A is stored as A[i, z, f]. Cost O(s^3 n): the work grows linearly with the number of links. `factor` does all that does
not depend on the residual; `solve` finds the direction, and may do so again for residuals elsewhere (chord steps).
"""

from leastaction._jit import inline, routine
from leastaction.minimal.jointwise.points import is_nodal
from leastaction.minimal.jointwise.sparse import gravity_slope, poses_vary
from leastaction.minimal.jointwise.variations import pose_block
from leastaction.spatial import ZERO3, coad, load3, load6, load6_at, load_inertia


@inline
def put_inertia(A, o, M):
    """The 6x6 matrix of a spatial inertia at rows and columns o."""
    m, h, I = M
    A[o, o], A[o, o + 1], A[o, o + 2] = I[0], I[1], I[2]
    A[o + 1, o], A[o + 1, o + 1], A[o + 1, o + 2] = I[1], I[3], I[4]
    A[o + 2, o], A[o + 2, o + 1], A[o + 2, o + 2] = I[2], I[4], I[5]
    A[o, o + 4], A[o, o + 5], A[o + 1, o + 3] = -h[2], h[1], h[2]
    A[o + 1, o + 5], A[o + 2, o + 3], A[o + 2, o + 4] = -h[0], -h[1], h[0]
    A[o + 3, o + 1], A[o + 3, o + 2], A[o + 4, o] = h[2], -h[1], -h[2]
    A[o + 4, o + 2], A[o + 5, o], A[o + 5, o + 1] = h[0], h[1], -h[0]
    A[o + 3, o + 3] = m
    A[o + 4, o + 4] = m
    A[o + 5, o + 5] = m


@inline
def put_gravity(A, o, M, g, k):
    """The 6x6 matrix of `gravity_slope` at rows (eta) and columns (Gamma) o."""
    for c in range(3):
        e = ((1.0 if c == 0 else 0.0, 1.0 if c == 1 else 0.0, 1.0 if c == 2 else 0.0), ZERO3)
        F = gravity_slope(M, g, k, e)
        A[o + c, o], A[o + c, o + 1], A[o + c, o + 2] = F[0]
        A[o + c, o + 3], A[o + c, o + 4], A[o + c, o + 5] = F[1]


@inline
def minus6_at(a, o, V):
    """Subtract 6 numbers at offset o."""
    a[o] -= V[0][0]
    a[o + 1] -= V[0][1]
    a[o + 2] -= V[0][2]
    a[o + 3] -= V[1][0]
    a[o + 4] -= V[1][1]
    a[o + 5] -= V[1][2]


@routine
def solve_joint(Lam, X, inverse, first, m):
    """X <- -Lam^-1 X and `inverse` = -Lam^-1 for the m equations of a joint, with partial pivoting.

    Row t of X is X[first + t // X.shape[1], t % X.shape[1]], and so for `inverse`. Lam: m x m, then room for m x m.
    """
    s, width = X.shape[1], X.shape[2]
    for k in range(m):
        for c in range(m):
            Lam[k, m + c] = 1.0 if k == c else 0.0
    for k in range(m):
        pivot = k
        for r in range(k + 1, m):
            if abs(Lam[r, k]) > abs(Lam[pivot, k]):
                pivot = r
        if pivot != k:
            for c in range(2 * m):
                Lam[k, c], Lam[pivot, c] = Lam[pivot, c], Lam[k, c]
            x, y = X[first + k // s, k % s], X[first + pivot // s, pivot % s]
            for c in range(width):
                x[c], y[c] = y[c], x[c]
        x = X[first + k // s, k % s]
        for r in range(k + 1, m):
            t = Lam[r, k] / Lam[k, k]
            y = X[first + r // s, r % s]
            for c in range(k + 1, 2 * m):
                Lam[r, c] -= t * Lam[k, c]
            for c in range(width):
                y[c] -= t * x[c]
    for k in range(m - 1, -1, -1):
        x = X[first + k // s, k % s]
        for r in range(k + 1, m):
            t = Lam[k, r]
            y = X[first + r // s, r % s]
            # Rows below are already negated solutions, hence the plus.
            for c in range(width):
                x[c] += t * y[c]
            for c in range(m, 2 * m):
                Lam[k, c] += t * Lam[r, c]
        t = -1.0 / Lam[k, k]
        for c in range(width):
            x[c] *= t
        for c in range(m, 2 * m):
            Lam[k, c] *= t
            inverse[first + k // s, k % s, c - m] = Lam[k, c]


@routine
def factor(model, settings, points, data):
    """Eliminate all joints at the present iterate, from leaves to root: H, X and `inverse`."""
    col, row, e, own = data.var.col, data.var.row, data.var.e, data.var.own
    A, X, H, Lam, inverse = data.A, data.X, data.H, data.Lam, data.inverse
    nodes, rule, pts = model.nodes, settings.rule, points.nodes
    w = rule.w
    s = rule.c.shape[0] - 1
    # Sizes at run time on purpose: LLVM vectorises these loops better than unrolled ones.
    mz, mf = A.shape[1], A.shape[2]
    g = load3(model.gravity)
    for i in range(nodes.shape[0]):
        for a in range(mz):
            for c in range(mf):
                A[i, a, c] = 0.0
        for al in range(w.shape[0]):
            M = load_inertia(pts[al, i].M)
            put_inertia(A[i], 6 * al, M)
            if poses_vary(rule, al):
                put_gravity(A[i], pose_block(rule, al), M, g, w[al] * settings.dt)
    for i in range(nodes.shape[0] - 1, -1, -1):
        node = nodes[i]
        n, m = node.iv, node.nv * s
        for t in range(m):
            k, a = n + t // s, t % s
            mine = a if is_nodal(rule) else 0
            for c in range(mf):
                H[k, a, c] = 0.0
            for o in range(mz):
                x = col[k, a, o]
                y = 0.0
                for c in range(mf):
                    H[k, a, c] += x * A[i, o, c]
                    y += row[k, a, c] * A[i, o, c]
                X[k, a, o] = y
            for o in range(6):
                X[k, a, 6 * mine + o] += e[k, a, o]
        for t in range(m):
            k, a = n + t // s, t % s
            for q in range(m):
                j, b = n + q // s, q % s
                y = own[k, a, q // s, b]
                for o in range(mz):
                    y += X[k, a, o] * col[j, b, o]
                Lam[t, q] = y
        solve_joint(Lam, X, inverse, n, m)
        if node.parent >= 0:
            _hand_on(rule, pts, data, s, i, node)


@routine
def solve(model, data, r, dx):
    """dx[gamma - 1, k]: Newton direction for the residual r (s, nv), by what `factor` has left, there or before."""
    col, row = data.var.col, data.var.row
    l, z, X, H, inverse = data.l, data.z, data.X, data.H, data.inverse
    nodes, y = model.nodes, data.y
    s, mz, mf = X.shape[1], X.shape[2], H.shape[2]
    for i in range(nodes.shape[0]):
        for c in range(mf):
            l[i, c] = 0.0
    for i in range(nodes.shape[0] - 1, -1, -1):
        n, nv, parent = nodes[i].iv, nodes[i].nv, nodes[i].parent
        for k in range(n, n + nv):
            for a in range(s):
                x = r[a, k]
                for c in range(mf):
                    x += row[k, a, c] * l[i, c]
                y[(k - n) * s + a] = x
        for k in range(n, n + nv):
            for a in range(s):
                x = 0.0
                for q in range(nv * s):
                    x += inverse[k, a, q] * y[q]
                dx[a, k] = x
        if parent >= 0:
            for c in range(mf):
                l[parent, c] += l[i, c]
            for k in range(n, n + nv):
                for a in range(s):
                    x = dx[a, k]
                    for c in range(mf):
                        l[parent, c] += H[k, a, c] * x
    for i in range(nodes.shape[0]):
        n, nv, parent = nodes[i].iv, nodes[i].nv, nodes[i].parent
        for o in range(mz):
            z[i, o] = z[parent, o] if parent >= 0 else 0.0
        if parent >= 0:
            for k in range(n, n + nv):
                for a in range(s):
                    x = dx[a, k]
                    for o in range(mz):
                        x += X[k, a, o] * z[parent, o]
                    dx[a, k] = x
        for k in range(n, n + nv):
            for a in range(s):
                x = dx[a, k]
                for o in range(mz):
                    z[i, o] += col[k, a, o] * x


@inline
def _hand_on(rule, pts, data, s, i, node):
    """Add what is left of subtree i to its parent."""
    A, X, H = data.A, data.X, data.H
    mz, mf = A.shape[1], A.shape[2]
    parent, n = node.parent, node.iv
    m = node.nv * s
    for t in range(m):
        k, a = n + t // s, t % s
        moved = a + 1 if is_nodal(rule) else 0
        T = load6_at(data.var.col[k, a], pose_block(rule, moved))
        minus6_at(H[k, a], 6 * moved, coad(T, load6(pts[moved, i].mu)))
        if poses_vary(rule, moved):
            minus6_at(H[k, a], pose_block(rule, moved), coad(T, load6(pts[moved, i].G)))
    # The first one or two unknowns together with the sum of A, then two at a time: fewer passes over memory.
    j, b = n + 1 // s, 1 % s
    for o in range(mz):
        x = X[n, 0, o]
        if m % 2 == 1:
            for c in range(mf):
                A[parent, o, c] = A[parent, o, c] + A[i, o, c] + H[n, 0, c] * x
        else:
            y = X[j, b, o]
            for c in range(mf):
                A[parent, o, c] = A[parent, o, c] + A[i, o, c] + H[n, 0, c] * x + H[j, b, c] * y
    for t in range(2 - m % 2, m, 2):
        k, a, j, b = n + t // s, t % s, n + (t + 1) // s, (t + 1) % s
        for o in range(mz):
            x, y = X[k, a, o], X[j, b, o]
            for c in range(mf):
                A[parent, o, c] += H[k, a, c] * x + H[j, b, c] * y
