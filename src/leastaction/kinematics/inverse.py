"""Inverse kinematics: configurations in which frames are where they are wanted, within limits, with loops closed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from leastaction.errors import ConvergenceError, MechanismError
from leastaction.kinematics.bounded import bounded_least_squares
from leastaction.kinematics.frames import Placement
from leastaction.kinematics.tasks import Task
from leastaction.mechanism import Mechanism, _check
from leastaction.mechanism.arguments import FloatArray, configuration, robot
from leastaction.mechanism.motions import Motion

LONGEST = 0.6
"""Longest change of a coordinate in one iteration [rad or m]; what slides may go as far as the largest error."""

DAMPED = 1e-14
"""Least damping, relative to the largest entry of the normal equations: of the size of their rounding errors."""

STALLED = 12
"""Iterations without a gain of a hundredth after which a start is given up."""


@dataclass(frozen=True, eq=False)
class IKResult:
    """What `solve_ik` found.

    Attributes:
        q: joint positions [rad or m], shape (nq,): of all that was tried, the nearest.
        success: whether all tasks but postures are reached, and all loops closed, within the tolerance.
        residual: largest error of these tasks and loops [m or rad].
        errors: of each task, in the order given, arrays of [m or rad].
        iterations: of all starts together.
        starts: number of configurations from which it was tried.
    """

    q: FloatArray
    success: bool
    residual: float
    errors: tuple[FloatArray, ...]
    iterations: int
    starts: int


def solve_ik(
    mechanism: Mechanism,
    tasks: Task | Iterable[Task],
    q: Any = None,
    *,
    limits: bool = True,
    tolerance: float = 1e-8,
    max_iterations: int = 100,
    restarts: int = 20,
    seed: int = 0,
    must_succeed: bool = False,
) -> IKResult:
    """A configuration in which tasks are reached, joints are within their limits and loops are closed.

    Levenberg-Marquardt steps along the configuration manifold, each the least-squares problem of all tasks with limits
    as bounds and loops as equations. Where that ends short of a target, it starts again from random configurations.
    Where tasks cannot all be reached, their weights decide.

    Example:
        >>> arm = la.robots.serial_arm(dof=6)
        >>> goal = la.kinematics.reach_position(arm.body_names[-1], [0.3, 0.2, 0.4])
        >>> found = la.kinematics.solve_ik(arm, [goal, la.kinematics.keep_posture()])

    Args:
        mechanism: the robot.
        tasks: one or several of `reach_position`, `reach_orientation`, `reach_pose`, `keep_posture`,
            `reach_center_of_mass`.
        q: where to start, shape (nq,); default the mechanism's home.
        limits: keep joints within their limits.
        tolerance: largest error that counts as reached [m or rad].
        max_iterations: from each start.
        restarts: random configurations to start from after the first one.
        seed: of these.
        must_succeed: raise where nothing was found, instead of telling by `success`.

    Raises:
        MechanismError: for tasks that do not fit the mechanism.
        ConvergenceError: with `must_succeed`, if there is no success.
    """
    m = robot(mechanism)
    several = [tasks] if isinstance(tasks, Task) else list(_check.instances(tasks, Task, "tasks"))
    if not several:
        raise MechanismError("tasks: expected at least one")
    own = [task.checked(m) for task in several]
    tolerance = _check.positive(tolerance, "tolerance")
    most = _check.count(max_iterations, "max_iterations")
    more = 0 if type(restarts) is int and restarts == 0 else _check.count(restarts, "restarts")
    problem = _Problem(m, own, _check.flag(limits, "limits"), tolerance)
    must_succeed, rng = _check.flag(must_succeed, "must_succeed"), _generator(seed)
    best, iterations, starts = None, 0, 0
    for k in range(more + 1):
        first = m.random_configuration(rng) if k else (m.home() if q is None else configuration(m, q))
        found, spent = problem.descend(problem.within(first), most)
        iterations, starts = iterations + spent, starts + 1
        if best is None or problem.rank(found) < problem.rank(best):
            best = found
        if best.residual <= tolerance:
            break
    assert best is not None
    success = best.residual <= tolerance
    if must_succeed and not success:
        raise ConvergenceError(
            f"inverse kinematics of {m.name!r}: the tasks are missed by {best.residual:.3g} from {starts} starts",
            residuals=[best.residual],
        )
    return IKResult(best.q, success, best.residual, tuple(best.errors), iterations, starts)


def _generator(seed: Any) -> np.random.Generator:
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise MechanismError(
            f"seed: expected a whole number of at least 0, or a random generator, got {_check.shown(seed)}"
        ) from None


@dataclass(frozen=True, eq=False)
class _State:
    """A configuration with its errors: `cost` of all tasks and loops, `residual` of what must be reached."""

    q: FloatArray
    cost: float
    residual: float
    errors: list[FloatArray]
    e: FloatArray
    J: FloatArray
    gaps: FloatArray
    gap_jacobian: FloatArray


class _Problem:
    def __init__(self, m: Mechanism, tasks: list[Task], limits: bool, tolerance: float) -> None:
        self.m, self.tasks, self.tolerance = m, tasks, tolerance
        self.lower, self.upper = np.full(m.nv, -np.inf), np.full(m.nv, np.inf)
        single = [group for group in m.coordinate_groups if group.nv == 1]
        self.iq, self.iv = (np.array([getattr(g, i) for g in single], np.int64) for i in ("iq", "iv"))
        self.flat = len(single) == m.nv == m.nq
        if limits:
            for bound, end in ((self.lower, "lower"), (self.upper, "upper")):
                bound[self.iv] = np.array([x for joint in m.joints for x in getattr(joint, end)])[self.iv]
        self.slides = np.zeros(m.nv, bool)
        for group in m.coordinate_groups:
            if group.kind == Motion.PRISMATIC:
                self.slides[group.iv] = True
            elif group.kind == Motion.FREE:
                self.slides[group.iv + 3 : group.iv + 6] = True

    def within(self, q: FloatArray) -> FloatArray:
        """q with its coordinates within the limits."""
        q = q.copy()
        q[self.iq] = np.clip(q[self.iq], self.lower[self.iv], self.upper[self.iv])
        return q

    def moved(self, q: FloatArray, d: FloatArray) -> FloatArray:
        """q moved by d, within the limits."""
        return self.within(q + d if self.flat else self.m.integrate(q, d))

    def rank(self, state: _State) -> tuple[float, float]:
        return max(state.residual, self.tolerance), state.cost

    def at(self, q: FloatArray, whole: bool = True) -> _State:
        """Errors at q; not `whole`: postures do not count."""
        place = Placement(self.m, q)
        errors, e, J, worst = [], [], [], float(np.abs(place.gaps).max(initial=0.0))
        for task in self.tasks:
            own, slope = task.error(place, q)
            errors.append(own)
            if whole or task.required:
                e.append(task.weight * own)
                J.append(task.weight * slope)
            if task.required:
                worst = max(worst, float(np.abs(own).max(initial=0.0)))
        e, J = np.concatenate([np.zeros(0), *e]), np.concatenate([np.zeros((0, self.m.nv)), *J])
        cost = float(e @ e + place.gaps @ place.gaps)
        return _State(q, cost, worst, errors, e, J, place.gaps, place.gap_jacobian)

    def step(self, state: _State, damping: float) -> FloatArray:
        """Change of q: least squares of all tasks, with closed loops, within limits and `LONGEST`."""
        nv = self.m.nv
        high = np.where(self.slides, max(LONGEST, state.residual), LONGEST)
        low = -high
        x = state.q[self.iq]
        low[self.iv] = np.maximum(low[self.iv], np.minimum(self.lower[self.iv] - x, 0.0))
        high[self.iv] = np.minimum(high[self.iv], np.maximum(self.upper[self.iv] - x, 0.0))
        damping += DAMPED * max(1.0, float(np.einsum("ij,ij->j", state.J, state.J).max(initial=0.0)))
        A = np.concatenate([state.J, np.sqrt(damping) * np.eye(nv)])
        b = np.concatenate([-state.e, np.zeros(nv)])
        return bounded_least_squares(A, b, low, high, state.gap_jacobian, -state.gaps)

    def descend(self, q: FloatArray, most: int) -> tuple[_State, int]:
        """The nearest minimum, and iterations; of postures only what the other tasks let them have."""
        state, spent = self._descend(q, most, True)
        if all(task.required for task in self.tasks):
            return state, spent
        # A compromise so far. From here the shortest steps that reach the others leave the posture its part.
        last, more = self._descend(state.q, most, False)
        return self.at(last.q), spent + more

    def _descend(self, q: FloatArray, most: int, whole: bool) -> tuple[_State, int]:
        state, damping, stalled, spent = self.at(q, whole), 1e-3, 0, 0
        while spent < most:
            spent += 1
            d = self.step(state, damping * min(state.cost, 1.0))
            trial = self.at(self.moved(state.q, d), whole)
            if trial.cost < state.cost or (len(state.gaps) and trial.residual < 0.5 * state.residual):
                stalled = 0 if trial.cost < 0.99 * state.cost else stalled + 1
                state, damping = trial, max(0.1 * damping, 1e-9)
            else:
                stalled, damping = stalled + 1, min(10.0 * damping, 1e6)
            # With a posture the best of both is looked for, not the first that reaches the others.
            free = whole and not all(task.required for task in self.tasks)
            done = state.residual <= self.tolerance and (not free or stalled > 2)
            if done or stalled > STALLED or float(np.abs(d).max(initial=0.0)) < 1e-13:
                break
        return state, spent
