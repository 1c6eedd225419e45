"""Rotational kinetic energy of one body over a step, and its derivatives by the rotation vectors at the nodes.

`w` and `b` are the weights and the differentiation matrix of `arrays.GalerkinBodiesRule`.

Rotation vectors y_j = log(R_0^T R_j) are interpolated as y(t) = sum_j phi_j(t) y_j; omega = J_r(y) y' in the body's
frame:

    l = dt sum_alpha w_alpha 1/2 omega_alpha . I omega_alpha,   y'_alpha = sum_j b[alpha, j] y_j / dt

All of these may be rotated by a constant rotation. For bodies that is R_0: y_j = log(R_j R_0^T) and
I = R_0 I_body R_0^T, so that torques are in world axes.
All derivatives have closed forms: P(y) a = a + k1 y x a + k2 y x (y x a) has few terms, whatever its coefficients.
"""

import math

from leastaction._jit import inline, routine
from leastaction.spatial import (
    ZERO3,
    axpy3,
    cross,
    dot3,
    load3,
    matmult,
    mattvec,
    rot_log,
    scale3,
    store3,
    symvec,
    vee,
)
from leastaction.spatial import exponential as ex
from leastaction.spatial._series import inverse_jacobian_terms


@inline
def eight(a):
    """Eight numbers of an array as a tuple."""
    return (a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7])


@inline
def polynomial_slope(y, a, k1, k1s, k2, k2s):
    """Matrix (9) of the derivative by y of a + k1 y x a + k2 y x (y x a), where k1s and k2s are the slopes of k1, k2.

    A slope ks of k: dk = ks (y . dy), as in `spatial.exponential`.
    """
    ya, t = dot3(y, a), dot3(y, y)
    z = cross(y, a)
    # Everything that multiplies y^T from the left.
    l0 = k1s * z[0] - 2.0 * k2 * a[0] + k2s * (ya * y[0] - t * a[0])
    l1 = k1s * z[1] - 2.0 * k2 * a[1] + k2s * (ya * y[1] - t * a[1])
    l2 = k1s * z[2] - 2.0 * k2 * a[2] + k2s * (ya * y[2] - t * a[2])
    e0, e1, e2 = k2 * a[0], k2 * a[1], k2 * a[2]
    d = k2 * ya
    return (
        l0 * y[0] + y[0] * e0 + d,
        l0 * y[1] + y[0] * e1 + k1 * a[2],
        l0 * y[2] + y[0] * e2 - k1 * a[1],
        l1 * y[0] + y[1] * e0 - k1 * a[2],
        l1 * y[1] + y[1] * e1 + d,
        l1 * y[2] + y[1] * e2 + k1 * a[0],
        l2 * y[0] + y[2] * e0 + k1 * a[1],
        l2 * y[1] + y[2] * e1 - k1 * a[0],
        l2 * y[2] + y[2] * e2 + d,
    )


@inline
def polynomial(y, k1, k2):
    """Matrix (9) of 1 + k1 [y] + k2 [y]^2."""
    t = dot3(y, y)
    d = 1.0 - k2 * t
    xy, xz, yz = k2 * y[0] * y[1], k2 * y[0] * y[2], k2 * y[1] * y[2]
    a, b, c = k1 * y[0], k1 * y[1], k1 * y[2]
    return (
        d + k2 * y[0] * y[0],
        xy - c,
        xz + b,
        xy + c,
        d + k2 * y[1] * y[1],
        yz - a,
        xz - b,
        yz + a,
        d + k2 * y[2] * y[2],
    )


@inline
def gradient(y, L, a, k):
    """Derivative (3) by y of L . J_r(y) a; k: coefficients of `spatial.exponential`."""
    ya, yL, La, t = dot3(y, a), dot3(y, L), dot3(L, a), dot3(y, y)
    m = cross(a, L)
    e = k[3] * (yL * ya - La * t) - k[2] * dot3(y, m) - 2.0 * k[1] * La
    return axpy3(e, y, axpy3(-k[0], m, axpy3(k[1] * ya, L, scale3(k[1] * yL, a))))


