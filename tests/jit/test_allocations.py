"""Kernels of the hot loops take no memory: what a call needs is in the work space it is given."""

import numba
import numpy as np
import pytest
from numba.core import config
from numba.core.runtime import _nrt_python, rtsys

import leastaction as la
from leastaction._tuples import plain
from leastaction.dynamics import derivatives, recursions
from leastaction.dynamics.arrays import DynamicsData, DynamicsModel
from leastaction.dynamics.workspace import Workspace
from leastaction.explicit.arrays import CLASSICAL, ExplicitSettings, explicit_data, explicit_model
from leastaction.explicit.runge_kutta import runge_kutta, semi_implicit
from tests.oracles.random_trees import random_state, random_tree

pytestmark = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")


@numba.njit
def repeat(function, count, arguments):
    for _ in range(count):
        function(*arguments)


@numba.njit
def allocating(x):
    x[0] += np.zeros(3).sum()


@pytest.fixture(autouse=True)
def counter():
    """Numba counts its allocations only when asked to."""
    was_on = _nrt_python.memsys_stats_enabled()
    _nrt_python.memsys_enable_stats()
    yield
    if not was_on:
        _nrt_python.memsys_disable_stats()


def allocations(function, arguments, count):
    before = rtsys.get_allocation_stats()
    repeat(function, count, arguments)
    after = rtsys.get_allocation_stats()
    return after.alloc - before.alloc


def kernels():
    """Name, kernel and arguments; on a tree with every kind of motion, springs and cables."""
    b = random_tree(3, 6, ("revolute", "spherical", "free", "prismatic", "screw"), stiffness=1.0, damping=0.1).edit()
    b.cable("cable", ["world", "body2", "body5"], stiffness=10.0, rest_length=0.1, damping=0.1)
    b.wrench("wind", "body1", np.ones(6))
    b.thruster("thruster", "body4", np.ones(6))
    robot = b.build()
    q, v = random_state(robot, 1)
    n, w = robot.nv, Workspace(robot)
    model, data = DynamicsModel(*w.model), DynamicsData(*w.data)
    a, tau, M = np.zeros(n), np.zeros(n), np.zeros((n, n))
    u, Q, V = np.ones((2, 4, robot.nu)), np.tile(q, (3, 1)), np.tile(v, (3, 1))
    settings = ExplicitSettings(1e-3, CLASSICAL)
    explicit = (*map(plain, (explicit_model(robot), settings, explicit_data(robot, 4))), u, Q, V)
    yield "inverse dynamics", recursions.inverse_dynamics, (model, data, q, v, a, tau)
    yield "forward dynamics", recursions.forward_dynamics, (model, data, q, v, tau, a)
    yield "mass matrix", recursions.mass_matrix, (model, data, q, M)
    yield "derivatives", derivatives.inverse_dynamics_derivatives, (model, data, w.slopes(), q, v, a, tau)
    yield "Runge-Kutta", runge_kutta, explicit
    yield "semi-implicit Euler", semi_implicit, explicit


KERNELS = list(kernels())


@pytest.mark.parametrize(("kernel", "arguments"), [k[1:] for k in KERNELS], ids=[k[0] for k in KERNELS])
def test_no_allocations(kernel, arguments):
    allocations(kernel, arguments, 1)  # compile
    once, often = (allocations(kernel, arguments, count) for count in (1, 1001))
    assert often == once


def test_the_counter_counts():
    allocations(allocating, (np.zeros(1),), 1)
    once, often = (allocations(allocating, (np.zeros(1),), count) for count in (1, 1001))
    assert often == once + 1000


@pytest.mark.parametrize("solver", ["sparse", "recursive"])
def test_no_allocations_in_steps_of_variational_integrators(solver):
    """A hundred further steps of one rollout take no memory."""
    robot = random_tree(3, 6, ("revolute", "spherical", "free", "prismatic"), damping=0.1)
    stepper = la.Galerkin(order=2, solver=solver).prepare(robot, 1e-3)
    record = stepper.record(101)
    record["q"][0] = random_state(robot, 1)[0]
    controls = np.zeros((101, len(stepper.control_nodes), robot.nu))

    def made(steps):
        before = rtsys.get_allocation_stats().alloc
        assert stepper.advance(record, 0, steps, controls[:steps]) == steps
        return rtsys.get_allocation_stats().alloc - before

    made(1)
    assert made(101) == made(1)
