"""Gradients by named parameters of a mechanism, from those by the arrays that kernels read."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.errors import IntegratorError, MechanismError
from leastaction.forces.tendons.tendon_records import acting
from leastaction.mechanism import Mechanism, Servo
from leastaction.mechanism.drives.servos import feedback
from leastaction.mechanism.drives.tendons import drives_tendon, has_range
from leastaction.mechanism.elements import PointElement
from leastaction.mechanism.joints import Joint, Motion
from leastaction.mechanism.tree import Span
from leastaction.parameters.parameters import parameter
from leastaction.redmax.adjoint.run_gradients import Gradients
from leastaction.typing import FloatArray

_PATH = {"stiffness": 0, "rest": 1, "damping": 2}
_TENDON = {"stiffness": 0, "damping": 1}
_PENALTY = {"stiffness": 0, "damping": 1, "friction": 2, "stiction": 3}
_COORDINATE = {
    "stiffness": 0,
    "rest": 1,
    "damping": 2,
    "armature": 3,
    "lower": 4,
    "upper": 5,
    "limit_stiffness": 6,
    "limit_damping": 7,
}
_ROW = {"stiffness": 6, "damping": 7, "rest": 8}


def parameter_gradient(g: Gradients, mechanism: Mechanism, name: str) -> FloatArray:
    """The gradient by one parameter of the mechanism, such as "mass:link1"; see `leastaction.adjoint`."""
    kind, _, part = name.partition(":")
    if kind == "gravity":
        return g.parameters.gravity.copy()
    if kind in ("mass", "com", "inertia"):
        return _inertial(g, mechanism, kind, part)
    if kind == "wrench":
        return _wrench(g, mechanism, part)
    paths = (*mechanism.springs, *mechanism.cables)
    for k, path in enumerate(paths):
        if path.name == part and kind in (*_PATH, "points"):
            return (
                _points_of_path(g, mechanism, k)
                if kind == "points"
                else np.array(g.parameters.forces.paths[k, _PATH[kind]])
            )
    if kind in _TENDON and any(t.name == part for t in mechanism.tendons):
        return np.array(_tendon_row(g, mechanism, part)[_TENDON[kind]])
    if any(p.name == part for p in mechanism.penalties) and kind in (*_PENALTY, "origin", "points"):
        return _penalty(g, mechanism, kind, part)
    for force in mechanism.forces:
        if force.name == part and kind in (*force.PARAMETERS, "point"):
            return _point_force(g, mechanism, kind, force)
    if kind in ("kp", "kv"):
        return _servo(g, mechanism, kind, part)
    if kind == "peak":
        peak = float(parameter(mechanism, name))
        return np.array(_tendon_row(g, mechanism, part)[2] / peak if peak else 0.0)
    if kind in ("position", "rotation") and any(j.name == part for j in (*mechanism.joints, *mechanism.loops)):
        return _placement(g, mechanism, kind, mechanism.joint(part))
    if kind in _COORDINATE:
        return _elastic(g, mechanism, kind, mechanism.joint(part))
    return np.zeros(parameter(mechanism, name).shape)  # of what does not act in reduced coordinates


def _rotation(g: Gradients, mechanism: Mechanism, body: str) -> tuple[FloatArray, FloatArray]:
    """Rotation and origin of a body's frame in its node."""
    if body == "world":
        return np.eye(3), np.zeros(3)
    frame = g.reduced.tree.bodies[mechanism.body_index(body)]
    return frame.R.reshape(3, 3), frame.p


def _inertial(g: Gradients, mechanism: Mechanism, kind: str, body: str) -> FloatArray:
    i = mechanism.body_index(body)
    if i < 0:
        raise MechanismError("the world has no inertia")
    frame = g.reduced.tree.bodies[i]
    if frame.node < 0:
        return np.zeros({"mass": (), "com": 3, "inertia": 6}[kind])
    row, inertia = g.parameters.inertias[int(frame.node)], mechanism.bodies[i].inertia
    R = frame.R.reshape(3, 3)
    c = R @ np.array(inertia.com) + frame.p
    J = np.array([[row[4], row[5] / 2, row[6] / 2], [row[5] / 2, row[7], row[8] / 2], [row[6] / 2, row[8] / 2, row[9]]])
    if kind == "mass":
        return np.array(row[0] + row[1:4] @ c + np.trace(J) * (c @ c) - c @ J @ c)
    if kind == "com":
        return inertia.mass * (R.T @ (row[1:4] + 2.0 * np.trace(J) * c - 2.0 * J @ c))
    B = R.T @ J @ R
    return np.array([B[0, 0], 2 * B[0, 1], 2 * B[0, 2], B[1, 1], 2 * B[1, 2], B[2, 2]])


