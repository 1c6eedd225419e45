"""Solving problems with contacts: complementarity is relaxed, and tightened over a few solves."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from leastaction.errors import ProblemError
from leastaction.mechanism._check import real_array, shown
from leastaction.optimize.functions import argument_checks

if TYPE_CHECKING:
    from leastaction.optimize.problem.problem import Problem
    from leastaction.optimize.solution.solution import Solution

SHARES = (7e-2, 7e-4, 7e-6)
"""Of the robot's weight times a metre: largest products of forces with gaps of one solve after the other."""
LAST = 1e-5
"""Largest products of forces with gaps [N m] and with slip [W] of the last solve."""

ROUGH = 1e-3
"""Tolerance of all solves but the last, which only lead to it."""

RETRIES, NEAR, WIDER = 3, 4.0, 30.0
"""How many relaxations may be put in between where a solve fails, those that are too near each other to do so, and how
much wider the first one becomes."""
HOPELESS = ("Infeasible_Problem_Detected", "Restoration_Failed")
"""Endings after which no tighter relaxation is tried: what keeps to it would keep to this one."""
LATE = "Maximum_Iterations_Exceeded"
"""So is this one, where constraints are still violated by more than converged plans may violate them."""
FINAL = ("User_Requested_Stop", "Invalid_Number_Detected")
"""Endings after which nothing else is tried."""


def solve_relaxed(
    problem: Problem,
    *,
    relaxations: Sequence[float] | None = None,
    tolerance: float = 1e-6,
    warm_start: Solution | None = None,
    time_limit: float | None = None,
    **options: Any,
) -> Solution:
    """Solve with each relaxation in turn, each time from the motion found before; see `leastaction.optimize.solve`.

    Where the last one fails, a relaxation is put in between after the last that succeeded, or a wider one before all.
    So it is where one ends at constraints that contradict each other, or far from them after all its iterations; if the
    wider one does too, that is all.

    Args:
        problem: with contacts.
        relaxations: largest complementarity products [N m, W], descending; what comes out keeps to the last one.
            Default: from a share of the robot's weight down to 1e-5.
        tolerance: of the last solve; those before need not be exact.
        warm_start: a solution from which the first solve begins.
        time_limit: of all solves together [s].
        options: of `leastaction.optimize.solve`.
    """
    from leastaction.optimize.solution.solution import allowed
    from leastaction.optimize.solvers.solve_problem import solve

    if not hasattr(problem, "relaxation"):
        raise ProblemError(f"solve_relaxed needs a Problem, got {shown(problem)}")
    if relaxations is None:
        weight = problem.mechanism.total_mass * (float(np.linalg.norm(problem.mechanism.gravity)) or 1.0)
        relaxations = [*(x for x in weight * np.array(SHARES) if x > 50.0 * LAST), LAST]
    given = real_array(relaxations)
    if given is None or given.ndim != 1 or not given.size or not np.isfinite(given).all() or given.min() <= 0.0:
        raise ProblemError(f"relaxations must be positive numbers, got {shown(relaxations)}")
    steps = given.tolist()
    argument_checks.number(tolerance, "tolerance", above=0.0)
    if time_limit is not None:
        argument_checks.number(time_limit, "time_limit [s]", above=0.0)
    began, log, found = time.perf_counter(), [], warm_start
    good: Solution | None = None
    reached = math.inf  # relaxation of the last solve that succeeded
    between, failed = math.inf, 0.0  # relaxation that was put in last, and the widest one that failed since `good`
    left, more = list(steps), RETRIES
    while left:
        problem.relaxation = left[0]
        exact = tolerance if len(left) == 1 else max(tolerance, ROUGH)
        seconds = None if time_limit is None else max(time_limit - (time.perf_counter() - began), 1e-3)
        found = solve(problem, tolerance=exact, warm_start=found, time_limit=seconds, **options)
        log += found.iterations
        if found.status in FINAL or (time_limit is not None and time.perf_counter() - began > time_limit):
            break
        done = left.pop(0)
        hopeless = found.status in HOPELESS or (found.status == LATE and found.violation > allowed(exact))
        if found.converged:
            good, reached, failed = found, done, 0.0
            continue
        failed = max(failed, done)
        if left and not hopeless:
            continue
        if not more or (between < reached and (hopeless or good is not None)):
            break  # there is no other one to put in, or that was of no use
        # The last one failed: go on where all was well, by a relaxation in between, or begin with a wider one.
        more -= 1
        if good is None:
            between = WIDER * steps[0]
        elif reached > NEAR * failed:
            between = math.sqrt(reached * failed)
        else:
            break
        steps = [between, *(x for x in steps if x < between)]
        left, found, failed = list(steps), good or warm_start, 0.0
    assert found is not None
    numbered = tuple(replace(entry, number=k) for k, entry in enumerate(log))
    return replace(found, iterations=numbered, seconds=time.perf_counter() - began)
