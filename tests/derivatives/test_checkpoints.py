"""Checkpointing: the same gradients to the last bit, in memory that grows with the square root of the steps."""

import tracemalloc

import numpy as np
import pytest

import leastaction as la
from leastaction.derivatives import SimulationObjective, adjoint, gradient, piecewise, reach
from tests.redmax.robots import ROBOTS, chain, springs, start

METHODS = (la.BDF(order=1), la.BDF(order=2), la.SDIRK2(), la.BDF(order=2, chart="exponential"))
NAMES = ["q", "v", "controls", "gravity", "mass:l1", "position:j1", "stiffness:s"]


def weights(steps, nv):
    return np.random.default_rng(5).normal(size=(2, steps + 1, nv))


def sum_over_states(steps, nv):
    cq, cv = weights(steps, nv)

    @piecewise
    def objective(run, first, total):
        rows = slice(first, first + len(run))
        assert total == steps
        assert np.allclose(run.t, 0.01 * np.arange(first, first + len(run)))
        return float((cv[rows] * run.v).sum()), cq[rows], cv[rows]

    return objective


def ball_run(steps):
    """Fast balls, so that their charts change on the way, and controls that vary."""
    robot = chain("spherical", 2, springs)
    q, v = start("springs on balls", robot)
    u = np.random.default_rng(6).normal(size=(steps, robot.nu))
    return robot, {"q": q, "v": 4.0 * v, "dt": 0.01, "steps": steps, "controls": u}


@pytest.mark.parametrize("integrator", METHODS, ids=lambda x: repr(x)[:12])
@pytest.mark.parametrize("checkpoints", [1, 3, True, 19])
def test_gradients_are_the_same_to_the_last_bit(integrator, checkpoints):
    robot, options = ball_run(19)
    objective = sum_over_states(19, robot.nv)
    value, expected = adjoint(robot, integrator, objective, NAMES, **options)
    for form in (objective, lambda run: objective(run)):  # told in pieces, and of whole runs only
        other, ours = adjoint(robot, integrator, form, NAMES, checkpoints=checkpoints, **options)
        assert other == pytest.approx(value, rel=1e-13)
        for name in ("q", "v", "controls"):
            assert np.array_equal(ours[name], expected[name])
        for name in NAMES:  # sums over steps, in the same order
            assert np.array_equal(ours[name], expected[name])


def test_loops_and_splines_are_continued_exactly():
    """Multipliers at the cuts are the guesses of the next step; the segment of a spline is found again."""
    robot = la.robots.four_bar()
    objective = sum_over_states(12, robot.nv)
    options = {"dt": 0.01, "steps": 12}
    names = ["q", "v", f"mass:{robot.body_names[1]}", f"position:{robot.loops[0].name}"]
    for method in (la.BDF(order=1), la.BDF(order=2)):
        expected = adjoint(robot, method, objective, names, **options)[1]
        ours = adjoint(robot, method, objective, names, checkpoints=4, **options)[1]
        assert all(np.array_equal(ours[name], expected[name]) for name in names)
    bead = ROBOTS["curve"]()
    q, v = start("curve", bead)
    objective = sum_over_states(12, bead.nv)
    expected = adjoint(bead, la.BDF(order=2), objective, ["q", "v"], q=q, v=v, **options)[1]
    ours = adjoint(bead, la.BDF(order=2), objective, ["q", "v"], q=q, v=v, checkpoints=5, **options)[1]
    assert all(np.array_equal(ours[name], expected[name]) for name in ("q", "v"))


def peak(call):
    call()  # whatever is allocated once
    tracemalloc.start()
    call()
    size = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return size


def test_memory_grows_with_the_square_root_of_the_steps():
    robot = la.robots.pendulum(3)

    @piecewise
    def objective(run, first, steps):
        return float((run.q**2).sum()), 2.0 * run.q, None

    def size(steps, checkpoints):
        options = {"q": [0.5, 0.2, 0.1], "dt": 0.001, "steps": steps, "checkpoints": checkpoints}
        return peak(lambda: adjoint(robot, la.BDF(order=2), objective, ["q", "mass:link1"], **options))

    plain, cut = size(12800, None), size(12800, True)
    assert cut < 0.1 * plain, (cut, plain)
    assert size(51200, True) - cut < 0.2 * 3.0 * plain  # four times the steps would take three times `plain` more


def test_objectives_that_end_in_one_state():
    """`reach` looks at one state: only the piece that has it counts."""
    robot = la.robots.pendulum(2)
    options = {"q": [0.4, 0.1], "dt": 0.01, "steps": 30}
    for step in (-1, 0, 17, 30):
        goal = reach(robot.body_names[-1], (0, 0, -1), (0.5, 0, -1), step=step)
        names = ["q", f"position:{robot.joint_names[1]}"]
        value, expected = adjoint(robot, la.BDF(order=2), goal, names, **options)
        other, ours = adjoint(robot, la.BDF(order=2), goal, names, checkpoints=4, **options)
        assert value == other
        assert all(np.array_equal(ours[name], expected[name]) for name in names)


def test_objective_for_scipy():
    robot = la.robots.pendulum(2)
    goal = reach(robot.body_names[-1], (0, 0, -1), (0.5, 0, -1))
    options = {"dt": 0.01, "steps": 30}
    plain = SimulationObjective(robot, la.BDF(order=2), goal, ["controls"], **options)
    cut = SimulationObjective(robot, la.BDF(order=2), goal, ["controls"], checkpoints=5, **options)
    x = np.random.default_rng(0).normal(size=plain.start.shape)
    assert plain(x)[0] == cut(x)[0]
    assert np.array_equal(plain(x)[1], cut(x)[1])


def test_errors():
    robot = la.robots.pendulum(1)
    goal = sum_over_states(4, 1)
    with pytest.raises(la.IntegratorError, match="checkpoints must be a number of at least 1"):
        adjoint(robot, la.BDF(), goal, steps=4, checkpoints=0)
    with pytest.raises(la.IntegratorError, match="a controller cannot be run again"):
        adjoint(robot, la.BDF(), goal, steps=4, checkpoints=2, controller=lambda t, q, v: [0.0])
    with pytest.raises(la.IntegratorError, match=r"RungeKutta has no adjoint; use leastaction\.Galerkin"):
        adjoint(robot, la.RungeKutta(), goal, steps=4, checkpoints=2)
    with pytest.raises(la.IntegratorError, match="LinearlyImplicitEuler has no adjoint"):
        gradient(la.simulate(robot, steps=1, integrator=la.LinearlyImplicitEuler()), None, None)
