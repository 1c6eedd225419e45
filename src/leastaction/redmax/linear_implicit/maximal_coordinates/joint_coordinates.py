"""Coordinates of a joint from the poses of the two bodies it ties: from maximal back to reduced coordinates.

For tree joints that is the inverse map to q; for joints that close loops it is the only way to their angles.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.dynamics import api
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray
from leastaction.mechanism.joints import Joint, Motion, Primitive
from leastaction.mechanism.pose import rotation_matrix


def _cross(a: FloatArray) -> FloatArray:
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def _motion(p: Primitive, q: FloatArray) -> FloatArray:
    """Pose (4, 4) of one primitive motion."""
    X = np.eye(4)
    a = np.array(p.axis)
    if p.motion in (Motion.REVOLUTE, Motion.SCREW):
        X[:3, :3] += np.sin(q[0]) * _cross(a) + (1.0 - np.cos(q[0])) * _cross(a) @ _cross(a)
        X[:3, 3] = p.pitch * q[0] * a
    elif p.motion == Motion.PRISMATIC:
        X[:3, 3] = q[0] * a
    else:
        X[:3, :3] = rotation_matrix(q[-4:])
        if p.motion == Motion.FREE:
            X[:3, 3] = q[:3]
    return X


def _screws(p: Primitive) -> FloatArray:
    """Twists (6, nv) of unit velocities, in the moved frame."""
    a = np.array(p.axis)
    if p.motion in (Motion.REVOLUTE, Motion.SCREW):
        return np.concatenate([a, p.pitch * a])[:, None]
    if p.motion == Motion.PRISMATIC:
        return np.concatenate([np.zeros(3), a])[:, None]
    return np.eye(6)[:, : p.nv]


def joint_motion(joint: Joint, q: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Pose (4, 4) of a joint at its coordinates, and the twists S (6, nv) of unit velocities in its moved frame."""
    X, S, k = np.eye(4), np.zeros((6, 0)), 0
    for p in joint.primitives:
        E = _motion(p, q[k : k + p.nq])
        k += p.nq
        R = E[:3, :3].T
        # The twists so far, seen from the frame that this primitive moved.
        moved = np.concatenate([R @ S[:3], R @ (S[3:] + np.cross(S[:3].T, E[:3, 3]).T)])
        X, S = X @ E, np.concatenate([moved, _screws(p)], axis=1)
    return X, S


def _moved(joint: Joint, q: FloatArray, step: FloatArray) -> FloatArray:
    """Coordinates after a small step along the joint's tangent."""
    q, i, k = q.copy(), 0, 0
    for p in joint.primitives:
        d = step[k : k + p.nv]
        if p.nv == 1:
            q[i] += d[0]
        else:
            j = i + p.nq - 4
            if p.motion == Motion.FREE:
                q[i : i + 3] += rotation_matrix(q[j : j + 4]) @ d[3:]
            w, v = q[j], q[j + 1 : j + 4].copy()
            turn = 0.5 * d[:3]
            q[j] -= v @ turn
            q[j + 1 : j + 4] += w * turn + np.cross(v, turn)
            q[j : j + 4] /= np.linalg.norm(q[j : j + 4])
        i, k = i + p.nq, k + p.nv
    return q


def joint_coordinates(joint: Joint, X: FloatArray, guess: FloatArray) -> FloatArray:
    """The coordinates whose pose comes nearest to X (4, 4), the moved frame of the joint in its fixed one.

    Args:
        joint: the joint.
        X: pose of the moved frame in the fixed one, as far as the joint allows it; shape (4, 4).
        guess: coordinates near them, shape (nq,): decides about whole turns.
    """
    q = np.array(guess, float)
    for _ in range(50 if joint.nv else 0):
        Y, S = joint_motion(joint, q)
        R = Y[:3, :3].T
        E = R @ X[:3, :3]
        turn = 0.5 * np.array([E[2, 1] - E[1, 2], E[0, 2] - E[2, 0], E[1, 0] - E[0, 1]])
        step: Any = np.linalg.lstsq(S, np.concatenate([turn, R @ (X[:3, 3] - Y[:3, 3])]), rcond=None)[0]
        q = _moved(joint, q, step)
        if np.abs(step).max() < 1e-14:
            break
    return q


def loop_joint_rate(
    mechanism: Mechanism, joint: Joint, q: FloatArray, guess: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Coordinates (nq of the joint,) of a joint that closes a loop, and the Jacobian (nv of it, nv) of its velocities.

    Args:
        mechanism: the robot.
        joint: one of its loops.
        q: joint positions of the tree [rad or m], shape (nq,).
        guess: coordinates of the joint near its own.
    """
    poses = np.concatenate([api.body_poses(mechanism, q), np.eye(4)[None]])  # the last one is the world
    parent, child = (poses[mechanism.body_index(name)] for name in (joint.parent, joint.child))
    at = child @ joint.child_pose.inverse().matrix
    x = joint_coordinates(joint, np.linalg.inv(parent @ joint.pose.matrix) @ at, guess)
    J = np.zeros((6, mechanism.nv))
    for name, sign in ((joint.child, 1.0), (joint.parent, -1.0)):
        J += sign * api.body_jacobian(mechanism, q, name, frame="origin")
    R, p = at[:3, :3].T, at[:3, 3]
    relative = np.concatenate([R @ J[:3], R @ (J[3:] + np.cross(J[:3].T, p).T)])
    G: Any = np.linalg.pinv(joint_motion(joint, x)[1]) @ relative
    return x, G
