"""What inverse kinematics can be asked for: errors of a configuration, and how they change with it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from leastaction.errors import MechanismError
from leastaction.kinematics.frames import Placement
from leastaction.mechanism import Mechanism, Pose, _check
from leastaction.mechanism.arguments import FloatArray, configuration
from leastaction.mechanism.pose import quaternion_of_matrix, rotation_matrix


@dataclass(frozen=True, eq=False)
class Task(ABC):
    """Something to be reached.

    Attributes:
        weight: of its error; positive. Radians and metres count alike at weight 1.
    """

    weight: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", _check.positive(self.weight, f"{self.name}: weight"))

    @property
    def name(self) -> str:
        """What it is, for messages."""
        return type(self).__name__

    required = True
    """Whether the answer is wrong where it is not reached."""

    def checked(self, mechanism: Mechanism) -> Task:
        """The same with targets of this mechanism's sizes, or `MechanismError`."""
        return self

    @abstractmethod
    def error(self, at: Placement, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Error e, shape (n,), and its Jacobian along the tangent of q, shape (n, nv), both without the weight."""


def _inverse_left_jacobian(phi: FloatArray) -> FloatArray:
    """Change of the rotation vector phi when its rotation is turned by d on the left: J^-1 d."""
    angle = float(np.linalg.norm(phi))
    K = np.array([[0, -phi[2], phi[1]], [phi[2], 0, -phi[0]], [-phi[1], phi[0], 0]])
    if angle < 1e-4:
        return np.eye(3) - 0.5 * K + K @ K / 12.0
    half = 0.5 * angle
    return np.eye(3) - 0.5 * K + (1.0 - half / np.tan(half)) / angle**2 * K @ K


def rotation_vector(R: FloatArray) -> FloatArray:
    """Logarithm of a rotation matrix, shape (3,), exact near half turns too."""
    w, x, y, z = quaternion_of_matrix(R)  # w >= 0
    sine = math.sqrt(x * x + y * y + z * z)
    return np.array([x, y, z]) * (2.0 if sine < 1e-12 else 2.0 * math.atan2(sine, w) / sine)


@dataclass(frozen=True, eq=False)
class FrameTask(Task):
    """A frame is to be somewhere.

    Attributes:
        frame: name of a frame, or of a body.
        position: of its origin in the world [m], shape (3,); None: anywhere.
        rotation: world from frame, shape (3, 3); None: any.
    """

    frame: str = ""
    position: Any = None
    rotation: Any = None

    @property
    def name(self) -> str:
        """See `Task`."""
        return f"task of frame {self.frame!r}"

    def __post_init__(self) -> None:
        Task.__post_init__(self)
        if self.position is not None:
            value = np.array(_check.vector(self.position, 3, f"{self.name}: position"))
            object.__setattr__(self, "position", value)
        if self.rotation is not None:
            R = _check.real_array(self.rotation)
            if R is None or R.shape != (3, 3) or not np.allclose(R @ R.T, np.eye(3), atol=1e-6) or np.linalg.det(R) < 0:
                raise MechanismError(
                    f"{self.name}: expected a rotation matrix (3, 3), got {_check.shown(self.rotation)}"
                )
            # What is a rotation but for rounding becomes one, or an error of zero would be out of reach.
            object.__setattr__(self, "rotation", rotation_matrix(quaternion_of_matrix(R)))

    def checked(self, mechanism: Mechanism) -> Task:
        """See `Task`."""
        mechanism.frame(self.frame)
        return self

    def error(self, at: Placement, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """See `Task`."""
        X, J = at.pose(self.frame), at.jacobian(self.frame)
        e, rows = [], []
        if self.rotation is not None:
            # R = exp(phi) target, and dR = w x R.
            phi = rotation_vector(X[:3, :3] @ self.rotation.T)
            e.append(phi)
            rows.append(_inverse_left_jacobian(phi) @ J[:3])
        if self.position is not None:
            e.append(X[:3, 3] - self.position)
            rows.append(J[3:])
        return np.concatenate(e), np.concatenate(rows)


@dataclass(frozen=True, eq=False)
class PostureTask(Task):
    """All joints are to be near a posture; what other tasks leave free is decided by it.

    Attributes:
        posture: joint positions, shape (nq,); None: the mechanism's home.
    """

    posture: Any = None
    required = False

    @property
    def name(self) -> str:
        """See `Task`."""
        return "posture"

    def checked(self, mechanism: Mechanism) -> Task:
        """See `Task`."""
        q = mechanism.home() if self.posture is None else configuration(mechanism, self.posture)
        return PostureTask(self.weight, q)

    def error(self, at: Placement, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """See `Task`."""
        # The tangent at q and that at the posture differ by terms of second order, where the error is small.
        return -at.mechanism.difference(q, self.posture), np.eye(at.mechanism.nv)


@dataclass(frozen=True, eq=False)
class ComTask(Task):
    """The centre of mass is to be somewhere.

    Attributes:
        position: in the world [m], shape (3,); NaN where it may be anywhere.
    """

    position: Any = None

    @property
    def name(self) -> str:
        """See `Task`."""
        return "centre of mass"

    def __post_init__(self) -> None:
        Task.__post_init__(self)
        x = _check.real_array(self.position)
        if x is None or x.shape != (3,) or np.isinf(x).any():
            raise MechanismError(f"centre of mass: expected 3 numbers [m], got {_check.shown(self.position)}")
        if np.isnan(x).all():
            raise MechanismError("centre of mass: all entries are NaN, so nothing is asked for")
        object.__setattr__(self, "position", x)

    def error(self, at: Placement, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """See `Task`."""
        told = ~np.isnan(self.position)
        x, J = at.center_of_mass()
        return (x - self.position)[told], J[told]


def reach_position(frame: str, position: Any, weight: float = 1.0) -> Task:
    """The origin of a frame (or body) is to be at a position of the world [m], shape (3,)."""
    return FrameTask(weight, frame, position=position)


def reach_orientation(frame: str, rotation: Any, weight: float = 1.0) -> Task:
    """A frame (or body) is to be turned like this: world from frame, shape (3, 3)."""
    return FrameTask(weight, frame, rotation=rotation)


def reach_pose(frame: str, pose: Any, weight: float = 1.0) -> Task:
    """A frame (or body) is to have a pose: world from frame, a matrix (4, 4), a `Pose`, or position and quaternion."""
    X = Pose.of(pose, f"task of frame {frame!r}: pose")
    return FrameTask(weight, frame, X.position, X.rotation)


def keep_posture(posture: Any = None, weight: float = 1e-3) -> Task:
    """Joints are to be near a posture, shape (nq,), default the home, as far as all other tasks let them.

    `weight` guides the search alone.
    """
    return PostureTask(weight, posture)


def reach_center_of_mass(position: Any, weight: float = 1.0) -> Task:
    """The centre of mass is to be at a position of the world [m], shape (3,); NaN leaves an entry free."""
    return ComTask(weight, position)
