"""Velocities of bodies that turn by more than half a turn between two rows of a run."""

import numpy as np
import pytest

import leastaction as la
from leastaction.mechanism import Box, Plane


def test_a_base_that_spins_against_its_arm_keeps_its_velocity():
    """Its frame is a body without mass, as in many robot files: there velocities are looked at again by rates of q."""
    b = la.MechanismBuilder("spinner", gravity=(0, 0, 0))
    b.body("frame", mass=0.0)
    b.free("frame")
    b.body("base", mass=0.47, com=(0, 0, 0.12), inertia=(9e-4, 9e-4, 4e-4))
    b.fixed("mount", "frame", "base")
    b.body("arm", mass=3.0, com=(0.2, 0, 0.1), inertia=(0.02, 0.03, 0.04))
    b.revolute("turn", "base", "arm", axis="z", position=(0, 0, 0.2))
    robot = b.build()
    v = np.zeros(robot.nv)
    v[2], v[6] = 500.0, -500.0
    run = la.simulate(robot, v=v, dt=0.005, steps=10, integrator=la.Maximal())
    np.testing.assert_allclose(run.v[:, 2], 500.0, rtol=1e-6)
    np.testing.assert_allclose(run.energy, run.energy[0], rtol=1e-3)


@pytest.mark.parametrize("speed", [300.0, 400.0, 771.0])
def test_what_spins_on_the_ground_turns_as_its_momentum_says(speed):
    """A brake on a wheel above a plane takes its work from the energy, to the error of second order in the turn.

    Beyond a quarter turn the momentum of a step falls again, and solutions there turn the faster the slower they are;
    a tenth of the energy came from nowhere.
    """
    b = la.MechanismBuilder("wheel")
    b.body("arm", mass=1.0, inertia=(0.01, 0.01, 0.01))
    b.revolute("lift", "world", "arm", axis="y", position=(-0.2, 0, 0.08))
    b.body("wheel", mass=0.1, inertia=(1e-4, 1e-4, 1e-4), shapes=Box((0.1, 0.1, 0.02), friction=0.3))
    b.revolute("spin", "arm", "wheel", axis="z", position=(0.2, 0, 0))
    b.actuator("brake", "spin")
    b.add_shape("world", Plane())
    robot = b.build()
    run = la.simulate(robot, v=[0.0, speed], dt=0.005, steps=60, controls=[-0.2], integrator=la.Maximal())
    gained = run.energy - run.energy[0] + 0.2 * (run.q[:, 1] - run.q[0, 1])
    assert gained.max() < 0.03 * run.energy.max()
    told = 0.5 * (run.v[1:, 1] + run.v[:-1, 1])
    np.testing.assert_allclose(np.diff(run.q[:, 1]) / run.dt, told, atol=0.1 * speed + 10.0)
    assert run.iterations.max() < 150
