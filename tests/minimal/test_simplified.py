"""Sweeps with the inertia alone solve the same equations as Newton, and hand over to it where they are too slow."""

import numpy as np
import pytest

import leastaction as la
from leastaction.minimal.newton import to_split
from leastaction.minimal.predict import predict
from leastaction.minimal.residual import residual, start_point
from leastaction.minimal.simplified import factor, respond
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
    assert la.Galerkin(order=order).prepare(robot, 0.01).simple[1].size
    assert not la.Galerkin(order=4).prepare(robot, 0.01).simple[1].size
    whole = la.simulate(robot, q, v, dt=0.005, steps=8, integrator=la.Galerkin(order=order))
    rest = la.simulate(robot, whole.q[5], p=whole.p[5], dt=0.005, steps=3, integrator=la.Galerkin(order=order))
    assert (rest.q == whole.q[5:]).all()
    assert (rest.p == whole.p[5:]).all()


def test_response_is_the_inverse_of_the_mass_matrix():
    """At the middle of a step of a fixed-base tree, for every right-hand side at once."""
    robot = la.robots.serial_arm()
    q, v = random_state(robot, 2)
    stepper = swept(6).prepare(robot, 0.01)
    w, n = stepper.work, robot.nv
    p = la.dynamics.mass_matrix(robot, q) @ v
    split = np.zeros(n)
    predict(stepper_forces(robot), stepper.rule, stepper.classical, w.X, q, p, np.zeros(robot.nu), 0.01, 0)
    start_point(w.model, stepper.rule, w.work, q)
    to_split(w.tree.free, q, p, split)
    residual(w.model, stepper.rule, w.work, split, np.zeros((w.s + 1, robot.nu)), 0.01)
    A, U, D, f, *_ = stepper.simple
    factor(w.tree.nodes, w.tree.dofs, w.work[0], w.work[1], 2, A, U, D)
    y = np.random.default_rng(0).normal(size=(w.s, n))
    x = y.copy()
    respond(w.tree.nodes, w.work[1], 2, U, D, f, x)
    M = la.dynamics.mass_matrix(robot, w.X[2])
    np.testing.assert_allclose(x, np.linalg.solve(M, y.T).T, rtol=1e-9, atol=1e-12)


def stepper_forces(robot):
    from leastaction.forces.arrays import force_arrays

    return force_arrays(robot)


@pytest.mark.parametrize("dt", [0.02, 0.01, 0.005])
def test_the_quartic_guess_is_of_fourth_order_for_all_joints(tree, dt):
    """The guess departs from the solution by dt^4 where a joint has several axes, so halving dt gains at least 12."""
    robot, q, v = tree
    misses = [first_miss(robot, q, v, h) for h in (dt / 4, dt / 8)]
    assert misses[1] < misses[0] / 12


def first_miss(robot, q, v, dt):
    stepper = swept(6, tolerance=1e-14).prepare(robot, dt)
    run = la.simulate(robot, q, v, dt=dt, steps=1, integrator=swept(6, tolerance=1e-14))
    w = stepper.work
    predict(stepper_forces(robot), stepper.rule, stepper.classical, w.X, q, run.p[0], np.zeros(robot.nu), dt, 3)
    guess = w.X.copy()
    record = stepper._solve(q, run.p[0], np.zeros((1, w.s + 1, robot.nu)))
    assert (record["q"][1] == run.q[1]).all()
    return np.abs(w.X - guess).max()
