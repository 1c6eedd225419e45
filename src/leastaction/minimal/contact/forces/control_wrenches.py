"""Controls and constant wrenches on the joints and bodies of a robot."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.forces import drives, wrenches
from leastaction.mechanism import Mechanism

GEAR = np.dtype(
    [
        ("dof", "i8"),  # degree of freedom of the generalised force gear * u, or -1
        ("gear", "f8"),
        ("lower", "f8"),  # limits of u
        ("upper", "f8"),
        ("node", "i8"),  # else: body of the wrench u * wrench, -1 for none
        ("wrench", "f8", 6),  # torque about the centre of mass and force, in the body's frame
        ("held", "i8"),  # 0 for a control; a constant wrench: `HELD_BY_BODY` or `HELD_BY_WORLD`
        ("tendon", "i8"),  # or tendon of the force gear * u, counted from one; 0 for none
        (
            "arm",
            "f8",
            3,
        ),  # of a `HELD_BY_WORLD` wrench: its point from the centre of mass, in the body's frame [m]
    ],
    align=True,
)
"""One control, with its limits, or one constant wrench."""

HELD_BY_BODY, HELD_BY_WORLD = 1, 2
"""Constant wrenches in the body's frame, and those in the world's: their torque is about their point."""


def gears(mechanism: Mechanism) -> tuple[Any, int]:
    """`GEAR` records of the controls, then of constant wrenches; and the index of the first on a body, else nu."""
    tree = mechanism.tree
    out, given = np.zeros(mechanism.nu, GEAR), drives.compiled(mechanism, tree.frames)
    out["dof"], out["gear"], out["lower"], out["upper"] = given.dof, given.gear, -np.inf, np.inf
    out["node"], out["wrench"] = np.where(given.dof < 0, given.node, -1), given.wrench
    out["tendon"] = given.tendon
    thrusters = np.flatnonzero(out["node"] >= 0)
    centres = np.array(tree.nodes.com)[out["node"][thrusters]]
    out["wrench"][thrusters, :3] -= np.cross(centres, out["wrench"][thrusters, 3:])
    for gear, actuator in zip(out, mechanism.actuators, strict=False):
        gear["lower"], gear["upper"] = actuator.lower, actuator.upper
    first = int(thrusters[0]) if len(thrusters) else mechanism.nu
    return np.concatenate([out, constant_wrenches(mechanism)]), first


def constant_wrenches(mechanism: Mechanism) -> Any:
    """Yields `GEAR` records of constant wrenches on bodies."""
    given = wrenches.compiled(mechanism, mechanism.tree.frames)
    given = given[given.node >= 0]
    out = np.zeros(len(given), GEAR)
    out["dof"], out["lower"], out["upper"] = -1, -np.inf, np.inf
    out["node"], out["wrench"] = given.node, given.wrench
    out["held"] = np.where(given.local != 0, HELD_BY_BODY, HELD_BY_WORLD)
    out["arm"] = given.point - np.array(mechanism.tree.nodes.com)[given.node]
    turning = given.local != 0
    out["wrench"][turning, :3] += np.cross(out["arm"], given.wrench[:, 3:])[turning]
    return out
