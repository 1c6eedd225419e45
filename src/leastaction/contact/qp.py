"""Small quadratic programs with bounds: min 1/2 x'Hx + g'x, lower <= x <= upper, and optionally C x >= 0.

The solvers were chosen by measurement on rank-deficient Delassus matrices (times on one core). DAQP, a dual active-set
method with warm start from the multipliers of the previous problem, is accurate to round-off and the fastest up to
about a hundred unknowns (9 us with 8, 50 us with 30); PIQP, an interior-point method, has no warm start and six to
eight digits, but is faster beyond that and has a sparse solver. Clarabel took ten times as long; ProxQP stopped at the
old solution when only the bounds had changed, unless it checked the duality gap, and then took five times as long.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from leastaction._extras import require
from leastaction.errors import ConvergenceError, IntegratorError
from leastaction.mechanism._check import choice
from leastaction.mechanism.arguments import FloatArray

SOLVERS = ("auto", "daqp", "piqp")
LARGE = 150
"""Number of unknowns above which "auto" uses PIQP."""
INFINITE = 1e30
"""DAQP's value for infinity."""


class QuadraticProgram:
    """Solver for a sequence of similar problems; each solution warm-starts the next of the same size.

    Args:
        solver: "daqp", "piqp" or "auto" (DAQP up to 150 unknowns).
        tolerance: of the residuals.
        regularization: relative addition to the diagonal, which selects the solution of least norm; in an
            interior-point method it has an effect only well above the tolerance.
    """

    def __init__(self, solver: str = "auto", tolerance: float = 1e-10, regularization: float = 1e-9) -> None:
        self.solver = choice(solver, SOLVERS, "the QP solver", IntegratorError)
        self.tolerance, self.regularization = tolerance, regularization
        self._last: dict[tuple[int, int], FloatArray] = {}

    def solve(
        self, H: Any, g: FloatArray, lower: Any = 0.0, upper: Any = np.inf, C: FloatArray | None = None
    ) -> FloatArray:
        """Return the solution x, shape (n,).

        Args:
            H: positive semidefinite, shape (n, n); a SciPy sparse array goes to PIQP's sparse solver.
            g: shape (n,).
            lower, upper: bounds, shape (n,) or scalar.
            C: matrix of the constraints C x >= 0, shape (m, n).
        """
        n = len(g)
        if n == 0:
            return np.zeros(0)
        # Uniform scaling, and the solution of least norm among equally good ones (2.125).
        size = max(float(H.diagonal().sum()) / n, 1e-300)
        scattered = sparse.issparse(H)
        H = 0.5 / size * (H + H.T) + self.regularization * (sparse.eye_array(n) if scattered else np.eye(n))
        lower, upper = np.broadcast_to(lower, n).astype(float), np.broadcast_to(upper, n).astype(float)
        force = max(float(np.abs(g).max()), 1e-300)
        scale = force / size
        bounds = lower / scale, upper / scale
        x = None
        if not scattered and (self.solver == "daqp" or (self.solver == "auto" and n <= LARGE)):
            x = self._daqp(H, g / force, *bounds, C)
        if x is None:
            x = self._piqp(H, g / force, *bounds, C)
        if x is None:
            raise ConvergenceError(f"a quadratic program with {n} unknowns was not solved")
        return np.clip(x * scale, lower, upper)

    def _daqp(self, H: Any, g: Any, lower: Any, upper: Any, C: Any) -> FloatArray | None:
        daqp: Any = require("daqp", "qp")
        n, m = len(g), 0 if C is None else len(C)
        rows = np.zeros((0, n)) if C is None else np.ascontiguousarray(C)
        low = np.maximum(np.concatenate([lower, np.zeros(m)]), -INFINITE)
        high = np.minimum(np.concatenate([upper, np.full(m, INFINITE)]), INFINITE)
        kind = np.zeros(n + m, np.int32)
        settings = {"primal_tol": self.tolerance, "eps_prox": 0.0}
        for start in (self._last.pop((n, m), None), None):
            more = {} if start is None else {"dual_start": start}
            x, _, flag, info = daqp.solve(H, g, rows, high, low, kind, **more, **settings)
            x = np.array(x)
            if flag == 1 and np.isfinite(x).all() and self._is_solved(H, g, lower, upper, C, x):
                self._last[n, m] = np.array(info["lam"])
                return x
            if start is None:
                break
        return None

    def _is_solved(self, H: Any, g: Any, lower: Any, upper: Any, C: Any, x: FloatArray) -> bool:
        """Whether x is stationary; always true for problems with C, which relies on the solver's status."""
        if C is not None:
            return True
        return bool(np.abs(x - np.clip(x - (H @ x + g), lower, upper)).max() < 1e-6)

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
