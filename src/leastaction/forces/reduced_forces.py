"""The `ForceModel` of a mechanism in reduced coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.forces.arrays import BALL_SPRING, ForceModel, force_model
from leastaction.forces.drives import DRIVE, node_wrench
from leastaction.forces.tendons.tendon_records import tendon_of_control
from leastaction.forces.user import PointForce, user_forces
from leastaction.kinematics.reduced.arrays import filled, records
from leastaction.kinematics.reduced.compiled import ReducedCoordinates
from leastaction.mechanism.drives.actuators import JointActuator
from leastaction.mechanism.joints import SPLINES, Motion
from leastaction.mechanism.tree import DOF, PROPERTIES, Span


def reduced_forces(coordinates: ReducedCoordinates, user: tuple[PointForce, ...] = ()) -> ForceModel:
    """The forces that act on the nodes and on the reduced coordinates.

    Args:
        coordinates: reduced coordinates of the mechanism.
        user: user-defined forces.
    """
    c, m = coordinates, coordinates.mechanism
    coords = records(c.nr, DOF)
    balls: list[dict[str, Any]] = []
    drive_of: dict[int, dict[str, Any]] = {}
    for span in c.tree.spans:
        p = span.primitive
        if p.motion in (Motion.SPHERICAL, Motion.FREE):
            balls.append(_ball_spring(c, span, len(balls)))
        for j in range(p.nv):
            drive_of[span.iv + j] = _joint_drive(c, span, j)
            if p.motion in SPLINES:
                coord = coords[span.iv + j]
                for name in PROPERTIES:
                    coord[name] = getattr(span.joint, name)[span.offset + j]
                coord.rest = span.joint.rest[_rest_of(span) + j]
    return force_model(c.tree)._replace(
        drives=filled(_drives(c, drive_of), DRIVE),
        balls=filled(balls, BALL_SPRING),
        coords=coords,
        user=user_forces(user, c.tree.bodies, m.body_index),
    )


def _rest_of(span: Span) -> int:
    """Index of a primitive's rest position within that of its joint."""
    k = 0
    for p, _ in span.joint.by_primitive(span.joint.stiffness):
        if p is span.primitive:
            break
        k += p.nq
    return k


def _ball_spring(c: ReducedCoordinates, span: Span, k: int) -> dict[str, Any]:
    ball = c.model.balls[k]
    where = _rest_of(span) + (3 if span.primitive.motion == Motion.FREE else 0)
    return {
        "child": ball.child,
        "other": ball.other,
        "frame": ball.frame,
        "stiffness": span.joint.stiffness[span.offset : span.offset + 3],
        "damping": span.joint.damping[span.offset : span.offset + 3],
        "rest": span.joint.rest[where : where + 4],
    }


def _joint_drive(c: ReducedCoordinates, span: Span, j: int) -> dict[str, Any]:
    """Degree of freedom or wrench of a unit control on degree of freedom j of a joint's primitive."""
    if span.primitive.motion not in (Motion.SPHERICAL, Motion.FREE):
        return {"dof": span.iv + j}
    wrench = np.zeros(6)
    wrench[j] = 1.0
    other = int(c.tree.nodes[span.first].parent)
    return {"dof": -1, "node": span.first + span.count - 1, "other": other, "wrench": wrench}


def _drives(c: ReducedCoordinates, drive_of: dict[int, dict[str, Any]]) -> list[dict[str, Any]]:
    m = c.mechanism
    if not m.actuators:
        return [{"gear": 1.0} | drive_of[k] for k in range(m.nv)]
    rows: list[dict[str, Any]] = []
    of_tendons = tendon_of_control(m)
    for k, a in enumerate(m.actuators):
        if k in of_tendons and isinstance(a, JointActuator):
            rows.append({"dof": -1, "node": -1, "other": -1, "tendon": of_tendons[k], "gear": a.push})
            continue
        if isinstance(a, JointActuator):
            drive = dict(drive_of[m.velocity_index(a.coordinate)])
            if "wrench" in drive:
                drive["wrench"] = a.push * drive["wrench"]
            rows.append(drive | {"gear": a.push})
            continue
        node, wrench = node_wrench(c.tree.frames[a.body], a.wrench)
        rows.append({"dof": -1, "node": node, "other": -1, "wrench": wrench})
    return rows
