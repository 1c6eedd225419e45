"""Convex polytopes from points: corners, flat faces and edges, as flat numbers for kernels."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction._disk_cache import cached_arrays, key_of
from leastaction.mechanism.shapes import Mesh
from leastaction.typing import FloatArray

FLAT = 1e-6
"""Triangles whose normals differ by less are one face."""

THIN = 1e-4
"""Flat things are made so thick, in terms of their size."""


VERSION = 1
"""Of the polytopes on disk: to be raised where `polytope` or `thinned` give other ones."""

MANY = 100
"""Corners above which a mesh's hull is thinned."""

NEAR = 5e-3
"""How far from a thinned hull the corners that it leaves out may be, in terms of its size."""

AT_ONCE = 8
"""Corners by which a thinned hull grows at once."""


class Polytope(NamedTuple):
    """A convex polytope.

    Attributes:
        vertices: corners, shape (n, 3).
        faces: six numbers each: outward normal (3), how far from the origin along it, first number of its loop (counted
            from the first loop) and how many corners it has, shape (f, 6).
        loops: corners of the faces one after another, counter-clockwise from outside.
        edges: two corners and the two faces beside each edge, shape (e, 4).
    """

    vertices: FloatArray
    faces: FloatArray
    loops: FloatArray
    edges: FloatArray

    def moved(self, R: FloatArray, p: FloatArray) -> Polytope:
        """The same turned by R (3, 3), then shifted by p (3)."""
        faces = self.faces.copy()
        faces[:, :3] = faces[:, :3] @ R.T
        faces[:, 3] += faces[:, :3] @ p
        return self._replace(vertices=self.vertices @ R.T + p, faces=faces)

    def _around(self) -> FloatArray:
        """The edges at each corner in ascending order: for each corner where they begin, and the last's end; the edges.

        A search near a corner need not look at all edges.
        """
        ends, n = self.edges[:, :2].astype(np.int64), len(self.vertices)
        edge = np.repeat(np.arange(len(ends)), 2)
        counts = np.bincount(ends.ravel(), minlength=n)
        listed = edge[np.argsort(ends.ravel(), kind="stable")]
        return np.concatenate([[0], np.cumsum(counts), listed]).astype(float)

    def numbers(self, first: int) -> tuple[FloatArray, dict[str, int]]:
        """All numbers in a row, to be put at `first` of an array, and the fields of a `SHAPE` record."""
        n, f = self.vertices.size, self.faces.size
        faces = self.faces.copy()
        faces[:, 4] += first + n + f
        row = np.concatenate([self.vertices.ravel(), faces.ravel(), self.loops, self.edges.ravel(), self._around()])
        fields = {
            "first": first,
            "rows": len(self.vertices),
            "columns": 3,
            "faces": first + n,
            "face_count": len(self.faces),
            "edges": first + n + f + len(self.loops),
            "edge_count": len(self.edges),
        }
        return row, fields


def polytope(points: Any) -> Polytope:
    """The convex hull of points (n, 3) [m]; flat ones are made slightly thick."""
    from scipy.spatial import ConvexHull, QhullError

    points = np.asarray(points, float)
    try:
        hull = ConvexHull(points)
    except (QhullError, ValueError):
        hull = ConvexHull(_thickened(points))
    kept = np.sort(hull.vertices)
    number = np.full(len(hull.points), -1)
    number[kept] = np.arange(len(kept))
    group = _faces(hull)
    return _polytope(hull.points[kept], number[hull.simplices], hull.neighbors, group, hull.equations)


def _thickened(points: FloatArray) -> FloatArray:
    """Points with copies of them to both sides of each direction along which they do not spread."""
    centre = points.mean(axis=0)
    _, sizes, axes = np.linalg.svd(points - centre, full_matrices=True)
    size = float(np.abs(points - centre).max(initial=0.0)) or 1e-6
    spread = np.zeros(3)
    spread[: len(sizes)] = sizes[:3] / np.sqrt(max(len(points), 1))
    for axis, wide in zip(axes, spread, strict=True):
        if wide < 1e-9 * size + THIN * 1e-3 * size:
            points = np.concatenate([points - THIN * size * axis, points + THIN * size * axis])
    return points


def _faces(hull: Any) -> NDArray[np.int64]:
    """For each triangle of a hull the face it is part of."""
    group = np.full(len(hull.simplices), -1)
    for k in range(len(group)):
        if group[k] >= 0:
            continue
        group[k], edge = k, [k]
        while edge:
            for j in hull.neighbors[edge.pop()].tolist():
                # Beside the first of the face, not the one before: a round thing is no face.
                if group[j] < 0 and np.abs(hull.equations[j, :3] - hull.equations[k, :3]).max() < FLAT:
                    group[j] = k
                    edge.append(j)
    return np.unique(group, return_inverse=True)[1]


