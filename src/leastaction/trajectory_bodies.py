"""Poses and twists of the named bodies along a run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leastaction.mechanism import Mechanism
from leastaction.mechanism.pose import Pose

FloatArray = NDArray[np.float64]


def poses_of_rigid_bodies(mechanism: Mechanism, Z: FloatArray) -> FloatArray:
    """COM frames of all named bodies, shape (times, bodies, 7), from those of a maximal model's rigid bodies.

    Args:
        mechanism: the robot.
        Z: poses of rigid bodies (with what is welded to them), shape (times, rigid bodies, 7).
    """
    from leastaction.maximal.model import Model

    frames = Model.compile(mechanism).frames
    out = np.zeros((len(Z), len(mechanism.bodies), 7))
    for i, body in enumerate(mechanism.bodies):
        index, X = frames[body.name]
        X = X * Pose(body.inertia.com)
        base = Z[:, index] if index >= 0 else np.broadcast_to([0.0, 0, 0, 1, 0, 0, 0], (len(Z), 7))
        x, q = np.asarray(X.position), np.asarray(X.quaternion)
        out[:, i, :3] = base[:, :3] + _rotate(base[:, 3:], x)
        out[:, i, 3:] = _multiply(base[:, 3:], q)
    return out


def poses_of_q(mechanism: Mechanism, q: FloatArray) -> FloatArray:
    """The same from joint positions, shape (times, nq); quaternions do not jump to their opposite."""
    from leastaction.dynamics import body_poses

    out = np.zeros((len(q), len(mechanism.bodies), 7))
    coms = np.array([body.inertia.com for body in mechanism.bodies]).reshape(-1, 3)
    for k, row in enumerate(q):
        X = body_poses(mechanism, row)
        out[k, :, :3] = np.einsum("bij,bj->bi", X[:, :3, :3], coms) + X[:, :3, 3]
        out[k, :, 3:] = [Pose.from_matrix(x).quaternion for x in X]
        if k:
            out[k, (out[k, :, 3:] * out[k - 1, :, 3:]).sum(axis=1) < 0.0, 3:] *= -1.0
    return out


def twists_of_velocity(mechanism: Mechanism, q: FloatArray, v: FloatArray) -> FloatArray:
    """Twists of the COM frames, in their own directions, shape (times, bodies, 6)."""
    from leastaction.dynamics import body_twists

    coms = np.array([body.inertia.com for body in mechanism.bodies]).reshape(-1, 3)
    out = np.zeros((len(q), len(mechanism.bodies), 6))
    for k in range(len(q)):
        out[k] = body_twists(mechanism, q[k], v[k])
        out[k, :, 3:] += np.cross(out[k, :, :3], coms)
    return out


def _rotate(q: FloatArray, x: FloatArray) -> FloatArray:
    """x turned by the quaternions q, shape (times, 4)."""
    t = 2.0 * np.cross(q[:, 1:], x)
    return x + q[:, :1] * t + np.cross(q[:, 1:], t)


def _multiply(a: FloatArray, b: FloatArray) -> FloatArray:
    """Products of the quaternions a, shape (times, 4), and b."""
    w = a[:, 0] * b[0] - a[:, 1:] @ b[1:]
    return np.column_stack([w, a[:, :1] * b[1:] + b[0] * a[:, 1:] + np.cross(a[:, 1:], b[1:])])
