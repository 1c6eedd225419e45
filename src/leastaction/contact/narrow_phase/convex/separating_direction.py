"""The direction that parts two convex shapes best.

Apart, that is the direction between their closest points (Gilbert, Johnson and Keerthi 1988). How far shapes are apart
along a unit vector n,

    s(n) = n . (x2(-n) - x1(n)), with the points x that lie farthest along n and -n,

has its largest value there, their distance; where they overlap, its largest value is minus the depth. From a direction
m it is found by proximal points: the n with the largest s(n) - t |n - m|^2 / 2 is that between the closest points of
the shapes once the second is moved by t m, which parts them for t > -s(m).
"""

import math

from leastaction._jit import inline, routine
from leastaction.contact.narrow_phase.closest_points import closest_on_triangle
from leastaction.contact.narrow_phase.convex.support_functions import rounding, separation, support
from leastaction.spatial import ZERO3, act, add3, axpy3, column, cross, dot3, load3, neg3, norm3, scale3, sub3

MOST = 64
"""Iterations to find closest points."""

CLOSE = 1e-14
"""Relative accuracy of squared distances."""

CLEAR = 0.1
"""Shapes whose cores are further apart than this part of their size have a direction between closest points that is
well defined. Round-off spoils that of closer ones."""

SHIFT = 0.1
"""How far shapes that are close or overlap are moved apart, in terms of their size."""

PULLS = 4
"""Closest points, at most, on the way out along the line of centres."""

ROUNDS = 32
"""Proximal points, at most."""

FLAT = 1e-12
"""A tetrahedron or triangle so flat, relative to its edges, adds nothing."""


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
    """Whether a triangle has no area to speak of."""
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
    """The corners of a triangle that span the region (see `closest_on_triangle`), and how many they are."""
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
    """The shortest vector (3) from the core of one shape to that of another moved by `shift`, and how long it is.

    Length 0 where they overlap; then the vector is the last that was tried. The length is minus one if they are
    further apart than `enough` along the vector.
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
                # The sides of the tetrahedron, and the corner opposite.
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
    """The better of two directions, n with its separation `best` and m, and its separation."""
    s = separation(one, two, data, m)
    return (m, s) if s > best else (n, best)


@routine
def pulled_apart(one, two, data, d, n, best):
    """A direction for shapes that overlap, from where they come apart as the second is moved along d (3).

    Where they overlap, s(n) has more than one peak, and that of the faces or axes nearest to n need not be the highest.
    From well apart the second is moved back as far as the closest points allow, as a ray meets a convex thing (van den
    Bergen 2004: Ray casting against general convex objects); the directions on the way are tried. Returns the best
    of them and n (3), and its separation; `best` is that of n.
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
    """Unit vector (3) along which two shapes are furthest apart, from first to second, and how far; see above.

    Shapes further apart than the margin give a direction that shows it.
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
        return m, separation(one, two, data, m)  # the distance is a bound from above
    s = separation(one, two, data, n)
    if distance == 0.0:
        n, s = pulled_apart(one, two, data, n, n, s)
    n, s = _better(one, two, data, n, m, s)
    for k in range(12 if distance == 0.0 else 0):  # they overlap: from the best of a few directions
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
