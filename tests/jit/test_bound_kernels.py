"""Entry points whose first arguments stay: the same results, arguments of other types find their own code, and rows
come one after another."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from leastaction._jit import batched_call, entry
from leastaction._jit.bound import Bound
from leastaction._jit.hooks import fast_call


@entry
def scaled(bundle, values, factor):
    """Sum of all values times those of the bundle."""
    total = 0.0
    for k in range(values.shape[0]):
        total += bundle[0][k] * values[k] * factor
    return total


def test_tuples_are_told_apart_by_what_is_in_them():
    bound = Bound(scaled)
    for _ in range(2):
        assert bound((np.arange(3.0),), np.ones(3), 2.0) == 6.0
        assert bound((np.arange(6.0)[::2],), np.ones(3), 2.0) == 12.0


def test_calls_are_those_of_the_entry():
    weights = np.arange(3.0)
    bound = Bound(scaled, (weights,))
    for _ in range(2):
        assert bound(np.ones(3), 2.0) == 6.0
        assert bound(np.ones(6)[::2], 2.0) == 6.0  # another layout
        assert bound(np.ones(3, int), 2.0) == 6.0  # another type
        assert bound(np.ones(3), 2) == 6.0
    weights[:] = 1.0
    assert bound(np.ones(3), 2.0) == 6.0
    assert bound(2 * np.ones(3), 2.0) == 12.0


@entry
def row_sums(bundle, first, rows, out):
    """Writes the scaled sum of two rows; gives back (the first row, how many columns there are)."""
    scale, flag, nothing = bundle
    for k in range(rows.shape[1]):
        out[0] += scale * (rows[0, k] + rows[1, k]) if flag and nothing is None else 0.0
    return first, rows.shape[1]


@pytest.mark.parametrize("late", [2, 4, 1000])
def test_rows_one_after_another_and_any_other_way(late, monkeypatch):
    monkeypatch.setattr(batched_call, "SOON", 2)
    monkeypatch.setattr(batched_call, "LATE", late)
    values, out = np.arange(30.0).reshape(10, 3), np.zeros(10)
    bound = Bound(row_sums, (2.0, True, None))
    steps = batched_call.BatchedCall(bound, lambda row: (row, values[row : row + 2], out[row : row + 1]))
    for row in (1, 2, 3, 4, 8, 0, 5, 5):
        out[:] = 0.0
        assert steps(row) == (row, 3)
        assert out[row] == out.sum() == 2.0 * values[row : row + 2].sum()
    values[:] = 1.0  # read where they are
    out[:] = 0.0
    steps(6)
    assert out[6] == 12.0


def test_what_is_not_affine_in_the_row_goes_by_python(monkeypatch):
    monkeypatch.setattr(batched_call, "SOON", 2)
    monkeypatch.setattr(batched_call, "LATE", 2)
    values, out = np.ones((10, 3)), np.zeros(1)
    steps = batched_call.BatchedCall(Bound(row_sums, (1.0, True, None)), lambda row: (row * row, values[:2], out))
    assert [steps(row)[0] for row in (1, 2, 3, 4, 5)] == [1, 4, 9, 16, 25]


def test_batched_calls_of_many_threads_share_code_that_stays(monkeypatch):
    monkeypatch.setattr(batched_call, "SOON", 1)
    monkeypatch.setattr(batched_call, "LATE", 1)
    monkeypatch.setattr(fast_call, "_CALLERS", {})
    values = np.ones((1000, 3))

    def sums(_):
        out = np.zeros(1000)
        bound = Bound(row_sums, (1.0, True, None))
        steps = batched_call.BatchedCall(bound, lambda row: (row, values[row : row + 2], out[row : row + 1]))
        for row in range(1, 900):
            steps(row)
        return out.sum()

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(sums, range(8))) == {899 * 6.0}
