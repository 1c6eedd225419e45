"""The law of every gap function: its rate is the normal velocity of the two material points at the contact."""

from functools import partial

import numpy as np
import pytest

from leastaction.contact.narrow_phase.closest_points import tangents
from leastaction.contact.records import (
    EDGES,
    POINT_ON_BOX,
    POINT_ON_PLANE,
    POINT_ON_TRIANGLE,
    RIM_ON_PLANE,
    ROUND_AND_LINE,
    ROUND_ON_PLANE,
    ROUND_ON_TRIANGLE,
    ROUNDS,
    SEGMENTS,
)
from leastaction.mechanism import Box, Capsule, Cylinder, Ellipsoid, HeightField, Mesh, Plane, Pose, Sphere
from tests.contact.scenes import Scene, measure, moved, random_poses
from tests.oracles.differences import central

TURNED = Pose.from_axis_angle("y", 0.4, (0.05, 0.02, -0.03))
BOX = Box((0.5, 0.4, 0.3), pose=TURNED)
OTHER_BOX = Box((0.3, 0.6, 0.4), pose=TURNED)
SPHERE = Sphere(0.2, pose=TURNED)
CAPSULE = Capsule(0.1, 0.5, pose=TURNED)
LONG_CAPSULE = Capsule(0.1, 2.0, pose=TURNED)
CYLINDER = Cylinder(0.2, 0.3, pose=TURNED)
PLANE = Plane(pose=TURNED)
HILLS = HeightField(0.2 * np.random.default_rng(3).normal(size=(8, 9)), 0.25, pose=TURNED)
EGG = Ellipsoid((0.1, 0.2, 0.3), pose=TURNED)
HULL = Mesh(np.random.default_rng(1).normal(scale=0.2, size=(30, 3)), pose=TURNED)