def _placement(g: Gradients, mechanism: Mechanism, kind: str, joint: Joint) -> FloatArray:
    measured = {name for force in acting(mechanism) for name, _ in force.joints}
    if measured & set(joint.velocity_names()) and (kind == "rotation" or joint.kind != "revolute"):
        # Lengths are read off the poses of the bodies, along axes that would have to move with the joint.
        raise IntegratorError(
            f"{kind}:{joint.name}: a tendon, or a drive with a force range, measures this joint, and the adjoint "
            "method does not know how its axis moves; leastaction.Galerkin, Maximal and Minimal do"
        )
    t = g.reduced.tree
    span = next((s for s in t.spans if s.joint.name == joint.name), None)
    loop = _rows_of(g, mechanism, joint)[0]
    row = g.parameters.rows[loop, :6].sum(axis=0) if span is None else g.parameters.placements[span.first]
    R, p = _rotation(g, mechanism, joint.parent)
    if kind == "position":
        return R.T @ row[3:]
    return R.T @ (row[:3] + np.cross(row[3:], R @ np.array(joint.pose.position) + p))


def _rows_of(g: Gradients, mechanism: Mechanism, joint: Joint) -> tuple[list[int], dict[int, int]]:
    """Rows of a loop joint, and of its springs and dampers by degree of freedom."""
    closure = g.reduced.tree.closure
    rows = [k for k, name in enumerate(closure.names) if name == joint.name]
    soft: dict[int, int] = {}
    k = closure.count
    for loop in mechanism.loops:
        for dof in range(loop.nv):
            if loop.stiffness[dof] or loop.damping[dof]:
                if loop.name == joint.name:
                    soft[dof] = k
                k += 1
    return rows + list(soft.values()), soft


def _wrench(g: Gradients, mechanism: Mechanism, name: str) -> FloatArray:
    names = [w.name for w in mechanism.wrenches]
    if name not in names:
        raise MechanismError(f"unknown external wrench {name!r}")
    k = names.index(name)
    w, out = mechanism.wrenches[k], g.parameters.forces.wrenches[k].copy()
    if w.frame == "body":
        R, _ = _rotation(g, mechanism, w.body)
        out = np.concatenate([R.T @ out[:3], R.T @ out[3:]])
    return out


def _first_coordinate(span: Span) -> int:
    """Where the coordinates of a primitive motion start among those of its joint."""
    count = 0
    for p in span.joint.primitives:
        if p is span.primitive:
            break
        count += p.nq
    return count


def _servo(g: Gradients, mechanism: Mechanism, kind: str, name: str) -> FloatArray:
    """Of a gain of a servo: by stiffness, rest and damping of its joint, and by its force per unit of control."""
    k, servo = next((k, a) for k, a in enumerate(mechanism.actuators) if a.name == name and isinstance(a, Servo))
    by_push = servo.gear * g.drives[k] / servo.push if servo.push and servo.gain is None else 0.0
    if has_range(servo) or drives_tendon(mechanism, servo):
        row = _tendon_row(g, mechanism, name if has_range(servo) else servo.coordinate)
        if kind == "kv":
            return np.array(servo.gear**2 * row[3] + (by_push if servo.kp == 0.0 else 0.0))
        return np.array(servo.gear**2 * row[2] + servo.gear * servo.rest * row[4] + by_push)
    dof = mechanism.velocity_index(servo.coordinate)
    span = next(s for s in g.reduced.tree.spans if s.iv <= dof < s.iv + s.primitive.nv)
    own, offset = g.parameters.coordinates[dof], span.offset + dof - span.iv
    if span.primitive.motion == Motion.SPHERICAL:
        if kind == "kp":
            raise MechanismError(
                f"{kind}:{name}: the stiffness about one axis of a ball joint is no parameter of its own"
            )
        own = np.array([0.0, 0.0, _ball_row(g, span.iv)[3 + dof - span.iv]])
    if kind == "kv":
        return np.array(servo.gear**2 * own[2] + (by_push if servo.kp == 0.0 else 0.0))
    stiffness = span.joint.stiffness[offset]
    by_rest = 0.0
    if stiffness > 0.0:
        rest = span.joint.rest[_first_coordinate(span) + dof - span.iv]
        by_rest = own[1] * (servo.gear * servo.rest - servo.gear**2 * rest) / stiffness
    return np.array(servo.gear**2 * own[0] + by_rest + by_push)


def _tendon_row(g: Gradients, mechanism: Mechanism, name: str) -> FloatArray:
    """Gradients by the numbers of a tendon, or of a servo with a force range; see `ForceGradients`."""
    known = [part.of.name for part in acting(mechanism)]
    return g.parameters.forces.tendons[known.index(name)] if name in known else np.zeros(5)


def _points_of_path(g: Gradients, mechanism: Mechanism, k: int) -> FloatArray:
    path = g.reduced.model.forces.paths[k]
    bodies = [
        *((s.start.body, s.end.body) for s in mechanism.springs),
        *(tuple(a.body for a in c.via) for c in mechanism.cables),
    ][k]
    rows = g.parameters.forces.points[int(path.first) : int(path.first + path.count)]
    return np.stack([_rotation(g, mechanism, b)[0].T @ row for b, row in zip(bodies, rows, strict=True)])


