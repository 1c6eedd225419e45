"""Gaps of shapes with an ellipsoidal support function: ellipsoids, and rims of cylinders, which are flat ellipsoids.

The support function of such a shape is n . c + sqrt(n . Q n), with its centre c and a symmetric matrix Q; its support
point is c + Q n / sqrt(n . Q n). The separation of two shapes along n is

    s(n) = n . (c2 - c1) - sqrt(n . Q1 n) - sqrt(n . Q2 n),

and their gap is the maximum of s over all unit vectors n: the distance, or minus the penetration depth, smooth through
zero. If the second is a line, n is orthogonal to it.
"""

import math

from leastaction._jit import inline, routine
from leastaction.contact.narrow_phase.closest_points import TINY, closest_on_triangle, local, tangents, unit
from leastaction.contact.records import ROUND_AND_LINE, ROUND_ON_PLANE, ROUND_ON_TRIANGLE
from leastaction.spatial import (
    act,
    add3,
    axpy3,
    cross,
    dot3,
    load3,
    load9,
    mattmul,
    matvec,
    norm3,
    rotate_sym,
    scale3,
    sub3,
    symvec,
)

ITERATIONS = 50
"""Largest number of Newton iterations for a normal; usually a few suffice."""

FURTHEST = 0.3
"""Largest rotation of a normal in one iteration [rad]."""

POINT = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
"""The matrix Q of a point."""

CURVED = 1e-9
"""Least curvature of s, relative to the size of the shapes, at which a Newton step is taken."""


@inline
def _farthest(Q, n):
    """Support sqrt(n . Q n) of a shape about its centre along n, and the support point relative to the centre (3)."""
    y = symvec(Q, n)
    h = math.sqrt(max(dot3(n, y), 0.0))
    return h, scale3(1.0 / h, y) if h > TINY else scale3(0.0, y)


@inline
def _slope(Q, h, x, s, t):
    """Bilinear form s . H t, with H the Hessian of sqrt(n . Q n); h and x are from `_farthest`."""
    return (dot3(s, symvec(Q, t)) - dot3(s, x) * dot3(t, x)) / h if h > TINY else 0.0


@routine
def _apart(c, Q1, Q2, n):
    """Separation s(n) of the module's docstring, with c = c2 - c1."""
    return dot3(n, c) - _farthest(Q1, n)[0] - _farthest(Q2, n)[0]


@routine
def best_normal(c, Q1, Q2, n):
    """Maximise s(n) near the unit vector n, with c = c2 - c1; returns the unit normal (3)."""
    size = max(norm3(c), TINY)  # centres may coincide
    for _ in range(ITERATIONS):
        h1, x1 = _farthest(Q1, n)
        h2, x2 = _farthest(Q2, n)
        g = sub3(sub3(c, x1), x2)
        s = dot3(n, g)
        t1, t2 = tangents(n)
        b1, b2 = dot3(g, t1), dot3(g, t2)
        a11 = _slope(Q1, h1, x1, t1, t1) + _slope(Q2, h2, x2, t1, t1) + s
        a12 = _slope(Q1, h1, x1, t1, t2) + _slope(Q2, h2, x2, t1, t2)
        a22 = _slope(Q1, h1, x1, t2, t2) + _slope(Q2, h2, x2, t2, t2) + s
        # Where s is not sufficiently concave, take a shorter step along the gradient.
        least = 0.5 * (a11 + a22) - math.sqrt(0.25 * (a11 - a22) ** 2 + a12 * a12)
        lift = max(CURVED * size - least, 0.0)
        a11, a22 = a11 + lift, a22 + lift
        determinant = a11 * a22 - a12 * a12
        d1, d2 = (a22 * b1 - a12 * b2) / determinant, (a11 * b2 - a12 * b1) / determinant
        length = math.sqrt(d1 * d1 + d2 * d2)
        scale = min(1.0, FURTHEST / max(length, TINY))
        m = unit(add3(n, add3(scale3(scale * d1, t1), scale3(scale * d2, t2))))
        for _ in range(20):
            if length < 1e-7 or _apart(c, Q1, Q2, m) >= s:
                break
            scale *= 0.5
            m = unit(add3(n, add3(scale3(scale * d1, t1), scale3(scale * d2, t2))))
        if length >= 1e-7 and _apart(c, Q1, Q2, m) < s:
            break  # n is the axis of a rim, where s has a kink
        n = m
        if length < 1e-12:
            break
    return n


@routine
def best_normal_across(c, Q, d, n):
    """Maximise n . c - sqrt(n . Q n) near n over unit vectors orthogonal to the unit vector d; returns n (3)."""
    n = unit(axpy3(-dot3(n, d), d, n))
    size = max(norm3(c), TINY)  # centres may coincide
    for _ in range(ITERATIONS):
        h, x = _farthest(Q, n)
        g = sub3(c, x)
        s, t = dot3(n, g), cross(d, n)
        a = max(_slope(Q, h, x, t, t) + s, CURVED * size)
        turn = dot3(g, t) / a
        turn = min(max(turn, -FURTHEST), FURTHEST)
        m = unit(axpy3(turn, t, n))
        for _ in range(20):
            if abs(turn) < 1e-7 or dot3(m, c) - _farthest(Q, m)[0] >= s:
                break
            turn *= 0.5
            m = unit(axpy3(turn, t, n))
        if abs(turn) >= 1e-7 and dot3(m, c) - _farthest(Q, m)[0] < s:
            break  # n is the axis of a rim, where s has a kink
        n = m
        if abs(turn) < 1e-12:
            break
    return n


