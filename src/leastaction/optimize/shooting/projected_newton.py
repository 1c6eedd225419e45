"""Small quadratic programs with bounds, by projected Newton steps (Tassa, Mansard and Todorov 2014, Section III)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leastaction.typing import FloatArray

BoolArray = NDArray[np.bool_]

ITERATIONS = 50
"""Projected Newton steps; a handful is usual."""


def box_minimum(
    H: FloatArray, g: FloatArray, lower: FloatArray, upper: FloatArray, x: FloatArray
) -> tuple[FloatArray, BoolArray] | None:
    """The minimum of x' H x / 2 + g' x within bounds, and which entries lie between them; None if H is not positive.

    Args:
        H: symmetric, shape (n, n).
        g: shape (n,).
        lower, upper: shape (n,).
        x: where to begin, shape (n,).
    """
    x = np.clip(x, lower, upper)
    value = 0.5 * x @ H @ x + g @ x
    free = np.ones(len(x), bool)
    for _ in range(ITERATIONS):
        slope = g + H @ x
        free = ~(((x <= lower) & (slope > 0.0)) | ((x >= upper) & (slope < 0.0)))
        if not free.any():
            return x, free
        try:
            L = np.linalg.cholesky(H[np.ix_(free, free)])
        except np.linalg.LinAlgError:
            return None
        if np.abs(slope[free]).max() <= 1e-12 * (1.0 + np.abs(g).max()):
            return x, free
        step = np.zeros_like(x)
        step[free] = -np.linalg.solve(L.T, np.linalg.solve(L, slope[free]))
        share = 1.0
        while share > 1e-12:
            trial = np.clip(x + share * step, lower, upper)
            found = 0.5 * trial @ H @ trial + g @ trial
            if found <= value + 0.1 * slope @ (trial - x):
                break
            share *= 0.5
        else:
            return x, free
        if np.array_equal(trial, x):
            return x, free
        x, value = trial, found
    return x, free
