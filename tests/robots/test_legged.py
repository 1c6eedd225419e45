"""Legged robots and the exoskeleton: published totals, symmetry, geometry, and a maker's own file."""

import json
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

import numpy as np
import pytest

import leastaction as la
from leastaction import dynamics, robots
from tests.robots.kinematics import loop_jacobian, loop_residual, point, poses, rank

PUBLISHED = json.loads((Path(__file__).parents[1] / "data" / "published_robots.json").read_text())


@pytest.mark.parametrize(
    ("name", "mass", "joints"),
    [
        ("atlas", 175.117964, 30),
        ("nao", 5.305402, 24),
        ("littledog", 2.7464, 12),
        ("unitree_a1", 13.741, 12),
        ("minitaur", 6.0, 16),
        ("spring_flamingo", 14.2248, 6),
        ("arm_exoskeleton", 16.106, 6),
    ],
)
def test_published_masses_and_numbers_of_joints(name, mass, joints):
    robot = robots.get(name)
    assert robot.total_mass == pytest.approx(mass, rel=1e-12)
    assert len(robot.joints) - (name != "arm_exoskeleton") == joints


@pytest.mark.parametrize(
    ("name", "left", "right", "flipped"),
    [
        ("unitree_a1", ("FL", "RL"), ("FR", "RR"), ("hip",)),
        ("littledog", ("front_left", "back_left"), ("front_right", "back_right"), ("roll",)),
        ("minitaur", ("front_left", "back_left"), ("front_right", "back_right"), ()),
    ],
)
def test_left_and_right_legs_mirror_each_other(name, left, right, flipped):
    """Mirroring the posture at the plane y = 0 mirrors the centre of mass and keeps the energy of gravity."""
    robot = robots.get(name)
    rng = np.random.default_rng(4)
    q = robot.neutral()
    mirrored = robot.neutral()
    for l, r in zip(left, right, strict=True):
        for i, coordinate in enumerate(robot.coordinate_names):
            if coordinate.startswith(l):
                j = robot.coordinate_index(coordinate.replace(l, r, 1))
                q[i], q[j] = rng.uniform(-0.5, 0.5, 2)
                sign = -1.0 if any(word in coordinate for word in flipped) and "pitch" not in coordinate else 1.0
                mirrored[i], mirrored[j] = sign * q[j], sign * q[i]
    x, y, z = dynamics.center_of_mass(robot, q)
    offset = 2 * dynamics.center_of_mass(robot, robot.neutral())[1]  # the trunk of A1 is a little lopsided
    np.testing.assert_allclose(dynamics.center_of_mass(robot, mirrored), [x, offset - y, z], atol=1e-14)


def test_legs_of_minitaur_are_five_bars():
    robot = robots.minitaur()
    q = robot.neutral()
    X = poses(robot, q)
    for leg in ("front_left", "front_right", "back_left", "back_right"):
        halves = [f"{leg}_{half}" for half in ("forward", "backward")]
        hips = [X[f"{half}_upper"][:3, 3] for half in halves]
        knees = [X[f"{half}_lower"][:3, 3] for half in halves]
        feet = [point(robot, q, f"{half}_lower", (0, 0, -0.2)) for half in halves]
        np.testing.assert_allclose(hips[0], hips[1], atol=1e-15)
        np.testing.assert_allclose(feet[0], feet[1], atol=1e-15)
        np.testing.assert_allclose(knees[0] - hips[0], [0.115, 0, 0], atol=1e-15)
        np.testing.assert_allclose(knees[1] - hips[1], [-0.115, 0, 0], atol=1e-15)
        depth = np.sqrt(0.2**2 - 0.115**2)
        assert np.linalg.norm(feet[0] - hips[0]) == pytest.approx(depth)
    assert len(robot.loops) == 4
    assert robot.nu == 8


def test_a_leg_of_minitaur_stays_closed_when_both_motors_turn_together():
    robot = robots.minitaur()
    q = robot.neutral()
    for half in ("forward", "backward"):
        q[robot.coordinate_index(f"front_left_{half}_motor")] = 0.4
    assert np.abs(loop_residual(robot, q)).max() < 1e-15


def test_spring_flamingo_has_springs_at_its_ankles_and_motors_above():
    robot = robots.spring_flamingo(ankle_stiffness=7.0)
    assert robot.nv == 9
    assert robot.joint("l_ankle").stiffness == (7.0,)
    assert [a.coordinate for a in robot.actuators] == ["r_hip", "r_knee", "l_hip", "l_knee"]
    x = point(robot, [0.3, 0.5, 0, 0, 0, 0, 0, 0, 0], "body", (0, 0, 0))
    np.testing.assert_allclose(x, [0.3, 0, 0.5])


