"""What a robot's motion should keep: energy, and momenta along its symmetries (Noether's theorem)."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.mechanism.building.graph import WORLD
from leastaction.mechanism.joints import Motion


def keeps_energy(robot: Any) -> bool:
    """Whether nothing takes energy from the robot or brings it: no damping, friction, drag or body-fixed wrench."""
    joints = (*robot.joints, *robot.loops)
    lossless = not any(any(joint.damping) or any(joint.friction) for joint in joints)
    springs = not any(getattr(s, "damping", 0.0) for s in (*robot.springs, *robot.cables, *robot.tendons))
    springs = springs and not any(t.limit_damping for t in robot.tendons)
    return (
        lossless
        and springs
        and not robot.wrenches
        and not robot.penalties
        and not robot.forces
        and not touches_ground(robot)
    )


def touches_ground(robot: Any) -> bool:
    """Whether there is a ground and something to touch it with."""
    shapes = any(shape.collision for body in robot.bodies for shape in body.shapes)
    return bool(robot.ground) and (bool(robot.contacts) or shapes)


def symmetries(robot: Any) -> Any:
    """Twists (angular, linear) about the world's origin that move the whole robot and change nothing, shape (k, 6).

    The momentum along each of them is kept. Found are those of robots that hang on the world by one free, ball, hinge
    or sliding joint (or several free ones) without a spring or damper in it, and that nothing else ties to the world.
    """
    roots = [joint for joint in robot.joints if joint.parent == WORLD]
    none = np.zeros((0, 6))
    tied = [joint for joint in robot.loops if WORLD in (joint.parent, joint.child)]
    ends = [end.body for s in robot.springs for end in (s.start, s.end)]
    ends += [point.body for cable in robot.cables for point in cable.via]
    ends += [point.body for tendon in robot.tendons for _, points in tendon.stretches for point in points]
    held = any(any(j.stiffness) or any(j.damping) or any(j.friction) or any(j.armature) for j in roots)
    coupled = any(c.follower in j.coordinate_names() or c.leader in j.coordinate_names()
                  for c in robot.couplings for j in roots)  # fmt: skip
    coupled = coupled or any(name in j.velocity_names() for t in robot.tendons for name, _ in t.joints for j in roots)
    grounded = touches_ground(robot) or robot.penalties
    if tied or WORLD in ends or held or coupled or grounded or robot.wrenches or robot.forces or robot.rollings:
        return none
    if any(len(joint.primitives) != 1 for joint in roots):
        return none
    kinds = {joint.primitives[0].motion for joint in roots}
    g = np.array(robot.gravity)
    if kinds == {Motion.FREE}:
        return _of_free_bodies(g)
    if len(roots) != 1:
        return none
    joint = roots[0]
    X = joint.pose.matrix
    if kinds == {Motion.SPHERICAL}:
        axes = [g / np.linalg.norm(g)] if g.any() else list(np.eye(3))
        return np.array([np.concatenate([a, np.cross(X[:3, 3], a)]) for a in axes])
    axis = X[:3, :3] @ np.array(joint.primitives[0].axis)
    if kinds == {Motion.PRISMATIC} and abs(axis @ g) <= 1e-12 * np.linalg.norm(g):
        return np.concatenate([np.zeros(3), axis])[None]
    if kinds == {Motion.REVOLUTE} and np.linalg.norm(np.cross(axis, g)) <= 1e-12 * np.linalg.norm(g):
        return np.concatenate([axis, np.cross(X[:3, 3], axis)])[None]
    return none


def _of_free_bodies(g: Any) -> Any:
    if not g.any():
        return np.eye(6)
    down = g / np.linalg.norm(g)
    sideways = np.linalg.svd(down[None])[2][1:]
    rows = [np.concatenate([down, np.zeros(3)]), *(np.concatenate([np.zeros(3), d]) for d in sideways)]
    return np.array(rows)


def momentum_drift(run: Any) -> float | None:
    """Largest change of a momentum that should be kept [kg m²/s or kg m/s]; None where there is none."""
    twists = symmetries(run.mechanism)
    if not len(twists):
        return None
    kept = run.momentum @ twists.T
    return float(np.abs(kept - kept[0]).max())
