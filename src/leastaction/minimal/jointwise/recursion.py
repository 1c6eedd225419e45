"""Newton direction in O(n): Fan 2018, Algorithms B.1 and B.2, as one articulated-body recursion on stacked variations.

With z and f of `variations`, each subtree answers f_i = A_i^T z_i + l_i. A joint solves its own rows for its
coordinates, dx = X z_parent + dx0, and hands on what is left:

    A_parent += A + X^T H,   l_parent += l + H dx0,   H = A^T col - (turning of mu and Gamma with the joint)

A is stored as A[i, z, f]. Cost O(s^3 n): the work grows linearly with the number of links.
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
def solve_joint(Lam, X, first, m):
    """Rows first ... of X <- -Lam^-1 X and the last column of Lam likewise; m x m with partial pivoting.

    Row t of X is X[first + t // X.shape[1], t % X.shape[1]].
    """
    s, width = X.shape[1], X.shape[2]
    for k in range(m):
        pivot = k
        for r in range(k + 1, m):
            if abs(Lam[r, k]) > abs(Lam[pivot, k]):
                pivot = r
        if pivot != k:
            for c in range(m + 1):
                Lam[k, c], Lam[pivot, c] = Lam[pivot, c], Lam[k, c]
            x, y = X[first + k // s, k % s], X[first + pivot // s, pivot % s]
            for c in range(width):
                x[c], y[c] = y[c], x[c]
        x = X[first + k // s, k % s]
        for r in range(k + 1, m):
            t = Lam[r, k] / Lam[k, k]
            y = X[first + r // s, r % s]
            for c in range(k + 1, m + 1):
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
            Lam[k, m] += t * Lam[r, m]
        t = -1.0 / Lam[k, k]
        for c in range(width):
            x[c] *= t
        Lam[k, m] *= t


@routine
def direction(model, settings, points, data, dx):
    """dx[gamma - 1, k]: the exact Newton direction for the residual in `points`."""
    col, row, e, own = data.var.col, data.var.row, data.var.e, data.var.own
    A, l, z, X, H, Lam = data.A, data.l, data.z, data.X, data.H, data.Lam
    nodes, rule, pts, r = model.nodes, settings.rule, points.nodes, points.r
    w = rule.w
    s = rule.c.shape[0] - 1
    # Sizes at run time on purpose: LLVM vectorises these loops better than unrolled ones.
    mz, mf = A.shape[1], A.shape[2]
    g = load3(model.gravity)
    for i in range(nodes.shape[0]):
        for a in range(mz):
            for c in range(mf):
                A[i, a, c] = 0.0
        for c in range(mf):
            l[i, c] = 0.0
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
                H[t, c] = 0.0
            for o in range(mz):
                x = col[k, a, o]
                y = 0.0
                for c in range(mf):
                    H[t, c] += x * A[i, o, c]
                    y += row[k, a, c] * A[i, o, c]
                X[k, a, o] = y
            for o in range(6):
                X[k, a, 6 * mine + o] += e[k, a, o]
        for t in range(m):
            k, a = n + t // s, t % s
            y = r[a, k]
            for c in range(mf):
                y += row[k, a, c] * l[i, c]
            Lam[t, m] = y
            for q in range(m):
                j, b = n + q // s, q % s
                y = own[k, a, q // s, b]
                for o in range(mz):
                    y += X[k, a, o] * col[j, b, o]
                Lam[t, q] = y
        solve_joint(Lam, X, n, m)
        for t in range(m):
            dx[t % s, n + t // s] = Lam[t, m]
        if node.parent >= 0:
            _hand_on(rule, pts, data, dx, i, node)
    for i in range(nodes.shape[0]):
        node = nodes[i]
        n, m = node.iv, node.nv * s
        for o in range(mz):
            z[i, o] = z[node.parent, o] if node.parent >= 0 else 0.0
        if node.parent >= 0:
            for t in range(m):
                k, a = n + t // s, t % s
                y = dx[a, k]
                for o in range(mz):
                    y += X[k, a, o] * z[node.parent, o]
                dx[a, k] = y
        for t in range(m):
            k, a = n + t // s, t % s
            y = dx[a, k]
            for o in range(mz):
                z[i, o] += col[k, a, o] * y


@inline
def _hand_on(rule, pts, data, dx, i, node):
    """Add what is left of subtree i to its parent."""
    A, l, X, H = data.A, data.l, data.X, data.H
    mz, mf = A.shape[1], A.shape[2]
    parent, n, s = node.parent, node.iv, dx.shape[0]
    m = node.nv * s
    for t in range(m):
        k, a = n + t // s, t % s
        moved = a + 1 if is_nodal(rule) else 0
        T = load6_at(data.var.col[k, a], pose_block(rule, moved))
        minus6_at(H[t], 6 * moved, coad(T, load6(pts[moved, i].mu)))
        if poses_vary(rule, moved):
            minus6_at(H[t], pose_block(rule, moved), coad(T, load6(pts[moved, i].G)))
    # The first one or two unknowns together with the sum of A, then two at a time: fewer passes over memory.
    for o in range(mz):
        x = X[n, 0, o]
        if m % 2 == 1:
            for c in range(mf):
                A[parent, o, c] = A[parent, o, c] + A[i, o, c] + H[0, c] * x
        else:
            y = X[n + 1 // s, 1 % s, o]
            for c in range(mf):
                A[parent, o, c] = A[parent, o, c] + A[i, o, c] + H[0, c] * x + H[1, c] * y
        for t in range(2 - m % 2, m, 2):
            x = X[n + t // s, t % s, o]
            y = X[n + (t + 1) // s, (t + 1) % s, o]
            for c in range(mf):
                A[parent, o, c] += H[t, c] * x + H[t + 1, c] * y
    for c in range(mf):
        y = l[parent, c] + l[i, c]
        for t in range(m):
            y += H[t, c] * dx[t % s, n + t // s]
        l[parent, c] = y
