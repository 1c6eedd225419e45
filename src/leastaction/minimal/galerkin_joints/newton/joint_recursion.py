"""Newton direction in O(n): Fan 2018, Algorithms B.1 and B.2, as one articulated-body recursion on stacked variations.

With z and f of `variations`, each subtree responds by f_i = A_i^T z_i + l_i. A joint solves its own rows for its
coordinates, dx = X z_parent + dx0, and adds the rest to its parent:

    A_parent += A + X^T H,   l_parent += l + H dx0,   H = A^T col - (rotation of mu and Gamma with the joint)

A is stored as A[i, z, f], without the rows of the pose at the end of the step: variations are relative to a frame that
rotates with the pose, and no force there enters the residual, so f does not depend on it. Cost O(s^3 n), linear in the
number of links. `factor` computes all that does not depend on the residual; `solve` computes the direction, also for
residuals elsewhere (chord steps).
"""

from leastaction._jit import inline, routine
from leastaction.minimal.galerkin_joints.newton.tree_sparse_ldu import gravity_slope, poses_vary
from leastaction.minimal.galerkin_joints.quadrature_points import is_nodal
from leastaction.minimal.galerkin_joints.variations import pose_block
from leastaction.minimal.vec6 import put, six
from leastaction.spatial import ZERO3, coad, load3, load6, load6_at, load_inertia


@inline
def add_inertia(A, o, M):
    """Add the 6x6 matrix of a spatial inertia at rows and columns o."""
    m, h, I = M
    plus3_at(A[o], o, (I[0], I[1], I[2]))
    plus3_at(A[o + 1], o, (I[1], I[3], I[4]))
    plus3_at(A[o + 2], o, (I[2], I[4], I[5]))
    plus3_at(A[o], o + 3, (0.0, -h[2], h[1]))
    plus3_at(A[o + 1], o + 3, (h[2], 0.0, -h[0]))
    plus3_at(A[o + 2], o + 3, (-h[1], h[0], 0.0))
    plus3_at(A[o + 3], o, (0.0, h[2], -h[1]))
    plus3_at(A[o + 4], o, (-h[2], 0.0, h[0]))
    plus3_at(A[o + 5], o, (h[1], -h[0], 0.0))
    A[o + 3, o + 3] += m
    A[o + 4, o + 4] += m
    A[o + 5, o + 5] += m


@inline
def add_gravity(A, o, M, g, k):
    """Add the 6x6 matrix of `gravity_slope` at rows (eta) and columns (Gamma) o."""
    for c in range(3):
        e = ((1.0 if c == 0 else 0.0, 1.0 if c == 1 else 0.0, 1.0 if c == 2 else 0.0), ZERO3)
        F = gravity_slope(M, g, k, e)
        plus3_at(A[o + c], o, F[0])
        plus3_at(A[o + c], o + 3, F[1])


