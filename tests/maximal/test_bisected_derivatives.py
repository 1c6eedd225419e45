"""Derivatives of steps that were divided to be solved: those of the chain of their parts.

Few iterations make Newton fail, so that steps are divided where they would not be with more.
"""

import numpy as np
import pytest

import leastaction as la
from leastaction.derivatives import backpropagate
from leastaction.maximal.stepper import MaximalStepper
from leastaction.mechanism import Box, Plane
from leastaction.step_control.substeps import UNKNOWN, ends_of, middle, record_substep
from tests.derivatives.checks import DT, assert_gradient, assert_linearized, assert_parameters


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


def divided(order):
    return la.Maximal(order=order, max_iterations=4, tolerance=1e-11)


@pytest.mark.parametrize("order", [1, 2, 4])
def test_step(order):
    robot, q, p, u = fast_chain()
    run = la.simulate(robot, q, p=p, controls=u, dt=DT, steps=1, integrator=divided(order))
    assert run.stored["substeps"][1].any()
    assert_linearized(robot, divided(order), q, p, u, 1e-6, 1e-4)
    assert_parameters(robot, divided(order), q, p, u, ["mass:bob", "position:ball", "stiffness:rope"], 1e-6)


@pytest.mark.parametrize("order", [1, 2, 4])
def test_run(order):
    robot, q, p, u = fast_chain()
    assert_gradient(robot, divided(order), q, p, np.outer([1.0, -0.5, 0.3], u), 1e-6, 1e-4)


def test_a_step_that_cannot_be_solved_again(monkeypatch):
    """No derivative is better than a wrong one."""
    robot, q, p, _ = fast_chain()
    run = la.simulate(robot, q, p=p, dt=DT, steps=2, integrator=divided(2))
    run.stored["substeps"][:] = 0
    monkeypatch.setattr("leastaction.maximal.derivatives.adjoint_sweep.PATIENT", 1)
    with pytest.raises(la.IntegratorError, match="take a smaller dt or a larger max_iterations"):
        backpropagate(run, np.ones((3, robot.nv)), np.ones((3, robot.nv)))


def test_a_run_that_does_not_tell_its_substeps_is_refused():
    """Where they lie decides what a run computes: halving again may find others."""
    robot, q, p, u = fast_chain()
    run = la.simulate(robot, q, p=p, controls=u, dt=DT, steps=3, integrator=divided(2))
    assert run.stored["substeps"].any()
    run.stored["substeps"][run.stored["substeps"][:, 0].any(axis=1), :, 0] = UNKNOWN
    with pytest.raises(la.IntegratorError, match="so finely"):
        backpropagate(run, *np.ones((2, 4, robot.nv)))


def test_a_step_of_very_many_parts():
    """What the number of a step cannot tell has no derivative."""
    robot, q, p, u = fast_chain()
    integrator = la.Maximal(max_iterations=2, tolerance=1e-11)
    run = la.simulate(robot, q, p=2.0 * p, controls=u, dt=DT, steps=1, integrator=integrator)
    assert run.stored["substeps"][1, 0, 0] == UNKNOWN
    with pytest.raises(la.IntegratorError, match="step 0 was divided so finely"):
        backpropagate(run, np.ones((2, robot.nv)), np.ones((2, robot.nv)))


def test_bisections_lie_on_the_dyadic_grid_of_the_step():
    """So that times of impact before or after them do not move them; halves of halves are what they were."""
    assert middle(0.0, 1.0) == 0.5
    assert middle(0.5, 0.75) == 0.625
    rng = np.random.default_rng(0)
    for start, end in np.sort(rng.uniform(size=(100, 2)), axis=1):
        found = middle(start, end)
        assert start + 0.24 * (end - start) < found < end - 0.24 * (end - start)
        assert (found * 2**40) % 1.0 == 0.0


def test_ends_of_substeps_are_what_was_noted():
    """Shares of the step; negative where restitution did not act."""
    ends = np.zeros(4)
    assert ends_of(ends)[0].tolist() == [1.0]
    count = record_substep(ends, 0, 0.3, 0, True)
    count = record_substep(ends, count, 1.0, 1, True)
    assert count == 2
    assert ends_of(ends)[0].tolist() == [0.3, 1.0]
    assert ends_of(ends)[1].tolist() == [0, 1]
    for _ in range(3):
        count = record_substep(ends, count, 1.0, 0, True)
    assert ends[0] == UNKNOWN


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


@pytest.mark.parametrize("seed", [2, 16, 25])
def test_a_divided_step_that_needs_another_plan_starts_again(seed, monkeypatch):
    robot, q, v = tumbling_boxes(seed)
    run = la.simulate(robot, q, v, dt=0.02, steps=2, integrator=la.Maximal())
    plan = MaximalStepper._plan
    monkeypatch.setattr(MaximalStepper, "_plan", lambda self, Z, wider=1.0: plan(self, Z, max(64.0, wider)))
    other = la.simulate(robot, q, v, dt=0.02, steps=2, integrator=la.Maximal())
    assert run.stored["substeps"][1].any()
    np.testing.assert_array_equal(run.stored["substeps"], other.stored["substeps"])
    np.testing.assert_allclose(run.q, other.q, atol=1e-5)


def test_a_step_with_another_result_is_refused():
    robot, q, p, u = fast_chain()
    run = la.simulate(robot, q, p=p, controls=u, dt=DT, steps=3, integrator=la.Maximal(order=2))
    run.stored["poses"][3, 0, 0] += 1e-3
    with pytest.raises(la.IntegratorError, match="step 2 of the run could not be solved again"):
        backpropagate(run, np.ones((4, robot.nv)), np.ones((4, robot.nv)))
