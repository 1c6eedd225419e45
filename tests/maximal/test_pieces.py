"""A run is the same to the last bit however it is cut into pieces, and whatever else its stepper did before."""

import numpy as np
import pytest

import leastaction as la
from leastaction.mechanism import Box, MechanismBuilder, Plane, Sphere

DT, STEPS = 0.02, 40


def tumbling(seed=3):
    """Boxes and balls thrown at each other, fast beside dt: pairs come near within a step, and bodies kick others."""
    rng, b, q = np.random.default_rng(seed), MechanismBuilder("tumbling"), []
    for i in range(5):
        skin = Sphere(0.1, friction=0.4, restitution=0.5) if i % 2 else Box((0.2, 0.15, 0.3), friction=0.5)
        b.body(f"b{i}", mass=1.0, shapes=skin)
        b.free(f"b{i}")
        quat = rng.normal(size=4)
        q += [*rng.uniform(-0.2, 0.2, 2), 0.4 + 0.35 * i, *quat / np.linalg.norm(quat)]
    b.add_shape("world", Plane(friction=0.5))
    robot = b.build()
    return robot, np.array(q), 4.0 * rng.normal(size=robot.nv)


def in_pieces(integrator, length, logged=None):
    """All that a run stores, done in pieces of so many steps."""
    robot, q, v = tumbling()
    stepper = integrator.prepare(robot, DT)
    record = stepper.record(STEPS)
    record["q"][0], record["p"][0] = q, la.dynamics.mass_matrix(robot, q) @ v
    for first in range(0, STEPS, length):
        last = min(STEPS, first + length)
        assert stepper.advance(record, first, last, np.zeros((last - first, 2, robot.nu))) == last
    stepper.finish(record)
    return record


@pytest.mark.parametrize("smoothing", [0.0, 1e-3])
def test_pieces_do_not_matter(smoothing):
    integrator = la.Maximal(smoothing=smoothing)
    whole = in_pieces(integrator, STEPS)
    assert (whole["iterations"][1:] > 5).any()
    for length in (1, 7):
        cut = in_pieces(integrator, length)
        for name in ("q", "p", "rigid_poses", "momenta", "velocities", "iterations", "substeps", "contacts"):
            assert np.array_equal(whole[name], cut[name]), (name, length)


def test_a_full_log_does_not_matter(monkeypatch):
    """The log of contacts is read when it is full, and steps go on as if it were not."""
    whole = in_pieces(la.Maximal(), STEPS)
    monkeypatch.setattr("leastaction.maximal.stepper.LOGGED", 2)
    assert np.array_equal(whole["q"], in_pieces(la.Maximal(), STEPS)["q"])
