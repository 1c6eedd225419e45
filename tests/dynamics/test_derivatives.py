"""Analytic derivatives of inverse and forward dynamics against central differences on the manifold."""

import numpy as np
import pytest
from hypothesis import given, settings

import leastaction as la
from leastaction import dynamics
from tests.oracles.differences import assert_close, by_q, by_vector
from tests.oracles.random_trees import KINDS, random_state, random_tree, seeds, trees


def check(robot, seed):
    q, v = random_state(robot, seed)
    a, u = np.random.default_rng(seed).normal(size=(2, robot.nv))
    dq, dv, da = dynamics.inverse_dynamics_derivatives(robot, q, v, a)
    assert_close(dq, by_q(robot, lambda x: dynamics.inverse_dynamics(robot, x, v, a), q), 1e-8)
    assert_close(dv, by_vector(lambda x: dynamics.inverse_dynamics(robot, q, x, a), v), 1e-9)
    assert_close(da, by_vector(lambda x: dynamics.inverse_dynamics(robot, q, v, x), a), 1e-9)
    dq, dv, du = dynamics.forward_dynamics_derivatives(robot, q, v, u)
    assert_close(dq, by_q(robot, lambda x: dynamics.forward_dynamics(robot, x, v, u), q), 1e-7)
    assert_close(dv, by_vector(lambda x: dynamics.forward_dynamics(robot, q, x, u), v), 1e-8)
    assert_close(du, by_vector(lambda x: dynamics.forward_dynamics(robot, q, v, x), u), 1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_joint(kind):
    seed = KINDS.index(kind)
    check(random_tree(seed, 3, ("revolute", kind), branching=0.0), seed)


@given(trees(4), seeds)
@settings(max_examples=10, deadline=None)
def test_random_trees(robot, seed):
    check(robot, seed)


@given(trees(6), seeds)
@settings(max_examples=15, deadline=None)
def test_forward_dynamics_inverts_inverse_dynamics(robot, seed):
    q, v = random_state(robot, seed)
    a = np.random.default_rng(seed).normal(size=robot.nv)
    tau = dynamics.inverse_dynamics(robot, q, v, a)
    # The residual in forces, not in accelerations: it does not depend on the condition of the mass matrix.
    back = dynamics.forward_dynamics(robot, q, v, tau)
    assert_close(dynamics.inverse_dynamics(robot, q, v, back), tau, 1e-10)


@given(trees(5), seeds)
@settings(max_examples=10, deadline=None)
def test_mass_matrix_is_symmetric_and_positive_and_its_rate_fits_the_coriolis_forces(robot, seed):
    """dT/dt = v'(tau - gravity) for any acceleration: the law that ties Mdot to the Coriolis forces."""
    q, v = random_state(robot, seed)
    M = dynamics.mass_matrix(robot, q)
    assert (M == M.T).all()
    assert np.linalg.eigvalsh(M).min() > 0.0
    rate = by_q(robot, lambda x: dynamics.kinetic_energy(robot, x, v), q) @ v
    coriolis = dynamics.bias_forces(robot, q, v) - dynamics.gravity_forces(robot, q)
    # With zero acceleration the kinetic energy changes only because M does: dT/dt = v' C v at a = 0.
    assert_close(v @ coriolis, rate, 1e-8)


@given(trees(5), seeds)
@settings(max_examples=10, deadline=None)
def test_gravity_forces_are_the_gradient_of_the_potential(robot, seed):
    q, _ = random_state(robot, seed)
    gradient = by_q(robot, lambda x: dynamics.potential_energy(robot, x), q)
    assert_close(dynamics.gravity_forces(robot, q), gradient, 1e-8)


def test_armature_of_ball_and_free_joints_keeps_the_energy():
    """The momentum of a drive that turns with its body turns too: without that force the energy would drift."""
    b = la.MechanismBuilder("driven", gravity=(0, 0, 0))
    b.body("first", mass=1.0, com=(0.1, 0.2, 0.0), inertia=(0.1, 0.2, 0.25))
    b.body("second", mass=0.5, com=(0.0, 0.1, 0.3), inertia=(0.02, 0.03, 0.04))
    b.free("first", armature=(0.1, 0.3, 0.2, 0.4, 0.4, 0.4))
    b.spherical("ball", "first", "second", position=(0.2, 0, 0), armature=(0.3, 0.1, 0.2))
    robot = b.build()
    v = np.array([1.0, -2.0, 0.5, 0.3, 0.7, -0.4, 2.0, 1.0, -1.5])
    run = la.simulate(robot, v=v, dt=0.25, duration=1.0, integrator=la.DOP853(rtol=1e-11, atol=1e-12))
    assert np.ptp(run.energy) < 1e-8 * run.energy[0]
    exact = la.dynamics.inverse_dynamics_derivatives(robot, run.q[2], run.v[2], v)[1]
    h = 1e-6
    for k, e in enumerate(h * np.eye(robot.nv)):
        up = la.dynamics.inverse_dynamics(robot, run.q[2], run.v[2] + e, v)
        down = la.dynamics.inverse_dynamics(robot, run.q[2], run.v[2] - e, v)
        np.testing.assert_allclose(exact[:, k], (up - down) / (2 * h), atol=1e-7)
    variational = la.simulate(robot, v=v, dt=0.05, duration=1.0, integrator=la.Galerkin(order=6))
    assert np.abs(robot.difference(run.q[-1], variational.q[-1])).max() < 1e-6
