"""Poses of bodies along a run as arrays: position [m] and quaternion, shape (times, 7)."""

from __future__ import annotations

import numpy as np

from leastaction.mechanism.pose import Pose
from leastaction.typing import FloatArray


def carried(poses: FloatArray, X: Pose) -> FloatArray:
    """Poses of a frame that others carry, at X in them; each of shape (times, 7)."""
    out = np.empty((len(poses), 7))
    out[:, :3] = poses[:, :3] + rotate(poses[:, 3:], np.asarray(X.position))
    out[:, 3:] = multiply(poses[:, 3:], np.asarray(X.quaternion))
    return out


def rotate(q: FloatArray, x: FloatArray) -> FloatArray:
    """x turned by the quaternions q, shape (times, 4)."""
    t = 2.0 * np.cross(q[:, 1:], x)
    return x + q[:, :1] * t + np.cross(q[:, 1:], t)


def multiply(a: FloatArray, b: FloatArray) -> FloatArray:
    """Products of the quaternions a, shape (times, 4), and b."""
    w = a[:, 0] * b[0] - a[:, 1:] @ b[1:]
    return np.column_stack([w, a[:, :1] * b[1:] + b[0] * a[:, 1:] + np.cross(a[:, 1:], b[1:])])
