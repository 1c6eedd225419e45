"""Where a plan that is played back with its own integrator leaves the plan."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

import numpy as np

from leastaction.errors import ConvergenceError, ReplayWarning
from leastaction.trajectory.trajectory import Trajectory
from leastaction.warn import warn

if TYPE_CHECKING:
    from leastaction.optimize.solution.solution import Solution

SOLVED = 1e-6
"""Violation up to which a plan solves the equations of its steps."""

FAR = 1e-4
"""How far from the plan [rad or m] a run has left it; rounding and the tolerance of a solver stay below at one step."""

JUMP = 1e3
"""Growth of the distance over one step that is no instability of the motion."""


def parting(solution: Solution, run: Trajectory) -> tuple[float, str]:
    """How far a run of the plan's own integrator leaves it, and where and why; 0 and nothing where it does not.

    The plan solves the equations of each step, and so does the run. They part at once, not little by little, where a
    step is so long that its equations have several solutions, or none that the simulator takes for one: it is then
    divided. Plans with contacts are not looked at: these are part of the plan alone.
    """
    m, plan = solution.mechanism, solution.trajectory
    if solution.violation > SOLVED or "complementarity" in plan.stored or run.q.shape != plan.q.shape:
        return 0.0, ""
    distance = np.abs(m.difference(plan.q, run.q))
    far = distance.max(axis=1)
    left = np.flatnonzero((far[1:] > FAR) & (far[1:] > JUMP * far[:-1]))
    if not len(left):
        return 0.0, ""
    k = int(left[0])
    divided, why = run.stored.get("divided"), "its equations have another solution"
    if divided is None:  # runs of phases do not record it
        why += ", or the simulator divides it"
    elif np.any(divided[k + 1]):
        why = "the simulator divides it"
    name = m.velocity_names[int(np.argmax(distance[k + 1]))]
    return float(far.max()), (
        f"the run leaves the plan at step {k} (t = {plan.t[k]:.4g} s), by {far[k + 1]:.2g} in {name!r}, and "
        f"is up to {far.max():.2g} [rad or m] away later. The step is too long, {why}: plan with more than "
        f"{plan.steps} steps"
    )


def warn_of_parting(solution: Solution, run: Trajectory) -> None:
    """Say where a run of the plan's own integrator leaves it, see `parting`."""
    far, text = parting(solution, run)
    if far > 0.0:
        warn(f"replay: {text}", ReplayWarning)


def largest_parting(solution: Solution) -> tuple[float, str]:
    """`parting` of the run of a solution where it is larger than allowed, else 0 and nothing; runs it.

    Nobody looks at plans with contacts, and where any distance is allowed.
    """
    if "complementarity" in solution.trajectory.stored or solution.replay_tolerance == math.inf:
        return 0.0, ""
    try:
        with warnings.catch_warnings():  # of the run, which is only looked at
            warnings.simplefilter("ignore")
            run = solution.played_back(progress=False)
    except ConvergenceError as error:
        return math.inf, f"the simulator cannot run the plan: {error}"
    far, text = parting(solution, run)
    return (far, text) if far > solution.replay_tolerance else (0.0, "")