@inline
def curvature(y, L, a, k):
    """Symmetric matrix (9) of second derivatives by y of L . J_r(y) a; k: coefficients of `spatial.exponential`."""
    c, bs, cs, bc, cc = k[1], k[2], k[3], k[4], k[5]
    ya, yL, La, t = dot3(y, a), dot3(y, L), dot3(L, a), dot3(y, y)
    m = cross(a, L)
    phi = dot3(y, m)
    psi = yL * ya - La * t
    n = axpy3(-2.0 * La, y, axpy3(ya, L, scale3(yL, a)))
    # f = L.a - b phi + c psi, with the gradients m of phi and n of psi.
    h = axpy3(cs, n, scale3(-bs, m))
    d = -phi * bs + psi * cs - 2.0 * c * La
    e = -phi * bc + psi * cc
    xx = d + e * y[0] * y[0] + 2.0 * (y[0] * h[0] + c * L[0] * a[0])
    yy = d + e * y[1] * y[1] + 2.0 * (y[1] * h[1] + c * L[1] * a[1])
    zz = d + e * y[2] * y[2] + 2.0 * (y[2] * h[2] + c * L[2] * a[2])
    xy = e * y[0] * y[1] + y[0] * h[1] + y[1] * h[0] + c * (L[0] * a[1] + L[1] * a[0])
    xz = e * y[0] * y[2] + y[0] * h[2] + y[2] * h[0] + c * (L[0] * a[2] + L[2] * a[0])
    yz = e * y[1] * y[2] + y[1] * h[2] + y[2] * h[1] + c * (L[1] * a[2] + L[2] * a[1])
    return (xx, xy, xz, xy, yy, yz, xz, yz, zz)


_ARCSINE = tuple(math.comb(2 * k, k) / (4**k * (2 * k + 1)) for k in range(8, -1, -1))
"""Taylor terms of asin(x) / x in x^2, last first: enough for 8 degrees."""


@inline
def turn_between(R0, R1):
    """log(R_1 R_0^T) of a rotation by less than pi, in world axes [rad]."""
    A = matmult(R1, R0)
    w = vee(A)
    t = dot3(w, w)
    c = 0.5 * (A[0] + A[4] + A[8] - 1.0)
    if t < 0.02 and c > 0.0:
        k = 0.0
        for term in _ARCSINE:
            k = k * t + term
        return scale3(k, w)
    if c > -0.9:
        sine = math.sqrt(t)
        return scale3(math.atan2(sine, c) / sine, w)
    return rot_log(A)  # the skew part vanishes near half a turn


@inline
def rate(b, turns, al, i, dt):
    """y' of body i at node al [rad/s]."""
    yd = ZERO3
    for j in range(1, turns.shape[0]):
        yd = axpy3(b[al, j] / dt, load3(turns[j, i].y), yd)
    return yd


@inline
def angular_velocity(b, turns, al, i, dt):
    """omega of joint i at node al, in the child's frame [rad/s]."""
    if turns.shape[0] == 2:
        return scale3(1.0 / dt, load3(turns[1, i].y))
    return ex.jr(load3(turns[al, i].y), eight(turns[al, i].k), rate(b, turns, al, i, dt))


@inline
def world_angular_velocity(b, turns, al, i, dt):
    """omega of body i at node al, in world axes [rad/s]: J_l(y) y', as its rotation vectors y are."""
    if turns.shape[0] == 2:
        return scale3(1.0 / dt, load3(turns[1, i].y))
    return ex.jr_transposed(load3(turns[al, i].y), eight(turns[al, i].k), rate(b, turns, al, i, dt))


@inline
def angular_velocity_slope(b, turns, al, i, k, dt):
    """Matrix (9) of the derivative of omega at node al by the rotation vector y at node k."""
    y, co = load3(turns[al, i].y), eight(turns[al, i].k)
    if turns.shape[0] == 2:
        co = ex.coefficients(y)  # order 2 stores only two of them
    h = b[al, k] / dt
    J = polynomial(y, -co[0], co[1])
    out = (h * J[0], h * J[1], h * J[2], h * J[3], h * J[4], h * J[5], h * J[6], h * J[7], h * J[8])
    if k != al:
        return out
    return plus9(out, polynomial_slope(y, rate(b, turns, al, i, dt), -co[0], -co[2], co[1], co[3]))


@inline
def add_to3(a, k, v):
    """a += k v."""
    a[0] += k * v[0]
    a[1] += k * v[1]
    a[2] += k * v[2]


@inline
def set_turn(turns, j, i, y):
    """Store the rotation vector y of body (or joint) i at node j, with the coefficients for its derivatives."""
    turn = turns[j, i]
    store3(turn.y, y)
    if turns.shape[0] == 2:
        turn.k[6], turn.k[7] = inverse_jacobian_terms(dot3(y, y))
    else:
        _store8(turn.k, ex.coefficients(y))


@inline
def _store8(a, k):
    a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7] = k


