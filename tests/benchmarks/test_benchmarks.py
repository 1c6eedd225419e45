"""The arithmetic of the benchmarks; no test looks at the clock."""

import numpy as np
import pytest

pytest.importorskip("pinocchio")
from benchmarks import classical, peers
from benchmarks.catalogue import available


def test_the_cost_of_a_call_is_taken_off():
    overhead, per_link = 3e-6, 2e-7
    for n in (2, 16, 256):
        assert peers.without_call(overhead + n * per_link, overhead + per_link, n) == pytest.approx(n * per_link)


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_exponent(power):
    sizes = np.array([16, 32, 64, 128])
    assert peers.exponent(sizes, 7.0 * sizes**power) == pytest.approx(power)


def test_best_calls_long_enough():
    calls = []

    def work(count):
        calls.append(count)
        sum(range(100 * count))

    assert peers.best(work, repeats=3, least=1e-4) > 0.0
    assert calls[0] == 1
    assert calls[-3:] == [calls[-1]] * 3
    assert calls[-1] > 1


def test_every_benchmark_is_found():
    assert available()["classical"].text == classical.__doc__.partition("\n")[0]
