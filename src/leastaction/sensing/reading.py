"""Sensors of a state, and of all states of a run."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.mechanism import JointActuator, Mechanism, Sensor
from leastaction.mechanism.arguments import FloatArray
from leastaction.mechanism.configuration import rotation_vectors
from leastaction.mechanism.pose import quaternion_of_matrix
from leastaction.mechanism.servos import feedback
from leastaction.mechanism.shapes import Box, Capsule, Plane, Shape, Sphere
from leastaction.mechanism.tendons import has_range
from leastaction.sensing.motion import Motion
from leastaction.sensing.rays import NONE, distance

STOPPED = 1e-6
"""Distance from a limit at which a joint may rest on it [rad or m]."""


def read_state(
    mechanism: Mechanism,
    q: FloatArray,
    v: FloatArray,
    u: FloatArray,
    contacts: FloatArray,
    acceleration: FloatArray | None = None,
) -> dict[str, FloatArray]:
    """What all sensors tell at one state, by their names; see `Motion` for the arguments."""
    motion = Motion(mechanism, q, v, u, contacts, acceleration)
    return {sensor.name: _cut(sensor, _READ[sensor.kind](motion, sensor)) for sensor in mechanism.sensors}


def read_run(
    mechanism: Mechanism,
    dt: float,
    Q: FloatArray,
    V: FloatArray,
    U: Any,
    contacts: Any,
    rigid: bool,
) -> dict[str, FloatArray]:
    """What all sensors tell at all states of a run, by their names, arrays of shape (states, numbers).

    Args:
        mechanism: the robot.
        dt: time step [s].
        Q, V: states, shapes (states, nq) and (states, nv).
        U: controls that act, shape (steps, nodes, nu), or None.
        contacts: rows (step, two bodies, point, force on the second, gap), shape (n, 10), or None.
        rigid: whether limits and dry friction of joints act, whose forces no record tells.
    """
    rows = []
    for k in range(len(Q)):
        u = np.zeros(mechanism.nu) if U is None or not len(U) else (U[k, 0] if k < len(U) else U[-1, -1])
        touching = np.zeros((0, 9)) if contacts is None else contacts[contacts[:, 0] == max(k - 1, 0), 1:]
        known = None
        if rigid and len(Q) > 1 and holds(mechanism, Q[k]):
            at = max(k, 1)
            known = (V[at] - V[at - 1]) / dt
        rows.append(read_state(mechanism, Q[k], V[k], u, touching, known))
    return {sensor.name: np.array([row[sensor.name] for row in rows]) for sensor in mechanism.sensors}


def holds(mechanism: Mechanism, q: FloatArray) -> bool:
    """Whether dry friction or a rigid limit may hold a joint at q; of limits of loops q does not tell."""
    if any(any(joint.friction) or joint.has_rigid_limits for joint in mechanism.loops):
        return True
    iq = 0
    for joint in mechanism.joints:
        if any(joint.friction):
            return True
        if joint.nq == joint.nv and not any(joint.limit_stiffness):
            x = q[iq : iq + joint.nq]
            if (x - np.array(joint.lower) < STOPPED).any() or (np.array(joint.upper) - x < STOPPED).any():
                return True
        iq += joint.nq
    return False


def _cut(sensor: Sensor, values: Any) -> FloatArray:
    out = np.atleast_1d(np.asarray(values, float))
    if sensor.cutoff > 0.0 and sensor.kind != "orientation":
        out = np.clip(out, -sensor.cutoff, sensor.cutoff)
    return out


def _joint_position(motion: Motion, sensor: Sensor) -> Any:
    return motion.q[motion.mechanism.coordinate_index(sensor.target)]


def _joint_velocity(motion: Motion, sensor: Sensor) -> Any:
    return motion.v[motion.mechanism.velocity_index(sensor.target)]


def _joint_force(motion: Motion, sensor: Sensor) -> Any:
    m, k = motion.mechanism, motion.mechanism.velocity_index(sensor.target)
    if not m.actuators:
        return motion.u[k]
    back = feedback(m)
    x = 0.0
    if back.stiffness[k]:
        x = motion.q[m.coordinate_index(sensor.target)]
    elif back.turning[k]:
        ball = next(group for group in m.coordinate_groups if group.iv <= k < group.iv + group.nv)
        x = rotation_vectors(motion.q[ball.iq : ball.iq + 4])[k - ball.iv]
    force = back.pull[k] - (back.stiffness[k] + back.turning[k]) * x - back.damping[k] * motion.v[k]
    force += motion.along_tendons()[k]
    for u, actuator in zip(motion.u, m.actuators, strict=True):
        if isinstance(actuator, JointActuator) and actuator.coordinate == sensor.target and not has_range(actuator):
            force += actuator.push * u
    return force


def _position(motion: Motion, sensor: Sensor) -> Any:
    X = np.linalg.inv(motion.pose(sensor.reference)) @ motion.pose(sensor.target)
    return X[:3, 3]


def _orientation(motion: Motion, sensor: Sensor) -> Any:
    X = np.linalg.inv(motion.pose(sensor.reference)) @ motion.pose(sensor.target)
    return quaternion_of_matrix(X[:3, :3])


def _angular_velocity(motion: Motion, sensor: Sensor) -> Any:
    w = motion.twist(sensor.target)[0] - motion.twist(sensor.reference)[0]
    return motion.pose(sensor.reference)[:3, :3].T @ w


def _linear_velocity(motion: Motion, sensor: Sensor) -> Any:
    X, Y = motion.pose(sensor.reference), motion.pose(sensor.target)
    w, v = motion.twist(sensor.reference)
    return X[:3, :3].T @ (motion.twist(sensor.target)[1] - v - np.cross(w, Y[:3, 3] - X[:3, 3]))


def _gyro(motion: Motion, sensor: Sensor) -> Any:
    return motion.pose(sensor.target)[:3, :3].T @ motion.twist(sensor.target)[0]


def _velocimeter(motion: Motion, sensor: Sensor) -> Any:
    return motion.pose(sensor.target)[:3, :3].T @ motion.twist(sensor.target)[1]


def _accelerometer(motion: Motion, sensor: Sensor) -> Any:
    return motion.pose(sensor.target)[:3, :3].T @ motion.felt_acceleration(sensor.target)


def _force(motion: Motion, sensor: Sensor) -> Any:
    return motion.pose(sensor.target)[:3, :3].T @ motion.carried_wrench(sensor.target)[3:]


def _torque(motion: Motion, sensor: Sensor) -> Any:
    return motion.pose(sensor.target)[:3, :3].T @ motion.carried_wrench(sensor.target)[:3]


def _center_of_mass(motion: Motion, sensor: Sensor) -> Any:
    m = motion.mechanism
    total, x = 0.0, np.zeros(3)
    for name in m.subtree(m.frame(sensor.target).body):
        inertia = m.bodies[m.body_index(name)].inertia
        X = motion.pose_of_body(name)
        total, x = total + inertia.mass, x + inertia.mass * (X[:3, :3] @ np.array(inertia.com) + X[:3, 3])
    return x / total if total > 0.0 else motion.pose(sensor.target)[:3, 3]


def _touch(motion: Motion, sensor: Sensor) -> Any:
    m = motion.mechanism
    own, X = m.body_index(m.frame(sensor.target).body), motion.pose(sensor.target)
    total = 0.0
    for row in motion.contacts:
        bodies = int(row[0]), int(row[1])
        if own not in bodies:
            continue
        inside = sensor.zone is None or _inside(sensor.zone, X[:3, :3].T @ (row[2:5] - X[:3, 3]))
        if inside:
            other = bodies[1] if bodies[0] == own else bodies[0]
            total += _normal_force(m, other, row[2:5], row[5:8])
    return total


def _normal_force(m: Mechanism, other: int, point: FloatArray, force: FloatArray) -> float:
    """Part of a contact force along the normal; where that is not a plane's, the whole force."""
    planes = [shape for shape in m.ground if isinstance(shape, Plane)] if other < 0 else []
    if not planes:
        return float(np.linalg.norm(force))
    near = min(planes, key=lambda p: abs(float((point - p.pose.position) @ p.pose.rotation[:, 2])))
    return abs(float(force @ near.pose.rotation[:, 2]))


