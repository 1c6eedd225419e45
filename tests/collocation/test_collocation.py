"""Direct collocation as integrators: order by slope, derivatives, limits, refusals."""

import numpy as np
import pytest

import leastaction as la
from leastaction.collocation import arrays, collocation_jacobians, collocation_newton
from tests.oracles.differences import assert_close, central
from tests.oracles.random_trees import random_state, random_tree

TIGHT = la.DOP853(rtol=1e-12, atol=1e-13)
METHODS = [(la.ImplicitTrapezoidal(tolerance=1e-12), 2), (la.HermiteSimpson(tolerance=1e-12), 4)]


def with_forces():
    """Springs and dampers on all joints, a cable, wrenches and a thruster."""
    kinds = ("revolute", "spherical", "free", "prismatic")
    b = random_tree(4, 4, kinds, branching=0.0, stiffness=5.0, damping=0.3).edit()
    b.cable("cable", ["world", "body1", "body3"], stiffness=20.0, rest_length=0.1, damping=0.4)
    b.wrench("wind", "body2", np.arange(6.0))
    b.thruster("thruster", "body1", np.ones(6))
    return b.build()


ROBOTS = {
    "chain": lambda: random_tree(1, 3, ("revolute",), branching=0.0),
    "ball joints": lambda: random_tree(2, 2, ("spherical",), branching=0.0),
    "free body": lambda: random_tree(3, 1, ("free",)),
    "forces": with_forces,
}


def end_error(robot, run, reference):
    turned = np.linalg.norm(robot.difference(reference.q[-1], run.q[-1]))
    return turned + np.linalg.norm(run.v[-1] - reference.v[-1])


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize(("integrator", "order"), METHODS, ids=lambda x: type(x).__name__)
def test_order(name, integrator, order):
    """Halving dt divides the error at a fixed time by 2^order, with constant controls."""
    robot, duration = ROBOTS[name](), 0.2
    state = random_state(robot, 5)
    u = np.linspace(0.5, 1.0, robot.nu)
    reference = la.simulate(robot, *state, dt=duration, steps=1, integrator=TIGHT, controls=u)
    errors = []
    for n in (40, 80) if order == 2 else (10, 20):
        run = la.simulate(robot, *state, dt=duration / n, steps=n, integrator=integrator, controls=u)
        errors.append(end_error(robot, run, reference))
        assert run.iterations[1:].max() <= 4
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.15)


def test_order_with_controls_that_change_within_a_step():
    """Controls given as a function of time are read at the points of the rule, so both keep their order."""
    robot, duration = ROBOTS["chain"](), 0.5
    state = random_state(robot, 5)

    def controls(t):
        return 3.0 * np.sin(7.0 * t + np.arange(3))

    def run(integrator, n):
        return la.simulate(robot, *state, dt=duration / n, steps=n, integrator=integrator, controls=controls)

    reference = run(la.RungeKutta(order=4), 1600)
    for integrator, order in METHODS:
        coarse, fine = (end_error(robot, run(integrator, n), reference) for n in (50, 100))
        assert np.log2(coarse / fine) == pytest.approx(order, abs=0.25)


@pytest.mark.parametrize("name", ROBOTS)
def test_same_motion_as_the_variational_integrator(name):
    """Hermite-Simpson and Galerkin of order 4 agree up to their order as dt goes to zero."""
    robot = ROBOTS[name]()
    state = random_state(robot, 5)
    apart = []
    for n in (10, 20):
        options = {"dt": 0.1 / n, "steps": n}
        ends = [
            la.simulate(robot, *state, integrator=i, **options).q[-1]
            for i in (la.HermiteSimpson(), la.Galerkin(order=4))
        ]
        apart.append(np.linalg.norm(robot.difference(*ends)))
    assert apart[1] < 1e-6
    assert apart[1] < apart[0] / 10


def step_at(robot, x_size, seed=1):
    """Model and data of a Hermite-Simpson step, and a state (x, v) within it."""
    q, v = random_state(robot, seed)
    x = x_size * np.random.default_rng(seed).uniform(-1, 1, robot.nv)
    return arrays.collocation_model(robot), arrays.collocation_data(robot, 3, 10), q, np.stack([x, v])


@pytest.mark.parametrize(("name", "x_size", "tolerance"), [
    ("chain", 0.5, 1e-7),
    ("ball joints", 0.05, 1e-5),
    ("free body", 0.05, 1e-5),
    ("forces", 0.05, 1e-5),
])  # fmt: skip
def test_derivatives_of_the_right_hand_side(name, x_size, tolerance):
    """df/dy by differences; for ball and free joints the neglected terms are of third order in x."""
    robot = ROBOTS[name]()
    model, data, q, y = step_at(robot, x_size)
    u = np.ones(robot.nu)

    def rate(flat):
        data.y[1] = flat.reshape(2, -1)
        collocation_newton.rate(model, data, q, 1, u)
        return data.f[1].ravel().copy()

    rate(y.ravel())
    F = np.zeros((2 * robot.nv, 2 * robot.nv))
    collocation_jacobians.rate_slopes(model, data, data.q[1].copy(), y, u, data.f[1, 1].copy(), F)
    unit = np.eye(2 * robot.nv)
    expected = np.stack([central(lambda h, e=e: rate(y.ravel() + h * e)) for e in unit], axis=1)
    assert_close(F, expected, tolerance)


def test_stiff_spring_takes_large_steps():
    """A spring with a period of 6 ms and steps of 100 ms: implicit methods stay bounded, explicit ones do not."""
    b = la.MechanismBuilder("stiff", gravity=(0, 0, 0))
    b.body("rod", mass=1.0, inertia=0.1)
    b.revolute("pivot", "world", "rod", axis="y", stiffness=1e5)
    robot = b.build()
    for integrator, _ in METHODS:
        run = la.simulate(robot, [0.01], dt=0.1, steps=50, integrator=integrator)
        assert np.abs(run.q).max() <= 0.0101
    with pytest.raises(la.ConvergenceError):
        la.simulate(robot, [0.01], dt=0.1, steps=200, integrator=la.RungeKutta(order=4))


@pytest.mark.parametrize("method", [la.HermiteSimpson, la.ImplicitTrapezoidal])
def test_refusals(method):
    with pytest.raises(la.IntegratorError, match="tolerance must be between 0 and 1"):
        method(tolerance=0.0)
    with pytest.raises(la.IntegratorError, match="max_iterations must be at least 1"):
        method(max_iterations=0)
    with pytest.raises(la.IntegratorError, match="cannot close the loop joint"):
        la.simulate(la.robots.four_bar(), steps=1, integrator=method())


def test_a_step_that_does_not_converge_is_told():
    """Nothing is lost: the error holds the steps before it and the defects."""
    robot = la.robots.pendulum(6)
    q = np.linspace(-1.0, 1.0, 6)
    with pytest.raises(la.ConvergenceError, match="step 1 did not converge") as caught:
        la.simulate(robot, q, dt=0.2, steps=3, integrator=la.HermiteSimpson(max_iterations=1))
    assert caught.value.trajectory.steps == 0
    assert len(caught.value.residuals) == 2
    assert caught.value.time == 0.0
