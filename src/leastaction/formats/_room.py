"""Joints that an equation ties to others, with limits of their own that leave these no room."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

from leastaction.mechanism import Coupling, Mechanism
from leastaction.warn import warn

NONE = 1e-9
"""How far limits may miss each other [rad or m] and still meet, up to rounding."""


def with_room(robot: Mechanism, file: Path) -> Mechanism:
    """The robot with followers of straight couplings free of their limits where their leaders have none in common.

    No step could keep both limits and the equation, which soft ones, as MuJoCo's, violate a bit each. The equation is
    what moves the joint, so it holds, with the limits of the leader; a warning names the joints.
    """
    limits = {
        name: (joint.lower[k], joint.upper[k])
        for joint in robot.joints
        if joint.nq == joint.nv
        for k, name in enumerate(joint.coordinate_names())
    }
    tied = {c.follower for c in robot.couplings if not _meet(c, limits)}
    if not tied:
        return robot
    joints = []
    for joint in robot.joints:
        own = joint.coordinate_names()
        if tied.intersection(own):
            lower = tuple(-math.inf if n in tied else x for n, x in zip(own, joint.lower, strict=True))
            upper = tuple(math.inf if n in tied else x for n, x in zip(own, joint.upper, strict=True))
            joint = replace(joint, lower=lower, upper=upper)
        joints.append(joint)
    warn(
        f"{file}: limits of {', '.join(map(repr, sorted(tied)))} leave no room for the limits of the joints that an "
        "equation ties them to: the equation holds, with the limits of those"
    )
    return robot.replace(joints=tuple(joints))


def _meet(coupling: Coupling, limits: dict[str, tuple[float, float]]) -> bool:
    """Whether the limits of a follower and of its leader have a place in common."""
    follower, leader = (limits.get(name, (-math.inf, math.inf)) for name in (coupling.follower, coupling.leader))
    if len(coupling.coefficients) != 2 or coupling.follower == coupling.leader:
        return True
    offset, slope = coupling.coefficients
    low, high = sorted(offset + slope * x for x in leader) if slope else (offset, offset)
    return max(low, follower[0]) <= min(high, follower[1]) + NONE
