"""Every integrator gives the numbers that were recorded of it, to round-off.

Why not to the last bit: a change of sources compiles anew, and LLVM then contracts and reorders sums otherwise. That
moves each step by some 1e-16 of its numbers, which the motion makes larger. How much is measured beside each run: a
change of gravity by 1e-9 at the same steps (`growth` in the record), and the tolerance of a case is multiplied by it
where it is more than one. Tolerances are what the solvers leave, measured family by family beside the constants of
`recorded_cases.py`: 1e-12 where Newton ends in round-off, 1e-11 for multipliers, 1e-10 where it converges
linearly, 1e-8 for contact, 1e-9 for quadratic programs, 1e-6 for staggered projections (tolerance 1e-8), 1e-4 for SP
(tolerance 1e-5). With the very same compiled code all of them come out bit for bit.

Iterations may grow by a few where an update falls just at the tolerance; fewer are no failure.
"""

import numpy as np
import pytest

from tests.recorded.recorded_runs import CASES, allowed, differences, measured, recorded


@pytest.fixture(scope="module")
def record():
    return recorded()


def test_every_case_is_recorded(record):
    assert set(record) == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_recorded_run(name, record):
    if name.startswith(("staggered", "constrained_euler", "maximal_euler")):
        pytest.importorskip("daqp")
        pytest.importorskip("piqp")
    new, old = measured(name), record[name]
    assert set(new) == set(old) - {"growth"}
    apart, bound = differences(new, old), allowed(name, old)
    assert np.all(apart <= bound), f"relative differences {apart}, expected at most {bound}"
    if "iterations" in old and CASES[name].steady:
        now, then = int(new["iterations"].sum()), int(old["iterations"].sum())
        assert now <= then + 3 + 0.05 * then, f"{now} iterations, recorded {then}"
