"""Contacts add no energy to robots that tumble fast, whatever their bodies turn by in a step.

Velocities of joints within a step are chords of arcs: neither momenta that are told nor restitution may take them for
velocities where a body turns by a radian in it.
"""

import numpy as np
import pytest

import leastaction as la
from leastaction.mechanism import Capsule, Plane, Pose


def tumbling(seed, restitution, friction):
    """A free body that carries a second one on a joint which slides and turns; (robot, q, v)."""
    rng = np.random.default_rng(seed)
    builder = la.MechanismBuilder("tumbling")
    surface = {"friction": friction, "restitution": restitution}
    builder.add_shape("world", Plane(**surface))
    for i, kind in enumerate(("free", ("planar", "universal")[seed % 2])):
        mass, length, radius = 10.0 ** rng.uniform(-1.0, 0.5), rng.uniform(0.1, 0.4), rng.uniform(0.02, 0.05)
        across = mass * (length**2 / 12.0 + radius**2)
        middle = Pose((0.0, 0.0, -0.5 * length))
        shape = Capsule(radius, length, pose=middle, **surface)
        inertia = (across, across, mass * radius**2)
        builder.body(f"b{i}", shapes=[shape], mass=mass, com=(0.0, 0.0, -0.5 * length), inertia=inertia)
        place = (0.0, 0.0, 0.0) if i == 0 else (*rng.uniform(-0.05, 0.05, 2), -0.3)
        builder.joint(f"j{i}", kind, "world" if i == 0 else "b0", f"b{i}", position=place)
    robot = builder.build()
    q = robot.neutral().copy()
    q[2] = 1.0
    return robot, robot.integrate(q, rng.uniform(-0.15, 0.15, robot.nv)), rng.normal(size=robot.nv) * 6.0


# Seed, restitution, friction; those with friction had told momenta with 4 to 1700 times the energy.
CASES = [
    (0, 0.0, 1.0),
    (12, 1.0, 1.0),
    (46, 1.0, 1.0),
    (126, 0.0, 1.0),
    (35, 1.0, 0.0),
    (90, 1.0, 0.0),
    (123, 1.0, 0.0),
]


@pytest.mark.parametrize(("seed", "restitution", "friction"), CASES)
def test_tumbling_robots_gain_no_energy(seed, restitution, friction):
    robot, q, v = tumbling(seed, restitution, friction)
    run = la.simulate(robot, q, v, dt=0.01, duration=1.0, integrator=la.Grounded())
    gain = (run.energy - run.energy[0]).max()
    assert gain <= 0.01 * run.kinetic_energy[0]
