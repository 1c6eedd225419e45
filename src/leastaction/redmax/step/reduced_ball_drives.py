"""Drive inertia of ball joints, and of the turns of free joints.

Beside the body that carries it the child turns with w = T rd, in its own directions, and the rate a = T rdd + Td rd of
that. The drive's inertias I about the axes of the child then take the torque t = I a + w x I w (Euler's equations), the
force T' t along the coordinates. All of it depends on the coordinates of the ball alone. Slopes by these are those of

    E = dw/dr,  F = da/dr,  G = da/d(rd),  dT/dr,

which `kinematics.reduced.lift` has of exponential coordinates. Of Euler angles the columns of T are the axes of the
hinges, which later hinges turn: dT0 = (T0 x T1) dr1 + (T0 x T2) dr2, dT1 = (T1 x T2) dr2.
"""

from leastaction._jit import inline, routine
from leastaction.kinematics.reduced.charts import columns, combine3
from leastaction.spatial import ZERO3, add3, axpy3, cross, dot3, scale3


@inline
def _pick(T, k):
    """Column k of three."""
    return T[0] if k == 0 else (T[1] if k == 1 else T[2])


@inline
def _three(x, i):
    """Three entries of x, from i on."""
    return (x[i], x[i + 1], x[i + 2])


@inline
def is_geared(ball):
    """Whether a ball has drive inertia."""
    return ball.armature[0] + ball.armature[1] + ball.armature[2] > 0.0


@inline
def _inertia(ball, a):
    """I a."""
    return (ball.armature[0] * a[0], ball.armature[1] * a[1], ball.armature[2] * a[2])


@inline
def _torque(ball, w, a):
    """I a + w x I w."""
    return add3(_inertia(ball, a), cross(w, _inertia(ball, w)))


@inline
def _torque_slope(ball, w, dw, da):
    """How that changes with w and a."""
    turned = add3(cross(dw, _inertia(ball, w)), cross(w, _inertia(ball, dw)))
    return add3(_inertia(ball, da), turned)


@routine
def _of_angles(chart, r, rd, rdd):
    """(T, w, a, E, F, G) of a ball in Euler angles; matrices as three columns."""
    T0, T1, T2 = columns(chart, r)
    N, M, L = cross(T0, T1), cross(T0, T2), cross(T1, T2)
    w = combine3(T0, T1, T2, rd)
    a = combine3(N, M, L, (rd[0] * rd[1], rd[0] * rd[2], rd[1] * rd[2]))
    a = add3(a, combine3(T0, T1, T2, rdd))
    F1 = combine3(N, cross(N, T1), cross(N, T2), (rdd[0], rd[0] * rd[1], rd[0] * rd[2]))
    G0, G1 = axpy3(rd[1], N, scale3(rd[2], M)), axpy3(rd[0], N, scale3(rd[2], L))
    G = (G0, G1, axpy3(rd[0], M, scale3(rd[1], L)))
    return (T0, T1, T2), w, a, (ZERO3, scale3(rd[0], N), cross(w, T2)), (ZERO3, F1, cross(a, T2)), G


@inline
def _column(A, c):
    """Column c of an array."""
    return (A[0, c], A[1, c], A[2, c])


@inline
def _columns(A):
    return (_column(A, 0), _column(A, 1), _column(A, 2))


@routine
def _of_block(lift, rd, rdd):
    """The same in exponential coordinates."""
    T, G, E = _columns(lift.map), _columns(lift.G), _columns(lift.E)
    # Td rd: E rd, for that is how w changes where r moves with rd.
    a = add3(combine3(T[0], T[1], T[2], rdd), combine3(E[0], E[1], E[2], rd))
    return T, combine3(T[0], T[1], T[2], rd), a, E, _columns(lift.F), G


@inline
def _motion(blocks, ball, data, k, r, rd, rdd):
    """(T, w, a, E, F, G) of ball k."""
    x, xd, xdd = _three(r, ball.ir), _three(rd, ball.ir), _three(rdd, ball.ir)
    if blocks is None:
        return _of_angles(data.charts[k], x, xd, xdd)
    if ball.exponential == 0:
        return _of_angles(data.charts[k], x, xd, xdd)
    return _of_block(data.lifts[_block_of(blocks, ball.ir)], xd, xdd)


@routine
def _block_of(blocks, ir):
    """Number of the block whose first coordinate is ir."""
    for b in range(blocks.shape[0]):
        if blocks[b].ir == ir:
            return b
    return -1


