"""Solving problems with contacts: complementarity is relaxed, and tightened over a few solves."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from leastaction.errors import ProblemError

if TYPE_CHECKING:
    from leastaction.optimize.problem import Problem
    from leastaction.optimize.solution import Solution

RELAXATIONS = (1.0, 1e-2, 1e-5)
"""Largest products of forces with gaps [N m] and with slip [W] of one solve after the other."""

RETRIES, NEAR, WIDER = 3, 4.0, 30.0
"""How many relaxations may be put in between where a solve fails, those that are too near each other to do so, and how
much wider the first one becomes."""
FINAL = ("User_Requested_Stop", "Invalid_Number_Detected")
"""Endings after which nothing else is tried."""


def solve_relaxed(
    problem: Problem,
    *,
    relaxations: Sequence[float] = RELAXATIONS,
    tolerance: float = 1e-6,
    warm_start: Solution | None = None,
    time_limit: float | None = None,
    **options: Any,
) -> Solution:
    """Solve with each relaxation in turn, each time from the motion found before; see `leastaction.optimize.solve`.

    Where a solve fails, a relaxation half way, or before the first one a wider one, is put in between.

    Args:
        problem: with contacts.
        relaxations: largest complementarity products, descending; what comes out keeps to the last one.
        tolerance: of the solver.
        warm_start: a solution from which the first solve begins.
        time_limit: of all solves together [s].
        options: of `leastaction.optimize.solve`.
    """
    from leastaction.optimize.solving import solve

    steps = [float(x) for x in relaxations]
    if not steps or min(steps) <= 0.0:
        raise ProblemError(f"relaxations must be positive numbers, got {relaxations!r}")
    began, log, found = time.perf_counter(), [], warm_start
    good, more = warm_start, RETRIES
    reached = None if warm_start is None else steps[0]
    while steps:
        problem.relaxation = steps[0]
        left = None if time_limit is None else max(time_limit - (time.perf_counter() - began), 1e-3)
        found = solve(problem, tolerance=tolerance, warm_start=good, time_limit=left, **options)
        log += found.iterations
        if found.status in FINAL or (time_limit is not None and time.perf_counter() - began > time_limit):
            break
        if found.success:
            good, reached = found, steps.pop(0)
        elif more and reached is not None and reached > NEAR * steps[0]:
            # Too far at once: go half way first.
            more -= 1
            steps.insert(0, (reached * steps[0]) ** 0.5)
        elif more and reached is None:
            more -= 1
            steps.insert(0, WIDER * steps[0])
        else:
            break
    assert found is not None
    numbered = tuple(replace(entry, number=k) for k, entry in enumerate(log))
    return replace(found, iterations=numbered, seconds=time.perf_counter() - began)
