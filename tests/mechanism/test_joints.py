"""Kinds of joints: their freedom, their coordinates' names, their motion."""

import numpy as np
import pytest

from leastaction import dynamics
from leastaction.mechanism import Joint, MechanismBuilder, Motion, joints
from leastaction.mechanism.joints import ALIASES, KINDS, perpendicular

# Table B.2 of Brüdigam 2023: translations and rotations that each joint leaves free.
TABLE_B2 = {
    "fixed": (0, 0),
    "prismatic": (1, 0),
    "planar_fixed_orientation": (2, 0),
    "translational": (3, 0),
    "revolute": (0, 1),
    "cylindrical": (1, 1),
    "planar": (2, 1),
    "rotation_axis_free_movement": (3, 1),
    "spherical": (0, 3),
    "cylindrical_free_orientation": (1, 3),
    "planar_free_orientation": (2, 3),
    "free": (3, 3),
}


def carried(kind, **options):
    """A body on one joint of that kind."""
    b = MechanismBuilder()
    b.body("a", mass=1.0, inertia=1.0)
    b.joint("j", kind, "world", "a", **options)
    return b.build()


@pytest.mark.parametrize(("kind", "free"), TABLE_B2.items())
def test_freedom_of_every_row_of_table_b2(kind, free):
    """Turning and sliding directions, counted by ranks of the body's Jacobian at a random configuration."""
    robot = carried(kind)
    slides, turns = free
    assert robot.nv == slides + turns
    assert robot.nq == robot.nv + (1 if turns == 3 else 0)
    if robot.nv:
        J = dynamics.body_jacobian(robot, robot.random_configuration(3), "a")
        assert np.linalg.matrix_rank(J[:3]) == turns
        assert np.linalg.matrix_rank(J) == slides + turns


def test_every_kind_is_covered():
    assert set(KINDS) == {*TABLE_B2, "universal"}
    assert set(ALIASES.values()) <= {*KINDS, "screw"}


@pytest.mark.parametrize(
    ("kind", "options", "coordinates", "velocities"),
    [
        ("fixed", {}, (), ()),
        ("revolute", {}, ("j",), ("j",)),
        ("prismatic", {}, ("j",), ("j",)),
        ("screw", {"pitch": 0.1}, ("j",), ("j",)),
        ("cylindrical", {}, ("j.slide1", "j.turn1"), ("j.slide1", "j.turn1")),
        ("universal", {}, ("j.turn1", "j.turn2"), ("j.turn1", "j.turn2")),
        ("planar", {}, ("j.slide1", "j.slide2", "j.turn1"), ("j.slide1", "j.slide2", "j.turn1")),
        ("spherical", {}, ("j.qw", "j.qx", "j.qy", "j.qz"), ("j.wx", "j.wy", "j.wz")),
        (
            "free",
            {},
            ("j.x", "j.y", "j.z", "j.qw", "j.qx", "j.qy", "j.qz"),
            ("j.wx", "j.wy", "j.wz", "j.vx", "j.vy", "j.vz"),
        ),
        (
            "cylindrical_free_orientation",
            {},
            ("j.slide1", "j.qw", "j.qx", "j.qy", "j.qz"),
            ("j.slide1", "j.wx", "j.wy", "j.wz"),
        ),
        (
            "composite",
            {"parts": (joints.revolute("x"), joints.screw("y", 0.2), joints.prismatic("z"))},
            ("j.turn1", "j.turn2", "j.slide1"),
            ("j.turn1", "j.turn2", "j.slide1"),
        ),
    ],
)
def test_names_of_coordinates(kind, options, coordinates, velocities):
    robot = carried(kind, **options)
    assert robot.coordinate_names == coordinates
    assert robot.velocity_names == velocities
    assert (robot.nq, robot.nv) == (len(coordinates), len(velocities))
    assert len(robot.neutral()) == robot.nq


@pytest.mark.parametrize(("alias", "kind"), ALIASES.items())
def test_common_names_of_others_are_understood(alias, kind):
    assert carried(alias).joints[0].kind == kind


@pytest.mark.parametrize(
    ("kind", "options", "q", "position", "turned"),
    [
        ("revolute", {"axis": "z"}, [np.pi / 2], (0, 0, 0), (0, 1, 0)),
        ("revolute", {"axis": "-z"}, [np.pi / 2], (0, 0, 0), (0, -1, 0)),
        ("prismatic", {"axis": "y"}, [0.7], (0, 0.7, 0), (1, 0, 0)),
        ("screw", {"axis": "z", "pitch": 0.1}, [np.pi / 2], (0, 0, 0.05 * np.pi), (0, 1, 0)),
        ("cylindrical", {"axis": "z"}, [0.3, np.pi / 2], (0, 0, 0.3), (0, 1, 0)),
        ("universal", {}, [np.pi / 2, np.pi / 2], (0, 0, 0), (0, 1, 0)),
        ("planar", {"axis": "z"}, [1.0, 2.0, np.pi / 2], (1, 2, 0), (0, 1, 0)),
        ("planar", {"axis": "y"}, [1.0, 2.0, np.pi / 2], (2, 0, 1), (0, 0, -1)),
        ("planar", {"axis": "x"}, [1.0, 2.0, 0.5], (0, 1, 2), (1, 0, 0)),
        ("translational", {}, [1.0, 2.0, 3.0], (1, 2, 3), (1, 0, 0)),
        ("spherical", {}, [np.sqrt(0.5), 0, 0, np.sqrt(0.5)], (0, 0, 0), (0, 1, 0)),
        ("free", {}, [1, 2, 3, np.sqrt(0.5), 0, 0, np.sqrt(0.5)], (1, 2, 3), (0, 1, 0)),
    ],
)
def test_where_a_joint_puts_its_body(kind, options, q, position, turned):
    """Origin of the body, and where its x axis points."""
    X = dynamics.body_poses(carried(kind, **options), q)[0]
    np.testing.assert_allclose(X[:3, 3], position, atol=1e-15)
    np.testing.assert_allclose(X[:3, 0], turned, atol=1e-15)


@pytest.mark.parametrize("seed", range(10))
def test_perpendicular_completes_a_right_handed_frame(seed):
    axis = np.random.default_rng(seed).normal(size=3)
    axis /= np.linalg.norm(axis)
    first, second = perpendicular(tuple(axis))
    np.testing.assert_allclose(
        np.column_stack([first, second, axis]).T @ [first, second, axis][0], [1, 0, 0], atol=1e-15
    )
    assert np.linalg.det([first, second, axis]) == pytest.approx(1.0)


def test_one_number_serves_all_degrees_of_freedom():
    joint = carried("spherical", damping=0.5, limits=(-1, 1)).joints[0]
    assert joint.damping == (0.5,) * 3
    assert joint.lower == (-1.0,) * 3
    assert joint.stiffness == (0.0,) * 3
    assert joint.effort_limit == (float("inf"),) * 3


def test_rest_is_the_neutral_position_by_default():
    assert carried("spherical").joints[0].rest == (1.0, 0.0, 0.0, 0.0)
    assert carried("free").joints[0].rest == (0, 0, 0, 1, 0, 0, 0)
    assert carried("revolute", rest=0.4).joints[0].rest == (0.4,)


def test_a_joint_knows_its_motions():
    joint = Joint("j", "composite", "world", "a", (joints.prismatic("x"), joints.spherical()))
    assert [p.motion for p in joint.primitives] == [Motion.PRISMATIC, Motion.SPHERICAL]
    assert (joint.nq, joint.nv) == (5, 4)
    assert joint.neutral() == (0.0, 1.0, 0.0, 0.0, 0.0)
