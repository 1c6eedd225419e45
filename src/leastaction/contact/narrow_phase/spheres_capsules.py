"""Contacts among spheres and capsules, and with boxes. A sphere is a capsule of length zero."""

import math

import numpy as np

from leastaction._jit import inline, routine
from leastaction.contact.arrays import Line, Segment, placed_box, pose_of
from leastaction.contact.narrow_phase.closest_points import (
    TINY,
    box_distance,
    closest_in_box,
    closest_on_segments,
    corner,
    lerp,
    local,
    unit,
)
from leastaction.contact.narrow_phase.emit import edges, is_known, point_on_box, point_on_plane, segments
from leastaction.spatial import (
    act,
    add3,
    axpy3,
    column,
    cross,
    dot3,
    load3,
    load9,
    mattvec,
    matvec,
    neg3,
    norm3,
    scale3,
    sub3,
)

NEARLY_PARALLEL = 0.1
"""Sine of the angle between two capsules below which they also touch at the ends of their overlap."""

PARALLEL = 1e-3
"""... and below which they touch only there, since their closest points are ill-conditioned."""


@inline
def ends(shape):
    """The two ends (3) of a capsule's segment in its body's frame; for a sphere its centre, twice."""
    R, p = pose_of(shape)
    half = scale3(shape.half[2], column(R, 2))
    return sub3(p, half), add3(p, half)


@inline
def thick_segment(shape):
    """The `Segment` of a capsule or sphere."""
    start, end = ends(shape)
    return Segment(start, end, shape.radius)


@inline
def _normal(x1, x2):
    """Unit vector (3) from x1 to x2, or the z axis if they coincide."""
    d = sub3(x2, x1)
    distance = norm3(d)
    return scale3(1.0 / distance, d) if distance > TINY else (0.0, 0.0, 1.0)


@routine
def _segments(out, count, touch, feature, X1, one, X2, two, margin):
    """Append the contact of two segments with radii, given in their bodies' frames, if they are close."""
    p1, q1, p2, q2 = act(X1, one.start), act(X1, one.end), act(X2, two.start), act(X2, two.end)
    s, t = closest_on_segments(p1, q1, p2, q2)
    x1, x2 = lerp(p1, q1, s), lerp(p2, q2, t)
    if norm3(sub3(x2, x1)) - one.r - two.r < margin:
        count = segments(out, count, touch, feature, one, two, mattvec(X1[0], _normal(x1, x2)))
    return count


@routine
def capsule_on_capsule(out, count, touch, one, X1, two, X2, margin):
    """Append the contacts of two capsules or spheres: closest points, and ends of the overlap if nearly parallel."""
    first, second = thick_segment(one), thick_segment(two)
    if one.half[2] == 0.0 or two.half[2] == 0.0:
        return _segments(out, count, touch, 0, X1, first, X2, second, margin)
    p1, q1, p2, q2 = act(X1, first.start), act(X1, first.end), act(X2, second.start), act(X2, second.end)
    d1, d2 = sub3(q1, p1), sub3(q2, p2)
    length = norm3(d1)
    sine = norm3(cross(d1, d2)) / (length * norm3(d2))
    # Parameters, from 0 to 1, of the second's ends along the first.
    t0, t1 = dot3(sub3(p2, p1), d1) / (length * length), dot3(sub3(q2, p1), d1) / (length * length)
    low, high = max(min(t0, t1), 0.0), min(max(t0, t1), 1.0)
    overlap = sine < NEARLY_PARALLEL and low < high
    if not (overlap and sine < PARALLEL):
        count = _segments(out, count, touch, 0, X1, first, X2, second, margin)
    if overlap:
        for end in range(2):
            if (low if end == 0 else high) == float(end):
                point = first.start if end == 0 else first.end
                ball = Segment(point, point, first.r)
                count = _segments(out, count, touch, 1 + end, X1, ball, X2, second, margin)
            else:
                last = (t0 < t1) == (end == 1)
                point = second.end if last else second.start
                ball = Segment(point, point, second.r)
                count = _segments(out, count, touch, 4 if last else 3, X1, first, X2, ball, margin)
    return count


