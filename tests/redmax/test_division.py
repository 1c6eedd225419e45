"""Steps of BDF and SDIRK2 that do not converge, or give energy from nowhere, are divided."""

import numpy as np
import pytest

import leastaction as la
from leastaction.division import lengths_of

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


def test_runs_with_divided_steps_have_no_adjoint():
    robot, q, v = whirling_chain(3)
    with pytest.raises(la.IntegratorError, match="was divided, and has no adjoint; take a smaller dt"):
        la.adjoint(
            robot,
            la.BDF(order=2),
            lambda run: (run.q.sum(), np.ones_like(run.q), None),
            ["q"],
            q=q,
            v=v,
            dt=0.05,
            steps=4,
        )


def test_rest_is_not_divided():
    robot = la.robots.free_body()
    for integrator in METHODS:
        for speed in (0.0, 1e-17):
            run = la.simulate(robot, v=np.full(6, speed), dt=0.01, steps=5, integrator=integrator)
            assert not run.stored["divided"].any()
