"""What the benchmarks of the integrators count on; no test looks at the clock."""

import numpy as np
import pytest

import leastaction as la
from tests.oracles.differences import assert_close

pytest.importorskip("pinocchio")
pytest.importorskip("mujoco")
import mujoco

from benchmarks import energy_hour, mujoco_chain, work_precision
from benchmarks.bruedigam2023 import ggl
from benchmarks.races import engines
from benchmarks.rollouts import Rollout
from benchmarks.starts import bow, near_neutral


def test_mujoco_has_the_same_pendulum():
    """Accelerations agree for many velocities, so that both integrate the same equations."""
    robot = la.robots.pendulum(5)
    rng = np.random.default_rng(0)
    for _ in range(10):
        q, v = rng.normal(size=(2, 5))
        chain = mujoco_chain.Chain(5, "Euler", 0.01, q, v)
        mujoco.mj_forward(chain.model, chain.data)
        assert_close(la.dynamics.forward_dynamics(robot, q, v), chain.data.qacc, 1e-10)


def test_mujoco_samples():
    """Every `every` steps of the same run."""
    all_of_it = mujoco_chain.Chain(2, "RK4", 0.01, [1.0, 0.5], np.zeros(2)).samples(6, 1)
    some = mujoco_chain.Chain(2, "RK4", 0.01, [1.0, 0.5], np.zeros(2)).samples(3, 2)
    assert (some[0] == all_of_it[0][::2]).all()
    assert (some[1] == all_of_it[1][::2]).all()


def test_a_rollout_is_what_simulate_gives():
    robot = la.robots.pendulum(3)
    q, v = np.array([0.3, -0.2, 0.1]), np.array([0.1, 0.0, -0.4])
    for integrator, name in ((la.Galerkin(order=4), "p"), (la.RungeKutta(order=4), "v")):
        rollout = Rollout(robot, integrator, q, v, 0.01, 20)
        assert rollout.run() == 20
        run = la.simulate(robot, q, v, dt=0.01, steps=20, integrator=integrator)
        assert (rollout.record["q"] == run.q).all()
        assert (rollout.record[name] == run.stored[name]).all()


@pytest.mark.parametrize("joint", ["revolute", "spherical"])
def test_engines_run_the_same_motion(joint):
    """A few steps of order 4 in MuJoCo and Pinocchio end where ours do, whatever their coordinates."""
    robot = la.robots.pendulum(3, joint=joint)
    start = robot, near_neutral(robot, 0.5, 0), np.zeros(robot.nv), 0.01, 10
    ours = engines.Ours(*start, la.RungeKutta(order=4)).end()
    for other in (engines.Mujoco(*start, "RK4"), engines.Pinocchio(*start)):
        assert_close(other.end(), ours, 1e-7)
        assert np.abs(ours - engines.places(*start[:2])).max() > 1e-2


def test_momenta_that_keep_the_constraints():
    """The GGL method: constraints of positions and of momenta hold after each step, and the energy is of order 1."""
    system = ggl.Windows(1)
    errors = []
    for h in (0.02, 0.01):
        states, missed = ggl.motion(system, 1.0, h, round(0.3 / h))
        assert len(states) == round(0.3 / h) + 1
        assert missed == 0
        assert max(np.abs(system.constraints(state.q)[0]).max() for state in states) < 1e-9
        errors.append(np.ptp(sum(system.energies(states))))
    assert 1.8 < errors[0] / errors[1] < 2.2


def test_time_at_an_accuracy():
    """On a method of order 2 whose time is 1 / dt, time grows with the square root of the accuracy."""
    points = [[dt, dt**2, 1.0 / dt, 1.0] for dt in (0.1, 0.05, 0.02, 0.01, 0.001)]
    for accuracy in (1e-3, 1e-4, 3e-5, 1e-6):
        assert work_precision.seconds_at(points, accuracy) == pytest.approx(accuracy**-0.5)
    assert work_precision.seconds_at(points, 1e-7) == np.inf
    assert work_precision.seconds_at(points, 1.0) == 10.0
    failed = [[0.2, np.nan, np.nan, 1.0], *points]
    assert work_precision.seconds_at(failed, 1e-4) == pytest.approx(100.0)


def test_error_and_drift_of_the_energy():
    t = np.linspace(0.0, 1.0, 1001)
    error, drift = energy_hour.summary(energy_hour.UNIT * (5.0 + 0.01 * np.sin(200 * np.pi * t) + 0.1 * t))
    assert drift == pytest.approx(0.09, rel=0.01)
    assert error == pytest.approx(0.11, rel=0.02)


def test_starts():
    """A bow leaves the vertical by 30 degrees at the top and returns as far at the tip."""
    assert bow(1)[0] == pytest.approx(np.pi / 6)
    absolute = np.cumsum(bow(512))
    assert absolute[0] == pytest.approx(np.pi / 6, abs=1e-4)
    assert absolute[-1] == pytest.approx(-np.pi / 6, abs=1e-4)
    robot = la.robots.humanoid_tree()
    q = near_neutral(robot, 0.1, 0)
    assert np.abs(robot.difference(robot.neutral(), q)).max() <= 0.1 + 1e-12
