"""Small quadratic programs with bounds, by projected Newton steps (Tassa, Mansard and Todorov 2014, Section III)."""

from __future__ import annotations

import math
from typing import NamedTuple

from leastaction._jit import routine
from leastaction.typing import FloatArray

ITERATIONS = 50
"""Projected Newton steps; a handful is usual."""


class BoxScratch(NamedTuple):
    """Of a program in n unknowns.

    Attributes:
        L: the factor of the free rows and columns of H, shape (n, n).
        slope, step, trial: shape (n,).
    """

    L: FloatArray
    slope: FloatArray
    step: FloatArray
    trial: FloatArray


@routine
def factor_free(H, free, count, L):
    """L L' = H in the rows and columns free[:count]; False if H is not positive there."""
    for r in range(count):
        for c in range(r + 1):
            t = H[free[r], free[c]]
            for k in range(c):
                t -= L[r, k] * L[c, k]
            if c < r:
                L[r, c] = t / L[c, c]
            elif t > 0.0:
                L[r, r] = math.sqrt(t)
            else:
                return False
    return True


@routine
def solve_free(L, count, x):
    """x[:count] <- (L L')^-1 x[:count]."""
    for r in range(count):
        for c in range(r):
            x[r] -= L[r, c] * x[c]
        x[r] /= L[r, r]
    for r in range(count - 1, -1, -1):
        for c in range(r + 1, count):
            x[r] -= L[c, r] * x[c]
        x[r] /= L[r, r]


@routine
def model_value(H, g, x):
    """x' H x / 2 + g' x."""
    value = 0.0
    for r in range(len(x)):
        t = g[r]
        for c in range(len(x)):
            t += 0.5 * H[r, c] * x[c]
        value += t * x[r]
    return value


@routine
def box_minimum(H, g, lower, upper, x, free, work):
    """x becomes the minimum of x' H x / 2 + g' x within bounds, begun at the point of these nearest to x.

    Args:
        H: symmetric, shape (n, n).
        g, lower, upper, x: shape (n,).
        free: the entries that lie between their bounds come first, in order, shape (n,).
        work: `BoxScratch`.

    Returns:
        How many entries are free; -1 if H is not positive there.
    """
    L, slope, step, trial = work
    n, largest = len(x), 0.0
    for k in range(n):
        x[k] = min(max(x[k], lower[k]), upper[k])
        largest = max(largest, abs(g[k]))
    value = model_value(H, g, x)
    for _ in range(ITERATIONS):
        count, steepest = 0, 0.0
        for r in range(n):
            slope[r] = g[r]
            for c in range(n):
                slope[r] += H[r, c] * x[c]
            if not ((x[r] <= lower[r] and slope[r] > 0.0) or (x[r] >= upper[r] and slope[r] < 0.0)):
                free[count] = r
                step[count] = -slope[r]
                count += 1
                steepest = max(steepest, abs(slope[r]))
        if not factor_free(H, free, count, L):
            return -1
        if count == 0 or steepest <= 1e-12 * (1.0 + largest):
            break
        solve_free(L, count, step)
        share, found, ahead = 1.0, math.inf, 0.0
        while share > 1e-12:
            ahead = 0.0
            for k in range(n):
                trial[k] = x[k]
            for k in range(count):
                r = free[k]
                trial[r] = min(max(x[r] + share * step[k], lower[r]), upper[r])
                ahead += slope[r] * (trial[r] - x[r])
            found = model_value(H, g, trial)
            if found <= value + 0.1 * ahead:
                break
            share *= 0.5
        if not found <= value + 0.1 * ahead:
            break
        same = True
        for k in range(n):
            same = same and trial[k] == x[k]
            x[k] = trial[k]
        if same:
            break
        value = found
    return count
