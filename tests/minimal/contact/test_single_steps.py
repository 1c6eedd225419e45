"""Single steps of `Minimal` with contacts that are looked for: those of a run, to the last bit, whatever the room."""

import numpy as np
import pytest

import leastaction as la
from leastaction.mechanism import Box, Plane
from leastaction.minimal.contact import stepper

STEPS = 120


def boxes() -> la.Mechanism:
    """Two boxes that fall, one on to the other."""
    builder = la.MechanismBuilder("boxes")
    builder.add_shape("world", Plane(friction=0.5))
    for name, height in (("lower", 0.06), ("upper", 0.17)):
        builder.body(name, mass=1.0, inertia=0.002)
        builder.free(name)
        builder.add_shape(name, Box((0.1, 0.1, 0.1), friction=0.5))
        builder.home({f"{name}_free.z": height, f"{name}_free.x": 0.2 * height})
    return builder.build()


@pytest.mark.parametrize("room", [1, 32])
def test_steps_are_those_of_a_run(room, monkeypatch):
    robot = boxes()
    run = la.simulate(robot, dt=0.005, steps=STEPS, integrator=la.Minimal())
    monkeypatch.setattr(stepper, "ROOM", room)
    sim = la.Simulator(robot, la.Minimal(), dt=0.005, recording=True)
    count = 0
    for _ in range(STEPS):
        sim.step()
        count += len(sim.contacts)
    out = sim.trajectory()
    np.testing.assert_array_equal(out.q, run.q)
    np.testing.assert_array_equal(out.stored["contacts"], run.stored["contacts"])
    assert count == len(run.stored["contacts"]) > STEPS
