"""Systems with many right-hand sides against NumPy."""

import numpy as np
import pytest

from leastaction.linalg.many_columns import add_rows, factor_towards_root, solve_pivoted, substitute

rng = np.random.default_rng(3)


@pytest.mark.parametrize("zeros", [0.0, 0.5, 0.9, 1.0])
def test_sums_of_rows(zeros):
    a, X, out = rng.normal(size=11), rng.normal(size=(11, 7)), rng.normal(size=7)
    a[rng.random(11) < zeros] = 0.0
    expected = out.copy()
    expected[:5] += 2.0 * (a[2:9] @ X[2:9, :5])
    add_rows(2.0, a, 2, 9, X, 5, out)
    assert np.allclose(out, expected, rtol=0, atol=1e-14)


def test_a_tree_is_eliminated_towards_its_root():
    parents = [-1, 0, 1, 1, 3, 0, 5]
    A = np.diag(rng.normal(size=7) + 8.0)
    for k, j in enumerate(parents):
        while j >= 0:
            A[k, j], A[j, k] = rng.normal(size=2)
            j = parents[j]
    X, factors = rng.normal(size=(7, 9)), A.copy()
    expected = np.linalg.solve(A, X[:, :8])
    assert factor_towards_root(factors)
    substitute(factors, X, 8)
    assert np.allclose(X[:, :8], expected, rtol=0, atol=1e-13)
    assert ((factors != 0.0) == (A != 0.0)).all()  # no fill-in


def test_pivoting_and_what_is_singular():
    A, X = rng.normal(size=(6, 6)), rng.normal(size=(6, 4))
    A[0, 0], A[3] = 0.0, 1e8 * A[3]
    expected = np.linalg.solve(A, X)
    assert solve_pivoted(A.copy(), 6, X, 4, np.zeros(6))
    assert np.allclose(X, expected, rtol=1e-11, atol=1e-11)
    A[4] = 0.0
    assert not solve_pivoted(A, 6, X, 4, np.zeros(6))
    assert not factor_towards_root(np.zeros((2, 2)))
