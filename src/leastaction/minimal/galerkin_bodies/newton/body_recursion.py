"""Newton direction of the body-wise equations in O(n): articulated-body recursion with blocks of 6 s x 6 s.

Rows belong to the nodes 0 ... s - 1, columns to the nodes 1 ... s. With eta_k the world twist by which an update moves
a body at node k, its wrench changes by dF_j = -sum_k A_jk eta_k. A row S_j . F_j of a joint also rotates with the joint
where node j is unknown: dS = eta x S, so that

    dr_j = -S_j . (sum_k B_jk eta_k + beta_j),   B = A + [eta -> eta x* F_j] on the diagonal for j > 0,

where F_j is the wrench of the whole subtree. With eta = eta of the parent + S dx, a joint is eliminated as in the
articulated-body algorithm: D = S B S, dx = D^-1 (r - S beta - S B eta_parent); the parent gets A - A S D^-1 S B.
Joints with several degrees of freedom are eliminated one after the other, which equals the elimination of the block.

Arms and rows at inner nodes are multiplied by the wrenches there, and those of a first guess are useless: m / dt times
its errors. A small error of the arms times a large one of the wrenches then spoils the update; long chains of slender
links on ball joints diverge. The derivatives therefore use predicted wrenches: first those of the accelerations at
the start (`body_rollout.predict`), then those after the last update, f + df (`substitution`). They
converge with the iterates, so convergence is still quadratic. This equals Newton's method in body
coordinates, where reactions of joints are unknowns of their own.

`factor` eliminates the blocks; `substitution.solve` finds an update for residuals, there or elsewhere (chord steps).
"""

from leastaction._jit import inline, routine
from leastaction.kinematics.sweeps import add_to
from leastaction.linalg.dense import solve_in_place
from leastaction.minimal.galerkin_bodies.body_force_blocks import push_block, push_slopes
from leastaction.minimal.galerkin_bodies.joint_velocities import joint_slopes
from leastaction.minimal.galerkin_bodies.newton.simd_blocks import torque_packs
from leastaction.minimal.galerkin_bodies.newton.substitution import solve
from leastaction.minimal.galerkin_bodies.spherical_joints import centre_pushed, eliminate_ball, recentre
from leastaction.minimal.galerkin_bodies.wrench_blocks import body_block, body_blocks, start_torque
from leastaction.minimal.vec6 import ZEROS, plus, put, six, times
from leastaction.spatial import add3, cross, cross_force, load3, load6, store6


@inline
def _row_times(A, i, j, k, s):
    """s (6) times the block of rows j ... j + 5 and columns k ... k + 5."""
    w = plus(s[1], six(A, i, j + 1, k), plus(s[0], six(A, i, j, k), ZEROS))
    w = plus(s[3], six(A, i, j + 3, k), plus(s[2], six(A, i, j + 2, k), w))
    return plus(s[5], six(A, i, j + 5, k), plus(s[4], six(A, i, j + 4, k), w))


@inline
def _rows(data, at, i, n, c, nv, soft):
    """W = S B of degree of freedom c, less the response of the joint's preceding ones, already eliminated; K, and X."""
    A, S, U, W, X, K, bodies = data.A, data.S, data.U, data.W, data.X, data.K, data.bodies
    s, m = W.shape[1], W.shape[2]
    for j in range(s):
        a = 6 * j
        for b in range(m):
            W[c, j, b] = 0.0
        if j > 0:
            put(W, c, j, a - 6, _turned(S, bodies, i, j, c))
        for e in range(n, c):
            own = (e - n) * s
            for l in range(s):
                k = times(six(W, c, j, 6 * l), six(S, l + 1, e, 0))
                K[c, j, own + l] = k + X[c, j, own + l] if soft else k
            for l in range(s):
                k = K[c, j, own + l]
                for b in range(m):
                    W[c, j, b] -= k * W[e, l, b]
                if soft:
                    u = times(six(S, j, c, 0), six(U, e, l, a))
                    for b in range(own + s, nv * s):
                        # U contains the changes of wrenches by those between e and c.
                        X[c, j, b] -= (k if b < (c - n) * s else k + u) * X[e, l, b]
        # A includes the responses of the preceding ones by their wrenches.
        s0, s1, s2, s3, s4, s5 = six(S, j, c, 0)
        for b in range(m):
            turning = s0 * A[at, a, b] + s1 * A[at, a + 1, b] + s2 * A[at, a + 2, b]
            W[c, j, b] += turning + (s3 * A[at, a + 3, b] + s4 * A[at, a + 4, b] + s5 * A[at, a + 5, b])


