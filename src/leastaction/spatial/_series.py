"""Coefficients of the exponential map, as functions of the squared angle t = theta^2 [rad^2].

The closed forms of B, C and of their slopes cancel digits long before theta reaches zero. Each therefore has
a Taylor series, used up to an angle where the closed form is good to a few units in the last place.
"""

import math

from leastaction._jit import inline

# Ratio of successive Taylor terms, last first, for the nested (Horner) sum 1 - r1 t (1 - r2 t (1 - ...)).
_B_RATIOS = tuple(1.0 / ((2 * k + 1) * (2 * k + 2)) for k in range(9, 0, -1))
_C_RATIOS = tuple(1.0 / ((2 * k + 2) * (2 * k + 3)) for k in range(9, 0, -1))
_B_SLOPE_RATIOS = tuple((k + 1) / (k * (2 * k + 3) * (2 * k + 4)) for k in range(14, 0, -1))
_C_SLOPE_RATIOS = tuple((k + 1) / (k * (2 * k + 4) * (2 * k + 5)) for k in range(14, 0, -1))

_B_CURVATURE_RATIOS = tuple((k + 1) / ((k - 1) * (2 * k + 3) * (2 * k + 4)) for k in range(17, 1, -1))
_C_CURVATURE_RATIOS = tuple((k + 1) / ((k - 1) * (2 * k + 4) * (2 * k + 5)) for k in range(17, 1, -1))

_B_THIRD_RATIOS = tuple((k + 1) / ((k - 2) * (2 * k + 3) * (2 * k + 4)) for k in range(20, 2, -1))
_C_THIRD_RATIOS = tuple((k + 1) / ((k - 2) * (2 * k + 4) * (2 * k + 5)) for k in range(20, 2, -1))


@inline
def _nested_sum(t, ratios):
    """Alternating series with first term 1 and the given ratios of terms at t [rad^2]; a number."""
    total = 1.0
    for ratio in ratios:
        total = 1.0 - t * ratio * total
    return total


# Taylor terms (-1)^k / (2 k)! of cos(theta) and (-1)^k / (2 k + 1)! of sin(theta) / theta in theta^2, first ones first.
_COSINE = tuple((-1.0) ** k / math.factorial(2 * k) for k in range(9))
_SINC = tuple((-1.0) ** k / math.factorial(2 * k + 1) for k in range(9))


@inline
def _eighth_degree(k, t):
    """Polynomial with the nine coefficients k at t: products in pairs, which do not wait for one another."""
    u = t * t
    low = (k[0] + k[1] * t) + (k[2] + k[3] * t) * u
    high = (k[4] + k[5] * t) + (k[6] + k[7] * t) * u
    v = u * u
    return low + v * (high + v * k[8])


@inline
def cosine_and_sinc(t):
    """cos(theta) and sin(theta) / theta at t = theta^2 [rad^2]; two numbers. Small angles go without a library."""
    if t < 0.5:
        return _eighth_degree(_COSINE, t), _eighth_degree(_SINC, t)
    theta = math.sqrt(t)
    return math.cos(theta), math.sin(theta) / theta


@inline
def jacobian_terms(t):
    """B = (1 - cos theta) / theta^2 and C = (theta - sin theta) / theta^3 at t = theta^2; two numbers."""
    if t < 1.0:
        return 0.5 * _nested_sum(t, _B_RATIOS), (1.0 / 6.0) * _nested_sum(t, _C_RATIOS)
    theta = math.sqrt(t)
    return (1.0 - math.cos(theta)) / t, (theta - math.sin(theta)) / (t * theta)


@inline
def jacobian_slopes(t, b, c):
    """(dB/dtheta) / theta and (dC/dtheta) / theta at t = theta^2 [rad^2], where B = b and C = c; two numbers.

    With w . wdot = theta dtheta/dt, dB/dt is the first number times w . wdot, and so for C.
    """
    if t < 9.0:
        b_slope = (-1.0 / 12.0) * _nested_sum(t, _B_SLOPE_RATIOS)
        c_slope = (-1.0 / 60.0) * _nested_sum(t, _C_SLOPE_RATIOS)
        return b_slope, c_slope
    sine = 1.0 - t * c  # sin(theta) / theta
    return (sine - 2.0 * b) / t, (b - 3.0 * c) / t