PAIRS = {
    "plane, sphere": (PLANE, SPHERE, {POINT_ON_PLANE}),
    "plane, capsule": (PLANE, CAPSULE, {POINT_ON_PLANE}),
    "plane, box": (PLANE, BOX, {POINT_ON_PLANE}),
    "plane, cylinder": (PLANE, CYLINDER, {RIM_ON_PLANE}),
    "plane, mesh": (PLANE, HULL, {POINT_ON_PLANE}),
    "field, sphere": (HILLS, SPHERE, {POINT_ON_PLANE, POINT_ON_TRIANGLE}),
    "field, capsule": (HILLS, CAPSULE, {POINT_ON_PLANE, POINT_ON_TRIANGLE, SEGMENTS}),
    "field, box": (HILLS, BOX, {POINT_ON_PLANE, POINT_ON_BOX, EDGES}),
    "field, cylinder": (HILLS, CYLINDER, {POINT_ON_PLANE}),
    "field, mesh": (HILLS, HULL, {POINT_ON_PLANE}),
    "field, ellipsoid": (HILLS, EGG, {ROUND_ON_PLANE, ROUND_ON_TRIANGLE}),
    "sphere, sphere": (SPHERE, Sphere(0.3), {SEGMENTS}),
    "sphere, capsule": (SPHERE, CAPSULE, {SEGMENTS}),
    "capsule, capsule": (CAPSULE, LONG_CAPSULE, {SEGMENTS}),
    "box, sphere": (BOX, SPHERE, {POINT_ON_BOX}),
    "sphere, box": (SPHERE, BOX, {POINT_ON_BOX}),
    "box, capsule": (BOX, LONG_CAPSULE, {POINT_ON_BOX, SEGMENTS, EDGES}),
    "box, box": (BOX, OTHER_BOX, {POINT_ON_PLANE, EDGES}),
    "plane, ellipsoid": (PLANE, EGG, {ROUND_ON_PLANE}),
    "box, cylinder": (BOX, CYLINDER, {RIM_ON_PLANE, ROUND_AND_LINE}),
    "box, mesh": (BOX, HULL, {POINT_ON_PLANE, EDGES}),
    "box, ellipsoid": (BOX, EGG, {ROUND_ON_PLANE, ROUND_AND_LINE}),
    "sphere, cylinder": (SPHERE, CYLINDER, {POINT_ON_PLANE, SEGMENTS, ROUNDS}),
    "sphere, mesh": (SPHERE, HULL, {POINT_ON_PLANE, SEGMENTS}),
    "sphere, ellipsoid": (SPHERE, EGG, {ROUNDS}),
    "capsule, cylinder": (CAPSULE, CYLINDER, {SEGMENTS, ROUNDS, ROUND_AND_LINE}),
    "capsule, mesh": (CAPSULE, HULL, {POINT_ON_PLANE, SEGMENTS}),
    "capsule, ellipsoid": (CAPSULE, EGG, {ROUNDS, ROUND_AND_LINE}),
    "cylinder, cylinder": (CYLINDER, Cylinder(0.1, 0.6), {SEGMENTS, RIM_ON_PLANE, ROUND_AND_LINE}),
    "cylinder, mesh": (CYLINDER, HULL, {RIM_ON_PLANE, SEGMENTS, ROUND_AND_LINE}),
    "cylinder, ellipsoid": (CYLINDER, EGG, {ROUNDS, ROUND_AND_LINE}),
    "mesh, mesh": (HULL, Mesh(np.random.default_rng(2).normal(scale=0.15, size=(40, 3))), {POINT_ON_PLANE, EDGES}),
    "ellipsoid, mesh": (EGG, HULL, {ROUND_ON_PLANE, ROUND_AND_LINE}),
    "ellipsoid, ellipsoid": (EGG, Ellipsoid((0.3, 0.05, 0.2)), {ROUNDS}),
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("ground", [False, True])
def test_rate_of_the_gap_is_the_normal_velocity(name, ground):
    a, b, kinds = PAIRS[name]
    scene, random = Scene(a, b, ground=ground), np.random.default_rng(len(name))
    found = set()
    checked, tested, total = 0, 0, 0
    for _ in range(400):
        poses = random_poses(random, 1.0)
        contacts = scene.find(poses, 0.1)
        if len(contacts) == 0:
            continue
        checked += 1
        found |= set(contacts.kind.tolist())
        phi, n, x = measure(contacts, poses)
        assert (phi < 0.1 + 1e-12).all()
        assert np.allclose(np.linalg.norm(n, axis=1), 1.0, atol=1e-12)
        assert (contacts.a == (-1 if ground else 0)).all()
        assert (contacts.b == 1).all()
        assert len(set(contacts.key.tolist())) == len(contacts)
        twists = random.normal(size=(2, 6))
        if ground:
            twists[0] = 0.0
        (wa, va), (wb, vb) = twists.reshape(2, 2, 3)
        relative = vb + np.cross(wb, x - poses[1, 9:]) - va - np.cross(wa, x - poses[0, 9:])
        rate = central(partial(gaps, contacts, poses, twists), 1e-5)
        # Differences tell nothing where the distance bends sharply: another closest feature, or one at a corner.
        smooth = np.abs(third_difference(contacts, poses, twists)) < 1e-11
        tested += smooth.sum()
        total += len(contacts)
        np.testing.assert_allclose(rate[smooth], (n * relative).sum(axis=1)[smooth], atol=1e-6)
    assert checked >= 10
    assert tested > 0.9 * total
    assert found >= kinds


def gaps(contacts, poses, twists, h):
    return measure(contacts, moved(poses, twists, h))[0]


def third_difference(contacts, poses, twists, h=1e-5):
    values = [gaps(contacts, poses, twists, k * h) for k in (-2, -1, 0, 1, 2)]
    return values[4] - 2.0 * values[3] + 2.0 * values[1] - values[0]


@pytest.mark.parametrize("name", PAIRS)
def test_swapping_the_shapes_turns_the_normals_round(name):
    a, b, _ = PAIRS[name]
    one, two, random = Scene(a, b), Scene(b, a), np.random.default_rng(7)
    # The bodies' frames differ, so the poses that put the shapes in the same places do too.
    for _ in range(100):
        poses = random_poses(random, 1.0)
        swapped = np.array([at(two, 0, *one.shape_pose(poses, 1)), at(two, 1, *one.shape_pose(poses, 0))])
        phi, n, x = measure(one.find(poses, 0.05), poses)
        phi2, n2, x2 = measure(two.find(swapped, 0.05), swapped)
        assert len(phi) == len(phi2)
        if len(phi):
            order, order2 = np.lexsort(np.round(x, 6).T), np.lexsort(np.round(x2, 6).T)
            np.testing.assert_allclose(phi2[order2], phi[order], atol=1e-9)
            np.testing.assert_allclose(n2[order2], -n[order], atol=1e-7)
            np.testing.assert_allclose(x2[order2], x[order], atol=1e-7)


def at(scene, k, R, p):
    """The pose (12) of body k that puts its shape at (R, p)."""
    shape = scene.table.shapes[k]
    body = R @ shape.R.reshape(3, 3).T
    return np.concatenate([body.ravel(), p - body @ shape.p])


def test_tangents_make_a_frame_and_turn_with_the_normal():
    random = np.random.default_rng(0)
    for n in [*random.normal(size=(200, 3)), (0, 0, 1.0), (0, 0, -1.0), (1.0, 0, 0), (0.1, 0.2, -2.0)]:
        n = np.array(n) / np.linalg.norm(n)
        t1, t2 = (np.array(t) for t in tangents(tuple(n.tolist())))
        frame = np.array([t1, t2, n])
        np.testing.assert_allclose(frame @ frame.T, np.eye(3), atol=1e-14)
        assert np.linalg.det(frame) == pytest.approx(1.0)
        if abs(n[2] + 0.9) > 1e-3:
            near = n + 1e-6 * random.normal(size=3)
            near /= np.linalg.norm(near)
            assert np.linalg.norm(np.array(tangents(tuple(near.tolist()))) - [t1, t2]) < 1e-4