@inline
def _turned(S, bodies, i, j, c):
    """Term of a row at node j that rotates with its joint: S . (eta x* F) = -(eta x S) . F = -eta . (S x* F)."""
    t, f = cross_force(load6(S[j, c]), load6(bodies[j, i].E))
    return (-t[0], -t[1], -t[2], -f[0], -f[1], -f[2])


@inline
def _solve_rows(data, n, nv, c, soft):
    """Compute D^-1 of degree of freedom c, and W <- D^-1 W."""
    S, W, X, D, inverse = data.S, data.W, data.X, data.D, data.inverse
    s, m = W.shape[1], W.shape[2]
    own = (c - n) * s
    for j in range(s):
        for l in range(s):
            D[0, j, l] = times(six(W, c, j, 6 * l), six(S, l + 1, c, 0))
            if soft:
                D[0, j, l] += X[c, j, own + l]
            D[1, j, l] = 1.0 if j == l else 0.0
    solve_in_place(D[0], D[1])
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
    for k in range(first, last):
        for j in range(s):
            t = 0.0
            for l in range(s):
                t += D[1, j, l] * W[c, l, k]
            D[0, j, 0] = t
        for j in range(s):
            W[c, j, k] = D[0, j, 0]


@inline
def _columns(data, at, n, c, soft):
    """U = A S of degree of freedom c."""
    A, S, U, X = data.A, data.S, data.U, data.X
    s, m = U.shape[1], U.shape[2]
    for l in range(s):
        column = six(S, l + 1, c, 0)
        for a in range(m):
            U[c, l, a] = times(six(A, at, a, 6 * l), column)
        if soft:
            for e in range(n, c):
                for k in range(s):
                    x = X[e, k, (c - n) * s + l]
                    for a in range(m):
                        U[c, l, a] -= x * U[e, k, a]


@inline
def _take_off(data, at, c):
    """A <- A - U W of degree of freedom c."""
    A, U, W = data.A, data.U, data.W
    s, m = W.shape[1], W.shape[2]
    for k in range(s):
        for a in range(m):
            u = U[c, k, a]
            for b in range(m):
                A[at, a, b] -= u * W[c, k, b]


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
def _joint(data, at, to, i, n, nv, soft):
    """Eliminate joint i, and add its reduced block A[at] to its parent's, A[to]."""
    A = data.A
    m = A.shape[1]
    if soft:
        _softness(data.X, data.local, n, nv)
    for c in range(n, n + nv):
        _rows(data, at, i, n, c, nv, soft)
        _solve_rows(data, n, nv, c, soft)
        _columns(data, at, n, c, soft)
        _take_off(data, at, c)
    if to >= 0:
        for a in range(m):
            for b in range(m):
                A[to, a, b] += A[at, a, b]


@inline
def _put_row(A, at, to, a, b, row, last):
    """Store six numbers of a reduced block; added to the parent's block once the joint is eliminated."""
    if not last:
        put(A, at, a, b, row)
    elif to >= 0:
        put(A, to, a, b, plus(1.0, row, six(A, to, a, b)))


@inline
def _left_of_row(A, at, to, U, c, a, end, w, last):
    """Row a of a reduced block at order 2; U: the row times `end`."""
    row = six(A, at, a, 0)
    u = times(row, end)
    U[c, 0, a] = u
    _put_row(A, at, to, a, 0, plus(-u, w, row), last)


