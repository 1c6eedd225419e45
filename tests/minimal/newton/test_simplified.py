"""Sweeps with the inertia alone solve the same equations as Newton, and hand over to it where they are too slow."""

import numpy as np
import pytest

import leastaction as la
from leastaction.minimal.galerkin_joints.joint_residual import residual
from leastaction.minimal.galerkin_joints.newton.joint_newton import begin
from leastaction.minimal.galerkin_joints.newton.simplified_newton import factor, respond
from leastaction.minimal.initial_guesses import constant_acceleration, quadratic_acceleration, start_velocity
from tests.minimal.test_momentum import floating_tree, resting_state
from tests.oracles.random_trees import random_state

ORDERS = (2, 6, 8, 12)


@pytest.fixture(scope="module")
def tree():
    """Hinges and ball joints on a free base that falls."""
    robot = floating_tree(9, bodies=6, gravity=(0, 0, -9.81))
    return robot, *resting_state(robot, 3)


def swept(order, **settings):
    return la.Galerkin(order=order, solver="simplified", **settings)


@pytest.mark.parametrize("order", ORDERS)
def test_sweeps_make_the_trajectory_of_newton(tree, order):
    robot, q, v = tree
    exact, cheap = (
        la.simulate(robot, q, v, dt=0.004, steps=25, integrator=la.Galerkin(order=order, solver=name))
        for name in ("sparse", "simplified")
    )
    assert np.abs(robot.difference(exact.q[-1], cheap.q[-1])).max() <= 1e-10
    np.testing.assert_allclose(cheap.p, exact.p, atol=1e-9 * np.abs(exact.p).max())
    # They were really used: linear convergence takes more of them.
    assert cheap.iterations[1:].mean() > exact.iterations[1:].mean()


@pytest.mark.parametrize("order", ORDERS)
def test_where_sweeps_are_too_slow_newton_takes_over(order):
    """Springs so stiff that sweeps diverge."""
    b = la.MechanismBuilder("stiff")
    parent = "world"
    for k in range(3):
        b.body(f"rod{k}", mass=1.0, com=(0, 0, -0.5), inertia=0.1)
        b.revolute(f"hinge{k}", parent, f"rod{k}", axis="y", position=(0, 0, -k), stiffness=3e3, damping=1.0)
        parent = f"rod{k}"
    robot = b.build()
    q = np.array([0.02, -0.01, 0.01])
    exact, cheap = (
        la.simulate(robot, q, dt=0.01, steps=20, integrator=la.Galerkin(order=order, solver=name))
        for name in ("sparse", "simplified")
    )
    np.testing.assert_allclose(cheap.q, exact.q, atol=1e-9)
    assert cheap.iterations[1:].mean() >= exact.iterations[1:].mean() + 1


@pytest.mark.parametrize("order", [6, 8])
def test_the_default_sweeps_from_order_six_and_restarts_bit_for_bit(tree, order):
    robot, q, v = tree
    assert la.Galerkin(order=4, interpolation="joints").prepare(robot, 0.01).data.sweeps is None
    integrator = la.Galerkin(order=order, interpolation="joints")
    assert integrator.prepare(robot, 0.01).data.sweeps is not None
    whole = la.simulate(robot, q, v, dt=0.005, steps=8, integrator=integrator)
    rest = la.simulate(robot, whole.q[5], p=whole.p[5], dt=0.005, steps=3, integrator=integrator)
    assert (rest.q == whole.q[5:]).all()
    assert (rest.p == whole.p[5:]).all()


def test_response_is_the_inverse_of_the_mass_matrix():
    """At the middle of a step of a fixed-base tree, for every right-hand side at once."""
    robot = la.robots.serial_arm()
    q, v = random_state(robot, 2)
    stepper = swept(6).prepare(robot, 0.01)
    model, settings, data = stepper.model, stepper.settings, stepper.data
    p = la.dynamics.mass_matrix(robot, q) @ v
    start_velocity(model.native, data.guess, q, p)
    constant_acceleration(model.native, settings, data.guess, data.points.X, q, np.zeros(robot.nu))
    begin(model.tree, settings, data, q, p)
    residual(model.tree, settings, data.points, data.p, np.zeros((4, robot.nu)))
    factor(model.tree, data.points, data.sweeps, 2)
    y = np.random.default_rng(0).normal(size=(3, robot.nv))
    x = y.copy()
    respond(model.tree.nodes, data.points.screws, data.sweeps, x, 2)
    M = la.dynamics.mass_matrix(robot, data.points.X[2])
    np.testing.assert_allclose(x, np.linalg.solve(M, y.T).T, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dt", [0.02, 0.01, 0.005])
def test_the_quartic_guess_is_of_fourth_order_for_all_joints(tree, dt):
    """The guess departs from the solution by dt^4 where a joint has several axes, so halving dt gains at least 12."""
    robot, q, v = tree
    misses = [first_miss(robot, q, v, h) for h in (dt / 4, dt / 8)]
    assert misses[1] < misses[0] / 12


def first_miss(robot, q, v, dt):
    stepper = swept(6, tolerance=1e-14).prepare(robot, dt)
    run = la.simulate(robot, q, v, dt=dt, steps=1, integrator=swept(6, tolerance=1e-14))
    data = stepper.data
    X = data.points.X
    start_velocity(stepper.model.native, data.guess, q, run.p[0])
    quadratic_acceleration(stepper.model.native, stepper.settings, data.guess, X, q, np.zeros(robot.nu))
    guess = X.copy()
    record = stepper.solve_whole(q, run.p[0], np.zeros((4, robot.nu)))
    assert (record["q"][1] == run.q[1]).all()
    return np.abs(X - guess).max()
