"""Derivatives of steps that are solved again with contacts which their first solution had missed.

Where those are, as far as they are points in which faces touch, depends on where the bodies end in that solution.
"""

import numpy as np
import pytest

import leastaction as la
from leastaction.derivatives import gradient
from leastaction.mechanism import Box, Plane

DT, SMOOTH = 0.01, la.Maximal(smoothing=1e-4, tolerance=1e-12)


@pytest.fixture(scope="module")
def boxes():
    """Two boxes that fall on each other, and (q, v) before a step that finds contacts in its first solution."""
    b = la.MechanismBuilder("boxes")
    b.add_shape("world", Plane(friction=0.4))
    for i, size in enumerate(((0.2, 0.24, 0.2), (0.3, 0.2, 0.22))):
        b.body(f"b{i}", mass=1.0 + i, inertia=(0.006, 0.007, 0.008), shapes=Box(size))
        b.free(f"b{i}")
    robot, rng = b.build(), np.random.default_rng(15)
    turns = np.zeros(12)
    turns[:3], turns[6:9] = 0.5 * rng.normal(size=3), 0.4 * rng.normal(size=3)
    q = robot.home()
    q[2], q[7:10] = 0.2, (0.03 * rng.normal(), 0.05 * rng.normal(), 0.5)
    spins, shifts = [], []
    for _ in range(2):
        spins.append(2.0 * rng.normal(size=3))
        shifts.append(0.4 * rng.normal(size=2))
    v = np.r_[spins[0], shifts[0], -1.0, spins[1], shifts[1], -2.5]
    run = la.simulate(robot, robot.integrate(q, turns), v, dt=DT, steps=5, integrator=SMOOTH)
    return robot, run.q[-1], run.v[-1]


def slope(value, h=2e-7):
    """Slope of a function at zero, by central differences of fourth order."""
    return (8.0 * (value(h) - value(-h)) - value(2.0 * h) + value(-2.0 * h)) / (12.0 * h)


def test_late_contacts_are_found_in_another_round(boxes):
    """The step of these tests is one that is meant here."""
    robot, q, v = boxes
    stepper = SMOOTH.prepare(robot, DT)
    record = stepper.record(1)
    record["q"][0], record["p"][0] = q, la.dynamics.mass_matrix(robot, q) @ v
    assert stepper.advance(record, 0, 1, np.zeros((1, 2, robot.nu))) == 1
    assert stepper.contact is not None
    now = stepper.contact.now[0]
    assert now.rounds == 1
    late = stepper.contact.contacts.late[stepper.contact.cones.source[: now.count]]
    assert set(late) == {0, 1}


def test_gradient_of_a_step_with_late_contacts(boxes):
    """Gradients of all states by the state are those of central differences; by parameters there are none."""
    robot, q, v = boxes
    rng, options = np.random.default_rng(1), {"dt": DT, "steps": 1, "integrator": SMOOTH}
    run = la.simulate(robot, q, v, **options)
    bars = rng.normal(size=(2, 2, 12))
    names = ["q", "v"]
    found = gradient(run, *bars, names)
    with pytest.raises(la.IntegratorError, match="no derivative"):
        gradient(run, *bars, ["mass:b1"])
    for name in names:
        d = rng.normal(size=np.shape(found[name]))

        def value(s, name=name, d=d):
            at, speed = (robot.integrate(q, s * d), v) if name == "q" else (q, v + s * d)
            end = la.simulate(robot, at, speed, **options)
            moved = [robot.difference(a, b) for a, b in zip(run.q, end.q, strict=True)]
            return float((bars[0] * moved).sum() + (bars[1] * (end.v - run.v)).sum())

        assert abs((found[name] * d).sum() - slope(value)) < 1e-4 * np.abs(found[name] * d).sum(), name


def test_linearization_of_a_step_with_late_contacts(boxes):
    """All rows of it are those that go back one by one, which are compared with differences above."""
    robot, q, v = boxes
    p, u = la.dynamics.mass_matrix(robot, q) @ v, np.zeros(12)
    A, _ = la.linearize(robot, SMOOTH, q, p, u, DT)
    stepper, bar = SMOOTH.prepare(robot, DT), np.random.default_rng(2).normal(size=24)
    back = bar.copy()
    stepper.pull_back(q, p, np.zeros((2, 12)), back)
    assert np.abs(back - bar @ A).max() < 1e-8 * np.abs(A).max()
