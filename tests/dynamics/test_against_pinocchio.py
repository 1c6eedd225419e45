"""Classical dynamics against Pinocchio, on random trees with every joint type both libraries have."""

import numpy as np
import pytest
from hypothesis import given

import leastaction as la
from leastaction import dynamics
from tests.oracles.differences import assert_close as close
from tests.oracles.random_trees import KINDS, few, random_state, random_tree, seeds, trees

pytestmark = pytest.mark.oracle
pytest.importorskip("pinocchio")
from tests.oracles.pinocchio_model import PinocchioModel  # noqa: E402


def check(robot, seed):
    """All functions of the classical dynamics at a random state."""
    peer = PinocchioModel(robot)
    q, v = random_state(robot, seed)
    a, tau = np.random.default_rng(seed).normal(size=(2, robot.nv))
    close(dynamics.body_poses(robot, q), peer.body_poses(q))
    close(dynamics.mass_matrix(robot, q), peer.mass_matrix(q))
    close(dynamics.inverse_dynamics(robot, q, v, a), peer.inverse_dynamics(q, v, a))
    close(dynamics.bias_forces(robot, q, v), peer.inverse_dynamics(q, v, 0 * a))
    close(dynamics.gravity_forces(robot, q), peer.inverse_dynamics(q, 0 * v, 0 * a))
    close(dynamics.forward_dynamics(robot, q, v, tau), peer.forward_dynamics(q, v, tau))
    close(dynamics.center_of_mass(robot, q), peer.center_of_mass(q))
    close(dynamics.potential_energy(robot, q), peer.energies(q, v)[1])
    for ours, theirs in zip(
        dynamics.inverse_dynamics_derivatives(robot, q, v, a)[:2],
        peer.inverse_dynamics_derivatives(q, v, a),
        strict=True,
    ):
        close(ours, theirs, 1e-9)
    for ours, theirs in zip(
        dynamics.forward_dynamics_derivatives(robot, q, v, tau),
        peer.forward_dynamics_derivatives(q, v, tau),
        strict=True,
    ):
        close(ours, theirs, 1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_joint(kind):
    seed = KINDS.index(kind)
    check(random_tree(seed, 5, ("revolute", kind)), seed)


@given(trees(8), seeds)
@few
def test_random_trees(robot, seed):
    check(robot, seed)


def test_a_long_chain():
    """Rounding grows with the length; 64 links still agree to ten digits."""
    check(random_tree(1, 64, ("revolute", "prismatic"), branching=0.0), 1)


@pytest.mark.parametrize("axis", ["x", "y", "z", "-x", "-y", "-z"])
@pytest.mark.parametrize("kind", ["revolute", "prismatic", "screw", "cylindrical", "planar"])
def test_coordinate_axes(kind, axis):
    """Axes along which Pinocchio has joints of their own."""
    b = la.MechanismBuilder("one")
    b.body("first", mass=1.0, com=(0.1, 0.2, 0.3), inertia=(0.1, 0.2, 0.15))
    b.body("second", mass=2.0, com=(-0.3, 0.1, 0.2), inertia=(0.3, 0.2, 0.4))
    b.joint("a", kind, "world", "first", axis=axis, position=(0.1, 0, 0.3), pitch=0.2)
    b.joint("b", kind, "first", "second", axis=axis, position=(0, 0.4, 0), pitch=-0.1)
    check(b.build(), 3)


@given(trees(8, armature=False), seeds)
@few
def test_kinetic_energy_and_momentum(robot, seed):
    q, v = random_state(robot, seed)
    peer = PinocchioModel(robot)
    close(dynamics.kinetic_energy(robot, q, v), peer.energies(q, v)[0])
    h = dynamics.momentum(robot, q, v)
    close(h, peer.momentum(q, v))
    about_com = h[:3] - np.cross(peer.center_of_mass(q), h[3:])
    close(dynamics.centroidal_momentum(robot, q, v), np.concatenate([about_com, h[3:]]))


@given(trees(8), seeds)
@few
def test_kinetic_energy_is_the_quadratic_form_of_the_mass_matrix(robot, seed):
    q, v = random_state(robot, seed)
    close(dynamics.kinetic_energy(robot, q, v), 0.5 * v @ dynamics.mass_matrix(robot, q) @ v)
