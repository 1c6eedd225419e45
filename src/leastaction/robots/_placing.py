"""Where a robot stands: configurations in which it just touches the ground, and controls that hold it there."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from leastaction.errors import MechanismError
from leastaction.mechanism import Box, Capsule, Cylinder, Ellipsoid, Mechanism, Mesh, Motion, Shape, Sphere, _check
from leastaction.mechanism.arguments import configuration
from leastaction.mechanism.building.graph import WORLD
from leastaction.mechanism.drives.actuators import Servo
from leastaction.mechanism.drives.control_forces import tendon_length
from leastaction.typing import FloatArray


def on_ground(robot: Mechanism, q: ArrayLike | None = None, *, clearance: float = 0.0) -> FloatArray:
    """q, moved up or down so that the lowest point of the robot is on the level ground z = 0; shape (nq,).

    Its contact points and shapes for collision count; all bodies that fly are moved by the same distance, prescribed
    ones not at all.

    Args:
        robot: any robot, at least one of whose bodies is tied to the world by a free joint.
        q: joint positions [rad or m], shape (nq,); default neutral.
        clearance: height of the lowest point [m].
    """
    from leastaction.dynamics import body_poses

    _check.instance(robot, Mechanism, "robot")
    clearance = _check.number(clearance, "clearance")
    q = configuration(robot, robot.home() if q is None else q)
    X = body_poses(robot, q)
    rises, at = [], 0
    flying = np.zeros(len(robot.bodies), bool)
    for i, (joint, parent) in enumerate(zip(robot.joints, robot.parents, strict=True)):
        free = joint.parent == WORLD and len(joint.primitives) == 1 and joint.primitives[0].motion == Motion.FREE
        free = free and joint.child not in robot.prescribed
        if free:
            rises.append((at, joint.pose.rotation[2]))
        flying[i] = free or (parent >= 0 and flying[parent])
        at += joint.nq
    if not rises:
        raise MechanismError(f"{robot.name!r} is tied to the world: no free joint lets it be lifted")
    lowest = [
        _lowest(shape, X[i]) for i in np.flatnonzero(flying) for shape in robot.bodies[i].shapes if shape.collision
    ]
    for point in robot.contacts:
        if flying[i := robot.body_index(point.body)]:
            lowest.append(float(X[i, 2, :3] @ point.point + X[i, 2, 3]) - point.radius)
    if not lowest:
        raise MechanismError(
            f"nothing of {robot.name!r} can touch the ground: no contact points, no shapes for collision"
        )
    for at, up in rises:
        q[at : at + 3] += (clearance - min(lowest)) * np.asarray(up)
    return q


def holding_controls(robot: Mechanism, q: ArrayLike | None = None) -> FloatArray:
    """Controls at which the position servos of a robot rest at q, shape (nu,); those of other actuators are zero.

    Where something pulls, such as gravity, servos give way by force / kp.

    Args:
        robot: any robot.
        q: joint positions [rad or m], shape (nq,); default home.
    """
    _check.instance(robot, Mechanism, "robot")
    q = configuration(robot, robot.home() if q is None else q)
    u, along = np.zeros(robot.nu), robot.difference(robot.neutral(), q)
    tendons = {tendon.name: tendon for tendon in robot.tendons}
    for k, servo in enumerate(robot.actuators):
        if not isinstance(servo, Servo) or not servo.kp or not servo.push:
            continue
        name = servo.coordinate
        x = tendon_length(robot, q, tendons[name]) if name in tendons else along[robot.velocity_names.index(name)]
        u[k] = servo.kp * (servo.gear * x - servo.rest) / (servo.push / servo.gear)
    return u


def _lowest(shape: Shape, X: FloatArray) -> float:
    """Height of a shape's lowest point [m], its body at the pose X (4, 4)."""
    T = X @ shape.pose.matrix
    down, height = -T[2, :3], T[2, 3]
    if isinstance(shape, Sphere):
        return height - shape.radius
    if isinstance(shape, Capsule):
        return height - 0.5 * shape.length * abs(down[2]) - shape.radius
    if isinstance(shape, Cylinder):
        return height - 0.5 * shape.length * abs(down[2]) - shape.radius * float(np.hypot(down[0], down[1]))
    if isinstance(shape, Ellipsoid):
        return height - float(np.linalg.norm(down * np.asarray(shape.radii)))
    if isinstance(shape, Box):
        return height - 0.5 * float(np.abs(down) @ np.asarray(shape.size))
    if isinstance(shape, Mesh):
        return height - float((shape.vertices @ down).max())
    return np.inf  # ground
