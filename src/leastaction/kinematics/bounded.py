"""Small least-squares problems with bounds and equations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

RANK = 1e-10
"""Relative size of a singular value below which equations count as dependent."""


def bounded_least_squares(
    A: FloatArray, b: FloatArray, low: FloatArray, high: FloatArray, C: FloatArray, d: FloatArray
) -> FloatArray:
    """x that minimises |A x - b| with C x = d as well as bounds let it, and low <= x <= high, shape (n,).

    A has full column rank, low <= 0 <= high. By active sets: what a bound stops stays there unless its multiplier says
    that it wants to leave. All that must come or go does so at once, after n rounds one by one, lest they go in circles
    (as in block pivoting, Judice and Pires 1994). Where bounds and equations contradict, the equations give way.
    """
    n = len(low)
    fixed = np.zeros(n, np.int64)  # -1 at the lower bound, 1 at the upper one
    x = np.zeros(n)
    H, g = A.T @ A, A.T @ b
    for count in range(3 * n + 10):
        free = fixed == 0
        x = np.where(fixed < 0, low, np.where(fixed > 0, high, 0.0))
        if free.any():
            x[free], mu = _with_equations(H, g, C, d, x, free)
        else:
            mu = np.zeros(len(d))
        over = np.where(free, np.maximum(low - x, x - high), 0.0)
        beyond = over > 1e-14
        if beyond.any():
            if count >= n:
                beyond = np.arange(n) == np.argmax(over)
            fixed[beyond] = np.where(x < low, -1, 1)[beyond]
            continue
        if free.all():
            break
        slope = (H @ x - g + C.T @ mu) * fixed  # positive: the bound holds back what wants to come inside
        leaving = slope > 1e-12 * (1.0 + np.abs(g).max())
        if not leaving.any():
            break
        if count >= n:
            leaving = np.arange(n) == np.argmax(slope)
        fixed[leaving] = 0
    return np.clip(x, low, high)


def _with_equations(
    H: FloatArray, g: FloatArray, C: FloatArray, d: FloatArray, x: FloatArray, free: NDArray[np.bool_]
) -> tuple[FloatArray, FloatArray]:
    """The free entries, others held, and the multipliers of the equations."""
    k = np.flatnonzero(free)
    Hf, r, held = H, g, x
    if len(k) < len(x):
        held = np.where(free, 0.0, x)
        Hf, r = H[k[:, None], k], (g - H @ held)[k]
    if not len(d):
        return np.asarray(np.linalg.solve(Hf, r), float), np.zeros(0)
    Cf, s = C[:, k], d - C @ held
    Y = np.linalg.solve(Hf, np.column_stack([Cf.T, r]))
    S = Cf @ Y[:, :-1]
    mu = np.linalg.lstsq(S, Cf @ Y[:, -1] - s, rcond=RANK)[0]
    return Y[:, -1] - Y[:, :-1] @ mu, np.asarray(mu, float)
