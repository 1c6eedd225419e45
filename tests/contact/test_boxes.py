"""Box against box: manifolds of stacks, and gaps against the true distance."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from leastaction.contact.records import EDGES, POINT_ON_PLANE
from leastaction.mechanism import Box
from tests.contact.scenes import Scene, measure, pose, random_poses
from tests.contact.test_distances import placed

CUBES = Scene(Box((1, 1, 1)), Box((1, 1, 1)))
BOXES = Scene(Box((0.6, 0.4, 0.2)), Box((0.3, 0.5, 0.7)))
HALF = np.array([[0.3, 0.2, 0.1], [0.15, 0.25, 0.35]])


@pytest.mark.parametrize(("angle", "points"), [(0.0, 4), (np.pi / 4, 8), (np.pi / 2, 4), (1e-6, 4), (0.3, 8)])
@pytest.mark.parametrize("gap", [0.0, 1e-3, -1e-3])
def test_cube_on_cube(angle, points, gap):
    poses = placed(CUBES, pose((0, 0, 0)), pose((0, 0, 1 + gap), (0, 0, angle)))
    contacts = CUBES.find(poses, 0.01)
    phi, n, x = measure(contacts, poses)
    assert len(contacts) == points
    assert (contacts.kind == POINT_ON_PLANE).all()
    np.testing.assert_allclose(phi, gap, atol=1e-12)
    np.testing.assert_allclose(n, np.tile((0, 0, 1), (points, 1)), atol=1e-12)
    np.testing.assert_allclose(x.mean(axis=0)[:2], 0.0, atol=1e-9)
    assert len(set(contacts.key.tolist())) == points


def test_shifted_cube_touches_on_the_overlap():
    poses = placed(CUBES, pose((0, 0, 0)), pose((0.6, 0.3, 1.0)))
    _, _, x = measure(CUBES.find(poses, 0.01), poses)
    corners = sorted(map(tuple, np.round(x[:, :2], 9).tolist()))
    assert corners == [(0.1, -0.2), (0.1, 0.5), (0.5, -0.2), (0.5, 0.5)]


def test_crossed_bars_keep_four_points_when_tilted():
    scene = Scene(Box((2, 0.2, 0.2)), Box((0.2, 2, 0.2)))
    for tilt in (0.0, 1e-5, -1e-4, 1e-3):
        poses = placed(scene, pose((0, 0, 0)), pose((0, 0, 0.2), (tilt, 0, 0)))
        phi, _, x = measure(scene.find(poses, 0.01), poses)
        assert len(phi) == 4
        np.testing.assert_allclose(np.abs(x[:, :2]), 0.1, atol=1e-6)
        np.testing.assert_allclose(np.abs(phi), 0.1 * abs(tilt), atol=2e-6)


@pytest.mark.parametrize("axis", range(3))
def test_faces_that_are_parallel_to_rounding_have_one_reference(axis):
    """Along whichever of their axes boxes lie on each other, slight tilts leave the features that touch the same."""
    scene = Scene(Box((1, 1, 1)), Box((2, 2, 2)))
    shift, kinds = np.zeros(3), []
    shift[axis] = 1.5
    for tilt in (0.0, 1e-7, -1e-7, 1e-6, -1e-6):
        turn = np.full(3, tilt)
        turn[axis] = 0.0
        kinds.append(scene.find(placed(scene, pose((0, 0, 0)), pose(shift, turn)), 0.01).key.tolist())
    assert all(keys == kinds[0] for keys in kinds)


def test_crossed_edges():
    """Two cubes on their edges, one above the other and turned by 90 degrees."""
    down = pose((0, 0, 0), (np.pi / 4, 0, 0))
    height = 2 * np.sqrt(0.5) + 0.003
    poses = placed(CUBES, down, pose((0.1, 0.2, height), (0, np.pi / 4, 0)))
    contacts = CUBES.find(poses, 0.01)
    phi, n, x = measure(contacts, poses)
    assert contacts.kind.tolist() == [EDGES]
    assert phi[0] == pytest.approx(0.003, abs=1e-12)
    np.testing.assert_allclose(n[0], (0, 0, 1), atol=1e-12)
    np.testing.assert_allclose(x[0, :2], (0.1, 0.0), atol=1e-12)


def true_distance(scene, poses):
    """Distance of two boxes: least squares with bounds, 0 where they overlap."""
    (RA, pA), (RB, pB) = (scene.shape_pose(poses, k) for k in (0, 1))
    half = HALF.ravel()
    solution = lsq_linear(np.hstack([RA, -RB]), pB - pA, bounds=(-half, half), method="bvls", tol=1e-14)
    return np.sqrt(2 * solution.cost)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=300, deadline=None)
def test_random_boxes(seed):
    """Separated boxes: no gap above the distance. Overlapping ones: found, and the deepest push separates them."""
    poses = random_poses(np.random.default_rng(seed), 0.7)
    distance = true_distance(BOXES, poses)
    contacts = BOXES.find(poses, 0.05)
    phi, n, _ = measure(contacts, poses)
    if distance > 0.05 + 1e-6:
        # Separating axes see corners beside corners closer than they are, but never closer than the axes tell.
        assert len(phi) == 0 or distance < 0.05 * 3
    if distance > 1e-6:
        assert (phi > -1e-5).all()
    else:
        assert len(phi) > 0
        assert phi.min() < 1e-6
        apart = poses.copy()
        apart[1, 9:] += (1e-5 - phi.min()) * n[phi.argmin()]
        assert true_distance(BOXES, apart) > 1e-7