@inline
def _axis_at_order_2(data, at, to, c, slope, last):
    """All of the above for one degree of freedom at order 2, written out, since tuples in loops are not unrolled."""
    A, S, U = data.A, data.S, data.U
    end = six(S, 1, c, 0)
    w = _row_times(A, at, 0, 0, six(S, 0, c, 0))
    D = 1.0 / (times(w, end) - slope)
    data.inverse[c, 0, 0] = D
    w = plus(D, w, ZEROS)
    put(data.W, c, 0, 0, w)
    _left_of_row(A, at, to, U, c, 0, end, w, last)
    _left_of_row(A, at, to, U, c, 1, end, w, last)
    _left_of_row(A, at, to, U, c, 2, end, w, last)
    _left_of_row(A, at, to, U, c, 3, end, w, last)
    _left_of_row(A, at, to, U, c, 4, end, w, last)
    _left_of_row(A, at, to, U, c, 5, end, w, last)


@inline
def _axis_at_order_4(data, at, to, i, n, c, slopes, last):
    """`_axis_at_order_2` at order 4; slopes (4): of the impulses in the joint."""
    A, S, U, W, K, inverse, bodies = data.A, data.S, data.U, data.W, data.K, data.inverse, data.bodies
    first, middle, end = six(S, 0, c, 0), six(S, 1, c, 0), six(S, 2, c, 0)
    # Rows at the nodes 0 (w, x) and 1 (y, z), columns at the nodes 1 (w, y) and 2 (x, z).
    w, x = _row_times(A, at, 0, 0, first), _row_times(A, at, 0, 6, first)
    y, z = _turned(S, bodies, i, 1, c), ZEROS
    for e in range(n, c):
        k, l = times(y, six(S, 1, e, 0)), times(z, six(S, 2, e, 0))
        K[c, 1, 2 * (e - n)], K[c, 1, 2 * (e - n) + 1] = k, l
        y = plus(-k, six(W, e, 0, 0), plus(-l, six(W, e, 1, 0), y))
        z = plus(-k, six(W, e, 0, 6), plus(-l, six(W, e, 1, 6), z))
    y = plus(1.0, _row_times(A, at, 6, 0, middle), y)
    z = plus(1.0, _row_times(A, at, 6, 6, middle), z)
    a, b = times(w, middle) - slopes[0], times(x, end) - slopes[1]
    d, e = times(y, middle) - slopes[2], times(z, end) - slopes[3]
    t = 1.0 / (a * e - b * d)
    a, b, d, e = e * t, -b * t, -d * t, a * t
    inverse[c, 0, 0], inverse[c, 0, 1], inverse[c, 1, 0], inverse[c, 1, 1] = a, b, d, e
    w, y = plus(a, w, plus(b, y, ZEROS)), plus(d, w, plus(e, y, ZEROS))
    x, z = plus(a, x, plus(b, z, ZEROS)), plus(d, x, plus(e, z, ZEROS))
    put(W, c, 0, 0, w)
    put(W, c, 0, 6, x)
    put(W, c, 1, 0, y)
    put(W, c, 1, 6, z)
    for r in range(12):
        left, right = six(A, at, r, 0), six(A, at, r, 6)
        u, v = times(left, middle), times(right, end)
        U[c, 0, r], U[c, 1, r] = u, v
        _put_row(A, at, to, r, 0, plus(-u, w, plus(-v, y, left)), last)
        _put_row(A, at, to, r, 6, plus(-u, x, plus(-v, z, right)), last)


@inline
def _expect(bodies, turns, i):
    """Predicted wrench E of body i alone."""
    for j in range(1, turns.shape[0] - 1):
        e = load3(bodies[j, i].e)
        store6(bodies[j, i].E, (add3(start_torque(turns, j, i), cross(load3(bodies[j, i].x), e)), e))


