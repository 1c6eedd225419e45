"""From joint coordinates to bodies: poses, twists and momenta at the start of a run."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.maximal.model import Model
from leastaction.maximal.records import BALL, FREE, HINGE
from leastaction.mechanism import Mechanism
from leastaction.mechanism.joints import Motion
from leastaction.mechanism.pose import Pose, rotation_matrix
from leastaction.mechanism.pose_arrays import carried

FloatArray = NDArray[np.float64]


def place(model: Model, q: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Poses (bodies, 7), twists (bodies, 6: angular in the body's directions, velocity of the COM) and joint rates.

    Args:
        q: joint positions, shape (nq,).
        v: joint velocities, shape (nv,).
    """
    n = len(model.bodies)
    poses: list[Pose] = []
    spatial = np.zeros((n, 6))  # about the world's origin
    rates = np.zeros(len(model.coordinates))
    for piece in model.pieces:
        X = poses[piece.a] if piece.a >= 0 else Pose()
        X = X * piece.Xa
        twist = spatial[piece.a].copy() if piece.a >= 0 else np.zeros(6)
        iq, iv = piece.iq, piece.iv
        for p in piece.primitives:
            if p.motion in (Motion.SPHERICAL, Motion.FREE):
                d = q[iq : iq + 3] if p.motion == Motion.FREE else np.zeros(3)
                r = q[iq + p.nq - 4 : iq + p.nq]
                X = X * Pose(tuple(d), tuple(r / np.linalg.norm(r)))
                R, x = X.rotation, np.array(X.position)
                w = R @ v[iv : iv + 3]
                c = R @ v[iv + 3 : iv + 6] if p.motion == Motion.FREE else np.zeros(3)
                twist += np.concatenate([w, c + np.cross(x, w)])
            else:
                axis = X.rotation @ np.array(p.axis)
                x = np.array(X.position)
                if p.motion == Motion.PRISMATIC:
                    S = np.concatenate([np.zeros(3), axis])
                    X = X * Pose(tuple(q[iq] * np.array(p.axis)))
                else:
                    S = np.concatenate([axis, np.cross(x, axis) + p.pitch * axis])
                    half = 0.5 * q[iq]
                    turn = (float(np.cos(half)), *(np.sin(half) * np.array(p.axis)).tolist())
                    X = X * Pose(tuple(p.pitch * q[iq] * np.array(p.axis)), turn)
                twist += S * v[iv]
            iq, iv = iq + p.nq, iv + p.nv
        poses.append(X * piece.Xb.inverse())
        spatial[piece.b] = twist
    for k, c in enumerate(model.coordinates):
        if c.iv >= 0 and c.kind not in (BALL, FREE):
            rates[k] = v[c.iv]
    Z, twists = np.zeros((n, 7)), np.zeros((n, 6))
    for i, X in enumerate(poses):
        Z[i, :3], Z[i, 3:] = X.position, X.quaternion
        w = spatial[i, :3]
        twists[i, :3] = X.rotation.T @ w
        twists[i, 3:] = spatial[i, 3:] + np.cross(w, X.position)
    return Z, twists, rates


def poses_of_bodies(model: Model, mechanism: Mechanism, Z: FloatArray) -> FloatArray:
    """COM frames of all bodies, shape (times, bodies, 7), from those of rigid ones, with what is welded to them."""
    if [model.frames[name][0] for name in mechanism.body_names] == list(range(len(model.bodies))):
        return Z  # nothing is welded
    world = np.tile([0.0, 0, 0, 1, 0, 0, 0], (len(Z), 1))
    out = np.zeros((len(Z), len(mechanism.bodies), 7))
    for i, body in enumerate(mechanism.bodies):
        index, X = model.frames[body.name]
        out[:, i] = carried(Z[:, index] if index >= 0 else world, X * Pose(body.inertia.com))
    return out


def momenta_of(model: Model, Z: FloatArray, twists: FloatArray, rates: FloatArray) -> FloatArray:
    """Momenta (bodies, 6) of twists, drive inertias of slides and hinges included."""
    P = np.zeros_like(twists)
    for i, b in enumerate(model.bodies):
        P[i, :3] = b.J.reshape(3, 3) @ twists[i, :3]
        P[i, 3:] = b.mass * twists[i, 3:]
    for k, c in enumerate(model.coordinates):
        if c.armature and rates[k]:
            _add_drive(c, Z, P, c.armature * rates[k])
    return P


def _add_drive(c: Any, Z: FloatArray, P: FloatArray, impulse: float) -> None:
    """Give the bodies of a coordinate the impulse that its drive's inertia has taken up."""
    Ra, xa = _pose(Z, c.a)
    Rb, xb = _pose(Z, c.b)
    n = Ra @ c.n
    if c.kind == HINGE:
        w = Rb @ c.w2
        across = w - n * (w @ n)
        t = c.sign * (n - across * (w @ n) / (across @ across))
        tb, ta, f = t, -t, np.zeros(3)
    else:
        x = xb + Rb @ c.pb
        tb, ta, f = np.cross(x - xb, n), -np.cross(x - xa, n), n
    if c.b >= 0:
        P[c.b] += impulse * np.concatenate([Rb.T @ tb, f])
    if c.a >= 0:
        P[c.a] += impulse * np.concatenate([Ra.T @ ta, -f])


def _pose(Z: FloatArray, i: int) -> tuple[Any, Any]:
    if i < 0:
        return np.eye(3), np.zeros(3)
    return rotation_matrix(Z[i, 3:]), Z[i, :3]
