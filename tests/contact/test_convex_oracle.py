"""Gaps of convex shapes against coal's, where it is installed."""

from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from leastaction.mechanism import Box, Capsule, Cylinder, Ellipsoid, Mesh, Pose, Sphere
from tests.contact.scenes import Scene, measure, random_poses

coal = pytest.importorskip("coal")

POSE = Pose.from_axis_angle("y", 0.4, (0.05, 0.02, -0.03))
SHAPES = {
    "box": Box((0.5, 0.4, 0.3), pose=POSE),
    "sphere": Sphere(0.2, pose=POSE),
    "capsule": Capsule(0.1, 0.5, pose=POSE),
    "cylinder": Cylinder(0.2, 0.3, pose=POSE),
    "disc": Cylinder(0.3, 0.04, pose=POSE),
    "ellipsoid": Ellipsoid((0.1, 0.2, 0.3), pose=POSE),
    "hull": Mesh(np.random.default_rng(1).normal(scale=0.2, size=(30, 3)), pose=POSE),
}
PAIRS = [
    (a, b)
    for a, b in combinations_with_replacement(SHAPES, 2)
    if not {a, b} <= {"box", "sphere", "capsule"}  # these have closed forms, see test_distances.py
]


def geometry(shape):
    """The shape as coal knows it."""
    if isinstance(shape, Mesh):
        points = coal.StdVec_Vec3s()
        for vertex in shape.vertices:
            points.append(vertex)
        return coal.ConvexBase.convexHull(points, False, "")
    sizes = {
        "box": lambda s: s.size,
        "sphere": lambda s: (s.radius,),
        "capsule": lambda s: (s.radius, s.length),
        "cylinder": lambda s: (s.radius, s.length),
        "ellipsoid": lambda s: s.radii,
    }
    return getattr(coal, type(shape).__name__)(*sizes[shape.kind](shape))


def distance(one, two, A, B):
    """Signed distance of two geometries at the poses (R, p)."""
    request = coal.DistanceRequest()
    request.gjk_tolerance = request.epa_tolerance = 1e-9
    request.gjk_max_iterations = request.epa_max_iterations = 1000
    request.enable_signed_distance = True
    return coal.distance(one, coal.Transform3s(*A), two, coal.Transform3s(*B), request, coal.DistanceResult())


def approached(random, goal, scene, one, two):
    """Random poses (2, 12), pushed together or apart until the shapes are `goal` apart, and their distance."""
    poses = random_poses(random, 0.5)
    for _ in range(30):
        A, B = scene.shape_pose(poses, 0), scene.shape_pose(poses, 1)
        d = distance(one, two, A, B)
        if abs(d - goal) < 1e-8 + 1e-4 * abs(goal) or abs(d) > 10.0:  # coal may find none
            break
        poses[1, 9:] -= (d - goal) * (B[1] - A[1]) / np.linalg.norm(B[1] - A[1])
    return poses, distance(one, two, scene.shape_pose(poses, 0), scene.shape_pose(poses, 1))


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_gaps(a, b):
    scene, one, two = Scene(SHAPES[a], SHAPES[b]), geometry(SHAPES[a]), geometry(SHAPES[b])
    compared = 0
    for seed in range(4):
        for goal in (0.02, 1e-3, -1e-4, -5e-3):
            poses, d = approached(np.random.default_rng(seed), goal, scene, one, two)
            if abs(d - goal) > 0.5 * abs(goal):
                continue  # the middles pass each other on the way
            contacts = scene.find(poses, 0.05)
            assert len(contacts), (seed, goal)
            assert measure(contacts, poses)[0].min() == pytest.approx(d, abs=1e-7), (seed, goal)  # coal: 2e-8
            compared += 1
    assert compared >= 8


