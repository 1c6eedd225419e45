"""Periodic solutions, several times over."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from leastaction.errors import ProblemError
from leastaction.optimize.functions import argument_checks
from leastaction.trajectory.trajectory import Trajectory
from leastaction.trajectory.trajectory_pieces import OF_RUN, OF_STEPS

if TYPE_CHECKING:
    from leastaction.optimize.solution.solution import Solution


def repeated(solution: Solution, times: int) -> Solution:
    """See `Solution.repeat`."""
    times = argument_checks.count(times, "repeat: times")
    if solution.phases:
        raise ProblemError("repeat: the solution has phases; repeat the phases of the problem")
    run = solution.trajectory
    if "shift" not in run.stored:
        raise ProblemError("repeat: the motion does not repeat; ask for Problem.periodic")
    shift, steps = np.asarray(run.stored["shift"]), run.steps

    def again(name: str, rows: Any) -> Any:
        """What a period has at knots or steps, over all periods.

        Knots between two periods are those at the end of one, and forces there are halved: each acts for half a step
        in one of the periods.
        """
        rows = np.asarray(rows)
        if name in OF_RUN:
            return rows
        if name in OF_STEPS:
            return np.concatenate(times * [rows])
        out = np.concatenate([rows[:1], *(times * [rows[1:]])])
        if name.startswith("forces of "):
            out[steps:-1:steps] = 0.5 * (rows[0] + rows[-1])
        return out

    def moved(q: Any) -> Any:
        return np.concatenate([q[:1], *(q[1:] + k * shift for k in range(times))])

    stored = {name: again(name, x) for name, x in run.stored.items()} | {"shift": times * shift}
    t = np.asarray(run.dt * np.arange(times * steps + 1), float)
    return replace(
        solution,
        trajectory=Trajectory(run.mechanism, run.integrator, run.dt, t, moved(run.q), stored),
        u=np.concatenate(times * [solution.u]),
        configurations=moved(solution.configurations),
        duration=times * solution.duration,
        cost=times * solution.cost,
    )
