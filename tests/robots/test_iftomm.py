"""Andrews' squeezer, Bricard's linkage and the flyball governor against independent solutions."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from leastaction import dynamics, robots
from tests.robots.kinematics import constrained_acceleration, loop_jacobian, loop_residual, point, rank

DATA = json.loads((Path(__file__).parents[1] / "data" / "iftomm.json").read_text())
# order of the angles in the Test Set for IVP Solvers
ANGLES = ("beta", "theta", "gamma", "phi", "delta", "omega", "epsilon")


@pytest.fixture
def squeezer():
    return robots.andrews_squeezer()


def from_test_set(robot, values):
    by_name = dict(zip(ANGLES, values, strict=True))
    return np.array([by_name[name] for name in robot.coordinate_names])


def test_the_squeezer_starts_as_the_test_set_says(squeezer):
    start = [robots.ANDREWS_START[name] for name in ANGLES]
    np.testing.assert_allclose(start, DATA["A03"]["start"], rtol=1e-15)
    beta = start[0]
    crank_end = 0.007 * np.array([np.cos(beta), np.sin(beta), 0])
    np.testing.assert_allclose(point(squeezer, np.zeros(7), "OF", (0.007, 0, 0)), crank_end, atol=1e-17)


def test_first_acceleration_of_the_squeezer(squeezer):
    a = constrained_acceleration(squeezer, np.zeros(7), np.zeros(7))
    expected = from_test_set(squeezer, [*DATA["A03"]["acceleration"], 0, 0, 0, 0, 0])
    np.testing.assert_allclose(a, expected, atol=0.01)  # central differences of the loops: 1e-6 of the largest


def test_energy_balance_of_the_squeezer_over_its_reference_run(squeezer):
    """T + V - torque * turned angle is the same at the start and in the reference state at t = 0.03 s."""
    q = from_test_set(squeezer, DATA["A03"]["angles"]) - from_test_set(squeezer, DATA["A03"]["start"])
    v = from_test_set(squeezer, DATA["A03"]["rates"])
    assert np.abs(loop_residual(squeezer, q)).max() < 1e-13
    assert np.abs(loop_jacobian(squeezer, q) @ v).max() < 1e-6
    work = 0.033 * q[squeezer.coordinate_index("beta")]
    gained = dynamics.potential_energy(squeezer, q) - dynamics.potential_energy(squeezer, np.zeros(7))
    kinetic = dynamics.kinetic_energy(squeezer, q, v)
    assert kinetic + gained == pytest.approx(work, rel=1e-8)


def test_bricard_moves_although_it_is_overconstrained():
    robot = robots.bricard()
    J = loop_jacobian(robot, robot.neutral())
    assert J.shape == (5, 5)
    assert rank(J) == 4


@pytest.mark.parametrize("k", range(len(DATA["A04"]["t"])))
def test_bricard_closes_along_the_reference_run(k):
    robot, q, v = robots.bricard(), np.array(DATA["A04"]["angles"][k]), np.array(DATA["A04"]["rates"][k])
    assert np.abs(loop_residual(robot, q)).max() < 1e-12
    assert np.abs(loop_jacobian(robot, q) @ v).max() < 1e-8
    np.testing.assert_allclose(point(robot, q, "bar3", (0, 0, 0)), DATA["A04"]["P3"][k], atol=1e-12)
    start = dynamics.potential_energy(robot, robot.neutral())
    energy = dynamics.kinetic_energy(robot, q, v) + dynamics.potential_energy(robot, q)
    assert energy == pytest.approx(start, abs=1e-10)


def test_the_governor_starts_as_in_the_benchmark():
    robot = robots.flyball_governor()
    q, v = robots.home(robot), np.array([2 * np.pi, 0, 0, 0])
    assert robot.velocity_names == ("spin", "right_hinge", "left_hinge", "slide")
    assert dynamics.momentum(robot, q, v)[2] == pytest.approx(DATA["A05"]["angular_momentum"], rel=1e-14)
    np.testing.assert_allclose(dynamics.passive_forces(robot, q, 0 * v), 0.0, atol=1e-9)  # springs relaxed
    tip = 0.05 + np.cos(np.pi / 6)
    np.testing.assert_allclose(point(robot, q, "right_rod", (1, 0, 0)), [tip, 0, 0.5], atol=1e-15)
    np.testing.assert_allclose(point(robot, q, "left_rod", (1, 0, 0)), [-tip, 0, 0.5], atol=1e-15)
    assert [round(b.inertia.mass, 12) for b in robot.bodies] == [0.3, 5.3, 5.3, 3.0]


def test_the_governor_follows_its_reference_run():
    robot = robots.flyball_governor()

    def rate(_, x):
        q, v = x[:4], x[4:]
        return np.concatenate([v, dynamics.forward_dynamics(robot, q, v, dynamics.passive_forces(robot, q, v))])

    start = np.concatenate([robots.home(robot), [2 * np.pi, 0, 0, 0]])
    times = DATA["A05"]["t"]
    run = solve_ivp(rate, (0, times[-1]), start, method="Radau", t_eval=times, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(0.5 + run.y[3], DATA["A05"]["height"], atol=1e-7)
    np.testing.assert_allclose(run.y[4], DATA["A05"]["spin"], atol=1e-6)
    np.testing.assert_allclose(np.pi / 6 - run.y[1], DATA["A05"]["rod"], atol=1e-7)
    np.testing.assert_allclose(run.y[1], run.y[2], atol=1e-9)
