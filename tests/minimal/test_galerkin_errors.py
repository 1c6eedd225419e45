"""What variational integrators refuse, and how their steps fail."""

import math

import numpy as np
import pytest

import leastaction as la
from tests.minimal.helpers import METHODS, method
from tests.oracles.random_trees import hinge_ball_slide, random_state, random_tree

NAN = float("nan")


@pytest.mark.parametrize("order", [0, 1, 3, -2, 26, 2.0, "4", None, True, NAN], ids=str)
def test_bad_orders(order):
    with pytest.raises(la.IntegratorError, match="order must be 2, 4, 6"):
        la.Galerkin(order=order)


BAD_SETTINGS = {
    "tolerance of zero": {"tolerance": 0.0},
    "negative tolerance": {"tolerance": -1e-10},
    "tolerance of one": {"tolerance": 1.0},
    "tolerance not a number": {"tolerance": NAN},
    "infinite tolerance": {"tolerance": float("inf")},
    "tolerance a string": {"tolerance": "tight"},
    "no tolerance": {"tolerance": None},
    "no iterations": {"max_iterations": 0},
    "negative iterations": {"max_iterations": -3},
    "half an iteration": {"max_iterations": 2.5},
    "iterations not a number": {"max_iterations": NAN},
    "iterations a string": {"max_iterations": "many"},
    "iterations None": {"max_iterations": None},
    "unknown solver": {"solver": "lu"},
    "solver None": {"solver": None},
}


@pytest.mark.parametrize("case", BAD_SETTINGS)
def test_bad_settings(case):
    (name,) = BAD_SETTINGS[case]
    for kind in (la.Galerkin, la.Midpoint):
        with pytest.raises(la.IntegratorError, match=rf"{kind.__name__}: {name} must be"):
            kind(**BAD_SETTINGS[case])


def test_settings_are_frozen():
    for integrator in (la.Galerkin(), la.Midpoint()):
        with pytest.raises(AttributeError):
            integrator.tolerance = 1.0
    assert la.Galerkin(order=4) == la.Galerkin(order=4)


@pytest.fixture(scope="module")
def robot():
    return random_tree(3, 3, ("revolute", "spherical", "prismatic"), branching=0.0, armature=False)


BAD_STATES = {
    "size of q": ({"q": [0.0]}, la.MechanismError, "q: expected shape"),
    "q not a number": ({"q": [0, 1, 0, 0, 0, NAN]}, la.MechanismError, "entry 5"),
    "quaternion": ({"q": [0, 2, 0, 0, 0, 0]}, la.MechanismError, "unit norm"),
    "size of v": ({"v": np.zeros(6)}, la.MechanismError, r"v: expected shape \(5,\)"),
    "v not a number": ({"v": [0, NAN, 0, 0, 0]}, la.MechanismError, "v: entry 1"),
    "size of p": ({"p": np.zeros(4)}, la.MechanismError, r"p: expected shape \(5,\)"),
    "p infinite": ({"p": [0, 0, 0, 0, float("inf")]}, la.MechanismError, "p: entry 4"),
    "v and p": ({"v": np.zeros(5), "p": np.zeros(5)}, la.IntegratorError, "either v or p"),
    "dt of zero": ({"dt": 0.0}, la.IntegratorError, "dt must be"),
    "dt negative": ({"dt": -0.01}, la.IntegratorError, "dt must be"),
    "dt not a number": ({"dt": NAN}, la.IntegratorError, "dt must be"),
    "size of controls": ({"controls": [1.0]}, la.IntegratorError, "controls: expected shape"),
    "controls not numbers": ({"controls": [0, 0, NAN, 0, 0]}, la.IntegratorError, "controls must be finite"),
    "function of NaN": ({"controls": lambda t: np.full(5, NAN)}, la.IntegratorError, "controls at t"),
    "controller of wrong size": ({"controller": lambda t, q, v: [0.0]}, la.IntegratorError, "controls at t"),
}


@pytest.mark.parametrize("case", BAD_STATES)
def test_bad_input_is_refused(case):
    changes, error, message = BAD_STATES[case]
    for order in ("midpoint", 4):
        with pytest.raises(error, match=message):
            la.simulate(hinge_ball_slide(), **({"dt": 0.01, "steps": 3, "integrator": method(order)} | changes))


