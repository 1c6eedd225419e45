"""Forces of the mechanism itself: each is minus the gradient of its energy, dampers only take energy away."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leastaction as la
from leastaction import dynamics
from tests.oracles.differences import assert_close, by_q, central
from tests.oracles.random_trees import KINDS, random_state, random_tree, seeds

MOVING = tuple(kind for kind in KINDS if kind != "fixed")


def without_gravity(seed, bodies, kinds=("revolute", "spherical", "prismatic", "free"), **properties):
    return random_tree(seed, bodies, kinds, gravity=(0, 0, 0), **properties)


def with_joint_springs(robot, rng):
    """Springs of different stiffness on every degree of freedom, relaxed at a random configuration."""
    rest, joints, k = robot.random_configuration(rng), [], 0
    for joint in robot.joints:
        stiffness = rng.uniform(1.0, 5.0, joint.nv)
        joints.append(replace(joint, stiffness=tuple(stiffness), rest=tuple(rest[k : k + joint.nq])))
        k += joint.nq
    return robot.replace(joints=tuple(joints)), rest


def with_elements(robot, rng, stiffness=20.0, damping=0.0, rest=0.1):
    """A spring to the world, one between bodies, a cable over four points, and one that also pushes."""
    first, last = robot.body_names[0], robot.body_names[-1]
    points = rng.uniform(-0.5, 0.5, (8, 3))
    b = robot.edit()
    options = {"stiffness": stiffness, "damping": damping}
    b.spring("to the world", ("world", points[0]), (last, points[1]), rest_length=rest, **options)
    b.spring("between", (first, points[2]), (last, points[3]), rest_length=0.0, **options)
    via = [("world", points[4]), (first, points[5]), (last, points[6]), ("world", points[7])]
    b.cable("taut", via, rest_length=rest, **options)
    b.cable("slack", via, rest_length=100.0, **options)
    b.cable("pushes", via[:3], rest_length=100.0, pulls_only=False, **options)
    return b.build()


def check_gradient(robot, q):
    gradient = by_q(robot, lambda x: dynamics.potential_energy(robot, x), q, 2e-4)
    assert np.abs(gradient).max() > 0.0
    assert_close(dynamics.passive_forces(robot, q, None), -gradient, 1e-7)


@pytest.mark.parametrize("kind", MOVING)
def test_joint_springs(kind):
    rng = np.random.default_rng(MOVING.index(kind))
    robot, rest = with_joint_springs(without_gravity(7, 3, (kind,)), rng)
    check_gradient(robot, robot.integrate(rest, rng.uniform(-0.5, 0.5, robot.nv)))
    assert dynamics.potential_energy(robot, rest) <= 1e-28
    assert np.abs(dynamics.passive_forces(robot, rest, None)).max() <= 1e-13


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-4, 1.0, 3.0, 3.14])
def test_spring_of_a_ball_joint_at_all_angles(angle):
    """Energy is k angle^2 / 2 when the spring is equal about all axes, up to half a turn away."""
    b = la.MechanismBuilder(gravity=(0, 0, 0))
    b.body("ball", mass=1.0, inertia=0.1)
    b.spherical("joint", "world", "ball", stiffness=3.0)
    robot = b.build()
    axis = np.array([2.0, -1.0, 2.0]) / 3.0
    for sign in (1.0, -1.0):  # a quaternion and its negative are the same orientation
        q = sign * np.array([np.cos(angle / 2), *np.sin(angle / 2) * axis])
        assert dynamics.potential_energy(robot, q) == pytest.approx(1.5 * angle**2, rel=1e-12, abs=1e-30)
        assert_close(dynamics.passive_forces(robot, q, None), -3.0 * angle * axis, 1e-13)


@given(seeds, st.integers(1, 5))
@settings(max_examples=15, deadline=None)
def test_springs_and_cables(seed, bodies):
    robot = with_elements(without_gravity(seed, bodies), np.random.default_rng(seed))
    check_gradient(robot, random_state(robot, seed)[0])


def test_a_slack_cable_does_nothing():
    robot = without_gravity(3, 2)
    b = robot.edit()
    b.cable("slack", ["world", "body1"], stiffness=100.0, rest_length=50.0, damping=10.0)
    slack = b.build()
    q, v = random_state(slack, 1)
    assert not dynamics.passive_forces(slack, q, v).any()
    assert dynamics.potential_energy(slack, q) == 0.0


def test_tension_of_a_cable_over_a_via_point():
    """A weight hangs on a cable that runs over a fixed point: tension k (length - rest), straight up."""
    b = la.MechanismBuilder(gravity=(0, 0, 0))
    b.body("weight", mass=1.0)
    b.prismatic("guide", "world", "weight", axis="z")
    b.cable("rope", [("world", (3, 0, 0)), "world", "weight"], stiffness=10.0, rest_length=4.0, damping=2.0)
    robot = b.build()
    assert dynamics.passive_forces(robot, [-2.0], [0.0]) == pytest.approx([10.0])  # length 5
    assert dynamics.passive_forces(robot, [-2.0], [-0.5]) == pytest.approx([11.0])  # and getting longer
    assert dynamics.passive_forces(robot, [-0.5], [-0.5]) == pytest.approx([0.0])  # length 3.5: slack
    assert dynamics.passive_forces(robot, [-2.0], [8.0]) == pytest.approx([0.0])  # its damper would push: slack too


@given(seeds, st.integers(1, 5))
@settings(max_examples=15, deadline=None)
def test_dampers_take_energy_away(seed, bodies):
    """Power is -sum c v^2 for joints and -c (dl/dt)^2 for springs and for taut cables that grow longer."""
    c = 0.7
    robot = with_elements(without_gravity(seed, bodies), np.random.default_rng(seed), stiffness=0.0, damping=c)
    q, v = random_state(robot, seed)
    expected = 0.0
    poses = [dynamics.body_poses(robot, robot.integrate(q, h * v)) for h in (-1e-6, 1e-6)]
    elements = [((s.start, s.end), False) for s in robot.springs]
    elements += [(x.via, x.pulls_only) for x in robot.cables if x.name != "slack"]
    for via, pulls_only in elements:
        lengths = []
        for X in poses:
            points = [np.array(p.point) if p.body == "world" else world_point(robot, X, p) for p in via]
            lengths.append(sum(np.linalg.norm(b - a) for a, b in pairwise(points)))
        rate = (lengths[1] - lengths[0]) / 2e-6
        expected -= c * (max(rate, 0.0) if pulls_only else rate) ** 2
    assert v @ dynamics.passive_forces(robot, q, v) == pytest.approx(expected, rel=1e-6, abs=1e-8)

    damped = without_gravity(seed, bodies, damping=c)
    assert v @ dynamics.passive_forces(damped, q, v) == pytest.approx(-c * v @ v, rel=1e-12)


def world_point(robot, poses, attachment):
    return (poses[robot.body_index(attachment.body)] @ [*attachment.point, 1.0])[:3]


@pytest.mark.parametrize("frame", ["world", "body"])
@given(seed=seeds)
@settings(max_examples=10, deadline=None)
def test_constant_wrenches(frame, seed):
    """Generalised forces are J' w, with J at the point and in the frame of the wrench."""
    rng = np.random.default_rng(seed)
    robot = without_gravity(seed, 4)
    wrench, point = rng.normal(size=6), rng.normal(size=3)
    b = robot.edit()
    b.wrench("push", "body2", wrench, point=point, frame=frame)
    pushed = b.build()
    q, v = random_state(pushed, seed)
    J = dynamics.body_jacobian(robot, q, "body2", point=point, frame=frame)
    assert_close(dynamics.passive_forces(pushed, q, v), J.T @ wrench)


