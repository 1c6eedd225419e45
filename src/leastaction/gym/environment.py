"""One robot as an environment of Gymnasium."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium
import numpy as np
from numpy.typing import ArrayLike, NDArray

from leastaction.errors import ConvergenceError, LeastActionError
from leastaction.gym.environment_tasks import Task, task_of
from leastaction.mechanism._check import shown

LARGE = 1e6
"""Bound of all that is seen."""


class RobotEnv(gymnasium.Env[NDArray[np.float64], NDArray[np.float64]]):
    """A robot with a task.

    Actions are numbers from -1 to 1, one for each control; observations are those of the task. A step that has no
    solution ends the episode as truncated, with the error in `info["failure"]`.

    Args:
        task: a `Task`, or the name of one of this package's.
        render_mode: None, or "rgb_array" for pictures.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"], "render_fps": 50}

    def __init__(self, task: Task | str = "CartPole", render_mode: str | None = None) -> None:
        if not isinstance(render_mode, str | None) or render_mode not in (None, *self.metadata["render_modes"]):
            raise LeastActionError(f"render_mode must be None or 'rgb_array', got {shown(render_mode)}")
        self.task, self.render_mode = task_of(task), render_mode
        self.simulator = self.task.simulator()
        seen = len(self.task.observe(self.simulator.q, self.simulator.v))
        self.observation_space = gymnasium.spaces.Box(-LARGE, LARGE, (seen,), np.float64)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (len(self.task.scale),), np.float64)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float64], dict[str, Any]]:
        """Start an episode; see Gymnasium."""
        super().reset(seed=seed)
        self.simulator.reset(*self.task.start(self.np_random))
        return self.seen(), {}

    def seen(self) -> NDArray[np.float64]:
        """What is seen of the robot as it is."""
        return self.task.observe(self.simulator.q, self.simulator.v)

    def step(self, action: ArrayLike) -> tuple[NDArray[np.float64], float, bool, bool, dict[str, Any]]:
        """Hold an action; see Gymnasium."""
        action = np.asarray(action, float)
        if action.shape != self.action_space.shape or not np.isfinite(action).all():
            raise LeastActionError(f"action: expected {len(self.task.scale)} finite numbers, got {action!r}")
        try:
            return *self.task.act(self.simulator, action), False, {}
        except ConvergenceError as error:
            return self.seen(), 0.0, False, True, {"failure": str(error)}

    def render(self) -> NDArray[np.uint8] | None:  # type: ignore[override]
        """A picture, shape (480, 640, 3), with render_mode "rgb_array"."""
        if self.render_mode is None:
            return None
        from leastaction.view import screenshot

        return screenshot(self.simulator.now, width=640, height=480, show=())
