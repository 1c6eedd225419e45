"""Prescribed motions in `BDF`: the motion of the other joints, the forces it takes, and refusals."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import leastaction as la
from leastaction import redmax
from leastaction.redmax import PrescribedMotion


def swing(name):
    return PrescribedMotion(name, math.cos, math.sin)


def exact(robot, name, q, v, duration):
    """The other joints by hybrid dynamics (Algorithm 9), whose acceleration of the driven one is prescribed."""

    def rate(t, y):
        a = redmax.hybrid_dynamics(robot, y[: robot.nv], y[robot.nv :], prescribed={name: -math.sin(t)}).a
        return np.concatenate([y[robot.nv :], a])

    end = solve_ivp(rate, (0, duration), np.concatenate([q, v]), rtol=1e-11, atol=1e-12).y[:, -1]
    return end[: robot.nv], end[robot.nv :]


@pytest.mark.parametrize("order", [1, 2])
def test_order(order):
    """The middle joint of a chain swings as told; the others follow, to the order of the method."""
    robot = la.robots.pendulum(links=3)
    name = robot.velocity_names[1]
    q, v = np.array([0.3, 0.0, 0.2]), np.array([0.0, 1.0, 0.0])
    end = exact(robot, name, q, v, 0.4)
    errors = []
    for n in (80, 160):
        method = la.BDF(order=order, constraints=(swing(name),))
        run = la.simulate(robot, q, v, dt=0.4 / n, steps=n, integrator=method)
        assert np.abs(run.q[:, 1] - np.sin(run.t)).max() < 1e-12
        errors.append(np.abs(run.q[-1] - end[0]).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.25)


def test_force_is_that_of_hybrid_dynamics():
    robot = la.robots.pendulum(links=3)
    name = robot.velocity_names[1]
    method = la.BDF(order=2, constraints=(swing(name),))
    run = la.simulate(robot, [0.3, 0, 0.2], [0, 1, 0], dt=1e-3, steps=400, integrator=method)
    found = redmax.hybrid_dynamics(robot, run.q[-1], run.v[-1], prescribed={name: -math.sin(run.t[-1])})
    assert run.stored["multipliers"][-1, 0] == pytest.approx(found.u[1], rel=1e-4)


def test_one_joint_alone_and_a_later_start():
    """Nothing is left to solve for but the force: that of inverse dynamics."""
    robot = la.robots.pendulum()
    motion = PrescribedMotion(robot.velocity_names[0], lambda t: 2 * t, lambda t: t * t)
    method = la.BDF(order=2, constraints=(motion,))
    run = la.simulate(robot, [0.25], [1.0], dt=0.01, steps=50, start=0.5, integrator=method)
    assert np.abs(run.q[:, 0] - run.t**2).max() < 1e-12
    needed = la.dynamics.inverse_dynamics(robot, run.q[-1], run.v[-1], [2.0])
    assert run.stored["multipliers"][-1, 0] == pytest.approx(needed[0], rel=1e-9)


def test_loops_can_be_driven():
    robot = la.robots.four_bar()
    q = la.dynamics.close_loops(robot, la.robots.home(robot))
    name = robot.velocity_names[0]
    motion = PrescribedMotion(name, math.cos, lambda t: q[0] + 0.3 * (1 - math.cos(2 * t)))
    for method in (la.BDF(order=1, constraints=(motion,)), la.BDF(order=2, constraints=(motion,))):
        run = la.simulate(robot, q, dt=5e-3, steps=100, integrator=method)
        assert run.constraint_violation.max() < 1e-11
        assert np.abs(run.q[:, 0] - [motion.position(t) for t in run.t]).max() < 1e-11


@pytest.mark.parametrize("chart", ["euler", "exponential"])
def test_balls_change_charts_beside_a_driven_joint(chart):
    b = la.MechanismBuilder("carousel")
    b.body("disc", mass=1.0, inertia=0.1)
    b.revolute("axle", "world", "disc", axis="z")
    b.body("rod", mass=1.0, com=(0, 0, -0.3), inertia=(0.05, 0.05, 0.01))
    b.spherical("ball", "disc", "rod", position=(0.5, 0, 0))
    robot = b.build()
    motion = PrescribedMotion("axle", lambda t: 6.0 * t, lambda t: 3.0 * t * t)
    v = np.array([0.0, 1.0, 7.0, 0.5])
    ends = []
    for n in (200, 400, 800):
        method = la.BDF(order=2, chart=chart, constraints=(motion,))
        run = la.simulate(robot, v=v, dt=0.6 / n, steps=n, integrator=method)
        ends.append(run.q[-1])
    assert chart == "exponential" or len(np.unique(run.stored["chart"])) > 1
    one, two = (np.abs(robot.difference(a, b)).max() for a, b in itertools.pairwise(ends))
    assert np.log2(one / two) == pytest.approx(2.0, abs=0.3)


def test_refusals():
    robot = la.robots.pendulum(links=2)
    name = robot.velocity_names[0]
    with pytest.raises(la.IntegratorError, match="begin there"):
        la.simulate(robot, [0.3, 0.0], steps=1, integrator=la.BDF(constraints=(swing(name),)))
    with pytest.raises(la.IntegratorError, match="needs its position"):
        la.simulate(robot, steps=1, integrator=la.BDF(constraints=(PrescribedMotion(name, math.cos),)))
    twist = redmax.PrescribedTwist(robot.body_names[0], lambda t: np.zeros(6))
    with pytest.raises(la.IntegratorError, match="ConstrainedEuler"):
        la.simulate(robot, steps=1, integrator=la.BDF(constraints=(twist,)))
    with pytest.raises(la.MechanismError, match="unknown degree of freedom"):
        la.simulate(robot, steps=1, integrator=la.BDF(constraints=(swing("knee"),)))
    loop = la.robots.four_bar(closure="revolute")
    with pytest.raises(la.IntegratorError, match="closes a loop"):
        la.simulate(loop, la.robots.home(loop), steps=1, integrator=la.BDF(constraints=(swing(loop.loops[0].name),)))
    run = la.simulate(robot, steps=2, integrator=la.BDF(constraints=(swing(name),)))
    with pytest.raises(la.IntegratorError, match="adjoint"):
        la.derivatives.gradient(run, run.v, run.v, ["controls"])
