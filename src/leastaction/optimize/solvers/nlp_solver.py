"""What every solver of nonlinear programs does, and what its endings mean."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from leastaction._display.progress import Progress
from leastaction.errors import ProblemError
from leastaction.mechanism._check import choice
from leastaction.optimize.hessians.hessian_choice import HESSIANS
from leastaction.optimize.hessians.lagrangian_hessian import Hessian
from leastaction.optimize.solution.solution import Iteration
from leastaction.optimize.transcriptions.sparsity import FloatArray
from leastaction.optimize.transcriptions.transcription import Transcription

REASONS = {
    "Solve_Succeeded": "",
    "Solved_To_Acceptable_Level": "solved to the acceptable level only",
    "Infeasible_Problem_Detected": "the constraints contradict each other here",
    "Maximum_Iterations_Exceeded": "it took too many iterations",
    "Maximum_CpuTime_Exceeded": "it took too long",
    "Maximum_WallTime_Exceeded": "it took too long",
    "User_Requested_Stop": "it was stopped",
    "Restoration_Failed": "feasibility restoration failed",
    "Invalid_Number_Detected": "a cost, a constraint or a derivative is not finite",
    "Diverging_Iterates": "the motion runs away without bound",
    "Search_Direction_Becomes_Too_Small": "the search came to a standstill",
    "Error_In_Step_Computation": "the linear system of an iteration could not be solved",
    "Not_Enough_Degrees_Of_Freedom": "there are more equations than unknowns",
}
"""What endings mean, in IPOPT's words."""


@dataclass(frozen=True)
class SolverRequest:
    """What a solver is asked for: tolerance, most iterations, time limit [s] or None, options of its own."""

    tolerance: float
    max_iterations: int
    time_limit: float | None = None
    options: dict[str, Any] = field(default_factory=dict)


class Solver(ABC):
    """Calls of a solver on one program, and what is reported of them.

    Attributes:
        program: what is solved.
        hessian: its second derivatives, or None where the solver makes them up.
        iterations: the log.
        stopped: whether Ctrl-C ended a call.
        best: (violation, cost, z) of the best iterate.
        progress: the bar that shows iterations, or None.
    """

    without_hessian: tuple[str, ...] = ()

    def __init__(self, program: Transcription, hessian: str, log: Any) -> None:
        choice(hessian, (*HESSIANS, *self.without_hessian), "hessian", ProblemError)
        self.program = program
        self.hessian: Hessian | None = HESSIANS[hessian](program) if hessian in HESSIANS else None
        self.log = log
        self.iterations: list[Iteration] = []
        self.stopped = False
        self.best: tuple[float, float, FloatArray] | None = None
        self.progress: Progress | None = None
        free = int((program.lower < program.upper).sum())
        equations = int((program.c_lower == program.c_upper).sum())
        if equations > free:
            raise ProblemError(
                f"there are more equations ({equations}) than unknowns that are free ({free}): what is given at the "
                f"start, the finish and along the way leaves the robot no choice"
            )

    @abstractmethod
    def solve(self, z: FloatArray, multipliers: Any, asked: SolverRequest) -> tuple[FloatArray, Any, str]:
        """One call from z, and from multipliers where there are any; gives (z, (of bounds, of constraints), status)."""

    def note(self, f: float, z: FloatArray, c: FloatArray) -> None:
        """Take note of an iterate."""
        program = self.program
        excess = np.maximum(np.maximum(program.c_lower - c, c - program.c_upper), 0.0)
        violation = float(excess.max(initial=0.0))
        if self.best is None or (violation, f) < self.best[:2]:
            self.best = (violation, f, z.copy())
        entry = Iteration(len(self.iterations), f, violation)
        self.iterations.append(entry)
        if self.progress is not None:
            self.progress.update(entry.number, f"cost {entry.cost:.4g}, violation {entry.violation:.1e}")
        if self.log is True:
            print(f"{entry.number:5d}  cost {entry.cost:14.6e}  violation {entry.violation:9.2e}", flush=True)
        elif callable(self.log):
            self.log(entry)
