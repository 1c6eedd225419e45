"""Joint limits as inequalities: rigid stops."""

import dataclasses
import math

import numpy as np
import pytest

import leastaction as la
from leastaction.mechanism import MechanismBuilder
from tests.maximal.scenes import G


def rod(lower, upper):
    b = MechanismBuilder("stop")
    b.body("rod", mass=1.0, com=(0, 0, -0.5), inertia=(1 / 12, 1 / 12, 1e-3))
    b.revolute("pivot", "world", "rod", axis="y", limits=(lower, upper))
    return b.build()


@pytest.mark.parametrize("order", [1, 2])
def test_pendulum_hits_its_stop(order):
    """No penetration; the impact takes all of its energy, and then it swings between the stop and its mirror."""
    run = la.simulate(rod(-0.5, 2.0), [1.5], dt=0.01, duration=4.0, integrator=la.Maximal(order=order))
    assert run.q.min() == pytest.approx(-0.5, abs=1e-6)
    assert run.q.min() > -0.5 - 1e-9
    top = -0.5 * G * math.cos(0.5)
    struck = int(np.argmin(run.q))
    assert run.energy[0] - 0.5 > run.energy[struck + 2]
    np.testing.assert_allclose(run.energy[struck + 2 :], top, atol=0.1 if order == 1 else 0.01)
    assert run.q[struck:].max() == pytest.approx(0.5, abs=0.02)


def test_energy_does_not_grow_at_a_stop():
    """Of a slider under gravity, whose energy is kept exactly between impacts."""
    b = MechanismBuilder("slider")
    b.body("block", mass=1.0, inertia=0.1)
    b.prismatic("rail", "world", "block", axis="z", limits=(0.0, 1.0))
    robot = b.build()
    run = la.simulate(robot, [0.5], [6.0], dt=0.01, duration=1.5, integrator=la.Maximal())
    assert np.diff(run.energy).max() < 1e-9 * run.energy[0]
    assert run.q.min() > -1e-9
    assert run.q.max() < 1.0 + 1e-9
    assert run.q.max() > 1.0 - 1e-6
    np.testing.assert_allclose(run.q[-1], 0.0, atol=1e-7)
    np.testing.assert_allclose(run.v[-1], 0.0, atol=1e-7)


@pytest.mark.parametrize("order", [1, 2])
def test_stop_in_a_loop(order):
    """A four-bar whose crank may turn by 0.3 rad only: loops stay closed, limits are kept."""
    free = la.robots.four_bar()
    q = la.simulate(free, steps=1, integrator=la.Maximal(), project=True).q[0]
    crank = dataclasses.replace(free.joints[0], lower=(q[0] - 0.3,), upper=(q[0] + 0.3,))
    robot = free.replace(joints=(crank, *free.joints[1:]))
    v = np.zeros(robot.nv)
    v[0] = 2.0
    integrator = la.Maximal(order=order)
    run = la.simulate(robot, q, v, dt=0.01, duration=2.0, integrator=integrator, project=True)
    turned = run.q[:, 0] - q[0]
    assert np.abs(turned).max() == pytest.approx(0.3, abs=1e-6)
    assert np.abs(turned).max() < 0.3 + 1e-9
    assert run.constraint_violation.max() < 1e-10
    assert run.energy[-1] < run.energy[0]
    assert np.max(run.energy - np.minimum.accumulate(run.energy)) < 0.01 * np.ptp(run.energy)


def test_stop_bears_a_load():
    """A rod pressed against its stop by a motor stays there, at rest."""
    b = MechanismBuilder.from_mechanism(rod(-0.2, 0.3))
    b.actuator("motor", "pivot")
    robot = b.build()
    run = la.simulate(robot, [0.0], dt=0.01, duration=2.0, integrator=la.Maximal(), controls=[4.0])
    np.testing.assert_allclose(run.q[-50:], 0.3, atol=1e-7)
    np.testing.assert_allclose(run.v[-50:], 0.0, atol=1e-6)


def test_other_integrators_say_when_a_limit_is_passed(recwarn):
    robot = rod(-0.5, 2.0)
    la.simulate(robot, [0.3], dt=0.01, duration=1.0, integrator=la.Galerkin())
    assert not recwarn.list
    with pytest.warns(la.LeastActionWarning, match="joint 'pivot' goes beyond its limits at t = 0"):
        la.simulate(robot, [1.5], dt=0.01, duration=2.0, integrator=la.Galerkin())
