"""Frames against Pinocchio and differences, inverse kinematics against forward kinematics."""

import numpy as np
import pytest

import leastaction as la
from leastaction._tuples import plain
from leastaction.errors import ConvergenceError, MechanismError
from leastaction.kinematics import (
    frame_jacobian,
    frame_pose,
    keep_posture,
    reach_center_of_mass,
    reach_orientation,
    reach_pose,
    reach_position,
    solve_ik,
)
from leastaction.kinematics.box_qp import bounded_data, bounded_minimum
from leastaction.mechanism import Frame, Pose
from tests.oracles.random_trees import random_pose, random_tree, random_unit


def arm(seed, joints, limit=2.5):
    """A chain of revolute joints at random places, with a tool."""
    rng = np.random.default_rng(seed)
    b, parent = la.MechanismBuilder("arm"), "world"
    for k in range(joints):
        b.body(f"link{k}", mass=1.0, com=(0.0, 0.0, 0.1), inertia=(0.01, 0.01, 0.01))
        pose = random_pose(rng, 0.3)
        b.joint(
            f"joint{k}", "revolute", parent, f"link{k}", axis=random_unit(rng), pose=pose, lower=-limit, upper=limit
        )
        parent = f"link{k}"
    b.frame("tool", parent, random_pose(rng, 0.2))
    return b.build()


def test_frames_move_as_their_bodies_and_jacobians_are_their_derivatives():
    robot = random_tree(3, 5)
    robot = robot.replace(frames=(Frame("tool", robot.body_names[-1], random_pose(np.random.default_rng(1))),))
    q = robot.random_configuration(5)
    poses = la.dynamics.body_poses(robot, q)
    assert np.allclose(frame_pose(robot, q, "tool"), poses[-1] @ robot.frames[0].pose.matrix, atol=1e-14)
    assert np.allclose(frame_pose(robot, q, robot.body_names[1]), poses[1], atol=1e-14)
    J = frame_jacobian(robot, q, "tool")
    X = frame_pose(robot, q, "tool")
    for k, e in enumerate(1e-6 * np.eye(robot.nv)):
        ahead, back = (frame_pose(robot, robot.integrate(q, s * e), "tool") for s in (1.0, -1.0))
        dX = (ahead - back) / 2e-6
        W = dX[:3, :3] @ X[:3, :3].T
        assert np.allclose(J[:, k], [W[2, 1], W[0, 2], W[1, 0], *dX[:3, 3]], atol=1e-8)
    body = la.dynamics.body_jacobian(robot, q, robot.body_names[-1], frame="origin")
    assert np.allclose(frame_jacobian(robot, q, "tool", frame="origin"), body, atol=1e-13)
    turned = frame_jacobian(robot, q, "tool", frame="body")
    assert np.allclose(turned[3:], X[:3, :3].T @ J[3:], atol=1e-13)


def test_centroidal_quantities_are_those_of_momentum_and_energy():
    robot = random_tree(4, 5)
    q, v = robot.random_configuration(2), np.random.default_rng(2).normal(size=robot.nv)
    A = la.dynamics.centroidal_momentum_matrix(robot, q)
    assert np.allclose(A @ v, la.dynamics.centroidal_momentum(robot, q, v), atol=1e-12)
    # A robot that turns like one body about its centre of mass has the energy of its inertia.
    b = la.MechanismBuilder("stiff")
    b.body("base", mass=2.0, inertia=(0.1, 0.2, 0.3))
    b.body("arm", mass=1.0, com=(0.3, 0.0, 0.0), inertia=(0.1, 0.2, 0.1))
    b.joint("flight", "free", "world", "base")
    b.joint("elbow", "revolute", "base", "arm", axis="y", pose=Pose((0.2, 0.1, 0.0)))
    flier = b.build()
    q = flier.random_configuration(1)
    w = np.array([0.3, -0.5, 0.7])
    X, c = frame_pose(flier, q, "base"), la.dynamics.center_of_mass(flier, q)
    v = np.concatenate([X[:3, :3].T @ w, X[:3, :3].T @ np.cross(w, X[:3, 3] - c), [0.0]])
    inertia = la.dynamics.centroidal_inertia(flier, q)
    assert np.isclose(0.5 * w @ inertia @ w, la.dynamics.kinetic_energy(flier, q, v))
    assert np.allclose(la.dynamics.centroidal_momentum_matrix(flier, q) @ v, [*inertia @ w, 0.0, 0.0, 0.0], atol=1e-12)


