"""Small quadratic problems with bounds and equations, inside kernels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from leastaction._jit import routine
from leastaction.linalg.dense import solve_leading
from leastaction.linalg.rank_revealing import solve_least_norm

RANK = 1e-10
"""Relative size of a singular value below which equations count as dependent."""


class BoundedData(NamedTuple):
    """Scratch of `bounded_minimum`, for n unknowns and m equations.

    Attributes:
        fixed: -1 at the lower bound, 1 at the upper one, else 0, shape (n,).
        free: the others one after another, shape (n,).
        M, Y: system of the free ones and its right-hand sides, shapes (n, n), (n, m + 1).
        S, mu, V: system of the multipliers, these, and scratch, shapes (m, m), (m, 1), (m, m).
    """

    fixed: Any
    free: Any
    M: Any
    Y: Any
    S: Any
    mu: Any
    V: Any


def bounded_data(n: int, m: int) -> BoundedData:
    """For so many unknowns and equations."""
    whole = np.zeros(n, np.int64), np.zeros(n, np.int64)
    return BoundedData(*whole, *(np.zeros(s) for s in ((n, n), (n, m + 1), (m, m), (m, 1), (m, m))))


@routine
def bounded_minimum(H, g, low, high, C, h, x, data):
    """x that minimises x.H x / 2 - g.x with C x = -h as well as bounds let it, and low <= x <= high, in place.

    H is positive definite, low <= 0 <= high. By active sets: what a bound stops stays there unless its multiplier says
    that it wants to leave. All that must come or go does so at once, after n rounds one by one, lest they go in circles
    (as in block pivoting, Judice and Pires 1994). Where bounds and equations contradict, the equations give way.
    """
    n, fixed, free = x.shape[0], data.fixed, data.free
    largest = 0.0
    for k in range(n):
        fixed[k] = 0
        largest = max(largest, abs(g[k]))
    for count in range(3 * n + 10):
        f = 0
        for k in range(n):
            x[k] = 0.0 if fixed[k] == 0 else (low[k] if fixed[k] < 0 else high[k])
            if fixed[k] == 0:
                free[f] = k
                f += 1
        _with_equations(H, g, C, h, x, f, data)
        if _stop_at_bounds(low, high, x, f, data, count >= n):
            continue
        if f == n or not _leave_bounds(H, g, C, x, data, 1e-12 * (1.0 + largest), count >= n):
            break
    for k in range(n):
        x[k] = min(max(x[k], low[k]), high[k])


@routine
def _stop_at_bounds(low, high, x, f, data, single):
    """Hold free entries that are beyond a bound there, or the farthest alone; whether there are any."""
    fixed, free, worst, most = data.fixed, data.free, -1, 1e-14
    for a in range(f):
        k = free[a]
        over = max(low[k] - x[k], x[k] - high[k])
        if over > 1e-14 and not single:
            fixed[k] = -1 if x[k] < low[k] else 1
        if over > most:
            worst, most = k, over
    if worst >= 0:
        fixed[worst] = -1 if x[worst] < low[worst] else 1
    return worst >= 0


@routine
def _leave_bounds(H, g, C, x, data, least, single):
    """Free what a bound holds back from coming inside, or that with the largest slope alone; whether there is any."""
    fixed, mu, first, most = data.fixed, data.mu, -1, least
    for k in range(x.shape[0]):
        if fixed[k] == 0:
            continue
        slope = -g[k]
        for j in range(x.shape[0]):
            slope += H[k, j] * x[j]
        for c in range(C.shape[0]):
            slope += C[c, k] * mu[c, 0]
        slope *= fixed[k]  # positive: it wants to come inside
        if slope > least and not single:
            fixed[k] = 0
        if slope > most:
            first, most = k, slope
    if first >= 0:
        fixed[first] = 0
    return first >= 0


@routine
def _with_equations(H, g, C, h, x, f, data):
    """The first f of the free entries of x, which are zero, with others held, and the multipliers of the equations."""
    free, M, Y, S, mu, m = data.free, data.M, data.Y, data.S, data.mu, C.shape[0]
    for c in range(m):
        mu[c, 0] = 0.0
    for a in range(f):
        i = free[a]
        for b in range(f):
            M[a, b] = H[i, free[b]]
        for c in range(m):
            Y[a, c] = C[c, i]
        Y[a, m] = g[i]
        for j in range(x.shape[0]):
            Y[a, m] -= H[i, j] * x[j]
    if f == 0 or not solve_leading(M, Y, f):
        return
    for c in range(m):
        mu[c, 0] = h[c]
        for j in range(x.shape[0]):
            mu[c, 0] += C[c, j] * x[j]
        for a in range(f):
            mu[c, 0] += C[c, free[a]] * Y[a, m]
        for b in range(m):
            S[c, b] = 0.0
            for a in range(f):
                S[c, b] += C[c, free[a]] * Y[a, b]
    if m > 0:
        solve_least_norm(S, mu, data.V, RANK)
    for a in range(f):
        x[free[a]] = Y[a, m]
        for c in range(m):
            x[free[a]] -= Y[a, c] * mu[c, 0]
