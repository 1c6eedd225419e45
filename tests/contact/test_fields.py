"""Height fields against brute force over all triangles, and flat ones against planes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastaction.contact.distance import closest_on_triangle
from leastaction.contact.records import SEGMENTS
from leastaction.mechanism import Box, Capsule, Cylinder, HeightField, Mesh, Plane, Sphere
from tests.contact.scenes import Scene, measure, pose, random_poses
from tests.contact.test_distances import placed

SPACING, RADIUS = 0.25, 0.15
HEIGHTS = 0.1 * np.random.default_rng(2).normal(size=(7, 9))
HILLS = Scene(HeightField(HEIGHTS, SPACING), Sphere(RADIUS), ground=True)


def triangles(beyond=4):
    """All triangles of the surface (n, 3, 3), and some cells beyond its edge."""
    nx, ny = HEIGHTS.shape
    i, j = np.meshgrid(np.arange(-beyond, nx + beyond), np.arange(-beyond, ny + beyond), indexing="ij")
    z = HEIGHTS[np.clip(i, 0, nx - 1), np.clip(j, 0, ny - 1)]
    P = np.stack([(i - (nx - 1) / 2) * SPACING, (j - (ny - 1) / 2) * SPACING, z], axis=-1)
    a, b, c, d = P[:-1, :-1], P[1:, :-1], P[1:, 1:], P[:-1, 1:]
    return np.concatenate([np.stack(t, axis=2).reshape(-1, 3, 3) for t in ((a, b, c), (a, c, d))])


TRIANGLES = triangles()


def brute(x):
    """Distance of a point from the surface."""
    point = tuple(x.tolist())
    near = TRIANGLES[np.abs(TRIANGLES[:, :, :2] - x[:2]).max(axis=(1, 2)) < 3 * SPACING]
    corners = [tuple(tuple(v) for v in t) for t in near.tolist()]
    return min(np.linalg.norm(np.array(closest_on_triangle(*t, point)[0]) - x) for t in corners)


def height(x, y):
    nx, ny = HEIGHTS.shape
    gx, gy = x / SPACING + (nx - 1) / 2, y / SPACING + (ny - 1) / 2
    i, j = int(np.floor(gx)), int(np.floor(gy))
    z = [[HEIGHTS[np.clip(i + m, 0, nx - 1), np.clip(j + n, 0, ny - 1)] for n in (0, 1)] for m in (0, 1)]
    fx, fy = gx - i, gy - j
    middle = z[1][0] if fx > fy else z[0][1]
    return z[0][0] + min(fx, fy) * (z[1][1] - middle) + max(fx, fy) * (middle - z[0][0])


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_ball_over_hills(seed):
    """The least gap is the distance from the surface, on the grid and beyond its edge."""
    random = np.random.default_rng(seed)
    x = np.append(random.uniform(-1.2, 1.2, 2), 0.0)
    x[2] = height(*x[:2]) + random.uniform(1e-3, 0.3)
    poses = placed(HILLS, pose(x), pose(x))
    contacts = HILLS.find(poses, 0.2)
    phi, n, p = measure(contacts, poses)
    distance = brute(x)
    if distance > RADIUS + 0.2:
        assert len(phi) == 0
    else:
        assert phi.min() == pytest.approx(distance - RADIUS, abs=1e-9)
        # Each contact is with the surface, the gap away; the point is on the ball, or half way where two are round.
        for kind, gap, normal, point in zip(contacts.kind, phi, n, p, strict=True):
            on_surface = point - (0.5 if kind == SEGMENTS else 1.0) * gap * normal
            assert on_surface[2] == pytest.approx(height(*on_surface[:2]), abs=1e-9)
    assert len(set(contacts.key.tolist())) == len(contacts)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_ball_below_the_surface_is_pushed_up(seed):
    random = np.random.default_rng(seed)
    x = np.append(random.uniform(-1.2, 1.2, 2), 0.0)
    x[2] = height(*x[:2]) - random.uniform(1e-6, 0.5)
    poses = placed(HILLS, pose(x), pose(x))
    phi, n, _ = measure(HILLS.find(poses, 0.05), poses)
    assert phi.min() < -RADIUS
    assert (n[:, 2] > 0.0).all()


@pytest.mark.parametrize(
    "shape",
    [Sphere(0.2), Capsule(0.1, 0.5), Box((0.3, 0.4, 0.5)), Cylinder(0.2, 0.3), Mesh(np.eye(4, 3) - 0.25)],
    ids=lambda shape: shape.kind,
)
def test_flat_field_is_a_plane(shape):
    flat = Scene(HeightField(np.full((5, 5), 0.3), 0.1), shape, ground=True)
    plane = Scene(Plane(), shape, ground=True)
    random = np.random.default_rng(4)
    checked = 0
    for _ in range(100):
        poses = random_poses(random, 0.6)
        raised = poses.copy()
        raised[1, 11] += 0.3
        phi = measure(flat.find(raised, 0.02), raised)[0]
        expected = measure(plane.find(poses, 0.02), poses)[0]
        assert (len(phi) > 0) == (len(expected) > 0)
        if len(phi):
            checked += 1
            assert phi.min() == pytest.approx(expected.min(), abs=1e-9)
    assert checked > 10


def test_peak_under_a_box_and_a_capsule():
    heights = np.zeros((5, 5))
    heights[2, 2] = 0.1
    field = HeightField(heights, 0.2)
    for shape, rotation, clearance in ((Box((0.9, 0.9, 0.2)), None, 0.1), (Capsule(0.1, 0.8), (0, np.pi / 2, 0), 0.1)):
        scene = Scene(field, shape, ground=True)
        for gap in (0.01, -0.01):
            X = pose((0.03, 0.02 if rotation is None else 0.0, 0.1 + clearance + gap), rotation)
            poses = placed(scene, X, X)
            phi, n, x = measure(scene.find(poses, 0.05), poses)
            assert phi.min() == pytest.approx(gap, abs=1e-9)
            np.testing.assert_allclose(n[phi.argmin()], (0, 0, 1), atol=1e-9)
            np.testing.assert_allclose(x[phi.argmin(), :2], 0.0, atol=1e-9)
