"""Gprims of USD as shapes: primitives where their scale leaves them such, convex points otherwise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.formats._files import Notes
from leastaction.formats.usd._usd_stage import SHEAR, Stage
from leastaction.mechanism import Box, Capsule, Cylinder, Ellipsoid, Mesh, Plane, Pose, Shape, Sphere
from leastaction.mechanism.pose import quaternion_of_matrix
from leastaction.typing import FloatArray

PRIMITIVES = ("Cube", "Sphere", "Cylinder", "Capsule", "Cone", "Plane")

GPRIMS = (*PRIMITIVES, "Mesh")

ROUND = 1e-4
"""Relative difference of scales up to which a circle stays a circle."""

SIDES = 64
"""Sides of the prism or pyramid in place of a cone, or of what an uneven scale makes of a cylinder."""

CONVEX = 0.01
"""Share of the volume of its hull by which a mesh may be smaller and still count as convex."""

APPROXIMATIONS = ("none", "convexDecomposition", "convexHull", "boundingSphere", "boundingCube", "meshSimplification")

_TURNS = {
    "X": np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]),
    "Y": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]),
    "Z": np.eye(3),
}
"""Rotations that take z to an axis."""


def shape_of(
    stage: Stage, prim: Any, kind: str, base: tuple[FloatArray, FloatArray], options: dict[str, Any], notes: Notes
) -> Shape | None:
    """The shape of a gprim on a body whose rotation and origin [m] in the world are `base`, or None.

    Args:
        stage: that it belongs to.
        prim: the gprim.
        kind: one of `GPRIMS`.
        base: rotation (3, 3) and origin of the body's frame.
        options: of `Shape`.
        notes: what is ignored.
    """
    A, origin = stage.frame(prim)
    turn = base[0].T @ A
    place = base[0].T @ (origin - base[1])
    if kind == "Mesh":
        return _mesh(stage, prim, turn * stage.length, place, options, notes)
    scale = np.linalg.norm(turn, axis=0)
    if not scale.all():
        raise stage.error(prim, "its scale is zero")
    axes = turn / scale
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] = -axes[:, 0]  # all of these look the same in a mirror
    if np.abs(axes.T @ axes - np.eye(3)).max() > SHEAR:
        return _points(stage, prim, kind, turn, place, options)
    axes = np.linalg.svd(axes)
    axes = axes[0] @ axes[2]
    axis = stage.token(prim, "axis", "Z", ("X", "Y", "Z"))
    along = "XYZ".index(axis)
    across = [scale[k] for k in range(3) if k != along]
    even = abs(across[0] - across[1]) <= ROUND * max(across)
    straight = Pose(tuple(place.tolist()), quaternion_of_matrix(axes))
    turned = Pose(tuple(place.tolist()), quaternion_of_matrix(axes @ _TURNS[axis]))

    def size(name: str, default: float) -> float:
        return stage.number(prim, name, default) * stage.length

    if kind == "Cube":
        return Box(tuple((size("size", 2.0) * scale).tolist()), pose=straight, **options)
    if kind == "Sphere":
        radii = size("radius", 1.0) * scale
        if np.ptp(radii) <= ROUND * radii.max():
            return Sphere(float(radii.mean()), pose=straight, **options)
        return Ellipsoid(tuple(radii.tolist()), pose=straight, **options)
    if kind == "Plane":
        return Plane(pose=turned, **options)
    if kind == "Cone" or not even or (kind == "Capsule" and abs(scale[along] - across[0]) > ROUND * across[0]):
        return _points(stage, prim, kind, turn, place, options)
    radius, height = (
        size("radius", 1.0 if kind == "Cylinder" else 0.5),
        size("height", 2.0 if kind == "Cylinder" else 1.0),
    )
    make = Cylinder if kind == "Cylinder" else Capsule
    return make(float(radius * np.mean(across)), float(height * scale[along]), pose=turned, **options)


def _points(
    stage: Stage, prim: Any, kind: str, turn: FloatArray, place: FloatArray, options: dict[str, Any]
) -> Shape | None:
    """The convex hull of points on a gprim, whatever its transform makes of it."""
    if kind == "Plane":
        raise stage.error(prim, "the transform of a plane must not shear")
    angles = np.linspace(0.0, 2.0 * math.pi, SIDES, endpoint=False)
    ring = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(SIDES)])
    if kind == "Cube":
        half = 0.5 * stage.number(prim, "size", 2.0)
        points = half * np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
    else:
        radius = stage.number(prim, "radius", 0.5 if kind == "Capsule" else 1.0)
        half = 0.5 * stage.number(prim, "height", 1.0 if kind == "Capsule" else 2.0)
        up = np.array([0.0, 0.0, half])
        if kind == "Cylinder":
            points = np.vstack([radius * ring - up, radius * ring + up])
        elif kind == "Cone":
            points = np.vstack([radius * ring - up, up])
        else:
            tilts = np.linspace(0.0, 0.5 * math.pi, SIDES // 4)
            cap = np.vstack([math.cos(t) * ring + [0.0, 0.0, math.sin(t)] for t in tilts[:-1]] + [np.eye(3)[2:]])
            up = up if kind == "Capsule" else np.zeros(3)
            points = np.vstack([radius * cap + up, radius * cap * [1.0, 1.0, -1.0] - up])
        if kind != "Sphere":
            points = points @ _TURNS[stage.token(prim, "axis", "Z", ("X", "Y", "Z"))].T
    return stage.guard(prim, lambda: Mesh(points @ (turn * stage.length).T + place, **options))


def _mesh(
    stage: Stage, prim: Any, turn: FloatArray, place: FloatArray, options: dict[str, Any], notes: Notes
) -> Shape | None:
    mesh = stage.UsdGeom.Mesh(prim)
    found = [attribute.Get() for attribute in (mesh.GetPointsAttr(), mesh.GetFaceVertexCountsAttr())]
    indices = mesh.GetFaceVertexIndicesAttr().Get()
    if found[0] is None or not len(found[0]):
        notes.left_out("mesh without points", str(prim.GetPath()))
        return None
    points = np.array(found[0], float).reshape(-1, 3)
    counts = np.array([] if found[1] is None else found[1], np.int64)
    corners = np.array([] if indices is None else indices, np.int64)
    if not np.isfinite(points).all():
        raise stage.error(prim, "points: expected finite numbers")
    if counts.sum() != len(corners) or (counts < 0).any():
        raise stage.error(prim, f"faceVertexCounts add up to {counts.sum()}, faceVertexIndices are {len(corners)}")
    if len(corners) and not (corners.min() >= 0 and corners.max() < len(points)):
        raise stage.error(prim, f"faceVertexIndices name a vertex that does not exist among {len(points)}")
    faces = _triangles(counts, corners)
    mirrored = np.linalg.det(turn) < 0.0
    if mirrored != (stage.token(prim, "orientation", "rightHanded") == "leftHanded"):
        faces = faces[:, ::-1]
    vertices = points @ turn.T + place
    if not options["collision"]:
        return None if not len(faces) else stage.guard(prim, lambda: Mesh(vertices, faces, **options))
    approximation = "none"
    if prim.HasAPI(stage.UsdPhysics.MeshCollisionAPI):
        approximation = stage.token(prim, "physics:approximation", "none", APPROXIMATIONS)
    if approximation in ("boundingCube", "boundingSphere"):
        low, high = points.min(axis=0), points.max(axis=0)
        middle = tuple((turn @ (0.5 * (low + high)) + place).tolist())
        scale = np.linalg.norm(turn, axis=0)
        if approximation == "boundingSphere":
            radius = 0.5 * float(np.linalg.norm((high - low) * scale))
            return stage.guard(prim, lambda: Sphere(radius, pose=Pose(middle), **options))
        W, _, V = np.linalg.svd(turn / np.where(scale > 0.0, scale, 1.0))
        R = W @ V
        R = R if np.linalg.det(R) > 0.0 else -R
        size = tuple(((high - low) * scale).tolist())
        return stage.guard(prim, lambda: Box(size, pose=Pose(middle, quaternion_of_matrix(R)), **options))
    hull = stage.guard(prim, lambda: Mesh(vertices, **options))
    if approximation == "convexHull" or not len(faces):
        return hull
    shape = stage.guard(prim, lambda: Mesh(vertices, faces, **options))
    if not _is_convex(shape, hull):
        notes.add("concave colliders, of which the convex hull counts (see robots.decompose)", str(prim.GetPath()))
    return shape


def _is_convex(shape: Mesh, hull: Mesh) -> bool:
    corners = (shape.vertices - shape.vertices[0])[shape.faces]
    volume, whole = float(np.linalg.det(corners).sum()) / 6.0, hull.volume()
    return abs(volume - whole) <= CONVEX * whole


def _triangles(counts: NDArray[np.int64], corners: NDArray[np.int64]) -> NDArray[np.int64]:
    """Fans of triangles in place of polygons."""
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]]) if len(counts) else counts
    rows = []
    for n in np.unique(counts):
        if n < 3:
            continue
        first = starts[counts == n]
        for k in range(1, n - 1):
            rows.append(np.column_stack([corners[first], corners[first + k], corners[first + k + 1]]))
    return np.vstack(rows) if rows else np.zeros((0, 3), np.int64)


def solid_of(shape: Shape) -> Shape:
    """What of a shape has mass: of a mesh its convex hull, as that is what collides."""
    return Mesh(shape.vertices, pose=shape.pose, name=shape.name) if isinstance(shape, Mesh) else shape
