"""Conservation laws: momenta to round-off, energy without drift, joints that never open, time reversal."""

import numpy as np
import pytest

import leastaction as la
from tests.maximal.helpers import ORDERS, method
from tests.oracles.differences import assert_close
from tests.oracles.random_trees import random_inertia, random_pose, random_state


def test_free_body_keeps_its_angular_momentum():
    """100 000 steps of a tumbling body: L and |L| to 1e-12 (2020, Eq. 33 with its printed sign)."""
    robot = la.robots.free_body(moments=(0.7, 1.1, 1.6))
    v = np.r_[0.5, 4.0, -1.0, 0.0, 0.0, 0.0]
    run = la.simulate(robot, v=v, dt=0.01, steps=100_000, integrator=la.Maximal(order=1))
    L = run.momentum[:, :3]
    size = np.linalg.norm(L, axis=1)
    assert np.abs(size / size[0] - 1.0).max() <= 1e-12
    assert np.abs(L - L[0]).max() <= 1e-12 * size[0]
    assert np.ptp(run.q[:, 3:], axis=0).min() > 0.1


def floating(seed=3):
    """A free base with a branching tree of a ball with drive inertia, hinges and a slide, without gravity."""
    rng = np.random.default_rng(seed)
    b = la.MechanismBuilder("floating", gravity=(0, 0, 0))
    for k, (kind, parent) in enumerate(
        [
            ("free", "world"),
            ("spherical", "body0"),
            ("revolute", "body1"),
            ("prismatic", "body0"),
            ("universal", "body2"),
        ]
    ):
        b.body(f"body{k}", inertia=random_inertia(rng))
        damping = 0.1 if k else 0.0
        options = {"pose": random_pose(rng), "child_pose": random_pose(rng)} if k else {}
        options |= {"armature": (0.3, 0.1, 0.2)} if kind == "spherical" else {}
        b.joint(f"joint{k}", kind, parent, f"body{k}", damping=damping, **options)
    b.spring("spring", "body3", "body4", stiffness=3.0, rest_length=0.2, damping=0.4)
    return b.build()


@pytest.mark.parametrize("order", ORDERS)
def test_momentum_of_a_floating_tree(order):
    """Linear and angular momentum, with springs and dampers between the bodies.

    At order 1 springs give their impulse at the start of the step, along their mean direction over it.
    """
    robot = floating()
    run = la.simulate(robot, *random_state(robot, 4), dt=0.01, steps=300, integrator=method(order))
    assert_close(run.momentum[:, 3:], np.tile(run.momentum[0, 3:], (301, 1)), 1e-10)
    assert_close(run.momentum, np.tile(run.momentum[0], (301, 1)), 1e-10 if order > 1 else 0.02)
    assert run.constraint_violation.max() <= 1e-12


def test_gravity_pulls_the_momentum():
    """The momentum of a floating tree under gravity grows by m g t, exactly."""
    b = la.MechanismBuilder("falling", gravity=(0.3, -0.5, -9.81))
    b.body("base", inertia=random_inertia(np.random.default_rng(1)))
    b.body("arm", inertia=random_inertia(np.random.default_rng(2)))
    b.free("base")
    b.spherical("ball", "base", "arm", position=(0.2, 0.1, 0.3))
    robot = b.build()
    run = la.simulate(robot, *random_state(robot, 4), dt=0.01, steps=200, integrator=method(2))
    pull = robot.total_mass * np.outer(run.t, robot.gravity)
    assert_close(run.momentum[:, 3:], run.momentum[0, 3:] + pull, 1e-10)


@pytest.mark.parametrize("order", ORDERS)
def test_energy_of_a_double_pendulum_does_not_drift(order):
    """Over 200 s of chaotic swings the error of the energy is no larger in the second half."""
    run = la.simulate(
        la.robots.pendulum(2), q=[np.pi / 2, 0.0], dt=0.01, duration=200.0, integrator=la.Maximal(order=order)
    )
    error = np.abs(run.energy - run.energy[0])
    bound = {1: 2.0, 2: 0.5, 4: 2e-3, 6: 1e-3}[order]
    assert 1e-7 < error.max() <= bound
    assert error[10_000:].max() <= 3.0 * error[:10_000].max()


def test_three_link_loop_stays_closed():
    entry = next(e for e in la.robots.catalogue() if e.name == "three_link_loop")
    run = la.simulate(entry.robot, entry.home(), entry.home_velocity(), dt=0.01, steps=5000, integrator=la.Maximal())
    assert run.constraint_violation.max() <= 1e-10
    error = np.abs(run.energy - run.energy[0])
    assert error[-500:].max() <= 1.5 * error[:500].max() + 1e-9


@pytest.mark.parametrize("links", [1, 10, 100])
def test_newton_converges_in_few_updates(links):
    """Few updates to 1e-10 for any number of links; each squares the error (2020, Figure 4)."""
    q = np.zeros(links)
    q[0] = 1.0
    run = la.simulate(la.robots.pendulum(links), q, dt=0.01, steps=50, integrator=la.Maximal())
    assert run.iterations[1:].max() <= 6
    assert run.iterations[3:].mean() <= 3.5
    assert run.constraint_violation.max() <= 1e-11


@pytest.mark.parametrize("order", [2, 4, 6])
@pytest.mark.parametrize("name", ["pendulum", "floating", "four_bar"])
def test_symmetric(name, order):
    """Run forth, turn the velocities, run back: at the start again, to the tolerance."""
    gravity = la.robots.pendulum(3, joint="spherical")
    robot = {
        "pendulum": gravity,
        "floating": floating_without_dampers(),
        "four_bar": la.robots.four_bar(crank_angle=1.0),
    }[name]
    q, v = (robot.neutral(), np.zeros(robot.nv)) if name == "four_bar" else random_state(robot, 2)
    options = {"dt": 0.01, "steps": 100, "integrator": method(order)}
    there = la.simulate(robot, q, v, **options)
    back = la.simulate(robot, there.q[-1], -there.v[-1], **options)
    assert np.abs(robot.difference(q, back.q[-1])).max() <= 1e-8
    assert_close(back.v[-1], -v, 1e-7)
    assert np.abs(robot.difference(q, there.q[-1])).max() > 0.1


def floating_without_dampers():
    b = la.MechanismBuilder("floating", gravity=(0, 0, -1))
    for k in range(3):
        b.body(f"body{k}", inertia=random_inertia(np.random.default_rng(k)))
    b.free("body0")
    b.joint("cross", "universal", "body0", "body1", position=(0.3, 0, 0))
    b.prismatic("slide", "body1", "body2", axis="x", stiffness=5.0, armature=0.1)
    return b.build()


def test_a_step_that_newton_cannot_solve_is_divided():
    """A whip of 32 links, too fast for steps of 0.01 s, still runs; joints hold, and momentum about z is kept."""
    robot = la.robots.pendulum(32, joint="spherical")
    v = np.zeros((32, 3))
    v[:, 2] = v[:, 0] = 0.3
    q = robot.integrate(robot.neutral(), 0.2 * np.cos(np.arange(robot.nv)))
    run = la.simulate(robot, q, v.ravel(), dt=0.01, steps=20, integrator=la.Maximal())
    assert run.iterations.max() > 10
    assert run.constraint_violation.max() <= 1e-10
    assert_close(run.momentum[:, 2], np.full(21, run.momentum[0, 2]), 1e-9)
