"""Convex hulls of points as polytopes: corners, flat faces and edges, as flat arrays for kernels."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction._disk_cache import cached_arrays, key_of
from leastaction.mechanism.shapes import Mesh
from leastaction.typing import FloatArray

FLAT = 1e-6
"""Triangles whose normals differ by less than this are merged to one face."""

THIN = 1e-4
"""Thickness given to flat point sets, relative to their size."""


VERSION = 1
"""Version of the polytopes in the disk cache: increase it when `polytope` or `thinned` change their results."""

MANY = 100
"""Number of corners above which a mesh's hull is simplified."""

NEAR = 5e-3
"""Largest distance of omitted corners from a simplified hull, relative to its size."""

AT_ONCE = 8
"""Number of corners added to a simplified hull per iteration."""


class Polytope(NamedTuple):
    """A convex polytope.

    Attributes:
        vertices: corners, shape (n, 3).
        faces: six numbers each: outward normal (3), offset along it from the origin, first index of its loop (counted
            from the first loop) and number of corners, shape (f, 6).
        loops: corners of all faces in sequence, each face counter-clockwise seen from outside.
        edges: two corners and the two adjacent faces of each edge, shape (e, 4).
    """

    vertices: FloatArray
    faces: FloatArray
    loops: FloatArray
    edges: FloatArray

    def moved(self, R: FloatArray, p: FloatArray) -> Polytope:
        """The polytope rotated by R (3, 3), then translated by p (3)."""
        faces = self.faces.copy()
        faces[:, :3] = faces[:, :3] @ R.T
        faces[:, 3] += faces[:, :3] @ p
        return self._replace(vertices=self.vertices @ R.T + p, faces=faces)

    def _around(self) -> FloatArray:
        """Edges sorted by corner (compressed rows): the first edge index of each corner, the end, then the edges.

        A search near a corner then only visits its own edges.
        """
        ends, n = self.edges[:, :2].astype(np.int64), len(self.vertices)
        edge = np.repeat(np.arange(len(ends)), 2)
        counts = np.bincount(ends.ravel(), minlength=n)
        listed = edge[np.argsort(ends.ravel(), kind="stable")]
        return np.concatenate([[0], np.cumsum(counts), listed]).astype(float)

    def numbers(self, first: int) -> tuple[FloatArray, dict[str, int]]:
        """The polytope as a flat array, to be stored at index `first`, and the fields of a `SHAPE` record."""
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
    """The convex hull of points (n, 3) [m]; coplanar points are given a small thickness."""
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
    """Duplicate the points to both sides along each direction in which they have no extent."""
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
    """Face number of each triangle of a hull."""
    group = np.full(len(hull.simplices), -1)
    for k in range(len(group)):
        if group[k] >= 0:
            continue
        group[k], edge = k, [k]
        while edge:
            for j in hull.neighbors[edge.pop()].tolist():
                # Compare with the face's first triangle, not the previous one, so that a round surface is no face.
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
    # Points inside a face, due to round-off or a fine mesh, are no corners: no edge of the polytope ends there.
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
    """A mesh's convex hull in its own frame, simplified if it has many corners; hulls of large meshes are cached on
    disk."""
    points = np.ascontiguousarray(mesh.vertices, float)
    if len(points) <= MANY:
        return polytope(thinned(points))
    key = key_of(f"{VERSION} {points.shape} {MANY} {NEAR} {AT_ONCE} {FLAT} {THIN}".encode(), points.data)
    return Polytope(*cached_arrays("hull", key, lambda: polytope(thinned(points))))


def thinned(points: FloatArray) -> FloatArray:
    """Subset of the points whose hull contains the others within `NEAR` times the size; all points if there are few.

    Fine meshes of round objects have thousands of corners, which slow down every support query. As in the quickhull
    method, the hull grows from the extreme points along the axes by the points farthest outside its faces.
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
        return points  # coplanar or nearly so


def _spread(corners: FloatArray) -> NDArray[np.int64]:
    """Indices of four corners that span a tetrahedron: extreme pair along x, then the farthest from their line, etc."""
    chosen = [int(corners[:, 0].argmin()), int(corners[:, 0].argmax())]
    for _ in range(2):
        basis = np.linalg.qr((corners[chosen[1:]] - corners[chosen[0]]).T)[0]
        away = corners - corners[chosen[0]]
        chosen.append(int(np.linalg.norm(away - away @ basis @ basis.T, axis=1).argmax()))
    return np.array(chosen)


HOLLOW = 0.05
"""Share of its convex hull's volume that a mesh may leave empty and still count as convex."""


@lru_cache(maxsize=512)
def filling(mesh: Mesh) -> float:
    """Volume of a mesh relative to its convex hull: 1 if it is convex or flat, less if it has cavities.

    Volumes follow from the divergence theorem about the mean of the corners; missing walls count as cavities.
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
    """The cube [-1, 1]^3."""
    return polytope([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])


def box(half: Any) -> Polytope:
    """A box with half edges `half` (3) [m]."""
    size, cube = np.array(half), _cube()
    faces = cube.faces.copy()
    faces[:, 3] = np.abs(faces[:, :3]) @ size
    return cube._replace(vertices=cube.vertices * size, faces=faces)
