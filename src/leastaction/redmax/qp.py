"""Small quadratic programs with bounds: min 1/2 x'Hx + g'x, lower <= x <= upper, and optionally C x >= 0.

Measured on Delassus matrices of rank below their size: ProxQP started from the solution before is the fastest and the
most accurate up to about a hundred unknowns and slow beyond; PIQP, which has no warm start, is robust at any size.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from leastaction._extras import require
from leastaction.dynamics.workspace import FloatArray
from leastaction.errors import ConvergenceError, IntegratorError

SOLVERS = ("auto", "proxqp", "piqp")
LARGE = 100
"""Number of unknowns beyond which "auto" takes PIQP."""
INFINITE = 1e20
"""What ProxQP takes for infinity."""


class QuadraticProgram:
    """Solves one kind of problem again and again; each solution starts the next one of the same size.

    Args:
        solver: "proxqp", "piqp" or "auto" (ProxQP up to 100 unknowns).
        tolerance: of the residuals.
    """

    def __init__(self, solver: str = "auto", tolerance: float = 1e-10) -> None:
        if solver not in SOLVERS:
            raise IntegratorError(f"the QP solver must be one of {', '.join(map(repr, SOLVERS))}; got {solver!r}")
        self.solver, self.tolerance = solver, tolerance
        self._prox: dict[tuple[int, int], Any] = {}

    def solve(
        self, H: Any, g: FloatArray, lower: Any = 0.0, upper: Any = np.inf, C: FloatArray | None = None
    ) -> FloatArray:
        """The solution x, shape (n,).

        Args:
            H: positive semidefinite, shape (n, n); a SciPy sparse array goes to PIQP's sparse solver.
            g: shape (n,).
            lower, upper: bounds, shape (n,) or one for all.
            C: rows that must not become negative, shape (m, n).
        """
        n = len(g)
        if n == 0:
            return np.zeros(0)
        # Equal scaling of all, and a touch of regularisation: of equally good solutions the smallest (2.125).
        size = max(float(H.diagonal().sum()) / n, 1e-300)
        scattered = sparse.issparse(H)
        H = 0.5 / size * (H + H.T) + 1e-9 * (sparse.eye_array(n) if scattered else np.eye(n))
        lower, upper = np.broadcast_to(lower, n).astype(float), np.broadcast_to(upper, n).astype(float)
        force = max(float(np.abs(g).max()), 1e-300)
        scale = force / size
        bounds = lower / scale, upper / scale
        x = None
        if not scattered and (self.solver == "proxqp" or (self.solver == "auto" and n <= LARGE)):
            x = self._proxqp(H, g / force, *bounds, C)
        if x is None:
            x = self._piqp(H, g / force, *bounds, C)
        if x is None:
            raise ConvergenceError(f"a quadratic program with {n} unknowns was not solved")
        return np.clip(x * scale, lower, upper)

    def _proxqp(self, H: Any, g: Any, lower: Any, upper: Any, C: Any) -> FloatArray | None:
        proxqp: Any = require("proxsuite", "qp").proxqp
        n, m = len(g), 0 if C is None else len(C)
        low, high = np.maximum(lower, -INFINITE), np.minimum(upper, INFINITE)
        rows = (None, None, None) if C is None else (C, np.zeros(m), np.full(m, INFINITE))
        qp = self._prox.get((n, m))
        if qp is None:
            qp = self._prox[n, m] = proxqp.dense.QP(n, 0, m, True)
            qp.settings.eps_abs, qp.settings.eps_rel = self.tolerance, 0.0
            qp.settings.max_iter = 1000
            qp.settings.initial_guess = proxqp.InitialGuess.WARM_START_WITH_PREVIOUS_RESULT
            qp.init(H, g, None, None, *rows, low, high)
        else:
            qp.update(H=H, g=g, C=rows[0], l=rows[1], u=rows[2], l_box=low, u_box=high)
        qp.solve()
        x = np.array(qp.results.x)
        if qp.results.info.status != proxqp.QPSolverOutput.PROXQP_SOLVED or not np.isfinite(x).all():
            del self._prox[n, m]  # its multipliers would spoil the next start
            return None
        return x

    def _piqp(self, H: Any, g: Any, lower: Any, upper: Any, C: Any) -> FloatArray | None:
        piqp: Any = require("piqp", "qp")
        scattered = sparse.issparse(H)
        qp = piqp.SparseSolver() if scattered else piqp.DenseSolver()
        qp.settings.eps_abs = qp.settings.eps_rel = self.tolerance
        rows = {} if C is None else {"G": C, "h_l": np.zeros(len(C)), "h_u": np.full(len(C), np.inf)}
        qp.setup(H.tocsc() if scattered else H, g, x_l=lower, x_u=upper, **rows)
        status = qp.solve()
        x = np.array(qp.result.x)
        good = status in (piqp.PIQP_SOLVED, piqp.PIQP_MAX_ITER_REACHED) and np.isfinite(x).all()
        return x if good else None