def test_both_hips_of_nao_may_share_a_motor():
    (coupling,) = robots.nao(coupled_hips=True).couplings
    assert {coupling.follower, coupling.leader} == {"LHipYawPitch", "RHipYawPitch"}
    assert not robots.nao().couplings


def test_cuffs_of_the_exoskeleton():
    """Two planar joints: six equations, two of them independent; the arm still bends at its elbow."""
    robot = robots.arm_exoskeleton()
    assert [loop.kind for loop in robot.loops] == ["planar", "planar"]
    assert robot.coordinate_names[:4] == ("sAA", "sFE", "sIE", "eFE")
    q = robot.neutral()
    J = loop_jacobian(robot, q)
    assert J.shape == (6, 8)
    assert rank(J) == 2
    q[robot.coordinate_index("elbow")] = -0.3  # the arm bends while the exoskeleton does not
    assert np.abs(loop_residual(robot, q)).max() < 1e-15


def test_arm_and_exoskeleton_share_shoulder_and_elbow():
    robot = robots.arm_exoskeleton()
    X = poses(robot, robot.neutral())
    np.testing.assert_allclose(X["upper_arm"][:3, 3], X["sFE_unit"][:3, 3], atol=1e-15)
    np.testing.assert_allclose(X["lower_arm"][:3, 3], X["eFE_unit"][:3, 3], atol=1e-15)
    np.testing.assert_allclose(X["lower_arm"][:3, 3] - X["upper_arm"][:3, 3], [0.3087, 0, 0], atol=1e-15)
    np.testing.assert_allclose(X["lower_arm"][:3, :3], X["eFE_unit"][:3, :3], atol=1e-15)


def _installed_model(name):
    try:
        return next((str(f.locate()) for f in files("example-robot-data") or [] if f.name == name), None)
    except PackageNotFoundError:
        return None


@pytest.mark.oracle
def test_a1_agrees_with_the_makers_file():
    """Mass matrix and centre of mass as Pinocchio reads them from Unitree's own description."""
    pin = pytest.importorskip("pinocchio")
    path = _installed_model("a1.urdf")
    if path is None:
        pytest.skip("example-robot-data is not installed")
    model = pin.buildModelFromUrdf(path)
    data = model.createData()
    robot = robots.unitree_a1(floating=False)
    order = [robot.velocity_index(name) for name in list(model.names)[1:]]
    for seed in range(3):
        q = robot.random_configuration(seed)
        M = pin.crba(model, data, q[order])
        M = np.triu(M) + np.triu(M, 1).T
        np.testing.assert_allclose(dynamics.mass_matrix(robot, q)[np.ix_(order, order)], M, atol=1e-14)


@pytest.mark.parametrize("name", PUBLISHED)
def test_torques_are_those_of_the_published_description(name):
    """Inverse dynamics as Pinocchio computes it from the published file, welded at the base.

    Every mass, centre of mass, moment, axis and offset of the tables takes part. State: q = 0.4 sin(1 + k),
    v = cos(2 k), a = sin(3 k) for the k-th degree of freedom.
    """
    robot = robots.get(name) if name == "spring_flamingo" else robots.get(name, floating=False)
    k = np.arange(robot.nv)
    tau = dynamics.inverse_dynamics(robot, 0.4 * np.sin(1.0 + k), np.cos(2.0 * k), np.sin(3.0 * k))
    expected = np.array([PUBLISHED[name][coordinate] for coordinate in robot.velocity_names])
    np.testing.assert_allclose(tau, expected, rtol=1e-7, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["unitree_a1", "littledog", "minitaur", "nao", "atlas", "spring_flamingo"])
def test_a_limp_robot_falls_on_its_trunk_and_not_through_the_ground(name):
    robot = robots.get(name, ground=True)
    run = la.simulate(robot, robots.home(robot), dt=0.005, duration=1.5, integrator=la.Maximal())
    (trunk,) = (k for k, body in enumerate(robot.bodies) if any(shape.collision for shape in body.shapes))
    signs = np.array(list(np.ndindex(2, 2, 2))) - 0.5
    boxes = [shape for shape in robot.bodies[trunk].shapes if shape.collision]
    corners = np.concatenate([signs * box.size + box.pose.position for box in boxes])
    X = np.array([dynamics.body_poses(robot, q)[trunk] for q in run.q[::5]])
    heights = (X[:, :3, :3] @ corners.T + X[:, :3, 3:])[:, 2].min(axis=1)
    assert heights.min() > -1e-6
    assert heights.min() < 0.5 * heights[0]  # it did fall
