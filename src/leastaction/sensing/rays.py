"""Distances along rays to the next shape."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from leastaction._jit import inline, routine
from leastaction.mechanism.pose import Pose
from leastaction.mechanism.shapes import Box, Capsule, Cylinder, Ellipsoid, HeightField, Mesh, Shape, Sphere
from leastaction.spatial import cross, dot3, load3, load9, mattvec, sub3
from leastaction.typing import FloatArray

NONE = math.inf
"""Where a ray meets nothing."""

SPHERE, ELLIPSOID, CAPSULE, CYLINDER, BOX, PLANE, TRIANGLES = range(7)

SENSED_SHAPE = np.dtype(
    [
        ("kind", "i8"),
        ("body", "i8"),  # that carries it, -1 for the world
        ("R", "f8", 9),  # its frame in that of the body
        ("p", "f8", 3),
        ("size", "f8", 3),  # radius and half length; radii; half edges [m]
        ("reach", "f8"),  # radius of a ball about its origin that holds it [m]
        ("first", "i8"),  # of its triangles
        ("count", "i8"),
    ],
    align=True,
)
"""A shape that rays meet, or in which contacts are felt."""


def shape_records(shapes: list[tuple[int, Shape]]) -> tuple[Any, FloatArray]:
    """`SENSED_SHAPE` records of shapes on bodies, and the triangles of meshes and height fields, shape (n, 3, 3)."""
    records: Any = np.zeros(len(shapes), SENSED_SHAPE).view(np.recarray)
    triangles = [np.zeros((0, 3, 3))]
    count = 0
    for record, (body, shape) in zip(records, shapes, strict=True):
        pose: Pose = shape.pose
        record.body, record.R, record.p = body, pose.rotation.ravel(), pose.position
        record.kind, record.size, own = _measures(shape)
        corners = np.abs(own).max(axis=(0, 1)) if len(own) else record.size
        # The axis of a capsule or cylinder ends half a length away, a capsule's ball reaches further by a radius.
        record.reach = math.inf if record.kind == PLANE else float(np.sum(corners))
        record.first, record.count = count, len(own)
        count += len(own)
        triangles.append(own)
    return records, np.concatenate(triangles)


def _measures(shape: Shape) -> tuple[int, tuple[float, ...], FloatArray]:
    """Kind, sizes and triangles of a shape."""
    none = np.zeros((0, 3, 3))
    if isinstance(shape, Sphere):
        return SPHERE, (shape.radius,) * 3, none
    if isinstance(shape, Ellipsoid):
        return ELLIPSOID, tuple(shape.radii), none
    if isinstance(shape, Capsule | Cylinder):
        kind = CAPSULE if isinstance(shape, Capsule) else CYLINDER
        return kind, (shape.radius, 0.5 * shape.length, 0.0), none
    if isinstance(shape, Box):
        return BOX, tuple(0.5 * x for x in shape.size), none
    if isinstance(shape, Mesh):
        return TRIANGLES, (0.0, 0.0, 0.0), np.asarray(shape.vertices, float)[shape.faces]
    if isinstance(shape, HeightField):
        return TRIANGLES, (0.0, 0.0, 0.0), _grid(shape)
    return PLANE, (0.0, 0.0, 0.0), none


def _grid(shape: HeightField) -> FloatArray:
    """Triangles of a height field."""
    nx, ny = shape.heights.shape
    x = (np.arange(nx) - 0.5 * (nx - 1)) * shape.spacing
    y = (np.arange(ny) - 0.5 * (ny - 1)) * shape.spacing
    P = np.stack([*np.meshgrid(x, y, indexing="ij"), shape.heights], axis=-1)
    a, b, c, d = P[:-1, :-1], P[1:, :-1], P[1:, 1:], P[:-1, 1:]
    return np.concatenate(
        [np.stack([a, b, c], axis=2).reshape(-1, 3, 3), np.stack([a, c, d], axis=2).reshape(-1, 3, 3)]
    )


@inline
def local_ray(shape, R, p, o, d):
    """A ray of the world in the frame of a shape on a body with the pose (R, p)."""
    own, x = load9(shape.R), load3(shape.p)
    o, d = mattvec(R, sub3(o, p)), mattvec(R, d)
    return mattvec(own, sub3(o, x)), mattvec(own, d)


@routine
def along(shape, triangles, o, d):
    """Distance to a shape along a ray in its frame, of unit direction d; `NONE` where it misses."""
    if shape.kind == PLANE:
        return _plane(o[2], d[2]) if d[2] < 0.0 else NONE
    # How far the ray passes from the origin, where nothing is beyond `reach`.
    b = dot3(o, d)
    if dot3(o, o) - b * b > shape.reach * shape.reach * (1.0 + 1e-9):
        return NONE
    if shape.kind == TRIANGLES:
        return _triangles(triangles, shape.first, shape.count, shape.reach, o, d)
    if shape.kind == BOX:
        return _box(load3(shape.size), o, d)
    if shape.kind == CAPSULE or shape.kind == CYLINDER:
        return _round(shape.kind == CAPSULE, shape.size[0], shape.size[1], o, d)
    r = load3(shape.size)
    o, d = (o[0] / r[0], o[1] / r[1], o[2] / r[2]), (d[0] / r[0], d[1] / r[1], d[2] / r[2])
    near, far = _roots(dot3(d, d), dot3(o, d), dot3(o, o) - 1.0)
    return near if near >= 0.0 else (far if far >= 0.0 else NONE)


@inline
def _roots(a, b, c):
    """Solutions of a s^2 + 2 b s + c = 0, the smaller one first; `NONE` where there are none."""
    under = b * b - a * c
    if a <= 1e-30 or under < 0.0:
        return NONE, NONE
    root = math.sqrt(under)
    return (-b - root) / a, (-b + root) / a


@inline
def _plane(z, dz):
    """To the plane z = 0."""
    if dz == 0.0 or -z / dz < 0.0:
        return NONE
    return -z / dz


@routine
def _round(capsule, radius, half, o, d):
    """To a capsule or cylinder about z: its side, and its ends."""
    best = NONE
    near, far = _roots(
        d[0] * d[0] + d[1] * d[1], o[0] * d[0] + o[1] * d[1], o[0] * o[0] + o[1] * o[1] - radius * radius
    )
    for k in range(2):
        s = near if k == 0 else far
        if 0.0 <= s < best and abs(o[2] + s * d[2]) <= half:
            best = s
    for k in range(2):
        end = half if k == 1 else -half
        x = (o[0], o[1], o[2] - end)
        if capsule:
            # Of the ball at an end only the outer half is skin.
            first, last = _roots(dot3(d, d), dot3(x, d), dot3(x, x) - radius * radius)
            s = first if first >= 0.0 else last
            if 0.0 <= s < best and (x[2] + s * d[2]) * end >= 0.0:
                best = s
        else:
            s = _plane(x[2], d[2])
            if s < best and (o[0] + s * d[0]) ** 2 + (o[1] + s * d[1]) ** 2 <= radius * radius:
                best = s
    return best


@routine
def _box(half, o, d):
    """To a box, slab by slab (Kay and Kajiya 1986)."""
    near, far = -NONE, NONE
    for k in range(3):
        if d[k] == 0.0:
            if abs(o[k]) > half[k]:
                return NONE
        else:
            a, b = (-half[k] - o[k]) / d[k], (half[k] - o[k]) / d[k]
            near, far = max(near, min(a, b)), min(far, max(a, b))
    if near > far or far < 0.0:
        return NONE
    return near if near >= 0.0 else far


@routine
def _triangles(triangles, first, count, reach, o, d):
    """To the first of some triangles (Moeller and Trumbore 1997)."""
    best = NONE
    for i in range(first, first + count):
        a, b, c = load3(triangles[i, 0]), load3(triangles[i, 1]), load3(triangles[i, 2])
        e, f = sub3(b, a), sub3(c, a)
        p = cross(d, f)
        det = dot3(e, p)
        if abs(det) <= 1e-14 * reach * reach:
            continue
        t = sub3(o, a)
        u = dot3(t, p) / det
        r = cross(t, e)
        v, s = dot3(d, r) / det, dot3(f, r) / det
        if u >= -1e-12 and v >= -1e-12 and u + v <= 1.0 + 1e-12 and 0.0 <= s < best:
            best = s
    return best


@routine
def is_inside(shape, R, p, x):
    """Whether a point of the world is in a sphere, capsule, cylinder or box on a frame with the pose (R, p)."""
    x, _ = local_ray(shape, R, p, x, x)
    a, b, c = shape.size[0], shape.size[1], shape.size[2]
    if shape.kind == BOX:
        return abs(x[0]) <= a and abs(x[1]) <= b and abs(x[2]) <= c
    if shape.kind == SPHERE:
        return dot3(x, x) <= a * a
    across = x[0] * x[0] + x[1] * x[1]
    if shape.kind == CAPSULE:
        beyond = max(abs(x[2]) - b, 0.0)
        return across + beyond * beyond <= a * a
    return abs(x[2]) <= b and across <= a * a
