"""Inverse kinematics where goals are far, out of reach, contradictory or no goals at all."""

import numpy as np
import pytest

import leastaction as la
from leastaction.errors import MechanismError
from leastaction.kinematics import (
    frame_pose,
    keep_posture,
    reach_center_of_mass,
    reach_orientation,
    reach_pose,
    reach_position,
    solve_ik,
)
from leastaction.mechanism import Pose
from tests.kinematics.test_inverse import arm


def slider():
    """A point that slides along x, y and z."""
    b, parent = la.MechanismBuilder("slider"), "world"
    for axis in "xyz":
        b.body(axis, mass=1.0, inertia=(0.1, 0.1, 0.1))
        b.joint(f"along_{axis}", "prismatic", parent, axis, axis=axis)
        parent = axis
    return b.build()


def flier():
    """A body that flies, with an arm of two hinges."""
    b = la.MechanismBuilder("flier")
    b.body("base", mass=2.0, inertia=(0.1, 0.2, 0.3))
    b.joint("flight", "free", "world", "base")
    parent = "base"
    for k, axis in enumerate("yz"):
        b.body(f"link{k}", mass=1.0, com=(0.1, 0.0, 0.0), inertia=(0.1, 0.2, 0.1))
        b.joint(f"hinge{k}", "revolute", parent, f"link{k}", axis=axis, pose=Pose((0.2, 0.1, 0.0)))
        parent = f"link{k}"
    return b.build()


@pytest.mark.parametrize("distance", [1e2, 1e5])
def test_what_flies_or_slides_goes_as_far_as_it_must(distance):
    goal = Pose.from_axis_angle((0.0, 0.6, 0.8), 2.0, (distance, -distance, 2.0))
    found = solve_ik(flier(), reach_pose("link1", goal), restarts=0, tolerance=1e-8)
    assert found.success
    assert np.allclose(solve_ik(slider(), reach_position("z", goal.position), restarts=0).q, goal.position, rtol=1e-14)


def test_contradictory_positions_meet_where_their_weights_say():
    a, b = np.array([0.3, 0.1, 0.2]), np.array([-0.1, 0.5, 0.0])
    found = solve_ik(slider(), [reach_position("z", a), reach_position("z", b, weight=3.0)], restarts=1)
    assert not found.success
    assert np.allclose(found.q, (a + 9.0 * b) / 10.0, atol=1e-9)
    assert np.isclose(found.residual, np.abs(0.9 * (a - b)).max())
    assert np.allclose(found.errors[1], 0.1 * (a - b), atol=1e-9)


def test_a_task_said_twice_is_the_same_task():
    robot = arm(2, 7)
    goal = frame_pose(robot, np.full(7, 0.4), "tool")
    found = solve_ik(robot, [reach_pose("tool", goal), reach_pose("tool", goal), reach_position("tool", goal[:3, 3])])
    assert found.success
    assert np.abs(frame_pose(robot, found.q, "tool") - goal).max() < 1e-8


def test_size_and_weights_make_no_difference():
    """Lengths and weights of thousands: rounding errors of the normal equations stay below the damping."""
    b, parent = la.MechanismBuilder("crane"), "world"
    for k in range(8):
        b.body(f"link{k}", mass=1.0, inertia=(0.1, 0.1, 0.1))
        pose = Pose((1000.0 if k else 0.0, 0.0, 0.0))
        b.joint(f"joint{k}", "revolute", parent, f"link{k}", axis="xyz"[k % 3], pose=pose, lower=-2.0, upper=2.0)
        parent = f"link{k}"
    b.frame("hook", parent, (1000.0, 0.0, 0.0))
    robot, rng = b.build(), np.random.default_rng(0)
    for _ in range(5):
        goal = frame_pose(robot, rng.uniform(-1.0, 1.0, 8), "hook")
        assert solve_ik(robot, reach_pose("hook", goal, weight=1e3), np.full(8, 0.1)).success


def test_loops_stay_closed_where_the_goal_is_out_of_reach():
    robot = la.robots.four_bar()
    name = robot.body_names[1]
    q = la.dynamics.close_loops(robot, robot.home())
    found = solve_ik(robot, reach_position(name, frame_pose(robot, q, name)[:3, 3] + [0.0, 7.0, 0.0]), q, restarts=2)
    assert not found.success
    assert np.abs(la.dynamics.loop_jacobian(robot, found.q)[0]).max() < 1e-8


def test_a_rotation_but_for_rounding_is_taken_for_one():
    robot = arm(1, 7)
    near = np.diag([1.0 + 4e-6, 1.0, 1.0]) @ Pose.from_axis_angle((0.6, 0.0, 0.8), 0.7).rotation
    assert solve_ik(robot, reach_orientation("tool", near)).success


def test_a_posture_alone_is_taken():
    robot = arm(1, 7)
    found = solve_ik(robot, keep_posture(np.full(7, 0.2)))
    assert found.success
    assert np.allclose(found.q, 0.2, atol=1e-6)


def test_a_robot_that_cannot_move_is_where_it_is():
    b = la.MechanismBuilder("rock")
    b.body("stone", mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.joint("glue", "fixed", "world", "stone", pose=Pose((0.0, 0.0, 1.0)))
    rock = b.build()
    assert solve_ik(rock, reach_position("stone", [0.0, 0.0, 1.0])).success
    missed = solve_ik(rock, reach_position("stone", [0.0, 0.0, 3.0]), restarts=1)
    assert not missed.success
    assert missed.residual == 2.0


def test_what_makes_no_sense_is_refused_in_words():
    robot = arm(0, 6)
    goal = reach_position("tool", [0.1, 0.2, 0.3])
    for wrong, word in [
        ({"seed": -1}, "seed"),
        ({"seed": "one"}, "seed"),
        ({"must_succeed": 1}, "must_succeed"),
        ({"restarts": False}, "restarts"),
        ({"restarts": -1}, "restarts"),
        ({"max_iterations": 0}, "max_iterations"),
        ({"tolerance": np.nan}, "tolerance"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"limits": None}, "limits"),
        ({"q": np.full(6, np.nan)}, "q: entry 0"),
        ({"q": np.zeros(7)}, "q: expected"),
    ]:
        with pytest.raises(MechanismError, match=word):
            solve_ik(robot, goal, **wrong)
    for make in (
        lambda: reach_position("tool", [0.0, np.nan, 0.0]),
        lambda: reach_position("tool", [0.0, 0.0]),
        lambda: reach_position("tool", "here"),
        lambda: reach_position("tool", [0.0, 0.0, 0.0], weight=0.0),
        lambda: reach_position("tool", [0.0, 0.0, 0.0], weight=np.inf),
        lambda: reach_orientation("tool", np.full((3, 3), np.nan)),
        lambda: reach_pose("tool", np.full((4, 4), np.nan)),
        lambda: reach_center_of_mass([np.nan] * 3),
        lambda: solve_ik(robot, keep_posture(np.full(6, np.nan))),
        lambda: solve_ik(robot, keep_posture(np.zeros(5))),
        lambda: solve_ik(robot, reach_position(["tool"], [0.0, 0.0, 0.0])),
        lambda: solve_ik(robot, None),
        lambda: solve_ik(None, goal),
    ):
        with pytest.raises(MechanismError):
            make()
