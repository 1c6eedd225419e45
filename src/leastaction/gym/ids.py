"""The names by which Gymnasium makes environments of this package."""

from __future__ import annotations

from leastaction._extras import require

HORIZONS = {"CartPole": 500, "Acrobot": 200, "Hopper": 1000, "A1": 500}
"""Actions of an episode by task."""


def register() -> None:
    """Register with Gymnasium the ids of this package's tasks; more than once does no harm."""
    gymnasium = require("gymnasium", "gym")
    for task, horizon in HORIZONS.items():
        name = f"leastaction/{task}-v0"
        if name not in gymnasium.registry:
            gymnasium.register(
                name,
                entry_point="leastaction.gym.environment:RobotEnv",
                vector_entry_point="leastaction.gym.vector:RobotVectorEnv",
                kwargs={"task": task},
                max_episode_steps=horizon,
            )
