"""Spheres and capsules against each other and against boxes. A sphere is a capsule without length."""

from leastaction._jit import inline, routine
from leastaction.contact.distance import (
    TINY,
    box_distance,
    closest_in_box,
    closest_on_segments,
    column,
    corner,
    lerp,
    local,
)
from leastaction.contact.emit import flipped, point_on_box, segments
from leastaction.spatial import act, add3, axpy3, compose, cross, dot3, load3, load9, mattvec, norm3, scale3, sub3

NEARLY_PARALLEL = 0.1
"""Capsules also touch at the ends of their overlap while the sine of the angle between them is less."""

PARALLEL = 1e-3
"""... and only there while it is less than this: where they are closest is no longer well defined."""


@inline
def ends(shape):
    """The two ends (3) of a capsule's segment in its body's frame; of a sphere twice its centre."""
    half = scale3(shape.half[2], column(load9(shape.R), 2))
    return sub3(load3(shape.p), half), add3(load3(shape.p), half)


@inline
def _normal(x1, x2):
    """Unit vector (3) from x1 to x2, or up if they are the same."""
    d = sub3(x2, x1)
    distance = norm3(d)
    return scale3(1.0 / distance, d) if distance > TINY else (0.0, 0.0, 1.0)


@routine
def _segments(out, count, touch, feature, X1, u, v, r1, X2, w, z, r2, margin):
    """A contact of two thick segments, given in their bodies' frames, if they are close."""
    p1, q1, p2, q2 = act(X1, u), act(X1, v), act(X2, w), act(X2, z)
    s, t = closest_on_segments(p1, q1, p2, q2)
    x1, x2 = lerp(p1, q1, s), lerp(p2, q2, t)
    if norm3(sub3(x2, x1)) - r1 - r2 < margin:
        count = segments(out, count, touch, feature, u, v, r1, mattvec(X1[0], _normal(x1, x2)), w, z, r2)
    return count


@routine
def capsule_on_capsule(out, count, touch, one, X1, two, X2, margin):
    """Contacts of two capsules or spheres: where they are closest, and where nearly parallel ones stop to overlap."""
    u, v = ends(one)
    w, z = ends(two)
    r1, r2 = one.radius, two.radius
    if one.half[2] == 0.0 or two.half[2] == 0.0:
        return _segments(out, count, touch, 0, X1, u, v, r1, X2, w, z, r2, margin)
    p1, q1, p2, q2 = act(X1, u), act(X1, v), act(X2, w), act(X2, z)
    d1, d2 = sub3(q1, p1), sub3(q2, p2)
    length = norm3(d1)
    sine = norm3(cross(d1, d2)) / (length * norm3(d2))
    # Where along the first one, from 0 to 1, the ends of the second lie.
    t0, t1 = dot3(sub3(p2, p1), d1) / (length * length), dot3(sub3(q2, p1), d1) / (length * length)
    low, high = max(min(t0, t1), 0.0), min(max(t0, t1), 1.0)
    overlap = sine < NEARLY_PARALLEL and low < high
    if not (overlap and sine < PARALLEL):
        count = _segments(out, count, touch, 0, X1, u, v, r1, X2, w, z, r2, margin)
    if overlap:
        for end in range(2):
            if (low if end == 0 else high) == float(end):
                point = u if end == 0 else v
                count = _segments(out, count, touch, 1 + end, X1, point, point, r1, X2, w, z, r2, margin)
            else:
                second = (t0 < t1) == (end == 1)
                point = z if second else w
                feature = 4 if second else 3
                count = _segments(out, count, touch, feature, X1, u, v, r1, X2, point, point, r2, margin)
    return count


@routine
def capsule_on_box(out, count, touch, box, X1, capsule, X2, margin):
    """Contacts of a box with a capsule or sphere: its ends, and edges and corners of the box that it passes by."""
    w, z = ends(capsule)
    B = compose(X1, (load9(box.R), load3(box.p)))
    h, r = load3(box.half), capsule.radius
    p, q = local(B, act(X2, w)), local(B, act(X2, z))
    start = count
    if box_distance(h, p)[0] - r < margin:
        count = point_on_box(out, count, touch, 0, box, w, r)
    if capsule.half[2] == 0.0:
        return count
    if box_distance(h, q)[0] - r < margin:
        count = point_on_box(out, count, touch, 1, box, z, r)
    # In between it can only touch an edge or a corner that is the closest point of the box.
    eye, zero = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 0.0)
    R, centre = load9(box.R), load3(box.p)
    for axis in range(3):
        for k in range(8):
            if k & (1 << axis):
                continue
            a, b = corner(eye, zero, h, k), corner(eye, zero, h, k | (1 << axis))
            s, t = closest_on_segments(a, b, p, q)
            x1, x2 = lerp(a, b, s), lerp(p, q, t)
            off = norm3(sub3(x1, closest_in_box(h, x2)))
            distance = norm3(sub3(x2, x1))
            if t <= 0.0 or t >= 1.0 or distance - r >= margin or off > 1e-9 + 1e-6 * distance:
                continue
            first, last = k, k | (1 << axis)
            feature = 2 + 8 * axis + k
            if s <= 0.0 or s >= 1.0:  # a corner, which belongs to three edges
                first = first if s <= 0.0 else last
                last = first
                feature = 26 + first
            known = False
            for c in range(start, min(count, out.shape[0])):
                known = known or out[c].key == touch[4] + feature
            if not known:
                u, v = corner(R, centre, h, first), corner(R, centre, h, last)
                count = _segments(out, count, touch, feature, X1, u, v, 0.0, X2, w, z, r, margin)
    return count


@inline
def box_and_capsule(out, count, touch, capsule, X1, box, X2, margin):
    """The same with the capsule on the first body."""
    return capsule_on_box(out, count, flipped(touch), box, X2, capsule, X1, margin)


@inline
def tip(shape, end):
    """End 0 or 1 (3) of a capsule's segment, in its body's frame."""
    return axpy3((2 * end - 1) * shape.half[2], column(load9(shape.R), 2), load3(shape.p))
