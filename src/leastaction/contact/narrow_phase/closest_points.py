"""Closest points of primitives: segments, boxes, triangles, lines."""

import math

from leastaction._jit import inline, routine
from leastaction.spatial import add3, axpy3, cross, dot3, mattvec, matvec, scale3, sub3

TINY = 1e-12
"""Length below which a vector has no direction [m]."""


@inline
def local(X, x):
    """Transform a point (3) of the world into the frame of the pose X (9 + 3)."""
    return mattvec(X[0], sub3(x, X[1]))


@inline
def clamp(x, low, high):
    """Clamp x to [low, high]."""
    return low if x < low else (high if x > high else x)


@inline
def lerp(a, b, t):
    """Linear interpolation a + t (b - a) of points (3)."""
    return axpy3(t, sub3(b, a), a)


@routine
def closest_on_segments(p1, q1, p2, q2):
    """Parameters (s, t) in [0, 1] of the closest points of two segments (Ericson 2005, Section 5.1.9).

    Either may be a point. For parallel segments, whose closest points are not unique, any of them.
    """
    d1, d2, r = sub3(q1, p1), sub3(q2, p2), sub3(p1, p2)
    a, e, f, c, b = dot3(d1, d1), dot3(d2, d2), dot3(d2, r), dot3(d1, r), dot3(d1, d2)
    s, t = 0.0, 0.0
    if a > TINY * TINY:
        if e > TINY * TINY:
            denominator = a * e - b * b
            s = clamp((b * f - c * e) / denominator, 0.0, 1.0) if denominator > 1e-14 * a * e else 0.5
            t = (b * s + f) / e
            if t < 0.0:
                t = 0.0
                s = clamp(-c / a, 0.0, 1.0)
            elif t > 1.0:
                t = 1.0
                s = clamp((b - c) / a, 0.0, 1.0)
        else:
            s = clamp(-c / a, 0.0, 1.0)
    elif e > TINY * TINY:
        t = clamp(f / e, 0.0, 1.0)
    return s, t


@routine
def closest_on_lines(p1, d1, p2, d2):
    """Parameters (s, t) of the closest points p1 + s d1 and p2 + t d2 of two lines that are not parallel."""
    r = sub3(p1, p2)
    a, e, f, c, b = dot3(d1, d1), dot3(d2, d2), dot3(d2, r), dot3(d1, r), dot3(d1, d2)
    denominator = a * e - b * b
    return (b * f - c * e) / denominator, (a * f - b * c) / denominator


@inline
def closest_in_box(h, x):
    """The point (3) of a box with half edges h closest to x, both in the box's frame."""
    return (clamp(x[0], -h[0], h[0]), clamp(x[1], -h[1], h[1]), clamp(x[2], -h[2], h[2]))


@routine
def box_distance(h, x):
    """Signed distance of a point x to a box with half edges h, and its gradient (3), in the box's frame.

    Inside, it is minus the distance to the closest face.
    """
    d = sub3(x, closest_in_box(h, x))
    square = dot3(d, d)
    if square > TINY * TINY:
        distance = math.sqrt(square)
        return distance, scale3(1.0 / distance, d)
    dx, dy, dz = abs(x[0]) - h[0], abs(x[1]) - h[1], abs(x[2]) - h[2]
    if dx >= dy and dx >= dz:
        return dx, (math.copysign(1.0, x[0]), 0.0, 0.0)
    if dy >= dz:
        return dy, (0.0, math.copysign(1.0, x[1]), 0.0)
    return dz, (0.0, 0.0, math.copysign(1.0, x[2]))


@routine
def closest_on_triangle(a, b, c, p):
    """The point (3) of a triangle closest to p, and its region: 0 face, 1 2 3 corner a b c, 4 5 6 edge ab bc ca.

    Ericson 2005, Section 5.1.5.
    """
    ab, ac, ap = sub3(b, a), sub3(c, a), sub3(p, a)
    d1, d2 = dot3(ab, ap), dot3(ac, ap)
    if d1 <= 0.0 and d2 <= 0.0:
        return a, 1
    bp = sub3(p, b)
    d3, d4 = dot3(ab, bp), dot3(ac, bp)
    if d3 >= 0.0 and d4 <= d3:
        return b, 2
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        return axpy3(d1 / (d1 - d3), ab, a), 4
    cp = sub3(p, c)
    d5, d6 = dot3(ab, cp), dot3(ac, cp)
    if d6 >= 0.0 and d5 <= d6:
        return c, 3
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        return axpy3(d2 / (d2 - d6), ac, a), 6
    va = d3 * d6 - d5 * d4
    if va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        return lerp(b, c, (d4 - d3) / ((d4 - d3) + (d5 - d6))), 5
    k = 1.0 / (va + vb + vc)
    return add3(a, add3(scale3(vb * k, ab), scale3(vc * k, ac))), 0


@inline
def unit(a):
    """Normalise a vector (3)."""
    return scale3(1.0 / math.sqrt(dot3(a, a)), a)


@routine
def triangle_normal(a, b, c):
    """Unit normal (3) of a triangle whose corners are counter-clockwise."""
    return unit(cross(sub3(b, a), sub3(c, a)))


@inline
def corner(R, p, h, k):
    """Corner k = 0 ... 7 (3) of a box with half edges h and pose (R, p); bits 0, 1, 2 of k are the signs of x, y, z."""
    x = h[0] if k & 1 else -h[0]
    y = h[1] if k & 2 else -h[1]
    z = h[2] if k & 4 else -h[2]
    return add3(p, matvec(R, (x, y, z)))


@inline
def tangents(n):
    """Two unit vectors (3) that make a right-handed frame with the unit normal n: t1 x t2 = n.

    They depend continuously on n except on the cone n_z = -0.9, far from the normals of floors (Frisvad 2012).
    """
    x, y, z = n
    if z > -0.9:
        k = 1.0 / (1.0 + z)
        return (1.0 - k * x * x, -k * x * y, -x), (-k * x * y, 1.0 - k * y * y, -y)
    k = 1.0 / (1.0 - z)
    return (1.0 - k * x * x, -k * x * y, x), (k * x * y, k * y * y - 1.0, -y)


@inline
def tangents_transposed(n, g1, g2):
    """Gradient (3) by n of g1 . t1 + g2 . t2, with the `tangents` t1, t2 of n."""
    x, y, z = n
    if z > -0.9:
        k = 1.0 / (1.0 + z)
        a, b, bent = g1[0], g2[1], -k * k
        c = g1[1] + g2[0]
        by_x, by_y = -g1[2], -g2[2]
    else:
        k = 1.0 / (1.0 - z)
        a, b, bent = g1[0], -g2[1], k * k
        c = g1[1] - g2[0]
        by_x, by_y = g1[2], -g2[2]
    return (
        by_x - k * (2.0 * a * x + c * y),
        by_y - k * (2.0 * b * y + c * x),
        -bent * (a * x * x + b * y * y + c * x * y),
    )
