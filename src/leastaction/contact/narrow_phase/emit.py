"""Functions that append contacts to the array of `CONTACT` records."""

from leastaction._jit import inline, routine
from leastaction.contact.arrays import First, Second
from leastaction.contact.narrow_phase.feature_motion import FIXED
from leastaction.contact.records import (
    EDGES,
    POINT_ON_BOX,
    POINT_ON_PLANE,
    POINT_ON_TRIANGLE,
    RIM_ON_PLANE,
    ROUND_AND_LINE,
    ROUND_ON_PLANE,
    ROUND_ON_TRIANGLE,
    ROUNDS,
    SEGMENTS,
)
from leastaction.spatial import ZERO3, load3, load9, store3, store9


@routine
def emit(out, count, touch, feature, kind, first, second):
    """Append one contact, unless the array is full; returns count + 1 in either case.

    Args:
        out: `CONTACT` records.
        count: number of contacts so far.
        touch: `Touch` of the pair.
        feature: number of the feature within the pair, added to the key.
        kind: kind of the contact.
        first, second: its features, `First` and `Second`.
    """
    if count < out.shape[0]:
        c = out[count]
        c.a, c.b, c.flip, c.pair, c.key = touch.a, touch.b, touch.flip, touch.pair, touch.key + feature
        c.friction, c.restitution, c.sticks = touch.friction, touch.restitution, 0
        c.kind, c.r1, c.r2 = kind, first.r, second.r
        store3(c.u, first.u)
        store3(c.v, first.v)
        store3(c.n, first.n)
        store3(c.w, second.w)
        store3(c.z, second.z)
    return count + 1


@inline
def is_known(out, start, count, touch, feature):
    """Whether a contact with this feature number has been appended since `start`."""
    known = False
    for c in range(start, min(count, out.shape[0])):
        known = known or out[c].key == touch.key + feature
    return known


@inline
def point_on_plane(out, count, touch, feature, normal, point, w, r):
    """Append a ball of radius r about w over the plane through `point`, each in its body's frame."""
    return moving_point(out, count, touch, feature, (normal, point), w, r, (FIXED, ZERO3, ZERO3))


@routine
def moving_point(out, count, touch, feature, plane, w, r, motion):
    """`point_on_plane` for a point w that depends on the features of both bodies.

    Args:
        plane: its normal and a point.
        motion: P (9) of `feature_motion`, then z and m (3): w moves along z by m times the rotation of the first body
            relative to the second.
    """
    normal, point = plane
    P, z, m = motion
    count = emit(out, count, touch, feature, POINT_ON_PLANE, First(normal, point, m, 0.0), Second(w, z, r))
    if count <= out.shape[0]:
        store9(out[count - 1].R, P)
    return count


@inline
def rim_on_plane(out, count, touch, feature, normal, point, w, axis, r):
    """Append a circle of radius r about w over the plane through `point`, each in its body's frame."""
    return emit(out, count, touch, feature, RIM_ON_PLANE, First(normal, point, normal, 0.0), Second(w, axis, r))


@inline
def segments(out, count, touch, feature, one, two, n):
    """Append two `Segment`s, each in its body's frame; n is the normal in the first one's."""
    first, second = First(one.start, one.end, n, one.r), Second(two.start, two.end, two.r)
    return emit(out, count, touch, feature, SEGMENTS, first, second)


@inline
def edges(out, count, touch, feature, one, two, n, r):
    """Append two `Line`s, each in its body's frame, the second with radius r; n is the normal in the first one's."""
    first, second = First(one.point, one.direction, n, 0.0), Second(two.point, two.direction, r)
    return emit(out, count, touch, feature, EDGES, first, second)


@routine
def point_on_box(out, count, touch, feature, box, w, r):
    """Append a ball of radius r about w, in its body's frame, and a box."""
    first = First(load3(box.half), load3(box.p), ZERO3, 0.0)
    count = emit(out, count, touch, feature, POINT_ON_BOX, first, Second(w, ZERO3, r))
    if count <= out.shape[0]:
        store9(out[count - 1].R, load9(box.R))
    return count


@routine
def point_on_triangle(out, count, touch, feature, corners, n, w, r):
    """Append a ball of radius r about w in its body's frame, and a triangle (3 x 3) with normal n in the other's."""
    first = First(ZERO3, ZERO3, n, 0.0)
    count = emit(out, count, touch, feature, POINT_ON_TRIANGLE, first, Second(w, ZERO3, r))
    if count <= out.shape[0]:
        a, b, c = corners
        store9(out[count - 1].R, a + b + c)
    return count


@inline
def _put_matrix(out, count, at, Q):
    """Store the last three numbers of a symmetric matrix (6) in R of the contact just appended."""
    if count <= out.shape[0]:
        for k in range(3):
            out[count - 1].R[at + k] = Q[3 + k]


@routine
def round_on_plane(out, count, touch, feature, normal, point, thing):
    """Append an ellipsoid or rim (centre (3), Q (6)) over the plane through `point`, each in its body's frame."""
    centre, Q = thing
    first, second = First(normal, point, normal, 0.0), Second(centre, Q[0:3], 0.0)
    count = emit(out, count, touch, feature, ROUND_ON_PLANE, first, second)
    _put_matrix(out, count, 0, Q)
    return count


@routine
def round_on_triangle(out, count, touch, feature, corners, n, thing):
    """Append an ellipsoid or rim (centre, Q) over a triangle (3 x 3) with normal n, each in its body's frame."""
    centre, Q = thing
    first, second = First(ZERO3, Q[3:6], n, 0.0), Second(centre, Q[0:3], 0.0)
    count = emit(out, count, touch, feature, ROUND_ON_TRIANGLE, first, second)
    if count <= out.shape[0]:
        a, b, c = corners
        store9(out[count - 1].R, a + b + c)
    return count


@routine
def rounds(out, count, touch, feature, one, two, n):
    """Append two ellipsoids or rims (centre, Q, radius), each in its body's frame; n: normal in the first's frame."""
    first, second = First(one[0], one[1][0:3], n, one[2]), Second(two[0], two[1][0:3], two[2])
    count = emit(out, count, touch, feature, ROUNDS, first, second)
    _put_matrix(out, count, 0, one[1])
    _put_matrix(out, count, 3, two[1])
    return count


@routine
def round_and_line(out, count, touch, feature, one, line, n, r):
    """Append an ellipsoid or rim (centre, Q, radius) and a `Line` of radius r, each in its body's frame."""
    first, second = First(one[0], one[1][0:3], n, one[2]), Second(line.point, line.direction, r)
    count = emit(out, count, touch, feature, ROUND_AND_LINE, first, second)
    _put_matrix(out, count, 0, one[1])
    return count
