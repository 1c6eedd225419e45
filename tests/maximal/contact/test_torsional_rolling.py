"""Friction against spinning and rolling: closed forms, and derivatives against differences."""

import numpy as np
import pytest

import leastaction as la
from leastaction.mechanism import MechanismBuilder, Plane, Sphere
from leastaction.parameters.parameters import parameter, with_parameters
from tests.maximal.scenes import G

RADIUS, MASS, DT = 0.1, 2.0, 0.005


def ball(**surface):
    b = MechanismBuilder("ball")
    b.body("ball", mass=MASS, shapes=Sphere(RADIUS, name="skin", **surface))
    b.free("ball")
    b.add_shape("world", Plane())
    return b.build()


START = [0, 0, RADIUS, 1, 0, 0, 0]


def test_derivatives_of_a_ball_that_spins_and_rolls():
    """By state and by the coefficients, against differences; smoothed, so that there is a slope everywhere."""
    integrator = la.Maximal(smoothing=1e-4)
    robot = ball(friction=0.6, spinning=0.01, rolling=0.004)
    v = np.array([0.1, 1.0, 2.0, 0.1, 0.0, 0.0])
    q, p = np.array(START, float), la.dynamics.mass_matrix(robot, START) @ v

    def step(robot, dq, dp):
        run = la.simulate(robot, robot.integrate(q, dq), p=p + dp, dt=DT, steps=1, integrator=integrator)
        return np.concatenate([robot.difference(center.q[-1], run.q[-1]), run.p[-1]])

    center = la.simulate(robot, q, p=p, dt=DT, steps=1, integrator=integrator)
    A, _ = la.linearize(robot, integrator, q, p, np.zeros(robot.nu), DT)
    h = 1e-6
    for j in range(12):
        d = h * np.eye(12)[j]
        slope = (step(robot, d[:6], d[6:]) - step(robot, -d[:6], -d[6:])) / (2 * h)
        np.testing.assert_allclose(A[:, j], slope, atol=1e-4 * max(1.0, np.abs(slope).max()))
    names = ("friction:ball/skin", "spinning:ball/skin", "rolling:ball/skin")
    by_name = la.derivatives.parameter_jacobian(robot, integrator, q, p, dt=DT, parameters=names)
    for name in names:
        value = parameter(robot, name)
        ends = [step(with_parameters(robot, {name: value + d}), np.zeros(6), np.zeros(6)) for d in (h, -h)]
        slope = (ends[0] - ends[1]) / (2 * h)
        np.testing.assert_allclose(np.ravel(by_name[name]), slope, atol=2e-5 * np.abs(slope).max())


def test_a_ball_that_hardly_spins_any_more():
    """While it spins at all, friction is mu m g dt in each step: a change of the spin turns the ball by it in all five.

    In the last of them the interior point method stops half-way to sticking; derivatives are those of the law.
    """
    mu, steps, slow = 0.02, 5, 0.001
    b = MechanismBuilder("ball")
    b.body("ball", mass=1.0, inertia=(0.005, 0.006, 0.007), shapes=Sphere(RADIUS))
    b.free("ball")
    b.add_shape("world", Plane(friction=0.5, spinning=mu, rolling=0.01))
    robot, dt = b.build(), 0.01
    speed = 4.5 * mu * G * dt / 0.007 + slow
    run = la.simulate(robot, START, [0, 0.4, speed, -0.04, 0, 0], dt=dt, steps=steps, integrator=la.Maximal(2))
    bars = np.zeros((steps + 1, robot.nv))
    bars[-1, 2] = 1.0
    found = la.derivatives.gradient(run, bars, None, ["v"])["v"][2]
    assert found == pytest.approx(steps * dt, rel=1e-3)


def test_what_comes_to_rest_takes_few_iterations():
    """Friction against turning is weighed with inertias: balls that stop spinning and rolling stick at once."""
    b = MechanismBuilder("balls that turn")
    for i in range(3):
        b.body(f"ball{i}", mass=1.0, inertia=0.001, shapes=Sphere(0.05))
        b.free(f"ball{i}")
    b.add_shape("world", Plane(friction=0.6, spinning=0.002, rolling=0.001))
    robot = b.build()
    q, v = robot.neutral().reshape(3, 7), np.zeros((3, 6))
    q[:, 0], q[:, 2] = (0.0, 0.3, 0.6), 0.05
    v[:, 1], v[:, 2] = (0.2, 0.6, 1.0), (0.3, 0.6, 0.9)
    v[:, 3] = 0.05 * v[:, 1]
    run = la.simulate(robot, q.ravel(), v.ravel(), dt=0.005, steps=200, integrator=la.Maximal())
    assert np.abs(run.v[-1]).max() < 1e-8
    assert run.iterations.max() <= 10
