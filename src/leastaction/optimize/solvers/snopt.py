"""SNOPT through CasADi, for those who have its library; other solvers of CasADi could be called likewise."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from leastaction._extras import require
from leastaction.errors import ProblemError
from leastaction.optimize.solvers.casadi_calls import callback_class, sparsity
from leastaction.optimize.solvers.ipopt import Called
from leastaction.optimize.solvers.nlp_solver import SolverRequest
from leastaction.optimize.transcriptions.sparsity import FloatArray
from leastaction.optimize.transcriptions.transcription import Transcription

STATUSES = {
    "SOLVER_RET_SUCCESS": "Solve_Succeeded",
    "SOLVER_RET_LIMITED": "Maximum_Iterations_Exceeded",
    "SOLVER_RET_NAN": "Invalid_Number_Detected",
    "SOLVER_RET_INFEASIBLE": "Infeasible_Problem_Detected",
}
"""Endings as CasADi calls them for all of its solvers."""


class Snopt(Called):
    """SNOPT: sequential quadratic programming with second derivatives that it learns by itself."""

    plugin: ClassVar[str] = "snopt"

    def __init__(self, program: Transcription, hessian: str, log: Any) -> None:
        self.ca = require("casadi", "optimize")
        super().__init__(program, "l-bfgs", log)

    def settings(self, asked: SolverRequest) -> dict[str, Any]:
        """Options of CasADi."""
        chosen: dict[str, Any] = {
            "Major iterations limit": asked.max_iterations,
            "Major feasibility tolerance": asked.tolerance,
            "Major optimality tolerance": asked.tolerance,
            "Major print level": 0,
            "Minor print level": 0,
        }
        if asked.time_limit is not None:
            chosen["Time limit"] = asked.time_limit
        return {"snopt": chosen | asked.options}

    def solve(self, z: FloatArray, multipliers: Any, asked: SolverRequest) -> tuple[FloatArray, Any, str]:
        """See `Solver.solve`."""
        ca, program = self.ca, self.program
        n, m, dense = program.n, program.m, ca.Sparsity.dense
        column, J = dense(n, 1), sparsity(ca, program.jacobian_pattern)
        Callback = callback_class(ca)
        # All callbacks must live as long as the solver. Derivatives are given the values, too.
        grad = Callback("jac_cost", self, [column, dense(1, 1)], [dense(1, n)], self._gradient)
        jac = Callback("jac_constraints", self, [column, dense(m, 1)], [J], self._jacobian)
        f = Callback("cost", self, [column], [dense(1, 1)], self._cost, grad)
        g = Callback("constraints", self, [column], [dense(m, 1)], self._constraints, jac)
        x = ca.MX.sym("x", n)
        options = {"print_time": False, "show_eval_warnings": False} | self.settings(asked)
        try:
            solver = ca.nlpsol("solver", self.plugin, {"x": x, "f": f(x), "g": g(x)}, options)
        except RuntimeError as error:
            why = str(error).strip().splitlines()[-1]
            raise ProblemError(
                f"solver {self.plugin!r}: CasADi cannot load it, or refuses its options: {why}"
            ) from None
        start = {"x0": z, "lbx": program.lower, "ubx": program.upper, "lbg": program.c_lower, "ubg": program.c_upper}
        if multipliers is not None:
            start |= {"lam_x0": multipliers[0], "lam_g0": multipliers[1]}
        try:
            out = solver(**start)
        except KeyboardInterrupt as error:
            self.error = self.error or error
            return self.ended(z, None, "")
        except RuntimeError:
            if self.error is None:
                raise
            return self.ended(z, None, "")
        stats = solver.stats()
        status = STATUSES.get(stats["unified_return_status"], str(stats.get("return_status", "")))
        x, *lam = (np.array(out[name]).ravel() for name in ("x", "lam_x", "lam_g"))
        return self.ended(z, (x, tuple(lam)), status)

    # ------------------------------------------------------------------ what it asks

    def _cost(self, given: Any, out: Any) -> None:
        self._unless_stopped()
        out[0][0] = self.program.cost(given[0])

    def _constraints(self, given: Any, out: Any) -> None:
        self._unless_stopped()
        self.program.constraints(given[0], out[0])

    def _gradient(self, given: Any, out: Any) -> None:
        self._unless_stopped()
        self.program.gradient(given[0], out[0])

    def _jacobian(self, given: Any, out: Any) -> None:
        """Derivatives are asked for where an iteration ends, of which CasADi's SNOPT reports nothing else."""
        self._unless_stopped()
        self.program.jacobian(given[0], out[0])
        rows = np.zeros(self.program.m)
        self.program.constraints(given[0], rows)
        self.note(self.program.cost(given[0]), np.array(given[0]), rows)

    def _unless_stopped(self) -> None:
        if self.error is not None:
            raise self.error
