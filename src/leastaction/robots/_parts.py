"""Building blocks that the robots share: rods, pictures, planar loop closures, checks of parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec

import numpy as np

from leastaction.errors import MechanismError
from leastaction.mechanism import (
    Box,
    Capsule,
    Inertia,
    Mechanism,
    MechanismBuilder,
    Plane,
    Pose,
    Shape,
    Sphere,
    _check,
    solid_box,
)
from leastaction.mechanism.joints import perpendicular
from leastaction.mechanism.pose import Quaternion, quaternion_of_matrix

CLOSURES = {"in_plane": "cylindrical_free_orientation", "revolute": "revolute"}
"""How a hinge closes a planar loop.

A hinge has five equations, but in a planar loop only the two in the plane are independent. "in_plane" keeps
those two (Brüdigam's experiments do the same); "revolute" keeps all five, three of which are redundant.
"""

MOST = 100_000
"""Largest number of links and the like."""

Arguments = ParamSpec("Arguments")


def count(value: Any, what: str, least: int = 1) -> int:
    """`value` as an integer that is not smaller than `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise MechanismError(f"{what} must be an integer of at least {least}, got {_check.shown(value)}")
    if value > MOST:
        raise MechanismError(f"{what} must be an integer of at most {MOST}, got {_check.shown(value)}")
    return int(value)


def checked(function: Callable[Arguments, Mechanism]) -> Callable[Arguments, Mechanism]:
    """A model whose parameters are of the kinds of their defaults: numbers, whole numbers, flags, names."""
    parameters = signature(function).parameters

    @wraps(function)
    def build(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Mechanism:
        unknown = next((name for name in kwargs if name not in parameters), None)
        if unknown is not None:
            known = _check.suggestion(unknown, parameters) or f"; it has {list(parameters)}"
            raise TypeError(f"{function.__name__}() has no argument {unknown!r}{known}")
        given = signature(function).bind(*args, **kwargs)
        for name, value in given.arguments.items():
            default = parameters[name].default
            if value is default:
                continue
            if isinstance(default, bool):
                _check.flag(value, name)
            elif isinstance(default, int):
                count(value, name)
            elif isinstance(default, float):
                _check.number(value, name)
            elif isinstance(default, str):
                _check.text(value, name)
            elif isinstance(default, tuple) and name != "moments":  # those come in many forms, see `Inertia`
                given.arguments[name] = _check.vector(value, len(default), name)
        return function(*given.args, **given.kwargs)

    return build


def z_along(direction: Any) -> Quaternion:
    """Quaternion of a frame whose z axis points along the unit vector `direction`."""
    first, second = perpendicular(tuple(direction))
    return quaternion_of_matrix(np.column_stack([first, second, direction]))


def segment(start: Any, end: Any, radius: float, **style: Any) -> Shape:
    """A capsule between two points of the body frame [m], for pictures only; a ball where they coincide."""
    a, b = np.asarray(start, float), np.asarray(end, float)
    length = float(np.linalg.norm(b - a))
    middle = tuple((0.5 * (a + b)).tolist())
    style = {"collision": False, **style}
    if length < 1e-6:
        return Sphere(radius, pose=Pose(middle), **style)
    return Capsule(radius, length, pose=Pose(middle, z_along((b - a) / length)), **style)


def thin_rod(mass: float, length: float, radius: float, direction: Any = (0.0, 0.0, -1.0)) -> dict[str, Any]:
    """Options of `MechanismBuilder.body` for a rod that starts at the origin.

    Its transverse moments are exactly those of a thin rod, m l^2/12. The moment about its own axis, m r^2/2,
    is small but not zero, so that a ball joint leaves the mass matrix regular; any such moment is physically
    possible.
    """
    d = np.asarray(direction, float)
    along = np.outer(d, d)
    moments: Any = mass * (length**2 / 12.0 * (np.eye(3) - along) + 0.5 * radius**2 * along)
    inertia = Inertia(mass, tuple((0.5 * length * d).tolist()), moments)
    return {"inertia": inertia, "shapes": segment((0, 0, 0), length * d, radius)}


def box_rod(mass: float, length: float, width: float) -> dict[str, Any]:
    """Options of `MechanismBuilder.body` for a square bar from the origin along -z."""
    size, middle = (width, width, length), (0.0, 0.0, -0.5 * length)
    return {
        "inertia": solid_box(mass, size, com=middle),
        "shapes": Box(size, pose=Pose(middle), collision=False),
    }


def hinge_loop(
    b: MechanismBuilder, name: str, ends: tuple[tuple[str, Any], tuple[str, Any]], axis: Any, closure: str
) -> None:
    """Close a planar loop with a hinge about `axis` between two (body, point [m]); see `CLOSURES`."""
    kind = CLOSURES[_check.choice(closure, CLOSURES, "closure")]
    (parent, p), (child, c) = ends
    options = {"axis": axis, "position": p, "child_pose": Pose(c).inverse(), "loop": True}
    b.joint(name, kind, parent, child, **options)


def base(b: MechanismBuilder, body: str, floating: bool) -> None:
    """Let the base body float, or weld it to the world."""
    if floating:
        b.free(body, name="base")
    else:
        b.fixed("base", "world", body)


def stand(b: MechanismBuilder, floating: bool, height: float, angles: Mapping[str, float]) -> None:
    """Let the home of a robot be a stance: height of its base [m], if that floats, and angles of its joints [rad]."""
    b.home({"base.z": height, **angles} if floating else angles)


def ground_plane(b: MechanismBuilder) -> None:
    """The ground z = 0."""
    b.add_shape("world", Plane(name="ground", color=(0.85, 0.85, 0.85, 1.0)))


def turned(axis: Any, angle: float, position: Any = (0.0, 0.0, 0.0)) -> Pose:
    """A pose turned by `angle` [rad] about `axis`; the exact identity rotation for zero."""
    return Pose.from_axis_angle(axis, angle, position) if math.fabs(angle) > 0.0 else Pose(position)
