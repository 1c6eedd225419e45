"""A rejected substep leaves nothing behind."""

import numpy as np

import leastaction as la
from leastaction.maximal.arrays import copied
from leastaction.maximal.step.acceptance.checkpoint import keep_part, roll_back

OVERWRITTEN = ("bodies", "rows", "coordinates", "paths", "points", "lengths", "stretches", "strings", "minus", "past")


def test_all_that_the_end_of_a_substep_overwrites_is_brought_back():
    """Poses, momenta, rows, coordinates, springs, windings of tendons, velocities before and prescribed motions."""
    b = la.MechanismBuilder("cart and ball")
    b.body("ball", mass=0.5, inertia=(0.002, 0.003, 0.004))
    b.joint("free", "free", "world", "ball")
    b.body("cart", mass=1.0, inertia=(0.01, 0.01, 0.01))
    b.joint("rail", "prismatic", "world", "cart", axis="x")
    b.spring("spring", ("cart", (0, 0, 0)), ("ball", (0, 0, 0)), stiffness=100.0, rest_length=0.3)
    b.tendon("rope", via=[("cart", (0, 0, 0.1)), ("ball", (0, 0.02, 0.1))], stiffness=10.0)
    stepper = la.Maximal().prepare(b.build(), 0.01)
    record = stepper.record(5)
    record["q"][0] = [0.5, 0.1, -0.8, 1, 0, 0, 0, 0.05]
    assert stepper.advance(record, 0, 5, np.zeros((5, 2, 0))) == 5
    data, q, before = stepper.data, record["q"][-1].copy(), copied(stepper.data)
    python = [getattr(f, "py_func", f) for f in (keep_part, roll_back)]
    python[0](stepper.arrays, data, q)
    for name in OVERWRITTEN:
        values = getattr(data, name)
        assert len(values)
        values[:] = np.zeros_like(values)
    data.kicks[1], q[:] = 7.0, 7.0
    python[1](stepper.arrays, data, q)
    for name in (*OVERWRITTEN, "kicks"):
        np.testing.assert_array_equal(getattr(data, name), getattr(before, name), err_msg=name)
    np.testing.assert_array_equal(q, record["q"][-1])
