"""What of a mechanism may touch what, with which coefficients; and which of many spheres are close."""

from dataclasses import replace

import numpy as np
import pytest

import leastaction as la
from leastaction.contact.broad_phase import neighbours
from leastaction.contact.contact_shapes import collect
from leastaction.contact.records import BOX, CAPSULE, PLANE, SPHERE
from leastaction.errors import MechanismError
from leastaction.mechanism import Box, Capsule, Cylinder, Ellipsoid, HeightField, MechanismBuilder, Plane, Pose, Sphere
from leastaction.parameters.parameters import with_parameters
from tests.contact.scenes import INERTIA, random_poses


def each(mechanism):
    """Every body an index of its own."""
    return {name: (k, Pose()) for k, name in enumerate(mechanism.body_names)}


def named(table, pairs):
    """Names of the shapes of pairs."""
    return {(table.names[p.a][1], table.names[p.b][1]) for p in pairs}


def chain(links=3, shape=lambda k: Sphere(0.5, name=f"s{k}"), **options):
    b = MechanismBuilder("chain")
    for k in range(links):
        b.body(f"b{k}", shapes=shape(k), **INERTIA)
        b.joint(f"j{k}", "spherical" if k else "free", f"b{k - 1}" if k else "world", f"b{k}")
    b.add_shape("world", Plane(name="floor", **options))
    return b


def test_ground_with_all_and_bodies_unless_a_joint_connects_them():
    robot = chain(4).build()
    table = collect(robot, each(robot))
    assert named(table, table.ground) == {("floor", f"s{k}") for k in range(4)}
    assert named(table, table.body_pairs()) == {("s0", "s2"), ("s0", "s3"), ("s1", "s3")}
    assert len(collect(robot, each(robot), bodies=False).body_pairs()) == 0
    assert len({*table.ground.key.tolist(), *table.body_pairs().key.tolist()}) == 7


def test_loops_connect_too():
    b = chain(4)
    b.joint("closing", "spherical", "b0", "b3")
    robot = b.build()
    table = collect(robot, each(robot))
    assert named(table, table.body_pairs()) == {("s0", "s2"), ("s1", "s3")}


def test_massless_bodies_between_joints_connect_what_is_on_both_sides():
    b = chain(2)
    for k, parent in ((2, "b1"), (3, "m2")):
        b.body(f"m{k}")
        b.joint(f"j{k}", "revolute", parent, f"m{k}")
    b.body("b4", shapes=Sphere(0.5, name="s4"), **INERTIA)
    b.joint("j4", "revolute", "m3", "b4", axis="x")
    table = collect(b.build(), each(b.build()))
    assert named(table, table.body_pairs()) == {("s0", "s4")}


def test_contact_points_stand_for_the_shape_that_holds_them():
    robot = la.robots.cube(friction=0.3, restitution=0.1)
    table = collect(robot, each(robot))
    assert table.shapes.kind.tolist() == [PLANE, BOX] + [SPHERE] * 8
    assert table.ground.b.tolist() == list(range(2, 10))
    assert set(table.ground.friction) == {0.3}
    assert set(table.ground.restitution) == {0.1}


@pytest.mark.parametrize("shape", [Sphere(0.1), Capsule(0.1, 0.4), Cylinder(0.1, 0.4), Box((0.2, 0.2, 0.4))])
def test_shapes_that_hold_no_contact_point_touch_the_ground_themselves(shape):
    b = MechanismBuilder("foot")
    half = 0.1 if isinstance(shape, Sphere) else 0.3 if isinstance(shape, Capsule) else 0.2
    X = Pose.from_axis_angle("x", 0.7, (1, 2, 3))
    b.body("foot", shapes=replace(shape, pose=X, name="shape"), **INERTIA)
    b.free("foot")
    b.add_shape("world", Plane(name="floor"))
    for beyond in (0.0, 1e-3):
        edit = MechanismBuilder.from_mechanism(b.build())
        edit.contact("tip", "foot", X.apply((0, 0, half + beyond)))
        robot = edit.build()
        table = collect(robot, each(robot))
        assert (("floor", "shape") in named(table, table.ground)) == (beyond > 0.0)
        assert ("floor", "tip") in named(table, table.ground)


def test_points_touch_bodies_only_when_asked():
    b = chain(3)
    b.contact("tip", "b0", radius=0.1)
    robot = b.build()
    table = collect(robot, each(robot))
    assert named(table, table.body_pairs()) == {("s0", "s2")}
    table = collect(robot, each(robot), points_on_bodies=True)
    assert named(table, table.body_pairs()) == {("s0", "s2"), ("s2", "tip")}


def test_merged_bodies_and_bodies_fixed_to_the_world():
    robot = chain(4).build()
    X = Pose.from_axis_angle("x", 0.5, (0, 1, 0))
    table = collect(robot, {"b0": (-1, X), "b1": (0, Pose()), "b2": (0, X), "b3": (1, Pose())})
    # b0 is ground now; b1 and with it b2 hang on it; b3 hangs on b2 and with it on b1.
    assert named(table, table.ground) == {("floor", "s1"), ("floor", "s2"), ("floor", "s3"), ("s0", "s3")}
    assert len(table.body_pairs()) == 0
    np.testing.assert_allclose(table.shapes.p[3], (0, 1, 0))
    np.testing.assert_allclose(table.shapes.R[3].reshape(3, 3), X.rotation)


