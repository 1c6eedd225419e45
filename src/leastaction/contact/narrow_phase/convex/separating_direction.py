"""The direction of maximum separation of two convex shapes.

For separate shapes it is the direction between their closest points (Gilbert, Johnson and Keerthi 1988). The separation
along a unit vector n,

    s(n) = n . (x2(-n) - x1(n)), with the support points x along n and -n,

has their distance as its maximum; for overlapping shapes the maximum is minus the penetration depth. It is found by a
proximal point method: from a direction m, the n that maximises s(n) - t |n - m|^2 / 2 is the direction between the
closest points after the second shape is moved by t m, which separates the shapes for t > -s(m).
"""

import math

from leastaction._jit import inline, routine
from leastaction.contact.narrow_phase.closest_points import closest_on_triangle
from leastaction.contact.narrow_phase.convex.support_functions import rounding, separation, support
from leastaction.spatial import ZERO3, act, add3, axpy3, column, cross, dot3, load3, neg3, norm3, scale3, sub3

MOST = 64
"""Largest number of iterations for closest points."""

CLOSE = 1e-14
"""Relative tolerance of squared distances."""

CLEAR = 0.1
"""Distance of the cores, relative to their size, above which the direction between closest points is well conditioned;
below it, round-off matters."""

SHIFT = 0.1
"""Displacement that separates close or overlapping shapes, relative to their size."""

PULLS = 4
"""Largest number of closest-point queries in `pulled_apart`."""

ROUNDS = 32
"""Largest number of proximal point iterations."""

FLAT = 1e-12
"""Relative size below which a triangle or tetrahedron of the simplex counts as degenerate."""


@inline
def _origin_on_segment(a, b):
    """The point (3) of a segment closest to the origin, and its parameter in [0, 1]."""
    d = sub3(b, a)
    square = dot3(d, d)
    t = -dot3(a, d) / square if square > 0.0 else 0.0
    t = min(max(t, 0.0), 1.0)
    return axpy3(t, d, a), t


@inline
def _is_flat(a, b, c):
    """Whether a triangle is degenerate."""
    u, v = sub3(b, a), sub3(c, a)
    n = cross(u, v)
    return dot3(n, n) <= FLAT * FLAT * dot3(u, u) * dot3(v, v)


@inline
def _outside(a, b, c, d):
    """Whether the origin and d are on different sides of the plane through a, b and c."""
    n = cross(sub3(b, a), sub3(c, a))
    return dot3(n, neg3(a)) * dot3(n, sub3(d, a)) <= 0.0


@inline
def _kept(a, b, c, region):
    """The corners of a triangle that span the region (see `closest_on_triangle`), and their number."""
    if region == 0:
        return a, b, c, 3
    if region > 3:
        first, second = (
            (a if region == 4 else (b if region == 5 else c)),
            (b if region == 4 else (c if region == 5 else a)),
        )
        return first, second, c, 2
    return (a if region == 1 else (b if region == 2 else c)), b, c, 1


@routine
def closest_points(one, two, data, shift, n, enough):
    """The shortest vector (3) from the core of one shape to that of another moved by `shift`, and its length (GJK).

    If they overlap, the length is 0 and the vector is the last iterate. The length is -1 if they are further apart than
    `enough` along the vector.
    """
    origin = ZERO3
    a = add3(sub3(support(two, data, neg3(n)), support(one, data, n)), shift)
    b, c, v, count = a, a, a, 1
    for _ in range(MOST):
        square = dot3(v, v)
        if square <= 1e-300:
            return n, 0.0
        w = add3(sub3(support(two, data, neg3(v)), support(one, data, v)), shift)
        along = dot3(v, w)
        if along > 0.0 and along * along > enough * enough * square:
            return v, -1.0
        if square - along <= CLOSE * square:
            break
        if count == 1:
            b = w
            p, t = _origin_on_segment(a, b)
            if t >= 1.0:
                a = b
            count = 2 if 0.0 < t < 1.0 else 1
        elif count == 2:
            if _is_flat(a, b, w):
                break
            p, region = closest_on_triangle(a, b, w, origin)
            a, b, c, count = _kept(a, b, w, region)
        else:
            if _is_flat(a, b, w) or _is_flat(b, c, w) or _is_flat(c, a, w):
                break
            least, p, inside = math.inf, v, True
            x, y, z, kept = a, b, c, 3
            for side in range(4):
                # The faces of the tetrahedron, and the corner opposite to each.
                q1, q2 = (b if side == 1 else (c if side == 2 else a)), (c if side == 1 else (a if side == 2 else b))
                q3, q4 = (c if side == 3 else w), (w if side == 3 else (a if side == 1 else (b if side == 2 else c)))
                if _outside(q1, q2, q3, q4):
                    inside = False
                    y1, region = closest_on_triangle(q1, q2, q3, origin)
                    if dot3(y1, y1) < least:
                        least, p = dot3(y1, y1), y1
                        x, y, z, kept = _kept(q1, q2, q3, region)
            if inside:
                return v, 0.0
            a, b, c, count = x, y, z, kept
        if dot3(p, p) >= square:
            break  # round-off
        v = p
    return v, norm3(v)


