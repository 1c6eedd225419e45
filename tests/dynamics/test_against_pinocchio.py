"""Classical dynamics against Pinocchio, on random trees with every joint type both libraries have."""

import numpy as np
import pytest

import leastaction as la
from leastaction import dynamics
from tests.oracles.random_trees import KINDS, random_state, random_tree

pin = pytest.importorskip("pinocchio")
from tests.oracles.pinocchio_model import PinocchioModel  # noqa: E402


def close(a, b, tolerance=1e-10):
    a, b = np.asarray(a), np.asarray(b)
    assert np.abs(a - b).max() <= tolerance * max(1.0, np.abs(b).max()), np.abs(a - b).max()


CASES = [(kind, seed) for seed, kind in enumerate(KINDS)] + [("mixed", seed) for seed in range(100, 112)]


@pytest.mark.parametrize(("kind", "seed"), CASES)
def test_everything_agrees(kind, seed):
    robot = random_tree(seed, 8) if kind == "mixed" else random_tree(seed, 5, ("revolute", kind))
    peer = PinocchioModel(robot)
    q, v = random_state(robot, seed)
    rng = np.random.default_rng(seed)
    a, tau = rng.normal(size=(2, robot.nv))
    close(dynamics.body_poses(robot, q), peer.body_poses(q))
    close(dynamics.mass_matrix(robot, q), peer.mass_matrix(q))
    close(dynamics.inverse_dynamics(robot, q, v, a), peer.inverse_dynamics(q, v, a))
    close(dynamics.forward_dynamics(robot, q, v, tau), peer.forward_dynamics(q, v, tau))
    close(dynamics.center_of_mass(robot, q), peer.center_of_mass(q))
    close(dynamics.centroidal_momentum(robot, q, v), peer.momentum(q, v))
    close(dynamics.potential_energy(robot, q), peer.energies(q, v)[1])
    for ours, theirs in zip(
        dynamics.inverse_dynamics_derivatives(robot, q, v, a), peer.inverse_dynamics_derivatives(q, v, a), strict=False
    ):
        close(ours, theirs, 1e-9)
    for ours, theirs in zip(
        dynamics.forward_dynamics_derivatives(robot, q, v, tau), peer.forward_dynamics_derivatives(q, v, tau), strict=True
    ):
        close(ours, theirs, 1e-9)


def test_kinetic_energy_without_armature():
    robot = random_tree(7, 8, armature=False)
    q, v = random_state(robot, 1)
    close(dynamics.kinetic_energy(robot, q, v), PinocchioModel(robot).energies(q, v)[0])


def test_kinetic_energy_is_the_quadratic_form_of_the_mass_matrix():
    robot = random_tree(8, 8)
    q, v = random_state(robot, 2)
    close(dynamics.kinetic_energy(robot, q, v), 0.5 * v @ dynamics.mass_matrix(robot, q) @ v)


def test_public_name():
    assert la.dynamics is dynamics
