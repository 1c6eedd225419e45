"""The tuples that kernels of convex shapes hand to each other. All is in the world but where said."""

from __future__ import annotations

from typing import Any, NamedTuple


class Convex(NamedTuple):
    """A convex shape somewhere.

    Attributes:
        shape: its record.
        body: pose of its body.
        pose: of the shape itself.
    """

    shape: Any
    body: Any
    pose: Any


class Face(NamedTuple):
    """A flat face of a convex shape.

    Attributes:
        index: which of its shape's faces; -1 where the shape has none.
        normal: outward (3).
        point: on it (3); the centre of a disc.
        begin, count: its loop in the data of a polytope; count 0 for a disc.
        radius: of a disc [m].
    """

    index: Any
    normal: Any
    point: Any
    begin: Any
    count: Any
    radius: float


class Core(NamedTuple):
    """What of a convex shape is closest to another: a point, a segment, or something round, thick by r.

    Attributes:
        kind: POINT, LINE or ROUND, see `cores`.
        number: which of its shape's, the same at the next step.
        centre: (3).
        direction: of a line (3).
        half: half the length of the segment [m].
        Q: its support function is n . centre + sqrt(n . Q n) + r; symmetric (6) [m^2].
        r: [m].
    """

    kind: Any
    number: Any
    centre: Any
    direction: Any
    half: float
    Q: Any
    r: float