@pytest.mark.parametrize("order", METHODS)
def test_a_tolerance_that_cannot_be_reached(robot, order):
    """No state is made up: the error carries time, residuals and the run so far."""
    q, v = random_state(robot, 1)
    integrator = method(order, tolerance=1e-300, max_iterations=20)
    with pytest.raises(la.ConvergenceError, match=r"t = 3 s.*tolerance") as caught:
        la.simulate(robot, q, v, dt=0.01, steps=10, start=3.0, integrator=integrator)
    error = caught.value
    assert error.step == 0
    assert error.time == 3.0
    assert error.trajectory.steps == 0
    assert (error.trajectory.q[0] == q).all()
    assert len(error.residuals) <= 21
    # Newton did converge, as far as numbers go: the last residuals are round-off.
    assert 0.0 < error.residuals[-1] < max(1e-8 * error.residuals[0], 4e-12 * np.abs(error.trajectory.p[0]).max())


@pytest.mark.parametrize("order", METHODS)
def test_too_few_iterations(robot, order):
    """Steps are divided until the iterations do, or nothing helps."""
    q, v = random_state(robot, 1, speed=5.0)
    run = la.simulate(robot, q, v, dt=0.05, steps=2, integrator=method(order, max_iterations=1))
    assert run.stored["divided"][1:].all()
    integrator = method(order, max_iterations=1, tolerance=1e-300)
    with pytest.raises(la.ConvergenceError, match="within 1 iterations") as caught:
        la.simulate(robot, q, v, dt=0.05, steps=2, integrator=integrator)
    assert len(caught.value.residuals) == 2


@pytest.mark.parametrize("order", METHODS)
def test_a_ball_that_turns_too_far(order):
    """More than half a turn in a step is beyond the chart of a ball joint: such steps are divided, never wrong."""
    robot = la.robots.free_body()
    for speed, divided in ((300.0, 0), (330.0, 0b1100)):
        run = la.simulate(robot, v=[0, 0, speed, 0, 0, 0], dt=0.01, steps=2, integrator=method(order))
        assert run.q[1, 3] == pytest.approx(math.cos(speed * 0.005), abs=1e-9)
        assert (run.stored["divided"][1:] == divided).all()
    with pytest.raises(la.ConvergenceError, match=r"half a turn .* 1024 parts; take a smaller dt"):
        la.simulate(robot, v=[0, 0, 3.3e5, 0, 0, 0], dt=0.01, steps=2, integrator=method(order))


@pytest.mark.parametrize("order", METHODS)
def test_a_failure_on_the_way_keeps_what_was_done(order):
    """A thruster spins a body up until no part of a step can follow: all steps before it are there."""
    b = la.MechanismBuilder("top", gravity=(0, 0, 0))
    b.body("top", mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.spherical("ball", "world", "top")
    b.thruster("spin", "top", (0, 0, 1, 0, 0, 0))
    robot = b.build()
    with pytest.raises(la.ConvergenceError) as caught:
        la.simulate(robot, dt=0.01, steps=1000, start=5.0, integrator=method(order), controls=[1e6])
    error, run = caught.value, caught.value.trajectory
    # 1e7 rad/s^2: half a turn in 1/1024 of a step after about 0.032 s.
    assert 2 <= run.steps <= 3
    assert error.step == run.steps
    assert error.time == pytest.approx(5.0 + 0.01 * run.steps)
    assert np.isfinite(run.q).all()
    assert len(run.q) == len(run.v) == len(run.energy) == len(run.t) == run.steps + 1
    again = la.simulate(robot, dt=0.01, steps=run.steps, integrator=method(order), controls=[1e6])
    assert (again.q == run.q).all()


@pytest.mark.parametrize("order", METHODS)
@pytest.mark.parametrize("speed", [1e8, 1e30, 1e60])
def test_absurd_speeds_fail_cleanly(robot, order, speed):
    """Overflow on the way ends in the error, not in NaN states."""
    with pytest.raises(la.ConvergenceError) as caught:
        la.simulate(robot, v=np.full(5, speed), dt=0.01, steps=5, integrator=method(order, max_iterations=10))
    assert np.isfinite(caught.value.trajectory.q).all()


def test_a_mechanism_that_cannot_move():
    b = la.MechanismBuilder()
    b.body("stone", mass=1.0)
    b.fixed("weld", "world", "stone")
    for order in METHODS:
        run = la.simulate(b.build(), steps=2, integrator=method(order))
        assert run.q.shape == (3, 0)
        assert not run.iterations.any()


def test_no_steps_at_all(robot):
    run = la.simulate(robot, steps=0, integrator=method(2))
    assert run.q.shape == (1, robot.nq)
    assert run.p.shape == (1, robot.nv)