def _polytope(vertices: FloatArray, triangles: Any, neighbours: Any, group: Any, equations: Any) -> Polytope:
    sides = []
    for k, triangle in enumerate(triangles.tolist()):
        for corner, j in enumerate(neighbours[k].tolist()):
            if k < j and group[k] != group[j]:
                sides.append((triangle[(corner + 1) % 3], triangle[(corner + 2) % 3], group[k], group[j]))
    edges = np.array(sides, float).reshape(-1, 4)
    # Points within a face, which round-off or a fine mesh has put on it, are no corners: none of its edges ends there.
    used, ends = np.unique(edges[:, :2].astype(int), return_inverse=True)
    vertices, edges[:, :2] = vertices[used], ends.reshape(-1, 2)
    faces, loops = [], []
    for g in range(int(group.max()) + 1):
        normal = equations[group == g, :3].mean(axis=0)
        normal /= np.linalg.norm(normal)
        corners = np.unique(edges[(edges[:, 2] == g) | (edges[:, 3] == g), :2]).astype(int)
        middle = vertices[corners].mean(axis=0)
        across = np.linalg.svd(normal[None])[2][1:]
        if np.cross(across[0], across[1]) @ normal < 0.0:
            across = across[::-1]
        x, y = across @ (vertices[corners] - middle).T
        corners = corners[np.argsort(np.arctan2(y, x))]
        faces.append([*normal, float((vertices[corners] @ normal).max()), len(loops), len(corners)])
        loops += corners.tolist()
    return Polytope(vertices, np.array(faces), np.array(loops, float), edges)


@lru_cache(maxsize=512)
def hull(mesh: Mesh) -> Polytope:
    """A mesh's convex hull, in its own frame; thinned where it has many corners. Those of many are kept on disk."""
    points = np.ascontiguousarray(mesh.vertices, float)
    if len(points) <= MANY:
        return polytope(thinned(points))
    key = key_of(f"{VERSION} {points.shape} {MANY} {NEAR} {AT_ONCE} {FLAT} {THIN}".encode(), points.data)
    return Polytope(*cached_arrays("hull", key, lambda: polytope(thinned(points))))


def thinned(points: FloatArray) -> FloatArray:
    """Some of the points, whose hull has all others within `NEAR` of their size; all of them where the hull is simple.

    Fine meshes of round things have thousands of corners, and each costs time in every search for contacts. As in the
    quickhull method a hull grows, from the outermost points along the axes, by the points farthest beyond its faces.
    """
    from scipy.spatial import ConvexHull, QhullError

    try:
        whole = ConvexHull(points)
        if len(whole.vertices) <= MANY:
            return points
        corners = points[whole.vertices]
        size = float(np.ptp(corners, axis=0).max())
        kept = np.unique(np.concatenate([corners.argmin(axis=0), corners.argmax(axis=0), _spread(corners)]))
        while True:
            hull = ConvexHull(corners[kept])
            beyond = corners @ hull.equations[:, :3].T + hull.equations[:, 3]
            worst = np.argsort(-beyond.max(axis=0))[:AT_ONCE]
            worst = worst[beyond.max(axis=0)[worst] > NEAR * size]
            if len(worst) == 0:
                return corners[kept]
            kept = np.union1d(kept, beyond.argmax(axis=0)[worst])
    except (QhullError, ValueError):
        return points  # flat or nearly so


def _spread(corners: FloatArray) -> NDArray[np.int64]:
    """Four corners that span a tetrahedron: the farthest pair along x, the one farthest from their line, and so on."""
    chosen = [int(corners[:, 0].argmin()), int(corners[:, 0].argmax())]
    for _ in range(2):
        basis = np.linalg.qr((corners[chosen[1:]] - corners[chosen[0]]).T)[0]
        away = corners - corners[chosen[0]]
        chosen.append(int(np.linalg.norm(away - away @ basis @ basis.T, axis=1).argmax()))
    return np.array(chosen)


HOLLOW = 0.05
"""Share of its convex hull that a mesh may leave empty and still count as convex."""


@lru_cache(maxsize=512)
def filling(mesh: Mesh) -> float:
    """The share of its convex hull that a mesh fills: 1 where it is convex or flat, less where it has hollows.

    Volumes come from the divergence theorem about the mean of the corners: walls that are missing count as hollows.
    """
    points, faces = np.ascontiguousarray(mesh.vertices, float), np.ascontiguousarray(mesh.faces, np.int64)
    if len(points) <= MANY:
        return _filling(points, faces)
    key = key_of(f"{VERSION} {points.shape} {faces.shape}".encode(), points.data, faces.data)
    return float(cached_arrays("filling", key, lambda: [np.array(_filling(points, faces))])[0])


def _filling(points: FloatArray, faces: NDArray[np.int64]) -> float:
    from scipy.spatial import ConvexHull, QhullError

    try:
        whole = ConvexHull(points).volume
    except (QhullError, ValueError):
        return 1.0
    own = np.linalg.det((points - points.mean(axis=0))[faces]).sum() / 6.0
    return min(float(abs(own) / whole), 1.0)


@lru_cache(maxsize=1)
def _cube() -> Polytope:
    """The cube from -1 to 1."""
    return polytope([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])


def box(half: Any) -> Polytope:
    """A box with half edges (3) [m]."""
    size, cube = np.array(half), _cube()
    faces = cube.faces.copy()
    faces[:, 3] = np.abs(faces[:, :3]) @ size
    return cube._replace(vertices=cube.vertices * size, faces=faces)
