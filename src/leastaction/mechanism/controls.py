"""Controls as generalised forces, by virtual work."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leastaction.errors import MechanismError
from leastaction.mechanism.actuators import Actuator, BodyActuator
from leastaction.mechanism.arguments import configuration, state_vector
from leastaction.mechanism.graph import WORLD
from leastaction.mechanism.joints import SPLINES, Motion, Primitive
from leastaction.mechanism.pose import Pose
from leastaction.mechanism.tendons import Tendon

if TYPE_CHECKING:
    from leastaction.mechanism.mechanism import Mechanism

FloatArray = NDArray[np.float64]


def generalized_forces(mechanism: Mechanism, u: Any, q: Any) -> FloatArray:
    """See `Mechanism.generalized_forces`."""
    u = state_vector(mechanism, u, mechanism.nu, "u")
    tau = np.zeros(mechanism.nv)
    if not mechanism.actuators:
        return u
    for control, actuator in zip(u, mechanism.actuators, strict=True):
        if isinstance(actuator, BodyActuator):
            wrench = control * np.array(actuator.wrench)
            _add_wrench(mechanism, _needed(mechanism, actuator, q), actuator.body, wrench, tau)
            continue
        tendon = next((t for t in mechanism.tendons if t.name == actuator.coordinate), None)
        if tendon is None:
            tau[mechanism.velocity_index(actuator.coordinate)] += actuator.push * control
            continue
        own = _needed(mechanism, actuator, q) if tendon.via else np.zeros(0)
        tendon_forces(mechanism, own, tendon, actuator.push * control, tau)
    return tau


def _needed(mechanism: Mechanism, actuator: Actuator, q: Any) -> FloatArray:
    """The configuration, where it counts."""
    if q is None:
        raise MechanismError(f"actuator {actuator.name!r} pushes on a body: its force needs q")
    return configuration(mechanism, q)


def tendon_forces(mechanism: Mechanism, q: FloatArray, tendon: Tendon, force: float, tau: FloatArray) -> None:
    """Add to tau the generalised forces of one that makes a tendon longer."""
    for name, weight in tendon.joints:
        tau[mechanism.velocity_index(name)] += weight * force
    for divisor, X, start, Y, end, d in _segments(mechanism, q, tendon):
        r = float(np.linalg.norm(d))
        if r > 0.0:
            for pose, point, sign in ((X, start, -1.0), (Y, end, 1.0)):
                f = pose.rotation.T @ (sign * force / divisor / r * d)
                _add_wrench(mechanism, q, point.body, np.concatenate([np.cross(point.point, f), f]), tau)


def tendon_length(mechanism: Mechanism, q: FloatArray, tendon: Tendon) -> float:
    """Length of a tendon."""
    length = sum(weight * q[mechanism.coordinate_index(name)] for name, weight in tendon.joints)
    return float(length + sum(np.linalg.norm(d) / divisor for divisor, *_, d in _segments(mechanism, q, tendon)))


def _segments(mechanism: Mechanism, q: FloatArray, tendon: Tendon) -> Iterator[tuple[Any, ...]]:
    """For each straight piece of a path what its length is divided by, pose and point of both ends, and its vector."""
    for divisor, points in tendon.stretches:
        placed = [(body_pose(mechanism, q, a.body), a) for a in points]
        for (X, start), (Y, end) in itertools.pairwise(placed):
            yield divisor, X, start, Y, end, np.array(Y.apply(end.point)) - np.array(X.apply(start.point))


def body_pose(mechanism: Mechanism, q: FloatArray, body: str) -> Pose:
    """Pose of a body in the world."""
    iq = np.cumsum([0, *(j.nq for j in mechanism.joints)])
    out = Pose()
    while body != WORLD:
        k = mechanism.body_index(body)
        joint, i = mechanism.joints[k], int(iq[k])
        X = joint.pose
        for p in joint.primitives:
            X = X * _motion(p, q[i : i + p.nq])
            i += p.nq
        out = X * joint.child_pose * out
        body = joint.parent
    return out


def _add_wrench(mechanism: Mechanism, q: FloatArray, body: str, wrench: FloatArray, tau: FloatArray) -> None:
    """Add to tau the forces of a wrench (torque, force) in the frame of a body, joint by joint down to the world."""
    iq, iv = np.cumsum([[j.nq, j.nv] for j in mechanism.joints], axis=0).T
    while body != WORLD:
        k = mechanism.body_index(body)
        joint, i, n = mechanism.joints[k], int(iq[k]), int(iv[k])
        wrench = _carried(joint.child_pose, wrench)
        for p in reversed(joint.primitives):
            i, n = i - p.nq, n - p.nv
            if p.motion in SPLINES:
                raise MechanismError(
                    f"joint {joint.name!r} is a spline: only BDF, SDIRK2 and LinearlyImplicitEuler know the forces of "
                    "actuators on the bodies behind it"
                )
            tau[n : n + p.nv] += _directions(p) @ wrench
            wrench = _carried(_motion(p, q[i : i + p.nq]), wrench)
        wrench = _carried(joint.pose, wrench)
        body = joint.parent


def _carried(X: Pose, wrench: FloatArray) -> FloatArray:
    """A wrench in a frame with pose X in another, as one in that other frame."""
    force = X.rotation @ wrench[3:]
    return np.concatenate([X.rotation @ wrench[:3] + np.cross(X.position, force), force])


def _directions(p: Primitive) -> FloatArray:
    """Twists of unit velocities of a primitive motion in the frame that it moves, shape (nv, 6)."""
    axis, zero = np.array(p.axis), np.zeros(3)
    if p.motion == Motion.PRISMATIC:
        return np.concatenate([zero, axis])[None]
    if p.motion in (Motion.REVOLUTE, Motion.SCREW):
        return np.concatenate([axis, p.pitch * axis])[None]
    return np.eye(6)[: p.nv]


def _motion(p: Primitive, q: FloatArray) -> Pose:
    if p.motion == Motion.PRISMATIC:
        return Pose(tuple(q[0] * np.array(p.axis)))
    if p.motion in (Motion.REVOLUTE, Motion.SCREW):
        return Pose.from_axis_angle(p.axis, float(q[0]), tuple(p.pitch * q[0] * np.array(p.axis)))
    if p.motion == Motion.SPHERICAL:
        return Pose((0.0, 0.0, 0.0), tuple(q))
    return Pose(tuple(q[:3]), tuple(q[3:])) if p.motion == Motion.FREE else Pose()
