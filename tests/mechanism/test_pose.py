"""Poses: group laws and conversions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leastaction as la
from leastaction.errors import MechanismError
from leastaction.mechanism import Pose, Sphere
from leastaction.mechanism.pose import quaternion_of_matrix, rotation_matrix


@st.composite
def poses(draw):
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    q = rng.normal(size=4)
    return Pose(tuple(rng.normal(size=3)), tuple(q / np.linalg.norm(q)))


@given(poses(), poses(), poses())
@settings(max_examples=25, deadline=None)
def test_group_laws(A, B, C):
    np.testing.assert_allclose((A * B).matrix, A.matrix @ B.matrix, atol=1e-14)
    np.testing.assert_allclose(((A * B) * C).matrix, (A * (B * C)).matrix, atol=1e-14)
    np.testing.assert_allclose((A * A.inverse()).matrix, np.eye(4), atol=1e-14)
    np.testing.assert_allclose(A.apply(B.apply((1, 2, 3))), (A * B).apply((1, 2, 3)), atol=1e-13)
    assert A * Pose() is A
    assert Pose() * A is A


@given(poses())
@settings(max_examples=50, deadline=None)
def test_matrices_there_and_back(A):
    B = Pose.from_matrix(A.matrix)
    sign = np.sign(np.dot(A.quaternion, B.quaternion))
    np.testing.assert_allclose(np.array(B.quaternion) * sign, A.quaternion, atol=1e-14)
    assert B.position == A.position
    assert B.quaternion[0] >= 0.0
    np.testing.assert_allclose(A.rotation @ A.rotation.T, np.eye(3), atol=1e-15)
    assert np.linalg.det(A.rotation) == pytest.approx(1.0)


@pytest.mark.parametrize("q", [(0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1), (0, 0.6, 0.8, 0), (1, 0, 0, 0)])
def test_half_turns_are_found_exactly(q):
    assert quaternion_of_matrix(rotation_matrix(q)) == pytest.approx(q, abs=1e-15)


def test_roll_pitch_yaw_are_about_fixed_axes():
    """R = Rz(yaw) Ry(pitch) Rx(roll)."""
    roll, pitch, yaw = 0.3, -0.7, 1.9
    X = Pose.from_rpy((1, 2, 3), (roll, pitch, yaw))
    turns = [Pose.from_axis_angle(a, angle) for a, angle in (("z", yaw), ("y", pitch), ("x", roll))]
    np.testing.assert_allclose(X.rotation, (turns[0] * turns[1] * turns[2]).rotation, atol=1e-15)
    assert X.position == (1.0, 2.0, 3.0)


def test_axis_and_angle():
    X = Pose.from_axis_angle("z", np.pi / 2, (1, 0, 0))
    np.testing.assert_allclose(X.apply((1, 0, 0)), [1, 1, 0], atol=1e-15)
    np.testing.assert_allclose(Pose.from_axis_angle((0, 0, -1), 0.3).rotation, Pose.from_axis_angle("z", -0.3).rotation)


def test_identity_is_recognised():
    assert Pose().is_identity
    assert not Pose((0, 0, 1e-300)).is_identity


def test_almost_unit_quaternions_are_scaled_and_exact_ones_kept():
    q = np.array([0.5, 0.5, 0.5, 0.5])
    assert Pose((0, 0, 0), tuple(q)).quaternion == tuple(q)
    scaled = Pose((0, 0, 0), tuple(q * (1 + 1e-8))).quaternion
    assert np.linalg.norm(scaled) == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize(
    "value", [Pose((1, 2, 3)), (1, 2, 3), [1, 2, 3, 1, 0, 0, 0], Pose((1, 2, 3)).matrix], ids=["pose", "3", "7", "4x4"]
)
def test_shapes_and_joints_take_a_pose_as_people_write_it(value):
    """One word for where a frame sits, and one way to write it."""
    b = la.MechanismBuilder()
    b.body("a", mass=1.0, inertia=1.0, shapes=Sphere(0.1, pose=value))
    b.free("a", name="j", pose=value, child_pose=value)
    robot = b.build()
    assert robot.bodies[0].shapes[0].pose == robot.joints[0].pose == robot.joints[0].child_pose == Pose((1, 2, 3))


@pytest.mark.parametrize("value", ["a", (1, 2), None, (1, 2, float("nan")), [1, 2, 3, 0, 0, 0, 0]])
def test_what_is_no_pose_is_refused_with_the_name_of_its_owner(value):
    with pytest.raises(MechanismError, match="sphere 'tip': "):
        Sphere(0.1, pose=value, name="tip")


def test_the_older_word_for_the_pose_of_a_joint():
    b = la.MechanismBuilder()
    b.body("a", mass=1.0, inertia=1.0)
    with pytest.warns(DeprecationWarning, match="joint 'j': placement is called pose now"):
        b.joint("j", "revolute", "world", "a", placement=Pose((1, 2, 3)))
    joint = b.build().joints[0]
    assert joint.pose == joint.placement == Pose((1, 2, 3))
