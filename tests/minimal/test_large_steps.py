"""Steps that are too large have several solutions; those far from the motion are not taken in silence."""

import contextlib
import re
import warnings

import numpy as np
import pytest

import leastaction as la
from leastaction.errors import LeastActionWarning

LINKS = 32


@pytest.fixture(scope="module")
def robot():
    return la.robots.pendulum(LINKS)


def states(count, seed=1):
    """Chains bent and moving at random."""
    return np.random.default_rng(seed).uniform(-np.pi / 2, np.pi / 2, (count, 2, LINKS))


def one_step(robot, q, v, dt):
    """A run of one step, and the warnings it gave."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = la.simulate(robot, q, v, dt=dt, steps=1, integrator=la.Galerkin(order=2))
    return run, [w for w in caught if issubclass(w.category, LeastActionWarning)]


def test_energy_out_of_nowhere_is_told(robot):
    """Without forces that take or give energy, no step may change it much unless it warns, and most need not warn."""
    told = 0
    for q, v in states(60):
        run, caught = one_step(robot, q, v, 0.05)
        jump = abs(run.energy[1] - run.energy[0])
        assert bool(caught) == (jump > 0.5 * run.kinetic_energy[0]) or jump < run.kinetic_energy[0]
        told += bool(caught)
        for warning in caught:
            message = str(warning.message)
            before, after = (float(x) for x in re.search(r"from (\S+) J to (\S+) J", message).groups())
            np.testing.assert_allclose([before, after], run.kinetic_energy, rtol=1e-3)
            assert "step 0" in message
            assert "smaller dt" in message
    assert told <= 6


def test_small_steps_do_not_warn(robot):
    for q, v in states(20, seed=2):
        run, caught = one_step(robot, q, v, 0.002)
        assert not caught
        assert abs(run.energy[1] - run.energy[0]) < 1e-2 * run.kinetic_energy[0]


def test_one_warning_a_run(robot):
    """A run that goes on with steps that are too large warns once."""
    q, v = next((q, v) for q, v in states(100) if one_step(robot, q, v, 0.05)[1])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with contextlib.suppress(la.ConvergenceError):
            la.simulate(robot, q, v, dt=0.05, steps=3, integrator=la.Galerkin(order=2, max_iterations=60))
    assert len([w for w in caught if issubclass(w.category, LeastActionWarning)]) == 1
    assert "test_large_steps" in caught[0].filename
