"""Lobatto quadrature and differentiation."""

import numpy as np
import pytest

from leastaction.minimal.quadrature_rules import MIDPOINT, lobatto

SIZES = range(1, 9)


@pytest.mark.parametrize("s", SIZES)
def test_quadrature_is_exact_up_to_degree_2s_minus_1(s):
    """Sum of w c^k is the integral of t^k over [0, 1], 1 / (k + 1); degree 2 s is the first that is not."""
    c, w = lobatto(s)[:2]
    for degree in range(2 * s):
        assert w @ c**degree == pytest.approx(1.0 / (degree + 1), rel=2e-15)
    # The error at degree 2 s is that of Legendre's polynomial, about 4^(-2 s): a fact, not round-off.
    assert abs(w @ c ** (2 * s) - 1.0 / (2 * s + 1)) > 0.1 * 16.0**-s


@pytest.mark.parametrize("s", SIZES)
def test_differentiation_is_exact_up_to_degree_s(s):
    """b maps values of t^k at the points to values of k t^(k-1)."""
    c, _, b = lobatto(s)[:3]
    for degree in range(s + 1):
        slope = degree * c ** (degree - 1) if degree else np.zeros(s + 1)
        assert np.abs(b @ c**degree - slope).max() <= 1e-14 * (s + 1) ** 2
    assert np.abs(b @ c ** (s + 1) - (s + 1) * c**s).max() > 1e-6


@pytest.mark.parametrize("s", SIZES)
def test_summation_by_parts(s):
    """W b + (W b)^T has only the two boundary terms, as integration by parts has."""
    _, w, b = lobatto(s)[:3]
    B = w[:, None] * b
    boundary = np.zeros_like(B)
    boundary[0, 0], boundary[-1, -1] = -1.0, 1.0
    assert np.abs(B + B.T - boundary).max() <= 1e-14


@pytest.mark.parametrize("s", SIZES)
def test_symmetric_points_from_end_to_end(s):
    """Symmetric to the last bit, ends included: the step is its own adjoint."""
    c, w, b = lobatto(s)[:3]
    assert c[0] == 0.0
    assert c[-1] == 1.0
    assert (np.diff(c) > 0).all()
    assert (w > 0).all()
    assert (w == w[::-1]).all()
    assert np.abs(c + c[::-1] - 1.0).max() <= 2e-16
    assert np.abs(b + b[::-1, ::-1]).max() <= 1e-14 * np.abs(b).max()


def test_known_rules():
    """s = 1 is the trapezoidal rule, 2 Simpson's, 3 has its inner points at (1 +- 1/sqrt(5)) / 2."""
    root = np.sqrt(0.2)
    known = {
        1: ([0, 1], [1 / 2, 1 / 2], [[-1, 1], [-1, 1]]),
        2: ([0, 1 / 2, 1], [1 / 6, 2 / 3, 1 / 6], [[-3, 4, -1], [-1, 0, 1], [1, -4, 3]]),
        3: ([0, (1 - root) / 2, (1 + root) / 2, 1], [1 / 12, 5 / 12, 5 / 12, 1 / 12], None),
    }
    for s, (c, w, b) in known.items():
        rule = lobatto(s)
        np.testing.assert_allclose(rule[0], c, atol=2e-16)
        np.testing.assert_allclose(rule[1], w, atol=2e-16)
        if b is not None:
            np.testing.assert_allclose(rule[2], b, atol=4e-16)
    # First row for s = 3: the end point's weight is -s (s + 1) / 2 for any s.
    assert lobatto(3)[2][0, 0] == pytest.approx(-6.0, rel=1e-15)


def test_midpoint_rule():
    c, w, b = MIDPOINT[:3]
    assert c.tolist() == [0.0, 1.0]
    assert w.tolist() == [1.0]
    assert b.tolist() == [[-1.0, 1.0]]


def test_rules_cannot_be_changed():
    """Rules are shared by all integrators of an order."""
    assert lobatto(2) is lobatto(2)
    for array in (*lobatto(2), *MIDPOINT):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
