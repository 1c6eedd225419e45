"""IPOPT, from CasADi's wheel, on our own compiled derivatives."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction._extras import require
from leastaction.errors import ProblemError
from leastaction.optimize.exact import HESSIANS
from leastaction.optimize.hessian import Hessian
from leastaction.optimize.problem import Problem
from leastaction.optimize.solution import Iteration, Solution, make_solution
from leastaction.optimize.transcription import Transcription

FloatArray = NDArray[np.float64]

REASONS = {
    "Solve_Succeeded": "",
    "Solved_To_Acceptable_Level": "solved to the acceptable level only",
    "Infeasible_Problem_Detected": "the constraints contradict each other here",
    "Maximum_Iterations_Exceeded": "it took too many iterations",
    "Maximum_CpuTime_Exceeded": "it took too long",
    "Maximum_WallTime_Exceeded": "it took too long",
    "User_Requested_Stop": "it was stopped",
    "Restoration_Failed": "no way back to the constraints was found",
    "Invalid_Number_Detected": "a cost, a constraint or a derivative is not finite",
    "Diverging_Iterates": "the motion runs away without bound",
    "Search_Direction_Becomes_Too_Small": "the search came to a standstill",
    "Error_In_Step_Computation": "the linear system of an iteration could not be solved",
    "Not_Enough_Degrees_Of_Freedom": "there are more equations than unknowns",
}
"""What the endings of IPOPT mean."""

RECENTERED = 4
"""How often the reference of ball and free joints may move before a solve gives up."""

FAR = 1.5
"""Turns from the reference [rad] beyond which a solution is taken up again from there."""


def solve(
    problem: Problem,
    *,
    hessian: str = "differences",
    tolerance: float = 1e-8,
    max_iterations: int = 500,
    time_limit: float | None = None,
    log: bool | Callable[[Iteration], Any] = False,
    warm_start: Solution | None = None,
    options: dict[str, Any] | None = None,
) -> Solution:
    """Solve a problem with IPOPT.

    Args:
        problem: what to solve.
        hessian: second derivatives: "differences" of the analytic gradient, "gauss-newton", or "l-bfgs" for none.
        tolerance: of IPOPT, relative, on optimality and constraints.
        max_iterations: at most so many.
        time_limit: [s].
        log: True prints a line for each iteration; a function is called with each `Iteration`.
        warm_start: a solution of a problem with the same unknowns, from which the search begins.
        options: passed on to IPOPT by their names there.

    Returns:
        The solution; `success` says whether it is one, `reason` why not. Ctrl-C gives the best motion so far.

    Raises:
        ProblemError: the problem is ill posed. What functions of yours raise comes through.
    """
    program = problem.transcribe()
    z, multipliers, status = problem.initial_unknowns(program), None, ""
    if warm_start is not None:
        z, multipliers = _warm(program, z, warm_start)
    began = time.perf_counter()
    run = _Run(program, hessian, log)
    for attempt in range(RECENTERED + 1):
        left = None if time_limit is None else max(time_limit - (time.perf_counter() - began), 1e-3)
        settings = _settings(tolerance, max_iterations, left, hessian, multipliers is not None, options or {})
        z, multipliers, status = run.solve(z, multipliers, settings)
        if run.stopped:
            break
        turns = [program.layout.q[:, g][:, :3] for g in program.tangents.groups]
        turned = max((float(np.abs(z[t]).max()) for t in turns), default=0.0)
        if turned < FAR or attempt == RECENTERED:
            break
        motion = program.motion(z)
        z = program.unknowns(motion.q.copy(), z[program.layout.u], program.duration(z))
    assert multipliers is not None
    return make_solution(
        program,
        z,
        multipliers,
        status=status,
        reason=REASONS.get(status, status),
        iterations=run.iterations,
        seconds=time.perf_counter() - began,
        tolerance=tolerance,
    )


def _warm(program: Transcription, z: FloatArray, old: Solution) -> tuple[FloatArray, Any]:
    if old.z.shape != z.shape:
        raise ProblemError(f"warm_start: that solution has {len(old.z)} unknowns, this problem has {len(z)}")
    points = old.configurations
    start = np.clip(program.unknowns(points, old.z[program.layout.u], old.duration), program.lower, program.upper)
    if len(program.layout.p):
        start[program.layout.p] = old.z[program.layout.p]
    lam = old.multipliers
    return start, (lam if len(lam[1]) == program.m else None)


def _settings(tolerance: float, iterations: int, limit: Any, hessian: str, warm: bool, more: dict[str, Any]) -> Any:
    out: dict[str, Any] = {
        "print_level": 0,
        "sb": "yes",
        "tol": tolerance,
        "max_iter": iterations,
        "constr_viol_tol": min(1e-6, 1e2 * tolerance),
        # Of random starts of swing-ups the adaptive strategy loses a quarter, this one none.
        "mu_strategy": "monotone",
        "mu_init": 1.0,
        "bound_relax_factor": 1e-10,
        "honor_original_bounds": "yes",
    }
    if limit is not None:
        out["max_wall_time"] = limit
    if hessian == "l-bfgs":
        out["hessian_approximation"] = "limited-memory"
    if warm:
        out |= {"warm_start_init_point": "yes", "warm_start_bound_push": 1e-8, "warm_start_mult_bound_push": 1e-8}
        out["mu_init"] = 1e-4
    return out | more


class _Run:
    """Calls of IPOPT on one program, and what is to be told of them."""

    def __init__(self, program: Transcription, hessian: str, log: Any) -> None:
        self.ca = require("casadi", "optimize")
        if hessian not in (*HESSIANS, "l-bfgs"):
            raise ProblemError(f"hessian must be one of {', '.join(HESSIANS)}, l-bfgs, got {hessian!r}")
        self.program = program
        self.hessian: Hessian | None = HESSIANS[hessian](program) if hessian in HESSIANS else None
        self.log = log
        self.iterations: list[Iteration] = []
        self.error: BaseException | None = None
        self.stopped = False
        self.best: tuple[float, float, FloatArray] | None = None

    def solve(self, z: FloatArray, multipliers: Any, settings: dict[str, Any]) -> tuple[FloatArray, Any, str]:
        """One call; gives (z, (multipliers of bounds, of constraints), IPOPT's status)."""
        ca, program = self.ca, self.program
        n, m = program.n, program.m
        free = int((program.lower < program.upper).sum())
        equations = int((program.c_lower == program.c_upper).sum())
        if equations > free:
            raise ProblemError(
                f"there are more equations ({equations}) than unknowns that are free ({free}): what is given at the "
                f"start, the finish and along the way leaves the robot no choice"
            )
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
        options = {"ipopt": settings, "print_time": False, "no_nlp_grad": True, "calc_lam_p": False}
        options |= {"grad_f": grad, "jac_g": jac, "iteration_callback": watch, "show_eval_warnings": False}
        if H is not None:
            more = [*inputs, dense(1, 1), dense(m, 1)]
            hess = Callback("nlp_hessian", self, more, [H], self._hessian)
            options["hess_lag"] = hess
        solver = ca.nlpsol("solver", "ipopt", {"x": x, "f": f(x), "g": g(x)}, options)
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

    def iteration(self, f: float, z: FloatArray, c: FloatArray) -> bool:
        """Take note of an iterate; True stops."""
        program = self.program
        excess = np.maximum(np.maximum(program.c_lower - c, c - program.c_upper), 0.0)
        violation = float(excess.max(initial=0.0))
        if self.best is None or (violation, f) < self.best[:2]:
            self.best = (violation, f, z.copy())
        entry = Iteration(len(self.iterations), f, violation)
        self.iterations.append(entry)
        if self.log is True:
            print(f"{entry.number:5d}  cost {entry.cost:14.6e}  violation {entry.violation:9.2e}", flush=True)
        elif callable(self.log):
            self.log(entry)
        return self.error is not None


def _sparsity(ca: Any, pattern: Any) -> Any:
    rows, columns = pattern.shape
    return ca.Sparsity(rows, columns, pattern.indptr.tolist(), pattern.indices.tolist())


def _callback_class(ca: Any) -> Any:
    class Callback(ca.Callback):
        """A function that reads and writes CasADi's own memory."""

        def __init__(self, name: str, run: _Run, inputs: Any, outputs: Any, function: Any) -> None:
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

        def __init__(self, name: str, run: _Run, n: int, m: int) -> None:
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
                return [int(self.run.iteration(float(f[0]), x, g))]
            except BaseException as error:
                self.run.error = self.run.error or error
                return [1]

    return Watch
