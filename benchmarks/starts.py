"""Where the benchmarked robots start."""

import numpy as np


def bow(links):
    """Angles of a hanging chain bent like a bow: 30 degrees off the vertical at its ends, opposite ways."""
    if links == 1:
        return np.array([np.pi / 6])
    absolute = np.pi / 6 * np.cos(np.pi * (np.arange(links) + 0.5) / links)
    return np.diff(absolute, prepend=0.0)


def near_neutral(robot, angle, seed):
    """A configuration with all coordinates within ±angle [rad or m] of the neutral one."""
    rng = np.random.default_rng(seed)
    return robot.integrate(robot.neutral(), rng.uniform(-angle, angle, robot.nv))


def thrown(robot, speed, seed):
    """A posture within ±15 degrees of the neutral one and joint velocities within ±speed [rad/s]; a free base rests."""
    rng = np.random.default_rng(seed)
    q = robot.integrate(robot.neutral(), rng.uniform(-np.pi / 12, np.pi / 12, robot.nv))
    v = rng.uniform(-speed, speed, robot.nv)
    for joint in robot.joints:
        if joint.kind == "free":
            v[[robot.velocity_index(name) for name in joint.velocity_names()]] = 0.0
    return q, v
