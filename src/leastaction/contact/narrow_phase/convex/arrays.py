"""Named tuples that kernels of convex shapes pass to each other, in world coordinates unless stated otherwise."""

from __future__ import annotations

from typing import Any, NamedTuple


class Convex(NamedTuple):
    """A convex shape and its pose.

    Attributes:
        shape: its record.
        body: pose of its body.
        pose: pose of the shape itself.
    """

    shape: Any
    body: Any
    pose: Any


class Face(NamedTuple):
    """A flat face of a convex shape.

    Attributes:
        index: index of the face in its shape; -1 for a shape without faces.
        normal: outward (3).
        point: a point of it (3); the centre of a disc.
        begin, count: range of its loop in the data of a polytope; count 0 for a disc.
        radius: radius of a disc [m].
    """

    index: Any
    normal: Any
    point: Any
    begin: Any
    count: Any
    radius: float


class Core(NamedTuple):
    """Feature of a convex shape that is closest to another: a point, a segment, an ellipsoid or a rim, with radius r.

    Attributes:
        kind: POINT, LINE or ROUND, see `edge_contacts`.
        number: identifies it among the features of its shape from step to step.
        centre: (3).
        direction: of a line (3).
        half: half length of the segment [m].
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
