"""Newton direction of the body-wise equations in O(n): one articulated-body recursion with blocks of 6 s x 6 s.

Rows stand at the nodes 0 ... s - 1, columns at the nodes 1 ... s. With eta_k the world twist by which an update moves a
body at node k, its wrench changes by dF_j = -sum_k A_jk eta_k. A row S_j . F_j of a joint also turns with the joint
where node j is unknown: dS = eta x S, so that

    dr_j = -S_j . (sum_k B_jk eta_k + beta_j),   B = A + [eta -> eta x* F_j] on the diagonal for j > 0,

where F_j is the wrench of the whole subtree. With eta = eta of the parent + S dx, a joint is eliminated as in the
articulated-body algorithm: D = S B S, dx = D^-1 (r - S beta - S B eta_parent); the parent gets A - A S D^-1 S B.
"""

from leastaction._jit import inline, routine
from leastaction.linalg.dense import solve_in_place
from leastaction.minimal.bodywise.blocks import body_block, body_blocks
from leastaction.minimal.bodywise.joints import joint_slopes
from leastaction.spatial import cross_force, load6


@inline
def _products(A, S, U, W, bodies, i, n, nv):
    """U = A S and W = S B of joint i: a row for each of its degrees of freedom and nodes."""
    m = A.shape[1]
    for c in range(n, n + nv):
        for k in range(m // 6):
            for a in range(m):
                t = 0.0
                for b in range(6):
                    t += A[i, a, 6 * k + b] * S[k + 1, c, b]
                U[c, k, a] = t
            for b in range(m):
                W[c, k, b] = 0.0
            for a in range(6):
                t = S[k, c, a]
                for b in range(m):
                    W[c, k, b] += t * A[i, 6 * k + a, b]
            if k > 0:
                # The row turns with the joint: S . (eta x* F) = -(eta x S) . F = -eta . (S x* F).
                t, f = cross_force(load6(S[k, c]), load6(bodies[k, i].F))
                at = 6 * (k - 1)
                W[c, k, at] -= t[0]
                W[c, k, at + 1] -= t[1]
                W[c, k, at + 2] -= t[2]
                W[c, k, at + 3] -= f[0]
                W[c, k, at + 4] -= f[1]
                W[c, k, at + 5] -= f[2]


@inline
def _solve_two(D, rhs, columns):
    """rhs <- D^-1 rhs for two rows."""
    inverse = 1.0 / (D[0, 0] * D[1, 1] - D[0, 1] * D[1, 0])
    a, b, c, d = D[1, 1] * inverse, -D[0, 1] * inverse, -D[1, 0] * inverse, D[0, 0] * inverse
    for k in range(columns):
        x, y = rhs[0, k], rhs[1, k]
        rhs[0, k], rhs[1, k] = a * x + b * y, c * x + d * y


@inline
def _assemble(S, W, beta, r, D, rhs, i, n, nv):
    """D = S B S and the right-hand sides S B and r - S beta of joint i."""
    m = W.shape[2]
    s = m // 6
    for c in range(nv):
        for j in range(s):
            row = j * nv + c
            t = r[j, n + c]
            for a in range(6):
                t -= S[j, n + c, a] * beta[i, 6 * j + a]
            rhs[row, m] = t
            for b in range(m):
                rhs[row, b] = W[n + c, j, b]
            for d in range(nv):
                for k in range(s):
                    t = 0.0
                    for b in range(6):
                        t += W[n + c, j, 6 * k + b] * S[k + 1, n + d, b]
                    D[row, k * nv + d] = t


@inline
def _eliminate(D, rhs, solved, n, nv):
    """`solved` of a joint: D^-1 (S B) and D^-1 (r - S beta)."""
    columns = solved.shape[2]
    s = solved.shape[1]
    if s * nv == 2:
        _solve_two(D, rhs, columns)
    else:
        solve_in_place(D[: s * nv, : s * nv], rhs[: s * nv])
    for c in range(nv):
        for j in range(s):
            for b in range(columns):
                solved[n + c, j, b] = rhs[j * nv + c, b]


@inline
def _carry(A, beta, U, solved, i, parent, n, nv):
    """Add what is left of joint i's blocks and wrenches to its parent's."""
    m = A.shape[1]
    for a in range(m):
        beta[parent, a] += beta[i, a]
        for b in range(m):
            A[parent, a, b] += A[i, a, b]
        for c in range(n, n + nv):
            for k in range(m // 6):
                t = U[c, k, a]
                beta[parent, a] += t * solved[c, k, m]
                for b in range(m):
                    A[parent, a, b] -= t * solved[c, k, b]


@inline
def _row(A, i, a):
    """Row a of the block of body i, six numbers."""
    return (A[i, a, 0], A[i, a, 1], A[i, a, 2], A[i, a, 3], A[i, a, 4], A[i, a, 5])


@inline
def _six(a, i, j):
    """a[i, j] as six numbers."""
    return (a[i, j, 0], a[i, j, 1], a[i, j, 2], a[i, j, 3], a[i, j, 4], a[i, j, 5])


@inline
def _times(a, b):
    """Scalar product of six numbers with six."""
    return (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) + (a[3] * b[3] + a[4] * b[4] + a[5] * b[5])


@inline
def _plus(k, a, b):
    """k a + b of six numbers."""
    return (
        k * a[0] + b[0],
        k * a[1] + b[1],
        k * a[2] + b[2],
        k * a[3] + b[3],
        k * a[4] + b[4],
        k * a[5] + b[5],
    )


@inline
def _carry_row(A, beta, i, parent, a, end, w, D, t):
    """Row a of what is left of the block of body i, added to its parent's."""
    row = _row(A, i, a)
    u = _times(row, end)
    beta[parent, a] += beta[i, a] + u * t
    row = _plus(-u * D, w, row)
    A[parent, a, 0] += row[0]
    A[parent, a, 1] += row[1]
    A[parent, a, 2] += row[2]
    A[parent, a, 3] += row[3]
    A[parent, a, 4] += row[4]
    A[parent, a, 5] += row[5]


@inline
def _one_axis(A, S, beta, r, solved, i, parent, n, slope):
    """All of the above for one axis at order 2, written out: the compiler does not unroll tuples in loops well."""
    start, end = _six(S, 0, n), _six(S, 1, n)
    w = _plus(start[1], _row(A, i, 1), _plus(start[0], _row(A, i, 0), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)))
    w = _plus(start[3], _row(A, i, 3), _plus(start[2], _row(A, i, 2), w))
    w = _plus(start[5], _row(A, i, 5), _plus(start[4], _row(A, i, 4), w))
    D = 1.0 / (_times(w, end) - slope)
    own = (beta[i, 0], beta[i, 1], beta[i, 2], beta[i, 3], beta[i, 4], beta[i, 5])
    t = (r[0, n] - _times(start, own)) * D
    solved[n, 0, 0], solved[n, 0, 1], solved[n, 0, 2] = w[0] * D, w[1] * D, w[2] * D
    solved[n, 0, 3], solved[n, 0, 4], solved[n, 0, 5] = w[3] * D, w[4] * D, w[5] * D
    solved[n, 0, 6] = t
    if parent >= 0:
        _carry_row(A, beta, i, parent, 0, end, w, D, t)
        _carry_row(A, beta, i, parent, 1, end, w, D, t)
        _carry_row(A, beta, i, parent, 2, end, w, D, t)
        _carry_row(A, beta, i, parent, 3, end, w, D, t)
        _carry_row(A, beta, i, parent, 4, end, w, D, t)
        _carry_row(A, beta, i, parent, 5, end, w, D, t)


@routine
def recursive(model, settings, data, u):
    """Newton update dx (s, nv) for the residuals r; `residual` must have been called at the same Q.

    One of two ways behind one signature, see `dense_direction.solve`; this one does not look at the controls u.
    """
    nodes, A, S, beta, r, solved, local = model.nodes, data.A, data.S, data.beta, data.r, data.solved, data.local
    U, W, D, rhs, bodies = data.U, data.W, data.D, data.rhs, data.bodies
    soft = model.sprung or model.geared
    m = beta.shape[1]
    if m == 6:
        body_block(model, settings, data)
    else:
        body_blocks(model, settings, data, A, False)
    for i in range(nodes.shape[0]):
        for a in range(m):
            beta[i, a] = 0.0
    for i in range(nodes.shape[0] - 1, -1, -1):
        node = nodes[i]
        n, nv, parent = node.iv, node.nv, node.parent
        if soft:
            joint_slopes(model, settings, data, i)
        if m == 6 and nv == 1:
            _one_axis(A, S, beta, r, solved, i, parent, n, local[0, 1] if soft else 0.0)
            continue
        _products(A, S, U, W, bodies, i, n, nv)
        _assemble(S, W, beta, r, D, rhs, i, n, nv)
        if soft:
            for a in range(nv * m // 6):
                for b in range(nv * m // 6):
                    D[a, b] -= local[a, b + nv]  # rows at nodes 0 ... s - 1, columns at 1 ... s
        _eliminate(D, rhs, solved, n, nv)
        if parent >= 0:
            _carry(A, beta, U, solved, i, parent, n, nv)
    back_substitute(model, data)


@routine
def back_substitute(model, data):
    """dx from root to leaves: what the joint does where its parent stays, less what the parent's twist takes off it."""
    nodes, S, eta, solved, dx = model.nodes, data.S, data.eta, data.solved, data.dx
    m = eta.shape[1]
    for i in range(nodes.shape[0]):
        node = nodes[i]
        for a in range(m):
            eta[i, a] = eta[node.parent, a] if node.parent >= 0 else 0.0
        for c in range(node.iv, node.iv + node.nv):
            for k in range(m // 6):
                t = solved[c, k, m]
                if node.parent >= 0:
                    for b in range(m):
                        t -= solved[c, k, b] * eta[node.parent, b]
                dx[k, c] = t
        for c in range(node.iv, node.iv + node.nv):
            for k in range(m // 6):
                for b in range(6):
                    eta[i, 6 * k + b] += S[k + 1, c, b] * dx[k, c]
