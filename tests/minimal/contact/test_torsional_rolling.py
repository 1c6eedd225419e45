"""`Grounded`: friction against spinning and rolling: closed forms, as with `Maximal`, derivatives by differences."""

import numpy as np
import pytest

import leastaction as la
from leastaction.mechanism import Box, MechanismBuilder, Plane, Sphere
from tests.derivatives.checks import (
    assert_columns,
    assert_gradient,
    assert_linearized,
    assert_parameters,
)
from tests.maximal.contact.test_torsional_rolling import START, ball
from tests.oracles.differences import assert_close

RIGID = la.Grounded(tolerance=1e-13)


def pair(**surface):
    """A ball on a box on the ground, both of which may turn."""
    b = MechanismBuilder("pair")
    b.body("box", mass=1.3, inertia=(0.01, 0.02, 0.025), shapes=Box((0.3, 0.4, 0.2), name="skin", **surface))
    b.free("box")
    b.body("ball", mass=0.7, shapes=Sphere(0.1, name="skin", friction=0.3))
    b.free("ball")
    b.add_shape("world", Plane(friction=0.4, name="floor"))
    robot = b.build()
    q = robot.neutral()
    q[2], q[7], q[8], q[9] = 0.1, 0.03, -0.02, 0.3
    return robot, q


def test_a_ball_on_a_box_as_with_maximal():
    """It spins and rolls on a box that spins on the ground; both come to rest as with `Maximal`."""
    robot, q = pair(friction=0.6, spinning=0.02, rolling=0.004)
    v = np.array([0.0, 0.0, 3.0, 0.2, 0.0, 0.0, -1.0, 0.8, 4.0, 0.1, 0.15, 0.0])
    one, two = (la.simulate(robot, q, v, dt=0.0025, steps=80, integrator=i) for i in (la.Grounded(), la.Maximal()))
    moved = np.abs(robot.difference(q, two.q[-1])).max()
    assert np.abs(robot.difference(one.q[-1], two.q[-1])).max() < 0.02 * moved
    assert np.diff(one.energy).max() < 1e-8
    assert one.stored["contacts"][:, 9].min() > -1e-8


STATES = {
    "turns": ([0.3, 1.0, 2.0, 0.15, 0.0, 0.0], "spinning:ball/skin"),
    "holds": ([0.0, 0.0, 0.002, 0.0001, 0.0, -0.1], None),
    "falls": ([0.1, -0.7, 1.0, 0.3, 0.1, -0.8], "rolling:ball/skin"),
}


@pytest.mark.parametrize("kind", list(STATES))
def test_derivatives_of_a_ball(kind):
    v, name = STATES[kind]
    robot, q = ball(friction=0.6, spinning=0.01, rolling=0.004), np.array(START, float)
    q[2] += {"turns": 0.0, "holds": 1e-4, "falls": 3e-3}[kind]
    p = la.dynamics.mass_matrix(robot, q) @ np.array(v)
    compare = assert_close if kind == "holds" else assert_columns  # it stops: all columns of momenta are zero
    assert_linearized(robot, RIGID, q, p, np.zeros(robot.nu), 1e-5, 1e-6, compare)
    if name is not None:
        assert_parameters(robot, RIGID, q, p, np.zeros(robot.nu), [name], 1e-5, 1e-6)


def test_derivatives_of_a_ball_on_a_box():
    """Contacts that were looked for, between two bodies that turn; and a run of three steps."""
    robot, q = pair(friction=0.6, spinning=0.02, rolling=0.004)
    v = np.array([0.1, 0.2, 3.0, 0.2, 0.0, 0.0, -1.0, 0.8, 4.0, 0.1, 0.15, -0.5])
    q[[2, 9]] += 0.02, 0.023
    p = la.dynamics.mass_matrix(robot, q) @ v
    assert_linearized(robot, RIGID, q, p, np.zeros(robot.nu), 1e-5, 1e-6)
    assert_parameters(robot, RIGID, q, p, np.zeros(robot.nu), ["spinning:box/skin", "rolling:box/skin"], 1e-5, 1e-6)
    assert_gradient(robot, RIGID, q, p, np.zeros((3, robot.nu)), 1e-5, 1e-6)
