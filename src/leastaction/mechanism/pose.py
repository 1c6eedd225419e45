"""`Pose`: where a frame sits in another one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leastaction.errors import MechanismError
from leastaction.mechanism import _check
from leastaction.typing import Axis, PoseLike

Vector3 = Any
Quaternion = Any


def rotation_matrix(q: Any) -> NDArray[np.float64]:
    """Rotation matrix (3, 3) of a unit quaternion (w, x, y, z)."""
    w, x, y, z = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def quaternion_of_matrix(R: Any) -> Quaternion:
    """Unit quaternion (w, x, y, z), w >= 0, of a rotation matrix (3, 3) (Shepperd's method)."""
    R = np.asarray(R, dtype=float)
    t = np.trace(R)
    choices = (t, R[0, 0], R[1, 1], R[2, 2])
    k = int(np.argmax(choices))
    if k == 0:
        q = np.array([1 + t, R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    else:
        i, j, m = (k - 1, k % 3, (k + 1) % 3)
        q = np.zeros(4)
        q[0] = R[m, j] - R[j, m]
        q[1 + i] = 1 + 2 * R[i, i] - t
        q[1 + j] = R[j, i] + R[i, j]
        q[1 + m] = R[m, i] + R[i, m]
    q /= np.linalg.norm(q)
    if q[0] < 0:
        q = -q
    return tuple(q.tolist())


def _is_rotation(R: NDArray[np.float64]) -> bool:
    return bool(np.abs(R).max() < 2.0 and np.allclose(R @ R.T, np.eye(3), atol=1e-6) and np.linalg.det(R) > 0.0)


@dataclass(frozen=True, slots=True)
class Pose:
    """A rigid transform: position [m] and unit quaternion (w, x, y, z), child frame to parent frame.

    Attributes:
        position: origin of the child frame in the parent frame [m], 3 numbers.
        quaternion: rotation from the child frame to the parent frame, scalar first, 4 numbers.
    """

    position: Vector3 = (0.0, 0.0, 0.0)
    quaternion: Quaternion = (1.0, 0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "position", _check.vector(self.position, 3, "pose position"))
        object.__setattr__(self, "quaternion", _check.unit(self.quaternion, 4, "pose quaternion"))

    @classmethod
    def from_matrix(cls, X: ArrayLike) -> Pose:
        """From a homogeneous matrix, shape (4, 4)."""
        given = _check.real_array(X)
        if given is None or given.shape != (4, 4) or not _is_rotation(given[:3, :3]):
            raise MechanismError("pose: expected a homogeneous matrix (4, 4) whose rotation is orthonormal")
        X = given
        return cls(tuple(X[:3, 3].tolist()), quaternion_of_matrix(X[:3, :3]))

    @classmethod
    def from_rpy(cls, position: ArrayLike = (0, 0, 0), rpy: ArrayLike = (0, 0, 0)) -> Pose:
        """From fixed-axis roll, pitch, yaw angles [rad], as URDF writes them: R = Rz(yaw) Ry(pitch) Rx(roll)."""
        r, p, y = (0.5 * a for a in _check.vector(rpy, 3, "roll, pitch, yaw"))
        cr, sr, cp, sp, cy, sy = (math.cos(r), math.sin(r), math.cos(p), math.sin(p), math.cos(y), math.sin(y))
        q = (
            cr * cp * cy + sr * sp * sy,
            sr * cp * cy - cr * sp * sy,
            cr * sp * cy + sr * cp * sy,
            cr * cp * sy - sr * sp * cy,
        )
        return cls(position, q)

    @classmethod
    def from_axis_angle(cls, axis: Axis, angle: float, position: ArrayLike = (0, 0, 0)) -> Pose:
        """Rotation by `angle` [rad] about the unit `axis` (a vector, or "x", "y", "z"), then the position."""
        a, angle = _check.axis(axis, "pose axis"), _check.number(angle, "angle")
        s = math.sin(0.5 * angle)
        return cls(
            position,
            (math.cos(0.5 * angle), s * a[0], s * a[1], s * a[2]),
        )

    @classmethod
    def of(cls, value: PoseLike, what: str = "pose") -> Pose:
        """A pose as people write it: a `Pose`, a position (3), position and quaternion (7), or a matrix (4, 4)."""
        if isinstance(value, Pose):
            return value
        a = _check.real_array(value)
        a = np.zeros(0) if a is None else a
        try:
            if a.shape == (4, 4):
                return cls.from_matrix(a)
            if a.shape == (3,):
                return cls(tuple(a.tolist()))
            if a.shape == (7,):
                return cls(tuple(a[:3].tolist()), tuple(a[3:].tolist()))
        except MechanismError as error:
            raise MechanismError(f"{what}: {error}") from None
        raise MechanismError(
            f"{what} must be a Pose, a position [m] (3 numbers), position and quaternion (7) or a matrix (4, 4), "
            f"got {_check.shown(value)}"
        )

    @property
    def rotation(self) -> NDArray[np.float64]:
        """Rotation matrix, shape (3, 3)."""
        return rotation_matrix(self.quaternion)

    @property
    def matrix(self) -> NDArray[np.float64]:
        """Homogeneous matrix, shape (4, 4)."""
        X = np.eye(4)
        X[:3, :3] = self.rotation
        X[:3, 3] = self.position
        return X

    @property
    def is_identity(self) -> bool:
        """True for the exact identity."""
        return self.position == (0.0, 0.0, 0.0) and self.quaternion == (1.0, 0.0, 0.0, 0.0)

    def __mul__(self, other: Pose) -> Pose:
        """The transform `self` after `other`: X_ac = X_ab * X_bc."""
        if not isinstance(other, Pose):
            return NotImplemented
        if other.is_identity:
            return self
        if self.is_identity:
            return other
        a, b = self.quaternion, other.quaternion
        q = (
            a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
            a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
            a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
            a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
        )
        return Pose(self.apply(other.position), q)

    def inverse(self) -> Pose:
        """The transform back."""
        w, x, y, z = self.quaternion
        p = -self.rotation.T @ np.array(self.position)
        return Pose(tuple(p.tolist()), (w, -x, -y, -z))

    def apply(self, point: ArrayLike) -> Vector3:
        """A point [m] of the child frame in the parent frame."""
        p = self.rotation @ np.array(_check.vector(point, 3, "point")) + np.array(self.position)
        return tuple(p.tolist())
