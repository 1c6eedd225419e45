"""`ilqr`: iterative linear-quadratic regulator, differential dynamic programming without second derivatives of steps.

A sweep from the end to the start minimises, step by step, the quadratic model of what is still to come over the
controls within their bounds (box-DDP: Tassa, Mansard and Todorov 2014); a sweep from the start to the end follows the
controls found, with their feedback. States that were guessed need not follow from each other: the gaps between steps
are closed with the same steps (FDDP: Mastalli et al. 2020), under the merit function cost + price |gaps|.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from leastaction._jit.bound import Bound
from leastaction.dynamics.legendre import Velocities, momentum_of_velocity, velocity_of_momentum
from leastaction.errors import ConvergenceError, IntegratorError, ProblemError
from leastaction.optimize.functions import argument_checks
from leastaction.optimize.functions.derivative_check import check_user_derivatives
from leastaction.optimize.mpc.tvlqr import Tracker
from leastaction.optimize.problem.problem import Problem
from leastaction.optimize.shooting.riccati_sweep import Steps, Sweeps, act
from leastaction.optimize.shooting.stage_costs import FloatArray, Stages, States
from leastaction.optimize.solution.solution import Iteration, Solution
from leastaction.optimize.solvers.nlp_solver import REASONS
from leastaction.trajectory.trajectory import Trajectory

SHARES = 0.5 ** np.arange(12)
"""Of a step that the line search tries."""
LEAST, MOST = 1e-9, 1e12
"""Regularisation of the value function."""
HEAVIEST = 1e10
"""Weight of violations beyond which a search gives up."""
LOOSE = 1e-3
"""Tolerance of searches whose constraints are still violated, by the violation."""
INVALID = "Invalid_Number_Detected"
"""How a search ends where a cost, a constraint or a derivative is not finite."""
CLOSED = 1e-9
"""Gaps [rad, m or momentum] that count as none."""
FAR = 4.0
"""Times what the quadratic model says that a motion may cost more where gaps close: beyond, a robot has fallen over the
closing of gaps that were worth more."""


@dataclass(frozen=True, eq=False)
class Shot(Solution):
    """What `ilqr` found: a `Solution` whose motion is a run of the integrator, with the feedback that it is worth.

    Attributes:
        gains: K of each step, shape (steps, nu, 2 nv), by positions along the tangent and momenta: u - K deviation.
        cost_to_go: its second derivatives at the knots, shape (steps + 1, 2 nv, 2 nv).
        bounds: of the controls, shape (2, nu).
    """

    gains: FloatArray = field(default=None)  # type: ignore[assignment]
    cost_to_go: FloatArray = field(default=None)  # type: ignore[assignment]
    bounds: FloatArray = field(default=None)  # type: ignore[assignment]

    @property
    def tracker(self) -> Tracker:
        """A controller that follows the motion with these gains."""
        return Tracker(self, self.gains, self.cost_to_go, *self.bounds)


def ilqr(
    problem: Problem,
    *,
    tolerance: float = 1e-6,
    violation: float = 1e-4,
    penalty: float = 10.0,
    max_iterations: int = 300,
    time_limit: float | None = None,
    log: bool | Callable[[Iteration], object] = False,
) -> Shot:
    """Solve a problem by shooting, through the derivatives of the steps of its integrator.

    For contact take `Maximal(order=1, smoothing=...)`, whose steps are smooth functions; contacts act as they do in a
    simulation, and need no unknowns of their own.

    Args:
        problem: with a whole start (q and v), a fixed time step, and an integrator that has `linearize`: `Galerkin`,
            `Midpoint`, `Maximal` or `Minimal`. Controls are held over steps. Costs over steps are read at their
            starts. The finish, constraints and bounds of q are met through an augmented Lagrangian. Where the problem
            has a guess of q, states start there; otherwise from the guess of u.
        tolerance: the relative decrease of the cost that is not worth another iteration.
        violation: of constraints that is good enough.
        penalty: first weight of violations.
        max_iterations: at most so many, over all weights.
        time_limit: [s].
        log: True prints a line for each iteration; a function is called with each `Iteration`.

    Raises:
        ProblemError: the problem asks for what shooting cannot do.
    """
    _check(problem)
    argument_checks.number(tolerance, "tolerance", above=0.0)
    argument_checks.number(violation, "violation", above=0.0)
    argument_checks.number(penalty, "penalty", above=0.0)
    argument_checks.count(max_iterations, "max_iterations")
    return _Search(problem, penalty, log).run(tolerance, violation, max_iterations, time_limit or np.inf)


def _check(problem: Any) -> None:
    if not isinstance(problem, Problem):
        raise ProblemError(f"ilqr needs a Problem, got {problem!r}")
    q, v = problem.start_position, problem.start_velocity
    if q is None or np.isnan(q).any() or v is None:
        raise ProblemError("ilqr: start: q and v must be given as a whole")
    if problem.fixed_duration is None:
        raise ProblemError("ilqr: the final time must be given")
    if problem.schedule.phases or problem.schedule.touches or problem.schedule.shift is not None:
        raise ProblemError("ilqr: phases, Problem.contact and periods are for `solve`; contacts of the robot act")
    if not problem.mechanism.is_tree:
        raise ProblemError(f"ilqr: {problem.mechanism.name!r} has closed loops, which shooting does not take")
    if not problem.costs:
        raise ProblemError("ilqr: there is nothing to minimise")


class _Search:
    """The state of the search."""

    def __init__(self, problem: Problem, penalty: float, log: Any) -> None:
        self.problem, self.m = problem, problem.mechanism
        self.N, self.n, self.nu = problem.steps, self.m.nv, self.m.nu
        self.dt = problem.guess_duration / self.N
        self.stages = Stages(problem, self.dt, penalty)
        self.stepper = problem.integrator.prepare(self.m, self.dt)
        if "linearize" not in self.stepper.can:
            self.stepper.refuse("linearize")
        self.single, self.velocities = self.stepper.first_steps(), Velocities(self.m)
        self.sweeps = Sweeps(self.N, 2 * self.n, self.nu)
        self.lower, self.upper = problem.u_bounds
        self.log, self.iterations = log, []
        self.mu, self.price, self.stuck, self.why = LEAST, 0.0, False, ""
        self.gains = np.zeros((self.N, self.nu, 2 * self.n))
        self.cost_to_go = np.zeros((self.N + 1, 2 * self.n, 2 * self.n))
        self.states = self._first()
        functions = [each.function for each in (*problem.costs, *problem.constraints)]
        check_user_derivatives(functions, self.states.q, self.states.v[:-1], self.states.u)
        guessed = problem._guess.get("q") is not None  # else the states are a run, without gaps
        self.gaps = self._gaps(self.states) if guessed else np.zeros((self.N, 2 * self.n))

    # ------------------------------------------------------------------ motions

    def step(self, q: FloatArray, p: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """One step of the integrator, which remembers nothing of others."""
        single, record = self.single, self.single.record
        record.q[0], record.second[0], single.u[:] = q, p, u
        if not single(self.dt, self.velocities.at(q, p)):
            raise single.stepper.failure(0, record)
        return record.q[1].copy(), record.second[1].copy()

    def _first(self) -> States:
        """States of the guess: given ones, or those to which the controls lead."""
        problem, m, N = self.problem, self.m, self.N
        assert problem.start_position is not None
        assert problem.start_velocity is not None
        u = np.clip(np.array(problem._guess.get("u", np.zeros((N, self.nu)))), self.lower, self.upper)
        q, v = np.tile(problem.start_position, (N + 1, 1)), np.tile(problem.start_velocity, (N + 1, 1))
        given = problem._guess.get("q")
        if given is not None:
            q[1:] = m.normalize(given[1:])
            # Those of the step before: impulses of contacts at a knot belong to the step after it.
            v[1:] = m.difference(q[:-1], q[1:]) / self.dt
        p = momentum_of_velocity(m, q, v)
        if given is None:
            for k in range(N):
                q[k + 1], p[k + 1] = self.step(q[k], p[k], u[k])
            v = velocity_of_momentum(m, q, p)
        return States(q, p, v, u)

    def _gaps(self, s: States) -> FloatArray:
        """What each step ends beyond the state after it, shape (N, 2 nv)."""
        out = np.zeros((self.N, 2 * self.n))
        for k in range(self.N):
            q, p = self.step(s.q[k], s.p[k], s.u[k])
            out[k] = np.concatenate([self.m.difference(s.q[k + 1], q), p - s.p[k + 1]])
        return np.where(np.abs(out) < CLOSED, 0.0, out)

    def follow(self, k: FloatArray, K: FloatArray, share: float) -> States | None:
        """The motion of a share of the changes k with the feedback K; None where a step has no solution."""
        s, m, n = self.states, self.m, self.n
        q, p, u = s.q.copy(), s.p.copy(), s.u.copy()
        left = (share - 1.0) * self.gaps
        bounds, x = (self.lower, self.upper), np.zeros(2 * self.n)
        control = Bound(act, m.tree.nodes, (s.q, s.p, s.u), (k, K), bounds, x)
        try:
            for i in range(self.N):
                control(i, share, (q, p, u))
                q[i + 1], p[i + 1] = self.step(q[i], p[i], u[i])
                if left[i].any():
                    q[i + 1], p[i + 1] = m.integrate(q[i + 1], left[i, :n]), p[i + 1] + left[i, n:]
        except ConvergenceError:
            return None
        if not (np.isfinite(q).all() and np.isfinite(p).all()):
            return None
        return States(q, p, velocity_of_momentum(m, q, p), u)

    # ------------------------------------------------------------------ sweeps

    def linearize(self) -> tuple[FloatArray, FloatArray]:
        """A (N, 2 nv, 2 nv) and B (N, 2 nv, nu) of all steps."""
        s = self.states
        pairs = [self.stepper.linearize(s.q[k], s.p[k], s.u[k]) for k in range(self.N)]
        return np.array([A for A, _ in pairs]), np.array([B for _, B in pairs]).reshape(self.N, 2 * self.n, self.nu)

    # ------------------------------------------------------------------ the search

    def improve(self, tolerance: float) -> bool:
        """One iteration; whether the search is over, with these weights of the constraints."""
        model, (A, B) = self.stages.quadratic(self.states), self.linearize()
        steps = Steps(A, B, self.gaps, self.lower - self.states.u, self.upper - self.states.u)
        merit, wide = self.stages.value(self.states)[1], float(np.abs(self.gaps).sum())
        while self.mu <= MOST:
            found = self.sweeps(model, steps, self.mu)
            if found is not None:
                (k, K, S), steepest = found
                slope, second = self.sweeps.along(model, steps, found[0])
                quadratic = (slope, second) if wide > 0.0 else None
                if wide > 0.0:
                    self.price = max(self.price, 1.5 * steepest, 2.0 * slope / wide)
                slope -= self.price * wide
                self.gains, self.cost_to_go = -K, S
                if -slope <= tolerance * (tolerance + abs(merit)):
                    return True
                if self._searched(k, K, slope, merit, wide, quadratic):
                    self.mu = max(0.2 * self.mu, LEAST)
                    return False
            self.mu *= 10.0
        self.stuck = True
        return True

    def _searched(
        self,
        k: FloatArray,
        K: FloatArray,
        slope: float,
        merit: float,
        wide: float,
        quadratic: tuple[float, float] | None,
    ) -> bool:
        """Whether some share of the changes improves the motion, which is then the new one.

        merit, wide: before, without gaps and of gaps; predicted: how the cost goes with the share while gaps close.
        """
        for share in SHARES:
            states = self.follow(k, K, float(share))
            if states is None:
                continue
            gaps, value = (1.0 - share) * self.gaps, self.stages.value(states)[1]
            if quadratic is not None:
                more = abs(share * quadratic[0]) + share * share * abs(quadratic[1])
                if value > merit + FAR * more:
                    continue
            found = value + self.price * float(np.abs(gaps).sum())
            if found <= merit + self.price * wide + 1e-4 * share * slope:
                self.states, self.gaps = states, gaps
                return True
        return False

    def run(self, tolerance: float, allowed: float, most: int, limit: float) -> Shot:
        """Searches with growing weights of the constraints, until these hold."""
        began, status = time.perf_counter(), "Maximum_Iterations_Exceeded"
        before = worst = self._note()
        if self.stages.not_finite(self.states):
            return self._shot(INVALID, worst, allowed, time.perf_counter() - began)
        for _ in range(most):
            if time.perf_counter() - began > limit:
                status = "Maximum_WallTime_Exceeded"
                break
            try:
                over = self.improve(max(tolerance, LOOSE * min(before, 1.0) if worst > allowed else 0.0))
            except IntegratorError as error:  # a step has no derivative; the motion so far is a run all the same
                status, self.why = "Error_In_Step_Computation", str(error)
                break
            worst = self._note()
            if not over:
                continue
            if self.gaps.any() or (worst > allowed and self.stages.penalty >= HEAVIEST):
                status = "Search_Direction_Becomes_Too_Small"
                break
            if worst <= allowed:
                status = "Search_Direction_Becomes_Too_Small" if self.stuck else "Solve_Succeeded"
                break
            heavier = 10.0 if worst > 0.25 * before else 1.0
            self.stages.press(self.states, min(heavier * self.stages.penalty, HEAVIEST))
            before, self.mu, self.stuck = worst, LEAST, False
        return self._shot(status, worst, allowed, time.perf_counter() - began)

    def _note(self) -> float:
        """Log an iteration; returns the largest violation, of constraints and between steps."""
        worst = max(self.stages.violation(self.states)[0], float(np.abs(self.gaps).max(initial=0.0)))
        entry = Iteration(len(self.iterations), self.stages.value(self.states)[0], worst)
        self.iterations.append(entry)
        if callable(self.log):
            self.log(entry)
        elif self.log:
            print(f"{entry.number:5d}  cost {entry.cost:.6e}  violation {entry.violation:.1e}")
        return worst

    def _shot(self, status: str, worst: float, allowed: float, seconds: float) -> Shot:
        s, problem = self.states, self.problem
        wrong = "" if status == "Solve_Succeeded" else self.stages.not_finite(s)
        status = INVALID if wrong else status
        reason = self.why or REASONS.get(status, status)
        if wrong:
            reason += f": {wrong} is not finite"
        elif worst > allowed:
            reason += f": the largest violation, {worst:.2e}, is that of "
            reason += "steps from state to state" if self.gaps.any() else self.stages.violation(s)[1]
        u = s.u[:, None]
        stored = {"p": s.p, "u": u, "nodes": np.zeros(1)}
        t = np.asarray(self.dt * np.arange(self.N + 1), float)
        none = np.zeros(0)
        return Shot(
            converged=status == "Solve_Succeeded",
            failure=reason,
            status=status,
            cost=self.stages.value(s)[0],
            violation=worst,
            trajectory=Trajectory(self.m, problem.integrator, self.dt, t, s.q, stored),
            u=u,
            configurations=s.q,
            duration=self.dt * self.N,
            multipliers=(none, none),
            iterations=tuple(self.iterations),
            seconds=seconds,
            z=s.u.ravel(),
            gains=self.gains,
            cost_to_go=self.cost_to_go,
            bounds=np.array([self.lower, self.upper]),
            replay_tolerance=math.inf,  # it is a run
        )