@routine
def capsule_on_box(out, count, touch, box, X1, capsule, X2, margin):
    """Append the contacts of a box with a capsule or sphere: at its ends, and at edges and corners between them."""
    thick, placed = thick_segment(capsule), placed_box(box, X1)
    w, z, r = thick
    h = placed.half
    p, q = local(placed.pose, act(X2, w)), local(placed.pose, act(X2, z))
    start = count
    if box_distance(h, p)[0] - r < margin:
        count = point_on_box(out, count, touch, 0, box, w, r)
    if capsule.half[2] == 0.0:
        return count
    if box_distance(h, q)[0] - r < margin:
        count = point_on_box(out, count, touch, 1, box, z, r)
    enter, leave = _inside(h, p, q)
    if enter < leave:
        return count if enter == 0.0 or leave == 1.0 else _through(out, count, touch, placed, capsule, X2, p, q)
    # Between the ends, only an edge or a corner of the box can be the closest point.
    eye, zero = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 0.0)
    R, centre = pose_of(box)
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
            if s <= 0.0 or s >= 1.0:  # a corner, shared by three edges
                first = first if s <= 0.0 else last
                last = first
                feature = 26 + first
            if not is_known(out, start, count, touch, feature):
                edge = Segment(corner(R, centre, h, first), corner(R, centre, h, last), 0.0)
                count = _segments(out, count, touch, feature, X1, edge, X2, thick, margin)
    return count


@inline
def _inside(h, p, q):
    """Part (enter, leave) of the segment from p to q, 0 to 1, that lies in a box; enter >= leave if none does."""
    enter, leave = 0.0, 1.0
    for k in range(3):
        d = q[k] - p[k]
        if abs(d) > TINY:
            t0, t1 = (-h[k] - p[k]) / d, (h[k] - p[k]) / d
            enter, leave = max(enter, min(t0, t1)), min(leave, max(t0, t1))
        elif abs(p[k]) > h[k]:
            leave = -1.0
    return enter, leave


@routine
def _through(out, count, touch, box, capsule, X2, p, q):
    """Append the contacts of a capsule whose axis passes through the box from p to q, by the least penetration."""
    h, B, X1, r = box.half, box.pose, box.body, capsule.radius
    d, middle = unit(sub3(q, p)), lerp(p, q, 0.5)
    best, depth, n = np.int64(0), -math.inf, (0.0, 0.0, 1.0)
    for k in range(6):
        e = ((1.0 if k % 3 == 0 else 0.0), (1.0 if k % 3 == 1 else 0.0), (1.0 if k % 3 == 2 else 0.0))
        if k >= 3:
            e = cross(e, d)
            sine = norm3(e)
            if sine < PARALLEL:
                continue
            e = scale3(1.0 / sine, e)
        reach = abs(e[0]) * h[0] + abs(e[1]) * h[1] + abs(e[2]) * h[2]
        s = abs(dot3(e, middle)) - 0.5 * abs(dot3(e, sub3(q, p))) - reach
        if s > depth:
            best, depth, n = k, s, (e if dot3(e, middle) >= 0.0 else neg3(e))
    normal = mattvec(X1[0], matvec(B[0], n))
    # The corner or face with the largest support along the normal.
    top = (math.copysign(h[0], n[0]), math.copysign(h[1], n[1]), math.copysign(h[2], n[2]))
    if best < 3:
        enter, leave = _inside(h, p, q)
        for end in range(2):
            w = local(X2, act(B, lerp(p, q, enter if end == 0 else leave)))
            count = point_on_plane(out, count, touch, 34 + 2 * best + end, normal, local(X1, act(B, top)), w, r)
        return count
    one = Line(local(X1, act(B, top)), mattvec(X1[0], column(B[0], best - 3)))
    two = Line(load3(capsule.p), column(load9(capsule.R), 2))
    return edges(out, count, touch, 34 + 2 * best, one, two, normal, r)


@inline
def tip(shape, end):
    """End 0 or 1 (3) of a capsule's segment, in its body's frame."""
    return axpy3((2 * end - 1) * shape.half[2], column(load9(shape.R), 2), load3(shape.p))
