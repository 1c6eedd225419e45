"""`Grounded` where forces press on contacts and limits: momenta at the ends of steps and their derivatives."""

import math

import numpy as np
import pytest

import leastaction as la
from leastaction.contact.laws.compliance import DEEPEST
from leastaction.derivatives import backpropagate, gradient, parameter, with_parameters
from leastaction.mechanism import Box, MechanismBuilder, Sphere
from tests.derivatives.checks import assert_gradient
from tests.maximal.contact.test_hard_contact import pressing_arm
from tests.oracles.differences import by_vector

TOUCHING = math.acos(0.75) * np.array([1.0, -2.0])
"""Angles of the pressing arm with which its tip is on the wall."""


def servo_arm(friction, kp, kv=0.0):
    b = pressing_arm(9.81, friction, 0.0)
    for name, joint in (("one", "shoulder"), ("two", "elbow")):
        b.position_servo(name, joint, kp=kp, kv=kv)
    return b.build()


def servo_slider(**options):
    """A mass on a rail with a stiff servo."""
    b = MechanismBuilder("slider")
    b.body("mass", mass=2.0, inertia=0.01)
    b.prismatic("rail", "world", "mass", axis="x", **options)
    b.position_servo("servo", "rail", kp=1e5)
    return b.build()


@pytest.mark.parametrize(("friction", "kv"), [(0.0, 0.0), (0.5, 0.0), (0.5, 1e3)])
def test_velocities_while_stiff_servos_press(friction, kv):
    """What does not move has no velocity, whatever servos press with.

    Damping of 1e3 N m s/rad is strong for the step: momenta hold some of what it does.
    """
    robot = servo_arm(friction, 1e6, kv)
    share = np.minimum(1.0, np.arange(60) / 40)[:, None]
    controls = (1.0 - share) * [1.2, -2.4] + share * [0.1, -0.2]
    run = la.simulate(robot, dt=0.005, steps=60, controls=controls, integrator=la.Grounded())
    force = run.contact_force("fore", "world")[:, 0]
    closed = np.flatnonzero(force < -1e3)[2:]  # the impact takes two steps
    first, both, v = run.q[closed, 0], run.q[closed].sum(axis=1), run.v[closed]
    assert len(closed) > 30
    towards = 0.5 * (np.sin(first) * v[:, 0] + np.sin(both) * v.sum(axis=1))
    assert np.abs(towards).max() < 0.1  # while it slides with up to 100 rad/s
    if friction > 0.0:  # sticks
        assert np.abs(v).max() < 1e-2
        assert run.kinetic_energy[closed].max() < 1e-6


def test_a_simulator_has_them_at_once():
    """No step after is needed."""
    robot = servo_arm(0.5, 1e5)
    sim = la.Simulator(robot, la.Grounded(), dt=0.005)
    sim.reset(TOUCHING)
    sim.step(TOUCHING)  # gravity alone makes it slip a little
    for k in range(1, 6):
        sim.step([TOUCHING[0] - 0.05 * k, TOUCHING[1] + 0.1 * k])
        assert np.abs(sim.v).max() < 4.0 * DEEPEST * 0.005  # the wall gives way a little


@pytest.mark.parametrize("options", [{"limits": (-0.1, 0.2)}, {"friction": 3e4}])
def test_limits_and_dry_friction_that_servos_press_on(options):
    robot = servo_slider(**options)
    targets = np.where(np.arange(30)[:, None] % 7 < 3, 0.12, 0.25) + (0.2 if "limits" in options else 0.0)
    own, other = (
        la.simulate(robot, [0.0], dt=0.01, controls=targets, steps=30, integrator=i)
        for i in (la.Grounded(), la.Maximal())
    )
    assert np.abs(own.q - other.q).max() < 2e-5  # dry friction of Maximal creeps by its compliance
    assert np.abs(own.v[1:]).max() < 1e-6


def test_the_limit_on_the_other_side_is_kept():
    """It is far at first, and a servo would carry the mass past it within the step."""
    run = la.simulate(
        servo_slider(limits=(-0.1, 0.2)), [0.0], dt=0.01, controls=[0.3], integrator=la.Grounded(), steps=5
    )
    assert run.q.max() < 0.2 + 1e-9


