"""IPOPT, from CasADi's wheel, on our own compiled derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction._extras import require
from leastaction.errors import ProblemError
from leastaction.optimize.solvers.casadi_calls import callback_class, sparsity, watch_class
from leastaction.optimize.solvers.nlp_solver import Solver, SolverRequest
from leastaction.optimize.transcriptions.sparsity import FloatArray
from leastaction.optimize.transcriptions.transcription import Transcription

STALLED, FAR, LESS = 150, 1e-3, 0.9
"""Iterations, restoration included, within which a violation beyond `FAR` must fall to that share: else IPOPT would go
on to its last one without a way to the constraints."""


def settings(asked: SolverRequest, exact: bool, warm: bool) -> dict[str, Any]:
    """Options of IPOPT; exact: with second derivatives."""
    out: dict[str, Any] = {
        "print_level": 0,
        "sb": "yes",
        "tol": asked.tolerance,
        "max_iter": asked.max_iterations,
        "constr_viol_tol": min(1e-6, 1e2 * asked.tolerance),
        # Of random starts of swing-ups the adaptive strategy loses a quarter, this one none.
        "mu_strategy": "monotone",
        "mu_init": 1.0,
        "bound_relax_factor": 1e-10,
        "honor_original_bounds": "yes",
    }
    if asked.time_limit is not None:
        out["max_wall_time"] = asked.time_limit
    if not exact:
        out["hessian_approximation"] = "limited-memory"
    if warm:
        out |= {"warm_start_init_point": "yes", "warm_start_bound_push": 1e-8, "warm_start_mult_bound_push": 1e-8}
        out["mu_init"] = 1e-4
    return out | asked.options


class Called(Solver):
    """A solver that calls us back, through code that knows no exceptions.

    Attributes:
        error: what a call raised first; the solver is asked to end, and it is raised after that.
    """

    without_hessian = ("l-bfgs",)

    def __init__(self, program: Transcription, hessian: str, log: Any) -> None:
        super().__init__(program, hessian, log)
        self.error: BaseException | None = None
        self.least, self.since = np.inf, 0

    def stalls(self) -> bool:
        """Whether many iterations lessened the largest violation by next to nothing."""
        violation = self.iterations[-1].violation
        if violation <= FAR:
            self.least, self.since = np.inf, 0
        elif violation <= LESS * self.least:
            self.least, self.since = violation, 0
        self.since += 1
        return self.since > STALLED

    def ended(self, z: FloatArray, out: Any, status: str) -> tuple[FloatArray, Any, str]:
        """What `solve` gives for (z, multipliers), or None, and a status; raises what a call raised."""
        n, m = self.program.n, self.program.m
        if isinstance(self.error, KeyboardInterrupt):
            out, status, self.stopped = None, "User_Requested_Stop", True
        elif self.error is not None:
            raise self.error
        elif status == "User_Requested_Stop":  # asked for by `stalls`
            status = "Restoration_Failed"
        if out is None:
            return z if self.best is None else self.best[2], (np.zeros(n), np.zeros(m)), status
        found, multipliers = out
        if not np.isfinite(found).all() and self.best is not None:
            found = self.best[2]
        return found, multipliers, status


class Ipopt(Called):
    """IPOPT, as CasADi's wheel brings it."""

    def __init__(self, program: Transcription, hessian: str, log: Any) -> None:
        self.ca = require("casadi", "optimize")
        super().__init__(program, hessian, log)

    def solve(self, z: FloatArray, multipliers: Any, asked: SolverRequest) -> tuple[FloatArray, Any, str]:
        """See `Solver.solve`."""
        ca, program = self.ca, self.program
        n, m = program.n, program.m
        dense, column = ca.Sparsity.dense, ca.Sparsity.dense(n, 1)
        inputs = [column, dense(0, 1)]
        J, H = sparsity(ca, program.jacobian_pattern), self.hessian and sparsity(ca, self.hessian.pattern)
        Callback = callback_class(ca)
        x = ca.MX.sym("x", n)
        # All callbacks must live as long as the solver.
        f = Callback("nlp_cost", self, inputs[:1], [dense(1, 1)], self._cost)
        g = Callback("nlp_constraints", self, inputs[:1], [dense(m, 1)], self._constraints)
        grad = Callback("nlp_gradient", self, inputs, [dense(1, 1), column], self._gradient)
        jac = Callback("nlp_jacobian", self, inputs, [dense(m, 1), J], self._jacobian)
        watch = watch_class(ca)("watch", self, n, m)
        chosen = settings(asked, self.hessian is not None, multipliers is not None)
        options = {"ipopt": chosen, "print_time": False, "no_nlp_grad": True, "calc_lam_p": False}
        options |= {"grad_f": grad, "jac_g": jac, "iteration_callback": watch, "show_eval_warnings": False}
        if H is not None:
            more = [*inputs, dense(1, 1), dense(m, 1)]
            hess = Callback("nlp_hessian", self, more, [H], self._hessian)
            options["hess_lag"] = hess
        try:
            solver = ca.nlpsol("solver", "ipopt", {"x": x, "f": f(x), "g": g(x)}, options)
        except RuntimeError as error:
            if not asked.options:
                raise
            why = str(error).strip().splitlines()[-1].split(".cpp:")[-1].partition(": ")[2]
            raise ProblemError(f"options: IPOPT refuses one of {', '.join(map(repr, asked.options))}: {why}") from None
        self.least, self.since = np.inf, 0
        start = {"x0": z, "lbx": program.lower, "ubx": program.upper, "lbg": program.c_lower, "ubg": program.c_upper}
        if multipliers is not None:
            start |= {"lam_x0": multipliers[0], "lam_g0": multipliers[1]}
        try:
            out = solver(**start)
            status = solver.stats()["return_status"]
        except KeyboardInterrupt as error:
            out, status, self.error = None, "", self.error or error
        if out is not None:
            x, *lam = (np.array(out[name]).ravel() for name in ("x", "lam_x", "lam_g"))
            out = x, tuple(lam)
        return self.ended(z, out, status)

    # ------------------------------------------------------------------ what IPOPT asks

    def _cost(self, given: Any, out: Any) -> None:
        out[0][0] = self.program.cost(given[0])

    def _constraints(self, given: Any, out: Any) -> None:
        self.program.constraints(given[0], out[0])

    def _gradient(self, given: Any, out: Any) -> None:
        if out[0] is not None:
            out[0][0] = self.program.cost(given[0])
        if out[1] is not None:
            self.program.gradient(given[0], out[1])

    def _jacobian(self, given: Any, out: Any) -> None:
        if out[0] is not None:
            self.program.constraints(given[0], out[0])
        if out[1] is not None:
            self.program.jacobian(given[0], out[1])

    def _hessian(self, given: Any, out: Any) -> None:
        assert self.hessian is not None
        none = np.zeros(self.program.m)
        weight = 0.0 if given[2] is None else float(given[2][0])
        self.hessian.evaluate(given[0], weight, none if given[3] is None else given[3], out[0])
