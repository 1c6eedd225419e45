"""What reduced coordinates are made of: `CoordinateModel` (read only) and `CoordinateData` (of one robot)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

BALL_CHART = np.dtype(
    [
        ("node", "i8"),  # first of its three hinges, or the ball itself in exponential coordinates
        ("child", "i8"),  # the node behind them, which carries the child
        ("ir", "i8"),  # first of its coordinates
        ("shift", "i8"),  # first coordinate of the sliders before it, -1 for a ball without
        ("iq", "i8"),  # its quaternion in the mechanism's q; of a free motion the position stands before it
        ("iv", "i8"),  # its angular velocity in the mechanism's v; of a free motion the velocity stands behind it
        ("exponential", "i8"),
        ("frame", "f8", 9),  # placement of the joint's frame in the node before
        ("other", "i8"),  # the node before, which carries the joint
        ("armature", "f8", 3),  # drive inertia about the axes of the child [kg m^2]
    ],
    align=True,
)
"""One ball: the ball joints and the turns of free joints."""

LIFT_BLOCK = np.dtype(
    [
        ("kind", "i8"),
        ("ir", "i8"),  # first reduced coordinate
        ("nr", "i8"),
        ("iq", "i8"),  # first coordinate and degree of freedom of the nodes
        ("iv", "i8"),
        ("nv", "i8"),
        ("node", "i8"),
        ("table", "i8"),  # first row of its segments or polynomials
        ("count", "i8"),
    ],
    align=True,
)
"""A joint whose nodes move by functions of its reduced coordinates: a spline, or a ball in exponential coordinates."""

LIFT = np.dtype(
    [
        ("segment", "i8"),  # of a curve: the one that is in place, -1 for none
        ("map", "f8", (6, 3)),  # T; records have an attribute T of their own
        ("E", "f8", (6, 3)),
        ("F", "f8", (6, 3)),
        ("G", "f8", (6, 3)),
        ("D2", "f8", (6, 3, 3)),
    ],
    align=True,
)
"""The derivatives of a block at one robot's state, see `lift`."""

SPLINE_SEGMENT = np.dtype(
    [
        ("kind", "i8", 3),  # of the three nodes: a screw or a slider
        ("pitch", "f8", 3),
        ("scale", "f8", 3),  # coordinate of the node per value of its basis function
        ("Rt", "f8", (4, 9)),  # placements of the three nodes and of the weld behind them
        ("pt", "f8", (4, 3)),
    ],
    align=True,
)
"""One segment of a spline curve: where its three screws lie."""


class CoordinateModel(NamedTuple):
    """How reduced coordinates move the nodes; nothing writes it.

    Attributes:
        plain: (reduced coordinate, coordinate, degree of freedom) of the nodes that are copied, shape (count, 3).
        blocks: `LIFT_BLOCK` records; None compiles kernels without them.
        segments: `SPLINE_SEGMENT` records of all curves.
        polynomials: of all surfaces, shape (count, 4, 4).
        balls: `BALL_CHART` records; None compiles kernels without them.
        index_q, index_v: entry of each reduced coordinate in the mechanism's q and v, shape (nr,); -1 for balls.
    """

    plain: NDArray[np.int64]
    blocks: Any
    segments: Any
    polynomials: NDArray[np.float64]
    balls: Any
    index_q: NDArray[np.int64]
    index_v: NDArray[np.int64]


class CoordinateData(NamedTuple):
    """Where one robot stands in its coordinates.

    Attributes:
        nodes: `tree.NODE` records, with the hinges of balls placed as their charts have them, and the screws of curves
            as their segments have them.
        charts: the chart that each ball is in, shape (balls,); -1 for exponential coordinates.
        lifts: `LIFT` records, one per block; None without blocks.
    """

    nodes: Any
    charts: NDArray[np.int64]
    lifts: Any


def records(count: int, dtype: np.dtype) -> Any:
    """Zeroed records."""
    return np.zeros(count, dtype).view(np.recarray)


def filled(rows: list[dict[str, Any]], dtype: np.dtype) -> Any:
    """Records with given fields."""
    out = records(len(rows), dtype)
    for record, values in zip(out, rows, strict=True):
        for name, value in values.items():
            record[name] = value
    return out
