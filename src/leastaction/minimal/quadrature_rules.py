"""Quadrature rules of the discrete Lagrangian: Lobatto and midpoint (Fan 2018, Eqs. 2 to 4; Villanueva 2025, Eq. 7).

A rule consists of arrays, not of compile-time constants: one compiled kernel serves every order.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import legendre

from leastaction.typing import FloatArray


class Rule(NamedTuple):
    """Interpolation and quadrature of a step.

    Attributes:
        c: s + 1 control points in [0, 1], shape (s + 1,).
        w: weights of the quadrature points, shape (Q,); as many as control points when these are the same (Galerkin
            with Lobatto quadrature), a single one for the midpoint rule.
        b: dq/dt at the quadrature points is sum_beta b[alpha, beta] q^beta / dt, shape (Q, s + 1).
        z: stabilisation of stiff servos, see `stiff_correction`; shape (s + 1,).
    """

    c: FloatArray
    w: FloatArray
    b: FloatArray
    z: FloatArray


def _frozen(*arrays: Any) -> Rule:
    out = Rule(*(np.ascontiguousarray(a, dtype=float) for a in arrays))
    for a in out:
        a.flags.writeable = False
    return out


MIDPOINT: Rule = _frozen([0.0, 1.0], [1.0], [[-1.0, 1.0]], [0.0, 0.0])
"""One quadrature point at the midpoint, two control points."""


def stiff_correction(c: FloatArray) -> FloatArray:
    """Vector z such that sum_j w_j x_j^2 - (z . x)^2 is Gauss quadrature of x^2 with s points, shape (s + 1,).

    x is the polynomial of degree s through x_j at the Lobatto points c. Both rules are exact up to degree 2 s - 1, so
    they differ by the square of the leading coefficient of x, times (s!)^4 / (s (2 s)!^2), their difference for t^(2
    s). With Lobatto's rule, steps of order 2 s are unstable for stiff springs; with Gauss's rule they are those of the
    Runge-Kutta method of Gauss, stable for any stiffness (Hairer, Lubich and Wanner, Geometric Numerical Integration,
    VI.6.2), of the same order.
    """
    s = len(c) - 1
    differences = c[:, None] - c[None, :] + np.eye(s + 1)
    return math.factorial(s) ** 2 / (math.sqrt(s) * math.factorial(2 * s)) / differences.prod(axis=1)


@cache
def lobatto(s: int) -> Rule:
    """The Lobatto rule with s + 1 points, exact for polynomials of degree 2 s - 1."""
    # Inner points: zeros of P_s'; polished by Newton with Legendre's equation to the last bit.
    P = legendre.Legendre.basis(s)
    x = np.concatenate([[-1.0], np.sort(np.real(P.deriv().roots())), [1.0]])
    for _ in range(3):
        inner = x[1:-1]
        d1, d2 = P.deriv()(inner), P.deriv(2)(inner)
        x[1:-1] = inner - d1 / d2
    x = 0.5 * (x - x[::-1])  # symmetric to the last bit
    w = 2.0 / (s * (s + 1) * P(x) ** 2)
    w = 0.5 * (w + w[::-1])
    # Differentiation matrix at Lobatto points (closed form): D_ij = P(x_i) / (P(x_j) (x_i - x_j)).
    n = s + 1
    D = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if i != j:
                D[i, j] = P(x[i]) / (P(x[j]) * (x[i] - x[j]))
    # Rows of a differentiation matrix sum to zero: keeps constants exactly.
    np.fill_diagonal(D, -D.sum(axis=1))
    c = 0.5 * (x + 1.0)
    return _frozen(c, 0.5 * w, 2.0 * D, stiff_correction(c))
