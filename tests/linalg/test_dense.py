"""Small dense systems."""

import numpy as np
import pytest

from leastaction.linalg.dense import solve_within


@pytest.mark.parametrize("seed", range(6))
def test_rows_with_entries_in_ranges(seed):
    """What lies outside the ranges is never read; pivots may vanish."""
    rng = np.random.default_rng(seed)
    n = 4 + seed
    begins = np.array([rng.integers(0, i + 1) for i in range(n)])
    ends = np.array([rng.integers(min(i + 2, n), n + 1) for i in range(n)])
    inside = (np.arange(n) >= begins[:, None]) & (np.arange(n) < ends[:, None])
    A, b = np.where(inside, rng.normal(size=(n, n)), 0.0), rng.normal(size=(n, 1))
    A[0, 0] *= 1.0 if seed % 2 else 0.0
    x = b.copy()
    known = np.linalg.matrix_rank(A) == n
    assert solve_within.py_func(np.where(inside, A, np.nan), x, n, begins, ends, np.zeros(n, np.int64)) or not known
    if known:
        np.testing.assert_allclose(A @ x, b, atol=1e-9 * (1.0 + abs(x).max()))


def test_singular_ones_are_told():
    A, b = np.array([[1.0, 2.0], [2.0, 4.0]]), np.ones((2, 1))
    none = np.zeros(2, np.int64)
    assert not solve_within.py_func(A, b, 2, none, np.full(2, 2), none.copy())
