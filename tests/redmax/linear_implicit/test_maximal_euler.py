"""Maximal coordinates: the same motion as reduced ones, with joints that drift and are brought back."""

import numpy as np
import pytest

import leastaction as la
from leastaction import redmax
from leastaction.dynamics.loops import violation
from leastaction.redmax import ConstrainedEuler, MaximalEuler
from tests.oracles.random_trees import random_state, random_tree


@pytest.mark.parametrize("seed", range(6))
def test_states_survive_the_way_there_and_back(seed):
    robot = random_tree(seed, bodies=6, armature=False)
    q, v = random_state(robot, seed)
    states = redmax.MaximalMap(robot, redmax.taken_apart(robot))
    near = robot.integrate(q, np.random.default_rng(seed).uniform(-0.2, 0.2, robot.nv))
    q2, v2 = states.reduced(states.poses(q), states.twists(q, v), near)
    assert np.abs(robot.difference(q, q2)).max() < 1e-11
    assert np.abs(v2 - v).max() < 1e-10


@pytest.mark.parametrize("seed", range(3))
def test_forces_in_joints_have_the_same_power_as_wrenches_on_bodies(seed):
    robot = random_tree(seed, bodies=6, armature=False)
    q, v = random_state(robot, seed)
    tau = np.random.default_rng(seed).normal(size=robot.nv)
    states = redmax.MaximalMap(robot, redmax.taken_apart(robot))
    assert states.wrenches(q, tau) @ states.twists(q, v) == pytest.approx(tau @ v, rel=1e-10)


@pytest.mark.parametrize("name", ["pendulum", "spatial"])
def test_agreement_with_reduced_coordinates_is_of_first_order(name):
    robot = la.robots.pendulum(links=3) if name == "pendulum" else la.robots.pendulum(links=2, joint="spherical")
    q = robot.integrate(robot.neutral(), np.linspace(0.6, -0.3, robot.nv))
    v = np.linspace(-0.5, 0.8, robot.nv)
    exact = la.simulate(robot, q=q, v=v, dt=1e-3, steps=200, integrator=la.DOP853()).q[-1]
    errors = []
    for n in (50, 100, 200):
        run = la.simulate(robot, q=q, v=v, dt=0.2 / n, steps=n, integrator=MaximalEuler())
        errors.append(np.abs(robot.difference(exact, run.q[-1])).max())
    assert 1.6 < errors[0] / errors[1] < 2.5
    assert 1.6 < errors[1] / errors[2] < 2.5


@pytest.mark.parametrize("stabilization", ["baumgarte", "post", "none"])
def test_drift_of_joints(stabilization):
    robot = la.robots.pendulum(links=2)
    run = la.simulate(robot, q=[1.5, 0.5], dt=2e-3, steps=300, integrator=MaximalEuler(stabilization=stabilization))
    drift = violation(redmax.taken_apart(robot), run.stored["body_frames"])[-1]
    assert drift < {"baumgarte": 1e-2, "post": 1e-10, "none": 5e-2}[stabilization]
    if stabilization == "none":
        assert drift > 1e-4


def test_multipliers_are_the_reactions_of_the_joint():
    """-G' lambda / h are the joint's reactions (after 1.89): for a resting pendulum its weight."""
    robot = la.robots.pendulum(links=1)
    run = la.simulate(robot, q=[0.0], dt=1e-3, steps=2, integrator=MaximalEuler())
    assert np.abs(run.stored["multipliers"][-1]).max() == pytest.approx(robot.total_mass * 9.81, rel=1e-9)


def test_controls_and_a_closed_loop():
    robot = la.robots.three_link_loop()
    q = la.dynamics.loops.close_loops(robot, la.robots.home(robot))
    u = np.linspace(0.5, -0.5, robot.nu)
    runs = [
        la.simulate(robot, q=q, dt=5e-4, steps=200, integrator=method, controls=u)
        for method in (MaximalEuler(), ConstrainedEuler())
    ]
    assert np.abs(runs[0].q[-1] - runs[1].q[-1]).max() < 2e-3


def test_refusals():
    robot = la.robots.pendulum(links=2)
    names = robot.coordinate_names
    b = robot.edit()
    b.coupling("gear", names[1], names[0])
    with pytest.raises(la.IntegratorError, match="gear"):
        la.simulate(b.build(), steps=1, integrator=MaximalEuler())
    with pytest.raises(la.IntegratorError, match="friction"):
        MaximalEuler(friction="some")
