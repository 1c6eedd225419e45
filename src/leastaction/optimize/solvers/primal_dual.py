"""A primal-dual interior-point method with a filter line search (Waechter and Biegler 2006), along the horizon.

    minimise f(x)  such that  c(x) - s = 0,  bounds on x and s

where s stands for the values of those constraints that are inequalities. Names and numbers of equations below are those
of that paper. Its linear systems are solved in time linear in the number of steps (`kkt`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from leastaction.optimize.hessians.lagrangian_hessian import Hessian
from leastaction.optimize.solvers import bound_sums
from leastaction.optimize.solvers.kkt_system.kkt import System
from leastaction.optimize.transcriptions.sparsity import FloatArray, add_products
from leastaction.optimize.transcriptions.transcription import Transcription

THETA_MOST = 10.0
"""Violation that is never accepted, beside that of the beginning (Eq. 21).

The paper's 1e4 lets the search leave the dynamics for a cheaper cost and takes long to come back."""

PUSH = 1e-2
"""How far the search begins from bounds, of their size and of their distance (Section 3.6)."""
CLOSE = 1e-4
"""The same where a search goes on."""
RELAXED = 1e-10
"""How far bounds are moved apart, so that there is an inside."""
LARGEST_GRADIENT = 100.0
"""Costs and constraints are scaled so that their first gradients are at most that (Section 3.8)."""
LARGEST_MULTIPLIER = 1e3
"""First multipliers beyond are not believed."""
SCALE = 100.0
"""Mean multipliers beyond let errors count less, s_max of Eq. 6."""
NEAR = 1e10
"""How far multipliers of bounds may be from mu / distance, kappa_Sigma of Eq. 16."""
ACCEPTABLE, ACCEPTED = 1e-6, 15
"""Error with which so many iterations in a row end the search."""
WHOLE = 0.5
"""Steps of that share of Newton's, with a Hessian that needed no shift, show that the search has it easy."""
RELAXED_ROWS = 1e-8
"""Of dependent constraints, times mu to the power of a quarter (Section 3.1)."""
DAMPING = 1e-5
"""What unknowns with a bound on one side alone pay for their distance from it, beside the barrier parameter: else it
would drive those that cost nothing to infinity (kappa_d of Section 3.7)."""
FIRST_SHIFT, LEAST_SHIFT, LARGEST_SHIFT = 1e-4, 1e-20, 1e40
"""Multiples of the identity that are added to a Hessian of the wrong inertia (Algorithm IC)."""


LESS = (0.9, 0.5)
"""Shares to which the largest violation, or the sum of the squares of all, must fall to count as less."""


class ViolationHistory:
    """How the violation falls: the least so far, (largest, sum of squares), and how often it has not become less."""

    def __init__(self) -> None:
        self.least, self.since = (math.inf, math.inf), 0

    def note(self, ip: Interior) -> int:
        """Look at the violation of an iterate; gives how many there were since it last became less."""
        now = ip.violation(), bound_sums.dot(ip.rows, ip.rows)
        if any(x <= share * least for x, share, least in zip(now, LESS, self.least, strict=True)):
            self.least, self.since = (min(now[0], self.least[0]), min(now[1], self.least[1])), 0
        self.since += 1
        return self.since


