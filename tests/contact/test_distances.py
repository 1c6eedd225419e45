"""Gaps against closed forms and brute force."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from leastaction.contact.contact_entries import detect_all, detect_any_pairs, detect_smooth_pairs
from leastaction.contact.narrow_phase.detect import are_smooth
from leastaction.contact.records import CONTACT, records
from leastaction.mechanism import Box, Capsule, Cylinder, Mesh, Plane, Pose, Sphere
from tests.contact.scenes import Scene, measure, pose, random_poses

HUGE = 1e3
SEEDS = st.integers(0, 2**32 - 1)


def lowest(scene, poses, margin=HUGE):
    """The smallest gap of the pair."""
    return measure(scene.find(poses, margin), poses)[0].min()


def segment(scene, poses, k, length):
    """The ends (2, 3) of a capsule's segment in the world."""
    R, p = scene.shape_pose(poses, k)
    return np.array([p - 0.5 * length * R[:, 2], p + 0.5 * length * R[:, 2]])


def between(ends, t):
    return ends[0] + t * (ends[1] - ends[0])


def least(f):
    """Least value over [0, 1] of a convex function."""
    result = minimize_scalar(f, bounds=(0, 1), method="bounded", options={"xatol": 1e-12})
    return min(result.fun, f(0.0), f(1.0))


def to_segment(x, ends):
    d = ends[1] - ends[0]
    return np.linalg.norm(x - between(ends, np.clip((x - ends[0]) @ d / (d @ d), 0, 1)))


def to_box(x, R, p, half):
    y = R.T @ (x - p)
    outside = np.linalg.norm(y - np.clip(y, -half, half))
    return outside if outside > 0.0 else (np.abs(y) - half).max()


SPHERES = Scene(Sphere(0.2), Sphere(0.3))
SPHERE_CAPSULE = Scene(Sphere(0.2), Capsule(0.1, 0.8))
CAPSULES = Scene(Capsule(0.1, 1.0), Capsule(0.05, 0.6))
BOX_SPHERE = Scene(Box((0.6, 0.4, 0.2)), Sphere(0.1))
BOX_CAPSULE = Scene(Box((0.6, 0.4, 0.2)), Capsule(0.1, 1.5))


@given(SEEDS)
@settings(max_examples=150, deadline=None)
def test_round_shapes(seed):
    poses = random_poses(np.random.default_rng(seed), 0.7)
    centres = [SPHERES.shape_pose(poses, k)[1] for k in (0, 1)]
    assert lowest(SPHERES, poses) == pytest.approx(np.linalg.norm(centres[1] - centres[0]) - 0.5, abs=1e-12)
    ends = segment(SPHERE_CAPSULE, poses, 1, 0.8)
    x = SPHERE_CAPSULE.shape_pose(poses, 0)[1]
    assert lowest(SPHERE_CAPSULE, poses) == pytest.approx(to_segment(x, ends) - 0.3, abs=1e-12)
    one, two = segment(CAPSULES, poses, 0, 1.0), segment(CAPSULES, poses, 1, 0.6)
    distance = least(lambda t: to_segment(between(one, t), two))
    assert lowest(CAPSULES, poses) == pytest.approx(distance - 0.15, abs=1e-8)


@given(SEEDS)
@settings(max_examples=150, deadline=None)
def test_sphere_on_box(seed):
    poses = random_poses(np.random.default_rng(seed), 0.5)
    half = np.array([0.3, 0.2, 0.1])
    x = BOX_SPHERE.shape_pose(poses, 1)[1]
    distance = to_box(x, *BOX_SPHERE.shape_pose(poses, 0), half)
    assert lowest(BOX_SPHERE, poses) == pytest.approx(distance - 0.1, abs=1e-12)


@given(SEEDS)
@settings(max_examples=150, deadline=None)
def test_capsule_on_box(seed):
    """Exact while the capsule's axis is outside of the box; inside, the gap is never more than minus the radius."""
    poses = random_poses(np.random.default_rng(seed), 0.6)
    half = np.array([0.3, 0.2, 0.1])
    ends = segment(BOX_CAPSULE, poses, 1, 1.5)
    R, p = BOX_CAPSULE.shape_pose(poses, 0)
    distance = least(lambda t: max(to_box(between(ends, t), R, p, half), 0.0))
    found = lowest(BOX_CAPSULE, poses)
    if distance > 1e-6:
        assert found == pytest.approx(distance - 0.1, abs=1e-8)
    else:
        assert found <= -0.1 + 1e-6


def test_capsule_through_a_box_is_pushed_out():
    """Both ends outside, the axis inside: some contact must see it, and push it out the short way."""
    scene = Scene(Box((0.6, 0.4, 0.2)), Capsule(0.02, 3.0))
    for depth in (0.01, 0.05, 0.09):
        target = pose((0.0, 0.0, 0.1 - depth), (0.0, np.pi / 2, 0.0))
        poses = placed(scene, pose((0, 0, 0)), target)
        phi, n, _ = measure(scene.find(poses, 0.01), poses)
        assert phi.min() == pytest.approx(-depth - 0.02, abs=1e-9)
        np.testing.assert_allclose(n[phi.argmin()], (0, 0, 1), atol=1e-9)


def placed(scene, one, two):
    """Poses of the bodies that put the shapes at the given poses (12)."""
    rows = []
    for k, X in enumerate((one, two)):
        shape = scene.table.shapes[k]
        body = X[:9].reshape(3, 3) @ shape.R.reshape(3, 3).T
        rows.append(np.concatenate([body.ravel(), X[9:] - body @ shape.p]))
    return np.array(rows)


