"""Inverse kinematics: configurations in which frames are where they are wanted, within limits, with loops closed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leastaction._jit.bound import Bound
from leastaction._tuples import plain
from leastaction.errors import ConvergenceError, MechanismError
from leastaction.kinematics.levenberg_marquardt import descend
from leastaction.kinematics.task_arrays import ik_data, ik_model
from leastaction.kinematics.tasks import Task
from leastaction.mechanism import Mechanism, _check
from leastaction.mechanism.arguments import FloatArray, configuration, robot


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
    q: ArrayLike | None = None,
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
    model = ik_model(m, own, _check.flag(limits, "limits"))
    data = ik_data(model, m.nq)
    state, search = data.state, Bound(descend, plain(model), plain(data))
    must_succeed, rng = _check.flag(must_succeed, "must_succeed"), _generator(seed)
    best, rank = (state.q, np.inf, state.errors), (np.inf, np.inf)
    iterations, starts = 0, 0
    for k in range(more + 1):
        state.q[:] = m.random_configuration(rng) if k else (m.home() if q is None else configuration(m, q))
        spent, cost, residual = search(most, tolerance)
        iterations, starts = iterations + spent, starts + 1
        if k == 0 or (max(residual, tolerance), cost) < rank:
            rank = max(residual, tolerance), cost
            best = state.q.copy(), residual, state.errors.copy()
        if best[1] <= tolerance:
            break
    found, residual, errors = best
    success = residual <= tolerance
    if must_succeed and not success:
        raise ConvergenceError(
            f"inverse kinematics of {m.name!r}: the tasks are missed by {residual:.3g} from {starts} starts",
            residuals=[residual],
        )
    each = tuple(np.split(errors, model.tasks["first"][1:]))
    return IKResult(found, success, residual, each, iterations, starts)


def _generator(seed: Any) -> np.random.Generator:
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise MechanismError(
            f"seed: expected a whole number of at least 0, or a random generator, got {_check.shown(seed)}"
        ) from None