@inline
def _better(one, two, data, n, m, best):
    """The direction with the larger separation of n (separation `best`) and m, and that separation."""
    s = separation(one, two, data, m)
    return (m, s) if s > best else (n, best)


@routine
def pulled_apart(one, two, data, d, n, best):
    """Improve the separating direction n (3) of overlapping shapes by separating them along d (3).

    For overlapping shapes s(n) has several local maxima, and that nearest to n need not be the highest. From a
    separated position the second shape is moved back by conservative advancement, as in ray casting (van den Bergen
    2004: Ray casting against general convex objects); the directions on the way are tried. Returns the best direction
    and its separation; `best` is that of n.
    """
    r, size = rounding(one.shape) + rounding(two.shape), min(one.shape.bound, two.shape.bound)
    t = max(-separation(one, two, data, d) - r, 0.0) + SHIFT * size
    for _ in range(PULLS):
        v, distance = closest_points(one, two, data, scale3(t, d), d, math.inf)
        if distance <= 0.0:
            break
        m = scale3(1.0 / norm3(v), v)
        n, best = _better(one, two, data, n, m, best)
        ahead = dot3(m, d)
        back = separation(one, two, data, m) + r + t * ahead - 0.5 * SHIFT * size
        if back <= 0.01 * SHIFT * size or ahead <= 0.01:
            break
        t -= back / ahead
    return n, best


@routine
def best_direction(one, two, data, margin):
    """Unit vector (3) of maximum separation, from the first shape to the second, and that separation [m].

    For shapes further apart than the margin, a direction that proves this, and infinity.
    """
    size = min(one.shape.bound, two.shape.bound)
    d = sub3(act(two.body, load3(two.shape.centre)), act(one.body, load3(one.shape.centre)))
    length = norm3(d)
    n = scale3(1.0 / length, d) if length > 1e-9 * size else (0.0, 0.0, 1.0)
    r = rounding(one.shape) + rounding(two.shape)
    v, distance = closest_points(one, two, data, ZERO3, n, margin + r)
    m = scale3(1.0 / norm3(v), v)
    if distance < 0.0:
        return m, math.inf
    if distance > CLEAR * size:
        return m, separation(one, two, data, m)  # the distance is only an upper bound
    s = separation(one, two, data, n)
    if distance == 0.0:
        n, s = pulled_apart(one, two, data, n, n, s)
    n, s = _better(one, two, data, n, m, s)
    for k in range(12 if distance == 0.0 else 0):  # overlapping: start from the best of several directions
        axis = column(one.pose[0], k % 3) if k < 6 else column(two.pose[0], k % 3)
        n, s = _better(one, two, data, n, axis if k % 6 < 3 else neg3(axis), s)
    for _ in range(ROUNDS):
        t = max(-1.5 * (s + r), 0.0) + SHIFT * size
        v, distance = closest_points(one, two, data, scale3(t, n), n, math.inf)
        if distance <= 0.0:
            break
        m = scale3(1.0 / norm3(v), v)
        before, s0 = n, s
        n, s = _better(one, two, data, n, m, s)
        moved = sub3(n, before)
        if s - s0 <= 1e-15 * size or dot3(moved, moved) < 1e-18:
            break
    return n, s