class Interior:
    """One program and where the search on it is.

    Attributes:
        x: unknowns that are free, and slacks, shape (n + slacks,).
        y: multipliers of the constraints (m,), scaled.
        low, high: multipliers of the lower and upper bounds of x.
        mu: barrier parameter.
        shift, shifted: last shift of a Hessian of the wrong inertia, and whether the one that is factored is shifted.
        easy: whether the last step was `WHOLE`.
        left: number of iterations left.
        ahead, back: how the violation falls over all iterations, and over steps back to the constraints alone.
        deadline: time at which the search must end, as `time.perf_counter` counts it.
        watch: called at each iterate.
    """

    def __init__(self, program: Transcription, hessian: Hessian, tolerance: float = 1e-8) -> None:
        self.program, self.hessian, self.tolerance = program, hessian, tolerance
        self.system = System(program, hessian.pattern)
        system = self.system
        rows = system.rows
        self.n, self.m = system.n, system.m
        self.equal = program.c_lower[rows] == program.c_upper[rows]
        self.loose = np.flatnonzero(~self.equal)
        size = self.n + len(self.loose)
        self.z, self.gradient = np.zeros(program.n), np.zeros(size)
        self._all_rows, self._all_gradient = np.zeros(program.m), np.zeros(program.n)
        self._all_multipliers = np.zeros(program.m)
        self.cost_scale, self.row_scale = 1.0, np.ones(self.m)
        self.x, self.y = np.zeros(size), np.zeros(self.m)
        self.low, self.high = np.zeros(size), np.zeros(size)
        self.mu, self.shift, self.shifted, self.easy = 0.1, 0.0, False, False
        self.watch: Callable[[Interior], Any] = lambda _: None
        self.left, self.deadline = 0, math.inf
        self.ahead, self.back = ViolationHistory(), ViolationHistory()
        self._straight = np.zeros((2, size))
        self._seen: tuple[FloatArray, FloatArray] | None = None
        self._slopes_at: FloatArray | None = None
        self._take_bounds()

    def _take_bounds(self) -> None:
        program, rows, free = self.program, self.system.rows, self.system.free
        scale = self.row_scale[self.loose]
        self.lower = np.concatenate([program.lower[free], scale * program.c_lower[rows][self.loose]])
        self.upper = np.concatenate([program.upper[free], scale * program.c_upper[rows][self.loose]])
        self.target = np.where(self.equal, self.row_scale * program.c_lower[rows], 0.0)
        self.lower -= RELAXED * np.maximum(1.0, np.abs(self.lower))
        self.upper += RELAXED * np.maximum(1.0, np.abs(self.upper))
        self.has_lower, self.has_upper = np.isfinite(self.lower), np.isfinite(self.upper)
        self.damping = DAMPING * (self.has_lower.astype(float) - self.has_upper)
        self.bounds = int(self.has_lower.sum() + self.has_upper.sum())

    # ------------------------------------------------------------------ the program

    def cost_and_rows(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Scaled cost, and what is wrong with the constraints c - s (m,)."""
        self.z[self.system.free] = x[: self.n]
        self.program.constraints(self.z, self._all_rows)
        rows = self.row_scale * self._all_rows[self.system.rows] - self.target
        rows[self.loose] -= x[self.n :]
        return self.cost_scale * self.program.cost(self.z), rows

    def slopes(self) -> None:
        """Gradient and Jacobian at x, scaled, into `gradient` and the system."""
        system = self.system
        self.z[system.free] = self.x[: self.n]
        self.program.gradient(self.z, self._all_gradient)
        self.gradient[: self.n] = self.cost_scale * self._all_gradient[system.free]
        self.program.jacobian(self.z, system.jacobian)
        system.scale_rows(self.row_scale)
        self._seen, self._slopes_at = None, self.x

    def curvature(self, y: FloatArray, share: float = 1.0) -> None:
        """Second derivatives of share f + y c at x into the system."""
        self.z[self.system.free] = self.x[: self.n]
        self._all_multipliers[self.system.rows] = self.row_scale * y
        self.hessian.evaluate(self.z, share * self.cost_scale, self._all_multipliers, self.system.hessian)

    def pull_back(self, y: FloatArray) -> FloatArray:
        """Transpose of the constraints' derivative, slacks included, times y; kept for the last y, which must stay."""
        if self._seen is None or self._seen[0] is not y:
            out = np.empty(len(self.x))
            self.system.pull_back(y, out[: self.n])
            out[self.n :] = -y[self.loose]
            self._seen = (y, out)
        return self._seen[1]

    # ------------------------------------------------------------------ the beginning

    def start(self, z: FloatArray, multipliers: Any = None, mu: float = 1.0, push: float = PUSH) -> str:
        """Begin at z with multipliers (of bounds (n,), of constraints (m,)) or none; gives a status if that is all."""
        program, system, n = self.program, self.system, self.n
        self.z[:] = z
        self.mu, self.shift, self.easy = mu, 0.0, False
        self.cost_scale, self.row_scale = 1.0, np.ones(self.m)
        self._take_bounds()
        self.x[:n] = _inside(z[system.free], self.lower[:n], self.upper[:n], push)
        self.z[system.free] = self.x[:n]
        program.constraints(self.z, self._all_rows)
        if len(system.unreached):
            c = self._all_rows[system.unreached]
            excess = np.maximum(program.c_lower[system.unreached] - c, c - program.c_upper[system.unreached])
            if excess.max() > 1e-6:
                return "Infeasible_Problem_Detected"
        self.slopes()
        if not (np.isfinite(self.gradient).all() and np.isfinite(system.jacobian).all()):
            return "Invalid_Number_Detected"
        self.cost_scale = min(1.0, LARGEST_GRADIENT / max(float(np.abs(self.gradient).max(initial=0.0)), 1e-300))
        self.row_scale = np.minimum(1.0, LARGEST_GRADIENT / np.maximum(system.row_sizes(), 1e-300))
        self.gradient *= self.cost_scale
        system.scale_rows(self.row_scale)
        self._seen = None
        self._take_bounds()
        c = self.row_scale * self._all_rows[system.rows]
        self.x[n:] = _inside(c[self.loose], self.lower[n:], self.upper[n:], push)
        self.f, self.rows = self.cost_scale * program.cost(self.z), c - self.target
        self.rows[self.loose] -= self.x[n:]
        if not (math.isfinite(self.f) and np.isfinite(self.rows).all()):
            return "Invalid_Number_Detected"
        if multipliers is None:
            below, above = self.distances(self.x)
            self.low, self.high = np.minimum(1.0, mu / below), np.minimum(1.0, mu / above)
            self.y = np.zeros(self.m)  # a whole step finds them, and those of Eq. 36 save none
        else:
            self._take_multipliers(multipliers)
        self.new_filter()
        return ""

    def go_on(self, z: FloatArray) -> bool:
        """Take z with the scales and multipliers that there are; gives whether all is finite there."""
        n = self.n
        self.z[:] = z
        self.x[:n] = _inside(z[self.system.free], self.lower[:n], self.upper[:n], CLOSE)
        self.x[n:] = 0.0
        self.f, self.rows = self.cost_and_rows(self.x)
        self.x[n:] = _inside(self.rows[self.loose], self.lower[n:], self.upper[n:], CLOSE)
        self.rows[self.loose] -= self.x[n:]
        self.slopes()
        self.new_filter()
        return bool(math.isfinite(self.f) and np.isfinite(self.rows).all() and np.isfinite(self.gradient).all())

    def _take_multipliers(self, multipliers: Any) -> None:
        """Those of a solution, in its signs: positive at upper bounds."""
        rows = self.system.rows
        self.y = multipliers[1][rows] * self.cost_scale / self.row_scale
        at = np.concatenate([self.cost_scale * multipliers[0][self.system.free], self.y[self.loose]])
        below, above = self.distances(self.x)
        self.low = np.where(self.has_lower, np.maximum(np.maximum(-at, 0.0), self.mu / below), 0.0)
        self.high = np.where(self.has_upper, np.maximum(np.maximum(at, 0.0), self.mu / above), 0.0)

    def multipliers(self) -> tuple[FloatArray, FloatArray]:
        """Of the bounds (n,) and of the constraints (m,) of the program, unscaled."""
        program, system = self.program, self.system
        at, rows = np.zeros(program.n), np.zeros(program.m)
        rows[system.rows] = self.y * self.row_scale / self.cost_scale
        self.z[system.free] = self.x[: self.n]
        if self._slopes_at is self.x:
            at[:] = self._all_gradient
            self._all_multipliers[system.rows] = self.y / self.cost_scale  # of rows that are scaled
            J = program.jacobian_pattern
            add_products(J.indptr, J.indices, system.jacobian, self._all_multipliers, at)
        else:
            program.lagrangian_gradient(self.z, 1.0, rows, at)
        at *= -1.0  # of those that are fixed
        at[system.free] = (self.high - self.low)[: self.n] / self.cost_scale
        return at, rows

    def constraints(self) -> FloatArray:
        """c at x for all rows of the program, unscaled; those that no free unknown enters as at the beginning."""
        out = self._all_rows.copy()
        c = self.rows + self.target
        c[self.loose] += self.x[self.n :]
        out[self.system.rows] = c / self.row_scale
        return out

    def least_squares_multipliers(self) -> FloatArray:
        """Multipliers of the constraints that make the Lagrangian's gradient smallest (Eq. 36)."""
        system, n = self.system, self.n
        system.hessian[:] = 0.0
        system.diagonal[:n] = 1.0
        system.diagonal[n:] = np.where(self.equal, 0.0, -1.0)
        b = np.zeros(n + self.m)
        b[:n] = -(self.gradient - self.low + self.high)[:n]
        b[n:][self.loose] = (self.low - self.high)[n:]
        if system.factor()[2]:
            return np.zeros(self.m)
        y = system.solve(b)[n:]
        usable = np.isfinite(y).all() and np.abs(y).max(initial=0.0) <= LARGEST_MULTIPLIER
        return y if usable else np.zeros(self.m)

    # ------------------------------------------------------------------ measures

    def violation(self) -> float:
        """The largest one of the constraints, unscaled."""
        return float(np.abs(self.rows / self.row_scale).max(initial=0.0))

    def distances(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """From the lower and from the upper bounds; infinite where there are none."""
        return x - self.lower, self.upper - x

    def errors(self, mu: float) -> tuple[float, float, float]:
        """Scaled errors of optimality, constraints and complementarity (Eq. 5)."""
        pulled = self.pull_back(self.y)
        dual, product, total = bound_sums.worst(self._walls(), self.gradient, pulled, self.damping, mu)
        s_d = max(SCALE, (float(np.abs(self.y).sum()) + total) / max(self.m + self.bounds, 1)) / SCALE
        s_c = max(SCALE, total / max(self.bounds, 1)) / SCALE
        return dual / s_d, float(np.abs(self.rows).max(initial=0.0)), product / s_c

    def barrier(self, f: float, x: FloatArray) -> float:
        """phi of Eq. 3."""
        below, above = self.distances(x)
        logs = float(np.log(below[self.has_lower]).sum() + np.log(above[self.has_upper]).sum())
        one_sided = self.has_lower != self.has_upper
        far = float(np.where(self.has_lower, below, above)[one_sided].sum())
        return f - self.mu * (logs - DAMPING * far)

    def barrier_gradient(self) -> FloatArray:
        """Of the barrier alone."""
        below, above = self.distances(self.x)
        return self.mu * (1.0 / above - 1.0 / below + self.damping)

    def new_filter(self) -> None:
        """Forget which pairs of violation and cost were refused (Eq. 21)."""
        theta = float(np.abs(self.rows).sum())
        self.filter: list[tuple[float, float]] = []
        self.theta_most, self.theta_small = THETA_MOST * max(1.0, theta), 1e-4 * max(1.0, theta)

    def refuses(self, theta: float, phi: float) -> bool:
        """Whether the filter holds something as good."""
        return theta > self.theta_most or any(theta >= t and phi >= p for t, p in self.filter)

    # ------------------------------------------------------------------ directions

    def prepare(self) -> bool:
        """Factor the system at x, with a Hessian shifted until its inertia is that of a minimum (Algorithm IC)."""
        system, n = self.system, self.n
        below, above = self.distances(self.x)
        sigma = self.low / below + self.high / above
        shift, relax, tried = 0.0, 0.0, self.shift
        while True:
            system.diagonal[:n] = sigma[:n] + shift
            system.diagonal[n:] = -relax
            self._slack = sigma[n:] + shift
            system.diagonal[n:][self.loose] -= 1.0 / self._slack
            positive, negative, none = system.factor()
            if positive == n and negative == self.m and not none:
                if shift > 0.0:
                    self.shift = shift
                self.shifted = shift > 0.0
                return True
            # Whatever the Hessian, independent constraints give one negative pivot each.
            if (none or negative < self.m) and relax == 0.0:
                relax = RELAXED_ROWS * self.mu**0.25
                continue
            if shift == 0.0:
                shift = FIRST_SHIFT if tried == 0.0 else max(LEAST_SHIFT, tried / 3.0)
            else:
                shift *= 100.0 if tried == 0.0 else 8.0
            if shift > LARGEST_SHIFT:
                self.shift = 0.0
                return False

    def direction(self, rows: FloatArray, corrector: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        """Newton's step (dx, dy) with these values of the constraints (Eq. 13); second_order: see `bent`."""
        n, loose = self.n, self.loose
        inner = self.gradient + self.pull_back(self.y) + self.barrier_gradient()
        if corrector is not None:
            below, above = self.distances(self.x)
            inner += corrector[0] / below - corrector[1] / above
        b = np.empty(n + self.m)
        b[:n] = -inner[:n]
        b[n:] = -rows
        b[n:][loose] -= inner[n:] / self._slack
        found = self.system.solve(b)
        dx, dy = np.empty(len(self.x)), found[n:]
        dx[:n] = found[:n]
        dx[n:] = (dy[loose] - inner[n:]) / self._slack
        return dx, dy

    def _walls(self) -> bound_sums.BoundDistances:
        return bound_sums.BoundDistances(self.x, self.lower, self.upper, self.low, self.high)

    def longest_step(self, dx: FloatArray, tau: float) -> float:
        """How far x may go (Eq. 15)."""
        return bound_sums.longest_step(self.x, dx, self.lower, self.upper, tau)

    def bound_moves(self, dx: FloatArray, corrector: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        """How multipliers of lower and of upper bounds move with x (Eq. 12)."""
        d_low, d_high = np.empty(len(dx)), np.empty(len(dx))
        corrector = self._straight if corrector is None else corrector
        bound_sums.bound_moves(self._walls(), dx, corrector, self.mu, d_low, d_high)
        return d_low, d_high

    def bent(self, dx: FloatArray, moves: tuple[FloatArray, FloatArray]) -> FloatArray:
        """What products of distances and multipliers, linear for Newton, gain along a step (Mehrotra 1992), (2, n)."""
        return np.stack([np.where(self.has_lower, dx * moves[0], 0.0), np.where(self.has_upper, -dx * moves[1], 0.0)])

    def longest_moves(self, moves: tuple[FloatArray, FloatArray], tau: float) -> float:
        """How far multipliers of bounds may go."""
        return bound_sums.longest_moves(self.low, self.high, *moves, tau)

    def move(
        self,
        x: FloatArray,
        f: float,
        rows: FloatArray,
        dx: FloatArray,
        alpha: float,
        corrector: FloatArray | None = None,
    ) -> None:
        """Take x, alpha of the way along dx, and multipliers of bounds along with it (Eqs. 12, 14 and 16).

        Where steps are `WHOLE` each of these is cut off by itself: else the one that would vanish first holds up all
        others, and with them the error of optimality.
        """
        moves, tau = self.bound_moves(dx, corrector), max(0.99, 1.0 - self.mu)
        self.easy = not self.shifted and alpha >= WHOLE
        step = alpha if self.easy else self.longest_moves(moves, tau)
        self.x, self.f, self.rows = x, f, rows
        self.low, self.high = self.low.copy(), self.high.copy()
        bound_sums.move_multipliers(self._walls(), *moves, step, 1.0 - tau, self.mu, NEAR)

    def limit(self) -> str:
        """Report an iterate; gives a status if there is no time, or no iteration, left for another one."""
        self.watch(self)
        self.left -= 1
        if self.left < 0:
            return "Maximum_Iterations_Exceeded"
        return "Maximum_WallTime_Exceeded" if time.perf_counter() > self.deadline else ""


def _inside(x: FloatArray, lower: FloatArray, upper: FloatArray, push: float) -> FloatArray:
    """x moved off its bounds."""
    with np.errstate(invalid="ignore"):
        width = push * (upper - lower)
        least = lower + np.minimum(push * np.maximum(1.0, np.abs(lower)), width)
        most = upper - np.minimum(push * np.maximum(1.0, np.abs(upper)), width)
    return np.fmin(np.fmax(x, least), most)  # infinite bounds give NaN, which these pass over
