"""How well a motion satisfies the equations of motion between its knots (Villanueva 2025, Section 5.2.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from leastaction.dynamics.api import forward_dynamics, passive_forces
from leastaction.errors import ProblemError
from leastaction.optimize.functions.manifold_derivatives import Tangents
from leastaction.typing import FloatArray

if TYPE_CHECKING:
    from leastaction.optimize.solution.solution import Solution


POINTS = 5
"""Gauss points on each step, on which |x' - f| is integrated."""


def step_errors(solution: Solution) -> FloatArray:
    """See `Solution.errors`."""
    run, m = solution.trajectory, solution.mechanism
    if not m.is_tree or solution.forces:
        raise ProblemError("accuracy between knots is measured where no loop, foot or contact holds the robot")
    between = Between(solution)
    x, w = np.polynomial.legendre.leggauss(POINTS)
    fractions, weights = 0.5 * (x + 1.0), 0.5 * run.dt * w
    out = np.zeros((run.steps, 2 * m.nv))
    for k in range(run.steps):
        for fraction, weight in zip(fractions, weights, strict=True):
            q, rate = between.position(k, fraction)
            v, slope = between.velocity(k, fraction)
            gap = np.concatenate([rate - v, slope - between.acceleration(run.t[k] + fraction * run.dt, q, v)])
            out[k] += weight * np.abs(gap)
    return out


class Between:
    """The motion between knots: cubics that have at both ends of a step the values and rates that are known there.

    These are the cubic B-splines of Betts (Practical Methods for Optimal Control, 2010, Section 4.7), which the paper
    refers to: C1, and through x and x' = f(x, u) at the knots. Positions run along the tangent at the knot before.
    """

    def __init__(self, solution: Solution) -> None:
        self.solution, self.run, self.mechanism = solution, solution.trajectory, solution.mechanism
        self.tangents = Tangents(solution.mechanism)
        run = self.run
        self.v = run.v
        self.a = np.array([self.acceleration(t, q, v) for t, q, v in zip(run.t, run.q, run.v, strict=True)])

    def acceleration(self, t: float, q: FloatArray, v: FloatArray) -> FloatArray:
        """What the equations of motion say at the time t [s], shape (nv,)."""
        m = self.mechanism
        force = m.generalized_forces(smooth_control(self.solution, t), q) + passive_forces(m, q, v)
        return forward_dynamics(m, q, v, force)

    def position(self, k: int, s: float) -> tuple[FloatArray, FloatArray]:
        """Positions (nq,) at the fraction s of step k, and their rates (nv,)."""
        run, m, h = self.run, self.mechanism, self.run.dt
        end = m.difference(run.q[k], run.q[k + 1])
        a, b = h * self.v[k], h * self.v[k + 1]
        if self.tangents.curved:  # at the end of the step v is in the frame there
            b = np.linalg.solve(self._turned(end), b)
        x, slope = cubic(np.zeros(m.nv), end, a, b, s)
        rate = slope / h
        return m.integrate(run.q[k], x), self._turned(x) @ rate if self.tangents.curved else rate

    def velocity(self, k: int, s: float) -> tuple[FloatArray, FloatArray]:
        """Velocities (nv,) at the fraction s of step k, and their rates (nv,)."""
        h = self.run.dt
        v, slope = cubic(self.v[k], self.v[k + 1], h * self.a[k], h * self.a[k + 1], s)
        return v, slope / h

    def _turned(self, x: FloatArray) -> FloatArray:
        turned = self.tangents.retraction(x[None])
        assert turned is not None
        return turned[0]


def cubic(x: FloatArray, y: FloatArray, a: FloatArray, b: FloatArray, s: float) -> tuple[FloatArray, FloatArray]:
    """The cubic from x to y whose derivatives by s at s = 0 and 1 are a and b: its value at s, and its derivative."""
    d = y - x
    square, cube = 3.0 * d - 2.0 * a - b, a + b - 2.0 * d
    return x + s * (a + s * (square + s * cube)), a + s * (2.0 * square + 3.0 * s * cube)


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
