"""What a run of a variational integrator tells of itself."""

import numpy as np
import pytest

import leastaction as la
from tests.minimal.helpers import METHODS, method
from tests.oracles.differences import assert_close
from tests.oracles.random_trees import KINDS, random_state, random_tree


@pytest.fixture(scope="module")
def robot():
    return random_tree(17, 9, KINDS, branching=0.5, stiffness=1.0)


@pytest.fixture(scope="module", params=METHODS)
def run(request, robot):
    q, v = random_state(robot, 3, speed=0.4)
    return la.simulate(robot, q, v, dt=0.01, duration=0.1, start=2.0, integrator=method(request.param))


def test_momentum_and_velocity_are_dual(robot, run):
    """p = M(q) v at every state: the velocity is that of the discrete momentum."""
    for q, v, p in zip(run.q, run.v, run.p, strict=True):
        assert_close(la.dynamics.mass_matrix(robot, q) @ v, p, 1e-11)


def test_the_start_is_what_was_asked_for(robot, run):
    q, v = random_state(robot, 3, speed=0.4)
    assert (run.q[0] == q).all()
    assert_close(run.v[0], v, 1e-11)
    assert_close(run.p[0], la.dynamics.mass_matrix(robot, q) @ v, 1e-12)


def test_velocity_is_the_rate_of_the_configuration(robot, run):
    """Central differences of q give v, up to their own error dt^2."""
    rate = robot.difference(run.q[:-2], run.q[2:]) / (2.0 * run.dt)
    # Twists are not in one frame over two steps, which costs another dt |v|^2.
    assert np.abs(rate - run.v[1:-1]).max() <= 0.05 * max(1.0, np.abs(run.v).max())


def test_energy_and_momentum_are_those_of_the_classical_dynamics(robot, run):
    for k in (0, 4, run.steps):
        q, v = run.q[k], run.v[k]
        assert run.kinetic_energy[k] == pytest.approx(la.dynamics.kinetic_energy(robot, q, v), rel=1e-12)
        assert run.kinetic_energy[k] == pytest.approx(0.5 * run.p[k] @ v, rel=1e-11)
        assert run.potential_energy[k] == pytest.approx(la.dynamics.potential_energy(robot, q), rel=1e-12)
        assert_close(run.momentum[k], la.dynamics.momentum(robot, q, v), 1e-12)
    assert (run.energy == run.kinetic_energy + run.potential_energy).all()


def test_shapes(robot, run):
    assert run.steps == 10
    assert len(run) == 11
    assert run.q.shape == (11, robot.nq)
    assert run.v.shape == run.p.shape == (11, robot.nv)
    assert run.energy.shape == run.kinetic_energy.shape == run.iterations.shape == (11,)
    assert run.momentum.shape == (11, 6)
    assert run.t[0] == 2.0
    assert_close(run.t, 2.0 + 0.01 * np.arange(11), 1e-15)
    assert set(run.stored) >= {"p", "iterations"}


def test_quaternions_stay_unit(robot, run):
    for node in robot.tree.nodes:
        if node.nv > 1:
            i = int(node.iq) + (3 if node.nv == 6 else 0)
            assert np.abs(np.linalg.norm(run.q[:, i : i + 4], axis=1) - 1.0).max() <= 4e-16


def test_iterations_are_counted(run):
    """None for the start, a few for each step."""
    assert run.iterations[0] == 0
    assert (run.iterations[1:] >= 1).all()
    assert run.iterations.max() <= 8


def test_galerkin_of_order_4_is_the_default(robot):
    q, v = random_state(robot, 3, speed=0.4)
    default = la.simulate(robot, q, v, dt=0.01, steps=3)
    assert default.integrator == la.Galerkin(order=4)


def test_all_orders_agree_in_the_limit(robot):
    """Methods are many, the motion is one."""
    q, v = random_state(robot, 3, speed=0.4)
    runs = [la.simulate(robot, q, v, dt=0.002, steps=10, integrator=method(order)) for order in (4, 6, 8)]
    for run in runs[1:]:
        assert np.abs(robot.difference(runs[0].q, run.q)).max() <= 1e-8
