"""What inverse kinematics can be asked for: errors of a configuration, and how they change with it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leastaction.errors import MechanismError
from leastaction.kinematics.task_arrays import MASS, PLACE, POSTURE
from leastaction.mechanism import Mechanism, Pose, _check
from leastaction.mechanism.arguments import FloatArray, configuration
from leastaction.mechanism.pose import quaternion_of_matrix, rotation_matrix
from leastaction.typing import PoseLike


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
    def write(self, mechanism: Mechanism, record: Any, postures: list[FloatArray]) -> int:
        """Write what kernels read of it to an `IK_TASK` record and the postures; returns its number of errors."""


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

    def write(self, mechanism: Mechanism, record: Any, postures: list[FloatArray]) -> int:
        """See `Task`."""
        node, X, _ = mechanism.tree.place(self.frame)
        record["kind"], record["node"] = PLACE, node
        record["Rf"], record["pf"] = X[:3, :3].ravel(), X[:3, 3]
        turned, placed = self.rotation is not None, self.position is not None
        record["turned"], record["asked"] = turned, 3 * (placed,)
        if turned:
            record["R"] = self.rotation.ravel()
        if placed:
            record["p"] = self.position
        return 3 * turned + 3 * placed


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

    def write(self, mechanism: Mechanism, record: Any, postures: list[FloatArray]) -> int:
        """See `Task`."""
        record["kind"], record["node"] = POSTURE, len(postures)
        postures.append(self.posture)
        return mechanism.nv


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

    def checked(self, mechanism: Mechanism) -> Task:
        """See `Task`."""
        if sum(body.inertia.mass for body in mechanism.bodies) <= 0.0:
            raise MechanismError(f"mechanism {mechanism.name!r} has no mass, so no centre of mass")
        return self

    def write(self, mechanism: Mechanism, record: Any, postures: list[FloatArray]) -> int:
        """See `Task`."""
        asked = ~np.isnan(self.position)
        record["kind"], record["asked"], record["p"] = MASS, asked, np.where(asked, self.position, 0.0)
        return int(asked.sum())


def reach_position(frame: str, position: ArrayLike, weight: float = 1.0) -> Task:
    """The origin of a frame (or body) is to be at a position of the world [m], shape (3,)."""
    return FrameTask(weight, frame, position=position)


def reach_orientation(frame: str, rotation: ArrayLike, weight: float = 1.0) -> Task:
    """A frame (or body) is to be turned like this: world from frame, shape (3, 3)."""
    return FrameTask(weight, frame, rotation=rotation)


def reach_pose(frame: str, pose: PoseLike, weight: float = 1.0) -> Task:
    """A frame (or body) is to have a pose: world from frame, a matrix (4, 4), a `Pose`, or position and quaternion."""
    X = Pose.of(pose, f"task of frame {frame!r}: pose")
    return FrameTask(weight, frame, X.position, X.rotation)


def keep_posture(posture: ArrayLike | None = None, weight: float = 1e-3) -> Task:
    """Joints are to be near a posture, shape (nq,), default the home, as far as all other tasks let them.

    `weight` guides the search alone.
    """
    return PostureTask(weight, posture)


def reach_center_of_mass(position: ArrayLike, weight: float = 1.0) -> Task:
    """The centre of mass is to be at a position of the world [m], shape (3,); NaN leaves an entry free."""
    return ComTask(weight, position)
