"""IPOPT, from CasADi's wheel, on our own compiled derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction._extras import require
from leastaction.errors import ProblemError
from leastaction.optimize.solvers.solver import Asked, Solver
from leastaction.optimize.transcriptions.sparsity import FloatArray
from leastaction.optimize.transcriptions.transcription import Transcription

STALLED, FAR, LESS = 150, 1e-3, 0.9
"""Iterations, restoration included, within which a violation beyond `FAR` must fall to that share: else IPOPT would go
on to its last one without a way to the constraints."""


def _settings(asked: Asked, exact: bool, warm: bool) -> dict[str, Any]:
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


class Ipopt(Solver):
    """IPOPT."""

    without_hessian = ("l-bfgs",)

    def __init__(self, program: Transcription, hessian: str, log: Any) -> None:
        self.ca = require("casadi", "optimize")
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

    def solve(self, z: FloatArray, multipliers: Any, asked: Asked) -> tuple[FloatArray, Any, str]:
        """See `Solver.solve`."""
        ca, program = self.ca, self.program
        n, m = program.n, program.m
        dense, column = ca.Sparsity.dense, ca.Sparsity.dense(n, 1)
        inputs = [column, dense(0, 1)]
        J, H = _sparsity(ca, program.jacobian_pattern), self.hessian and _sparsity(ca, self.hessian.pattern)
        Callback = _callback_class(ca)
        x = ca.MX.sym("x", n)
        # All callbacks must live as long as the solver.
        f = Callback("nlp_cost", self, inputs[:1], [dense(1, 1)], self._cost)
        g = Callback("nlp_constraints", self, inputs[:1], [dense(m, 1)], self._constraints)
        grad = Callback("nlp_gradient", self, inputs, [dense(1, 1), column], self._gradient)
        jac = Callback("nlp_jacobian", self, inputs, [dense(m, 1), J], self._jacobian)
        watch = _watch_class(ca)("watch", self, n, m)
        settings = _settings(asked, self.hessian is not None, multipliers is not None)
        options = {"ipopt": settings, "print_time": False, "no_nlp_grad": True, "calc_lam_p": False}
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
        if isinstance(self.error, KeyboardInterrupt):
            out, status, self.stopped = None, "User_Requested_Stop", True
        elif self.error is not None:
            raise self.error
        elif status == "User_Requested_Stop":  # asked for by `stalls`
            status = "Restoration_Failed"
        if out is None:
            return z if self.best is None else self.best[2], (np.zeros(n), np.zeros(m)), status
        found = np.array(out["x"]).ravel()
        if not np.isfinite(found).all() and self.best is not None:
            found = self.best[2]
        return found, (np.array(out["lam_x"]).ravel(), np.array(out["lam_g"]).ravel()), status

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


def _sparsity(ca: Any, pattern: Any) -> Any:
    rows, columns = pattern.shape
    return ca.Sparsity(rows, columns, pattern.indptr.tolist(), pattern.indices.tolist())


def _callback_class(ca: Any) -> Any:
    class Callback(ca.Callback):
        """A function that reads and writes CasADi's own memory."""

        def __init__(self, name: str, run: Ipopt, inputs: Any, outputs: Any, function: Any) -> None:
            ca.Callback.__init__(self)
            self.run, self.inputs, self.outputs, self.function = run, inputs, outputs, function
            self.construct(name, {})

        def get_n_in(self) -> int:
            return len(self.inputs)

        def get_n_out(self) -> int:
            return len(self.outputs)

        def get_sparsity_in(self, i: int) -> Any:
            return self.inputs[i]

        def get_sparsity_out(self, i: int) -> Any:
            return self.outputs[i]

        def has_eval_buffer(self) -> bool:
            return True

        def eval_buffer(self, arg: Any, res: Any) -> int:
            given = [None if x is None else np.frombuffer(x) for x in arg]
            out = [None if x is None else np.frombuffer(x) for x in res]
            try:
                self.function(given, out)
            except BaseException as error:
                self.run.error = self.run.error or error
                for values in out:
                    if values is not None:
                        values[:] = np.nan
            return 0

    return Callback


def _watch_class(ca: Any) -> Any:
    class Watch(ca.Callback):
        """Called after each iteration."""

        def __init__(self, name: str, run: Ipopt, n: int, m: int) -> None:
            ca.Callback.__init__(self)
            self.run = run
            self.sizes = {"x": n, "lam_x": n, "g": m, "lam_g": m, "f": 1}
            self.names = [ca.nlpsol_out(i) for i in range(ca.nlpsol_n_out())]
            self.construct(name, {})

        def get_n_in(self) -> int:
            return len(self.names)

        def get_n_out(self) -> int:
            return 1

        def get_sparsity_in(self, i: int) -> Any:
            return ca.Sparsity.dense(self.sizes.get(self.names[i], 0), 1)

        def eval(self, arg: Any) -> list[int]:
            x, f, g = (np.array(arg[self.names.index(name)]).ravel() for name in ("x", "f", "g"))
            try:
                self.run.note(float(f[0]), x, g)
                return [int(self.run.error is not None or self.run.stalls())]
            except BaseException as error:
                self.run.error = self.run.error or error
                return [1]

    return Watch