@routine
def turning_gradient(w, b, turns, i, Ic, dt):
    """g: derivatives of the rotational energy of body i, with inertia Ic (6) in its frame, by its rotation vectors."""
    s = turns.shape[0] - 1
    if s == 1:
        # One rotation at a constant rate: l = y . I y / (2 dt).
        store3(turns[1, i].g, scale3(1.0 / dt, symvec(Ic, load3(turns[1, i].y))))
        return
    if s == 2:
        y, z, k, l = load3(turns[1, i].y), load3(turns[2, i].y), eight(turns[1, i].k), eight(turns[2, i].k)
        g, h = gradients_at_order_4(order_4(w, b), y, z, k, l, Ic, dt)
        store3(turns[1, i].g, g)
        store3(turns[2, i].g, h)
        return
    # At the first node y = 0 and J_r = 1.
    L = symvec(Ic, rate(b, turns, 0, i, dt))
    for j in range(1, s + 1):
        store3(turns[j, i].g, scale3(w[0] * b[0, j], L))
    for al in range(1, s + 1):
        P, slope = _momenta(load3(turns[al, i].y), rate(b, turns, al, i, dt), eight(turns[al, i].k), Ic)
        for j in range(1, s + 1):
            add_to3(turns[j, i].g, w[al] * b[al, j], P)
        add_to3(turns[al, i].g, w[al] * dt, slope)


@inline
def _momenta(y, yd, k, Ic):
    """Derivatives (3) of 1/2 omega . I omega by yd and by y, where yd is the rate of y."""
    L = symvec(Ic, ex.jr(y, k, yd))
    return ex.jr_transposed(y, k, L), gradient(y, L, yd, k)


@inline
def order_4(w, b):
    """Coefficients of weights and differentiation for order 4: (w0, w1, w2, b01, b02, b11, b12, b21, b22)."""
    return (w[0], w[1], w[2], b[0, 1], b[0, 2], b[1, 1], b[1, 2], b[2, 1], b[2, 2])


@inline
def gradients_at_order_4(rule, y, z, k, l, Ic, dt):
    """Derivatives by the rotation vectors y, z at nodes 1, 2, with coefficients k, l: two g; rule: see `order_4`."""
    w0, w1, w2, b01, b02, b11, b12, b21, b22 = rule
    h = 1.0 / dt
    L = symvec(Ic, axpy3(b01 * h, y, scale3(b02 * h, z)))
    yd = axpy3(b11 * h, y, scale3(b12 * h, z))
    zd = axpy3(b21 * h, y, scale3(b22 * h, z))
    P, by_y = _momenta(y, yd, k, Ic)
    Q, by_z = _momenta(z, zd, l, Ic)
    first = axpy3(w2 * b21, Q, axpy3(w1 * b11, P, scale3(w0 * b01, L)))
    last = axpy3(w2 * b22, Q, axpy3(w1 * b12, P, scale3(w0 * b02, L)))
    return axpy3(w1 * dt, by_y, first), axpy3(w2 * dt, by_z, last)


@inline
def plus9(A, B):
    """A + B of matrices (9)."""
    return (
        A[0] + B[0],
        A[1] + B[1],
        A[2] + B[2],
        A[3] + B[3],
        A[4] + B[4],
        A[5] + B[5],
        A[6] + B[6],
        A[7] + B[7],
        A[8] + B[8],
    )


@inline
def transposed_times(A, Ic, B):
    """A^T I B of matrices (9) and a symmetric one (6)."""
    c0 = symvec(Ic, (B[0], B[3], B[6]))
    c1 = symvec(Ic, (B[1], B[4], B[7]))
    c2 = symvec(Ic, (B[2], B[5], B[8]))
    a0, a1, a2 = mattvec(A, c0), mattvec(A, c1), mattvec(A, c2)
    return (a0[0], a1[0], a2[0], a0[1], a1[1], a2[1], a0[2], a1[2], a2[2])


@inline
def transposed9(A):
    """A^T (9)."""
    return (A[0], A[3], A[6], A[1], A[4], A[7], A[2], A[5], A[8])


@inline
def square(A, Ic):
    """A^T I A (9), which is symmetric, of a matrix (9) and a symmetric one (6)."""
    c0 = symvec(Ic, (A[0], A[3], A[6]))
    c1 = symvec(Ic, (A[1], A[4], A[7]))
    c2 = symvec(Ic, (A[2], A[5], A[8]))
    xx, yx, zx = mattvec(A, c0)
    yy = A[1] * c1[0] + A[4] * c1[1] + A[7] * c1[2]
    zy = A[2] * c1[0] + A[5] * c1[1] + A[8] * c1[2]
    zz = A[2] * c2[0] + A[5] * c2[1] + A[8] * c2[2]
    return (xx, yx, zx, yx, yy, zy, zx, zy, zz)


