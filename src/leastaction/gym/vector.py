"""Many robots of one kind as one environment of Gymnasium, stepped on all cores."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from leastaction.errors import LeastActionError
from leastaction.gym.env import RobotEnv
from leastaction.gym.tasks import Task, task_of


class RobotVectorEnv(VectorEnv):
    """Robots that do not know of each other; compiled steps run in threads, side by side.

    An episode that is over starts anew with the next action, which is then not used (Gymnasium's autoreset in the next
    step).

    Args:
        num_envs: how many.
        task: a `Task`, or the name of one of this package's.
        render_mode: None, or "rgb_array".
        max_episode_steps: actions of an episode; default the task's.
        workers: threads; default all cores.
    """

    metadata: ClassVar[dict[str, Any]] = {"autoreset_mode": AutoresetMode.NEXT_STEP, "render_modes": ["rgb_array"]}

    def __init__(
        self,
        num_envs: int = 1,
        task: Task | str = "CartPole",
        render_mode: str | None = None,
        max_episode_steps: int | None = None,
        workers: int | None = None,
    ) -> None:
        if not isinstance(num_envs, int) or num_envs < 1:
            raise LeastActionError(f"num_envs must be a whole number of at least 1, got {num_envs!r}")
        task = task_of(task)
        self.num_envs, self.render_mode = num_envs, render_mode
        self.envs = [RobotEnv(task, render_mode) for _ in range(num_envs)]
        self.horizon = task.horizon if max_episode_steps is None else max_episode_steps
        self.single_observation_space = self.envs[0].observation_space
        self.single_action_space = self.envs[0].action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.pool = ThreadPoolExecutor(workers or os.cpu_count())
        self.counts, self.done = np.zeros(num_envs, int), np.zeros(num_envs, bool)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[NDArray[np.float64], dict]:
        """Start all episodes; `seed` is a number, the first of as many, or one for each."""
        seeds = [None] * self.num_envs if seed is None else seed
        if isinstance(seed, int | np.integer):
            seeds = [int(seed) + k for k in range(self.num_envs)]
        self.counts[:], self.done[:] = 0, False
        return np.stack([env.reset(seed=s)[0] for env, s in zip(self.envs, seeds, strict=True)]), {}

    def step(self, actions: Any) -> tuple[NDArray[np.float64], NDArray[Any], NDArray[Any], NDArray[Any], dict]:
        """Hold an action for each; see Gymnasium."""
        actions = np.asarray(actions, float)
        if actions.shape != self.action_space.shape:
            raise LeastActionError(f"actions: expected shape {self.action_space.shape}, got {actions.shape}")

        def one(k: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
            if self.done[k]:
                self.counts[k] = 0
                return self.envs[k].reset()[0], 0.0, False, False, {}
            self.counts[k] += 1
            seen, reward, over, cut, info = self.envs[k].step(actions[k])
            return seen, reward, over, cut or (not over and self.counts[k] >= self.horizon), info

        seen, rewards, over, cut, infos = zip(*self.pool.map(one, range(self.num_envs)), strict=True)
        self.done[:] = np.logical_or(over, cut)
        told: dict[str, Any] = {}
        for k, info in enumerate(infos):
            told = self._add_info(told, info, k)
        return np.stack(seen), np.array(rewards, float), np.array(over, bool), np.array(cut, bool), told

    def render(self) -> tuple[Any, ...] | None:
        """Pictures of all, with render_mode "rgb_array"."""
        return None if self.render_mode is None else tuple(env.render() for env in self.envs)

    def close_extras(self, **kwargs: Any) -> None:
        """Let the threads go."""
        self.pool.shutdown()
