"""Derivatives of steps that were divided to be solved: those of the chain of their parts.

Few iterations make Newton fail, so that steps are divided where they would not be with more.
"""

import numpy as np
import pytest

import leastaction as la
from leastaction.derivatives import backpropagate
from leastaction.maximal.step.division import FINEST
from leastaction.maximal.stepper import MaximalStepper
from leastaction.mechanism import Box, Plane
from leastaction.step_control.bisection import lengths_of
from tests.derivatives.checks import DT, assert_gradient, assert_linearized, assert_parameters
from tests.maximal.test_bounce_derivatives import moving


def fast_chain():
    """Three bodies with springs and a motor, fast."""
    b = la.MechanismBuilder("chain")
    b.body("arm", mass=1.0, com=(0.1, 0.0, -0.5), inertia=(0.2, 0.1, 0.15))
    b.revolute("pivot", "world", "arm", axis="y", stiffness=2.0, damping=0.3, armature=0.1)
    b.body("bob", mass=0.5, com=(0.0, 0.1, -0.3), inertia=(0.02, 0.03, 0.04))
    b.joint("ball", "spherical", "arm", "bob", position=(0.0, 0.0, -1.0), damping=0.05)
    b.spring("rope", ("world", (1, 0, 0)), ("bob", (0, 0, -0.4)), stiffness=5.0, rest_length=0.5, damping=0.2)
    b.actuator("motor", "pivot", gear=2.0)
    robot = b.build()
    q = robot.neutral()
    return robot, q, la.dynamics.mass_matrix(robot, q) @ [30.0, 10.0, -40.0, 20.0], np.array([1.5])


def falling_box():
    """A box that bounces off the ground with a corner in the second step."""
    robot, q, p, u = moving("box")
    v = np.linalg.solve(la.dynamics.mass_matrix(robot, q), p)
    return robot, robot.integrate(q, -1.3 * DT * v), p, u


def divided(order):
    return la.Maximal(order=order, max_iterations=4, tolerance=1e-11)


def divided_bounce(order):
    return la.Maximal(order=order, max_iterations=8, smoothing=1e-4)


@pytest.mark.parametrize("order", [1, 2, 4])
def test_step(order):
    robot, q, p, u = fast_chain()
    run = la.simulate(robot, q, p=p, controls=u, dt=DT, steps=1, integrator=divided(order))
    assert run.stored["divided"][1].any()
    assert_linearized(robot, divided(order), q, p, u, 1e-6, 1e-4)
    assert_parameters(robot, divided(order), q, p, u, ["mass:bob", "position:ball", "stiffness:rope"], 1e-6)


@pytest.mark.parametrize("order", [1, 2, 4])
def test_run(order):
    robot, q, p, u = fast_chain()
    assert_gradient(robot, divided(order), q, p, np.outer([1.0, -0.5, 0.3], u), 1e-6, 1e-4)


@pytest.mark.parametrize("order", [1, 2])
def test_bounce_in_a_divided_step(order):
    """The approach velocity of a part is that of the part before."""
    robot, q, p, u = falling_box()
    run = la.simulate(robot, q, p=p, controls=u, dt=DT, steps=5, integrator=divided_bounce(order))
    assert run.stored["divided"][2] > 0
    assert_linearized(robot, divided_bounce(order), run.q[1], run.p[1], u, 1e-5, 1e-6)
    assert_gradient(robot, divided_bounce(order), q, p, np.tile(u, (5, 1)), 1e-5, 1e-6)


def test_a_step_that_cannot_be_solved_again(monkeypatch):
    """No derivative is better than a wrong one."""
    robot, q, p, _ = fast_chain()
    run = la.simulate(robot, q, p=p, dt=DT, steps=2, integrator=divided(2))
    run.stored["divided"][:] = 0
    monkeypatch.setattr("leastaction.maximal.derivatives.way_back.PATIENT", 1)
    with pytest.raises(la.IntegratorError, match="take a smaller dt or a larger max_iterations"):
        backpropagate(run, np.ones((3, robot.nv)), np.ones((3, robot.nv)))


