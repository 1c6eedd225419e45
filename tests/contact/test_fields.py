"""Height fields against brute force over all triangles, and flat ones against planes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastaction.contact.records import EDGES, POINT_ON_TRIANGLE, SEGMENTS
from leastaction.mechanism import Box, Capsule, Cylinder, Ellipsoid, HeightField, Mesh, Plane, Sphere
from tests.contact.scenes import Scene, measure, pose, random_poses
from tests.contact.surfaces import Surface
from tests.contact.test_distances import placed

SPACING, RADIUS = 0.25, 0.15
HEIGHTS = 0.1 * np.random.default_rng(2).normal(size=(7, 9))
HILLS = Scene(HeightField(HEIGHTS, SPACING), Sphere(RADIUS), ground=True)


SURFACE = Surface(HEIGHTS, SPACING)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_ball_over_hills(seed):
    """The least gap is the distance from the surface, on the grid and beyond its edge."""
    random = np.random.default_rng(seed)
    x = np.append(random.uniform(-1.2, 1.2, 2), 0.0)
    x[2] = SURFACE.height(*x[:2]) + random.uniform(1e-3, 0.3)
    poses = placed(HILLS, pose(x), pose(x))
    contacts = HILLS.find(poses, 0.2)
    phi, n, p = measure(contacts, poses)
    distance = SURFACE.distance(x)
    if distance > RADIUS + 0.2:
        assert len(phi) == 0
    else:
        assert phi.min() == pytest.approx(distance - RADIUS, abs=1e-9)
        # Triangles are there, the gap away; planes may go on beyond theirs.
        for gap, normal, point in zip(*(v[contacts.kind == POINT_ON_TRIANGLE] for v in (phi, n, p)), strict=True):
            on_surface = point - gap * normal
            assert on_surface[2] == pytest.approx(SURFACE.height(*on_surface[:2]), abs=1e-9)
    assert len(set(contacts.key.tolist())) == len(contacts)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_ball_below_the_surface_is_pushed_up(seed):
    random = np.random.default_rng(seed)
    x = np.append(random.uniform(-1.2, 1.2, 2), 0.0)
    x[2] = SURFACE.height(*x[:2]) - random.uniform(1e-6, 0.5)
    poses = placed(HILLS, pose(x), pose(x))
    phi, n, _ = measure(HILLS.find(poses, 0.05), poses)
    assert phi.min() < -RADIUS
    assert (n[:, 2] > 0.0).all()


@pytest.mark.parametrize("margin", [0.01, 0.1])
def test_contacts_of_a_ball_hold_until_the_end_of_a_step(margin):
    """Moved by a quarter of the margin, a ball that touches gets into nothing that was not found before it moved.

    Nor is it kept away from anything farther than the surface bends within the step: by its square, not itself.
    """
    random = np.random.default_rng(3)
    early = []
    for _ in range(300):
        x = SURFACE.drop((*random.uniform(-0.8, 0.8, 2), 1.0), RADIUS)
        x[2] += random.uniform(0.0, 0.1) * margin
        step = random.normal(size=3)
        y = x + random.uniform(0.0, 0.25) * margin * step / np.linalg.norm(step)
        start, end = placed(HILLS, pose(x), pose(x)), placed(HILLS, pose(y), pose(y))
        contacts = HILLS.find(start, margin)
        assert measure(contacts, start)[0].min() == pytest.approx(SURFACE.distance(x) - RADIUS, abs=1e-9)
        gap = SURFACE.distance(y) - RADIUS
        found = measure(contacts, end)[0].min()
        assert found < max(gap, 0.0) + 1e-9
        early.append(gap - found)
    assert max(early) < 2.0 * margin**2 / RADIUS
    assert np.mean(np.array(early) > 1e-9) < 0.2


@pytest.mark.parametrize("x", [-0.11, -0.085])
def test_ball_in_front_of_a_low_kerb_touches_its_edge(x):
    """The plane of the kerb's side goes on above the edge, where nothing is: the ball must not feel it."""
    heights = np.zeros((9, 9))
    heights[5:] = 0.05  # the side goes up from x = 0 to 0.01
    scene = Scene(HeightField(heights, 0.01), Sphere(0.1), ground=True)
    X = pose((x, 0.0, 0.1 + 1e-6))
    poses = placed(scene, X, X)
    phi, n, _ = measure(scene.find(poses, 0.08), poses)
    edge = np.array([x - 0.01, 0.0, 0.05 + 1e-6])
    side = n[:, 0] < -0.1
    nearest = np.flatnonzero(side)[phi[side].argmin()]
    assert phi[nearest] == pytest.approx(np.linalg.norm(edge) - 0.1, abs=1e-9)
    np.testing.assert_allclose(n[nearest], edge / np.linalg.norm(edge), atol=1e-9)


