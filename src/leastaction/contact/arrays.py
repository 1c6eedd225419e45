"""Named tuples that contact kernels pass to each other.

Poses are (rotation (9), position (3)), see `spatial`; points fixed to a body are given in that body's frame.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from leastaction._jit import inline
from leastaction.spatial import compose, load3, load9


class Touch(NamedTuple):
    """Data that all contacts of one pair of shapes share.

    Attributes:
        a, b: indices of their bodies, -1 for the world.
        flip: 0 if the first feature is fixed to a, 1 if to b.
        pair: index of the pair.
        key: base of its contacts' keys, to which the number of the feature is added.
        friction, restitution: coefficients.
    """

    a: int
    b: int
    flip: int
    pair: int
    key: int
    friction: float
    restitution: float


class First(NamedTuple):
    """First feature of a contact, see `gap`: fields of the record, and the radius about the feature [m]."""

    u: Any
    v: Any
    n: Any
    r: float


class Second(NamedTuple):
    """Second feature of a contact, see `gap`: fields of the record, and the radius about the feature [m]."""

    w: Any
    z: Any
    r: float


class Segment(NamedTuple):
    """A segment between two points (3) fixed to a body, with radius r [m]."""

    start: Any
    end: Any
    r: float


class Line(NamedTuple):
    """A line through a point (3) along a unit vector (3), fixed to a body."""

    point: Any
    direction: Any


class PlacedBox(NamedTuple):
    """A box and its pose in the world.

    Attributes:
        body: pose of its body.
        pose: pose of the box itself.
        half: half edges (3) [m].
    """

    body: Any
    pose: Any
    half: Any


class PlacedField(NamedTuple):
    """A height field and its pose in the world.

    Attributes:
        shape: its record.
        pose: pose of the field itself.
        data: heights and vertices of all shapes, flat [m].
    """

    shape: Any
    pose: Any
    data: Any


class NearField(NamedTuple):
    """A box or capsule and its pose relative to a height field.

    Attributes:
        shape: its record.
        pose: pose in the field's frame.
    """

    shape: Any
    pose: Any


class RoundOnField(NamedTuple):
    """An ellipsoid and its placement relative to a height field.

    Attributes:
        middle, Q: its centre (3) and matrix (6) in the field's frame, see `ellipsoids`.
        own: the same in its body's frame.
    """

    middle: Any
    Q: Any
    own: Any


class FieldBall(NamedTuple):
    """One of the balls that approximate a shape on a height field.

    Attributes:
        number, count: index of the ball, and number of balls.
        centre: fixed to the body (3).
        r: radius [m].
    """

    number: int
    count: Any
    centre: Any
    r: float


class Ridge(NamedTuple):
    """A convex edge of a height field, in the field's frame.

    Attributes:
        start, end: its grid points (3).
        left, right: the corners (3) of the triangles beside it.
    """

    start: Any
    end: Any
    left: Any
    right: Any


class SeenPlane(NamedTuple):
    """A plane as an affine gap function of points of the body above it: gap of point w = slope . w - level.

    Attributes:
        normal, point: normal and a point (3) of the plane, in the frame of its own body.
        slope, level: in the frame of the body above [m].
    """

    normal: Any
    point: Any
    slope: Any
    level: float


@inline
def pose_of(shape):
    """Pose of a `SHAPE` record in the frame of its body."""
    return load9(shape.R), load3(shape.p)


@inline
def placed_box(box, X):
    """The box of a `SHAPE` record whose body has the pose X."""
    return PlacedBox(X, compose(X, pose_of(box)), load3(box.half))


@inline
def flipped(touch):
    """The same pair with the first feature on the other body."""
    return Touch(touch.a, touch.b, 1 - touch.flip, touch.pair, touch.key, touch.friction, touch.restitution)