def test_where_a_ball_lands_its_state_is_that_after():
    """The impact is over at the end of the step in which it touches."""
    b = MechanismBuilder("ball")
    b.body("ball", mass=1.0, shapes=Sphere(0.1))
    b.free("ball")
    b.add_shape("world", Box((1, 1, 0.2), pose=(0, 0, -0.1)))
    run = la.simulate(b.build(), {"ball_free.z": 0.3}, dt=0.005, steps=60, integrator=la.Grounded())
    hit = int(np.argmin(run.v[:, 5]))
    assert run.v[hit, 5] == pytest.approx(-math.sqrt(2 * 9.81 * 0.2), abs=0.1)
    assert np.abs(run.v[hit + 1 :]).max() < DEEPEST * 0.005


def test_derivatives_while_servos_press():
    """By the start, with a gap that closes, and by controls that jump, of all momenta: central differences of runs."""
    robot = servo_arm(0.0, 1e4, 50.0)
    controls = TOUCHING + np.array([[-0.004, 0.012], [-0.012, 0.03], [-0.006, 0.02]])
    assert_gradient(robot, la.Grounded(tolerance=1e-13), 1.0001 * TOUCHING, np.zeros(2), controls, 2e-5, 1e-6)


def test_what_sticks_has_momenta_that_know_nothing_of_servos():
    """Derivatives by the controls, too: half of what a servo gives at the start of a step would be kp dt / 4 = 25."""
    controls = TOUCHING + np.array([[-0.004, 0.012], [-0.012, 0.03], [-0.006, 0.02]])
    options = {"dt": 0.01, "controls": controls, "steps": 3, "integrator": la.Grounded(tolerance=1e-13)}
    run = la.simulate(servo_arm(0.5, 1e4, 50.0), 1.0001 * TOUCHING, p=np.zeros(2), **options)
    by_controls = backpropagate(run, np.zeros((4, 2)), np.array([[0, 0], [0, 0], [1.0, -0.7], [0.5, 1.2]]))[2]
    assert np.abs(by_controls).max() < 1e-4


def test_derivatives_by_parameters_while_servos_press():
    robot = servo_arm(0.0, 1e4, 50.0)
    controls = TOUCHING + np.array([[-0.004, 0.012], [-0.012, 0.03], [-0.006, 0.02]])
    dv = np.random.default_rng(1).normal(size=(4, 2))

    def run(robot):
        options = {"dt": 0.01, "controls": controls, "steps": 3, "integrator": la.Grounded(tolerance=1e-13)}
        return la.simulate(robot, 1.0001 * TOUCHING, p=np.zeros(2), **options)

    for name in ("mass:fore", "position:elbow"):
        value = parameter(robot, name)

        def total(x, name=name, value=value):
            return (dv * run(with_parameters(robot, {name: x.reshape(value.shape)})).v).sum()

        found = gradient(run(robot), np.zeros((4, 2)), dv, parameters=[name])[name]
        expected = by_vector(total, value.ravel(), 1e-5).reshape(value.shape)
        np.testing.assert_allclose(found, expected, atol=2e-4 * np.abs(expected).max())


@pytest.mark.parametrize(("start", "target", "kp"), [(0.0, 1.5, 1e5), (0.0, 2.5, 1e4), (0.3, 3.0, 1e6)])
def test_a_link_that_turns_at_once_does_not_pass_through_a_wall(start, target, kp):
    """Its centre of mass shifts little where it turns half round, and beyond that the other way."""
    b = MechanismBuilder("swing", gravity=(0, 0, 0))
    b.add_shape("world", Box((2, 2, 0.1), pose=(0, 0, -0.05), friction=0.5))
    b.body("link", mass=1.0, com=(0.25, 0, 0), inertia=(1e-3, 0.03, 0.03), shapes=Sphere(0.05, pose=(0.5, 0, 0)))
    b.revolute("hinge", "world", "link", axis="y", position=(0, 0, 0.3))
    b.position_servo("servo", "hinge", kp=kp, kv=10.0)
    run = la.simulate(b.build(), [start], dt=0.01, steps=10, controls=[target], integrator=la.Grounded())
    assert run.q.max() < math.asin(0.5) + 1e-6  # the tip on the wall
    assert run.q[-1, 0] == pytest.approx(math.asin(0.5), abs=1e-6)