@inline
def plus3_at(a, o, v):
    """Add 3 numbers at offset o."""
    a[o] += v[0]
    a[o + 1] += v[1]
    a[o + 2] += v[2]


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

    Row t of X is X[first + t // X.shape[1], t % X.shape[1]], likewise for `inverse`. Lam: m x m, then space for m x m.
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


@inline
def _add_own(model, settings, points, data, i):
    """Add the response of node i alone to its block."""
    A, rule, pts = data.A, settings.rule, points.nodes
    at = data.slots[i]
    for al in range(rule.w.shape[0]):
        M = load_inertia(pts[al, i].M)
        add_inertia(A[at], 6 * al, M)
        if poses_vary(rule, al):
            add_gravity(A[at], pose_block(rule, al), M, load3(model.gravity), rule.w[al] * settings.dt)


@routine
def factor(model, settings, points, data):
    """Eliminate all joints at the present iterate, from leaves to root: H, X and `inverse`."""
    slots, begun, A = data.slots, data.begun, data.A
    nodes, rule, pts = model.nodes, settings.rule, points.nodes
    s = data.X.shape[1]
    for i in range(nodes.shape[0]):
        begun[i] = False
    for i in range(nodes.shape[0] - 1, -1, -1):
        n, nv, parent, at = nodes[i].iv, nodes[i].nv, nodes[i].parent, slots[i]
        if not begun[i]:
            for a in range(A.shape[1]):
                for c in range(A.shape[2]):
                    A[at, a, c] = 0.0
        _add_own(model, settings, points, data, i)
        _reduce(rule, data, at, n, nv * s)
        if parent < 0:
            continue
        for k in range(n, n + nv):
            for a in range(s):
                _turn(rule, pts, data, i, k, a)
        _hand_on(data, at, n, nv * s)
        if begun[parent]:
            to = slots[parent]
            for a in range(A.shape[1]):
                for c in range(A.shape[1]):
                    A[to, a, c] += A[at, a, c]
        begun[parent] = True


@inline
def _products(data, at, k, a):
    """X[k, a] = A row and H[k, a] = A^T col of the block A[at]."""
    col, row, A, X, H = data.var.col, data.var.row, data.A, data.X, data.H
    # Sizes at run time on purpose: LLVM vectorises these loops better than unrolled ones. Rows are padded with zeros
    # to whole vectors.
    mz, mf = A.shape[1], A.shape[2]
    for c in range(mf):
        H[k, a, c] = 0.0
    for o in range(0, mz, 6):  # six rows together, for fewer reads of H and `row`
        u, v, w, x, y, z = six(col, k, a, o)
        p = q = r = s = t = e = 0.0
        for c in range(mf):
            d = row[k, a, c]
            i, j, l = A[at, o, c], A[at, o + 1, c], A[at, o + 2, c]
            m, n, f = A[at, o + 3, c], A[at, o + 4, c], A[at, o + 5, c]
            H[k, a, c] += (u * i + v * j + w * l) + (x * m + y * n + z * f)
            p, q, r, s, t, e = p + d * i, q + d * j, r + d * l, s + d * m, t + d * n, e + d * f
        put(X, k, a, o, (p, q, r, s, t, e))


@inline
def _reduce(rule, data, at, n, m):
    """Solve the m equations of the joint with first degree of freedom n: X, `inverse`, and H of its columns alone."""
    col, e, own = data.var.col, data.var.e, data.var.own
    A, X, Lam = data.A, data.X, data.Lam
    s, mz = X.shape[1], A.shape[1]
    for t in range(m):
        k, a = n + t // s, t % s
        mine = a if is_nodal(rule) else 0
        _products(data, at, k, a)
        for o in range(6):
            X[k, a, 6 * mine + o] += e[k, a, o]
    if m == 1:
        y = own[n, 0, 0, 0]
        for o in range(mz):
            y += X[n, 0, o] * col[n, 0, o]
        y = -1.0 / y
        data.inverse[n, 0, 0] = y
        for o in range(mz):
            X[n, 0, o] *= y
        return
    for t in range(m):
        k, a = n + t // s, t % s
        for q in range(m):
            j, b = n + q // s, q % s
            y = own[k, a, q // s, b]
            for o in range(mz):
                y += X[k, a, o] * col[j, b, o]
            Lam[t, q] = y
    solve_joint(Lam, X, data.inverse, n, m)


@inline
def _turn(rule, pts, data, i, k, a):
    """Subtract from H[k, a] the rotation of the momentum and the impulse of subtree i with the joint."""
    moved = a + 1 if is_nodal(rule) else 0
    T = load6_at(data.var.col[k, a], pose_block(rule, moved))
    minus6_at(data.H[k, a], 6 * moved, coad(T, load6(pts[moved, i].mu)))
    if poses_vary(rule, moved):
        minus6_at(data.H[k, a], pose_block(rule, moved), coad(T, load6(pts[moved, i].G)))


@routine
def solve(model, data, r, dx):
    """dx[gamma - 1, k]: Newton direction for the residual r (s, nv), by the factors of the last `factor`."""
    col, row = data.var.col, data.var.row
    l, z, X, H, inverse = data.l, data.z, data.X, data.H, data.inverse
    nodes, y = model.nodes, data.y
    s, mz = X.shape[1], X.shape[2]
    for i in range(nodes.shape[0]):
        for c in range(mz):
            l[i, c] = 0.0
    for i in range(nodes.shape[0] - 1, -1, -1):
        n, nv, parent = nodes[i].iv, nodes[i].nv, nodes[i].parent
        for k in range(n, n + nv):
            for a in range(s):
                x = r[a, k]
                for c in range(mz):
                    x += row[k, a, c] * l[i, c]
                y[(k - n) * s + a] = x
        for k in range(n, n + nv):
            for a in range(s):
                x = 0.0
                for q in range(nv * s):
                    x += inverse[k, a, q] * y[q]
                dx[a, k] = x
        if parent >= 0:
            for c in range(mz):
                l[parent, c] += l[i, c]
            for k in range(n, n + nv):
                for a in range(s):
                    x = dx[a, k]
                    for c in range(mz):
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
def _hand_on(data, at, n, m):
    """Turn block A[at] into the parent's contribution; if the parent has none yet, it becomes the parent's block."""
    A, X, H = data.A, data.X, data.H
    s, mz = X.shape[1], A.shape[1]
    if m % 2 == 1:
        for o in range(mz):
            x = X[n, 0, o]
            for c in range(mz):
                A[at, o, c] += H[n, 0, c] * x
    for t in range(m % 2, m, 2):  # two unknowns at a time: fewer passes over memory
        k, a, j, b = n + t // s, t % s, n + (t + 1) // s, (t + 1) % s
        for o in range(mz):
            x, y = X[k, a, o], X[j, b, o]
            for c in range(mz):
                A[at, o, c] += H[k, a, c] * x + H[j, b, c] * y
