"""What the kernels of sensors read and write."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from leastaction.dynamics.workspace import Workspace
from leastaction.forces.arrays import ForceModel, ForceModes, force_modes
from leastaction.forces.drives import compiled
from leastaction.mechanism import Mechanism, Sensor
from leastaction.mechanism.arguments import FloatArray
from leastaction.mechanism.drives.servos import feedback
from leastaction.mechanism.joints import Motion
from leastaction.mechanism.pose import Pose
from leastaction.mechanism.sensors import OF_FRAMES, OF_JOINTS
from leastaction.mechanism.shapes import Plane, Shape
from leastaction.sensing.rays import shape_records

KINDS = (*OF_JOINTS, *OF_FRAMES)
"""Kinds of sensors by their codes."""

(
    JOINT_POSITION,
    JOINT_VELOCITY,
    JOINT_FORCE,
    POSITION,
    ORIENTATION,
    LINEAR_VELOCITY,
    ANGULAR_VELOCITY,
    VELOCIMETER,
    GYRO,
    ACCELEROMETER,
    FORCE,
    TORQUE,
    TOUCH,
    RANGE,
    CENTER_OF_MASS,
) = range(len(KINDS))

OF_FORCES = ("joint_force", "accelerometer", "force", "torque")
"""Kinds that depend on the forces that act."""

OF_CONTACTS = ("accelerometer", "force", "torque", "touch")
"""Kinds that depend on contact forces."""

SENSOR = np.dtype(
    [
        ("kind", "i8"),
        ("first", "i8"),  # of its numbers in the output
        ("count", "i8"),
        ("cutoff", "f8"),
        ("iq", "i8"),  # of the coordinate
        ("iv", "i8"),
        ("ball", "i8"),  # first coordinate of the ball joint that it belongs to, -1 for joints with one axis
        ("body", "i8"),  # of the frame, -1 for the world
        ("node", "i8"),  # that carries the frame, -1 for the world
        ("R", "f8", 9),  # frame in the node
        ("p", "f8", 3),
        ("seen_from", "i8"),  # node of the frame of reference ...
        ("seen_R", "f8", 9),  # ... which is there
        ("seen_p", "f8", 3),
        ("welded", "i8"),  # whether the body shares the node with its parent
        ("last", "i8"),  # end of the bodies that it carries, which begin with it
        ("zone", "i8"),  # number of the shape in which contacts are felt, -1: everywhere
    ],
    align=True,
)
"""One sensor."""

SENSED_BODY = np.dtype(
    [
        ("parent", "i8"),
        ("node", "i8"),
        ("R", "f8", 9),  # frame of the body in the node
        ("p", "f8", 3),
        ("mass", "f8"),
        ("com", "f8", 3),  # in the body's frame [m]
        ("inertia", "f8", 9),  # about the centre of mass
    ],
    align=True,
)
"""A body as sensors see it."""


class SensorModel(NamedTuple):
    """Read only.

    Attributes:
        nodes: `tree.NODE` records.
        sensors: `SENSOR` records.
        bodies: `SENSED_BODY` records.
        planes: points and normals of the planes of the ground, shape (planes, 2, 3).
        shapes: `SENSED_SHAPE` records of what rays meet; behind these of the zones.
        triangles: of the shapes, shape (n, 3, 3).
        rays: how many of the shapes rays meet.
        gravity: [m/s^2], shape (3,).
        feedback: of servos, see `servos.Feedback`, shape (4, nv).
        drives: force of each control on each degree of freedom, tendons apart, shape (nu, nv).
    """

    nodes: Any
    sensors: Any
    bodies: Any
    planes: FloatArray
    shapes: Any
    triangles: FloatArray
    rays: int
    gravity: FloatArray
    feedback: FloatArray
    drives: FloatArray


class SensorData(NamedTuple):
    """Scratch.

    Attributes:
        links, screws: see `Workspace`; with forces in between, accelerations and wrenches of the links are there.
        own: wrenches on the nodes, contacts apart, shape (nodes, 6).
        along_tendons: generalised forces of the drives of tendons, shape (nv,).
    """

    links: Any
    screws: Any
    own: FloatArray
    along_tendons: FloatArray


class SensedForces(NamedTuple):
    """Scratch of the forces that sensors feel: what `applied_forces` needs, and more.

    Attributes:
        modes: of one-sided forces and tendons.
        links, screws, external, tau: see `Workspace`.
        acc: accelerations of the degrees of freedom, shape (nv,).
        required: generalised forces of inverse dynamics, shape (nv,).
        own, along_tendons: see `SensorData`.
        pulls: scratch, shape (nodes, 6).
    """

    modes: ForceModes
    links: Any
    screws: Any
    external: FloatArray
    tau: FloatArray
    acc: FloatArray
    required: FloatArray
    own: FloatArray
    along_tendons: FloatArray
    pulls: FloatArray


def sensor_model(mechanism: Mechanism) -> SensorModel:
    """What the kernels read of a mechanism."""
    m, tree = mechanism, mechanism.tree
    seen: list[tuple[int, Shape]] = [(-1, shape) for shape in m.ground]
    seen += [(i, shape) for i, body in enumerate(m.bodies) for shape in body.shapes]
    seen = [(i, shape) for i, shape in seen if shape.visual or shape.collision]
    zones = [(-1, sensor.zone) for sensor in m.sensors if sensor.zone is not None]
    records, triangles = shape_records(seen + zones)
    sensors: Any = np.zeros(len(m.sensors), SENSOR).view(np.recarray)
    first, zone = 0, len(seen)
    for record, sensor in zip(sensors, m.sensors, strict=True):
        _describe(m, sensor, record)
        record.first, record.zone = first, -1
        if sensor.zone is not None:
            record.zone, zone = zone, zone + 1
        first += sensor.size
    drives = np.zeros((m.nu, m.nv))
    for row, drive in zip(drives, compiled(m, tree.frames), strict=True):
        if drive.dof >= 0:
            row[drive.dof] = drive.gear
    planes = [(s.pose.position, s.pose.rotation[:, 2]) for s in m.ground if isinstance(s, Plane)]
    return SensorModel(
        nodes=tree.nodes,
        sensors=sensors,
        bodies=_bodies(m),
        planes=np.array(planes, float).reshape(-1, 2, 3),
        shapes=records,
        triangles=triangles,
        rays=len(seen),
        gravity=tree.gravity,
        feedback=np.array(feedback(m)),
        drives=drives,
    )


def _describe(m: Mechanism, sensor: Sensor, record: Any) -> None:
    """Fill in the record of a sensor, but for its place in the output and its zone."""
    record.kind, record.count, record.ball = KINDS.index(sensor.kind), sensor.size, -1
    record.cutoff = 0.0 if sensor.kind == "orientation" else sensor.cutoff
    if sensor.kind in OF_JOINTS:
        if sensor.kind != "joint_velocity" and sensor.target in m.coordinate_names:
            record.iq = m.coordinate_index(sensor.target)
        if sensor.kind != "joint_position":
            k = record.iv = m.velocity_index(sensor.target)
            for group in m.coordinate_groups:
                if group.iv <= k < group.iv + group.nv and group.kind == Motion.SPHERICAL:
                    record.ball, record.iq = group.iq, k - group.iv
        return
    body = m.frame(sensor.target).body
    record.body = m.body_index(body)
    record.last = len(m.bodies) if record.body < 0 else record.body + m.subtree_sizes[record.body]
    for name, at, R, p in ((sensor.target, "node", "R", "p"), (sensor.reference, "seen_from", "seen_R", "seen_p")):
        frame = m.frame(name)
        node, X = m.tree.frames[frame.body]
        pose: Pose = X * frame.pose
        record[at], record[R], record[p] = node, pose.rotation.ravel(), pose.position
    parent = m.parents[record.body] if record.body >= 0 else -1
    record.welded = parent >= 0 and int(m.tree.bodies[parent].node) == record.node


def _bodies(m: Mechanism) -> Any:
    out: Any = np.zeros(len(m.bodies), SENSED_BODY).view(np.recarray)
    for record, body, frame, parent in zip(out, m.bodies, m.tree.bodies, m.parents, strict=True):
        record.parent, record.node, record.R, record.p = parent, frame.node, frame.R, frame.p
        record.mass, record.com, record.inertia = body.inertia.mass, body.inertia.com, body.inertia.matrix.ravel()
    return out


def sensor_data(w: Workspace) -> SensorData:
    """Room for one robot."""
    return SensorData(w.links, w.screws, np.zeros_like(w.external), np.zeros(w.tree.nv))


def sensed_forces(w: Workspace, forces: ForceModel, data: SensorData) -> SensedForces:
    """Room for the forces of one robot, together with `data`."""
    acc, required = np.zeros((2, w.tree.nv))
    pulls = np.zeros_like(w.external)
    return SensedForces(
        force_modes(forces), w.links, w.screws, w.external, w.tau, acc, required, data.own, data.along_tendons, pulls
    )
