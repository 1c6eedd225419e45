"""Timing, and what it takes to be fair to peers.

Times are CPU times of one thread, and the best of several repetitions: whatever else the machine does only ever adds to
them.

Our kernels are timed in a compiled loop, so that a call from Python is not counted. Pinocchio can only be
called from Python here; a call costs a fraction of a microsecond of conversions, which has nothing to do with
its algorithms. Since that cost o does not depend on the robot, a model with one joint shows it: with
t_n = o + n c,

    n c = (t_n - t_1) n / (n - 1).

What a function gives back to Python as copies (n x n matrices) is no part of its algorithm either, but grows
with n; `copy_seconds` measures that and it is subtracted as well. Both corrections can only favour the peer.
"""

import time
from collections.abc import Callable

import numpy as np


def best(function: Callable[[int], object], *, repeats: int = 9, least: float = 0.01) -> float:
    """Seconds per call; function(count) makes `count` calls. The best of `repeats`, each `least` [s] long."""
    function(1)  # compiles, and warms the caches
    count = 1
    while True:
        began = time.process_time()
        function(count)
        spent = time.process_time() - began
        if spent >= least:
            break
        count = max(2 * count, int(1.2 * count * least / max(spent, 1e-9)))
    times = [spent / count]
    for _ in range(repeats - 1):
        began = time.process_time()
        function(count)
        times.append((time.process_time() - began) / count)
    return min(times)


def python_calls(function: Callable[..., object], *arguments) -> float:
    """Seconds per call of a function that Python calls, the loop included."""

    def calls(count: int) -> None:
        for _ in range(count):
            function(*arguments)

    return best(calls)


def without_call(seconds: float, seconds_of_one: float, n: int) -> float:
    """Seconds of a peer for n degrees of freedom without the cost of the call, given those for one."""
    return (seconds - seconds_of_one) * n / (n - 1)


def copy_seconds(n: int, matrices: int) -> float:
    """Seconds to copy `matrices` matrices of n x n numbers."""
    A = np.zeros((matrices, n, n))
    return python_calls(A.copy)


def exponent(sizes, seconds) -> float:
    """Slope of log(seconds) over log(sizes): 1 is linear growth."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
