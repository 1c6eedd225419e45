"""Motions that are too fast for dt: no energy from nowhere, joints closed, and an end to the work of a step."""

import numpy as np
import pytest

import leastaction as la
from leastaction.mechanism import MechanismBuilder
from tests.maximal.scenes import cubes, placed


@pytest.mark.parametrize("seed", range(4))
def test_a_double_pendulum_in_large_steps(seed):
    """At 0.1 s its energy would grow to several times the range of its motion; so such steps are divided."""
    rng = np.random.default_rng(seed)
    robot = la.robots.pendulum(2)
    q, v = rng.uniform(-3, 3, 2), rng.uniform(-8, 8, 2)
    run = la.simulate(robot, q, v, dt=0.1, steps=200, integrator=la.Maximal())
    assert (run.stored["substeps"] != 0).any()
    assert (run.energy - run.energy[0]).max() < 0.2 * run.kinetic_energy.max()


@pytest.mark.parametrize("seed", [1047, 1050, 1095, 1155])
def test_small_gains_do_not_add_up(seed):
    """Each step gains less than it may alone; these motions gained 0.2 to 0.5 of the largest kinetic energy."""
    rng = np.random.default_rng(seed)
    robot = la.robots.pendulum(2)
    q, v, dt = rng.uniform(-np.pi, np.pi, 2), rng.normal(size=2), float(rng.choice([0.05, 0.1]))
    run = la.simulate(robot, q, v, dt=dt, steps=200, integrator=la.Maximal())
    assert (run.energy - run.energy[0]).max() < 0.16 * run.kinetic_energy.max()


def test_small_steps_are_not_divided():
    run = la.simulate(la.robots.pendulum(2), [2.0, 2.5], dt=0.005, steps=400, integrator=la.Maximal())
    assert not run.stored["substeps"].any()


@pytest.mark.parametrize("speed", [30.0, 100.0, 300.0])
def test_fast_bodies_stay_together(speed):
    """Velocities of hundreds of rad/s, beyond half a turn in a step: joints are closed, and the momentum is kept."""
    b = MechanismBuilder("spin", gravity=(0, 0, 0))
    for i in range(3):
        b.body(f"l{i}", mass=1.0 + 0.3 * i, com=(0, 0, -0.1), inertia=(0.012, 0.01, 0.014))
        if i == 0:
            b.free("l0")
        else:
            b.spherical(f"j{i}", f"l{i - 1}", f"l{i}", position=(0, 0, -0.2))
    robot = b.build()
    v = speed * np.random.default_rng(1).normal(size=robot.nv)
    run = la.simulate(robot, None, v, dt=0.01, steps=30, integrator=la.Maximal())
    assert run.stored["violation"].max() < 1e-8
    assert np.abs(run.momentum - run.momentum[0]).max() < 1e-9 * np.abs(run.momentum[0]).max()
    assert (run.energy - run.energy[0]).max() < 0.2 * run.energy[0]


def test_the_work_of_a_step_is_bounded():
    """The bound is told, and the steps before are kept."""
    robot = cubes(1)
    q = placed(robot, (0.0, 0.0, 0.7), angle=0.3)
    with pytest.raises(la.ConvergenceError, match="max_work = 3 Newton iterations") as failure:
        la.simulate(robot, q, dt=0.01, steps=100, integrator=la.Maximal(max_work=3))
    assert failure.value.trajectory.steps > 1
    with pytest.raises(la.IntegratorError, match="max_work must be None or at least 1"):
        la.Maximal(max_work=0)