@inline
def _is_none(pushes):
    return pushes is None


@routine
def factor(model, settings, data):
    """Eliminate all joints at the poses of the last `body_residual`, from leaves to root: U, W and `inverse`."""
    ways = model.ways
    _factor(model, settings, data, ways.second, ways.fourth, ways.higher, ways.balls, ways.soft)


@routine
def _factor(model, settings, data, second, fourth, higher, balls, soft):
    """`factor`, with the features of `feature_flags.KernelFeatures` as arguments: None is not compiled."""
    filled = _is_none(data.pushes)  # about centres; else moved there later
    nodes, slots, begun, local, bodies = model.nodes, model.slots, data.begun, data.local, data.bodies
    sprung = model.sprung or model.geared
    m = data.A.shape[1]
    centred = balls is not None and m == 12 and not sprung  # bodies on ball joints
    if fourth is not None and m == 12:
        torque_packs(model, settings, data)
    for i in range(nodes.shape[0]):
        begun[i] = False
    for i in range(nodes.shape[0] - 1, -1, -1):
        n, nv, parent = nodes[i].iv, nodes[i].nv, nodes[i].parent
        to = -1 if parent < 0 else slots[parent]
        for b in (i, parent):
            if b >= 0 and not begun[b]:
                begun[b] = True
                ball = centred and nodes[b].nv == 3
                if second is not None and m == 6:
                    body_block(model, settings, data, slots[b], b)
                elif fourth is not None or higher is not None:
                    centre = ball and filled
                    body_blocks(fourth, higher, model, settings, data, slots[b], b, centre)
                    _expect(bodies, data.turns, b)
                push_block(data.pushes, model, settings, data, slots[b], b)
                if balls is not None and ball:
                    centre_pushed(data.pushes, data, slots[b], b)
        if soft is not None and sprung:
            joint_slopes(model, settings, data, i)
        hard = not sprung or nv == 1
        if second is not None and m == 6 and hard:
            for c in range(n, n + nv):
                slope = local[0, 1] if sprung else 0.0
                _axis_at_order_2(data, slots[i], to, c, slope, c == n + nv - 1)
        elif balls is not None and m == 12 and hard and nv == 3:
            follows = parent >= 0 and nodes[parent].nv == 3
            eliminate_ball(data, slots[i], to, i, n, parent, follows)
        elif fourth is not None and m == 12 and hard:
            apart = balls is not None and centred and parent >= 0 and nodes[parent].nv == 3
            for c in range(n, n + nv):
                slopes = (local[0, 1], local[0, 2], local[1, 1], local[1, 2]) if sprung else (0.0, 0.0, 0.0, 0.0)
                last = c == n + nv - 1 and not apart
                _axis_at_order_4(data, slots[i], to, i, n, c, slopes, last)
            if balls is not None and apart:
                recentre(data.A, slots[i], to, bodies, parent)
        elif higher is not None or soft is not None:
            _joint(data, slots[i], to, i, n, nv, sprung)
        if balls is None or not (centred and nv == 3):
            _keep(data.S, data.old_S, n, nv)
        if parent >= 0:
            for j in range(1, m // 6):
                add_to(bodies[j, parent].E, load6(bodies[j, i].E))


@inline
def _keep(S, old_S, n, nv):
    """Store the screws of a joint for `substitution`."""
    for j in range(S.shape[0]):
        for c in range(n, n + nv):
            put(old_S, j, c, 0, six(S, j, c, 0))


@routine
def recursive(model, settings, data, u):
    """Newton update dx (s, nv) for the residuals r; needs `body_residual` at the same Q.

    Same signature as `dense_direction.solve`; u: controls, shape (nodes, nu).
    """
    push_slopes(data.pushes, model, settings, data, u)
    factor(model, settings, data)
    solve(model, settings, data)


@routine
def again(model, settings, data, u):
    """As `recursive`, with the derivatives of its last call (a chord step)."""
    solve(model, settings, data)
