"""Velocities of bodies that turn by more than half a turn between two rows of a run."""

import numpy as np

import leastaction as la


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
