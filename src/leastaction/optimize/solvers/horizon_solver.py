"""The package's own solver: an interior-point method whose systems are solved along the horizon."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from leastaction.errors import ProblemError
from leastaction.optimize.functions import argument_checks
from leastaction.optimize.solvers.filter_line_search import search
from leastaction.optimize.solvers.nlp_solver import Solver, SolverRequest
from leastaction.optimize.solvers.primal_dual import Interior
from leastaction.optimize.transcriptions.sparsity import FloatArray

MU, LEAST_MU, NEARLY = 0.1, 1e-5, 1e-2
"""Barrier parameter at the beginning, at most and at least, and beside the square of the first violation."""
WARM_MU, WARM_PUSH = 1e-4, 1e-8
"""That of a warm start, and how far a warm start is moved off its bounds."""
OPTIONS = ("mu_init",)


class Horizon(Solver):
    """An interior-point method of our own (`primal_dual`, `filter_line_search`)."""

    def solve(self, z: FloatArray, multipliers: Any, asked: SolverRequest) -> tuple[FloatArray, Any, str]:
        """See `Solver.solve`."""
        unknown = [name for name in asked.options if name not in OPTIONS]
        if unknown:
            raise ProblemError(f"options: 'horizon' knows {', '.join(OPTIONS)} alone, got {unknown[0]!r}")
        if "mu_init" in asked.options:
            argument_checks.number(asked.options["mu_init"], "options: mu_init", above=0.0)
        program = self.program
        assert self.hessian is not None
        ip = Interior(program, self.hessian, asked.tolerance)
        if asked.time_limit is not None:
            ip.deadline = time.perf_counter() + asked.time_limit
        ip.watch = self._watch
        warm = multipliers is not None
        mu = asked.options.get("mu_init", WARM_MU if warm else self._first_barrier(z))
        try:
            # Where something overflows a line search turns round, and what is infinite is reported in the end.
            with np.errstate(all="ignore"):
                status = ip.start(z, multipliers, mu, WARM_PUSH) if warm else ip.start(z, None, mu)
                status = status or search(ip, asked.max_iterations)
        except KeyboardInterrupt:
            self.stopped = True
            found = z if self.best is None else self.best[2]
            return found, (np.zeros(program.n), np.zeros(program.m)), "User_Requested_Stop"
        if status == "Invalid_Number_Detected" and not self.iterations:
            return z, (np.zeros(program.n), np.zeros(program.m)), status
        z = z.copy()
        z[ip.system.free] = ip.x[: ip.n]
        z = np.clip(z, program.lower, program.upper)
        if not np.isfinite(z).all() and self.best is not None:
            z = self.best[2]
        return z, ip.multipliers(), status

    def _first_barrier(self, z: FloatArray) -> float:
        """A guess that nearly keeps to the constraints is not pushed away from them."""
        c = np.zeros(self.program.m)
        self.program.constraints(z, c)
        excess = np.maximum(self.program.c_lower - c, c - self.program.c_upper).max(initial=0.0)
        return float(np.clip(NEARLY * excess * excess, LEAST_MU, MU)) if np.isfinite(excess) else MU

    def _watch(self, ip: Interior) -> None:
        """Report the iterate at which the search is."""
        z = ip.z.copy()
        z[ip.system.free] = ip.x[: ip.n]
        self.note(ip.f / ip.cost_scale, z, ip.constraints())
