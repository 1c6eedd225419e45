"""T of splines and exponential coordinates with two derivatives, as arrays: for the Jacobians, not for the kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.kinematics.reduced.arrays import CoordinateModel
from leastaction.kinematics.reduced.lift import CURVE, SURFACE
from leastaction.spatial import exponential as ex
from leastaction.typing import FloatArray

CUMULATIVE = np.array([[5, 3, -3, 1], [1, 3, 3, -2], [0, 0, 0, 1]]) / 6.0
"""Coefficients of the cumulative basis functions 2, 3 and 4 (Sueda 2021, Eq. 2.72)."""


def block_derivatives(model: CoordinateModel, block: Any, r: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(T, dT/dr, d2T/dr2) of a block, shapes (nv, nr), (nv, nr, nr), (nv, nr, nr, nr)."""
    x = r[int(block.ir) : int(block.ir + block.nr)]
    if block.kind == CURVE:
        return _curve(model, block, float(x[0]))
    if block.kind == SURFACE:
        return _surface(model.polynomials[int(block.table) : int(block.table) + 6], x)
    return _ball(x)


def _curve(model: CoordinateModel, block: Any, x: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    whole = np.floor(x)
    scale = model.segments[int(block.table) + int(whole) % int(block.count)].scale
    values = []
    for order in (1, 2, 3):
        basis = [np.polynomial.polynomial.polyval(x - whole, _derived(c, order)) for c in CUMULATIVE]
        values.append((scale * np.array(basis)).reshape((3,) + (1,) * order))
    return values[0], values[1], values[2]


def _derived(coefficients: FloatArray, order: int) -> FloatArray:
    return np.asarray(np.polynomial.polynomial.polyder(coefficients, order), dtype=np.float64)


def _surface(G: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    powers = [[_power(x[k], order) for order in range(4)] for k in range(2)]

    def part(*which: int) -> FloatArray:
        second = sum(which)
        return np.einsum("iab,a,b->i", G, powers[0][len(which) - second], powers[1][second])

    T = np.stack([part(c) for c in range(2)], axis=-1)
    D = np.stack([np.stack([part(c, d) for d in range(2)], -1) for c in range(2)], axis=-2)
    D2 = np.zeros((6, 2, 2, 2))
    for c in range(2):
        for d in range(2):
            for e in range(2):
                D2[:, c, d, e] = part(c, d, e)
    return T, D, D2


def _power(x: float, order: int) -> FloatArray:
    """Derivative of (1, x, x^2, x^3)."""
    out = np.zeros(4)
    for k in range(order, 4):
        out[k] = np.prod(np.arange(k - order + 1, k + 1)) * x ** (k - order)
    return out


def _ball(x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    point = tuple(float(c) for c in x)
    k = ex.coefficients(point)
    unit = [tuple(row) for row in np.eye(3).tolist()]
    T = np.array([ex.jr(point, k, e) for e in unit]).T
    D, D2 = np.zeros((3, 3, 3)), np.zeros((3, 3, 3, 3))
    for c in range(3):
        for d in range(3):
            D[:, c, d] = ex.jr_slope(point, k, unit[d], unit[c])
            for e in range(3):
                D2[:, c, d, e] = ex.jr_curvature(point, k, unit[d], unit[e], unit[c])
    return T, D, D2
