"""Writing contacts into their array."""

from leastaction._jit import inline, routine
from leastaction.contact.records import EDGES, POINT_ON_BOX, POINT_ON_PLANE, POINT_ON_TRIANGLE, RIM_ON_PLANE, SEGMENTS
from leastaction.spatial import ZERO3, load3, load9, store3, store9


@routine
def emit(out, count, touch, feature, kind, r1, r2, u, v, n, w, z):
    """Write one contact, unless the array is full; gives back the count + 1 in either case.

    Args:
        out: `CONTACT` records.
        count: how many of them are written.
        touch: (a, b, flip, pair, key, friction, restitution).
        feature: its number within the pair, added to the key.
        kind, r1, r2, u, v, n, w, z: the fields of the record.
    """
    if count < out.shape[0]:
        c = out[count]
        c.a, c.b, c.flip, c.pair, c.key = touch[0], touch[1], touch[2], touch[3], touch[4] + feature
        c.friction, c.restitution = touch[5], touch[6]
        c.kind, c.r1, c.r2 = kind, r1, r2
        store3(c.u, u)
        store3(c.v, v)
        store3(c.n, n)
        store3(c.w, w)
        store3(c.z, z)
    return count + 1


@inline
def flipped(touch):
    """The same pair with its first feature on the other body."""
    return (touch[0], touch[1], 1 - touch[2], touch[3], touch[4], touch[5], touch[6])


@inline
def point_on_plane(out, count, touch, feature, normal, point, w, r):
    """A ball of radius r about w over the plane through `point`, each in its body's frame."""
    return emit(out, count, touch, feature, POINT_ON_PLANE, 0.0, r, normal, point, normal, w, ZERO3)


@inline
def rim_on_plane(out, count, touch, feature, normal, point, w, axis, r):
    """A circle of radius r about w over the plane through `point`, each in its body's frame."""
    return emit(out, count, touch, feature, RIM_ON_PLANE, 0.0, r, normal, point, normal, w, axis)


@inline
def segments(out, count, touch, feature, u, v, r1, n, w, z, r2):
    """Two thick segments, each in its body's frame; n is the normal in the first one's."""
    return emit(out, count, touch, feature, SEGMENTS, r1, r2, u, v, n, w, z)


@inline
def edges(out, count, touch, feature, u, d1, n, w, d2, r):
    """Two lines, each in its body's frame, the second thick by r; n is the normal in the first one's."""
    return emit(out, count, touch, feature, EDGES, 0.0, r, u, d1, n, w, d2)


@routine
def point_on_box(out, count, touch, feature, box, w, r):
    """A ball of radius r about w, in its body's frame, and a box."""
    half = load3(box.half)
    count = emit(out, count, touch, feature, POINT_ON_BOX, 0.0, r, half, load3(box.p), ZERO3, w, ZERO3)
    if count <= out.shape[0]:
        store9(out[count - 1].R, load9(box.R))
    return count


@routine
def point_on_triangle(out, count, touch, feature, corners, n, w, r):
    """A ball of radius r about w, in its body's frame, and a triangle (3 x 3) with unit normal n in the other's."""
    count = emit(out, count, touch, feature, POINT_ON_TRIANGLE, 0.0, r, ZERO3, ZERO3, n, w, ZERO3)
    if count <= out.shape[0]:
        store9(out[count - 1].R, corners[0] + corners[1] + corners[2])
    return count