def roof(length):
    """A ridge along y at the height 0.1, from -length / 2 to length / 2, with slopes of 45 degrees."""
    x = 0.1 * np.arange(-3, 4)
    return HeightField(np.repeat(0.1 - np.abs(x)[:, None], 1 + round(length / 0.1), axis=1), 0.1)


@pytest.mark.parametrize("gap", [0.01, -0.001])
def test_capsule_across_a_ridge(gap):
    """It touches the ridge, between two grid points, where it crosses it."""
    scene = Scene(roof(0.6), Capsule(0.1, 0.5), ground=True)
    X = pose((0.02, 0.043, 0.2 + gap), (0, np.pi / 2, 0))
    poses = placed(scene, X, X)
    contacts = scene.find(poses, 0.02)
    phi, n, x = measure(contacts, poses)
    k = phi.argmin()
    assert contacts.kind[k] == SEGMENTS
    assert phi[k] == pytest.approx(gap, abs=1e-9)
    np.testing.assert_allclose(n[k], (0, 0, 1), atol=1e-9)
    np.testing.assert_allclose(x[k], (0.0, 0.043, 0.1 + 0.5 * gap), atol=1e-9)


@pytest.mark.parametrize("gap", [0.01, -0.001])
@pytest.mark.parametrize("tilt", [0.0, 0.3])
def test_box_across_a_ridge(gap, tilt):
    """Flat on a ridge, it touches with the two edges that cross it; rolled about x, with the lower one."""
    size = np.array([0.5, 0.31, 0.2])
    scene = Scene(roof(0.8), Box(size), ground=True)
    y, z = 0.5 * size[1], 0.5 * size[2]
    low = z * np.cos(tilt) + y * np.sin(tilt)
    X = pose((0.02, 0.013, 0.1 + gap + low), (tilt, 0, 0))
    poses = placed(scene, X, X)
    contacts = scene.find(poses, 0.02)
    phi, n, x = measure(contacts, poses)
    crossing = contacts.kind == EDGES
    np.testing.assert_allclose(phi[crossing], gap, atol=1e-9)
    np.testing.assert_allclose(n[crossing], np.tile((0, 0, 1), (crossing.sum(), 1)), atol=1e-9)
    touched = 0.013 + np.array([-y * np.cos(tilt) + z * np.sin(tilt), y])[: 1 if tilt else 2]
    np.testing.assert_allclose(np.sort(x[crossing, 1]), touched, atol=1e-9)
    np.testing.assert_allclose(x[crossing, 0], 0.0, atol=1e-9)


@pytest.mark.parametrize(
    "shape",
    [
        Sphere(0.2),
        Capsule(0.1, 0.5),
        Box((0.3, 0.4, 0.5)),
        Cylinder(0.2, 0.3),
        Mesh(np.eye(4, 3) - 0.25),
        Ellipsoid((0.2, 0.1, 0.3)),
    ],
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
        # Ellipsoids that are deep in a triangle leave it sideways.
        if len(phi) and (expected.min() > -0.02 or not isinstance(shape, Ellipsoid)):
            checked += 1
            assert phi.min() == pytest.approx(expected.min(), abs=1e-9)
    assert checked > (2 if isinstance(shape, Ellipsoid) else 10)


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
