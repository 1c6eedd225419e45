"""Controls as generalised forces, by virtual work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from leastaction.errors import MechanismError
from leastaction.mechanism.arguments import configuration, state_vector
from leastaction.mechanism.building.graph import WORLD
from leastaction.mechanism.drives.actuators import Actuator, BodyActuator
from leastaction.mechanism.drives.muscles import Muscle
from leastaction.mechanism.drives.tendons import Tendon, Wrap, pieces
from leastaction.mechanism.elements import Attachment
from leastaction.mechanism.joints import SPLINES, Motion, Primitive
from leastaction.mechanism.pose import Pose
from leastaction.spatial.wrapping import CYLINDER, SPHERE, string
from leastaction.typing import FloatArray

if TYPE_CHECKING:
    from leastaction.mechanism.mechanism import Mechanism


def generalized_forces(mechanism: Mechanism, u: Any, q: Any) -> FloatArray:
    """See `Mechanism.generalized_forces`."""
    u = state_vector(mechanism, u, mechanism.nu, "u")
    tau = np.zeros(mechanism.nv)
    if not mechanism.actuators:
        return u
    for control, actuator in zip(u, mechanism.actuators, strict=True):
        if isinstance(actuator, Muscle):  # depends on velocities, too
            continue
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
    for divisor, bodies, points, gradients in _strings(mechanism, q, tendon):
        pull = force / divisor * gradients
        for body, x, f in zip(bodies[:2], points, pull, strict=True):
            _push(mechanism, q, body, x, f, tau)
        if len(bodies) == 3:  # what lies on a thing pushes it
            for x, f in zip(points, pull, strict=True):
                _push(mechanism, q, bodies[2], x, -f, tau)


def _push(
    mechanism: Mechanism, q: FloatArray, where: tuple[str, Pose], x: FloatArray, force: FloatArray, tau: FloatArray
) -> None:
    """Add to tau a force at the world point x of a body with a pose."""
    body, X = where
    f, arm = X.rotation.T @ force, np.array(X.inverse().apply(tuple(x.tolist())))
    _add_wrench(mechanism, q, body, np.concatenate([np.cross(arm, f), f]), tau)


def tendon_length(mechanism: Mechanism, q: FloatArray, tendon: Tendon) -> float:
    """Length of a tendon."""
    length = sum(weight * q[mechanism.coordinate_index(name)] for name, weight in tendon.joints)
    for divisor, start, around, end in pieces(tendon.stretches):
        _, ends, wrap = _ends(mechanism, q, start, around, end)
        far = float(np.linalg.norm(ends[1] - ends[0])) if wrap is None else string(ends - wrap[0], *wrap[1:])[0]
        length += far / divisor
    return float(length)


def _ends(mechanism: Mechanism, q: FloatArray, start: Attachment, around: Wrap | None, end: Attachment) -> Any:
    """Bodies with their poses, world points of the ends (2, 3), and of a wrap its centre with arguments of `string`."""
    bodies = [(a.body, body_pose(mechanism, q, a.body)) for a in (start, end)]
    ends = np.array([X.apply(a.point) for (_, X), a in zip(bodies, (start, end), strict=True)])
    if around is None:
        return bodies, ends, None
    X = body_pose(mechanism, q, around.body)
    Y = X * around.pose
    centre = np.array(Y.position)
    side = None if around.side is None else np.array(X.apply(around.side)) - centre
    kind = CYLINDER if around.kind == "cylinder" else SPHERE
    return [*bodies, (around.body, X)], ends, (centre, Y.rotation[:, 2], kind, around.radius, side)


def _strings(mechanism: Mechanism, q: FloatArray, tendon: Tendon) -> Iterator[tuple[Any, ...]]:
    """For each piece of a path what its length is divided by, bodies with poses, ends, and gradients by these."""
    for divisor, start, around, end in pieces(tendon.stretches):
        bodies, ends, wrap = _ends(mechanism, q, start, around, end)
        if wrap is not None:
            yield divisor, bodies, ends, string(ends - wrap[0], *wrap[1:])[1]
            continue
        far = float(np.linalg.norm(ends[1] - ends[0]))
        e = (ends[1] - ends[0]) / far if far > 0.0 else np.zeros(3)
        yield divisor, bodies, ends, np.stack([-e, e])


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
