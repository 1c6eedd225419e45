"""Positions and momenta converge with order 2 where contacts slide, roll and stick, in both contact integrators."""

import numpy as np
import pytest

import leastaction as la
from leastaction.mechanism import Box, MechanismBuilder, Plane, Pose, Sphere

METHODS = (la.Maximal(), la.Minimal())
STEPS = (0.01, 0.005, 0.0025)


def ball(friction):
    """A ball of 0.1 m on the ground."""
    b = MechanismBuilder("ball")
    b.body("ball", mass=1.0, shapes=Sphere(0.1, friction=friction))
    b.free("ball")
    b.add_shape("world", Plane())
    return b.build(), np.array([0, 0, 0.1, 1, 0, 0, 0])


def rod(friction, angle=0.3):
    """A rod with a round foot that leans by an angle on the ground."""
    b = MechanismBuilder("rod")
    foot = Sphere(0.02, pose=Pose((0, 0, -0.25)), friction=friction)
    b.body("rod", mass=1.0, inertia=(0.02, 0.02, 0.001), shapes=foot)
    b.free("rod")
    b.add_shape("world", Plane())
    q = [0.25 * np.sin(angle), 0, 0.02 + 0.25 * np.cos(angle), np.cos(angle / 2), 0, np.sin(angle / 2), 0]
    return b.build(), np.array(q)


CASES = {
    "slides": (*ball(0.2), [3, 1, 2, 1, 0.5, 0], 0.1),
    "rod slides": (*rod(0.1), [0, 0, 0, 0, 0, 0], 0.3),
    "rod sticks": (*rod(2.0), [0, 0, 0, 0, 0, 0], 0.3),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_order_of_positions_and_momenta(method, name):
    """Errors fall by four where the step is halved: friction knows how far points are displaced in a step."""
    robot, q, v, duration = CASES[name]

    def end(dt):
        run = la.simulate(robot, q, v, dt=dt, duration=duration, integrator=method, progress=False)
        return run.q[-1], run.p[-1]

    exact_q, exact_p = end(STEPS[-1] / 8)
    errors = []
    for found_q, found_p in map(end, STEPS):
        errors.append([np.abs(robot.difference(exact_q, found_q)).max(), np.abs(exact_p - found_p).max()])
    orders = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert np.all(np.abs(orders - 2.0) < 0.1)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_even_rolling_goes_on(method):
    """A ball that rolls keeps its velocity, whatever it turns by in a step."""
    robot, q = ball(0.5)
    run = la.simulate(robot, q, [0, 30, 0, 3, 0, 0], dt=0.01, steps=100, integrator=method, progress=False)
    twist = run.v[:, 1] * 0.1  # spin times radius
    assert np.abs(np.linalg.norm(run.v[:, 3:], axis=1) - 3.0).max() < 1e-6
    assert np.abs(twist - 3.0).max() < 1e-6


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_a_corner_that_sticks_stays_where_it_is(method):
    """A block tips over an edge that sticks: its corners do not creep, beyond what the compliance gives way by."""
    b = MechanismBuilder("block")
    b.body("block", mass=1.0, shapes=Box((0.1, 0.2, 0.5), friction=1.5))
    b.free("block")
    b.add_shape("world", Plane())
    robot, lean = b.build(), 0.5
    turn = Pose.from_axis_angle("y", lean)
    corners = np.array([[0.05, y, -0.25] for y in (-0.1, 0.1)])
    q = np.concatenate([[0, 0, -(turn.rotation @ corners[0])[2]], turn.quaternion])
    run = la.simulate(robot, q, dt=0.01, steps=20, integrator=method, progress=False)
    places = [la.dynamics.body_poses(robot, q)[0] for q in run.q]
    for corner in corners:
        moved = np.array([X[:3, :3] @ corner + X[:3, 3] for X in places])
        assert np.abs(moved - moved[0])[:, :2].max() < 1e-6
    assert run.q[-1, 2] < run.q[0, 2] - 0.01  # it does tip
