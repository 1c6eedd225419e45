"""Fast things do not pass through thin ones."""

import numpy as np
import pytest

import leastaction as la
from leastaction.mechanism import Box, Capsule, MechanismBuilder, Sphere


def gun(bullet, wall):
    """A bullet that flies along x towards a wall at x = 0.5."""
    b = MechanismBuilder("gun", gravity=(0, 0, 0))
    b.body("bullet", mass=0.01, shapes=bullet)
    b.free("bullet")
    b.body("wall", mass=100.0, shapes=wall)
    b.free("wall")
    return b.build()


@pytest.mark.parametrize("speed", [7.0, 33.0, 290.0])
@pytest.mark.parametrize("bullet", [Sphere(0.004), Capsule(0.003, 0.01), Box((0.01, 0.006, 0.008))])
def test_a_bullet_stays_on_its_side_of_a_plate(bullet, speed):
    """1 mm of wall, up to 2.9 m in a step of 10 ms; it stops there, or bounces back a little."""
    robot = gun(bullet, Box((0.001, 1.0, 1.0)))
    q = [0, 0.01, 0.02, 1, 0, 0, 0] + [0.5, 0, 0, 1, 0, 0, 0]
    v = np.zeros(12)
    v[3] = speed
    run = la.simulate(robot, q, v, dt=0.01, duration=0.16, integrator=la.Maximal())
    assert (run.q[:, 0] - run.q[:, 7]).max() < 0.0
    assert run.stored["contacts"][:, 9].min() > -1e-6
    assert run.kinetic_energy[-1] < run.kinetic_energy[0]
    np.testing.assert_allclose(0.01 * run.v[-1, 3] + 100.0 * run.v[-1, 9], 0.01 * speed, rtol=1e-6)
