"""The coefficients of the exponential map against their Taylor series in exact arithmetic."""

import math
from fractions import Fraction

import pytest

from leastaction.spatial._series import cosine_and_sinc, inverse_jacobian_term, jacobian_slopes, jacobian_terms

# Squared angles [rad^2] from nothing to beyond half a turn, on both sides of each switch to the closed form.
SQUARES = [
    *(0.0, 1e-300, 1e-40, 1e-16, 1e-12, 1e-8, 1e-4, 0.01, 0.3, math.nextafter(0.5, 0.0), 0.5),
    *(math.nextafter(1.0, 0.0), 1.0, 2.0, 4.0, math.nextafter(9.0, 0.0), 9.0, 9.8, 12.0, 20.0),
]


def series(t: float, shift: int) -> Fraction:
    """The exact sum of (-t)^k / (2k + shift)!, to 60 terms."""
    return sum((Fraction(-t) ** k / math.factorial(2 * k + shift) for k in range(60)), Fraction(0))


def slope(t: float, shift: int) -> Fraction:
    """Twice the exact derivative of `series` by t: its derivative by the angle, over the angle."""
    terms = (-2 * k * Fraction(-t) ** (k - 1) / math.factorial(2 * k + shift) for k in range(1, 60))
    return sum(terms, Fraction(0))


def relative_error(actual: float, exact: Fraction) -> float:
    return float(abs((Fraction(actual) - exact) / exact))


@pytest.mark.parametrize("t", SQUARES)
def test_coefficients_are_accurate_for_every_angle(t):
    b, c = jacobian_terms(t)
    b_slope, c_slope = jacobian_slopes(t, b, c)
    for value, shift in zip(cosine_and_sinc(t), (0, 1), strict=True):
        assert float(abs(Fraction(value) - series(t, shift))) < 3e-16  # absolute: both have zeros
    assert relative_error(b, series(t, 2)) < 1e-15
    assert relative_error(c, series(t, 3)) < 1e-15
    assert relative_error(b_slope, slope(t, 2)) < 2e-15
    assert relative_error(c_slope, slope(t, 3)) < 2e-15
    assert relative_error(inverse_jacobian_term(t, b, c), -slope(t, 2) / series(t, 2) / 2) < 3e-15
