"""Springs, cables, dampers, wrenches, thrusters and controls in maximal coordinates: order by slope."""

import numpy as np
import pytest

import leastaction as la
from leastaction.mechanism import MechanismBuilder
from tests.maximal.helpers import assert_order, method
from tests.maximal.test_order import reference
from tests.minimal.test_forces import arm, driven, flying_arm, swaying
from tests.oracles.differences import assert_close
from tests.oracles.random_trees import random_inertia, random_state

COUNTS = {1: (160, 320), 2: (80, 160), 4: (32, 64)}


@pytest.mark.parametrize("order", COUNTS)
def test_constant_controls(order):
    """A generalised force on every degree of freedom, a ball joint's in the child's frame."""
    robot = arm("spherical", damping=0.3, armature=False)
    u = 4.0 * np.cos(np.arange(robot.nu))
    states = reference(robot, 1, 0.4, controls=u)
    assert_order(robot, order, states, 0.4, COUNTS[order], controls=u)


@pytest.mark.parametrize("order", COUNTS)
def test_controls_as_functions_of_time(order):
    """Read at the ends of the steps, they keep the order."""
    robot = arm()
    states = driven(robot, *random_state(robot, 1), swaying, 0.4)
    assert_order(robot, order, states, 0.4, COUNTS[order], controls=swaying)


@pytest.mark.parametrize("order", COUNTS)
@pytest.mark.parametrize("springs", [False, True])
def test_forces_on_bodies(order, springs):
    """Thrusters, a motor, a wrench that turns with its body; springs, a cable and their dampers between bodies."""
    robot = flying_arm(springs=springs)
    u = np.array([2.0, -1.0, 1.5])
    states = reference(robot, 3, 0.4, controls=u)
    assert_order(robot, order, states, 0.4, COUNTS[order], controls=u)


@pytest.mark.parametrize("order", COUNTS)
def test_a_damped_cable_along_many_bodies(order):
    """Via points on every body of a chain, two of them on one body, and on the world."""
    rng = np.random.default_rng(4)
    b = la.MechanismBuilder("finger")
    for k in range(3):
        b.body(f"body{k}", inertia=random_inertia(rng))
        b.revolute(f"hinge{k}", f"body{k - 1}" if k else "world", f"body{k}", axis="y", position=(0, 0, -0.5))
    via = ["world", ("body0", (0.1, 0, 0)), ("body1", (0.1, 0, 0.1)), ("body1", (0.1, 0, -0.1)), ("body2", (0.1, 0, 0))]
    b.cable("tendon", via, stiffness=20.0, rest_length=0.3, damping=2.0)
    robot = b.build()
    assert_order(robot, order, reference(robot, 3, 0.4), 0.4, COUNTS[order])


@pytest.mark.parametrize("order", [1, 2])
def test_stiff_dampers_are_stable(order):
    """A damper is implicit: rates fall, however stiff it is, and energy never rises."""
    b = la.MechanismBuilder("damped", gravity=(0, 0, 0))
    b.body("body", mass=1.0, inertia=0.1)
    b.prismatic("slide", "world", "body", axis="x")
    b.spring("spring", ("world", (-1, 0, 0)), "body", stiffness=1.0, rest_length=1.0, damping=1e3)
    run = la.simulate(b.build(), v=[1.0], dt=0.1, steps=200, integrator=method(order))
    assert (np.diff(run.energy) <= 1e-12).all() if order == 1 else run.energy[-1] < 1e-2 * run.energy[0]


def test_a_slack_cable_does_nothing():
    """Free fall until the cable is tight; then it holds."""
    b = la.MechanismBuilder("bungee")
    b.body("stone", mass=1.0, inertia=0.1)
    b.prismatic("fall", "world", "stone", axis="z")
    b.cable("cable", ["world", "stone"], stiffness=200.0, rest_length=1.0, damping=5.0)
    run = la.simulate(b.build(), q=[-0.2], dt=0.001, steps=3000, integrator=method(2))
    slack = run.q[:, 0] > -1.0
    first = np.argmin(slack)
    assert_close(run.q[:first, 0], -0.2 - 9.81 / 2 * run.t[:first] ** 2, 1e-9)
    assert run.q[:, 0].min() > -1.6
    assert (np.diff(run.energy) <= 2e-4).all()
    assert run.energy[-1] < run.energy[0] - 1.0


@pytest.mark.parametrize("order", [1, 2, 4])
def test_a_controller_of_the_state(order):
    """Feedback is held over a step: the run with the same controls as a table is the same."""
    robot = arm()
    used = []

    def controller(t, q, v):
        used.append(-3.0 * q - 0.5 * v)
        return used[-1]

    options = {"dt": 0.02, "steps": 10, "integrator": method(order)}
    q, v = random_state(robot, 1)
    run = la.simulate(robot, q, v, **options, controller=controller)
    again = la.simulate(robot, q, v, **options, controls=np.array(used))
    assert_close(run.q, again.q, 1e-12)


@pytest.mark.parametrize(("fast", "damped"), [(10.0, 1.0), (100.0, 0.0), (100.0, 1.0)])
def test_springs_that_are_stiff_for_the_step_pull_from_its_middle(fast, damped):
    """A mass on a spring with ω dt = `fast` moves by the midpoint rule, which no spring makes unstable."""
    dt, mass = 0.01, 1e-3
    stiffness = mass * (fast / dt) ** 2
    damping = 2.0 * damped * np.sqrt(stiffness * mass)
    b = MechanismBuilder("stiff", gravity=(0, 0, 0))
    b.body("mass", mass=mass, inertia=1e-6)
    b.prismatic("slide", "world", "mass", axis="x", stiffness=stiffness, damping=damping)
    run = la.simulate(b.build(), [0.1], dt=dt, steps=50, integrator=la.Maximal())
    A = np.array([[0.0, 1.0], [-stiffness / mass, -damping / mass]])
    step = np.linalg.solve(np.eye(2) - 0.5 * dt * A, np.eye(2) + 0.5 * dt * A)
    expected = [np.array([0.1, 0.0])]
    for _ in range(50):
        expected.append(step @ expected[-1])
    np.testing.assert_allclose(np.column_stack([run.q, run.v]), expected, atol=1e-10 * fast / dt)
    assert run.iterations.max() < 5
    assert (run.energy - run.energy[0]).max() < 1e-12 * run.energy[0]
