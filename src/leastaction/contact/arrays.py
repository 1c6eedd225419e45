"""The tuples that contact kernels hand to each other.

Poses are (rotation (9), position (3)), see `spatial`; what is fixed to a body is in that body's frame.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from leastaction._jit import inline
from leastaction.spatial import compose, load3, load9


class Touch(NamedTuple):
    """What all contacts of one pair of shapes share.

    Attributes:
        a, b: indices of their bodies, -1 for the world.
        flip: 0 if the first feature is fixed to a, 1 if to b.
        pair: index of the pair.
        key: of its contacts: this plus the number of the feature.
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
    """First feature of a contact, see `gap`: the fields of the record, and the radius about it [m]."""

    u: Any
    v: Any
    n: Any
    r: float


class Second(NamedTuple):
    """Second feature of a contact, see `gap`: the fields of the record, and the radius about it [m]."""

    w: Any
    z: Any
    r: float


class Segment(NamedTuple):
    """A thick segment between two points (3), fixed to a body; thick by r [m]."""

    start: Any
    end: Any
    r: float


class Line(NamedTuple):
    """A line through a point (3) along a unit vector (3), fixed to a body."""

    point: Any
    direction: Any


class PlacedBox(NamedTuple):
    """A box somewhere in the world.

    Attributes:
        body: pose of its body.
        pose: of the box itself.
        half: half edges (3) [m].
    """

    body: Any
    pose: Any
    half: Any


class PlacedField(NamedTuple):
    """A height field somewhere in the world.

    Attributes:
        shape: its record.
        pose: of the field itself.
        data: heights and vertices of all shapes, flat [m].
    """

    shape: Any
    pose: Any
    data: Any


class NearField(NamedTuple):
    """A box or capsule beside a height field.

    Attributes:
        shape: its record.
        pose: in the field's frame.
    """

    shape: Any
    pose: Any


class RoundOnField(NamedTuple):
    """An ellipsoid beside a height field.

    Attributes:
        middle, Q: its centre (3) and matrix (6) in the field's frame, see `curved`.
        own: the same in its body's frame.
    """

    middle: Any
    Q: Any
    own: Any


class FieldBall(NamedTuple):
    """One of the balls that stand for a shape on a height field.

    Attributes:
        number, count: which of how many.
        centre: fixed to the body (3).
        r: radius [m].
    """

    number: int
    count: Any
    centre: Any
    r: float


class Ridge(NamedTuple):
    """An edge of a height field where its surface slopes down, in the field's frame.

    Attributes:
        start, end: its grid points (3).
        left, right: the corners (3) of the triangles beside it.
    """

    start: Any
    end: Any
    left: Any
    right: Any


class SeenPlane(NamedTuple):
    """A plane as the body above sees it: the gap of the body's point w is slope . w - level.

    Attributes:
        normal, point: of the plane (3), fixed to its own body.
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
    """The same pair with its first feature on the other body."""
    return Touch(touch.a, touch.b, 1 - touch.flip, touch.pair, touch.key, touch.friction, touch.restitution)
