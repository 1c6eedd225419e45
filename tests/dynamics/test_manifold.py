"""Configurations as points of a Lie group: `integrate` and `difference` are each other's inverse."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leastaction as la
from leastaction.kinematics.manifold import chart_rate, retract
from tests.oracles.differences import assert_close, central
from tests.oracles.random_trees import few, random_state, seeds, trees


@given(trees(5), seeds, st.sampled_from([1e-12, 1e-4, 0.5, 1.5]))
@few
def test_round_trip(robot, seed, size):
    q, x = random_state(robot, seed, size)
    x = np.clip(x, -1.7, 1.7)  # rotation vectors stay shorter than pi
    assert_close(robot.difference(q, robot.integrate(q, x)), x, 1e-12)
    other = robot.random_configuration(seed + 1)
    there = robot.integrate(q, robot.difference(q, other))
    assert_close(robot.difference(there, other), np.zeros(robot.nv), 1e-9)
    assert_close(la.dynamics.body_poses(robot, there), la.dynamics.body_poses(robot, other), 1e-9)


@given(trees(5), seeds)
@few
def test_group_axioms(robot, seed):
    """Zero is neutral; steps along one tangent vector add up; the way back is the opposite step."""
    q, x = random_state(robot, seed)
    assert_close(robot.integrate(q, 0 * x), q, 1e-15)
    half = robot.integrate(robot.integrate(q, 0.3 * x), 0.7 * x)
    assert_close(half, robot.integrate(q, x), 1e-12)
    assert_close(robot.integrate(robot.integrate(q, x), -x), q, 1e-12)
    small = 0.1 * x
    end = robot.integrate(q, small)
    assert_close(robot.difference(end, q), -robot.difference(q, end), 1e-12)


@given(trees(5), seeds)
@few
def test_many_at_once(robot, seed):
    rng = np.random.default_rng(seed)
    q = np.array([robot.random_configuration(rng) for _ in range(3)])
    x = 0.3 * rng.normal(size=(3, robot.nv))
    moved = robot.integrate(q, x)
    assert_close(moved, [robot.integrate(a, b) for a, b in zip(q, x, strict=True)], 0.0)
    assert_close(robot.difference(q, moved), [robot.difference(a, b) for a, b in zip(q, moved, strict=True)], 0.0)
    assert_close(robot.integrate(q[0], x), [robot.integrate(q[0], b) for b in x], 0.0)


@given(trees(5), seeds, st.sampled_from([1e-9, 0.1, 2.0]))
@settings(max_examples=15, deadline=None)
def test_kernels_move_as_the_mechanism_does(robot, seed, size):
    q, x = random_state(robot, seed, size)
    nodes, out = robot.tree.nodes, np.zeros(robot.nq)
    retract(nodes, q, x, out)
    assert_close(out, robot.integrate(q, x), 1e-13)


@given(trees(4), seeds)
@settings(max_examples=15, deadline=None)
def test_chart_rate_is_the_rate_of_exponential_coordinates(robot, seed):
    """q + x(t) moves with velocity v when dx/dt = dexp^-1(x) v."""
    q, x = random_state(robot, seed, 0.5)
    v = np.random.default_rng(seed).normal(size=robot.nv)
    rate = np.zeros(robot.nv)
    chart_rate(robot.tree.nodes, x, v, rate)
    here = robot.integrate(q, x)
    assert_close(central(lambda h: robot.difference(here, robot.integrate(q, x + h * rate)), 1e-3), v, 1e-9)


@given(trees(5), seeds)
@few
def test_velocities_are_rates_of_coordinates(robot, seed):
    """dq/dt of plain coordinates and quaternions agrees with moving along the tangent."""
    from leastaction.mechanism.configuration import quaternion_rate

    q, v = random_state(robot, seed)
    assert_close(quaternion_rate(robot, q, v), central(lambda h: robot.integrate(q, h * v), 1e-3), 1e-10)


def test_half_a_turn_and_the_same_orientation_twice():
    b = la.MechanismBuilder()
    b.body("ball", mass=1.0, inertia=0.1)
    b.spherical("joint", "world", "ball")
    robot = b.build()
    x = np.array([0.0, 0.0, np.pi])
    turned = robot.integrate([1.0, 0, 0, 0], x)
    assert np.abs(robot.difference([1.0, 0, 0, 0], turned)) == pytest.approx(x, abs=1e-15)
    q = np.array([0.5, 0.5, -0.5, 0.5])
    assert_close(robot.difference(q, -q), np.zeros(3), 1e-15)


def test_normalize():
    b = la.MechanismBuilder()
    b.body("ball", mass=1.0, inertia=0.1)
    b.free("ball")
    robot = b.build()
    q = robot.normalize([1.0, 2.0, 3.0, 0.0, 3.0, 0.0, 4.0])
    assert_close(q, [1.0, 2.0, 3.0, 0.0, 0.6, 0.0, 0.8], 1e-15)
    with pytest.raises(la.MechanismError, match=r"ball_free\.qw"):
        robot.normalize(np.zeros(7))
    with pytest.raises(la.MechanismError, match="expected shape"):
        robot.integrate(robot.neutral(), np.zeros(7))
