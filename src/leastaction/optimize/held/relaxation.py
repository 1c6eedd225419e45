"""Solving problems with contacts: complementarity is relaxed, and tightened over a few solves."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from leastaction.errors import ProblemError

if TYPE_CHECKING:
    from leastaction.optimize.problem import Problem
    from leastaction.optimize.solution import Solution

SHARES = (7e-2, 7e-4, 7e-6)
"""Of the robot's weight times a metre: largest products of forces with gaps of one solve after the other."""
LAST = 1e-5
"""Largest products of forces with gaps [N m] and with slip [W] of the last solve."""

ROUGH = 1e-3
"""Tolerance of all solves but the last, which only lead to it."""


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

    Args:
        problem: with contacts.
        relaxations: largest complementarity products [N m, W], descending; what comes out keeps to the last one.
            Default: from a share of the robot's weight down to 1e-5.
        tolerance: of the last solve; those before need not be exact.
        warm_start: a solution from which the first solve begins.
        time_limit: of all solves together [s].
        options: of `leastaction.optimize.solve`.
    """
    from leastaction.optimize.solving import solve

    if relaxations is None:
        weight = problem.mechanism.total_mass * (float(np.linalg.norm(problem.mechanism.gravity)) or 1.0)
        relaxations = [*(x for x in weight * np.array(SHARES) if x > 50.0 * LAST), LAST]
    steps = [float(x) for x in relaxations]
    if not steps or min(steps) <= 0.0:
        raise ProblemError(f"relaxations must be positive numbers, got {relaxations!r}")
    began, log, found = time.perf_counter(), [], warm_start
    for number, relaxation in enumerate(steps):
        problem.relaxation = relaxation
        exact = tolerance if number == len(steps) - 1 else max(tolerance, ROUGH)
        left = None if time_limit is None else max(time_limit - (time.perf_counter() - began), 1e-3)
        found = solve(problem, tolerance=exact, warm_start=found, time_limit=left, **options)
        log += found.iterations
        if found.status == "User_Requested_Stop":
            break
    assert found is not None
    numbered = tuple(replace(entry, number=k) for k, entry in enumerate(log))
    return replace(found, iterations=numbered, seconds=time.perf_counter() - began)
