"""Entry points whose first arguments stay: the same results, and arguments of other types find their own code."""

import numpy as np

from leastaction._jit import entry
from leastaction._jit.bound import Bound


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
