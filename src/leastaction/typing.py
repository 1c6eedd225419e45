"""Types of the arguments that public functions take, to annotate code of one's own with.

Example:
    >>> from leastaction.typing import Controls, Positions
    >>> def swing(robot: la.Mechanism, q: Positions, u: Controls) -> la.Trajectory:
    ...     return la.simulate(robot, q, controls=u, duration=1.0)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from typing import Any

    from leastaction.mechanism.elements import Attachment
    from leastaction.mechanism.mechanism import Mechanism
    from leastaction.mechanism.pose import Pose
    from leastaction.trajectory.trajectory import Trajectory
    from leastaction.view.camera import Camera
    from leastaction.view.scene import Scene

__all__ = [
    "ArrayLike",
    "AttachmentLike",
    "Axis",
    "CameraLike",
    "Controller",
    "Controls",
    "DeviceArrayLike",
    "FloatArray",
    "IntArray",
    "JointOptions",
    "MotionLike",
    "Motions",
    "Parameters",
    "PathName",
    "PoseLike",
    "Positions",
    "SceneOptions",
    "TendonOptions",
    "Velocities",
    "Viewable",
]

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
PathName: TypeAlias = str | PathLike[str]

Positions: TypeAlias = ArrayLike | Mapping[str, float]
"""Joint positions [rad or m], shape (nq,), or some of them by the names of coordinates."""

Velocities: TypeAlias = ArrayLike | Mapping[str, float]
"""Joint velocities [rad/s or m/s], shape (nv,), or some of them by the names of velocities."""

Controls: TypeAlias = ArrayLike | Callable[[float], ArrayLike]
"""Controls: shape (nu,), (steps, nu) or (steps, nodes, nu), or a function of time [s] that gives (nu,)."""

Controller: TypeAlias = Callable[[float, FloatArray, FloatArray], ArrayLike]
"""A function of time [s], positions (nq,) and velocities (nv,) that gives controls (nu,)."""

PoseLike: TypeAlias = "Pose | ArrayLike"
"""A `Pose`, a position [m] (3), position and quaternion (7), or a homogeneous matrix (4, 4)."""

MotionLike: TypeAlias = "PoseLike | Callable[[float], PoseLike]"
"""A prescribed position [rad or m] or pose: constant, one for each state, or a function of time [s]."""

Motions: TypeAlias = Mapping[str, MotionLike]
"""Prescribed motions by the names of joints and bodies, see `MechanismBuilder.prescribe`."""

Axis: TypeAlias = str | ArrayLike
""""x", "-y", ..., or a unit vector (3); of a universal joint a pair of them."""

AttachmentLike: TypeAlias = "Attachment | str | tuple[str, ArrayLike]"
"""A point of a body: the body's name, for its origin, or (body, point in its frame [m])."""

Parameters: TypeAlias = Mapping[str, ArrayLike]
"""Values of parameters by name, such as "mass:link2", see `leastaction.adjoint`."""

CameraLike: TypeAlias = "Camera | tuple[float, float]"
"""A `Camera`, or (azimuth, elevation) [rad]."""

Viewable: TypeAlias = "Trajectory | Sequence[Trajectory] | Mechanism | Scene"
"""What can be drawn: a run, several, a robot that stands still, or a `Scene` that is ready."""


class DeviceArrayLike(Protocol):
    """An array on a GPU, as of PyTorch, CuPy, JAX or `leastaction.batch`."""

    @property
    def __cuda_array_interface__(self) -> Mapping[str, Any]:
        """Address, shape and type of the array, by the convention of Numba and CuPy."""
        ...


class JointOptions(TypedDict, total=False):
    """Keyword arguments of `MechanismBuilder.joint` that all kinds of joints have, see there and `Joint`."""

    position: ArrayLike
    rotation: ArrayLike
    pose: PoseLike
    child_pose: PoseLike
    limits: ArrayLike
    lower: ArrayLike
    upper: ArrayLike
    velocity_limit: ArrayLike
    effort_limit: ArrayLike
    stiffness: ArrayLike
    rest: ArrayLike
    damping: ArrayLike
    friction: ArrayLike
    armature: ArrayLike
    loop: bool
    limit_stiffness: ArrayLike
    limit_damping: ArrayLike
    home: ArrayLike
    motions: Sequence[str]


class TendonOptions(TypedDict, total=False):
    """Keyword arguments of `MechanismBuilder.tendon` beside its path, see `Tendon`."""

    stiffness: float
    rest: float | tuple[float, float]
    damping: float
    limit_stiffness: float
    limit_damping: float
    force_limits: tuple[float, float]
    rigid: bool


class SceneOptions(TypedDict, total=False):
    """Keyword arguments of `leastaction.view.build_scene`, which all that draws takes."""

    q: ArrayLike
    labels: Sequence[str]
    layout: str
    traces: Iterable[AttachmentLike]
    plots: Sequence[str]
    follow: bool
    camera: CameraLike
    fps: float
    max_frames: int
