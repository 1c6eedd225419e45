"""Whether a point is in a shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.mechanism.shapes import Box, Capsule, Cylinder, Ellipsoid, Mesh, Shape, Sphere


def holds(shape: Shape, point: Any) -> bool:
    """Whether a point of the body is in one of its shapes, within rounding; meshes hold every point."""
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
