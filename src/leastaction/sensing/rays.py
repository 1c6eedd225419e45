"""How far along a ray the next shape is."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from leastaction.mechanism.shapes import Box, Capsule, Cylinder, Ellipsoid, HeightField, Mesh, Plane, Shape, Sphere

FloatArray = NDArray[np.float64]

NONE = math.inf
"""Where a ray meets nothing."""


def distance(shape: Shape, origin: FloatArray, direction: FloatArray) -> float:
    """Distance [m] to a shape along a ray in the shape's own frame, from inside to its skin; `NONE` where it misses."""
    if isinstance(shape, Sphere):
        return _ball(origin, direction, shape.radius)
    if isinstance(shape, Ellipsoid):
        radii = np.array(shape.radii)
        return _ball(origin / radii, direction / radii, 1.0)
    if isinstance(shape, Capsule):
        half = 0.5 * shape.length
        ends = [_ball(origin - [0.0, 0.0, z], direction, shape.radius) for z in (-half, half)]
        # Of a ball at an end only the outer half is skin.
        ends = [
            s for s, z in zip(ends, (-1.0, 1.0), strict=True) if s < NONE and z * (origin + s * direction)[2] >= half
        ]
        return min([_side(origin, direction, shape.radius, half), *ends], default=NONE)
    if isinstance(shape, Cylinder):
        half = 0.5 * shape.length
        lids = [_plane(origin - [0.0, 0.0, z], direction) for z in (-half, half)]
        lids = [s for s in lids if s < NONE and np.hypot(*(origin + s * direction)[:2]) <= shape.radius]
        return min([_side(origin, direction, shape.radius, half), *lids], default=NONE)
    if isinstance(shape, Box):
        return _box(origin, direction, 0.5 * np.array(shape.size))
    if isinstance(shape, Plane):
        return _plane(origin, direction) if direction[2] < 0.0 else NONE
    if isinstance(shape, Mesh):
        return _triangles(origin, direction, shape.vertices[shape.faces])
    if isinstance(shape, HeightField):
        return _triangles(origin, direction, _grid(shape))
    return NONE


def _ball(o: FloatArray, d: FloatArray, radius: float) -> float:
    """Of a ball; lengths along the ray are in units of d, which need not be of length one."""
    b, c = float(o @ d), float(o @ o) - radius * radius
    return _roots(float(d @ d), b, c)


def _roots(a: float, b: float, c: float) -> float:
    """The smaller solution of a s^2 + 2 b s + c = 0 that is not negative."""
    under = b * b - a * c
    if a <= 0.0 or under < 0.0:
        return NONE
    for s in ((-b - math.sqrt(under)) / a, (-b + math.sqrt(under)) / a):
        if s >= 0.0:
            return s
    return NONE


def _side(o: FloatArray, d: FloatArray, radius: float, half: float) -> float:
    """Of a cylinder about z."""
    a, b, c = float(d[:2] @ d[:2]), float(o[:2] @ d[:2]), float(o[:2] @ o[:2]) - radius * radius
    under = b * b - a * c
    if a <= 1e-30 or under < 0.0:
        return NONE
    for s in ((-b - math.sqrt(under)) / a, (-b + math.sqrt(under)) / a):
        if s >= 0.0 and abs(o[2] + s * d[2]) <= half:
            return s
    return NONE


def _plane(o: FloatArray, d: FloatArray) -> float:
    """To the plane z = 0."""
    if d[2] == 0.0:
        return NONE
    s = -float(o[2] / d[2])
    return s if s >= 0.0 else NONE


def _box(o: FloatArray, d: FloatArray, half: FloatArray) -> float:
    near, far = -math.inf, math.inf
    for k in range(3):
        if d[k] == 0.0:
            if abs(o[k]) > half[k]:
                return NONE
            continue
        first, last = sorted(((-half[k] - o[k]) / d[k], (half[k] - o[k]) / d[k]))
        near, far = max(near, first), min(far, last)
    if near > far or far < 0.0:
        return NONE
    return float(near if near >= 0.0 else far)


def _triangles(o: FloatArray, d: FloatArray, corners: FloatArray) -> float:
    """Of Moeller and Trumbore (1997), all triangles (n, 3, 3) at once."""
    a, e, f = corners[:, 0], corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    p = np.cross(d, f)
    det = np.einsum("ij,ij->i", e, p)
    fine = np.abs(det) > 1e-14 * np.abs(corners).max(initial=1e-30) ** 2
    inverse = 1.0 / np.where(fine, det, 1.0)
    t = o - a
    u = np.einsum("ij,ij->i", t, p) * inverse
    r = np.cross(t, e)
    v = r @ d * inverse
    s = np.einsum("ij,ij->i", f, r) * inverse
    hit = fine & (u >= -1e-12) & (v >= -1e-12) & (u + v <= 1.0 + 1e-12) & (s >= 0.0)
    return float(s[hit].min(initial=NONE))


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