def test_coefficients():
    for first, second, expected in ((None, None, 0.5), (0.3, None, 0.3), (None, 0.2, 0.2), (0.3, 0.2, 0.3)):
        b = la.MechanismBuilder("pair")
        b.add_shape("world", Plane(friction=first))
        b.body("ball", mass=1.0, shapes=Sphere(0.1, friction=second))
        b.free("ball")
        assert collect(b.build(), {"ball": (0, Pose())}).ground.friction == [expected]
    robot = chain(1, lambda k: Sphere(0.5, friction=0.7), friction=0.9, restitution=0.2).build()
    pair = collect(robot, each(robot)).ground[0]
    assert (pair.friction, pair.restitution) == (0.9, 0.2)
    robot = chain(1).build()
    pair = collect(robot, each(robot)).ground[0]
    assert (pair.friction, pair.restitution) == (0.5, 0.0)


def test_shapes_that_do_not_collide_are_left_out():
    b = chain(3, lambda k: Ellipsoid((0.2, 0.4, 0.3), name=f"s{k}"))
    b.add_shape("b0", Sphere(1.0, collision=False))
    b.add_shape("world", HeightField([[0, 0], [0, 0]], 1.0, name="hills"))
    robot = b.build()
    table = collect(robot, each(robot))
    assert len(table.shapes) == 5
    assert len(table.ground) == 6  # of the plane and the hills
    with pytest.raises(MechanismError, match="b1"):
        collect(robot, {"b0": (0, Pose())})


def test_bounding_spheres_hold_the_shapes():
    b = MechanismBuilder("one")
    X = Pose.from_axis_angle("y", 1.0, (0.1, 0.2, 0.3))
    b.body("body", shapes=[Box((1, 2, 3), pose=X), Capsule(0.1, 2.0), Cylinder(0.5, 1.0)], **INERTIA)
    b.free("body")
    robot = b.build()
    table = collect(robot, each(robot))
    assert table.shapes.bound.tolist() == pytest.approx([np.sqrt(3.5), 1.1, np.sqrt(0.5)])
    poses = random_poses(np.random.default_rng(0), 1.0)[1:]
    expected = poses[0, :9].reshape(3, 3) @ (0.1, 0.2, 0.3) + poses[0, 9:]
    np.testing.assert_allclose(table.centres(poses)[0], expected)
    assert table.shapes.kind[1] == CAPSULE


@pytest.mark.parametrize("count", [0, 1, 2, 30, 200])
def test_neighbours_against_all_pairs(count):
    random = np.random.default_rng(count)
    centres, radii = random.uniform(-3, 3, (count, 3)), random.lognormal(-1, 1, count)
    d = np.linalg.norm(centres[:, None] - centres, axis=2)
    near = np.argwhere(np.triu(d < radii[:, None] + radii + 0.1, 1))
    np.testing.assert_array_equal(neighbours(centres, radii, 0.1), near.reshape(-1, 2))


def test_close_pairs_of_many_bodies():
    b = MechanismBuilder("balls")
    for k in range(80):
        b.body(f"b{k}", shapes=Sphere(0.1, name=str(k)), **INERTIA)
        b.free(f"b{k}")
    robot = b.build()
    table = collect(robot, each(robot))
    random = np.random.default_rng(0)
    poses = np.array([random_poses(random, 1.0)[1] for _ in range(80)])
    d = np.linalg.norm(poses[:, None, 9:] - poses[:, 9:], axis=2)
    expected = np.argwhere(np.triu(d < 0.25, 1))
    pairs = table.body_pairs(poses, 0.05)
    np.testing.assert_array_equal(np.column_stack([pairs.a, pairs.b]), expected)
    everything = {(p.a, p.b): p.key for p in table.body_pairs()}
    assert all(everything[p.a, p.b] == p.key for p in pairs)


@pytest.mark.parametrize(
    ("shape", "place", "name", "value", "wanted"),
    [
        (Box((0.2, 0.4, 0.6)), (0.1, -0.2, -0.3), "size", (0.4, 0.4, 0.3), (0.2, -0.2, -0.15)),
        (Cylinder(0.1, 0.4), (0.1, 0.0, -0.2), "radius", 0.3, (0.3, 0.0, -0.2)),
        (Cylinder(0.1, 0.4), (0.1, 0.0, -0.2), "length", 0.6, (0.1, 0.0, -0.3)),
        (Capsule(0.1, 0.4), (0.0, 0.0, -0.2), "length", 0.6, (0.0, 0.0, -0.3)),
        (Capsule(0.1, 0.4), (0.0, 0.0, -0.3), "radius", 0.2, (0.0, 0.0, -0.4)),  # the tip of its cap
        (Ellipsoid((0.1, 0.2, 0.3)), (0.0, 0.0, -0.3), "radii", (0.1, 0.2, 0.5), (0.0, 0.0, -0.5)),
        (Sphere(0.1), (0.0, 0.1, 0.0), "radius", 0.3, (0.0, 0.3, 0.0)),
    ],
)
def test_contact_points_keep_their_place_in_a_shape_with_other_sizes(shape, place, name, value, wanted):
    pose = Pose.from_axis_angle((0.6, 0.0, 0.8), 0.7) * Pose((0.1, 0.2, 0.3))
    b = MechanismBuilder("part")
    b.body("a", shapes=(Sphere(0.01, pose=pose * Pose(place)), replace(shape, pose=pose, name="part")), **INERTIA)
    b.free("a")
    b.contact("part corner", "a", pose.apply(place), radius=0.03)
    b.contact("elsewhere", "a", pose.apply((1.0, 1.0, 1.0)), radius=0.03)
    robot = with_parameters(b.build(), {f"{name}:a/part": value, "position:a/part": np.add(pose.position, 1.0)})
    np.testing.assert_allclose(robot.contacts[0].point, np.add(pose.apply(wanted), 1.0), atol=1e-12)
    assert [point.radius for point in robot.contacts] == [0.03, 0.03]
    assert robot.contacts[1] == b.build().contacts[1]