@pytest.mark.oracle
@pytest.mark.parametrize("seed", range(10))
def test_poses_of_ten_arms_are_reached_as_pinocchio_sees_them(seed):
    pytest.importorskip("pinocchio")
    from tests.oracles.pinocchio_model import PinocchioModel

    robot = arm(seed, 6 + seed % 3)
    peer, tool = PinocchioModel(robot), robot.frames[0].pose.matrix
    goal = peer.body_poses(robot.random_configuration(seed, scale=0.6))[-1] @ tool
    found = solve_ik(robot, reach_pose("tool", goal))
    assert found.success
    assert found.residual <= 1e-8
    assert np.abs(peer.body_poses(found.q)[-1] @ tool - goal).max() < 1e-8
    assert np.abs(found.q).max() <= 2.5


def test_a_humanoid_reaches_with_a_hand_while_its_feet_and_its_centre_of_mass_stay():
    robot = la.robots.atlas()
    q = robot.home()
    foot = [name for name in robot.body_names if "foot" in name.lower()]
    hand = next(name for name in robot.body_names if "hand" in name.lower())
    com = la.dynamics.center_of_mass(robot, q)
    goal = frame_pose(robot, q, hand)[:3, 3] + [0.05, 0.02, 0.1]
    tasks = [reach_pose(name, frame_pose(robot, q, name)) for name in foot]
    tasks += [reach_position(hand, goal), reach_center_of_mass([com[0], com[1], np.nan]), keep_posture()]
    found = solve_ik(robot, tasks, q)
    assert found.success
    assert found.starts == 1
    assert np.abs(frame_pose(robot, found.q, hand)[:3, 3] - goal).max() < 1e-8
    assert np.abs(la.dynamics.center_of_mass(robot, found.q)[:2] - com[:2]).max() < 1e-8


def test_a_posture_decides_what_tasks_leave_free():
    robot = arm(3, 7)
    goal = frame_pose(robot, np.full(7, 0.3), "tool")
    wanted = np.full(7, 0.35)
    with_it = solve_ik(robot, [reach_position("tool", goal[:3, 3]), keep_posture(wanted, 1e-2)])
    without = solve_ik(robot, reach_position("tool", goal[:3, 3]))
    assert with_it.success
    assert np.linalg.norm(with_it.q - wanted) < np.linalg.norm(without.q - wanted)
    # First-order condition: the posture's pull has no part along which the tool does not move.
    J = frame_jacobian(robot, with_it.q, "tool")[3:]
    null = np.linalg.svd(J)[2][3:]
    assert np.abs(null @ (with_it.q - wanted)).max() < 1e-5  # the weight of the posture leaves terms of second order


def test_loops_stay_closed():
    robot = la.robots.four_bar()
    q0 = la.dynamics.close_loops(robot, robot.home())
    name = robot.body_names[1]
    ahead = la.simulate(robot, q0, dt=0.01, steps=20, integrator=la.Galerkin(order=2)).q[-1]
    goal = frame_pose(robot, ahead, name)[:3, 3]
    found = solve_ik(robot, reach_position(name, goal), q0, tolerance=1e-9)
    assert found.success
    assert np.abs(la.dynamics.loop_jacobian(robot, found.q)[0]).max() < 1e-9


