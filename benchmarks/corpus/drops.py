"""Families of robots dropped limp on the ground in random orientations."""

from functools import cache, partial

import numpy as np

import leastaction as la
from benchmarks.corpus.figures import bounds
from benchmarks.corpus.scene import Scene
from leastaction.mechanism import Mechanism

ROBOTS = ("littledog", "unitree_a1", "nao", "atlas", "minitaur")
STEPS = (0.01, 0.005, 0.002)
HEIGHT, DURATION = 0.3, 1.0


def start(robot: Mechanism, rng: np.random.Generator) -> np.ndarray:
    """A configuration in the air: any orientation, joints within their limits."""
    q = np.array(robot.neutral(), dtype=float)
    q[3:7] = rng.normal(size=4)
    q[3:7] /= np.linalg.norm(q[3:7])
    lower, upper = bounds(robot)
    if robot.is_tree:
        limited = np.isfinite(lower) & np.isfinite(upper)
        q[7:][limited[6:]] = rng.uniform(lower[6:][limited[6:]], upper[6:][limited[6:]])
    return la.robots.on_ground(robot, q, clearance=HEIGHT)


@cache
def _robot(name: str) -> Mechanism:
    return getattr(la.robots, name)(ground=True)


def drop(name: str, rng) -> Scene:
    """One robot from `HEIGHT` above the ground, joints anywhere within their limits (closed loops: neutral)."""
    robot, dt = _robot(name), float(rng.choice(STEPS))
    return Scene(robot, start(robot, rng), np.zeros(robot.nv), dt, round(DURATION / dt))


FAMILIES = {f"drop_{name}": partial(drop, name) for name in ROBOTS}
