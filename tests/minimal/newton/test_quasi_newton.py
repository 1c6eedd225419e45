"""The quasi-Newton method of Lee et al. 2016 solves the same equations, more slowly."""

from functools import partial

import numpy as np
import pytest

import leastaction as la
from tests.oracles.differences import assert_close
from tests.oracles.random_trees import random_state, random_tree

ROBOTS = {
    "pendulum": lambda: la.robots.pendulum(6),
    "tree": lambda: random_tree(4, 5, ("revolute", "spherical", "free", "prismatic"), stiffness=5.0, damping=0.3),
}


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("method", [partial(la.Galerkin, interpolation="joints"), la.Midpoint])
def test_same_steps_as_newton(name, method):
    """Both solve the same equations, so their runs agree to the tolerance; Newton needs fewer iterations."""
    robot = ROBOTS[name]()
    state = random_state(robot, 5)
    options = {"dt": 0.01, "steps": 10}
    exact = la.simulate(robot, *state, integrator=method(tolerance=1e-12), **options)
    quasi = la.simulate(robot, *state, integrator=method(tolerance=1e-12, solver="quasi"), **options)
    assert_close(quasi.q, exact.q, 1e-9)
    assert_close(quasi.p, exact.p, 1e-9)
    assert quasi.iterations[1:].min() > exact.iterations[1:].max()


def test_only_of_order_two():
    with pytest.raises(la.IntegratorError, match="'quasi' is of order 2 only, got order 4"):
        la.Galerkin(order=4, solver="quasi")


def test_divides_where_newton_does_not():
    """One plain attempt per step: large steps are beyond it, so they are divided, and that is told, not hidden."""
    robot = la.robots.pendulum(32)
    rng = np.random.default_rng(3)
    q, v = rng.uniform(-np.pi / 2, np.pi / 2, (2, 32))
    whole = la.simulate(robot, q, v, dt=0.05, steps=1, integrator=la.Galerkin(order=2, interpolation="joints"))
    parts = la.simulate(robot, q, v, dt=0.05, steps=1, integrator=la.Galerkin(order=2, solver="quasi"))
    assert whole.stored["divided"][1] == 0
    assert parts.stored["divided"][1] != 0
