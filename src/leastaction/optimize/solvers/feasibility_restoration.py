"""Feasibility restoration, when the filter refuses all steps (Waechter and Biegler 2006, Section 3.3).

Newton's method, damped as by Levenberg and Marquardt, on  1/2 |c(x) - s|^2 - mu sum log(distances from bounds),  by the
same linear system: with -1 on the diagonal of the constraints it is that of least squares. Where it comes to rest at a
violation, the constraints contradict each other nearby.
"""

from __future__ import annotations

import math

import numpy as np

from leastaction.optimize.solvers import bound_sums
from leastaction.optimize.solvers.primal_dual import Interior, ViolationHistory
from leastaction.optimize.transcriptions.sparsity import FloatArray

ENOUGH, THOROUGH = 0.9, 0.1
"""Shares of the violation at which restoration may end, in general and where the search only creeps towards the
constraints: then it is to find out whether there is a way."""
DAMPING, LEAST_DAMPING, LARGEST_DAMPING = 1e-4, 1e-10, 1e8
"""Of Levenberg and Marquardt."""
SHARE = 1e-2
"""Barrier parameter at the beginning, beside the largest squared violation."""
LEAST_MU = 1e-9
"""Barrier parameter at which it is decided whether there is a way."""
STANDSTILL = 1e-13
"""Relative steps below are none."""
STALLED, LOST = 80, 30
"""Restoration steps of a whole search within which the violation must decrease (`primal_dual.LESS`), and steps of one
thorough restoration: else it fails."""
REST = 1e-8
"""Gradient of the squared violation, beside the violation, at which the search has come to rest."""


def restore(ip: Interior, enough: float = ENOUGH) -> str:
    """Move x to where the violation is less and the filter agrees; gives a status if there is no such place.

    Args:
        ip: where the search is.
        enough: share of the violation.
    """
    status = _descend(ip, enough)
    kept = ip.violation() <= max(1e-6, 1e2 * ip.tolerance)
    return "Search_Direction_Becomes_Too_Small" if status == "Infeasible_Problem_Detected" and kept else status


def _descend(ip: Interior, enough: float) -> str:
    """See `restore`."""
    begin = float(np.abs(ip.rows).sum())
    if begin <= 1e-2 * ip.tolerance:
        return "Search_Direction_Becomes_Too_Small"
    way, most = (ip.back, STALLED) if enough > THOROUGH else (ViolationHistory(), LOST)
    damping, mu = DAMPING, min(ip.mu, SHARE * float(np.abs(ip.rows).max(initial=0.0)) ** 2)
    while True:
        resting = _at_rest(ip, mu)
        if resting and mu <= LEAST_MU:
            return "Infeasible_Problem_Detected"
        if resting:
            mu *= 0.1
        ip.curvature(ip.rows, 0.0)
        moved = None
        while moved is None and damping <= LARGEST_DAMPING:
            moved = _step(ip, mu, damping)
            damping = damping * 10.0 if moved is None else max(LEAST_DAMPING, damping / 5.0)
        if moved is None and mu > LEAST_MU:  # another barrier, another way
            mu, damping = 0.1 * mu, DAMPING
            continue
        if moved is None:
            return "Infeasible_Problem_Detected" if resting else "Restoration_Failed"
        x, f, rows = moved
        if float((np.abs(x - ip.x) / (1.0 + np.abs(ip.x))).max(initial=0.0)) < STANDSTILL:
            if mu <= LEAST_MU:
                return "Infeasible_Problem_Detected"
            mu *= 0.1
        _take(ip, x, f, rows, mu)
        theta = float(np.abs(rows).sum())
        if theta <= enough * begin and not ip.refuses(theta, ip.barrier(f, x)):
            return ""
        if theta <= 1e-2 * ip.tolerance:
            ip.new_filter()
            return ""
        if way.note(ip) > most:
            return "Restoration_Failed"
        status = ip.limit()
        if status:
            return status
        ip.slopes()


def _at_rest(ip: Interior, mu: float) -> bool:
    """Whether no small move lessens the squared violation."""
    below, above = ip.distances(ip.x)
    gradient = ip.pull_back(ip.rows) - mu / below + mu / above
    return float(np.abs(gradient).max(initial=0.0)) <= max(REST, 0.1 * mu) * max(1.0, float(np.abs(ip.rows).max()))


def _step(ip: Interior, mu: float, damping: float) -> tuple[FloatArray, float, FloatArray] | None:
    """A step that lessens the violation: (x, f, rows), or None."""
    system, n, loose = ip.system, ip.n, ip.loose
    below, above = ip.distances(ip.x)
    sigma = mu / below**2 + mu / above**2 + damping
    system.diagonal[:n] = sigma[:n]
    system.diagonal[n:] = -1.0
    system.diagonal[n:][loose] -= 1.0 / sigma[n:]
    inner = -mu / below + mu / above
    b = np.empty(n + ip.m)
    b[:n] = -inner[:n]
    b[n:] = -ip.rows
    b[n:][loose] -= inner[n:] / sigma[n:]
    if system.factor() != (n, ip.m, 0):
        return None
    found = system.solve(b)
    dx = np.empty(len(ip.x))
    dx[:n] = found[:n]
    dx[n:] = (found[n:][loose] - inner[n:]) / sigma[n:]
    if not np.isfinite(dx).all():
        return None

    def merit(x: FloatArray, rows: FloatArray) -> float:
        left, right = ip.distances(x)
        logs = np.log(left[ip.has_lower]).sum() + np.log(right[ip.has_upper]).sum()
        return 0.5 * bound_sums.dot(rows, rows) - mu * float(logs)

    now = merit(ip.x, ip.rows)
    slope = bound_sums.dot(ip.pull_back(ip.rows) + inner, dx)
    alpha = ip.longest_step(dx, 0.99)
    for _ in range(4):
        x = ip.x + alpha * dx
        f, rows = ip.cost_and_rows(x)
        if math.isfinite(f) and np.isfinite(rows).all() and merit(x, rows) <= now + 1e-4 * alpha * slope:
            return x, f, rows
        alpha *= 0.5
    return None


def _take(ip: Interior, x: FloatArray, f: float, rows: FloatArray, mu: float) -> None:
    """Go there; multipliers of bounds stay near the barrier's."""
    ip.x, ip.f, ip.rows = x, f, rows
    below, above = ip.distances(x)
    ip.low = np.clip(ip.low, 0.1 * mu / below, 10.0 * mu / below)
    ip.high = np.clip(ip.high, 0.1 * mu / above, 10.0 * mu / above)