@pytest.mark.parametrize("b", ["disc", "cylinder", "capsule"])
def test_round_sides_nearly_along_the_side_of_a_face(b):
    """Lines on their axes are closest to that of the side far away: no contact is closer than the shapes are."""
    box, other = Box((0.5, 0.4, 0.3)), replace(SHAPES[b], pose=Pose())
    hull = Mesh([[x, y, z] for x in (-0.25, 0.25) for y in (-0.2, 0.2) for z in (-0.15, 0.15)])
    scene, one, two = Scene(hull, other), geometry(box), geometry(other)
    for seed in (*range(20), 24, 36, 110, 241):  # the last four had contacts that were 4 to 18 cm closer
        rng = np.random.default_rng(seed)
        turn = Pose.from_axis_angle("y", 0.5 * np.pi + rng.uniform(-0.1, 0.1))  # its axis along the edges along x
        turn = Pose.from_axis_angle("z", rng.uniform(-0.2, 0.2)) * turn
        height = 0.15 + other.radius + 0.01
        at = (rng.uniform(-0.2, 0.2), 0.2 + rng.uniform(-0.05, 0.05), height)
        poses = np.zeros((2, 12))
        poses[:, (0, 4, 8)] = 1.0
        poses[1, :9] = turn.rotation.reshape(-1)
        for k, x in enumerate((np.zeros(3), np.array(at))):
            poses[k, 9:] = x - scene.shape_pose(poses, k)[1]
        d = distance(one, two, scene.shape_pose(poses, 0), scene.shape_pose(poses, 1))
        contacts = scene.find(poses, 0.05)
        gaps = measure(contacts, poses)[0]
        assert gaps.min() == pytest.approx(d, abs=1e-6), seed


HEXAGON = Mesh(np.array([[0.2 * np.cos(t), 0.2 * np.sin(t), z] for t in np.arange(6) * np.pi / 3 for z in (-0.1, 0.1)]))
CUBOID = Mesh(np.array([[x, y, z] for x in (-0.25, 0.25) for y in (-0.2, 0.2) for z in (-0.15, 0.15)]))
ALIGNED = {
    "capsule, ellipsoid": (Capsule(0.02, 0.3), Ellipsoid((0.06, 0.04, 0.03))),
    "disc, cuboid": (Cylinder(0.3, 0.04), CUBOID),
    "cuboid, hexagon": (CUBOID, HEXAGON),
    "hexagon, hexagon": (HEXAGON, HEXAGON),
}
SEEDS = {
    "capsule, ellipsoid": (58, 73, 183, 263, 302, 473, 616),  # found no contact, as 86 of 12 000
    "disc, cuboid": (29, 140, 420, 1273, 8729),  # nor these, as 34 of 12 000
    "cuboid, hexagon": (33, 3970, 10097),  # found them centimetres deep: the way out of another face was taken
    "hexagon, hexagon": (33, 798, 5522, 5876),
}


def aligned(random, scene):
    """Poses (2, 12) of shapes whose axes are parallel or nearly, apart along a direction (3), which comes second."""
    poses, away = np.zeros((2, 12)), random.normal(size=3) * (random.uniform(size=3) < 0.6)
    away = away / np.linalg.norm(away) if away.any() else np.array([1.0, 0.0, 0.0])
    for k in range(2):
        R = Rotation.from_euler("xyz", random.integers(0, 4, 3) * 90, degrees=True)
        lean = random.choice([0.0, 1e-9, 1e-6, 1e-3, 0.1, 1.0]) * random.uniform(-1.0, 1.0)
        R = (Rotation.from_rotvec(lean * np.eye(3)[random.integers(3)]) * R).as_matrix()
        shape = scene.table.shapes[k]
        poses[k, :9] = (R @ shape.R.reshape(3, 3).T).ravel()
        poses[k, 9:] = k * away - poses[k, :9].reshape(3, 3) @ shape.p
    return poses, away


def aligned_gap(name, seed):
    """Least gap of the contacts of two aligned shapes, infinite where there are none, and their true distance."""
    a, b = ALIGNED[name]
    scene, one, two, random = Scene(a, b), geometry(a), geometry(b), np.random.default_rng(seed)
    poses, away = aligned(random, scene)
    goal, d = random.choice([1e-3, 1e-6, -1e-5, -1e-4]), np.inf
    for _ in range(30):
        d = distance(one, two, scene.shape_pose(poses, 0), scene.shape_pose(poses, 1))
        if abs(d - goal) < 1e-9 + 1e-4 * abs(goal):
            break
        poses[1, 9:] -= (d - goal) * away
    contacts = scene.find(poses, 0.05)
    return measure(contacts, poses)[0].min() if len(contacts) else np.inf, d


@pytest.mark.parametrize("name", ALIGNED)
def test_aligned_shapes_touch_and_are_no_deeper_than_they_are(name):
    for seed in (*range(20), *SEEDS[name]):
        gap, d = aligned_gap(name, seed)
        assert min(d, 0.0) - 1e-4 < gap < d + 1e-4, seed
