"""Block elimination of ball joints of the body-wise rule at order 4, for `body_recursion` and `substitution`.

The motion of a subtree on a ball joint depends on its parent only by the displacement d of the joint's centre, and the
reaction is a force there, with a couple where drives act. With blocks about the centres, rotations w at the nodes 1, 2
and rows rho in world axes at the nodes 0, 1,

    (Dww - [tau]) w + (Dwd - [f]) d = rho - beta_w,   force changes: -(Ddw w + Ddd d + beta_d),

where f and tau are the predicted force and couple in the joint; their brackets occur at node 1, whose centre and axes
move. So w = y - W d, and the parent gets 6 x 6 numbers and the couple instead of 12 x 12 numbers in three passes.
Blocks of bodies on ball joints refer to these centres from the start, those of others to the world's origin. Columns by
d are contiguous, at fixed offsets, for SIMD instructions.
"""

import numpy as np

from leastaction._jit import inline, routine
from leastaction.minimal.galerkin_bodies.rotational_energy import plus9
from leastaction.spatial import ZERO3, add3, axpy3, cross, dot3, load3, matmul, matvec, scale3, sub3

COLUMNS = 8
"""Columns by d, and two that are zero: the width of one SIMD instruction."""

BALL = np.dtype([(name, "f8", (6, COLUMNS)) for name in "XWFM"] + [("C", "f8", (3, COLUMNS))], align=True)
"""Scratch for one ball joint: (Dwd - [f]), W, forces and couples for the parent, and [f] at node 1."""

# Each ball joint uses six rows of U, W and K: U has Ddw, W has W, and K the inverse of (Dww - [tau]) and then from
# column 6 on the centres at the three nodes, and tau.


@inline
def _three(a, i, j, k):
    return (a[i, j, k], a[i, j, k + 1], a[i, j, k + 2])


@inline
def _put3(a, i, j, k, x):
    a[i, j, k], a[i, j, k + 1], a[i, j, k + 2] = x


@inline
def _add3(a, i, j, k, x):
    a[i, j, k] += x[0]
    a[i, j, k + 1] += x[1]
    a[i, j, k + 2] += x[2]


@inline
def _block(A, at, r, c):
    """The matrix (9) at row r and column c of A[at]."""
    x, y, z = _three(A, at, r, c), _three(A, at, r + 1, c), _three(A, at, r + 2, c)
    return x + y + z


@inline
def _add_block(A, at, r, c, M):
    _add3(A, at, r, c, (M[0], M[1], M[2]))
    _add3(A, at, r + 1, c, (M[3], M[4], M[5]))
    _add3(A, at, r + 2, c, (M[6], M[7], M[8]))


@inline
def _minus(A, B):
    """A - B of matrices (9)."""
    upper = (A[0] - B[0], A[1] - B[1], A[2] - B[2], A[3] - B[3], A[4] - B[4])
    return upper + (A[5] - B[5], A[6] - B[6], A[7] - B[7], A[8] - B[8])


@inline
def _hat_times(p, M):
    """[p] M."""
    x, y, z = p
    upper = (y * M[6] - z * M[3], y * M[7] - z * M[4], y * M[8] - z * M[5])
    middle = (z * M[0] - x * M[6], z * M[1] - x * M[7], z * M[2] - x * M[8])
    return upper + middle + (x * M[3] - y * M[0], x * M[4] - y * M[1], x * M[5] - y * M[2])


@inline
def _times_hat(M, p):
    """M [p]."""
    a, b, c = (M[0], M[1], M[2]), (M[3], M[4], M[5]), (M[6], M[7], M[8])
    return cross(a, p) + cross(b, p) + cross(c, p)


@inline
def _inverse(M):
    """M^-1, by cofactors."""
    a, b, c = (M[0], M[1], M[2]), (M[3], M[4], M[5]), (M[6], M[7], M[8])
    x, y, z = cross(b, c), cross(c, a), cross(a, b)
    t = 1.0 / dot3(a, x)
    return (t * x[0], t * y[0], t * z[0], t * x[1], t * y[1], t * z[1], t * x[2], t * y[2], t * z[2])


