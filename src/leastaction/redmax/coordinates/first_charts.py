"""Choosing the charts of the first state."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction._jit import entry
from leastaction.redmax.coordinates.charts import SWITCH, XYZ, angles, quality, use_charts
from leastaction.spatial import quat_to_rotation


@entry
def first_charts(balls, q, charts):
    """XYZ wherever it is far from its singularity, else the best of the twelve; -1 for exponential coordinates."""
    for b in range(balls.shape[0]):
        n = balls[b].iq
        if balls[b].chart < 0:
            charts[b] = -1
            continue
        R = quat_to_rotation((q[n], q[n + 1], q[n + 2], q[n + 3]))
        charts[b] = XYZ
        best = quality(XYZ, angles(XYZ, R)[1])
        if best <= SWITCH:
            for c in range(12):
                x = quality(c, angles(c, R)[1])
                if x > best:
                    best = x
                    charts[b] = c


def best_start(reduced: Any, q: Any) -> Any:
    """Charts of the balls at the mechanism's q, shape (balls,)."""
    charts = np.zeros(len(reduced.balls), np.int64)
    first_charts(reduced.balls, q, charts)
    return charts


@entry
def place_charts(nodes, balls, charts):
    """Bring the hinges of all balls to given charts."""
    use_charts(nodes, balls, charts)
