"""Velocities of runs are those of their momenta, but where hardly anything resists."""

import numpy as np
import pytest

import leastaction as la
from leastaction.dynamics.legendre import momentum_of_velocity
from leastaction.dynamics.run_velocities import velocities_of_run
from leastaction.mechanism import MechanismBuilder, solid_box


def hip(angle):
    """Three hinges in a row with massless links between, and a run in which the middle one stays near an angle."""
    builder = MechanismBuilder("hip")
    parent = "world"
    for name, axis in (("z", (0, 0, 1)), ("x", (1, 0, 0)), ("y", (0, 1, 0))):
        body = builder.body(name, inertia=solid_box(1.0, (0.1, 0.2, 0.5)) if name == "y" else None)
        builder.joint(f"j{name}", "revolute", parent, body, axis=axis)
        parent = body
    t = 0.01 * np.arange(5)
    rate = np.array([3.0, 0.0, -2.0])
    return builder.build(), t, rate, np.array([0.1, angle, 0.2]) + np.outer(t, rate)


@pytest.mark.parametrize("angle", [0.3, 0.5 * np.pi - 1e-3])
def test_forces_on_links_without_mass_make_no_velocities(angle):
    """An impulse along a direction in which next to nothing moves."""
    robot, t, rate, Q = hip(angle)
    V = np.tile(rate, (len(t), 1))
    P = momentum_of_velocity(robot, Q, V)
    np.testing.assert_allclose(velocities_of_run(robot, t, Q, P), V, atol=1e-8)
    P += [1e-3, 0.0, -1e-3]
    plain = la.dynamics.legendre.velocity_of_momentum(robot, Q, P)
    told = velocities_of_run(robot, t, Q, P)
    if angle < 1.0:
        np.testing.assert_array_equal(told, plain)
        return
    assert np.abs(plain - V).max() > 100.0
    np.testing.assert_allclose(told, V, atol=0.2)


def test_light_bodies_that_spin_fast_keep_the_velocities_of_their_momenta():
    """A torque between a rotor and a heavy arm: their energy is its work, to the end, though the rotor turns far.

    The rates of q, which are larger than M^-1 p by x / sin x where it turns by x in a step, would make energy appear.
    """
    builder = MechanismBuilder("rotor")
    builder.body("rotor", mass=0.1, inertia=(1e-4, 1e-4, 1e-4))
    builder.body("arm", mass=1.0, inertia=(0.1, 0.1, 0.1))
    builder.body("tip")
    builder.revolute("turn", "world", "rotor", axis="z")
    builder.revolute("drive", "rotor", "arm", axis="z")
    builder.fixed("end", "arm", "tip")
    robot, dt = builder.build(), 0.01
    run = la.simulate(robot, robot.neutral(), steps=15, controls=[0.0, 0.1], dt=dt, integrator=la.Maximal())
    turned = np.abs(np.diff(run.q[:, 0]))
    assert turned.max() > 1.0
    work = 0.1 * (run.q[:, 1] - run.q[0, 1])
    assert (run.energy - work).max() < 1e-3 * work[-1]


@pytest.mark.parametrize("frame", ["fixed", "revolute"])
def test_light_bodies_that_wobble_as_they_spin_keep_the_velocities_of_their_momenta(frame):
    """Rates of q tell no axis where a free joint turns by a whole turn between the rows beside a row.

    Be the link without mass one with the base, or beside it: then nothing moves it alone.
    """
    builder = MechanismBuilder("wobble")
    builder.body("base", mass=0.47, com=(0, 0, 0.12), inertia=(9e-4, 9e-4, 4e-4))
    builder.free("base")
    builder.body("arm", mass=3.0, com=(0.2, 0, 0.1), inertia=(0.02, 0.03, 0.04))
    builder.revolute("turn", "base", "arm", axis="z", position=(0, 0, 0.2))
    builder.body("frame")
    builder.joint("mount", frame, "base", "frame", axis=(1, 0, 0))
    builder.body("tip", mass=0.1, inertia=(1e-4, 1e-4, 1e-4))
    builder.joint("end", "revolute", "frame", "tip", axis=(0, 1, 0))
    robot, dt = builder.build(), 0.005
    V, Q = np.zeros((5, robot.nv)), [robot.neutral()]
    V[:, 0], V[:, 2], V[:, 6] = [30, -30, 30, -30, 30], 2.0 * np.pi / (2.0 * dt) - 5.0, -623.0
    for v in V[:-1]:
        Q.append(robot.integrate(Q[-1], dt * v))
    told = velocities_of_run(robot, dt * np.arange(5), np.array(Q), momentum_of_velocity(robot, np.array(Q), V))
    np.testing.assert_allclose(told, V, atol=1e-6)