@pytest.mark.parametrize("angle", [0.0, 1e-5, 5e-3, 0.05])
def test_nearly_parallel_capsules_touch_at_both_ends_of_their_overlap(angle):
    scene = Scene(Capsule(0.1, 1.0), Capsule(0.1, 1.0))
    poses = placed(scene, pose((0, 0, 0)), pose((0.2, 0.0, 0.3), (0.0, angle, 0.0)))
    contacts = scene.find(poses, 0.1)
    _, _, x = measure(contacts, poses)
    assert 2 <= len(contacts) <= 3
    assert np.ptp(x[:, 2]) == pytest.approx(0.7, abs=0.05)


@given(SEEDS)
@settings(max_examples=100, deadline=None)
def test_cylinder_on_plane(seed):
    random = np.random.default_rng(seed)
    scene = Scene(Plane(pose=Pose.from_axis_angle("x", 0.3)), Cylinder(0.3, 0.5), ground=True)
    poses = random_poses(random, 0.5)
    if seed % 2:  # nearly upright on the tilted plane
        poses[1] = pose((0, 0, 0.3), np.array([0.3, 0, 0]) + 1e-2 * random.normal(size=3))
    R, p = scene.shape_pose(poses, 1)
    n = scene.table.shapes[0].R.reshape(3, 3)[:, 2]
    angles = np.linspace(0, 2 * np.pi, 20001)
    rim = np.column_stack([0.3 * np.cos(angles), 0.3 * np.sin(angles), np.full(len(angles), 0.25)])
    rims = np.concatenate([rim, rim * (1, 1, -1)])
    assert lowest(scene, poses) == pytest.approx(((rims @ R.T + p) @ n).min(), abs=1e-7)


def test_cylinder_stands_on_many_points_and_lies_on_two():
    scene = Scene(Plane(), Cylinder(0.3, 0.5), ground=True)
    standing = placed_on_ground(scene, pose((0, 0, 0.25)))
    phi, _, x = measure(scene.find(standing, 0.01), standing)
    np.testing.assert_allclose(phi, 0.0, atol=1e-12)
    assert len(phi) == 8
    np.testing.assert_allclose(x.mean(axis=0), 0.0, atol=1e-12)
    lying = placed_on_ground(scene, pose((0, 0, 0.3), (np.pi / 2, 0, 0)))
    phi, _, x = measure(scene.find(lying, 0.01), lying)
    np.testing.assert_allclose(phi, 0.0, atol=1e-12)
    assert len(phi) == 2
    assert np.ptp(x[:, 1]) == pytest.approx(0.5)


def placed_on_ground(scene, X):
    return placed(scene, X, X)


def test_mesh_of_a_cube_is_a_cube():
    corners = np.array([(x, y, z) for x in (-0.2, 0.2) for y in (-0.3, 0.3) for z in (-0.1, 0.1)])
    mesh = Scene(Plane(), Mesh(np.concatenate([corners, 0.5 * corners])), ground=True)
    box = Scene(Plane(), Box((0.4, 0.6, 0.2)), ground=True)
    random = np.random.default_rng(5)
    for _ in range(50):
        poses = random_poses(random, 0.3)
        gaps = [np.sort(measure(s.find(poses, HUGE), poses)[0]) for s in (mesh, box)]
        assert gaps[0][0] == pytest.approx(gaps[1][0], abs=1e-12)
        assert set(np.round(gaps[0], 9)) <= set(np.round(gaps[1], 9))
    flat = placed_on_ground(mesh, pose((0, 0, 0.1)))
    assert len(mesh.find(flat, 1e-3)) == 4


def test_a_finely_meshed_face_rests_on_few_points():
    grid = np.array([(x, y, z) for x in np.linspace(-1, 1, 21) for y in np.linspace(-1, 1, 21) for z in (0.0, 0.5)])
    random = np.random.default_rng(0)
    bulge = grid + 1e-7 * np.sign(grid) * (2 - grid**2) * random.uniform(0.5, 1, grid.shape)
    scene = Scene(Plane(), Mesh(bulge), ground=True)
    poses = placed_on_ground(scene, pose((0, 0, 0)))
    _, _, x = measure(scene.find(poses, 1e-3), poses)
    assert 4 <= len(x) <= 9
    assert np.ptp(x, axis=0)[:2] == pytest.approx([2.0, 2.0], abs=1e-3)


ON_PLANE = [Scene(Plane(), shape, ground=True) for shape in (Box((0.6, 0.4, 0.2)), Sphere(0.3), Cylinder(0.2, 0.5))]


@pytest.mark.parametrize("scene", [SPHERES, SPHERE_CAPSULE, CAPSULES, BOX_SPHERE, *ON_PLANE])
def test_planes_and_round_shapes_have_a_kernel_of_their_own(scene):
    """It finds what the kernel of all shapes finds, and is used for them alone."""
    table, poses, found = scene.table, random_poses(np.random.default_rng(1), 0.3), []
    assert are_smooth(table.shapes, scene.pairs) == (scene is not BOX_SPHERE)
    for detect in (detect_smooth_pairs, detect_any_pairs)[scene is BOX_SPHERE :]:
        contacts = records(64, CONTACT)
        found.append(contacts[: detect(table.shapes, scene.pairs, poses, table.data, contacts, HUGE)])
        assert len(found[-1]) > 0
    np.testing.assert_array_equal(found[0], found[-1])


def test_too_many_contacts_are_counted_but_not_written():
    scene = Scene(Plane(), Box((1, 1, 1)), ground=True)
    poses = placed_on_ground(scene, pose((0, 0, 0)))
    few = records(3, CONTACT)
    guard = few.copy()
    assert detect_all(scene.table.shapes, scene.pairs, poses, scene.table.data, few, 1.0) == 8
    assert detect_all(scene.table.shapes, scene.pairs, poses, scene.table.data, guard[:0], 1.0) == 8
    assert len(set(few.key.tolist())) == 3
