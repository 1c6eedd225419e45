"""Drag: the laws of motion in air and water, and what a force in `Mechanism.forces` can do without code of its own."""

import math

import numpy as np
import pytest

import leastaction as la
from leastaction.derivatives import parameter, with_parameters
from leastaction.mechanism import Drag
from leastaction.mechanism.text import codec


def ball(**air):
    """A ball that falls."""
    b = la.MechanismBuilder("ball")
    b.body("ball", mass=2.0, inertia=0.1)
    b.prismatic("fall", "world", "ball", axis="z")
    b.drag("air", "ball", **air)
    return b.build()


@pytest.mark.parametrize("integrator", [la.RungeKutta(), la.Galerkin(order=4)], ids=["RungeKutta", "Galerkin"])
def test_a_ball_falls_as_newton_says(integrator):
    """v = -v_end tanh(g t / v_end) with v_end = sqrt(m g / c)."""
    run = la.simulate(ball(quadratic=0.5), dt=0.01, steps=100, integrator=integrator, progress=False)
    end = math.sqrt(2.0 * 9.81 / 0.5)
    assert run.v[-1, 0] == pytest.approx(-end * math.tanh(9.81 / end), rel=1e-8)


def test_drag_takes_energy_away():
    robot = la.robots.pendulum(2)
    b = robot.edit()
    b.drag("air", "link2", linear=0.2, quadratic=0.1, point=(0, 0, -1))
    run = la.simulate(b.build(), [1.0, 0.5], dt=0.01, steps=100, integrator=la.RungeKutta(), progress=False)
    assert (np.diff(run.energy) < 0.0).all()


def test_gradients_by_coefficients_and_point():
    """By the adjoint method, against central differences of the same run."""
    b = la.robots.pendulum(2).edit()
    b.drag("air", "link2", linear=0.3, quadratic=0.2, point=(0.1, 0.2, -0.8))
    robot = b.build()
    options = {"q": [1.0, 0.5], "v": [2.0, -1.0], "dt": 0.02, "steps": 5}

    def objective(run):
        slopes = np.zeros_like(run.v)
        slopes[-1] = 2.0 * run.v[-1]
        return float((run.v[-1] ** 2).sum()), None, slopes

    def value(name, x):
        run = la.simulate(with_parameters(robot, {name: x}), integrator=la.BDF(order=2), progress=False, **options)
        return float((run.v[-1] ** 2).sum())

    names = ["linear:air", "quadratic:air", "point:air"]
    _, found = la.adjoint(robot, la.BDF(order=2), objective, names, **options)
    for name in names:
        x = parameter(robot, name)
        for k in range(x.size):
            h = 1e-5 * np.eye(x.size)[k].reshape(x.shape)
            slope = (value(name, x + h) - value(name, x - h)) / 2e-5
            assert np.ravel(found[name])[k] == pytest.approx(slope, rel=1e-6, abs=1e-8)


def test_stored_edited_named_and_refused():
    robot = ball(linear=1.0, quadratic=2.0)
    assert codec.from_json(codec.to_json(robot)) == robot
    assert robot.forces == (Drag("air", "ball", (0.0, 0.0, 0.0), 1.0, 2.0),)
    assert "drag 'air' on ball: linear 1, quadratic 2" in robot.summary()
    b = robot.edit()
    b.remove("air")
    assert b.build().forces == ()
    b.add(Drag("water", "ball", linear=3.0))
    assert b.build().forces[0].linear == 3.0
    with pytest.raises(la.MechanismError, match="drag 'air': linear"):
        Drag("air", "ball", linear=-1.0)
    b.add(Drag("wind", "nobody", linear=3.0))
    with pytest.raises(la.MechanismError, match="nobody"):
        b.build()