@inline
def _bend_axis(T, t, k, c):
    """`_bend` of Euler angles."""
    if c == 2:
        return dot3(cross(_pick(T, k), T[2]), t)
    return dot3(cross(T[0], T[1]), t) if c == 1 and k == 0 else 0.0


@inline
def _bend(blocks, ball, data, T, t, k, c):
    """Derivative of column k of T by coordinate c, times t."""
    if blocks is None:
        return _bend_axis(T, t, k, c)
    if ball.exponential == 0:
        return _bend_axis(T, t, k, c)
    D2 = data.lifts[_block_of(blocks, ball.ir)].D2
    return D2[0, k, c] * t[0] + D2[1, k, c] * t[1] + D2[2, k, c] * t[2]


@routine
def add_drive_forces(balls, blocks, data, r, rd, rdd, g):
    """Add the forces that drives of balls take, to g (nr + m,).

    Args:
        balls, blocks: of the `CoordinateModel`; where balls are None nothing is compiled.
        data: `CoordinateData`.
    """
    if balls is None:
        return
    for k in range(balls.shape[0]):
        ball = balls[k]
        if is_geared(ball):
            T, w, a, _, _, _ = _motion(blocks, ball, data, k, r, rd, rdd)
            t = _torque(ball, w, a)
            for c in range(3):
                g[ball.ir + c] += dot3(_pick(T, c), t)


@routine
def add_drive_slopes(balls, blocks, data, r, rd, rdd, c1, H):
    """Add to H the derivatives of these by r, c1 times those by rd and c1^2 times those by rdd."""
    if balls is None:
        return
    for b in range(balls.shape[0]):
        ball = balls[b]
        if is_geared(ball):
            T, w, a, E, F, G = _motion(blocks, ball, data, b, r, rd, rdd)
            t = _torque(ball, w, a)
            for c in range(3):
                dw = axpy3(c1, _pick(T, c), _pick(E, c))
                da = axpy3(c1 * c1, _pick(T, c), axpy3(c1, _pick(G, c), _pick(F, c)))
                dt = _torque_slope(ball, w, dw, da)
                for k in range(3):
                    H[ball.ir + k, ball.ir + c] += dot3(_pick(T, k), dt) + _bend(blocks, ball, data, T, t, k, c)


@inline
def _map(blocks, ball, data, k, q):
    """T of ball k, where the nodes are at q."""
    x = _three(q, data.nodes[ball.node].iq)
    if blocks is None:
        return columns(data.charts[k], x)
    if ball.exponential == 0:
        return columns(data.charts[k], x)
    return _columns(data.lifts[_block_of(blocks, ball.ir)].map)


@routine
def add_drive_masses(balls, blocks, data, q, H):
    """Add T' I T of each ball to the mass matrix H; q: coordinates of the nodes."""
    if balls is None:
        return
    for b in range(balls.shape[0]):
        ball = balls[b]
        if is_geared(ball):
            T = _map(blocks, ball, data, b, q)
            for c in range(3):
                f = _inertia(ball, _pick(T, c))
                for k in range(3):
                    H[ball.ir + k, ball.ir + c] += dot3(_pick(T, k), f)


@routine
def add_drive_rates(balls, blocks, data, end, rdd, z, yv, ya):
    """Add to yv, ya (nr,) the gradients by rates and accelerations of z times the forces of drives."""
    if balls is None:
        return
    for b in range(balls.shape[0]):
        ball = balls[b]
        if is_geared(ball):
            T, w, _, _, _, G = _motion(blocks, ball, data, b, end.r, end.rd, rdd)
            u = combine3(T[0], T[1], T[2], _three(z, ball.ir))
            for c in range(3):
                own = _pick(T, c)
                yv[ball.ir + c] += dot3(u, _torque_slope(ball, w, own, _pick(G, c)))
                ya[ball.ir + c] += dot3(u, _inertia(ball, own))


@routine
def add_drive_gradients(balls, blocks, data, end, rdd, z, out):
    """Subtract from `out` (balls, 3) the gradients by the inertias of z times the forces of drives."""
    if balls is None:
        return
    for b in range(balls.shape[0]):
        ball = balls[b]
        T, w, a, _, _, _ = _motion(blocks, ball, data, b, end.r, end.rd, rdd)
        u = combine3(T[0], T[1], T[2], _three(z, ball.ir))
        turned = cross(u, w)
        for c in range(3):
            out[b, c] -= _pick(u, c) * _pick(a, c) + _pick(turned, c) * _pick(w, c)
