"""Contact detection: the features of two shapes that may touch within a margin."""

import numpy as np

from leastaction._jit import inline, routine
from leastaction.contact.arrays import Touch
from leastaction.contact.narrow_phase.box_box import box_on_box
from leastaction.contact.narrow_phase.convex.convex_pairs import convex_on_convex
from leastaction.contact.narrow_phase.height_field_ellipsoids import ellipsoid_on_field
from leastaction.contact.narrow_phase.height_fields import on_field
from leastaction.contact.narrow_phase.planes import on_plane
from leastaction.contact.narrow_phase.spheres_capsules import capsule_on_box, capsule_on_capsule
from leastaction.contact.records import BOX, CAPSULE, ELLIPSOID, FIELD, PLANE, SPHERE
from leastaction.spatial import act, dot3, load3, sub3


@routine
def detect(shapes, pairs, k, X, data, contacts, count, margin, convex):
    """Append the contacts of pair k whose gap is below the margin at the given poses; returns the count.

    The features are fixed to the bodies; `gap` evaluates them at any poses nearby. The count continues beyond the
    length of `contacts`, where nothing is stored: the caller then has to provide a longer array.

    Args:
        shapes: `SHAPE` records.
        pairs: `PAIR` records.
        k: index of the pair.
        X: poses Xa, Xb (9 + 3 each) of the indices that the pair's shapes are fixed to; the identity for the world.
        data: heights and vertices, flat [m].
        contacts: `CONTACT` records, written from `count` on.
        count: number of contacts stored before.
        margin: [m].
        convex: whether cylinders and meshes may touch more than planes and height fields, ellipsoids more than planes
            (`ContactTable.is_plain`); None compiles the kernel without these.
    """
    Xa, Xb = X
    a, b = shapes[pairs[k].a], shapes[pairs[k].b]
    if _far(a, b, Xa, Xb, margin):
        return count
    # A single call for both orders, because it takes long to compile.
    one, two = (b, a) if a.kind > b.kind else (a, b)
    X = (Xb, Xa) if a.kind > b.kind else (Xa, Xb)
    return _detect(contacts, count, _touch(a, b, pairs, k), one, two, X, data, margin, convex)


def are_smooth(shapes, pairs):
    """Whether all `PAIR` records are a plane and a body, or spheres and capsules: the cases of `detect_smooth`."""
    kinds = shapes.view(np.ndarray)["kind"]
    a, b = kinds[pairs["a"]], kinds[pairs["b"]]
    least, most = np.minimum(a, b), np.maximum(a, b)
    return bool(((least == PLANE) & (most > FIELD) | (least >= SPHERE) & (most <= CAPSULE)).all())


@routine
def detect_smooth(shapes, pairs, k, Xa, Xb, data, contacts, count, margin):
    """`detect` for pairs for which `are_smooth` holds: without boxes and height fields, which take long to compile."""
    a, b = shapes[pairs[k].a], shapes[pairs[k].b]
    if _far(a, b, Xa, Xb, margin):
        return count
    one, two = (b, a) if a.kind > b.kind else (a, b)
    X1, X2 = (Xb, Xa) if a.kind > b.kind else (Xa, Xb)
    touch = _touch(a, b, pairs, k)
    if one.kind == PLANE:
        return on_plane(contacts, count, touch, one, X1, two, X2, data, margin)
    return capsule_on_capsule(contacts, count, touch, one, X1, two, X2, margin)


@inline
def _far(a, b, Xa, Xb, margin):
    """Whether the bounding spheres of two shapes are further apart than the margin."""
    reach = a.bound + b.bound + margin
    d = sub3(act(Xb, load3(b.centre)), act(Xa, load3(a.centre)))
    return dot3(d, d) > reach * reach


@inline
def _touch(a, b, pairs, k):
    """The `Touch` of pair k, with the data that its contacts share."""
    pair = pairs[k]
    return Touch(a.body, b.body, 1 if a.kind > b.kind else 0, k, pair.key, pair.friction, pair.restitution)


@routine
def _detect(contacts, count, touch, one, two, X, data, margin, convex):
    """`detect` for shapes in the order of their kinds."""
    X1, X2 = X
    if two.kind <= FIELD:
        return count
    if one.kind == PLANE:
        return on_plane(contacts, count, touch, one, X1, two, X2, data, margin)
    if one.kind == FIELD and two.kind == ELLIPSOID:
        return _ellipsoid(contacts, count, touch, one, two, X, data, margin, convex)
    if one.kind == FIELD:
        return on_field(contacts, count, touch, one, X1, two, X2, data, margin)
    if two.kind > CAPSULE:
        return _convex(contacts, count, touch, one, two, X, data, margin, convex)
    if one.kind != BOX:
        return capsule_on_capsule(contacts, count, touch, one, X1, two, X2, margin)
    if two.kind == BOX:
        return box_on_box(contacts, count, touch, one, X1, two, X2, margin)
    return capsule_on_box(contacts, count, touch, one, X1, two, X2, margin)


@routine
def _convex(contacts, count, touch, one, two, X, data, margin, convex):
    """Append the contacts of two convex shapes, unless `convex` is None or false."""
    if convex is None or not convex:
        return count
    return convex_on_convex(contacts, count, touch, one, X[0], two, X[1], data, margin)


@routine
def _ellipsoid(contacts, count, touch, field, shape, X, data, margin, convex):
    """Append the contacts of a height field and an ellipsoid, unless `convex` is None or false."""
    if convex is None or not convex:
        return count
    return ellipsoid_on_field(contacts, count, touch, field, X[0], shape, X[1], data, margin)
