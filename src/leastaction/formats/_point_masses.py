"""Links that have no moments of inertia, where they leave a joint with nothing to turn in some pose.

One point mass on an arm is a good pendulum. A few of them in a row are not: there are poses in which a joint turns next
to nothing once all others give way, 1 / (M^-1)_ii beside M_ii of the mass matrix M. Torques then send it off at any
speed. So they do with links without any mass between three hinges, as hips and shoulders are often drawn, where the
first and the last axis come to lie in one line.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from leastaction.mechanism import Body
from leastaction.mechanism.building.graph import WORLD
from leastaction.mechanism.inertia import Inertia
from leastaction.mechanism.joints import Joint, Motion
from leastaction.mechanism.pose import Pose
from leastaction.typing import FloatArray

LEAST = 1e-6
"""Share of what a joint carries that it must feel in every pose. Robots with moments of inertia have 1e-4 and more."""

POSES = 30
"""Random poses that are looked at."""

LOCKED = (-0.5 * math.pi, 0.0, 0.5 * math.pi)
"""Angles of a hinge at which those before and after it are likely to lie in one line, beside its limits."""

POINT = 1e-6
"""Largest moment of a point mass, relative to that of a ball of water of that mass."""


def point_masses(bodies: Sequence[Body], joints: Sequence[Joint], ball: Any) -> list[str]:
    """Links that joints move and that are point masses; none where joints feel inertia in all poses looked at.

    Args:
        bodies: all of them.
        joints: of the tree, parents before children.
        ball: the inertia of a ball of water, by its mass.
    """
    given = {body.name: body.inertia for body in bodies}
    found = [joint.child for joint in joints if joint.primitives and _is_point(given[joint.child], ball)]
    if not found:
        return []
    rng = np.random.default_rng(0)
    worst = min(_least_share(given, joints, rng, {}) for _ in range(POSES))
    return found if worst < LEAST else []


def gimbals(bodies: Sequence[Body], joints: Sequence[Joint]) -> list[str]:
    """Links without mass on both sides of a hinge at an angle of which, within its limits, joints feel no inertia.

    Args:
        bodies: all of them.
        joints: of the tree, parents before children.
    """
    given = {body.name: body.inertia for body in bodies}
    light = {j.child for j in joints if j.primitives and given[j.child].mass == 0.0 and not any(given[j.child].moments)}
    middle = [j for j in joints if j.child in light and j.parent in light and _is_hinge(j)]
    if not middle or _least_share(given, joints, np.random.default_rng(0), {}) < LEAST:
        return []
    found: dict[str, None] = {}
    for joint in middle:
        lower, upper = joint.lower[0], joint.upper[0]
        angles = [x for x in (lower, upper, *LOCKED) if lower <= x <= upper and math.isfinite(x)]
        shares = (_least_share(given, joints, np.random.default_rng(0), {joint.name: x}) for x in angles)
        if any(share < LEAST for share in shares):
            found |= {joint.parent: None, joint.child: None}
    return list(found)


def _is_hinge(joint: Joint) -> bool:
    return len(joint.primitives) == 1 and joint.primitives[0].motion == Motion.REVOLUTE


def _is_point(inertia: Inertia, ball: Any) -> bool:
    return inertia.mass > 0.0 and np.abs(inertia.matrix).max() < POINT * ball(inertia.mass).moments[0]


def _least_share(given: dict[str, Inertia], joints: Sequence[Joint], rng: Any, at_angles: dict[str, float]) -> float:
    """Least share of what a joint carries that it feels with all others free, in a random pose but for some angles."""
    places: dict[str, Pose] = {WORLD: Pose()}
    motions: dict[str, list[FloatArray]] = {WORLD: []}
    total = sum(len(_axes(joint)) for joint in joints)
    M, at = np.diag([a for joint in joints for a in joint.armature]) if total else np.zeros((0, 0)), 0
    columns: dict[str, list[int]] = {WORLD: []}
    for joint in joints:
        frame = places[joint.parent] * joint.pose
        own = [_in_world(frame, axis) for axis in _axes(joint)]
        name = joint.child
        places[name] = frame * _moved(joint, rng, at_angles) * joint.child_pose
        motions[name] = motions[joint.parent] + own
        columns[name] = columns[joint.parent] + list(range(at, at + len(own)))
        at += len(own)
        if given[name].mass > 0.0 and motions[name]:
            J = np.array(motions[name])
            M[np.ix_(columns[name], columns[name])] += J @ _in_world_inertia(places[name], given[name]) @ J.T
    felt = np.diag(M) > 0.0
    M = M[np.ix_(felt, felt)]
    scale = np.sqrt(np.diag(M))
    values, vectors = np.linalg.eigh(M / np.outer(scale, scale))
    if values[0] <= 1e-15:
        return 0.0
    return float(1.0 / (vectors**2 / values).sum(axis=1).max())


def _in_world_inertia(pose: Pose, inertia: Inertia) -> FloatArray:
    """Inertia (6, 6) of a body about the world's origin, turning first."""
    m, (x, y, z) = inertia.mass, pose.apply(inertia.com)
    c = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    J = pose.rotation @ inertia.matrix @ pose.rotation.T
    return np.block([[J + m * c @ c.T, m * c], [m * c.T, m * np.eye(3)]])


def _in_world(frame: Pose, motion: FloatArray) -> FloatArray:
    """A motion (6) of a frame as one of the world: turning, and the velocity of what passes through its origin."""
    turn, slide = frame.rotation @ motion[:3], frame.rotation @ motion[3:]
    return np.concatenate([turn, slide + np.cross(frame.position, turn)])


def _axes(joint: Joint) -> list[FloatArray]:
    """Motions (6) of a joint in its own frame."""
    out: list[FloatArray] = []
    for primitive in joint.primitives:
        if primitive.motion == Motion.FREE:
            out += list(np.eye(6))
        elif primitive.motion == Motion.SPHERICAL:
            out += list(np.eye(6)[:3])
        else:
            turns = primitive.motion != Motion.PRISMATIC
            out.append(np.concatenate([primitive.axis, np.zeros(3)] if turns else [np.zeros(3), primitive.axis]))
    return out


def _moved(joint: Joint, rng: Any, at_angles: dict[str, float]) -> Pose:
    """A random pose of a joint with one axis to turn about, within its limits, or at a given angle; else at zero."""
    if not _is_hinge(joint):
        return Pose()
    lower, upper = max(joint.lower[0], -math.pi), min(joint.upper[0], math.pi)
    angle = at_angles.get(joint.name, float(rng.uniform(lower, max(lower, upper))))
    return Pose.from_axis_angle(joint.primitives[0].axis, angle)
