"""How well a motion satisfies the equations of motion between its knots (Villanueva 2025, Section 5.2.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from leastaction.dynamics.api import forward_dynamics, passive_forces
from leastaction.errors import ProblemError
from leastaction.optimize.motion.tangents import Tangents

if TYPE_CHECKING:
    from leastaction.optimize.solution import Solution

FloatArray = NDArray[np.float64]

POINTS = 5
"""Gauss points on each step, on which |x' - f| is integrated."""


def step_errors(solution: Solution) -> FloatArray:
    """See `Solution.errors`."""
    from scipy.interpolate import CubicSpline

    run, m = solution.trajectory, solution.mechanism
    if not m.is_tree or solution.forces:
        raise ProblemError("accuracy between knots is measured where no loop, foot or contact holds the robot")
    positions, speeds = Between(solution), CubicSpline(run.t, run.v)
    x, w = np.polynomial.legendre.leggauss(POINTS)
    fractions, weights = 0.5 * (x + 1.0), 0.5 * run.dt * w
    out = np.zeros((run.steps, 2 * m.nv))
    for k in range(run.steps):
        for fraction, weight in zip(fractions, weights, strict=True):
            t = run.t[k] + fraction * run.dt
            (q, rate), v = positions(k, t), speeds(t)
            force = m.generalized_forces(smooth_control(solution, t), q) + passive_forces(m, q, v)
            acceleration = forward_dynamics(m, q, v, force)
            gap = np.concatenate([rate - v, speeds(t, 1) - acceleration])
            out[k] += weight * np.abs(gap)
    return out


class Between:
    """Positions between knots: cubic splines, and for ball and free joints cubics along the tangent at the knot before.

    These have the velocities of the solution at both ends.
    """

    def __init__(self, solution: Solution) -> None:
        from scipy.interpolate import CubicSpline

        self.run, self.mechanism = solution.trajectory, solution.mechanism
        self.tangents = Tangents(solution.mechanism)
        self.single = [(g.iq, g.iv) for g in self.mechanism.coordinate_groups if g.nv == 1]
        self.splines = CubicSpline(self.run.t, self.run.q)
        self.v = self.run.v

    def __call__(self, k: int, t: float) -> tuple[FloatArray, FloatArray]:
        """Positions (nq,) at the time t [s] within step k, and velocities (nv,)."""
        run, m = self.run, self.mechanism
        if not self.tangents.curved:
            return self.splines(t), self.splines(t, 1)
        s, h = (t - run.t[k]) / run.dt, run.dt
        end = m.difference(run.q[k], run.q[k + 1])
        # At the end of the step v is in the frame there.
        back = self.tangents.retraction(end[None])
        assert back is not None
        a, b = h * self.v[k], h * np.linalg.solve(back[0], self.v[k + 1])
        x = s * a + s * s * (3.0 * end - 2.0 * a - b) + s**3 * (a + b - 2.0 * end)
        slope = a + 2.0 * s * (3.0 * end - 2.0 * a - b) + 3.0 * s * s * (a + b - 2.0 * end)
        turned = self.tangents.retraction(x[None])
        assert turned is not None
        q, rate = m.integrate(run.q[k], x), turned[0] @ slope / h
        for iq, iv in self.single:
            q[iq], rate[iv] = self.splines(t)[iq], self.splines(t, 1)[iq]
        return q, rate


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
