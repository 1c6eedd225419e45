"""Joints: what each kind lets its child do, described once for every formulation.

Every joint is a product of primitives, each with its own motion:

    X_parent_child = pose * exp(motion of primitive 1) * ... * exp(motion of primitive k) * child_placement

Primitive motions are rotation about an axis, translation along an axis, a screw, a ball, a free motion, and motions
along spline curves and spline surfaces of frames. The list covers Table B.2 of Bruedigam 2023, the joints of Sueda
2021, and screws.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leastaction.errors import MechanismError
from leastaction.mechanism import _check
from leastaction.mechanism.motions import (
    NQ,
    NV,
    SPLINES,
    Motion,
    Primitive,
    free,
    perpendicular,
    prismatic,
    revolute,
    screw,
    spherical,
    spline_curve,
    spline_surface,
)
from leastaction.mechanism.pose import Pose
from leastaction.typing import Axis

__all__ = [
    "ALIASES",
    "INF",
    "KINDS",
    "NQ",
    "NV",
    "SPLINES",
    "Joint",
    "Motion",
    "Primitive",
    "free",
    "perpendicular",
    "primitives_of",
    "prismatic",
    "revolute",
    "screw",
    "spherical",
    "spline_curve",
    "spline_surface",
]

INF = float("inf")


def _universal(axis: Any) -> tuple[Primitive, ...]:
    first, second = (revolute(a) for a in _check.pair(("x", "y") if axis is None else axis, "universal axes"))
    if np.linalg.norm(np.cross(first.axis, second.axis)) < _check.UNIT_TOLERANCE:
        raise MechanismError("universal axes: the two must not be parallel")
    return first, second


def _plane(axis: Any) -> tuple[Primitive, ...]:
    a, b = perpendicular(_check.axis("z" if axis is None else axis, "plane normal"))
    return prismatic(a), prismatic(b)


def _axis_or_z(axis: Any) -> Any:
    return "z" if axis is None else axis


_TRANSLATION = (prismatic("x"), prismatic("y"), prismatic("z"))

# kind -> primitives from the `axis` argument. Translations come before rotations, as in the free joint's q.
KINDS: dict[str, Any] = {
    "fixed": lambda axis: (),
    "revolute": lambda axis: (revolute(_axis_or_z(axis)),),
    "prismatic": lambda axis: (prismatic(_axis_or_z(axis)),),
    "cylindrical": lambda axis: (prismatic(_axis_or_z(axis)), revolute(_axis_or_z(axis))),
    "universal": _universal,
    "planar_fixed_orientation": _plane,
    "planar": lambda axis: (*_plane(axis), revolute(_axis_or_z(axis))),
    "translational": lambda axis: _TRANSLATION,
    "rotation_axis_free_movement": lambda axis: (*_TRANSLATION, revolute(_axis_or_z(axis))),
    "spherical": lambda axis: (spherical(),),
    "cylindrical_free_orientation": lambda axis: (prismatic(_axis_or_z(axis)), spherical()),
    "planar_free_orientation": lambda axis: (*_plane(axis), spherical()),
    "free": lambda axis: (free(),),
}
"""Kinds of joints and the primitives they are made of; "screw" and "composite" take more than an axis."""

ALIASES = {
    "floating": "free",
    "free_3d": "free",
    "free_2d": "planar",
    "ball": "spherical",
    "hinge": "revolute",
    "continuous": "revolute",
    "slide": "prismatic",
    "helical": "screw",
    "fixed_orientation": "translational",
}


def primitives_of(
    kind: str,
    axis: Axis | None = None,
    pitch: float = 0.0,
    parts: Iterable[Primitive] = (),
    frames: Iterable[Pose | ArrayLike] = (),
    controls: ArrayLike = (),
) -> tuple[Primitive, ...]:
    """The primitives of a joint `kind`; refuses kinds that do not exist."""
    if kind == "spline_curve":
        return (spline_curve(frames),)
    if kind == "spline_surface":
        return (spline_surface(controls),)
    if kind == "screw":
        return (screw(_axis_or_z(axis), pitch),)
    if kind == "composite":
        parts = tuple(parts) if isinstance(parts, Iterable) else ()
        if not parts or not all(isinstance(p, Primitive) for p in parts):
            raise MechanismError("a composite joint needs parts such as joints.revolute('x'), joints.prismatic('z')")
        return parts
    if kind not in KINDS:
        known = ", ".join([*KINDS, "screw", "spline_curve", "spline_surface", "composite"])
        raise MechanismError(f"unknown kind of joint {kind!r}; known kinds: {known}")
    return KINDS[kind](axis)


@dataclass(frozen=True)
class Joint:
    """A joint between two bodies; a tree joint, or one that closes a loop.

    Attributes:
        name: unique among the joints.
        kind: "fixed", "revolute", "prismatic", "screw", "cylindrical", "universal", "planar",
            "planar_fixed_orientation", "translational", "rotation_axis_free_movement", "spherical",
            "cylindrical_free_orientation", "planar_free_orientation", "free", "spline_curve", "spline_surface" or
            "composite".
        parent: name of the parent body, or "world".
        child: name of the child body.
        primitives: what the kind is made of, from parent to child.
        pose: of the joint's frame in the parent body's frame.
        child_pose: of the child body's frame in the joint's moved frame.
        lower, upper: position limits [rad or m], one per degree of freedom; infinite where there is none.
        limit_stiffness, limit_damping: spring [N m/rad or N/m] and damper that push back beyond a limit, one per degree
            of freedom (Sueda 2021, 2.5); zero: the limit does not act as a force.
        velocity_limit: [rad/s or m/s], one per degree of freedom.
        effort_limit: [N m or N], one per degree of freedom.
        stiffness: spring towards `rest` [N m/rad or N/m], one per degree of freedom.
        rest: position at which the joint's spring is relaxed, one per coordinate (nq).
        damping: viscous damping [N m s/rad or N s/m], one per degree of freedom.
        friction: dry friction [N m or N], one per degree of freedom.
        armature: inertia of the drive as seen at the joint [kg m^2 or kg], one per degree of freedom.
        loop: whether the joint must close a loop rather than carry its child.
        home: where the joint starts unless stated otherwise, one per coordinate (nq); None: at its zero.
        motions: names of the primitives, such as those of the joints that a file puts in a row, which then name the
            coordinates in place of `name`; or none.
    """

    name: str
    kind: str
    parent: str
    child: str
    primitives: tuple[Primitive, ...] = ()
    pose: Pose = Pose()
    child_pose: Pose = Pose()
    lower: tuple[float, ...] = field(default=None)  # type: ignore[assignment]
    upper: tuple[float, ...] = field(default=None)  # type: ignore[assignment]
    velocity_limit: tuple[float, ...] = field(default=None)  # type: ignore[assignment]
    effort_limit: tuple[float, ...] = field(default=None)  # type: ignore[assignment]
    stiffness: tuple[float, ...] = field(default=None)  # type: ignore[assignment]
    rest: tuple[float, ...] = field(default=None)  # type: ignore[assignment]
    damping: tuple[float, ...] = field(default=None)  # type: ignore[assignment]
    friction: tuple[float, ...] = field(default=None)  # type: ignore[assignment]
    armature: tuple[float, ...] = field(default=None)  # type: ignore[assignment]
    loop: bool = False
    limit_stiffness: tuple[float, ...] = field(default=None)  # type: ignore[assignment]
    limit_damping: tuple[float, ...] = field(default=None)  # type: ignore[assignment]
    home: tuple[float, ...] = field(default=None)  # type: ignore[assignment]
    motions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        what = f"joint {self.name!r}"
        _check.label(self.name, "joint")
        for name in ("kind", "parent", "child"):
            _check.label(getattr(self, name), f"{what}: {name}")
        object.__setattr__(self, "loop", _check.flag(self.loop, f"{what}: loop"))
        primitives = _check.instances(self.primitives, Primitive, f"{what}: primitives")
        object.__setattr__(self, "primitives", primitives)
        if self.parent == self.child:
            raise MechanismError(f"{what}: parent and child are both {self.parent!r}")
        if self.child == "world":
            raise MechanismError(f"{what}: the world cannot be a child; swap parent and child")
        if (self.kind == "fixed") == bool(self.primitives):
            raise MechanismError(f"{what}: a {self.kind} joint cannot have {len(self.primitives)} primitive motions")
        for name in ("pose", "child_pose"):
            object.__setattr__(self, name, Pose.of(getattr(self, name), f"{what}: {name}"))
        defaults = {"lower": -INF, "upper": INF, "velocity_limit": INF, "effort_limit": INF}
        for name in (*defaults, "stiffness", "damping", "friction", "armature", "limit_stiffness", "limit_damping"):
            value = getattr(self, name)
            value = defaults.get(name, 0.0) if value is None else value
            numbers = _check.per_dof(value, self.nv, f"{what}: {name}", infinite=name in defaults)
            if name not in ("lower", "upper") and any(x < 0.0 for x in numbers):
                raise MechanismError(f"{what}: {name} must not be negative, got {min(numbers)}")
            object.__setattr__(self, name, numbers)
        for k, (low, high) in enumerate(zip(self.lower, self.upper, strict=True)):
            if low > high:
                raise MechanismError(f"{what}: limits are reversed: lower {low} > upper {high} (coordinate {k})")
        k = 0
        for primitive in self.primitives:
            # Without this, drag and drive inertia would depend on the frame in which the velocity is written.
            for name in ("armature", "damping") if primitive.motion == Motion.FREE else ():
                if len(set(getattr(self, name)[k + 3 : k + 6])) > 1:
                    raise MechanismError(f"{what}: {name} of a free joint must be equal in x, y and z")
            k += primitive.nv
        for primitive, values in self.by_primitive(self.limit_stiffness):
            if any(values) and primitive.motion in (Motion.SPHERICAL, Motion.FREE):
                raise MechanismError(f"{what}: limits of a {primitive.motion.name.lower()} motion cannot act as forces")
        for name in ("rest", "home"):
            object.__setattr__(self, name, self._configuration(getattr(self, name), f"{what}: {name}"))
        if self.motions and len(self.motions) != len(self.primitives):
            raise MechanismError(f"{what}: expected {len(self.primitives)} names of motions, got {len(self.motions)}")
        object.__setattr__(self, "motions", tuple(_check.label(name, f"{what}: motion") for name in self.motions))

    def _configuration(self, values: Any, what: str) -> tuple[float, ...]:
        """Coordinates (nq) with unit quaternions; the zero in place of None."""
        if values is None:
            return self.neutral()
        q, k = _check.per_dof(values, self.nq, what), 0
        for primitive in self.primitives:
            k += primitive.nq
            if primitive.motion in (Motion.SPHERICAL, Motion.FREE):
                q = (*q[: k - 4], *_check.unit(q[k - 4 : k], 4, f"{what} quaternion"), *q[k:])
        return q

    @property
    def placement(self) -> Pose:
        """The older name of `pose`."""
        return self.pose

    @property
    def child_placement(self) -> Pose:
        """The older name of `child_pose`."""
        return self.child_pose

    @property
    def nq(self) -> int:
        """Number of position coordinates."""
        return sum(p.nq for p in self.primitives)

    @property
    def nv(self) -> int:
        """Number of degrees of freedom."""
        return sum(p.nv for p in self.primitives)

    @property
    def has_rigid_limits(self) -> bool:
        """Whether limits hold it that do not push back as springs; a ball or a free motion has none."""
        finite = any(abs(x) < INF for x in (*self.lower, *self.upper))
        return finite and self.nq == self.nv and not any(self.limit_stiffness)

    def by_primitive(self, values: tuple[float, ...]) -> list[tuple[Primitive, tuple[float, ...]]]:
        """Values per degree of freedom, dealt out to the primitives."""
        if not isinstance(values, tuple | list) or len(values) != self.nv:
            raise MechanismError(f"joint {self.name!r}: values: expected {self.nv} of them, got {_check.shown(values)}")
        dealt, k = [], 0
        for p in self.primitives:
            dealt.append((p, values[k : k + p.nv]))
            k += p.nv
        return dealt

    def neutral(self) -> tuple[float, ...]:
        """Coordinates of the joint at its zero, shape (nq,)."""
        return tuple(float(x) for p in self.primitives for x in p.neutral())

    def _labels(self, tangent: bool) -> list[str]:
        """Names of coordinates, or of degrees of freedom."""
        if (self.nv if tangent else self.nq) == 1:
            return [self.motions[0] if self.motions else self.name]
        labels: list[str] = []
        turns = slides = 0
        for k, p in enumerate(self.primitives):
            several: list[str] = []
            if p.motion == Motion.SPHERICAL:
                several = ["wx", "wy", "wz"] if tangent else ["qw", "qx", "qy", "qz"]
            elif p.motion == Motion.FREE:
                both = (["wx", "wy", "wz", "vx", "vy", "vz"], ["x", "y", "z", "qw", "qx", "qy", "qz"])
                several = both[0] if tangent else both[1]
            elif p.motion in SPLINES:
                several = ["s1", "s2"][: p.nv]
            elif self.motions:
                labels.append(self.motions[k])
            elif p.motion == Motion.PRISMATIC:
                slides += 1
                several = [f"slide{slides}"]
            else:
                turns += 1
                several = [f"turn{turns}"]
            labels += [f"{self.motions[k] if self.motions else self.name}.{x}" for x in several]
        return labels

    def coordinate_names(self) -> tuple[str, ...]:
        """One name per coordinate: the joint's name if there is one, else `joint.x`, `joint.qw`, `joint.turn1` ...

        With names of `motions`, those.
        """
        return tuple(self._labels(False))

    def velocity_names(self) -> tuple[str, ...]:
        """One name per degree of freedom."""
        return tuple(self._labels(True))
