"""Steps of BDF and SDIRK2 that do not converge, or give energy from nowhere, are divided."""

import dataclasses

import numpy as np
import pytest

import leastaction as la
from leastaction.derivatives import gradient, parameter, with_parameters
from leastaction.step_control.bisection import lengths_of

METHODS = [la.BDF(order=1), la.BDF(order=2), la.SDIRK2()]


def whirling_chain(seed):
    robot = la.robots.pendulum(12)
    q, v = np.random.default_rng(seed).uniform(-1.5, 1.5, (2, 12))
    return robot, q, 5.0 * v


@pytest.mark.parametrize("integrator", METHODS, ids=["BDF1", "BDF2", "SDIRK2"])
@pytest.mark.parametrize("seed", range(2))
def test_no_energy_from_nowhere(integrator, seed):
    """Each part may gain a little; steps of 0.05 s gained without bound, or failed."""
    robot, q, v = whirling_chain(seed)
    run = la.simulate(robot, q, v, dt=0.05, steps=20, integrator=integrator)
    assert run.stored["divided"].any()
    assert (run.energy - run.energy[0]).max() < 0.3 * run.kinetic_energy.max()


def test_a_divided_step_is_the_chain_of_its_parts():
    """Parts of BDF2 are steps of SDIRK2."""
    robot, q, v = whirling_chain(3)
    run = la.simulate(robot, q, v, dt=0.05, steps=4, integrator=la.BDF(order=2))
    for k in np.flatnonzero(run.stored["divided"]) - 1:
        q, v = run.q[k], run.v[k]
        for length in lengths_of(int(run.stored["divided"][k + 1])):
            part = la.simulate(robot, q, v, dt=length * 0.05, steps=1, integrator=la.SDIRK2())
            q, v = part.q[1], part.v[1]
        np.testing.assert_allclose(q, run.q[k + 1], rtol=0.0, atol=1e-9)
        np.testing.assert_allclose(v, run.v[k + 1], rtol=0.0, atol=1e-7)


@pytest.mark.parametrize("integrator", METHODS, ids=["BDF1", "BDF2", "SDIRK2"])
@pytest.mark.parametrize("checkpoints", [None, 2])
def test_gradients_through_divided_steps(integrator, checkpoints):
    """By the first state, controls and a mass, against central differences of runs that are divided alike."""
    robot, nv, steps = la.robots.pendulum(6), 6, 4
    q, v = np.random.default_rng(1).uniform(-1.5, 1.5, (2, nv)) * [[1.0], [5.0]]
    method = dataclasses.replace(integrator, tolerance=1e-12)
    rng = np.random.default_rng(0)
    weights, (dq, dv, du) = rng.normal(size=(steps + 1, nv)), rng.normal(size=(3, nv))
    pushed = np.array([[0.0], [0.0], [1.0], [1.0]])  # steps with controls are not judged by their energy
    divisions = []

    def objective(run):
        return float((weights * (run.q + run.v)).sum()), weights, weights

    def value(s):
        heavier = with_parameters(robot, {"mass:link3": parameter(robot, "mass:link3") + s})
        u = pushed * (0.3 + s * du)
        run = la.simulate(heavier, q + s * dq, v + s * dv, controls=u, dt=0.08, steps=steps, integrator=method)
        divisions.append(run.stored["divided"])
        return objective(run)[0]

    options = {"q": q, "v": v, "controls": 0.3 * pushed * np.ones(nv), "checkpoints": checkpoints}
    names = ["q", "v", "controls", "mass:link3"]
    at, g = la.adjoint(robot, method, objective, names, **options, dt=0.08, steps=steps)
    ours = dq @ g["q"] + dv @ g["v"] + du @ g["controls"][2:].sum(axis=0) + g["mass:link3"]
    e = 1e-5
    theirs = (8 * (value(e) - value(-e)) - (value(2 * e) - value(-2 * e))) / (12 * e)
    assert at == value(0.0)
    assert divisions[-1].any()
    assert all((other == divisions[-1]).all() for other in divisions)
    assert abs(ours - theirs) <= 1e-6 * abs(theirs)


def test_gradients_through_divided_steps_of_loops():
    """Parts of BDF2 are steps of SDIRK2, which project velocities to the tangent of the loops."""
    robot = la.robots.four_bar()
    q = la.dynamics.close_loops(robot, robot.neutral())
    A = la.dynamics.loop_jacobian(robot, q)[1]
    v = np.linalg.svd(A)[2][-1]
    v *= 30.0 / np.abs(v).max()
    method = la.BDF(order=2, tolerance=1e-12)
    divisions = []

    def value(speed):
        run = la.simulate(robot, q, speed * v, dt=0.2, steps=4, integrator=method)
        divisions.append(run.stored["divided"])
        return float(run.q[:, 0].sum())

    run = la.simulate(robot, q, v, dt=0.2, steps=4, integrator=method)
    dq = np.zeros((5, robot.nv))
    dq[:, 0] = 1.0
    ours = float(gradient(run, dq, None, ["v"])["v"] @ v)
    e = 1e-5
    theirs = (8 * (value(1 + e) - value(1 - e)) - (value(1 + 2 * e) - value(1 - 2 * e))) / (12 * e)
    assert run.stored["divided"].any()
    assert all((other == run.stored["divided"]).all() for other in divisions)
    assert abs(ours - theirs) <= 1e-6 * abs(theirs)


def test_rest_is_not_divided():
    robot = la.robots.free_body()
    for integrator in METHODS:
        for speed in (0.0, 1e-17):
            run = la.simulate(robot, v=np.full(6, speed), dt=0.01, steps=5, integrator=integrator)
            assert not run.stored["divided"].any()
