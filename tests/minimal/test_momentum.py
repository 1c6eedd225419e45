"""Momentum maps: what a symmetry of the Lagrangian keeps, the step keeps, at any order and tolerance."""

import numpy as np
import pytest

import leastaction as la
from tests.minimal.helpers import METHODS, method, number
from tests.oracles.random_trees import random_inertia, random_pose, random_state, random_unit


def floating_tree(seed, bodies=10, gravity=(0, 0, 0)):
    """A free base that carries hinges and ball joints in turn."""
    rng = np.random.default_rng(seed)
    b = la.MechanismBuilder("floating", gravity=gravity)
    names = []
    for i in range(bodies):
        name = b.body(f"body{i}", inertia=random_inertia(rng))
        options = {"pose": random_pose(rng), "child_pose": random_pose(rng)}
        parent = names[rng.integers(len(names))] if names else "world"
        kind = "free" if i == 0 else "revolute" if i % 2 else "spherical"
        axis = random_unit(rng) if kind == "revolute" else None
        b.joint(f"joint{i}", kind, parent, name, axis=axis, **options)
        names.append(name)
    return b.build()


def resting_state(robot, seed):
    """A random state whose centre of mass rests, so that it stays near the origin."""
    q, v = random_state(robot, seed)
    # The base is the first joint: its linear velocity alone sets the total linear momentum.
    unit = np.eye(robot.nv)[3:6]
    effect = np.stack([la.dynamics.momentum(robot, q, e)[3:] for e in unit], axis=-1)
    v[3:6] -= np.linalg.solve(effect, la.dynamics.momentum(robot, q, v)[3:])
    return q, v


def largest_change(values):
    return np.abs(values - values[0]).max()


@pytest.mark.parametrize("order", METHODS)
def test_free_body(order):
    """Spatial angular momentum of Euler's top: constant over 10^5 steps."""
    robot = la.robots.free_body()
    steps = 100_000 if number(order) in (2, 4) else 10_000
    run = la.simulate(robot, v=[1, -2, 3, 0, 0, 0], dt=0.01, steps=steps, integrator=method(order))
    angular = run.momentum[:, :3]
    # Round-off alone, and without a bias: it grows with the root of the number of steps.
    assert largest_change(angular) <= 3e-15 * np.sqrt(steps) * np.linalg.norm(angular[0])
    assert not run.momentum[:, 3:].any()
    # The motion is not trivial: the angular velocity tumbles.
    assert np.ptp(run.v[:, 0]) > 1.0


@pytest.mark.parametrize("order", METHODS)
def test_floating_tree(order):
    """Ten bodies on hinges and ball joints with a free base, no gravity: all six momenta are constant."""
    robot = floating_tree(5)
    q, v = resting_state(robot, 1)
    steps = {2: 20_000, 4: 5_000, 6: 1_000, 8: 500}[number(order)]
    run = la.simulate(robot, q, v, dt=0.01, steps=steps, integrator=method(order))
    scale = np.linalg.norm(run.momentum[0])
    assert largest_change(run.momentum) <= 1e-12 * scale
    assert np.ptp(run.q[:, 7:], axis=0).min() > 0.1


@pytest.mark.parametrize("order", METHODS)
def test_a_loose_tolerance_does_not_leak_momentum(order):
    """What Newton leaves of the residual is handed on as the same wrench, so momenta do not depend on it."""
    robot = floating_tree(6, bodies=4)
    q, v = resting_state(robot, 2)
    run = la.simulate(robot, q, v, dt=0.05, steps=500, integrator=method(order, tolerance=1e-3))
    assert largest_change(run.momentum) <= 1e-12 * np.linalg.norm(run.momentum[0])
    # The loose tolerance is really felt.
    tight = la.simulate(robot, q, v, dt=0.05, steps=500, integrator=method(order))
    assert run.iterations.sum() < tight.iterations.sum()
    assert (run.q[-1] != tight.q[-1]).any()


@pytest.mark.parametrize("order", METHODS)
def test_a_moving_body_keeps_its_linear_momentum(order):
    """Linear momentum, kept in the moving frame, is constant in the world; the centre moves straight on."""
    robot = la.robots.free_body(mass=2.0)
    run = la.simulate(robot, v=[1, -2, 3, 0.3, 0.2, -0.1], dt=0.01, steps=10_000, integrator=method(order))
    linear = run.momentum[:, 3:]
    assert largest_change(linear) <= 2e-12 * np.linalg.norm(linear[0])
    straight = run.q[0, :3] + run.t[:, None] * linear[0] / 2.0
    assert np.abs(run.q[:, :3] - straight).max() <= 1e-10


@pytest.mark.parametrize("order", METHODS)
def test_gravity_changes_linear_momentum_by_its_impulse(order):
    """Gravity's generalised impulse is exact at any order: p(t) = p(0) + m g t."""
    gravity = np.array([0.4, -0.3, -9.81])
    robot = floating_tree(7, bodies=3, gravity=gravity)
    q, v = random_state(robot, 3)
    run = la.simulate(robot, q, v, dt=0.01, steps=100, integrator=method(order))
    mass = sum(body.inertia.mass for body in robot.bodies)
    linear = run.momentum[:, 3:] - mass * gravity * run.t[:, None]
    assert largest_change(linear) <= 1e-12 * np.abs(run.momentum).max()


def asymmetric_top():
    return la.robots.heavy_top(com=(0.1, 0, -0.5), moments=(0.1, 0.2, 0.3))


def hanging_balls():
    """Three bodies on a chain of ball joints that hangs from the origin."""
    rng = np.random.default_rng(4)
    b = la.MechanismBuilder("chain")
    parent, place = "world", (0, 0, 0)
    for k in range(3):
        b.body(f"body{k}", inertia=random_inertia(rng))
        b.spherical(f"ball{k}", parent, f"body{k}", position=place)
        parent, place = f"body{k}", (0.1, 0.2, -0.8)
    return b.build()


@pytest.mark.parametrize("order", METHODS)
@pytest.mark.parametrize("build", [asymmetric_top, hanging_balls])
def test_vertical_angular_momentum_under_gravity(build, order):
    """Turning about the vertical is a symmetry: that part of the angular momentum stays, others do not."""
    robot = build()
    q, v = random_state(robot, 8)
    run = la.simulate(robot, q, v, dt=0.01, steps=2000, integrator=method(order))
    angular = run.momentum[:, :3]
    scale = np.abs(angular).max()
    assert largest_change(angular[:, 2]) <= 1e-12 * scale
    assert largest_change(angular[:, 0]) > 0.1 * scale


@pytest.mark.slow
def test_floating_tree_for_a_hundred_thousand_steps():
    """Ten bodies, 10^5 steps."""
    robot = floating_tree(5)
    q, v = resting_state(robot, 1)
    run = la.simulate(robot, q, v, dt=0.01, steps=100_000, integrator=method(2))
    assert largest_change(run.momentum) <= 5e-13 * np.linalg.norm(run.momentum[0])
