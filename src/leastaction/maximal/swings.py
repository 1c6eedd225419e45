"""Springs of joints that are stiff for the step: which coordinates pull from its middle, and how fast they swing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.dynamics.mobility import STIFF
from leastaction.maximal.records import BALL, FREE


def swing_of(
    c: dict[str, Any], own: NDArray[np.float64], stiff: NDArray[np.float64], mobility: NDArray[np.float64], dt: float
) -> tuple[float, float]:
    """(`servo` of a coordinate, (frequency x step)^2 of its spring; 0 where it is not stiff for steps of dt [s]).

    Args:
        c: fields of a `COORDINATE` record of a tree joint.
        own, stiff: stiffness of the joints' own springs, and of those that are stiff for the step, shape (nv,).
        mobility: how much each degree of freedom answers to its own impulse at home, shape (nv,).
    """
    kind, iv, swings = c["kind"], c["iv"], 0.0
    turns, ways = slice(iv, iv + (1 if kind < BALL else 3)), slice(iv + 3, iv + (6 if kind == FREE else 3))
    if kind == FREE:
        # Ways are along axes of the joint's frame and meet the masses of a child that turns.
        for dofs in (turns, ways):
            swings = max(swings, float(own[dofs].max() * mobility[dofs].max()) * dt**2)
        swings = swings if swings > STIFF else 0.0
    elif stiff[turns].any():
        swings = float(stiff[turns].max() * mobility[turns].max()) * dt**2
    if kind < BALL or swings == 0.0:
        return c["servo"], swings
    return max(float(own[turns].max()), float(own[ways].max(initial=0.0))), swings
