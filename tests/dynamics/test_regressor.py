"""The regressor of inverse dynamics: forces are linear in the ten parameters of each body."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

import leastaction as la
from leastaction import dynamics
from leastaction.dynamics.regressor import parameters_of
from leastaction.errors import MechanismError
from tests.oracles.differences import assert_close
from tests.oracles.random_trees import KINDS, few, random_inertia, random_state, random_tree, seeds, trees


def forces(robot, q, v, a):
    """By the regressor."""
    Y = dynamics.inverse_dynamics_regressor(robot, q, v, a)
    return Y @ dynamics.inertial_parameters(robot).ravel()


@pytest.mark.parametrize("kind", KINDS)
def test_it_gives_inverse_dynamics_with_every_kind_of_joint(kind):
    seed = KINDS.index(kind)
    robot = random_tree(seed, 5, ("revolute", kind), armature=False)
    q, v = random_state(robot, seed)
    a = np.random.default_rng(seed).normal(size=robot.nv)
    assert_close(forces(robot, q, v, a), dynamics.inverse_dynamics(robot, q, v, a))


@given(trees(8), seeds)
@few
def test_what_is_left_is_of_the_drives(robot, seed):
    """With armatures it lacks what these take, whatever the bodies weigh."""
    q, v = random_state(robot, seed)
    a = np.random.default_rng(seed).normal(size=robot.nv)
    bare = robot.replace(joints=tuple(replace(joint, armature=(0.0,) * joint.nv) for joint in robot.joints))
    assert_close(forces(robot, q, v, a), dynamics.inverse_dynamics(bare, q, v, a))


def test_far_from_the_origin_it_is_the_same():
    robot = random_tree(3, 4, ("free", "revolute"), armature=False)
    q, v = random_state(robot, 3)
    a = np.random.default_rng(3).normal(size=robot.nv)
    near = dynamics.inverse_dynamics_regressor(robot, q, v, a)
    i = robot.coordinate_groups[0].iq
    q[i : i + 3] += [4096.0, -8192.0, 1024.0]
    assert_close(dynamics.inverse_dynamics_regressor(robot, q, v, a), near, 1e-9)


def test_joints_along_splines_are_refused():
    b = la.MechanismBuilder("rail")
    b.body("car", mass=1.0, inertia=0.1)
    frames = [la.mechanism.Pose((x, 0.0, 0.0)) for x in (0.0, 1.0, 2.0, 3.0)]
    b.joint("rail", "spline_curve", "world", "car", frames=frames)
    with pytest.raises(MechanismError, match="splines"):
        dynamics.inverse_dynamics_regressor(b.build(), [0.5], [0.0], [0.0])


@pytest.mark.oracle
@given(trees(6, armature=False), seeds)
@few
def test_against_pinocchio(robot, seed):
    """Columns of a body in its own frame times random bodies are those of its joint times the same bodies there."""
    pin = pytest.importorskip("pinocchio")
    from tests.oracles.pinocchio_model import PinocchioModel

    peer, rng = PinocchioModel(robot), np.random.default_rng(seed)
    q, v = random_state(robot, seed)
    a = rng.normal(size=robot.nv)
    P = peer.P
    theirs = pin.computeJointTorqueRegressor(peer.model, peer.data, peer.q(q), P @ v, P @ a)
    theirs = P.T @ theirs.reshape(robot.nv, -1)  # one row comes as a vector
    ours = dynamics.inverse_dynamics_regressor(robot, q, v, a)
    for k, (joint, place) in enumerate(peer.frames):
        bodies = [random_inertia(rng) for _ in range(10)]
        own = np.array([parameters_of(x) for x in bodies]).T
        if joint == 0:
            assert not ours[:, 10 * k : 10 * k + 10].any()
            continue
        there = [place.act(pin.Inertia(x.mass, np.array(x.com), x.matrix)).toDynamicParameters() for x in bodies]
        expected = theirs[:, 10 * (joint - 1) : 10 * joint] @ np.array(there).T
        assert_close(ours[:, 10 * k : 10 * k + 10] @ own, expected, 1e-9)
