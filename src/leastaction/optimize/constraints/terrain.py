"""Ground that contact points may touch: a height over x and y, with its slopes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from leastaction.errors import ProblemError
from leastaction.mechanism._check import LARGEST
from leastaction.typing import FloatArray


@dataclass(frozen=True)
class Terrain:
    """Level treads along x with smooth edges between them; see `flat`, `steps` and `gaps`.

    On an edge no force acts: normals are those of level ground.

    Attributes:
        edges: (x of the edge's middle, rise of the ground there) [m].
        width: of the edges [m].
        start: height before the first edge [m].
    """

    edges: tuple[tuple[float, float], ...] = ()
    width: float = 0.02
    start: float = 0.0

    def height(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Heights z and slopes dz/dx at places x [m]."""
        if not self.edges:
            return np.full(np.shape(x), self.start), np.zeros(np.shape(x))
        u, rises = self._within(x)
        z = self.start + (rises * u**3 * (10.0 - 15.0 * u + 6.0 * u * u)).sum(axis=-1)
        return z, (rises / self.width * 30.0 * (u * (1.0 - u)) ** 2).sum(axis=-1)

    def steepness(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """How far the ground is from level [m]: up to the height of an edge, zero off it; and its slope."""
        if not self.edges:
            return np.zeros(np.shape(x)), np.zeros(np.shape(x))
        u, rises = self._within(x)
        w, size = u * (1.0 - u), np.abs(rises)
        slope = (size / self.width * 32.0 * w * (1.0 - 2.0 * u)).sum(axis=-1)
        return (size * 16.0 * w * w).sum(axis=-1), slope

    def curvature(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Second derivatives of `height` and `steepness` [1/m]."""
        u, rises = self._within(x)
        w, tilt, rises = u * (1.0 - u), 1.0 - 2.0 * u, rises / self.width**2
        level = np.where((u > 0.0) & (u < 1.0), 32.0 * (tilt * tilt - 2.0 * w), 0.0)
        return (rises * 60.0 * w * tilt).sum(axis=-1), (np.abs(rises) * level).sum(axis=-1)

    @cached_property
    def _table(self) -> FloatArray:
        return np.array(self.edges, float).reshape(-1, 2)

    def _within(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Places within the edges, from 0 to 1, shape (..., edges), and the rises (edges,)."""
        table = self._table
        return np.clip((np.asarray(x)[..., None] - table[:, 0]) / self.width + 0.5, 0.0, 1.0), table[:, 1]


def flat(height: float = 0.0) -> Terrain:
    """Level ground at a height [m]."""
    return Terrain(start=_finite(height, "flat: height"))


def steps(edges: Sequence[tuple[float, float]], *, width: float = 0.02, start: float = 0.0) -> Terrain:
    """Level treads along x: from each edge (x, z) on the ground is z high [m].

    Args:
        edges: in ascending order of x.
        width: over which the ground rises or falls at an edge [m].
        start: height before the first edge [m].
    """
    width, start = _finite(width, "steps: width"), _finite(start, "steps: start")
    if width <= 0.0:
        raise ProblemError(f"steps: width must be positive, got {width!r}")
    try:
        table = np.array(edges, float).reshape(-1, 2)
    except (TypeError, ValueError):
        raise ProblemError(f"steps: expected pairs (x, z), got {edges!r}") from None
    if not np.isfinite(table).all() or (np.diff(table[:, 0]) <= 0.0).any():
        raise ProblemError(f"steps: expected finite pairs (x, z) with ascending x, got {edges!r}")
    rises = np.diff(table[:, 1], prepend=start)
    return Terrain(tuple(zip(table[:, 0].tolist(), rises.tolist(), strict=True)), width, start)


def gaps(
    places: Sequence[tuple[float, float]], *, depth: float = 1.0, width: float = 0.02, height: float = 0.0
) -> Terrain:
    """Level ground with gaps along x, each from x0 to x1 [m], so deep that nothing stands in them."""
    try:
        edges = [edge for x0, x1 in places for edge in ((x0, height - depth), (x1, height))]
    except (TypeError, ValueError):
        raise ProblemError(f"gaps: expected pairs (x0, x1), got {places!r}") from None
    return steps(edges, width=width, start=height)


def _finite(value: Any, what: str) -> float:
    if not isinstance(value, int | float | np.number) or not abs(value) <= LARGEST:
        raise ProblemError(f"{what} must be a finite number, got {value!r}")
    return float(value)