@inline
def jacobian_curvatures(t, b, c, b_slope, c_slope):
    """The slopes of the slopes: (d b_slope/dtheta) / theta and the same of C at t = theta^2 [rad^2]; two numbers."""
    if t < 12.0:
        b_curve = (1.0 / 90.0) * _nested_sum(t, _B_CURVATURE_RATIOS)
        c_curve = (1.0 / 630.0) * _nested_sum(t, _C_CURVATURE_RATIOS)
        return b_curve, c_curve
    return (c - b - 4.0 * b_slope) / t, (b_slope - 5.0 * c_slope) / t


@inline
def jacobian_third_slopes(t, b_slope, c_slope, b_curve, c_curve):
    """The slopes of the curvatures at t = theta^2 [rad^2]; two numbers."""
    if t < 12.0:
        return (-1.0 / 840.0) * _nested_sum(t, _B_THIRD_RATIOS), (-1.0 / 7560.0) * _nested_sum(t, _C_THIRD_RATIOS)
    return (c_slope - b_slope - 6.0 * b_curve) / t, (b_curve - 7.0 * c_curve) / t


# Taylor terms (-1)^k / (2 k + 2)! of B and (-1)^k / (2 k + 3)! of C, last first: enough for SMALL.
_SMALL_TERMS = tuple(
    ((-1.0) ** k / math.factorial(2 * k + 2), (-1.0) ** k / math.factorial(2 * k + 3)) for k in range(8, -1, -1)
)

SMALL = 0.25
"""Squared angles [rad^2] below which `small_jacobian_terms` holds."""


@inline
def small_jacobian_terms(t):
    """(B, C, their slopes, their curvatures) as the functions above, for t = theta^2 < SMALL; six numbers."""
    b = b1 = b2 = c = c1 = c2 = 0.0
    for b_term, c_term in _SMALL_TERMS:
        b2, c2 = b2 * t + b1, c2 * t + c1
        b1, c1 = b1 * t + b, c1 * t + c
        b, c = b * t + b_term, c * t + c_term
    # Nested sums give derivatives by t over factorials; d/dtheta / theta = 2 d/dt.
    return b, c, 2.0 * b1, 2.0 * c1, 8.0 * b2, 8.0 * c2


@inline
def inverse_jacobian_term(t, b, c):
    """(1 - (theta / 2) cot(theta / 2)) / theta^2 at t = theta^2 [rad^2], where B = b and C = c; a number."""
    return -0.5 * jacobian_slopes(t, b, c)[0] / b


# Taylor terms of the function below, 2 zeta(2 k) / (2 pi)^(2 k), last first, and those of its slope.
_INVERSE_TERMS = (
    8.586062056277845e-15,
    3.3896802963225827e-13,
    1.3382536530684679e-11,
    5.284190138687493e-10,
    2.08767569878681e-08,
    8.267195767195768e-07,
    3.306878306878307e-05,
    1.388888888888889e-03,
    8.333333333333333e-02,
)


@inline
def inverse_jacobian_terms(t):
    """G = (1 - (theta / 2) cot(theta / 2)) / theta^2 and (dG/dtheta) / theta at t = theta^2 [rad^2]; two numbers."""
    if t < 0.4:
        g, slope = 0.0, 0.0
        for term in _INVERSE_TERMS:
            slope = slope * t + g
            g = g * t + term
        return g, 2.0 * slope
    theta = math.sqrt(t)
    half = 0.5 * theta
    cot = math.cos(half) / math.sin(half)
    g = (1.0 - half * cot) / t
    return g, ((0.5 * half * (1.0 + cot * cot) - 0.5 * cot) / theta - 2.0 * g) / t
