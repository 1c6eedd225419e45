"""Kernels must notice NaN and infinity although they may reorder sums."""

import math

import numpy as np
import pytest

from leastaction._finite import is_finite
from leastaction._jit import entry


@entry
def all_finite(a, b, out):
    """The pattern that fools np.isfinite: the sum and its test stand next to each other."""
    finite = True
    for k in range(a.shape[0]):
        out[k] = a[k] + 0.5 * b[k]
        finite = finite and is_finite(out[k])
    return finite


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (0.0, True),
        (-1e308, True),
        (5e-324, True),
        (math.inf, False),
        (-math.inf, False),
        (math.nan, False),
    ],
)
def test_is_finite(x, expected):
    assert is_finite(x) is expected
    a = np.ones(5)
    a[3] = x
    assert all_finite(a, np.ones(5), np.zeros(5)) is expected
    assert all_finite(np.ones(5), a, np.zeros(5)) is expected


def test_overflow_in_the_sum_itself():
    assert not all_finite(np.full(5, 1.5e308), np.full(5, 1.5e308), np.zeros(5))
