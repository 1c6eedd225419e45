"""IPOPT by the package cyipopt, for those who have one with a linear solver of their own (HSL, Pardiso)."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from leastaction.errors import ProblemError
from leastaction.optimize.solvers.ipopt import Called, settings
from leastaction.optimize.solvers.nlp_solver import SolverRequest
from leastaction.optimize.transcriptions.sparsity import FloatArray, IntArray, Pattern
from leastaction.optimize.transcriptions.transcription import Transcription

STATUSES = {
    0: "Solve_Succeeded",
    1: "Solved_To_Acceptable_Level",
    2: "Infeasible_Problem_Detected",
    3: "Search_Direction_Becomes_Too_Small",
    4: "Diverging_Iterates",
    5: "User_Requested_Stop",
    6: "Feasible_Point_Found",
    -1: "Maximum_Iterations_Exceeded",
    -2: "Restoration_Failed",
    -3: "Error_In_Step_Computation",
    -4: "Maximum_CpuTime_Exceeded",
    -5: "Maximum_WallTime_Exceeded",
    -10: "Not_Enough_Degrees_Of_Freedom",
    -13: "Invalid_Number_Detected",
}
"""Endings of IPOPT by its numbers."""


class Cyipopt(Called):
    """IPOPT by cyipopt."""

    def __init__(self, program: Transcription, hessian: str, log: Any) -> None:
        try:
            self.cyipopt = import_module("cyipopt")
        except ModuleNotFoundError:
            raise ProblemError("solver 'cyipopt' needs the package of that name, which is not installed") from None
        super().__init__(program, hessian, log)

    def solve(self, z: FloatArray, multipliers: Any, asked: SolverRequest) -> tuple[FloatArray, Any, str]:
        """See `Solver.solve`."""
        program = self.program
        calls = Calls(self) if self.hessian is None else CallsWithHessian(self)
        ipopt = self.cyipopt.Problem(
            n=program.n,
            m=program.m,
            problem_obj=calls,
            lb=program.lower,
            ub=program.upper,
            cl=program.c_lower,
            cu=program.c_upper,
        )
        calls.iterate = ipopt.get_current_iterate
        for name, value in settings(asked, self.hessian is not None, multipliers is not None).items():
            try:
                ipopt.add_option(name, value)
            except TypeError as error:
                raise ProblemError(f"options: IPOPT refuses {name!r}: {error}") from None
        self.least, self.since = np.inf, 0
        warm = {}
        if multipliers is not None:
            at, rows = multipliers
            warm = {"lagrange": rows, "zl": np.maximum(-at, 0.0), "zu": np.maximum(at, 0.0)}
        try:
            x, info = ipopt.solve(z, **warm)
        except KeyboardInterrupt as error:
            self.error = self.error or error
            return self.ended(z, None, "")
        lam = info["mult_x_U"] - info["mult_x_L"], np.array(info["mult_g"])
        code = int(info["status"])
        return self.ended(z, (np.array(x), lam), STATUSES.get(code, f"status {code} of IPOPT"))


class Calls:
    """What cyipopt calls."""

    def __init__(self, run: Cyipopt) -> None:
        self.run, self.program = run, run.program
        self.iterate: Any = None

    def _filled(self, count: int, function: Any) -> FloatArray:
        """An array that a function fills; with NaN where it raises, which is reported later."""
        out = np.zeros(count)
        try:
            function(out)
        except BaseException as error:
            self.run.error = self.run.error or error
            out[:] = np.nan
        return out

    def objective(self, x: FloatArray) -> float:
        """The cost."""
        return float(self._filled(1, lambda out: out.fill(self.program.cost(x)))[0])

    def gradient(self, x: FloatArray) -> FloatArray:
        """Of the cost."""
        return self._filled(self.program.n, lambda out: self.program.gradient(x, out))

    def constraints(self, x: FloatArray) -> FloatArray:
        """Their values."""
        return self._filled(self.program.m, lambda out: self.program.constraints(x, out))

    def jacobianstructure(self) -> tuple[IntArray, IntArray]:
        """Rows and columns of the nonzeros of their derivatives."""
        return _places(self.program.jacobian_pattern)

    def jacobian(self, x: FloatArray) -> FloatArray:
        """These nonzeros."""
        return self._filled(self.program.jacobian_pattern.count, lambda out: self.program.jacobian(x, out))

    def intermediate(self, mode: int, number: int, cost: float, *_: Any) -> bool:
        """Called after each iteration; gives whether to go on."""
        del mode, number
        run = self.run
        try:
            found = self.iterate()
            if found is not None:
                run.note(float(cost), np.array(found["x"]), np.array(found["g"]))
        except BaseException as error:
            run.error = run.error or error
        return run.error is None and not (run.iterations and run.stalls())


class CallsWithHessian(Calls):
    """With second derivatives; without these methods cyipopt takes L-BFGS."""

    def hessianstructure(self) -> tuple[IntArray, IntArray]:
        """Rows and columns of the nonzeros of the lower triangle; ours are those of the upper one."""
        assert self.run.hessian is not None
        rows, columns = _places(self.run.hessian.pattern)
        return columns, rows

    def hessian(self, x: FloatArray, multipliers: FloatArray, weight: float) -> FloatArray:
        """Nonzeros of that of the Lagrangian."""
        hessian = self.run.hessian
        assert hessian is not None
        return self._filled(hessian.pattern.count, lambda out: hessian.evaluate(x, weight, multipliers, out))


def _places(pattern: Pattern) -> tuple[IntArray, IntArray]:
    """Rows and columns of nonzeros."""
    return pattern.indices, np.repeat(np.arange(pattern.shape[1]), np.diff(pattern.indptr))
