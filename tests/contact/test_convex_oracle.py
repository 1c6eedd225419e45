"""Gaps of convex shapes against coal's, where it is installed."""

from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np
import pytest

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