def _inside(zone: Shape, x: FloatArray) -> bool:
    x = np.array(zone.pose.inverse().apply(tuple(x.tolist())))
    if isinstance(zone, Box):
        return bool((np.abs(x) <= 0.5 * np.array(zone.size)).all())
    if isinstance(zone, Sphere):
        return float(x @ x) <= zone.radius**2
    half = 0.5 * zone.length  # type: ignore[attr-defined]
    if isinstance(zone, Capsule):
        x[2] = max(abs(x[2]) - half, 0.0)
        return float(x @ x) <= zone.radius**2
    return abs(float(x[2])) <= half and float(x[:2] @ x[:2]) <= zone.radius**2  # type: ignore[attr-defined]


def _range(motion: Motion, sensor: Sensor) -> Any:
    m, X = motion.mechanism, motion.pose(sensor.target)
    origin, direction = X[:3, 3], X[:3, 2]
    own, nearest = m.frame(sensor.target).body, NONE
    carriers: list[tuple[str, FloatArray, tuple[Shape, ...]]] = [("world", np.eye(4), m.ground)]
    carriers += [(body.name, motion.pose_of_body(body.name), body.shapes) for body in m.bodies if body.shapes]
    for name, pose, shapes in carriers:
        if name == own:
            continue
        for shape in shapes:
            if shape.visual or shape.collision:
                Y = np.linalg.inv(pose @ shape.pose.matrix)
                nearest = min(nearest, distance(shape, Y[:3, :3] @ origin + Y[:3, 3], Y[:3, :3] @ direction))
    return nearest if nearest < NONE else -1.0


_READ = {
    "joint_position": _joint_position,
    "joint_velocity": _joint_velocity,
    "joint_force": _joint_force,
    "position": _position,
    "orientation": _orientation,
    "linear_velocity": _linear_velocity,
    "angular_velocity": _angular_velocity,
    "velocimeter": _velocimeter,
    "gyro": _gyro,
    "accelerometer": _accelerometer,
    "force": _force,
    "torque": _torque,
    "touch": _touch,
    "range": _range,
    "center_of_mass": _center_of_mass,
}
"""How each kind is read."""
