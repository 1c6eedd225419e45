"""Robots and logs that tests of identification share."""

from functools import lru_cache

import numpy as np

import leastaction as la
from leastaction.derivatives import with_parameters

SECOND = la.Galerkin(order=2)

OTHER = {"mass:fore": 1.0, "com:fore": (0.03, 0.0, -0.24), "damping:elbow": 0.08, "damping:shoulder": 0.15}
"""Values that logs are made with, away from those of `arm`."""


@lru_cache
def arm():
    """Two links that hang and swing in a plane, with a motor in each joint."""
    b = la.MechanismBuilder("arm")
    b.body("upper", mass=1.5, com=(0, 0, -0.25), inertia=(0.02, 0.02, 0.002))
    b.body("fore", mass=0.8, com=(0, 0, -0.2), inertia=(0.01, 0.01, 0.001))
    b.joint("shoulder", "revolute", "world", "upper", axis="y", damping=0.1)
    b.joint("elbow", "revolute", "upper", "fore", axis="y", position=(0, 0, -0.5), damping=0.05)
    b.actuator("m1", "shoulder")
    b.actuator("m2", "elbow")
    return b.build()


def torques(steps, dt=0.01):
    """Controls that make it swing, shape (steps, 2)."""
    t = dt * np.arange(steps)
    return np.stack([4 * np.sin(2.1 * t) + 2 * np.sin(5.3 * t + 1), 1.5 * np.sin(3.7 * t) + np.cos(7 * t)], axis=1)


def logged(values=OTHER, steps=150, dt=0.01, noise=(1e-3, 1e-2), seed=0, q=(0.3, 0.2)):
    """A log of the arm with other values, and noise of q and v."""
    u = torques(steps, dt)
    options = {"dt": dt, "steps": steps, "controls": u, "integrator": SECOND, "progress": False}
    run = la.simulate(with_parameters(arm(), values), list(q), **options)
    rng = np.random.default_rng(seed)
    disturbed = [x + size * rng.normal(size=x.shape) for x, size in zip((run.q, run.v), noise, strict=True)]
    return la.Trajectory.from_states(arm(), *disturbed, dt=dt, u=u)
