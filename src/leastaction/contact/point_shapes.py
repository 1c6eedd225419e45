"""Assignment of contact points to the shapes that contain them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from leastaction.mechanism.elements import ContactPoint
from leastaction.mechanism.shapes import COEFFICIENTS, Box, Capsule, Cylinder, Ellipsoid, Mesh, Shape, Sphere


def holds(shape: Shape, point: Any) -> bool:
    """Whether a point of the body lies in one of its shapes, within rounding; for meshes always true."""
    x, y, z = np.abs(shape.pose.inverse().apply(point)) * (1.0 - 1e-6)
    if isinstance(shape, Box):
        return bool(np.all(np.array([x, y, z]) <= 0.5 * np.array(shape.size)))
    if isinstance(shape, Cylinder):
        return bool(np.hypot(x, y) <= shape.radius and z <= 0.5 * shape.length)
    if isinstance(shape, Sphere | Capsule):
        length = shape.length if isinstance(shape, Capsule) else 0.0
        return bool(np.linalg.norm([x, y, max(z - 0.5 * length, 0.0)]) <= shape.radius)
    if isinstance(shape, Ellipsoid):
        return bool(np.linalg.norm(np.array([x, y, z]) / shape.radii) <= 1.0)
    return isinstance(shape, Mesh)


def shapes_of_point(point: ContactPoint, shapes: Sequence[Shape]) -> list[Shape]:
    """Those of a body's shapes that a contact point replaces on the ground, its own shape first.

    Its own shape is the sphere or capsule that it was generated from; otherwise the shape with its name.
    """
    held = [shape for shape in shapes if shape.collision and holds(shape, point.point)]
    named = [bool(shape.name) and point.name.startswith(shape.name) for shape in held]
    order = sorted(range(len(held)), key=lambda k: (not _made_of(point, held[k]), not named[k]))
    return [held[k] for k in order]


def _made_of(point: ContactPoint, shape: Shape) -> bool:
    """Whether a contact point coincides with a sphere, or with an end of a capsule."""
    if not isinstance(shape, Sphere | Capsule) or point.radius != shape.radius:
        return False
    x, y, z = np.abs(shape.pose.inverse().apply(point.point))
    end = 0.5 * shape.length if isinstance(shape, Capsule) else 0.0
    size = shape.radius + end + float(np.abs(shape.pose.position).max())
    return bool(np.linalg.norm([x, y, z - end]) <= 1e-12 * size)


def gone_along(point: ContactPoint, shapes: Sequence[Shape], k: int, changed: Shape) -> ContactPoint:
    """A contact point after shape k of its body has become `changed`: a point of that shape moves along with it.

    Its radius and coefficients follow where they equal those of the shape.
    """
    before = shapes[k]
    if not any(shape is before for shape in shapes_of_point(point, shapes)[:1]):
        return point
    changes: dict[str, Any] = {}
    place = before.pose.inverse().apply(point.point)
    moved = _stretched(place, before, changed)
    if before.pose != changed.pose or not np.array_equal(moved, place):
        changes["point"] = tuple(changed.pose.apply(moved))
    radius = ("radius",) if isinstance(before, Sphere | Capsule) else ()
    for name in (*COEFFICIENTS, *radius):
        if getattr(changed, name) != getattr(before, name) == getattr(point, name):
            changes[name] = getattr(changed, name)
    return replace(point, **changes)


def _stretched(place: Any, before: Any, after: Any) -> Any:
    """A point in a shape, in its frame, after the dimensions of the shape have changed."""
    x, y, z = place
    if isinstance(before, Box):
        return np.array(place) * (np.array(after.size) / before.size)
    if isinstance(before, Ellipsoid):
        return np.array(place) * (np.array(after.radii) / before.radii)
    if not isinstance(before, Sphere | Capsule | Cylinder):
        return np.array(place)
    wider = after.radius / before.radius
    longer = wider if isinstance(before, Sphere) else after.length / before.length
    middle = z
    if isinstance(before, Capsule):  # hemispherical caps keep their form
        middle = float(np.clip(z, -0.5 * before.length, 0.5 * before.length))
    return np.array([wider * x, wider * y, longer * middle + wider * (z - middle)])