@routine
def turning_hessian(w, b, turns, i, Ic, dt, G):
    """G[j, k] (9 numbers) = d^2 l / dy_j dy_k of body i, for j, k = 1 ... s; shape (s + 1, s + 1, 9)."""
    s = turns.shape[0] - 1
    full = (Ic[0], Ic[1], Ic[2], Ic[1], Ic[3], Ic[4], Ic[2], Ic[4], Ic[5])
    if s == 1:
        _put(G, 1, 1, 1.0 / dt, full)
        return
    # At the first node y = 0 and J_r = 1.
    for j in range(1, s + 1):
        for k in range(1, s + 1):
            _put(G, j, k, w[0] * b[0, j] * b[0, k] / dt, full)
    for al in range(1, s + 1):
        JJ, JN, NN = _parts(load3(turns[al, i].y), rate(b, turns, al, i, dt), eight(turns[al, i].k), Ic)
        NJ = transposed9(JN)
        weight = w[al]
        for j in range(1, s + 1):
            for k in range(1, s + 1):
                _accumulate(G, j, k, weight * b[al, j] * b[al, k] / dt, JJ)
        for j in range(1, s + 1):
            _accumulate(G, j, al, weight * b[al, j], JN)
            _accumulate(G, al, j, weight * b[al, j], NJ)
        _accumulate(G, al, al, weight * dt, NN)


@inline
def _scaled(k, A, B):
    """k A + B of matrices (9)."""
    return (
        k * A[0] + B[0],
        k * A[1] + B[1],
        k * A[2] + B[2],
        k * A[3] + B[3],
        k * A[4] + B[4],
        k * A[5] + B[5],
        k * A[6] + B[6],
        k * A[7] + B[7],
        k * A[8] + B[8],
    )


@inline
def _parts(y, yd, co, Ic):
    """Second derivatives (9) of 1/2 omega . I omega by y' twice, by y' and y, and by y twice."""
    L = symvec(Ic, ex.jr(y, co, yd))
    J = polynomial(y, -co[0], co[1])
    N = polynomial_slope(y, yd, -co[0], -co[2], co[1], co[3])
    mixed = plus9(transposed_times(J, Ic, N), polynomial_slope(y, L, co[0], co[2], co[1], co[3]))
    return square(J, Ic), mixed, plus9(square(N, Ic), curvature(y, L, yd, co))


@inline
def hessian_at_order_4(rule, y, z, k, l, Ic, dt):
    """G[1, 1], G[1, 2] and G[2, 2] (9 each) of `turning_hessian`; arguments as in `gradients_at_order_4`."""
    w0, w1, w2, b01, b02, b11, b12, b21, b22 = rule
    first = (Ic[0], Ic[1], Ic[2], Ic[1], Ic[3], Ic[4], Ic[2], Ic[4], Ic[5])
    none = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    h = 1.0 / dt
    left, right = w0 * b01 * h, w0 * b02 * h
    A, B, C = _scaled(left * b01, first, none), _scaled(left * b02, first, none), _scaled(right * b02, first, none)
    yd = axpy3(b11 * h, y, scale3(b12 * h, z))
    zd = axpy3(b21 * h, y, scale3(b22 * h, z))
    JJ, JN, NN = _parts(y, yd, k, Ic)
    left, right = w1 * b11, w1 * b12
    A = _scaled(left * b11 * h, JJ, _scaled(left, plus9(JN, transposed9(JN)), _scaled(w1 * dt, NN, A)))
    B = _scaled(left * b12 * h, JJ, _scaled(right, transposed9(JN), B))
    C = _scaled(right * b12 * h, JJ, C)
    JJ, JN, NN = _parts(z, zd, l, Ic)
    left, right = w2 * b21, w2 * b22
    A = _scaled(left * b21 * h, JJ, A)
    B = _scaled(left * b22 * h, JJ, _scaled(left, JN, B))
    C = _scaled(right * b22 * h, JJ, _scaled(right, plus9(JN, transposed9(JN)), _scaled(w2 * dt, NN, C)))
    return A, B, C


@inline
def _put(G, j, k, weight, A):
    """Set block (j, k) of G to weight times A; written out, because the compiler does not unroll tuples in loops."""
    G[j, k, 0] = weight * A[0]
    G[j, k, 1] = weight * A[1]
    G[j, k, 2] = weight * A[2]
    G[j, k, 3] = weight * A[3]
    G[j, k, 4] = weight * A[4]
    G[j, k, 5] = weight * A[5]
    G[j, k, 6] = weight * A[6]
    G[j, k, 7] = weight * A[7]
    G[j, k, 8] = weight * A[8]


@inline
def _accumulate(G, j, k, weight, A):
    """Add weight times A to block (j, k) of G."""
    G[j, k, 0] += weight * A[0]
    G[j, k, 1] += weight * A[1]
    G[j, k, 2] += weight * A[2]
    G[j, k, 3] += weight * A[3]
    G[j, k, 4] += weight * A[4]
    G[j, k, 5] += weight * A[5]
    G[j, k, 6] += weight * A[6]
    G[j, k, 7] += weight * A[7]
    G[j, k, 8] += weight * A[8]


@inline
def torque(turn):
    """J_l^-T(y) g = J_r^-1(y) g: the torque of the derivative g by y."""
    y, g = load3(turn.y), load3(turn.g)
    a = cross(y, g)
    return axpy3(turn.k[6], cross(y, a), axpy3(0.5, a, g))
