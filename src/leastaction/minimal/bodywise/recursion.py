"""Newton direction of the body-wise equations in O(n): one articulated-body recursion with blocks of 6 s x 6 s.

Rows stand at the nodes 0 ... s - 1, columns at the nodes 1 ... s. With eta_k the world twist by which an update moves a
body at node k, its wrench changes by dF_j = -sum_k A_jk eta_k. A row S_j . F_j of a joint also turns with the joint
where node j is unknown: dS = eta x S, so that

    dr_j = -S_j . (sum_k B_jk eta_k + beta_j),   B = A + [eta -> eta x* F_j] on the diagonal for j > 0,

where F_j is the wrench of the whole subtree. With eta = eta of the parent + S dx, a joint is eliminated as in the
articulated-body algorithm: D = S B S, dx = D^-1 (r - S beta - S B eta_parent); the parent gets A - A S D^-1 S B.
Joints with several degrees of freedom are eliminated one after the other, which equals the elimination of the block.

Arms and rows at inner nodes move under the wrenches there, and those of a first guess are useless: m / dt times its
errors. A small error of the arms times a large one of the wrenches then spoils the update; long chains of slender ball
links diverge. The derivatives therefore take the wrenches that are expected after the update: first those of the
accelerations at the start (`rollout.predict`), then those that the last update gave, f + df (`solve`). They converge
with the iterates, so the method still does so quadratically. It is what Newton's method does in body coordinates, where
reactions of joints are unknowns of their own.

`factor` eliminates the blocks, `solve` finds an update for residuals; it may be called again for residuals elsewhere.
"""

from leastaction._jit import inline, routine
from leastaction.kinematics.sweeps import add_to
from leastaction.linalg.dense import solve_in_place
from leastaction.minimal.bodywise.blocks import body_block, body_blocks, start_torque
from leastaction.minimal.bodywise.joints import joint_slopes
from leastaction.spatial import add3, axpy3, cross, cross_force, load3, load6, load_sym, store3, store6

ZEROS = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@inline
def _six(a, i, j, k):
    """a[i, j, k : k + 6] as six numbers."""
    return (a[i, j, k], a[i, j, k + 1], a[i, j, k + 2], a[i, j, k + 3], a[i, j, k + 4], a[i, j, k + 5])


@inline
def _put(a, i, j, k, x):
    """a[i, j, k : k + 6] = x."""
    a[i, j, k], a[i, j, k + 1], a[i, j, k + 2] = x[0], x[1], x[2]
    a[i, j, k + 3], a[i, j, k + 4], a[i, j, k + 5] = x[3], x[4], x[5]


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
def _row_times(A, i, j, k, s):
    """s (6) times the block of rows j ... j + 5 and columns k ... k + 5."""
    w = _plus(s[1], _six(A, i, j + 1, k), _plus(s[0], _six(A, i, j, k), ZEROS))
    w = _plus(s[3], _six(A, i, j + 3, k), _plus(s[2], _six(A, i, j + 2, k), w))
    return _plus(s[5], _six(A, i, j + 5, k), _plus(s[4], _six(A, i, j + 4, k), w))