def test_a_step_of_very_many_parts():
    """What the number of a step cannot tell has no derivative."""
    robot, q, p, u = fast_chain()
    integrator = la.Maximal(max_iterations=2, tolerance=1e-11)
    run = la.simulate(robot, q, p=2.0 * p, controls=u, dt=DT, steps=1, integrator=integrator)
    assert run.stored["divided"][1] == -1
    with pytest.raises(la.IntegratorError, match="step 0 of the run"):
        backpropagate(run, np.ones((2, robot.nv)), np.ones((2, robot.nv)))


def test_lengths_of_parts():
    """The numbers that the compiled loop writes, by its rule: a part that fails in halves, one after the other."""
    rng = np.random.default_rng(0)

    def solve(length):
        if length > 1 / FINEST and rng.random() < 0.45:
            bits.append("1")
            return [*solve(length / 2), *solve(length / 2)]
        bits.append("0")
        return [length]

    for _ in range(50):
        bits = []
        lengths = solve(1.0)
        assert lengths_of(int("1" + "".join(bits), 2)) == lengths
        assert sum(lengths) == 1.0
    assert lengths_of(0) == [1.0]
    assert lengths_of(-64) == [1 / 64] * 64
    with pytest.raises(la.IntegratorError, match="so finely"):
        lengths_of(-1)


def tumbling_boxes(seed):
    """Two to five boxes that whirl about in each other's way: long steps of it are divided."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    b = la.MechanismBuilder("tumbling")
    for i in range(n):
        size, mass = tuple(rng.uniform(0.08, 0.4, 3)), float(rng.choice([0.1, 1, 10]))
        mu, e = float(rng.choice([0.2, 0.6, 1.0])), float(rng.choice([0, 0, 0.5]))
        b.body(f"box{i}", mass=mass, shapes=Box(size, friction=mu, restitution=e))
        b.free(f"box{i}")
    b.add_shape("world", Plane(friction=0.6))
    robot = b.build()
    q, v = np.zeros(robot.nq), np.zeros(robot.nv)
    for i in range(n):
        q[7 * i : 7 * i + 3] = [*rng.normal(size=2) * 0.1, 0.35 + 0.5 * i]
        turn = rng.normal(size=4)
        q[7 * i + 3 : 7 * i + 7] = turn / np.linalg.norm(turn)
        v[6 * i : 6 * i + 3], v[6 * i + 3 : 6 * i + 6] = rng.normal(size=3) * 12, rng.normal(size=3) * 4
    return robot, q, v


@pytest.mark.parametrize("seed", [32, 103])
def test_fine_parts_are_judged_as_they_were(seed):
    robot, q, v = tumbling_boxes(seed)
    run = la.simulate(robot, q, v, dt=0.02, steps=70, integrator=la.Maximal())
    finest = [min(lengths_of(int(told))) if told else 1.0 for told in run.stored["divided"][:, 0]]
    assert min(finest) <= 1.0 / 16
    # The way back refuses steps that it does not find again.
    backpropagate(run, *np.ones((2, 71, robot.nv)))


@pytest.mark.parametrize("seed", [3, 16, 25])
def test_a_divided_step_that_needs_another_plan_starts_again(seed, monkeypatch):
    robot, q, v = tumbling_boxes(seed)
    run = la.simulate(robot, q, v, dt=0.02, steps=2, integrator=la.Maximal())
    plan = MaximalStepper._plan
    monkeypatch.setattr(MaximalStepper, "_plan", lambda self, Z, wider=1.0: plan(self, Z, max(64.0, wider)))
    other = la.simulate(robot, q, v, dt=0.02, steps=2, integrator=la.Maximal())
    assert run.stored["divided"][1].any()
    np.testing.assert_array_equal(run.stored["divided"], other.stored["divided"])
    np.testing.assert_allclose(run.q, other.q, atol=1e-5)


def test_a_step_with_another_result_is_refused():
    robot, q, p, u = fast_chain()
    run = la.simulate(robot, q, p=p, controls=u, dt=DT, steps=3, integrator=la.Maximal(order=2))
    run.stored["poses"][3, 0, 0] += 1e-3
    with pytest.raises(la.IntegratorError, match="step 2 of the run could not be solved again"):
        backpropagate(run, np.ones((4, robot.nv)), np.ones((4, robot.nv)))
