"""Sums and extremes over bounds, which an interior-point method asks for many times in every iteration."""

from typing import Any, NamedTuple

from leastaction._jit import entry

INFINITE = 1e300
"""Bounds beyond are none."""


class BoundDistances(NamedTuple):
    """Where x is between its bounds, and the multipliers `low` and `high` of these, all of shape (n,)."""

    x: Any
    lower: Any
    upper: Any
    low: Any
    high: Any


@entry
def dot(a, b):
    """a . b, on one core: linear algebra libraries wake the others for a few thousand numbers, and let them wait."""
    out = 0.0
    for i in range(a.shape[0]):
        out += a[i] * b[i]
    return out


@entry
def longest_step(x, dx, lower, upper, tau):
    """How far x may go along dx to stay within its bounds, at most 1 (Waechter and Biegler 2006, Eq. 15)."""
    out = 1.0
    for i in range(x.shape[0]):
        d = dx[i]
        if d < 0.0:
            if -tau * (x[i] - lower[i]) > out * d:
                out = -tau * (x[i] - lower[i]) / d
        elif d > 0.0 and tau * (upper[i] - x[i]) < out * d:
            out = tau * (upper[i] - x[i]) / d
    return out


@entry
def longest_moves(low, high, d_low, d_high, tau):
    """How far positive multipliers may go along their moves, at most 1."""
    out = 1.0
    for i in range(low.shape[0]):
        if d_low[i] < 0.0 and -tau * low[i] > out * d_low[i]:
            out = -tau * low[i] / d_low[i]
        if d_high[i] < 0.0 and -tau * high[i] > out * d_high[i]:
            out = -tau * high[i] / d_high[i]
    return out


@entry
def bound_moves(walls, dx, corrector, mu, d_low, d_high):
    """How multipliers of lower and of upper bounds move with x (Eq. 12), less second-order terms (2, n) / distances."""
    x, lower, upper, low, high = walls
    for i in range(x.shape[0]):
        below, above = 1.0 / (x[i] - lower[i]), 1.0 / (upper[i] - x[i])
        d_low[i] = (mu - corrector[0, i]) * below - low[i] - low[i] * below * dx[i]
        d_high[i] = (mu - corrector[1, i]) * above - high[i] + high[i] * above * dx[i]


@entry
def move_multipliers(walls, d_low, d_high, step, kept, mu, near):
    """Multipliers of bounds after a step, not too far from mu over the distances at x (Eqs. 14 and 16), in place.

    kept: share of itself that each one keeps at least.
    """
    x, lower, upper, low, high = walls
    for i in range(x.shape[0]):
        a, b = mu / (x[i] - lower[i]), mu / (upper[i] - x[i])
        low[i] = min(max(max(low[i] + step * d_low[i], kept * low[i]), a / near), near * a)
        high[i] = min(max(max(high[i] + step * d_high[i], kept * high[i]), b / near), near * b)


@entry
def worst(walls, gradient, pulled, damping, mu):
    """Largest errors of optimality and of complementarity, and the sum of all multipliers of bounds (Eq. 5)."""
    x, lower, upper, low, high = walls
    dual, product, total = 0.0, 0.0, 0.0
    for i in range(x.shape[0]):
        error = abs(gradient[i] + pulled[i] - low[i] + high[i] + mu * damping[i])
        if dual == dual and not error <= dual:  # NaN stays
            dual = error
        total += low[i] + high[i]
        if lower[i] > -INFINITE:
            error = abs(low[i] * (x[i] - lower[i]) - mu)
            if product == product and not error <= product:
                product = error
        if upper[i] < INFINITE:
            error = abs(high[i] * (upper[i] - x[i]) - mu)
            if product == product and not error <= product:
                product = error
    return dual, product, total
