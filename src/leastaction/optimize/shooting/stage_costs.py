"""Costs and constraints of a problem as functions of the states (q, p) and controls of single steps.

Functions of the middles of steps are read at their starts, with v = M(q)^-1 p. Constraints, and the finish, become
terms of an augmented Lagrangian: with multipliers y and the weight r,

    r/2 |d|^2,   d = c + y / r less the nearest value within the limits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction.dynamics.legendre import velocity_of_momentum
from leastaction.mechanism import Mechanism
from leastaction.optimize.functions.manifold_derivatives import CENTRAL_STEP
from leastaction.optimize.functions.motion_functions import Deviation, Function, Place, Velocity
from leastaction.typing import FloatArray

if TYPE_CHECKING:
    from leastaction.optimize.problem.problem import Problem


@dataclass
class States:
    """A motion: positions (N + 1, nq), momenta and velocities (N + 1, nv), controls (N, nu)."""

    q: FloatArray
    p: FloatArray
    v: FloatArray
    u: FloatArray


class Quadratic(NamedTuple):
    """Second-order model: gradients by states (N + 1, 2 nv) and controls (N, nu), and Gauss-Newton Hessians."""

    x: FloatArray
    u: FloatArray
    xx: FloatArray
    ux: FloatArray
    uu: FloatArray


@dataclass
class _Term:
    """A function at some knots (or starts of steps), with what its values are good for.

    Attributes:
        function: of the motion.
        at: numbers of the knots.
        weights: of a cost, one row per knot; None of a constraint.
        squares: whether a cost squares its values.
        lower, upper: limits of a constraint.
        y: its multipliers, one row per knot.
    """

    function: Function
    at: NDArray[np.int64]
    weights: FloatArray | None = None
    squares: bool = True
    lower: Any = None
    upper: Any = None
    y: Any = 0.0

    def excess(self, c: FloatArray, r: float) -> FloatArray:
        z = c + self.y / r
        return z - np.clip(z, self.lower, self.upper)

    def violation(self, c: FloatArray) -> FloatArray:
        return np.abs(c - np.clip(c, self.lower, self.upper))


class Stages:
    """Costs and constraints of a problem along states.

    Attributes:
        penalty: weight r of the augmented Lagrangian.
    """

    def __init__(self, problem: Problem, dt: float, penalty: float) -> None:
        self.mechanism: Mechanism = problem.mechanism
        self.dt, self.penalty = dt, penalty
        N = self.steps = problem.steps
        self.costs, self.constraints = [], []
        for cost in problem.costs:
            at = cost.function.indices(N + 1 if cost.function.where == "knots" else N)
            share = np.ones(len(at))
            if cost.integral:
                share = np.where((cost.function.where == "knots") & ((at == 0) | (at == N)), 0.5 * dt, dt)
            self.costs.append(_Term(cost.function, at, share[:, None] * cost.weights, cost.squares))
        for constraint in problem.constraints:
            at = constraint.function.indices(N + 1 if constraint.function.where == "knots" else N)
            lower, upper = constraint.limits
            self._constrain(constraint.function, at, lower, upper)
        self._add_finish(problem)
        self._add_position_bounds(problem)

    def _constrain(self, function: Function, at: Any, lower: Any, upper: Any) -> None:
        self.constraints.append(_Term(function, at, lower=lower, upper=upper, y=np.zeros((len(at), function.size))))

    def _add_finish(self, problem: Problem) -> None:
        last, m = np.array([self.steps]), self.mechanism
        if problem.finish_position is not None:
            given = np.where(np.isnan(problem.finish_position), m.neutral(), problem.finish_position)
            function = Deviation("finish: q", reference=given)
            function.prepare(m, self.steps)
            width = np.zeros(m.nv)
            for group in m.coordinate_groups:
                free = np.isnan(problem.finish_position[group.iq])
                width[group.iv : group.iv + group.nv] = np.inf if free else 0.0
            self._constrain(function, last, -width, width)
        if problem.finish_velocity is not None:
            function = Velocity("finish: v")
            function.prepare(m, self.steps)
            self._constrain(function, last, problem.finish_velocity, problem.finish_velocity)

    def _add_position_bounds(self, problem: Problem) -> None:
        """Bounds of joints with single axes, where there are any."""
        lower, upper = problem.q_bounds
        if np.isfinite(lower).any() or np.isfinite(upper).any():
            function = Deviation("bounds: q", reference=self.mechanism.neutral())
            function.prepare(self.mechanism, self.steps)
            zero = np.zeros(self.mechanism.nv)
            for group in self.mechanism.coordinate_groups:
                if group.nv == 1:
                    zero[group.iv] = self.mechanism.neutral()[group.iq]
            self._constrain(function, np.arange(1, self.steps + 1), lower - zero, upper - zero)

    # ------------------------------------------------------------------ values

    def _place(self, term: _Term, s: States) -> Place:
        at = term.at
        u = s.u[np.minimum(at, self.steps - 1)] if len(s.u) else np.zeros((len(at), 0))
        return Place(at, np.asarray(self.dt * at, float), s.q[at], s.v[at], u, self.dt)

    def value(self, s: States) -> tuple[float, float]:
        """(cost, cost with the terms of the constraints)."""
        cost = 0.0
        for term in self.costs:
            f = term.function.evaluate(self._place(term, s), False).value
            cost += float((term.weights * (f * f if term.squares else f)).sum())
        merit = cost
        for term in self.constraints:
            c = term.function.evaluate(self._place(term, s), False).value
            merit += 0.5 * self.penalty * float((term.excess(c, self.penalty) ** 2).sum())
        return cost, merit

    def violation(self, s: States) -> tuple[float, str]:
        """The largest violation, and of what."""
        worst, where = 0.0, ""
        for term in self.constraints:
            v = term.violation(term.function.evaluate(self._place(term, s), False).value)
            if v.size and not v.max() <= worst:
                worst = float(v.max())
                where = f"{term.function.name!r} at knot {term.at[int(np.argmax(v.max(axis=1)))]}"
        return worst, where

    def not_finite(self, s: States) -> str:
        """The first cost or constraint that is not finite, or has a derivative that is not; "" where there is none."""
        for term in (*self.costs, *self.constraints):
            found = term.function.evaluate(self._place(term, s), True)
            slopes = [J for J in (found.q, found.v, found.x, found.u, found.dt) if J is not None]
            for what, values in (("", found.value), *(("derivative of the ", J) for J in slopes)):
                wrong = ~np.isfinite(values.reshape(len(term.at), -1)).all(axis=1)
                if wrong.any():
                    kind = "constraint" if term.weights is None else "cost"
                    where = f"{term.function.where[:-1]} {term.at[int(np.argmax(wrong))]}"
                    return f"the {what}{kind} {term.function.name!r} at {where}"
        return ""

    def press(self, s: States, weight: float) -> None:
        """Take the forces of the constraints at these states as multipliers, and a new weight."""
        for term in self.constraints:
            c = term.function.evaluate(self._place(term, s), False).value
            term.y = self.penalty * term.excess(c, self.penalty)
        self.penalty = weight

    def quadratic(self, s: States) -> Quadratic:
        """Gradients and Gauss-Newton Hessians of the cost with the terms of the constraints."""
        n, nu, N = self.mechanism.nv, self.mechanism.nu, self.steps
        out = Quadratic(
            np.zeros((N + 1, 2 * n)),
            np.zeros((N, nu)),
            np.zeros((N + 1, 2 * n, 2 * n)),
            np.zeros((N, nu, 2 * n)),
            np.zeros((N, nu, nu)),
        )
        by_q, by_p = velocity_slopes(self.mechanism, s)
        for term in (*self.costs, *self.constraints):
            values = term.function.evaluate(self._place(term, s), True)
            f = values.value
            if term.weights is None:
                d = term.excess(f, self.penalty)
                first, second = self.penalty * d, self.penalty * (d != 0.0)
            elif term.squares:
                first, second = 2.0 * term.weights * f, np.broadcast_to(2.0 * term.weights, f.shape)
            else:
                first, second = np.broadcast_to(term.weights, f.shape), np.zeros_like(f)
            J = np.zeros((*f.shape, 2 * n))
            along_v = values.v
            if values.x is not None:
                along_v = self.dt * values.x + (0.0 if along_v is None else along_v)
            if values.q is not None:
                J[:, :, :n] += values.q
            if along_v is not None:
                J[:, :, :n] += along_v @ by_q[term.at]
                J[:, :, n:] += along_v @ by_p[term.at]
            weighted = second[:, :, None] * J
            np.add.at(out.x, term.at, (first[:, None, :] @ J)[:, 0])
            np.add.at(out.xx, term.at, np.swapaxes(weighted, 1, 2) @ J)
            if values.u is not None:
                U = np.swapaxes(values.u, 1, 2)
                np.add.at(out.u, term.at, (U @ first[:, :, None])[:, :, 0])
                np.add.at(out.uu, term.at, U @ (second[:, :, None] * values.u))
                np.add.at(out.ux, term.at, U @ weighted)
        return out


def velocity_slopes(mechanism: Mechanism, s: States) -> tuple[FloatArray, FloatArray]:
    """Derivatives of v = M(q)^-1 p by positions along the tangent and by momenta, shape (N + 1, nv, nv) each."""
    n, rows = mechanism.nv, len(s.q)
    units = np.tile(np.eye(n), (rows, 1))
    by_p = velocity_of_momentum(mechanism, np.repeat(s.q, n, axis=0), units).reshape(rows, n, n)
    moved = [mechanism.integrate(np.repeat(s.q, n, axis=0), sign * CENTRAL_STEP * units) for sign in (1.0, -1.0)]
    p = np.repeat(s.p, n, axis=0)
    ahead, back = (velocity_of_momentum(mechanism, q, p) for q in moved)
    by_q = ((ahead - back) / (2.0 * CENTRAL_STEP)).reshape(rows, n, n)
    return np.swapaxes(by_q, 1, 2), np.swapaxes(by_p, 1, 2)
