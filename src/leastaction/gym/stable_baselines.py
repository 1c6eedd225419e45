"""Robots as the vectorised environment (`VecEnv`) that Stable-Baselines3 trains on; extra `sb3`."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction._extras import require
from leastaction.gym.environment_tasks import Task
from leastaction.gym.vector import RobotVectorEnv

__all__ = ["stable_baselines_env"]


def stable_baselines_env(
    num_envs: int,
    task: Task | str = "CartPole",
    render_mode: str | None = None,
    max_episode_steps: int | None = None,
    workers: int | None = None,
) -> Any:
    """A `stable_baselines3.common.vec_env.VecEnv` of robots that are stepped in threads of one process.

    Episodes start anew at once; `infos[i]` then holds `terminal_observation`, and `TimeLimit.truncated` says whether
    the episode only ran out of time or out of a solution (Stable-Baselines3 then bootstraps with the value function).

    Args:
        num_envs: number of robots.
        task: a `Task`, or the name of one of this package's.
        render_mode: None, or "rgb_array".
        max_episode_steps: actions of an episode; default the task's.
        workers: threads; default all cores.
    """
    options = {"render_mode": render_mode, "max_episode_steps": max_episode_steps, "workers": workers}
    return _adapter()(RobotVectorEnv(num_envs, task, autoreset_mode="SameStep", **options))


@cache
def _adapter() -> Any:
    vec_env: Any = require("stable_baselines3.common.vec_env", "sb3")

    class RobotVecEnv(vec_env.VecEnv):
        """`RobotVectorEnv` with the calls of Stable-Baselines3."""

        def __init__(self, robots: RobotVectorEnv) -> None:
            self.robots, self.actions = robots, np.zeros(0)
            self.metadata = robots.metadata
            super().__init__(robots.num_envs, robots.single_observation_space, robots.single_action_space)

        def reset(self) -> Any:
            # Seeds are those of `seed`, for this reset alone.
            seen, _ = self.robots.reset(seed=self._seeds)
            self.reset_infos = [{} for _ in range(self.num_envs)]
            self._reset_seeds()
            self._reset_options()
            return seen

        def step_async(self, actions: NDArray[Any]) -> None:
            self.actions = np.asarray(actions)

        def step_wait(self) -> Any:
            seen, rewards, over, cut, merged = self.robots.step(self.actions)
            done = over | cut
            infos: list[dict[str, Any]] = [
                {"TimeLimit.truncated": bool(c and not o)} for o, c in zip(over, cut, strict=True)
            ]
            for i in np.flatnonzero(done):
                infos[i]["terminal_observation"] = merged["final_obs"][i]
                failures = merged.get("final_info", {}).get("failure")
                if failures is not None and failures[i]:
                    infos[i]["failure"] = failures[i]
            return seen, rewards, done, infos

        def close(self) -> None:
            self.robots.close()

        def get_images(self) -> Any:
            return self.robots.render() or [None] * self.num_envs

        def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
            return [getattr(env, attr_name) for env in self._chosen(indices)]

        def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
            for env in self._chosen(indices):
                setattr(env, attr_name, value)

        def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
            return [getattr(env, method_name)(*args, **kwargs) for env in self._chosen(indices)]

        def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
            return [False for _ in self._chosen(indices)]

        def _chosen(self, indices: Any) -> list[Any]:
            return [self.robots.envs[i] for i in self._get_indices(indices)]

    return RobotVecEnv
