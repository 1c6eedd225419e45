"""Bodies that joints move but that have no inertia, as files of real robots have them: they get that of a ball.

So do point masses, and links without mass in gimbals, that leave a joint without inertia in some pose
(`_point_masses`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from leastaction.formats._point_masses import POINT, gimbals, point_masses
from leastaction.mechanism import Body, MechanismBuilder
from leastaction.mechanism.building.graph import WORLD
from leastaction.mechanism.inertia import Inertia, solid_sphere
from leastaction.mechanism.joints import Joint, Motion
from leastaction.mechanism.pose import Pose
from leastaction.warn import warn

WATER = 1000.0
"""Density [kg/m^3]."""

SMALL = 0.01
"""Radius of the ball in place of a body without mass [m]."""

LIGHT = WATER * 4.0 / 3.0 * math.pi * SMALL**3
"""Its mass [kg]."""

RING = 1e-3
"""Moments of a link of a gimbal, relative to those of what it carries."""

NOTHING = 1e-12
"""What a joint moves, relative to the most that one does, that is nothing, unless it is much for its mass (`POINT`)."""


def repair_inertias(builder: MechanismBuilder, file: Path) -> None:
    """Give inertia to bodies that joints move without any, and to point masses that do not suffice; say which."""
    joints = [joint for joint in builder.joints if not joint.loop]
    found = repaired(builder.bodies, joints)
    for name, inertia in found.items():
        builder.set_inertia(name, inertia)
    if found:
        warn(f"{file}: joints move {_names(found)}, which have no inertia: they get that of a ball of water")
    rings = gimbals(builder.bodies, joints)
    turned = carried(builder.bodies, joints) if rings else {}
    for name in rings:
        moment = RING * float(np.trace(turned[name].matrix)) / 3.0
        builder.set_inertia(name, Inertia(LIGHT, (0.0, 0.0, 0.0), (moment, moment, moment)))
    if rings:
        warn(
            f"{file}: {_names(rings)} have no mass and leave joints with nothing to turn where the axes before and "
            f"after them lie in one line: they get {RING:g} of the moments of inertia of what they carry"
        )
    points = point_masses(builder.bodies, joints, water)
    given = {body.name: body.inertia for body in builder.bodies}
    for name in points:
        builder.set_inertia(name, replace(water(given[name].mass), com=given[name].com))
    if points:
        warn(
            f"{file}: {_names(points)} have mass but no moments of inertia, and leave joints with nothing to turn in "
            "some poses: they get the moments of a ball of water"
        )


def _names(found: Collection[str]) -> str:
    more = f" and {len(found) - 4} more" if len(found) > 4 else ""
    return ", ".join(map(repr, list(found)[:4])) + more


def water(mass: float) -> Inertia:
    """Inertia of a ball of water."""
    return solid_sphere(mass, (0.75 * mass / (math.pi * WATER)) ** (1.0 / 3.0))


def carried(bodies: Sequence[Body], joints: Sequence[Joint]) -> dict[str, Inertia]:
    """For each body the inertia of it and all that it carries, in its frame, in the pose at zero."""
    whole = {body.name: body.inertia for body in bodies}
    for joint in reversed(joints):
        if joint.parent != WORLD:
            pose = joint.pose * joint.child_pose
            whole[joint.parent] = Inertia.from_parts([(whole[joint.parent], Pose()), (whole[joint.child], pose)])
    return whole


def repaired(bodies: Sequence[Body], joints: Sequence[Joint]) -> dict[str, Inertia]:
    """Inertias for the bodies that need one: those that a joint moves without moving any inertia, in the pose at zero.

    Args:
        bodies: all of them.
        joints: of the tree, parents before children.
    """
    given, whole = {body.name: body.inertia for body in bodies}, carried(bodies, joints)
    moved: dict[str, list[tuple[bool, float, float]]] = {}
    out: dict[str, Inertia] = {}
    for joint in joints:
        own = whole[joint.child].moved(joint.child_pose)
        moved[joint.name] = [x for p in joint.primitives for x in _moved(p, own)]
    most = {
        turns: max((x for m in moved.values() for t, x, _ in m if t == turns), default=0.0) for turns in (True, False)
    }
    for joint in joints:
        nothing = any(x <= min(NOTHING * most[turns], small) for turns, x, small in moved[joint.name])
        if nothing and not all(a > 0.0 for a in joint.armature):
            own = given[joint.child]
            out[joint.child] = replace(water(own.mass if own.mass > 0.0 else LIGHT), com=own.com)
    return out


def _moved(primitive: Any, whole: Inertia) -> list[tuple[bool, float, float]]:
    """(whether it turns, inertia that it moves, what of that is little) of each motion of a joint, with `whole` in its
    frame."""
    c, m = np.array(whole.com), whole.mass
    about = whole.matrix + m * (c @ c * np.eye(3) - np.outer(c, c))
    if primitive.motion == Motion.PRISMATIC:
        return [(False, m, math.inf)]
    small = POINT * water(m).moments[0] if m > 0.0 else math.inf
    if primitive.motion in (Motion.SPHERICAL, Motion.FREE):
        J = about if primitive.motion == Motion.SPHERICAL else whole.matrix
        return [(True, float(np.linalg.eigvalsh(J)[0]), small)]
    axis = np.array(primitive.axis)
    return [(True, float(axis @ about @ axis), small)]