@inline
def _inverse(Q):
    """Inverse of a symmetric matrix (6), up to a factor."""
    a, b, c, d, e, f = Q
    return (d * f - e * e, c * e - b * f, b * e - c * d, a * f - c * c, b * c - a * e, a * d - b * b)


@routine
def over_triangle(corners, n, c, Q):
    """Signed distance, normal (3) towards it, and support point (3) of an ellipsoid over a triangle (3 x 3).

    The distance is the maximum of s over all unit vectors, where the support of the triangle is that of its farthest
    corner. The maximum lies along its normal n, orthogonal to an edge, or at a corner.
    """
    h, far = _farthest(Q, n)
    x, over = sub3(c, far), dot3(n, sub3(c, corners[0])) - h
    _, region = closest_on_triangle(corners[0], corners[1], corners[2], axpy3(-over, n, x))
    if region == 0 and over >= 0.0:
        return over, n, x
    best, up, inverse = over if region == 0 else -math.inf, n, _inverse(Q)
    for k in range(6):
        u = corners[0] if k % 3 == 0 else (corners[1] if k % 3 == 1 else corners[2])
        v = corners[1] if k % 3 == 0 else (corners[2] if k % 3 == 1 else corners[0])
        away, e = sub3(c, u), sub3(v, u)
        # In coordinates in which the ellipsoid is the unit ball, the normal at a contact passes through its centre.
        if k < 3:
            y = symvec(inverse, e)
            away = axpy3(-dot3(y, away) / dot3(y, e), e, away)
        y = symvec(inverse, away)
        size = norm3(y)
        m = scale3(1.0 / size, y) if size > 0.0 else n
        m = best_normal_across(away, Q, unit(e), m) if k < 3 else best_normal(away, POINT, Q, m)
        reach = dot3(m, u)
        beyond = max(dot3(m, corners[0]), dot3(m, corners[1]), dot3(m, corners[2])) - reach
        s = dot3(m, c) - _farthest(Q, m)[0] - reach
        if s > best and beyond < CURVED * norm3(e):  # else n is invalid: another corner reaches further along it
            best, up = s, m
    if best == -math.inf:
        best = over
    return best, up, sub3(c, _farthest(Q, up)[1])


@inline
def _matrix(head, contact, at):
    """A matrix Q (6): its first three numbers from `head`, the others from `contact.R`."""
    return (head[0], head[1], head[2], contact.R[at], contact.R[at + 1], contact.R[at + 2])


@routine
def curved_gap(contact, X1, X2):
    """Signed distance, normal (3) and point (3) of a contact with an ellipsoid or rim, see `gap`."""
    if contact.kind == ROUND_ON_PLANE:
        n, c = matvec(X1[0], load3(contact.u)), act(X2, load3(contact.w))
        _, far = _farthest(rotate_sym(X2[0], _matrix(load3(contact.z), contact, 0)), n)
        x = sub3(c, far)
        return dot3(n, sub3(x, act(X1, load3(contact.v)))), n, x
    if contact.kind == ROUND_ON_TRIANGLE:
        R, z, v = load9(contact.R), load3(contact.z), load3(contact.v)
        Q = rotate_sym(mattmul(X1[0], X2[0]), (z[0], z[1], z[2], v[0], v[1], v[2]))
        c = local(X1, act(X2, load3(contact.w)))
        s, n, x = over_triangle((R[0:3], R[3:6], R[6:9]), load3(contact.n), c, Q)
        return s, matvec(X1[0], n), act(X1, axpy3(-0.5 * s, n, x))
    c1, c2 = act(X1, load3(contact.u)), act(X2, load3(contact.w))
    Q1 = rotate_sym(X1[0], _matrix(load3(contact.v), contact, 0))
    n, c = matvec(X1[0], load3(contact.n)), sub3(c2, c1)
    if contact.kind == ROUND_AND_LINE:
        d = matvec(X2[0], load3(contact.z))
        n = best_normal_across(c, Q1, d, n)
        x1 = add3(c1, _farthest(Q1, n)[1])
        x2 = axpy3(dot3(d, sub3(x1, c2)), d, c2)
    else:
        Q2 = rotate_sym(X2[0], _matrix(load3(contact.z), contact, 3))
        n = best_normal(c, Q1, Q2, n)
        (h1, far1), (h2, far2) = _farthest(Q1, n), _farthest(Q2, n)
        x1, x2 = add3(c1, far1), sub3(c2, far2)
        # All points of a rim are equally far along its axis: then the other shape determines the point.
        s = dot3(n, sub3(x2, x1))
        if h1 < h2 or h2 == 0.0:
            x1 = axpy3(-s, n, x2)
        else:
            x2 = axpy3(s, n, x1)
    phi = dot3(n, sub3(x2, x1)) - contact.r1 - contact.r2
    return phi, n, scale3(0.5, add3(axpy3(contact.r1, n, x1), axpy3(-contact.r2, n, x2)))
