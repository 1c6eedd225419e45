"""How well a motion satisfies the equations of motion between its knots (Villanueva 2025, Section 5.2.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from leastaction.dynamics.api import forward_dynamics, passive_forces
from leastaction.errors import ProblemError

if TYPE_CHECKING:
    from leastaction.optimize.solution import Solution

FloatArray = NDArray[np.float64]

POINTS = 5
"""Gauss points on each step, on which |x' - f| is integrated."""


def step_errors(solution: Solution) -> FloatArray:
    """See `Solution.errors`."""
    from scipy.interpolate import CubicSpline

    run, m = solution.trajectory, solution.mechanism
    if m.nq != m.nv:
        raise ProblemError("accuracy between knots is measured for joints with single axes only")
    splines = CubicSpline(run.t, run.q), CubicSpline(run.t, run.v)
    x, w = np.polynomial.legendre.leggauss(POINTS)
    fractions, weights = 0.5 * (x + 1.0), 0.5 * run.dt * w
    out = np.zeros((run.steps, 2 * m.nv))
    for k in range(run.steps):
        for fraction, weight in zip(fractions, weights, strict=True):
            t = run.t[k] + fraction * run.dt
            q, v = splines[0](t), splines[1](t)
            force = m.generalized_forces(smooth_control(solution, t), q) + passive_forces(m, q, v)
            acceleration = forward_dynamics(m, q, v, force)
            gap = np.concatenate([splines[0](t, 1) - v, splines[1](t, 1) - acceleration])
            out[k] += weight * np.abs(gap)
    return out


def smooth_control(solution: Solution, t: float) -> FloatArray:
    """Controls between knots: those held over steps are values in the middles of steps, linear between these."""
    if solution.u.shape[1] > 1:
        return solution.control(t)
    steps, dt = len(solution.u), solution.trajectory.dt
    if steps == 1:
        return solution.u[0, 0]
    s = t / dt - 0.5
    k = min(max(int(np.floor(s)), 0), steps - 2)
    return (1.0 - (s - k)) * solution.u[k, 0] + (s - k) * solution.u[k + 1, 0]


def interpolated(nodes: FloatArray, values: FloatArray, fraction: float) -> FloatArray:
    """The polynomial through values (nodes, nu) at a fraction of a step."""
    out = np.zeros(values.shape[1])
    for i in range(len(nodes)):
        others = np.delete(nodes, i)
        out += values[i] * np.prod((fraction - others) / (nodes[i] - others))
    return out
