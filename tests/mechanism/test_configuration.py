"""Configurations form a manifold: integrate and difference invert each other; random ones respect limits."""

import numpy as np
import pytest

from leastaction import MechanismError, dynamics, robots
from leastaction.mechanism import MechanismBuilder, joints


def mixed():
    """Free, ball, universal, composite and simple joints in one tree."""
    b = MechanismBuilder("mixed")
    for name in "abcde":
        b.body(name, mass=1.0, com=(0.1, 0, 0), inertia=1.0)
    b.free("a")
    b.spherical("ball", "a", "b", position=(1, 0, 0))
    b.joint("cardan", "universal", "b", "c", position=(0, 1, 0))
    b.joint(
        "odd",
        "composite",
        "c",
        "d",
        parts=(joints.prismatic("x"), joints.spherical(), joints.screw("y", 0.3)),
    )
    b.revolute("hinge", "d", "e", limits=(0.2, 0.4))
    return b.build()


@pytest.mark.parametrize("seed", range(5))
def test_integrate_and_difference_invert_each_other(seed):
    robot = mixed()
    rng = np.random.default_rng(seed)
    q0, q1 = robot.random_configuration(rng), robot.random_configuration(rng)
    dv = robot.difference(q0, q1)
    reached = robot.integrate(q0, dv)
    expected, got = dynamics.body_poses(robot, q1), dynamics.body_poses(robot, reached)
    np.testing.assert_allclose(got, expected, atol=1e-12)
    small = 0.3 * rng.normal(size=robot.nv)
    np.testing.assert_allclose(robot.difference(q0, robot.integrate(q0, small)), small, atol=1e-13)


def test_a_step_moves_bodies_by_their_jacobian():
    """d/ds of the poses along integrate(q, s v) is the twist J v."""
    robot, step = mixed(), 1e-6
    rng = np.random.default_rng(0)
    q, v = robot.random_configuration(rng), rng.normal(size=robot.nv)
    ahead, behind = (dynamics.body_poses(robot, robot.integrate(q, s * v))[:, :3, 3] for s in (step, -step))
    for i, name in enumerate(robot.body_names):
        linear = (dynamics.body_jacobian(robot, q, name) @ v)[3:]
        np.testing.assert_allclose((ahead[i] - behind[i]) / (2 * step), linear, atol=1e-8)


def test_many_configurations_at_once():
    robot = mixed()
    rng = np.random.default_rng(1)
    q = np.array([robot.random_configuration(rng) for _ in range(4)])
    dv = rng.normal(size=(4, robot.nv))
    together = robot.integrate(q, dv)
    np.testing.assert_allclose(together, [robot.integrate(a, b) for a, b in zip(q, dv, strict=True)], atol=1e-15)
    np.testing.assert_allclose(
        robot.difference(q, together),
        [robot.difference(a, b) for a, b in zip(q, together, strict=True)],
        atol=1e-15,
    )


def test_quaternions_stay_unit():
    robot = mixed()
    q = robot.integrate(robot.random_configuration(2), 100.0 * np.ones(robot.nv))
    np.testing.assert_allclose(robot.normalize(q), q, atol=1e-15)
    np.testing.assert_allclose(robot.normalize(3.0 * q)[3:7], q[3:7], atol=1e-15)
    with pytest.raises(MechanismError, match=r"quaternion at 'a_free\.qw' is zero"):
        robot.normalize(np.zeros(robot.nq))


def test_wrong_sizes_are_refused():
    robot = mixed()
    with pytest.raises(MechanismError, match=rf"q: expected shape \(..., {robot.nq}\) for 'mixed', got \(3,\)"):
        robot.integrate([1, 2, 3], np.zeros(robot.nv))
    with pytest.raises(MechanismError, match="dv: expected shape"):
        robot.integrate(robot.neutral(), [1.0])


def test_masked_values_are_refused():
    robot = mixed()
    with pytest.raises(MechanismError, match="masked_array"):
        robot.integrate(np.ma.array(robot.neutral(), mask=True), np.zeros(robot.nv))


def test_random_configurations_respect_limits_and_seeds():
    robot = mixed()
    for seed in range(20):
        q = robot.random_configuration(seed)
        assert 0.2 <= q[-1] <= 0.4
        np.testing.assert_allclose(robot.normalize(q), q, atol=1e-15)
    np.testing.assert_array_equal(robot.random_configuration(7), robot.random_configuration(7))
    arm = robots.unitree_a1()
    q = arm.random_configuration(0, scale=0.01)  # knees cannot be straight: their limits decide
    knee = q[arm.coordinate_index("FR_calf_joint")]
    assert -2.7 < knee < -0.9