@given(seeds, st.integers(1, 5))
@settings(max_examples=15, deadline=None)
def test_power_balance(seed, bodies):
    """dE/dt = v' (dampers + wrenches + controls), with springs, cables and gravity inside E."""
    rng = np.random.default_rng(seed)
    robot = random_tree(seed, bodies, ("revolute", "spherical", "prismatic", "free"), damping=0.3)
    robot, rest = with_joint_springs(robot, rng)
    b = with_elements(robot, rng).edit()
    b.wrench("push", robot.body_names[-1], rng.normal(size=6))
    robot = b.build()
    q, v = robot.integrate(rest, rng.uniform(-0.5, 0.5, robot.nv)), rng.normal(size=robot.nv)
    u = rng.normal(size=robot.nv)
    a = dynamics.forward_dynamics(robot, q, v, dynamics.passive_forces(robot, q, v) + u)

    def energy(h):
        x = robot.integrate(q, h * v)
        return dynamics.kinetic_energy(robot, x, v + h * a) + dynamics.potential_energy(robot, x)

    push = dynamics.body_jacobian(robot, q, robot.body_names[-1]).T @ robot.wrenches[0].wrench
    assert_close(central(energy, 1e-4), v @ (u - 0.3 * v + push), 1e-6)


def test_passive_forces_leave_nothing_for_the_next_call():
    """Functions of one mechanism share their scratch: accelerations do not depend on what was asked for before."""
    rng = np.random.default_rng(2)
    robot = with_elements(random_tree(2, 4, ("revolute", "spherical")), rng)
    q, v = robot.random_configuration(3), rng.normal(size=robot.nv)
    before = dynamics.forward_dynamics(robot, q, v), dynamics.inverse_dynamics(robot, q, v, v)
    dynamics.passive_forces(robot, q, v)
    after = dynamics.forward_dynamics(robot, q, v), dynamics.inverse_dynamics(robot, q, v, v)
    assert np.array_equal(before[0], after[0])
    assert np.array_equal(before[1], after[1])
