"""Gradients of runs of `Maximal` by what moves joints and tendons, and by coefficients of contacts that hold."""

import numpy as np
import pytest

import leastaction as la
from leastaction.derivatives import gradient, parameter, with_parameters
from leastaction.maximal.derivatives.parameter_gradients import Variant
from leastaction.mechanism import Box, Capsule, Plane
from tests.derivatives.test_backward_pass import moving, resisted

DT, STEPS = 0.01, 4


def standing(locked):
    """A box that rests on the ground with an arm; with `locked` beside a heavy arm whose joint its limits lock."""
    b = la.MechanismBuilder("standing")
    b.body("box", mass=1.0, inertia=(0.004, 0.006, 0.005), shapes=Box((0.2, 0.24, 0.2), friction=0.5))
    b.free("box")
    b.body("arm", mass=0.3, com=(0.05, 0.02, 0.1), inertia=(0.002, 0.002, 0.001))
    b.revolute("hinge", "box", "arm", axis="x", position=(0.0, 0.03, 0.1), damping=0.5)
    if locked:
        b.body("heavy", mass=5.0, com=(0.3, 0.0, 0.0), inertia=(0.01, 0.01, 0.01))
        b.revolute("lock", "world", "heavy", axis="y", position=(5.0, 0.0, 5.0), lower=0.1, upper=0.1)
    b.add_shape("world", Plane(friction=0.8))
    robot = b.build()
    q = robot.home()
    q[2] = 0.1
    q[-1] = 0.1 if locked else 0.0
    run = la.simulate(robot, q, dt=DT, steps=10, integrator=la.Maximal())
    return robot, run.q[-1], np.zeros(robot.nv)


def assert_by_differences(robot, integrator, q, v, names, tolerance, h=1e-6):
    """Gradient of a random linear function of all states, along one direction of each parameter."""
    rng = np.random.default_rng(3)
    u = 0.5 * rng.normal(size=(STEPS, robot.nu))
    options = {"dt": DT, "steps": STEPS, "integrator": integrator}
    run = la.simulate(robot, q, v, controls=u, **options)
    bars = rng.normal(size=(2, STEPS + 1, robot.nv))
    found = gradient(run, *bars, names)
    for name in names:
        d = rng.normal(size=found[name].shape)

        def value(s, name=name, d=d):
            other = robot if name == "controls" else with_parameters(robot, {name: parameter(robot, name) + s * d})
            end = la.simulate(other, q, v, controls=u + s * d if name == "controls" else u, **options)
            moved = [robot.difference(a, b) for a, b in zip(run.q, end.q, strict=True)]
            return float((bars[0] * moved).sum() + (bars[1] * (end.v - run.v)).sum())

        expected = (value(h) - value(-h)) / (2.0 * h)
        assert abs((found[name] * d).sum() - expected) < tolerance * np.abs(found[name] * d).sum(), name


@pytest.mark.parametrize("locked", [False, True])
def test_forces_that_press_on_contacts(locked):
    """Where joints and centres of mass are counts in momenta that contacts hold, and so does what holds loops."""
    robot, q, v = standing(locked)
    names = ["controls", "com:arm", "position:hinge", "mass:arm"]
    assert_by_differences(robot, la.Maximal(tolerance=1e-12), q, v, names, 5e-3, 1e-5)


def test_tendons_along_points():
    """Their points move in their bodies as the centre of mass does."""
    b = la.MechanismBuilder.from_mechanism(resisted())
    b.tendon("path", via=[("world", (0.4, 0.0, 0.2)), ("link3", (0.1, 0.1, 0.0))], stiffness=50.0)
    robot, q, v = moving(b.build())
    assert_by_differences(robot, la.Maximal(), q, v, ["com:link3", "position:joint3"], 1e-6)


def test_coefficients_of_contacts():
    """Contacts stay where the step had them when a coefficient changes, wherever others would be found."""
    robot, q, _ = standing(False)
    stepper = la.Maximal().prepare(robot, DT)
    record = stepper.record(1)
    record["q"][0] = q
    assert stepper.advance(record, 0, 1, np.zeros((1, 2, robot.nu))) == 1
    assert stepper.contact is not None
    own = stepper.contact.contacts[:4].copy()
    own.w[:, 0] += 0.01
    found = Variant(stepper, with_parameters(robot, {"friction:world/0": 0.9})).rubbing(own)
    assert (found.friction == 0.9).all()
    assert (found.w == own.w).all()


@pytest.mark.parametrize("spin", [4.2, 4.3])
def test_momenta_before_an_impact(spin):
    """What contacts hold of a spring's force there does not depend on how stiff they are in the step that solves it.

    A capsule slides and rolls on one end, and its other end hits the ground, while a spring presses elsewhere.
    """
    b = la.MechanismBuilder("falling", gravity=(0.2, -0.3, -9.81))
    b.body("arm", mass=1.0, com=(0.1, 0.0, 0.0), inertia=(0.01, 0.01, 0.01))
    b.revolute("hinge", "world", "arm", axis="y", position=(5.0, 0.0, 5.0), stiffness=30.0)
    b.body("capsule", mass=1.0, inertia=(0.005, 0.006, 0.007), shapes=Capsule(0.08, 0.2, friction=0.3, restitution=0.5))
    b.free("capsule")
    b.add_shape("world", Plane(friction=0.4))
    robot, row, h = b.build(), 3, 1e-4
    q = np.array([0.2, 0.0, 0.0, 0.106324, 0.794397, 0.491632, 0.355918, -0.023544])
    options = {"dt": DT, "steps": row + 1, "integrator": la.Maximal(tolerance=1e-12)}
    run = la.simulate(robot, q, [0.0, spin, 3.4, 0.1, 0.4, -0.55, 0.445], **options)
    assert run.contacts["force"][run.contacts["step"] == row].max() > 100.0
    bars, n = np.zeros((row + 2, robot.nv)), robot.nv
    moves = h * np.vstack([np.eye(n), -np.eye(n)])
    ends = np.array([la.simulate(robot, run.q[0], run.v[0] + d, **options).v[row] for d in moves])
    expected = (ends[:n] - ends[n:]).T / (2.0 * h)
    for i in range(n):
        bars[row] = np.eye(n)[i]
        assert np.abs(gradient(run, None, bars, ["v"])["v"] - expected[i]).max() < 1e-4
