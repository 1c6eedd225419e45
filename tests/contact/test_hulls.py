"""Hulls of fine meshes are thinned, and stay near."""

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from leastaction.contact.narrow_phase.convex.flat_faces import EDGE_NUMBERS
from leastaction.contact.narrow_phase.convex_hulls import MANY, NEAR, box, polytope, thinned
from leastaction.mechanism import Mesh
from tests.contact.scenes import Scene, measure, pose


def ball(count, sizes):
    """Points on an ellipsoid."""
    x = np.random.default_rng(0).normal(size=(count, 3))
    return x / np.linalg.norm(x, axis=1)[:, None] * sizes


@pytest.mark.parametrize("sizes", [(1.0, 1.0, 1.0), (1.0, 0.3, 0.05), (0.02, 0.02, 0.2)])
def test_thinned_hulls_are_near(sizes):
    points = ball(3000, sizes)
    kept = thinned(points)
    assert len(kept) < 0.2 * len(points)
    hull = ConvexHull(kept)
    beyond = points @ hull.equations[:, :3].T + hull.equations[:, 3]
    assert 0.0 < beyond.max() <= NEAR * np.ptp(points, axis=0).max()
    assert (kept[:, None] == points).all(axis=2).any(axis=1).all()  # its corners are corners of the mesh


def test_simple_hulls_stay_as_they_are():
    points = ball(MANY, (1.0, 1.0, 1.0))
    assert thinned(points) is points
    inside = np.concatenate([points, 0.5 * ball(500, (1.0, 1.0, 1.0))])
    assert thinned(inside) is inside


def test_flat_meshes_stay_as_they_are():
    angles = np.linspace(0.0, 6.0, 300)
    flat = np.column_stack([np.cos(angles), np.sin(angles), 0.0 * angles])
    assert thinned(flat) is flat


@pytest.mark.parametrize("shape", [box((1.0, 2.0, 3.0)), polytope(ball(40, (1.0, 0.5, 0.2)))])
def test_edges_at_each_corner_are_listed(shape):
    """In ascending order behind all edges, for kernels that look near a corner alone."""
    row, fields = shape.numbers(0)
    starts = fields["edges"] + EDGE_NUMBERS * len(shape.edges)
    lists = starts + len(shape.vertices) + 1
    for k in range(len(shape.vertices)):
        begin, end = row[starts + k : starts + k + 2].astype(int)
        assert (
            row[lists + begin : lists + end].tolist() == np.flatnonzero((shape.edges[:, :2] == k).any(axis=1)).tolist()
        )
    assert len(row) == lists + 2 * len(shape.edges)


def bumpy():
    """Corners of a cube, and points on its faces that stand out by less than what parts two faces."""
    corners = [[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
    bumps = [np.roll((side * (1.0 + 1e-8), 0.3, 0.2), k) for side in (-1, 1) for k in range(3)]
    return 0.1 * np.array([*corners, *bumps])


def test_points_within_a_face_are_no_corners():
    """Searches for contacts go from corners to their edges, and a point within a face has none."""
    found = polytope(bumpy())
    assert (len(found.vertices), len(found.faces), len(found.edges)) == (8, 6, 12)
    assert np.bincount(found.edges[:, :2].astype(int).ravel()).tolist() == [3] * 8
    assert set(found.loops) == set(range(8))


@pytest.mark.parametrize(
    "turn", [(0, 0, 0), (np.pi, 0, 0), *(s * np.pi / 2 * np.eye(3)[k] for s in (-1, 1) for k in (0, 1))]
)
def test_meshes_with_points_within_faces_are_as_far_apart_as_they_are(turn):
    """A tip over such a face: some other face had told an overlap as deep as the mesh is long."""
    tip = Mesh(np.array([[0, 0, 0], [0.2, 0, 0.3], [-0.2, 0.1, 0.3], [0.0, -0.2, 0.2]]))
    scene = Scene(Mesh(bumpy()), tip)
    poses = np.array([pose((0, 0, 0), turn), pose((0, 0, 0))])
    poses[1, 9:] = scene.shape_pose(poses, 0)[1] - scene.shape_pose(poses, 1)[1] + (0.01, 0.02, 0.1 + 0.03)
    phi, _, _ = measure(scene.find(poses, 0.1), poses)
    assert phi.min() == pytest.approx(0.03, abs=1e-6)
