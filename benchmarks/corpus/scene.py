"""A random scene, and random numbers that the families share."""

from dataclasses import dataclass
from typing import Any

import numpy as np

import leastaction as la


@dataclass
class Scene:
    """A mechanism, its initial state, and the length of the run.

    Attributes:
        robot: the mechanism.
        q, v: initial positions and velocities.
        dt: time step [s].
        steps: number of steps.
        motions: prescribed motions by name, as `simulate` takes them.
        controls: constant controls of motors and servos in joints with one axis, shape (nu,).
    """

    robot: la.Mechanism
    q: np.ndarray
    v: np.ndarray
    dt: float
    steps: int
    motions: dict | None = None
    controls: np.ndarray | None = None


def random_turn(rng) -> np.ndarray:
    """A random unit quaternion."""
    quat = rng.normal(size=4)
    return quat / np.linalg.norm(quat)


def random_surface(rng, restitution=None) -> dict[str, Any]:
    """Random friction and restitution of a shape."""
    e = float(rng.uniform(0.0, 1.0)) if restitution is None else restitution
    return {"friction": float(rng.uniform(0.0, 1.0)), "restitution": float(rng.choice([0.0, e, 1.0]))}


def stiff_spring(rng, mass: float, dt: float) -> tuple[float, float]:
    """Stiffness [N/m] of a spring on this mass whose frequency times dt is between 0.1 and 100, and a stretch [m].

    The stretch gives the mass a speed of 1 m/s at most, however stiff the spring is.
    """
    frequency = float(10.0 ** rng.uniform(-1.0, 2.0)) / dt
    return mass * frequency**2, float(rng.uniform(-1.0, 1.0)) / frequency