@inline
def _rows(A, at, S, W, bodies, i, n, nv):
    """W = S B of joint i: a row for each of its degrees of freedom and nodes."""
    m = A.shape[1]
    for c in range(n, n + nv):
        for j in range(m // 6):
            a = 6 * j
            s0, s1, s2, s3, s4, s5 = _six(S, j, c, 0)
            for b in range(m):
                turning = s0 * A[at, a, b] + s1 * A[at, a + 1, b] + s2 * A[at, a + 2, b]
                W[c, j, b] = turning + (s3 * A[at, a + 3, b] + s4 * A[at, a + 4, b] + s5 * A[at, a + 5, b])
            if j > 0:
                # The row turns with the joint: S . (eta x* F) = -(eta x S) . F = -eta . (S x* F).
                t, f = cross_force(load6(S[j, c]), load6(bodies[j, i].E))
                w = _six(W, c, j, a - 6)
                w = (w[0] - t[0], w[1] - t[1], w[2] - t[2], w[3] - f[0], w[4] - f[1], w[5] - f[2])
                _put(W, c, j, a - 6, w)


@inline
def _softness(X, local, n, nv):
    """X: slopes of the impulses in a joint, rows at nodes 0 ... s - 1, columns at 1 ... s."""
    s = X.shape[1]
    for c in range(nv):
        for j in range(s):
            for d in range(nv):
                for l in range(s):
                    X[n + c, j, d * s + l] = -local[j * nv + c, (l + 1) * nv + d]


@inline
def _reduce(S, W, X, K, n, nv, c, soft):
    """Take from the rows of degree of freedom c what those before it in the joint, already solved, answer."""
    s, m = W.shape[1], W.shape[2]
    for e in range(n, c):
        at = (e - n) * s
        for j in range(s):
            for l in range(s):
                k = _times(_six(W, c, j, 6 * l), _six(S, l + 1, e, 0))
                K[c, j, at + l] = k + X[c, j, at + l] if soft else k
        for j in range(s):
            for l in range(s):
                k = K[c, j, at + l]
                for b in range(m):
                    W[c, j, b] -= k * W[e, l, b]
                if soft:
                    for b in range(at + s, nv * s):
                        X[c, j, b] -= k * X[e, l, b]


@inline
def _solve_rows(S, W, X, D, inverse, n, nv, c, soft):
    """D^-1 of degree of freedom c, and W <- D^-1 W."""
    s, m = W.shape[1], W.shape[2]
    own = (c - n) * s
    for j in range(s):
        for l in range(s):
            D[0, j, l] = _times(_six(W, c, j, 6 * l), _six(S, l + 1, c, 0))
            if soft:
                D[0, j, l] += X[c, j, own + l]
    if s == 1:
        D[1, 0, 0] = 1.0 / D[0, 0, 0]
    elif s == 2:
        a, b, d, e = D[0, 0, 0], D[0, 0, 1], D[0, 1, 0], D[0, 1, 1]
        t = 1.0 / (a * e - b * d)
        D[1, 0, 0], D[1, 0, 1], D[1, 1, 0], D[1, 1, 1] = e * t, -b * t, -d * t, a * t
    else:
        for j in range(s):
            for l in range(s):
                D[1, j, l] = 1.0 if j == l else 0.0
        solve_in_place(D[0, :s, :s], D[1, :s, :s])
    for j in range(s):
        for l in range(s):
            inverse[c, j, l] = D[1, j, l]
    _multiply(D, W, c, 0, m)
    if soft:
        _multiply(D, X, c, own + s, nv * s)


@inline
def _multiply(D, W, c, first, last):
    """W[c] <- D^-1 W[c] in some columns."""
    s = W.shape[1]
    if s == 2:
        a, b, d, e = D[1, 0, 0], D[1, 0, 1], D[1, 1, 0], D[1, 1, 1]
        for k in range(first, last):
            x, y = W[c, 0, k], W[c, 1, k]
            W[c, 0, k], W[c, 1, k] = a * x + b * y, d * x + e * y
        return
    for k in range(first, last):
        for j in range(s):
            t = 0.0
            for l in range(s):
                t += D[1, j, l] * W[c, l, k]
            D[0, j, 0] = t
        for j in range(s):
            W[c, j, k] = D[0, j, 0]


@inline
def _columns(A, at, S, U, X, n, c, soft):
    """U = A S of degree of freedom c."""
    s, m = U.shape[1], U.shape[2]
    for l in range(s):
        column = _six(S, l + 1, c, 0)
        for a in range(m):
            U[c, l, a] = _times(_six(A, at, a, 6 * l), column)
        if soft:
            for e in range(n, c):
                for k in range(s):
                    x = X[e, k, (c - n) * s + l]
                    for a in range(m):
                        U[c, l, a] -= x * U[e, k, a]


@inline
def _take_off(A, at, U, W, c):
    """A <- A - U W of degree of freedom c."""
    s, m = W.shape[1], W.shape[2]
    if s == 2:
        for a in range(m):
            u, v = U[c, 0, a], U[c, 1, a]
            for b in range(m):
                A[at, a, b] -= u * W[c, 0, b] + v * W[c, 1, b]
        return
    for k in range(s):
        for a in range(m):
            u = U[c, k, a]
            for b in range(m):
                A[at, a, b] -= u * W[c, k, b]


@inline
def _carry_row(A, at, to, U, n, a, end, w):
    """Row a of what is left of a block, added to the parent's; U: the row times `end`."""
    row = _six(A, at, a, 0)
    u = _times(row, end)
    U[n, 0, a] = u
    if to >= 0:
        _put(A, to, a, 0, _plus(1.0, _plus(-u, w, row), _six(A, to, a, 0)))


@inline
def _one_axis(A, at, to, S, U, W, inverse, n, slope):
    """All of the above for one axis at order 2, written out: the compiler does not unroll tuples in loops well."""
    end = _six(S, 1, n, 0)
    w = _row_times(A, at, 0, 0, _six(S, 0, n, 0))
    D = 1.0 / (_times(w, end) - slope)
    inverse[n, 0, 0] = D
    w = _plus(D, w, ZEROS)
    _put(W, n, 0, 0, w)
    _carry_row(A, at, to, U, n, 0, end, w)
    _carry_row(A, at, to, U, n, 1, end, w)
    _carry_row(A, at, to, U, n, 2, end, w)
    _carry_row(A, at, to, U, n, 3, end, w)
    _carry_row(A, at, to, U, n, 4, end, w)
    _carry_row(A, at, to, U, n, 5, end, w)


@inline
def _expect(bodies, turns, i):
    """E of body i alone."""
    for j in range(1, turns.shape[0] - 1):
        e = load3(bodies[j, i].e)
        store6(bodies[j, i].E, (add3(start_torque(turns, j, i), cross(load3(bodies[j, i].x), e)), e))


@routine
def factor(model, settings, data):
    """Eliminate all joints at the poses of the last `residual`, from leaves to root: U, W and `inverse`."""
    nodes, slots, A, S, begun = model.nodes, model.slots, data.A, data.S, data.begun
    U, W, X, K, D, inverse, local = data.U, data.W, data.X, data.K, data.D, data.inverse, data.local
    bodies, turns, inertias, G, rule, dt = data.bodies, data.turns, data.inertias, data.G, model.rule, settings.dt
    soft = model.sprung or model.geared
    m = A.shape[1]
    for i in range(nodes.shape[0]):
        begun[i] = False
    for i in range(nodes.shape[0] - 1, -1, -1):
        n, nv, parent = nodes[i].iv, nodes[i].nv, nodes[i].parent
        to = -1 if parent < 0 else slots[parent]
        for b in (i, parent):
            if b >= 0 and not begun[b]:
                begun[b] = True
                if m == 6:
                    body_block(A, slots[b], bodies, turns, b, nodes[b].mass, load_sym(inertias[b]), dt)
                else:
                    body_blocks(A, slots[b], rule, bodies, turns, G, b, nodes[b].mass, load_sym(inertias[b]), dt)
                    _expect(bodies, turns, b)
        if soft:
            joint_slopes(model, settings, data, i)
        if m == 6 and nv == 1:
            _one_axis(A, slots[i], to, S, U, W, inverse, n, local[0, 1] if soft else 0.0)
            continue
        if soft:
            _softness(X, local, n, nv)
        _rows(A, slots[i], S, W, bodies, i, n, nv)
        for c in range(n, n + nv):
            _reduce(S, W, X, K, n, nv, c, soft)
            _solve_rows(S, W, X, D, inverse, n, nv, c, soft)
            _columns(A, slots[i], S, U, X, n, c, soft)
            if parent >= 0:
                _take_off(A, slots[i], U, W, c)
        if parent >= 0:
            for a in range(m):
                for b in range(m):
                    A[to, a, b] += A[slots[i], a, b]
            for j in range(1, m // 6):
                add_to(bodies[j, parent].E, load6(bodies[j, i].E))
    _keep(S, data.old_S)


@routine
def _keep(a, out):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            for k in range(6):
                out[i, j, k] = a[i, j, k]


@routine
def solve(model, settings, data):
    """Newton update dx (s, nv) for the residuals r by what `factor` has left, there or at poses before."""
    nodes, S, beta, U, K, inverse = model.nodes, data.old_S, data.beta, data.U, data.K, data.inverse
    r, t, rest = data.r, data.t, data.rest
    s, m = U.shape[1], U.shape[2]
    for i in range(nodes.shape[0]):
        for a in range(m):
            beta[0, i, a] = 0.0
    for i in range(nodes.shape[0] - 1, -1, -1):
        n, nv, parent = nodes[i].iv, nodes[i].nv, nodes[i].parent
        for c in range(n, n + nv):
            for j in range(s):
                x = r[j, c] - _times(_six(S, j, c, 0), _six(beta, 0, i, 6 * j))
                for e in range(n, c):
                    for l in range(s):
                        x -= K[c, j, (e - n) * s + l] * t[e, l]
                rest[j] = x
            for j in range(s):
                x = 0.0
                for l in range(s):
                    x += inverse[c, j, l] * rest[l]
                t[c, j] = x
        if parent >= 0:
            for a in range(m):
                beta[0, parent, a] += beta[0, i, a]
            for c in range(n, n + nv):
                for k in range(s):
                    x = t[c, k]
                    for a in range(m):
                        beta[0, parent, a] += U[c, k, a] * x
    _back_substitute(model, data)
    if s > 1:
        _expected_forces(model, settings, data)


@routine
def _back_substitute(model, data):
    """dx from root to leaves: what a joint does where its parent stays, less what the parent's twist takes off it.

    Degrees of freedom of a joint are found last first: each was solved for those behind it.
    """
    nodes, S, eta, W, X, t, dx = model.nodes, data.old_S, data.beta, data.W, data.X, data.t, data.dx
    s, m = W.shape[1], W.shape[2]
    soft = model.sprung or model.geared
    for i in range(nodes.shape[0]):
        n, nv, parent = nodes[i].iv, nodes[i].nv, nodes[i].parent
        for a in range(m):
            eta[1, i, a] = eta[1, parent, a] if parent >= 0 else 0.0
        for c in range(n + nv - 1, n - 1, -1):
            for k in range(s):
                x = t[c, k]
                if parent >= 0 or nv > 1:
                    for b in range(0, m, 6):
                        x -= _times(_six(W, c, k, b), _six(eta, 1, i, b))
                if soft and nv > 1:
                    for d in range(c + 1, n + nv):
                        for l in range(s):
                            x -= X[c, k, (d - n) * s + l] * dx[l, d]
                dx[k, c] = x
            for k in range(s):
                x = dx[k, c]
                for b in range(6):
                    eta[1, i, 6 * k + b] += S[k + 1, c, b] * x


@routine
def _expected_forces(model, settings, data):
    """e = f + df at inner nodes, where eta moves the bodies."""
    nodes, rule, bodies, eta = model.nodes, model.rule, data.bodies, data.beta
    s = rule.m.shape[0] - 1
    for i in range(nodes.shape[0]):
        for j in range(1, s):
            e = load3(bodies[j, i].f)
            for k in range(1, s + 1):
                at = 6 * (k - 1)
                w = (eta[1, i, at], eta[1, i, at + 1], eta[1, i, at + 2])
                v = (eta[1, i, at + 3], eta[1, i, at + 4], eta[1, i, at + 5])
                moved = add3(v, cross(w, load3(bodies[k, i].x)))
                e = axpy3(nodes[i].mass / settings.dt * rule.m[j, k], moved, e)
            store3(bodies[j, i].e, e)


@routine
def recursive(model, settings, data, u):
    """Newton update dx (s, nv) for the residuals r; `residual` must have been called at the same Q.

    One of two ways behind one signature, see `dense_direction.solve`; this one does not look at the controls u.
    """
    factor(model, settings, data)
    solve(model, settings, data)


@routine
def again(model, settings, data, u):
    """As `recursive`, with the derivatives of its last call (a chord step)."""
    solve(model, settings, data)
