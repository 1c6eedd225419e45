"""Many robots of one kind as one environment of Gymnasium, stepped on all cores."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from leastaction.batch.threads import number_of_cores
from leastaction.errors import LeastActionError
from leastaction.gym.environment import RobotEnv
from leastaction.gym.environment_tasks import Task, task_of
from leastaction.integration.settings import is_count


class RobotVectorEnv(VectorEnv):
    """Robots that do not know of each other; compiled steps run in threads, side by side.

    Args:
        num_envs: how many.
        task: a `Task`, or the name of one of this package's.
        render_mode: None, or "rgb_array".
        max_episode_steps: actions of an episode; default the task's.
        workers: threads; default all cores.
        autoreset_mode: what follows the end of an episode (Gymnasium's `AutoresetMode`, or its value). "NextStep": it
            starts anew with the next action, which is then not used; "SameStep": at once, and `info` has what was seen
            last under "final_obs" and "final_info"; "Disabled": `reset` is called for it, with "reset_mask".
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 (Gymnasium's own is not one of the class alone)
        "autoreset_mode": AutoresetMode.NEXT_STEP,
        "render_modes": ["rgb_array"],
    }

    def __init__(
        self,
        num_envs: int = 1,
        task: Task | str = "CartPole",
        render_mode: str | None = None,
        max_episode_steps: int | None = None,
        workers: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    ) -> None:
        task = task_of(task)
        try:
            self.mode = AutoresetMode(autoreset_mode)
        except ValueError:
            words = ", ".join(mode.value for mode in AutoresetMode)
            raise LeastActionError(f"autoreset_mode must be one of {words}, got {autoreset_mode!r}") from None
        self.metadata = type(self).metadata | {"autoreset_mode": self.mode}
        horizon = task.horizon if max_episode_steps is None else max_episode_steps
        threads = number_of_cores() if workers is None else workers
        for name, value in (("num_envs", num_envs), ("max_episode_steps", horizon), ("workers", threads)):
            if not is_count(value):
                raise LeastActionError(f"{name} must be a whole number of at least 1, got {value!r}")
        self.num_envs, self.render_mode, self.horizon = int(num_envs), render_mode, int(horizon)
        self.envs = [RobotEnv(task, render_mode) for _ in range(self.num_envs)]
        self.single_observation_space = self.envs[0].observation_space
        self.single_action_space = self.envs[0].action_space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.pool = ThreadPoolExecutor(threads)
        self.counts, self.done = np.full(self.num_envs, -1), np.zeros(self.num_envs, bool)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float64], dict]:
        """Start all episodes; `seed` is a number, the first of as many, or one for each.

        With `options["reset_mask"]`, shape (num_envs,), only those that it marks; the others go on.
        """
        mask = np.ones(self.num_envs, bool)
        if options is not None and "reset_mask" in options:
            mask = np.asarray(options["reset_mask"])
            if mask.dtype != bool or mask.shape != (self.num_envs,):
                raise LeastActionError(f"reset_mask: expected {self.num_envs} of True and False, got {mask!r}")
        seeds: Any = [None] * self.num_envs if seed is None else seed
        if isinstance(seed, int | np.integer):
            seeds = [int(seed) + k for k in range(self.num_envs)]
        if not hasattr(seeds, "__len__") or len(seeds) != self.num_envs:
            raise LeastActionError(f"seed: expected a whole number or {self.num_envs} of them, got {seed!r}")
        self.counts[mask], self.done[mask] = 0, False
        rows = zip(self.envs, seeds, mask, strict=True)
        return np.stack([env.reset(seed=s)[0] if new else env.seen() for env, s, new in rows]), {}

    def step(self, actions: ArrayLike) -> tuple[NDArray[np.float64], NDArray[Any], NDArray[Any], NDArray[Any], dict]:
        """Hold an action for each; see Gymnasium."""
        actions = np.asarray(actions, float)
        if actions.shape != self.action_space.shape:
            raise LeastActionError(f"actions: expected shape {self.action_space.shape}, got {actions.shape}")
        wrong = np.flatnonzero(~np.isfinite(actions).all(axis=1) & ~self.done)  # before any of them moves
        if len(wrong):
            raise LeastActionError(f"actions: that of environment {wrong[0]} is not finite: {actions[wrong[0]]!r}")
        if (self.counts < 0).any():
            raise LeastActionError("an episode begins with reset: call it before the first step")
        if self.mode is AutoresetMode.DISABLED and self.done.any():
            who = int(np.flatnonzero(self.done)[0])
            raise LeastActionError(f"the episode of environment {who} is over: reset it, with reset_mask")

        def one(k: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
            if self.done[k]:
                self.counts[k] = 0
                return self.envs[k].reset()[0], 0.0, False, False, {}
            self.counts[k] += 1
            seen, reward, over, cut, info = self.envs[k].step(actions[k])
            cut = cut or (not over and self.counts[k] >= self.horizon)
            if (over or cut) and self.mode is AutoresetMode.SAME_STEP:
                self.counts[k] = 0
                seen, info = self.envs[k].reset()[0], {"final_obs": seen, "final_info": info}
            return seen, reward, over, cut, info

        seen, rewards, over, cut, infos = zip(*self.pool.map(one, range(self.num_envs)), strict=True)
        self.done[:] = np.logical_or(over, cut) & (self.mode is not AutoresetMode.SAME_STEP)
        merged: dict[str, Any] = {}
        for k, info in enumerate(infos):
            merged = self._add_info(merged, info, k)
        return np.stack(seen), np.array(rewards, float), np.array(over, bool), np.array(cut, bool), merged

    def render(self) -> tuple[Any, ...] | None:
        """Pictures of all, with render_mode "rgb_array"."""
        return None if self.render_mode is None else tuple(env.render() for env in self.envs)

    def close_extras(self, **kwargs: Any) -> None:
        """Let the threads go."""
        self.pool.shutdown()
