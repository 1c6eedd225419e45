"""Several first guesses for one problem."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.errors import ProblemError
from leastaction.integration.settings import is_number
from leastaction.mechanism._check import shown
from leastaction.optimize.functions import argument_checks
from leastaction.optimize.problem.problem import Problem
from leastaction.optimize.solution.solution import Solution


def multi_start(
    problem: Problem, starts: int = 10, *, spread: float = 1.0, modes: int = 3, seed: int = 0, **options: Any
) -> list[Solution]:
    """Solve a problem from random first guesses: the problem's own, then smooth detours from it.

    Args:
        problem: what to solve.
        starts: how many.
        spread: size of the detours [rad or m].
        modes: of how many half waves along the way each is made.
        seed: of the random numbers.
        options: those of `Problem.solve`.

    Returns:
        The solutions, those that succeeded first, cheapest first.
    """
    if not isinstance(problem, Problem):
        raise ProblemError(f"multi_start needs a Problem, got {shown(problem)}")
    argument_checks.count(starts, "starts")
    argument_checks.count(modes, "modes")
    argument_checks.number(spread, "spread", least=0.0)
    if not is_number(seed) or seed < 0 or int(seed) != seed:
        raise ProblemError(f"seed must be a whole number that is not negative, got {shown(seed)}")
    rng, m = np.random.default_rng(int(seed)), problem.mechanism
    program = problem.transcribe()
    own = program.motion(problem.initial_unknowns(program)).q[:: program.s].copy()
    t = np.linspace(0.0, 1.0, problem.steps + 1)[:, None]
    found, kept = [], dict(problem._guess)
    try:
        for k in range(starts):
            if k:
                waves = range(1, modes + 1)
                detour = sum((rng.normal(size=m.nv) * np.sin(np.pi * j * t) / j for j in waves), np.zeros((1, m.nv)))
                problem.guess(q=m.integrate(own, spread * detour))
            found.append(problem.solve(**options))
    finally:
        problem._guess = kept
    return sorted(found, key=lambda solution: (not solution.success, solution.cost))
