"""Primitive motions, of which joints are made: turns, slides, screws, balls, free motions and splines of frames."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike

from leastaction.errors import MechanismError
from leastaction.mechanism import _check
from leastaction.mechanism.pose import Pose
from leastaction.typing import Axis


class Motion(IntEnum):
    """Codes of the primitive motions; kernels test these integers."""

    REVOLUTE = 0
    PRISMATIC = 1
    SCREW = 2
    SPHERICAL = 3
    FREE = 4
    WELD = 5  # no motion: carries what must not turn with the node before it
    SPLINE_CURVE = 6
    SPLINE_SURFACE = 7


NQ = {
    Motion.REVOLUTE: 1,
    Motion.PRISMATIC: 1,
    Motion.SCREW: 1,
    Motion.SPHERICAL: 4,
    Motion.FREE: 7,
    Motion.WELD: 0,
    Motion.SPLINE_CURVE: 1,
    Motion.SPLINE_SURFACE: 2,
}
NV = NQ | {Motion.SPHERICAL: 3, Motion.FREE: 6}
SPLINES = (Motion.SPLINE_CURVE, Motion.SPLINE_SURFACE)


@dataclass(frozen=True, slots=True)
class Primitive:
    """One primitive motion.

    Attributes:
        motion: which one.
        axis: unit axis in the joint frame, for rotation, translation and screw.
        pitch: advance of a screw per angle [m/rad].
        frames: control frames of a spline curve, at least four.
        controls: control values of a spline surface: six grids (x, y, z [m], turns about x, y, z [rad]) of 4 x 4.
    """

    motion: Motion
    axis: tuple[float, ...] = (0.0, 0.0, 1.0)
    pitch: float = 0.0
    frames: tuple[Pose, ...] = ()
    controls: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        what = f"{_check.instance(self.motion, Motion, 'motion').name.lower()} motion"
        object.__setattr__(self, "axis", _check.axis(self.axis, f"{what}: axis"))
        object.__setattr__(self, "pitch", _check.number(self.pitch, f"{what}: pitch"))
        frames = _check.instances(self.frames, Pose, f"{what}: frames")
        if self.motion == Motion.SPLINE_CURVE and len(frames) < 4:
            raise MechanismError(f"{what}: frames: needs at least four control frames, got {len(frames)}")
        object.__setattr__(self, "frames", frames)
        size = 96 if self.motion == Motion.SPLINE_SURFACE else 0
        if size or not isinstance(self.controls, tuple) or self.controls:
            object.__setattr__(self, "controls", _check.vector(self.controls, size, f"{what}: controls"))

    @property
    def nq(self) -> int:
        """Number of position coordinates."""
        return NQ[self.motion]

    @property
    def nv(self) -> int:
        """Number of degrees of freedom."""
        return NV[self.motion]

    def neutral(self) -> tuple[float, ...]:
        """Position coordinates of the identity."""
        special = {Motion.SPHERICAL: (1.0, 0, 0, 0), Motion.FREE: (0.0, 0, 0, 1, 0, 0, 0)}
        return special.get(self.motion, (0.0,) * self.nq)


def revolute(axis: Axis = "z") -> Primitive:
    """Rotation about `axis` [rad]."""
    return Primitive(Motion.REVOLUTE, _check.axis(axis, "revolute axis"))


def prismatic(axis: Axis = "z") -> Primitive:
    """Translation along `axis` [m]."""
    return Primitive(Motion.PRISMATIC, _check.axis(axis, "prismatic axis"))


def screw(axis: Axis = "z", pitch: float = 0.0) -> Primitive:
    """Rotation about `axis` [rad] with an advance of `pitch` [m/rad] along it."""
    return Primitive(Motion.SCREW, _check.axis(axis, "screw axis"), _check.number(pitch, "screw pitch"))


def spherical() -> Primitive:
    """Ball joint: unit quaternion; velocity is the angular velocity in the child's frame [rad/s]."""
    return Primitive(Motion.SPHERICAL)


def free() -> Primitive:
    """Free motion: position [m] and unit quaternion; velocity is the twist in the child's frame."""
    return Primitive(Motion.FREE)


def spline_curve(frames: Iterable[Pose | ArrayLike]) -> Primitive:
    """Motion along a closed cubic B-spline of frames (Lee and Terzopoulos 2008; Sueda 2021, Eq. 2.74).

    The coordinate counts control frames: between k and k + 1 the frames k, k + 1, k + 2 and k + 3 shape the motion,
    with indices modulo their number.

    Args:
        frames: control frames in the joint's frame, at least four: `Pose`s, or matrices of shape (4, 4).
    """
    several = _check.instances(frames, object, "spline curve: frames")
    poses = tuple(x if isinstance(x, Pose) else Pose.from_matrix(x) for x in several)
    if len(poses) < 4:
        raise MechanismError(f"spline curve: needs at least four control frames, got {len(poses)}")
    return Primitive(Motion.SPLINE_CURVE, frames=poses)


def spline_surface(controls: ArrayLike) -> Primitive:
    """Motion on a cubic B-spline surface of frames with two coordinates in [0, 1] (Sueda 2021, Eq. 2.78).

    Args:
        controls: shape (6, 4, 4): grids of control values of the shifts along x, y, z [m] and of the turns about x, y,
            z [rad], applied in this order; the first coordinate leads from row to row of a grid, the second from column
            to column.
    """
    return Primitive(Motion.SPLINE_SURFACE, controls=_check.vector(controls, 96, "spline surface: control values"))


def perpendicular(axis: tuple[float, ...]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Two unit vectors that complete `axis` to a right-handed frame (V1, V2 of Bruedigam 2023, B.6).

    For "z" they are x and y, for "x" y and z, for "y" z and x, so that planes read as expected.
    """
    a = np.array(_check.axis(axis, "axis"))
    k = int(np.argmax(np.abs(a)))
    seed = np.zeros(3)
    seed[(k + 1) % 3] = 1.0
    first = seed - a * (a @ seed)
    first /= np.linalg.norm(first)
    return tuple(first.tolist()), tuple((np.cross(a, first) + 0.0).tolist())
