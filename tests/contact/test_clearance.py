"""What is remembered of the distances of pairs."""

import numpy as np
import pytest

import leastaction as la
from leastaction._jit import entry
from leastaction.contact.clearance import approach_of, clearance_arrays, measure, move_body, stay_apart
from leastaction.mechanism import Box, Capsule, Cylinder, Ellipsoid, Mesh, Plane, Pose, Sphere
from leastaction.spatial import IDENTITY, ZERO3, load3, load9
from tests.contact.scenes import Scene, pose
from tests.contact.scenes import measure as gaps_of
from tests.contact.test_convex_oracle import distance as distance_of
from tests.contact.test_convex_oracle import geometry

POSE = Pose.from_axis_angle("y", 0.4, (0.05, 0.02, -0.03))
HULL = Mesh(np.random.default_rng(1).normal(scale=0.2, size=(30, 3)), pose=POSE)
PAIRS = [
    (HULL, Mesh(np.random.default_rng(2).normal(scale=0.1, size=(12, 3)))),
    (HULL, Box((0.5, 0.4, 0.3), pose=POSE)),
    (Cylinder(0.3, 0.04, pose=POSE), Ellipsoid((0.1, 0.2, 0.3), pose=POSE)),
    (HULL, Capsule(0.1, 0.5, pose=POSE)),
    (Cylinder(0.2, 0.3), Sphere(0.2, pose=POSE)),
]


@entry
def least_distance(clearance, shapes, pairs, poses, reach, data, margin):
    """Move to the poses; whether pair 0 is known to stay apart, and its least distance at last [m]."""
    for i in range(poses.shape[0]):
        move_body(clearance, i, load9(poses[i]), load3(poses[i, 9:]), ZERO3, reach[i])
    a, b = shapes[pairs[0].a].body, shapes[pairs[0].b].body
    X = IDENTITY, (load9(poses[b]), load3(poses[b, 9:]))
    if a >= 0:
        X = (load9(poses[a]), load3(poses[a, 9:])), (load9(poses[b]), load3(poses[b, 9:]))
    apart = stay_apart(clearance, shapes, pairs, 0, X, data, margin, True)
    if not apart:
        measure(clearance, shapes, pairs, 0, X, data, margin, True)
    return apart, clearance.least[0] - approach_of(clearance.ways, a, b)


def height(scene, poses, one, two):
    """Distance of the second shape from the ground [m]."""
    return gaps_of(scene.find(poses, 10.0), poses)[0].min()


def clear(scene, poses, one, two):
    """Distance of the two shapes [m], as coal finds it."""
    return distance_of(geometry(one), geometry(two), scene.shape_pose(poses, 0), scene.shape_pose(poses, 1))


@pytest.mark.parametrize("ground", [False, True])
@pytest.mark.parametrize(("one", "two"), PAIRS)
def test_distances_that_are_remembered_are_bounds(one, two, ground):
    random = np.random.default_rng(0)
    scene = Scene(Plane() if ground else one, two, ground=ground)
    table = scene.table
    reach = np.linalg.norm(table.shapes.centre, axis=1) + np.where(
        np.isfinite(table.shapes.bound), table.shapes.bound, 0
    )
    reach = np.array([reach[table.shapes.body == i].max(initial=0.0) for i in (0, 1)])
    clearance = clearance_arrays(1, 2)
    places, turns = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), np.zeros((2, 3))
    known = 0
    for k in range(400):
        places += random.normal(scale=0.005, size=(2, 3))
        places[1, 2] = 0.7 + 0.5 * np.cos(0.03 * k)
        turns += random.normal(scale=0.01, size=(2, 3))
        poses = np.array([pose(p, w) for p, w in zip(places, turns, strict=True)])
        apart, least = least_distance(clearance, table.shapes, scene.pairs, poses, reach, table.data, 0.01)
        distance = (height if ground else clear)(scene, poses, one, two)
        assert least <= distance + 1e-8
        assert not apart or distance > 0.01
        known += apart
        assert apart or k == 0 or distance < 0.2  # such a distance is seen
    assert known > 100


def flail():
    """Hulls on arms that swing past each other and knock."""
    b, random = la.MechanismBuilder("flail"), np.random.default_rng(4)
    for k in range(4):
        b.body(f"arm{k}", mass=1.0, com=(0.0, 0.0, -0.3), inertia=0.02)
        b.revolute(f"arm{k}", "world", f"arm{k}", axis="y", pose=(0.3 * k, 0.01 * k, 1.0), damping=0.02)
        corners = random.normal(scale=0.06, size=(20, 3)) + [0.0, 0.0, -0.4]
        b.add_shape(f"arm{k}", Mesh(corners, friction=0.3))
    return b.build()


@pytest.mark.parametrize("integrator", [la.Maximal(), la.Minimal()])
def test_what_is_remembered_of_pairs_does_not_change_a_run(integrator):
    robot = flail()
    q = np.array([0.9, 0.1, -0.2, -1.1])
    whole = la.simulate(robot, q, dt=0.002, steps=300, integrator=integrator)
    assert len(np.unique(whole.stored["contacts"][:, 0])) > 5
    state, path = (q, None), [q]
    for _ in range(300):
        run = la.simulate(robot, state[0], p=state[1], dt=0.002, steps=1, integrator=integrator)
        state = run.q[-1], run.p[-1]
        path.append(run.q[-1])
    # Restarts change the first guess at the first impact: a contact that is missed would change the run by 1e-3.
    np.testing.assert_allclose(path, whole.q, atol=1e-6)
