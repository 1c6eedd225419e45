"""Robots as environments of Gymnasium (extra `gym`): `gymnasium.make("leastaction/Hopper-v0")`.

Ids: `leastaction/CartPole-v0`, `leastaction/Acrobot-v0`, `leastaction/Hopper-v0`, `leastaction/A1-v0`. Gymnasium knows
them once this module is imported, which `gymnasium.make("leastaction.gym:leastaction/Hopper-v0")` does by itself.
"""

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from leastaction._public import unknown
from leastaction.gym.ids import register

if TYPE_CHECKING:
    from leastaction.gym.environment import RobotEnv
    from leastaction.gym.environment_tasks import TASKS, Task
    from leastaction.gym.stable_baselines import stable_baselines_env
    from leastaction.gym.vector import RobotVectorEnv

__all__ = ["TASKS", "RobotEnv", "RobotVectorEnv", "Task", "register", "stable_baselines_env"]

_HOMES = {
    "TASKS": "environment_tasks",
    "Task": "environment_tasks",
    "RobotEnv": "environment",
    "RobotVectorEnv": "vector",
    "stable_baselines_env": "stable_baselines",
}


if find_spec("gymnasium") is not None:  # else the first thing asked for says what to install
    register()


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise unknown(sys.modules[__name__], name)
    register()
    return getattr(import_module(f"leastaction.gym.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__]
