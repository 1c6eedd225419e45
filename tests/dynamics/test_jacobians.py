"""Jacobians and twists against finite differences of poses."""

import numpy as np
import pytest
from hypothesis import given, settings

from leastaction import MechanismError, dynamics
from tests.oracles.differences import assert_close, by_q, central
from tests.oracles.random_trees import few, random_state, random_tree, seeds, trees


def skew_part(A):
    return 0.5 * np.array([A[..., 2, 1] - A[..., 1, 2], A[..., 0, 2] - A[..., 2, 0], A[..., 1, 0] - A[..., 0, 1]])


@given(trees(5), seeds)
@settings(max_examples=10, deadline=None)
def test_body_jacobian_is_the_derivative_of_the_pose(robot, seed):
    q, _ = random_state(robot, seed)
    point = np.array([0.1, -0.2, 0.3])
    X = dynamics.body_poses(robot, q)
    dX = by_q(robot, lambda x: dynamics.body_poses(robot, x), q)
    for i, name in enumerate(robot.body_names):
        R, p, dR, dp = X[i, :3, :3], X[i, :3, 3], dX[i, :3, :3], dX[i, :3, 3]
        angular = np.stack([skew_part(dR[..., k] @ R.T) for k in range(robot.nv)], axis=-1)
        linear = dp + np.einsum("ijk,j->ik", dR, point)
        world = dynamics.body_jacobian(robot, q, name, point=point)
        assert_close(world, np.concatenate([angular, linear]), 1e-9)
        body = dynamics.body_jacobian(robot, q, name, point=point, frame="body")
        assert_close(body, np.concatenate([R.T @ angular, R.T @ linear]), 1e-9)
        origin = dynamics.body_jacobian(robot, q, name, frame="origin")
        assert_close(origin, np.concatenate([angular, dp - np.cross(angular.T, p).T]), 1e-9)


@given(trees(6), seeds)
@few
def test_body_twists(robot, seed):
    """A body's twist is J v, in its own frame, and the velocity of its pose: X^-1 dX/dt."""
    q, v = random_state(robot, seed)
    twists = dynamics.body_twists(robot, q, v)
    X = dynamics.body_poses(robot, q)
    dX = central(lambda h: dynamics.body_poses(robot, robot.integrate(q, h * v)), 2e-4)
    for i, name in enumerate(robot.body_names):
        assert_close(twists[i], dynamics.body_jacobian(robot, q, name, frame="body") @ v)
        local = np.linalg.inv(X[i]) @ dX[i]
        assert_close(twists[i], np.concatenate([skew_part(local[:3, :3]), local[:3, 3]]), 1e-8)


@given(trees(6), seeds)
@few
def test_com_jacobian(robot, seed):
    q, v = random_state(robot, seed)
    J = dynamics.com_jacobian(robot, q)
    assert_close(J, by_q(robot, lambda x: dynamics.center_of_mass(robot, x), q), 1e-9)
    # Linear momentum is mass times the velocity of the centre of mass.
    assert_close(dynamics.momentum(robot, q, v)[3:], robot.total_mass * J @ v)


@given(trees(6, armature=False), seeds)
@few
def test_mass_matrix_from_jacobians(robot, seed):
    """M = sum over bodies of J' I J: composite inertias give the same as the definition."""
    q, _ = random_state(robot, seed)
    M = np.zeros((robot.nv, robot.nv))
    for body in robot.bodies:
        J = dynamics.body_jacobian(robot, q, body.name, point=body.inertia.com, frame="body")
        M += J[:3].T @ body.inertia.matrix @ J[:3] + body.inertia.mass * J[3:].T @ J[3:]
    assert_close(dynamics.mass_matrix(robot, q), M)


def test_the_world_does_not_move():
    robot = random_tree(1, 4)
    q, _ = random_state(robot, 1)
    for frame in ("world", "body", "origin"):
        assert not dynamics.body_jacobian(robot, q, "world", frame=frame).any()


def test_bad_names():
    robot = random_tree(1, 2)
    with pytest.raises(MechanismError, match="did you mean 'body1'"):
        dynamics.body_jacobian(robot, robot.neutral(), "bdy1")
    with pytest.raises(MechanismError, match="frame must be"):
        dynamics.body_jacobian(robot, robot.neutral(), "body1", frame="local")