def _point_force(g: Gradients, mechanism: Mechanism, kind: str, force: PointElement) -> FloatArray:
    """Of a force in `Mechanism.forces`: the columns of its records are its parameters, then its point."""
    k = [f for f in mechanism.forces if type(f) is type(force)].index(force)
    row = getattr(g.parameters.forces, force.RECORDS)[k]
    if kind == "point":
        return _rotation(g, mechanism, force.body)[0].T @ row[-3:]
    return np.array(row[force.PARAMETERS.index(kind)])


def _penalty(g: Gradients, mechanism: Mechanism, kind: str, name: str) -> FloatArray:
    first = 0
    for contact in mechanism.penalties:
        rows = slice(first, first + len(contact.points))
        first += len(contact.points)
        if contact.name != name:
            continue
        if kind == "points":
            return g.parameters.forces.penalty_points[rows] @ _rotation(g, mechanism, contact.body)[0]
        columns: Any = slice(4, 7) if kind == "origin" else _PENALTY[kind]
        return np.array(g.parameters.forces.penalties[rows, columns].sum(axis=0))
    raise MechanismError(f"unknown penalty contact {name!r}")


def _elastic(g: Gradients, mechanism: Mechanism, kind: str, joint: Joint) -> FloatArray:
    if any(joint.name == loop.name for loop in mechanism.loops):
        return _of_loop(g, mechanism, kind, joint)
    pieces: list[FloatArray] = [np.zeros(0)]
    for span in (s for s in g.reduced.tree.spans if s.joint.name == joint.name):
        motion, n = span.primitive.motion, span.primitive.nv
        own = g.parameters.coordinates[span.iv : span.iv + n, _COORDINATE[kind]]
        if motion in (Motion.SPHERICAL, Motion.FREE):
            # Reduced coordinates have the shifts first.
            pieces += _of_ball(g, kind, joint, span.iv, own[: n - 3])
        else:
            pieces.append(_shared(g, kind, joint, span, own))
    return np.concatenate(pieces)


def _shared(g: Gradients, kind: str, joint: Joint, span: Span, own: FloatArray) -> FloatArray:
    """Gradient by stiffness or rest of a joint's own springs, where servos pull as well: see `drives.servos`."""
    out, first = own.copy(), _first_coordinate(span)
    for j in range(span.primitive.nv):
        k, iq = span.offset + j, first + j
        stiffness, whole = joint.stiffness[k], span.joint.stiffness[k]
        if whole > stiffness and kind == "rest":
            out[j] *= stiffness / whole
        elif whole > stiffness and kind == "stiffness":
            by_rest = g.parameters.coordinates[span.iv + j, _COORDINATE["rest"]]
            out[j] += by_rest * (joint.rest[iq] - span.joint.rest[iq]) / whole
    return out


def _ball(g: Gradients, iv: int) -> int:
    """Number of the ball whose first degree of freedom is iv."""
    return int(np.flatnonzero(g.reduced.coordinates.model.balls.iv == iv)[0])


def _ball_row(g: Gradients, iv: int) -> FloatArray:
    """Gradients by the numbers of that ball; see `ForceGradients`."""
    return np.asarray(g.parameters.forces.balls[_ball(g, iv)], float)


def _of_ball(g: Gradients, kind: str, joint: Joint, iv: int, shifts: FloatArray) -> list[FloatArray]:
    row, rest = _ball_row(g, iv), g.reduced.model.forces.balls[_ball(g, iv)].rest
    if kind in ("stiffness", "damping"):
        return [row[:3] if kind == "stiffness" else row[3:6], shifts]
    if kind == "rest":
        if feedback(g.reduced.tree.mechanism).turning[iv]:
            raise MechanismError(
                f"{kind}:{joint.name}: servos of a ball joint pull to zero, and its own spring with them"
            )
        # A turn by d in its own frame changes the quaternion by rest * (0, d / 2), and |rest| = 1.
        w, x, y, z = rest
        a, b, c = 2.0 * row[6:9]
        turn = [-x * a - y * b - z * c, w * a + y * c - z * b, w * b + z * a - x * c, w * c + x * b - y * a]
        return [shifts, np.array(turn)]
    if kind == "armature":
        return [g.parameters.drives[_ball(g, iv)], shifts]
    return [np.zeros(3), shifts]


def _of_loop(g: Gradients, mechanism: Mechanism, kind: str, joint: Joint) -> FloatArray:
    if kind not in _ROW:
        raise MechanismError(f"{kind}:{joint.name}: a joint that closes a loop has stiffness, damping and rest")
    out = np.zeros(joint.nv)
    soft = _rows_of(g, mechanism, joint)[1]
    for dof in range(joint.nv):
        if dof not in soft:
            raise MechanismError(
                f"{kind}:{joint.name}: its spring and damper are both zero there, so they have no gradients"
            )
        out[dof] = g.parameters.rows[soft[dof], _ROW[kind]]
    return out
