"""What single elements of URDF files say: the mass of a link, the motion of a joint, its limits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from leastaction.formats._xml import Element
from leastaction.formats.urdf._urdf_shapes import pose_of
from leastaction.mechanism import Inertia, Pose, Shape
from leastaction.mechanism.joints import primitives_of

__all__ = ["inertia_of", "limits_of", "motion_of"]

KINDS = {
    "fixed": "fixed",
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "planar": "planar",
    "floating": "free",
    "ball": "spherical",
    "spherical": "spherical",
    "planaraxis": "planar",
}
"""Joint types of URDF files and our kinds."""


def inertia_of(inertial: Element | None, shapes: tuple[Shape, ...]) -> Inertia:
    """Mass and inertia of a link from its <inertial>; by a <density> those of its shapes."""
    if inertial is None:
        return Inertia()
    mass, moments, density = (inertial.find(tag) for tag in ("mass", "inertia", "density"))
    if density is not None and mass is None and moments is None:
        solids = [shape for shape in shapes if shape.collision]
        if not solids:
            raise density.error("there is no <collision> that it could fill")
        return Inertia.from_parts([(shape.inertia(density=density.number("value")), Pose()) for shape in solids])
    if mass is None or moments is None:
        raise inertial.error("needs <mass> and <inertia>")
    names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    values: Any = [moments.number(name, None if name[1] == name[2] else 0.0) for name in names]
    about_com = Inertia(mass.number("value"), (0, 0, 0), values)
    return about_com.moved(pose_of(inertial.find("origin")))


def motion_of(joint: Element) -> dict[str, Any]:
    """Kind, axis and properties of a joint, as `MechanismBuilder.joint` takes them."""
    type_ = joint.required("type")
    if type_ not in KINDS:
        raise joint.error(f"unknown joint type {type_!r}; known types: {', '.join(KINDS)}")
    kind = KINDS[type_]
    options: dict[str, Any] = {"kind": kind}
    if kind in ("revolute", "prismatic", "planar"):
        options["axis"] = _axis(joint)
    primitives = primitives_of(kind, options.get("axis"))
    nq, nv = sum(p.nq for p in primitives), sum(p.nv for p in primitives)
    options.update(limits_of(joint, type_, nv))
    dynamics = joint.find("dynamics", "joint_properties")
    if dynamics is not None and nv:
        for name in ("damping", "friction", "armature"):
            options[name] = _per_dof(dynamics, name, nv, 0.0)
        options["stiffness"] = _per_dof(dynamics, "spring_stiffness", nv, 0.0)
        if dynamics.get("spring_reference") is not None:
            options["rest"] = _per_dof(dynamics, "spring_reference", nq, 0.0)
    return options


def _axis(joint: Element) -> tuple[float, ...]:
    element = joint.find("axis")
    axis = (1.0, 0.0, 0.0) if element is None else element.vector("xyz", (1.0, 0.0, 0.0))
    norm = math.sqrt(sum(x * x for x in axis))
    if norm == 0.0:
        raise (element or joint).error("the axis must not be zero")
    # Axes that are unit up to rounding stay as they are written.
    return axis if abs(norm - 1.0) < 1e-15 else tuple(float(x) for x in np.array(axis) / norm)


def limits_of(joint: Element, type_: str, nv: int) -> dict[str, Any]:
    """Limits of a joint of an URDF type and its number of axes, as `MechanismBuilder.joint` takes them."""
    limit = joint.find("limit")
    if limit is None or nv == 0:
        return {}
    limits = {
        "velocity_limit": _per_dof(limit, "velocity", nv, math.inf),
        "effort_limit": _per_dof(limit, "effort", nv, math.inf),
    }
    lower, upper = limit.numbers("lower", infinite=True), limit.numbers("upper", infinite=True)
    # On joints with several axes one number says nothing useful; files that have it mean no limit.
    if type_ != "continuous" and (lower or upper) and (nv == 1 or len(lower or upper or ()) == nv):
        limits["lower"] = _per_dof(limit, "lower", nv, 0.0)
        limits["upper"] = _per_dof(limit, "upper", nv, 0.0)
    return limits


def _per_dof(element: Element, name: str, count: int, default: float) -> tuple[float, ...]:
    """An attribute for each of `count` axes; one number serves them all."""
    values = element.numbers(name, infinite=True)
    if values is None:
        return (default,) * count
    if len(values) not in (1, count):
        raise element.error(f"attribute {name}: expected 1 or {count} numbers, got {len(values)}")
    return values * count if len(values) == 1 else values
