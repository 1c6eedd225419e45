"""Hulls of fine meshes are thinned, and stay near."""

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from leastaction.contact.convex.faces import EDGE_NUMBERS
from leastaction.contact.hulls import MANY, NEAR, box, polytope, thinned


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