def test_what_is_out_of_reach_is_told_with_the_nearest():
    b = la.MechanismBuilder("one")
    b.body("rod", mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.joint("pivot", "revolute", "world", "rod", axis="z", lower=-0.5, upper=0.5)
    b.frame("tip", "rod", (1.0, 0.0, 0.0))
    robot = b.build()
    # The limit of 0.5 rad is the nearest that the tip gets to (0, 2, 0).
    found = solve_ik(robot, reach_position("tip", [0.0, 2.0, 0.0]))
    assert not found.success
    assert np.isclose(found.q[0], 0.5)
    assert np.isclose(found.residual, 2.0 - np.sin(0.5))
    with pytest.raises(ConvergenceError, match="missed by 1"):
        solve_ik(robot, reach_position("tip", [0.0, 2.0, 0.0]), must_succeed=True)
    free = solve_ik(robot, reach_orientation("tip", Pose.from_axis_angle((0, 0, 1), 2.0).rotation), limits=False)
    assert free.success
    assert np.isclose(free.q[0], 2.0)


def bounded_least_squares(A, b, low, high, C, d):
    """x that minimises |A x - b| with C x = d, and low <= x <= high."""
    x = np.zeros(len(low))
    bounded_minimum(A.T @ A, A.T @ b, low, high, C, -d, x, bounded_data(len(low), len(d)))
    return x


def test_bounded_least_squares_is_that_of_scipy():
    from scipy.optimize import lsq_linear

    rng = np.random.default_rng(0)
    for _ in range(50):
        A, b = rng.normal(size=(8, 5)), rng.normal(size=8)
        low, high = -rng.uniform(0, 0.3, 5), rng.uniform(0, 0.3, 5)
        x = bounded_least_squares(A, b, low, high, np.zeros((0, 5)), np.zeros(0))
        assert np.allclose(x, lsq_linear(A, b, (low - 1e-300, high + 1e-300), method="bvls", tol=1e-14).x, atol=1e-9)
        C, d = rng.normal(size=(2, 5)), rng.normal(size=2)
        x = bounded_least_squares(A, b, np.full(5, -np.inf), np.full(5, np.inf), C, d)
        assert np.allclose(C @ x, d)
        assert np.allclose(np.linalg.svd(C)[2][2:] @ (A.T @ (A @ x - b)), 0.0, atol=1e-10)
        # An equation that is said twice is one.
        twice = bounded_least_squares(A, b, np.full(5, -np.inf), np.full(5, np.inf), C[[0, 1, 0]], d[[0, 1, 0]])
        assert np.allclose(twice, x, atol=1e-9)


def test_centre_of_mass_and_posture_change_with_the_joints_as_their_jacobians_say():
    from leastaction.kinematics.levenberg_marquardt import descend
    from leastaction.kinematics.task_arrays import ik_data, ik_model

    robot = random_tree(3, 5)
    q = robot.random_configuration(5)
    goal = frame_pose(robot, robot.random_configuration(6), robot.body_names[-1])
    tasks = [reach_pose(robot.body_names[-1], goal), reach_center_of_mass([0.1, np.nan, 0.3]), keep_posture()]
    model = ik_model(robot, [task.checked(robot) for task in tasks], limits=False)

    def at(x):
        data = ik_data(model, robot.nq)
        data.state.q[:] = x
        descend(plain(model), plain(data), 0, 1e-8)
        return data.state

    J = at(q).J.T
    for k, d in enumerate(1e-6 * np.eye(robot.nv)):
        ahead, back = (at(robot.integrate(q, s * d)).e for s in (1.0, -1.0))
        assert np.allclose(J[:8, k], (ahead - back)[:8] / 2e-6, atol=1e-7)
    posture = at(robot.integrate(robot.home(), 1e-3 * np.ones(robot.nv)))
    assert np.allclose(posture.errors[8:], 1e-3, atol=1e-12)
    com = la.dynamics.center_of_mass(robot, q)
    assert np.allclose(at(q).errors[6:8], [com[0] - 0.1, com[2] - 0.3], atol=1e-14)


def test_wrong_tasks_are_refused_by_name():
    robot = arm(0, 6)
    with pytest.raises(MechanismError, match=r"unknown frame or body 'toll'.*tool"):
        solve_ik(robot, reach_position("toll", [0, 0, 0]))
    with pytest.raises(MechanismError, match="expected a rotation matrix"):
        reach_orientation("tool", np.ones((3, 3)))
    with pytest.raises(MechanismError, match="tasks: expected at least one"):
        solve_ik(robot, [])
    with pytest.raises(MechanismError, match="tasks: expected Task"):
        solve_ik(robot, ["tool"])
    with pytest.raises(MechanismError, match="frame 'tool': unknown body 'elbow'"):
        robot.replace(frames=(Frame("tool", "elbow"),))
    with pytest.raises(MechanismError, match="frame 'tool'"):
        robot.replace(frames=(Frame("tool", "link1"), Frame("tool", "link2")))