@inline
def _keep(M, n, P, Q, R, S):
    """Store the blocks P, Q above R, S in six rows of M, six numbers each."""
    _put3(M, n, 0, 0, (P[0], P[1], P[2]))
    _put3(M, n, 0, 3, (Q[0], Q[1], Q[2]))
    _put3(M, n, 1, 0, (P[3], P[4], P[5]))
    _put3(M, n, 1, 3, (Q[3], Q[4], Q[5]))
    _put3(M, n + 1, 0, 0, (P[6], P[7], P[8]))
    _put3(M, n + 1, 0, 3, (Q[6], Q[7], Q[8]))
    _put3(M, n + 1, 1, 0, (R[0], R[1], R[2]))
    _put3(M, n + 1, 1, 3, (S[0], S[1], S[2]))
    _put3(M, n + 2, 0, 0, (R[3], R[4], R[5]))
    _put3(M, n + 2, 0, 3, (S[3], S[4], S[5]))
    _put3(M, n + 2, 1, 0, (R[6], R[7], R[8]))
    _put3(M, n + 2, 1, 3, (S[6], S[7], S[8]))


@inline
def _about(A, at, j, k, pj, pk):
    """Blocks (Dww, Dwd, Ddw, Ddd) of A[at] at nodes j and k + 1, about the centres pj and pk there."""
    r, c = 6 * j, 6 * k
    wd, dd = _block(A, at, r, c + 3), _block(A, at, r + 3, c + 3)
    dw = plus9(_block(A, at, r + 3, c), _times_hat(dd, pk))
    ww = _minus(plus9(_block(A, at, r, c), _times_hat(wd, pk)), _hat_times(pj, dw))
    return ww, _minus(wd, _hat_times(pj, dd)), dw, dd


@inline
def centre(bodies, j, i, centred):
    """Reference point of the block of body i at node j."""
    return load3(bodies[j, i].p) if centred else ZERO3


@routine
def recentre(A, at, to, bodies, i):
    """Add A[at], about the world's origin, to A[to], about the centre of body i; in place where both are the same."""
    for j in range(2):
        for k in range(2):
            ww, wd, dw, dd = _about(A, at, j, k, load3(bodies[j, i].p), load3(bodies[k + 1, i].p))
            r, c = 6 * j, 6 * k
            if at == to:
                for a in range(6):
                    for b in range(6):
                        A[at, r + a, c + b] = 0.0
            _add_block(A, to, r, c, ww)
            _add_block(A, to, r, c + 3, wd)
            _add_block(A, to, r + 3, c, dw)
            _add_block(A, to, r + 3, c + 3, dd)


@inline
def centre_pushed(pushes, data, at, i):
    """Move a block with body forces, which is assembled about the world's origin, to the centre."""
    if pushes is not None:
        recentre(data.A, at, at, data.bodies, i)


@inline
def _columns(M, A, at, a, row):
    """Row a of M: columns by d of a row of A[at]."""
    for c in range(3):
        M[a, c], M[a, c + 3] = A[at, row, c + 3], A[at, row, c + 9]


@inline
def _hat(M, a, c, f):
    """[f] at row a and column c of M."""
    M[a, c], M[a, c + 1], M[a, c + 2] = 0.0, -f[2], f[1]
    M[a + 1, c], M[a + 1, c + 1], M[a + 1, c + 2] = f[2], 0.0, -f[0]
    M[a + 2, c], M[a + 2, c + 1], M[a + 2, c + 2] = -f[1], f[0], 0.0


@inline
def _both(M, N, a, b):
    """M a + N b."""
    return add3(matvec(M, a), matvec(N, b))


@inline
def _column(M, a, c):
    return (M[a, c], M[a + 1, c], M[a + 2, c])


@inline
def _put_column(M, a, c, x):
    M[a, c], M[a + 1, c], M[a + 2, c] = x


