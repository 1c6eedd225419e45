"""What single elements of SDF files say: numbers, poses, surfaces, the properties of a joint's axes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from leastaction.formats._xml import Element
from leastaction.mechanism import Pose, Shape

UNLIMITED = 1e15
"""Limits beyond this are none: the specification's default is 1e16."""


@dataclass
class Frame:
    """A frame of a scope: what its pose is relative to, and the element that its motion follows."""

    element: Element
    base: str
    pose: Pose
    attached: str


@dataclass
class Scope:
    """A model, or the world: frames by name, and the prefix of its parts' names in the mechanism."""

    element: Element
    version: tuple[int, ...]
    prefix: str = ""
    static: bool = False
    frames: dict[str, Frame] = field(default_factory=dict)


def version_of(root: Element) -> tuple[int, ...]:
    """Version of a file, such as (1, 9)."""
    try:
        return tuple(int(x) for x in root.required("version").split("."))
    except ValueError:
        raise root.error(f"version {root.get('version')!r}: expected two numbers such as 1.9") from None


def text_of(element: Element, tag: str) -> str:
    """Text of a child that must be there."""
    child = element.find(tag)
    if child is None or not child.text.strip():
        raise element.error(f"has no <{tag}>")
    return child.text.strip()


def vector_of(element: Element, count: int) -> Any:
    """The text of an element as numbers."""
    try:
        values = tuple(float(word) for word in element.text.split())
    except ValueError:
        values = ()
    if len(values) != count or not all(math.isfinite(x) for x in values):
        raise element.error(f"expected {count} numbers, got {element.text.strip()!r}")
    return values


def number_of(element: Element, tag: str, default: float) -> float:
    """The text of a child as a number, infinite or not, or the default."""
    child = element.find(tag)
    if child is None:
        return default
    try:
        return float(child.text)
    except ValueError:
        raise child.error(f"expected a number, got {child.text.strip()!r}") from None


def pose_of(element: Element) -> Pose:
    """The `<pose>` of an element: x y z [m], roll pitch yaw [rad, or degrees], or a quaternion x y z w."""
    place = element.find("pose")
    if place is None or not place.text.strip():
        return Pose()
    if place.get("rotation_format") == "quat_xyzw":
        x = vector_of(place, 7)
        return Pose(x[:3], (x[6], *x[3:6]))
    values = vector_of(place, 6)
    scale = math.pi / 180.0 if place.get("degrees") in ("true", "1") else 1.0
    return Pose.from_rpy(values[:3], tuple(scale * x for x in values[3:]))


def moved(shape: Shape, X: Pose) -> Shape:
    """A shape seen from a frame in which its own has the pose X."""
    return replace(shape, pose=X * shape.pose)


def upright(normal: tuple[float, ...]) -> Pose:
    """A rotation that takes z to a normal."""
    n = np.array(normal) / np.linalg.norm(normal)
    axis = np.cross([0.0, 0.0, 1.0], n)
    if not axis.any():
        return Pose() if n[2] > 0.0 else Pose.from_axis_angle("x", math.pi)
    return Pose.from_axis_angle(axis / np.linalg.norm(axis), math.acos(float(np.clip(n[2], -1.0, 1.0))))


def surface_of(collision: Element) -> dict[str, float]:
    """Friction and restitution of a collision, by ODE's words or Bullet's."""
    surface = collision.find("surface")
    if surface is None:
        return {}
    out = {}
    friction = surface.find("friction") or Element("friction")
    for engine, word in (("bullet", "friction"), ("ode", "mu")):
        own = friction.find(engine)
        if own is not None and own.find(word) is not None:
            out["friction"] = number_of(own, word, 1.0)
    bounce = surface.find("bounce")
    if bounce is not None and bounce.find("restitution_coefficient") is not None:
        out["restitution"] = number_of(bounce, "restitution_coefficient", 0.0)
    return out


def pitch_of(joint: Element) -> float:
    """Advance of a screw [m/rad], from the advance per turn, or from the older `thread_pitch`."""
    if joint.find("screw_thread_pitch") is not None:
        return number_of(joint, "screw_thread_pitch", 1.0) / (2.0 * math.pi)
    return -1.0 / number_of(joint, "thread_pitch", 1.0)


def properties_of(axes: list[Element], count: int, type_: str) -> dict[str, Any]:
    """Limits, springs, damping and friction of the axes of a joint, as `MechanismBuilder.joint` takes them."""
    rows = []
    for axis in (axes + [Element("axis")] * count)[:count]:
        limit, dynamics = axis.find("limit") or Element("limit"), axis.find("dynamics") or Element("dynamics")
        low, high = number_of(limit, "lower", -math.inf), number_of(limit, "upper", math.inf)
        free = type_ == "continuous"
        effort, velocity = number_of(limit, "effort", -1.0), number_of(limit, "velocity", -1.0)
        rows.append(
            {
                "lower": -math.inf if free or low < -UNLIMITED else low,
                "upper": math.inf if free or high > UNLIMITED else high,
                "effort_limit": math.inf if effort < 0.0 else effort,
                "velocity_limit": math.inf if velocity < 0.0 else velocity,
                "damping": number_of(dynamics, "damping", 0.0),
                "friction": number_of(dynamics, "friction", 0.0),
                "stiffness": number_of(dynamics, "spring_stiffness", 0.0),
                "rest": number_of(dynamics, "spring_reference", 0.0),
            }
        )
    return {name: tuple(row[name] for row in rows) for name in rows[0]}
