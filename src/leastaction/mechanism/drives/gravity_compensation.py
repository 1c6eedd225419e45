"""Gravity compensation: forces on bodies against a share of their weight, which follow gravity and masses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from leastaction.mechanism import _check
from leastaction.mechanism.body import Body
from leastaction.mechanism.elements import ExternalWrench

if TYPE_CHECKING:
    from leastaction.mechanism.mechanism import Mechanism


def compensation(body: str, mass: float, com: Any, share: float, gravity: Any) -> ExternalWrench:
    """The force -share mass gravity at the centre of mass.

    Args:
        body: name of the body.
        mass: [kg].
        com: centre of mass in the body's frame [m], 3 numbers.
        share: MuJoCo's `gravcomp`: 1 holds the body up.
        gravity: [m/s^2], 3 numbers.
    """
    force = tuple(-share * mass * g for g in gravity)
    return ExternalWrench(f"gravcomp of {body}", body, (0.0, 0.0, 0.0, *force), com)


def shares(robot: Mechanism) -> dict[str, float]:
    """For each external wrench that is such a force, by its name, the share of the weight."""
    found, squared = {}, float(np.dot(robot.gravity, robot.gravity))
    for wrench in robot.wrenches:
        inertia = robot.bodies[robot.body_index(wrench.body)].inertia
        if inertia.mass * squared == 0.0:
            continue
        share = -float(np.dot(wrench.wrench[3:], robot.gravity)) / (inertia.mass * squared)
        same = compensation(wrench.body, inertia.mass, inertia.com, share, robot.gravity)
        near = np.allclose(same.wrench, wrench.wrench, rtol=1e-12, atol=1e-12 * max(map(abs, wrench.wrench)))
        size = 1e-12 * max(1.0, float(np.abs(inertia.com).max()))
        near = near and np.allclose(same.point, wrench.point, rtol=0.0, atol=size)
        if near and wrench.frame == "world" and wrench.name == same.name:
            found[wrench.name] = share
    return found


def followed(before: Mechanism, changes: dict[str, Any]) -> dict[str, Any]:
    """Changes of a mechanism, with its wrenches where gravity or masses change: shares of the weight stay the same."""
    if "wrenches" in changes or changes.keys().isdisjoint(("gravity", "bodies")):
        return changes
    gravity = _check.vector(changes.get("gravity", before.gravity), 3, "gravity")
    bodies = _check.instances(changes.get("bodies", before.bodies), Body, "bodies")
    found, inertias = shares(before), {body.name: body.inertia for body in bodies}
    wrenches = tuple(
        compensation(wrench.body, inertias[wrench.body].mass, inertias[wrench.body].com, found[wrench.name], gravity)
        if wrench.name in found and wrench.body in inertias
        else wrench
        for wrench in before.wrenches
    )
    return changes | {"wrenches": wrenches}