@inline
def _hand_on(A, to, row, M, a, p1, p2):
    """Add row a of M, by displacements of the centre at p1 and p2 relative to the parent's, to a row of A[to]."""
    x, y = (M[a, 0], M[a, 1], M[a, 2]), (M[a, 3], M[a, 4], M[a, 5])
    _add3(A, to, row, 0, cross(p1, x))
    _add3(A, to, row, 3, x)
    _add3(A, to, row, 6, cross(p2, y))
    _add3(A, to, row, 9, y)


@inline
def eliminate_ball(data, at, to, i, n, parent, centred):
    """Eliminate the ball joint of body i with first degree of freedom n, and add the reduced A[at] to A[to].

    centred: whether the parent's block refers to a centre too.
    """
    A, U, W, K, bodies, ball = data.A, data.U, data.W, data.K, data.bodies, data.ball[0]
    p0, p1, p2 = load3(bodies[0, i].p), load3(bodies[1, i].p), load3(bodies[2, i].p)
    E = bodies[1, i].E
    f = (E[3], E[4], E[5])
    tau = sub3((E[0], E[1], E[2]), cross(p1, f))
    # Before the inverse, because scalar stores delay vector loads of the same numbers.
    for a in range(3):
        _columns(ball.X, A, at, a, a)
        _columns(ball.X, A, at, a + 3, a + 6)
        _columns(ball.F, A, at, a, a + 3)
        _columns(ball.F, A, at, a + 3, a + 9)
    _hat(ball.C, 0, 0, f)
    couple = (0.0, -tau[2], tau[1], tau[2], 0.0, -tau[0], -tau[1], tau[0], 0.0)
    P, Q = _block(A, at, 0, 0), _block(A, at, 0, 6)
    R, T = _minus(_block(A, at, 6, 0), couple), _block(A, at, 6, 6)
    # The inverse of (P, Q; R, T); without pivoting, as these are blocks of inertias.
    P = _inverse(P)
    G = matmul(R, P)
    T = _inverse(_minus(T, matmul(G, Q)))
    Q = matmul(P, matmul(Q, T))
    P, R, Q = plus9(P, matmul(Q, G)), _negative(matmul(T, G)), _negative(Q)
    U00, U01, U10, U11 = _block(A, at, 3, 0), _block(A, at, 3, 6), _block(A, at, 9, 0), _block(A, at, 9, 6)
    _keep(K, n, P, Q, R, T)
    _keep(U, n, U00, U01, U10, U11)
    _put3(K, n, 0, 6, p0)
    _put3(K, n, 0, 9, p1)
    _put3(K, n, 1, 6, p2)
    _put3(K, n, 1, 9, tau)
    a0, a1, a2 = p0, p1, p2
    if parent >= 0:
        a0, a1 = sub3(p0, centre(bodies, 0, parent, centred)), sub3(p1, centre(bodies, 1, parent, centred))
        a2 = sub3(p2, centre(bodies, 2, parent, centred))
    for c in range(COLUMNS):
        force = _column(ball.C, 0, c)
        x, y = _column(ball.X, 0, c), sub3(_column(ball.X, 3, c), force)
        w, z = _both(P, Q, x, y), _both(R, T, x, y)
        _put_column(ball.W, 0, c, w)
        _put_column(ball.W, 3, c, z)
        x = sub3(_column(ball.F, 0, c), _both(U00, U01, w, z))
        y = sub3(_column(ball.F, 3, c), _both(U10, U11, w, z))
        _put_column(ball.F, 0, c, x)
        _put_column(ball.F, 3, c, y)
        _put_column(ball.M, 0, c, cross(a0, x))
        _put_column(ball.M, 3, c, add3(cross(a1, y), sub3(force, cross(tau, w))))
    for a in range(6):
        for c in range(6):
            W[n + a // 2, a % 2, c] = ball.W[a, c]
    if to >= 0:
        for a in range(3):
            _hand_on(A, to, a, ball.M, a, a1, a2)
            _hand_on(A, to, a + 3, ball.F, a, a1, a2)
            _hand_on(A, to, a + 6, ball.M, a + 3, a1, a2)
            _hand_on(A, to, a + 9, ball.F, a + 3, a1, a2)


@inline
def _negative(M):
    return (-M[0], -M[1], -M[2], -M[3], -M[4], -M[5], -M[6], -M[7], -M[8])


@inline
def _times6(M, k, j, a, b):
    """Row (k, j) of M, six numbers, times two vectors."""
    return dot3(_three(M, k, j, 0), a) + dot3(_three(M, k, j, 3), b)


@inline
def _product(M, n, a, b):
    """Six rows of M times two vectors: two vectors."""
    first = (_times6(M, n, 0, a, b), _times6(M, n, 1, a, b), _times6(M, n + 1, 0, a, b))
    return first, (_times6(M, n + 1, 1, a, b), _times6(M, n + 2, 0, a, b), _times6(M, n + 2, 1, a, b))


@inline
def _in_world(S, j, n, x):
    """A vector in the child's axes at node j, rotated to world axes."""
    out = scale3(x[0], _three(S, j, n, 0))
    return axpy3(x[2], _three(S, j, n + 2, 0), axpy3(x[1], _three(S, j, n + 1, 0), out))


@inline
def ball_up(data, i, parent, n):
    """`substitution._up` of the ball joint of body i: t contains the rotations y."""
    S, U, K, r, t, beta = data.S, data.U, data.K, data.r, data.t, data.beta
    p0, p1, tau = _three(K, n, 0, 6), _three(K, n, 0, 9), _three(K, n, 1, 9)
    f0, f1 = _three(beta, 0, i, 3), _three(beta, 0, i, 9)
    rho0 = _in_world(S, 0, n, (r[0, n], r[0, n + 1], r[0, n + 2]))
    rho1 = _in_world(S, 1, n, (r[1, n], r[1, n + 1], r[1, n + 2]))
    a = sub3(rho0, sub3(_three(beta, 0, i, 0), cross(p0, f0)))
    b = sub3(rho1, sub3(_three(beta, 0, i, 6), cross(p1, f1)))
    y, z = _product(K, n, a, b)
    t[n, 0], t[n + 1, 0], t[n + 2, 0] = y
    t[n, 1], t[n + 1, 1], t[n + 2, 1] = z
    if parent >= 0:
        c, d = _product(U, n, y, z)
        f0, f1 = add3(f0, c), add3(f1, d)
        _add3(beta, 0, parent, 0, add3(rho0, cross(p0, f0)))
        _add3(beta, 0, parent, 3, f0)
        _add3(beta, 0, parent, 6, add3(add3(rho1, cross(tau, y)), cross(p1, f1)))
        _add3(beta, 0, parent, 9, f1)


@inline
def ball_down(data, i, parent, n):
    """`substitution._down` of the ball joint of body i."""
    S, W, K, t, dx, eta = data.S, data.W, data.K, data.t, data.dx, data.beta
    p1, p2 = _three(K, n, 0, 9), _three(K, n, 1, 6)
    y, z = (t[n, 0], t[n + 1, 0], t[n + 2, 0]), (t[n, 1], t[n + 1, 1], t[n + 2, 1])
    w = x = d = e = (0.0, 0.0, 0.0)
    if parent >= 0:
        w, x = _three(eta, 1, parent, 0), _three(eta, 1, parent, 6)
        d = add3(_three(eta, 1, parent, 3), cross(w, p1))
        e = add3(_three(eta, 1, parent, 9), cross(x, p2))
        a, b = _product(W, n, d, e)
        y, z = sub3(y, a), sub3(z, b)
    _put3(eta, 1, i, 0, y)
    _put3(eta, 1, i, 3, add3(d, cross(p1, y)))
    _put3(eta, 1, i, 6, z)
    _put3(eta, 1, i, 9, add3(e, cross(p2, z)))
    y, z = sub3(y, w), sub3(z, x)
    for c in range(3):
        dx[0, n + c] = dot3(_three(S, 1, n + c, 0), y)
        dx[1, n + c] = dot3(_three(S, 2, n + c, 0), z)
