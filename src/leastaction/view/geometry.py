"""Triangles for pictures: balls, capsules, cylinders, rounded boxes, terrain, tubes, and meshes from files."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.mechanism.pose import Pose
from leastaction.mechanism.shapes import Box, Capsule, Cylinder, Ellipsoid, HeightField, Mesh, Shape, Sphere
from leastaction.typing import FloatArray

CREASE = math.cos(math.radians(35.0))
"""Faces of a mesh that meet at a larger angle than 35 degrees keep a sharp edge."""


@dataclass(frozen=True, eq=False)
class Triangles:
    """A triangle mesh with a normal at each corner.

    Attributes:
        vertices: [m], shape (n, 3).
        normals: unit vectors, shape (n, 3).
        faces: indices of vertices, counter-clockwise seen from outside, shape (m, 3).
        closed: whether it is known to have an inside, so that nobody sees its back.
    """

    vertices: FloatArray
    normals: FloatArray
    faces: NDArray[np.int64]
    closed: bool = True

    def moved(self, pose: Pose) -> Triangles:
        """The same triangles in the frame in which theirs has that pose."""
        R = pose.rotation
        return Triangles(self.vertices @ R.T + np.array(pose.position), self.normals @ R.T, self.faces, self.closed)


def join(meshes: list[Triangles]) -> Triangles:
    """Several meshes as one."""
    starts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes[:-1])])
    faces = [mesh.faces + start for mesh, start in zip(meshes, starts, strict=True)]
    vertices, normals = [m.vertices for m in meshes], [m.normals for m in meshes]
    closed = all(mesh.closed for mesh in meshes)
    return Triangles(np.concatenate(vertices), np.concatenate(normals), np.concatenate(faces), closed)


def _revolved(profile: list[tuple[float, float, float, float]], sides: int) -> Triangles:
    """The surface swept about z by a profile of (radius, z, normal's radial part, normal's z), upwards."""
    turn = np.linspace(0.0, 2.0 * math.pi, sides + 1)
    c, s = np.cos(turn), np.sin(turn)
    r, z, nr, nz = np.array(profile).T[:, :, None]
    flat = np.ones_like(c)
    vertices = np.stack([r * c, r * s, z * flat], axis=-1).reshape(-1, 3)
    normals = np.stack([nr * c, nr * s, nz * flat], axis=-1).reshape(-1, 3)
    row, column = np.meshgrid(np.arange(len(profile) - 1), np.arange(sides), indexing="ij")
    a = (row * (sides + 1) + column).ravel()
    b, up = a + 1, sides + 1
    faces = np.concatenate([np.stack([a, b, b + up], axis=1), np.stack([a, b + up, a + up], axis=1)])
    return Triangles(vertices, normals, faces)


def capsule(radius: float, length: float, sides: int = 24) -> Triangles:
    """All points within `radius` of a segment of `length` along z [m]; a ball for length zero."""
    angles = np.linspace(-0.5 * math.pi, 0.5 * math.pi, sides // 2 + 1)
    half = len(angles) // 2
    profile = []
    for k, a in enumerate(angles):
        c, s = math.cos(a), math.sin(a)
        # The equator belongs to both halves, so that the side between them is straight.
        offsets = (-0.5 * length, 0.5 * length) if k == half and length > 0.0 else (math.copysign(0.5 * length, s),)
        profile += [(radius * c, radius * s + offset, c, s) for offset in offsets]
    return _revolved(profile, sides)


def ellipsoid(radii: Any) -> Triangles:
    """An ellipsoid centred at the origin [m]."""
    ball, radii = capsule(1.0, 0.0, 36), np.asarray(radii, float)
    normals = ball.normals / radii
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return Triangles(ball.vertices * radii, normals, ball.faces)


def cylinder(radius: float, length: float, sides: int = 32) -> Triangles:
    """A cylinder along z, centred at the origin, its edges broken by a small chamfer [m]."""
    h, e = 0.5 * length, 0.1 * min(radius, length)
    d = math.sqrt(0.5)
    profile = [(0.0, -h, 0.0, -1.0), (radius - e, -h, 0.0, -1.0), (radius - e, -h, d, -d), (radius, e - h, d, -d)]
    profile += [(radius, e - h, 1.0, 0.0), (radius, h - e, 1.0, 0.0)]
    profile += [(radius, h - e, d, d), (radius - e, h, d, d), (radius - e, h, 0.0, 1.0), (0.0, h, 0.0, 1.0)]
    return _revolved(profile, sides)


@cache
def _octant(steps: int = 3) -> FloatArray:
    """Unit vectors spread over the octant x, y, z >= 0, shape (n, 3)."""
    grid = [(i, j, steps - i - j) for i in range(steps + 1) for j in range(steps + 1 - i)]
    points = np.array(grid, float)
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def box(size: Any) -> Triangles:
    """A box with edges rounded by 6 % of the shortest one, centred at the origin [m]."""
    size = np.asarray(size, float)
    radius = 0.06 * size.min()
    signs = np.array([(x, y, z) for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
    normals = (signs[:, None, :] * _octant()[None]).reshape(-1, 3)
    centres = np.repeat(signs * (0.5 * size - radius), len(_octant()), axis=0)
    # Its eight rounded corners span it: the convex hull has no other faces.
    hull = Mesh(centres + radius * normals)
    return Triangles(hull.vertices, normals, hull.faces)


def soup(vertices: Any, faces: Any) -> Triangles:
    """A mesh from a file: smooth where it is smooth, sharp where faces meet at more than the crease angle."""
    corners = np.asarray(vertices, float)[np.asarray(faces)]
    cross = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.linalg.norm(cross, axis=1)
    scale = max(float(np.ptp(corners)), 1e-12) if len(corners) else 1.0
    proper = area > 1e-12 * scale**2
    corners, cross, area = corners[proper], cross[proper], area[proper]
    flat = np.repeat(cross / area[:, None], 3, axis=0)
    points = corners.reshape(-1, 3)
    # Corners at one place share a normal, weighted by area, unless their faces deviate too much from it.
    place = np.unique(np.round(points / (1e-6 * scale)).astype(np.int64), axis=0, return_inverse=True)[1].ravel()
    sums = np.stack([np.bincount(place, np.repeat(cross[:, k], 3)) for k in range(3)], axis=1)[place]
    shared = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-300)
    smooth = np.einsum("ij,ij->i", shared, flat) > CREASE
    normals = np.where(smooth[:, None], shared, flat)
    key = np.concatenate([place[:, None], np.round(normals * 127.0).astype(np.int64)], axis=1)
    first, index = np.unique(key, axis=0, return_index=True, return_inverse=True)[1:]
    return Triangles(points[first], normals[first], index.reshape(-1, 3), closed=False)


def terrain(heights: Any, spacing: float) -> Triangles:
    """The surface of a height field, heights[i, j] along x and y [m], centred at the origin."""
    z = np.asarray(heights, float)
    nx, ny = z.shape
    x, y = (np.arange(nx) - 0.5 * (nx - 1)) * spacing, (np.arange(ny) - 0.5 * (ny - 1)) * spacing
    gx, gy = np.gradient(z, spacing)
    vertices = np.stack([*np.meshgrid(x, y, indexing="ij"), z], axis=-1).reshape(-1, 3)
    normals = np.stack([-gx, -gy, np.ones_like(z)], axis=-1).reshape(-1, 3)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    i, j = np.meshgrid(np.arange(nx - 1), np.arange(ny - 1), indexing="ij")
    a = (i * ny + j).ravel()
    faces = np.concatenate([np.stack([a, a + ny, a + ny + 1], axis=1), np.stack([a, a + ny + 1, a + 1], axis=1)])
    return Triangles(vertices, normals, faces, closed=False)


def slab(half: float, thickness: float) -> Triangles:
    """A square plate of half width `half` whose top is the plane z = 0 [m]."""
    return box((2.0 * half, 2.0 * half, thickness)).moved(Pose((0.0, 0.0, -0.5 * thickness)))


def tubes(start: Any, end: Any, start_radius: Any, end_radius: Any, sides: int = 8) -> Triangles:
    """Truncated cones between pairs of points [m], shape (k, 3) each; radii [m], shape (k,); without caps."""
    a, b = np.atleast_2d(np.asarray(start, float)), np.atleast_2d(np.asarray(end, float))
    along = b - a
    length = np.linalg.norm(along, axis=1, keepdims=True)
    along = np.where(length > 1e-12, along / np.maximum(length, 1e-12), [[1.0, 0.0, 0.0]])
    seed = np.where(np.abs(along[:, 2:]) < 0.9, [[0.0, 0.0, 1.0]], [[1.0, 0.0, 0.0]])
    u = np.cross(along, seed)
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    w = np.cross(along, u)
    turn = 2.0 * math.pi * np.arange(sides) / sides
    ring = u[:, None] * np.cos(turn)[:, None] + w[:, None] * np.sin(turn)[:, None]
    radii = [np.broadcast_to(np.asarray(r, float), len(a))[:, None, None] for r in (start_radius, end_radius)]
    vertices = np.stack([a[:, None] + radii[0] * ring, b[:, None] + radii[1] * ring], axis=1)
    normals = np.stack([ring, ring], axis=1)
    k = np.arange(sides)
    one = np.concatenate(
        [
            np.stack([k, (k + 1) % sides, (k + 1) % sides + sides], axis=1),
            np.stack([k, (k + 1) % sides + sides, k + sides], axis=1),
        ]
    )
    faces = (one[None] + (2 * sides * np.arange(len(a)))[:, None, None]).reshape(-1, 3)
    return Triangles(vertices.reshape(-1, 3), normals.reshape(-1, 3), faces)


def of_shape(shape: Shape) -> Triangles | None:
    """The triangles of a shape in its body's frame; None for planes, which have no end."""
    if isinstance(shape, Sphere):
        mesh = capsule(shape.radius, 0.0, 36)
    elif isinstance(shape, Capsule):
        mesh = capsule(shape.radius, shape.length)
    elif isinstance(shape, Cylinder):
        mesh = cylinder(shape.radius, shape.length)
    elif isinstance(shape, Ellipsoid):
        mesh = ellipsoid(shape.radii)
    elif isinstance(shape, Box):
        mesh = box(shape.size)
    elif isinstance(shape, Mesh):
        mesh = soup(shape.vertices, shape.faces)
    elif isinstance(shape, HeightField):
        mesh = terrain(shape.heights, shape.spacing)
    else:
        return None
    return mesh.moved(shape.pose)
