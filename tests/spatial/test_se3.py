"""Rigid transforms: group axioms, adjoint maps, the exponential map and its Jacobians."""

import numpy as np
from hypothesis import given
from scipy.linalg import expm

from leastaction import spatial
from tests.spatial.helpers import block, close, few, matrix, pair, poses, screws, six, twists, vectors

STEP = 1e-5  # of a central difference; its error stays below 1e-8 for poses of a few metres


def homogeneous(X):
    """The 4 x 4 matrix of a pose."""
    return np.block([[matrix(X[0]), np.array(X[1])[:, None]], [np.zeros(3), 1.0]])


@few
@given(poses, poses, poses, vectors)
def test_poses_are_a_group_that_acts_on_points(X, Y, Z, point):
    compose, inverse, act = spatial.compose, spatial.inverse, spatial.act
    assert close(compose(compose(X, Y), Z), compose(X, compose(Y, Z)))
    assert close(compose(X, spatial.IDENTITY), X)
    assert close(compose(inverse(X), X), spatial.IDENTITY)
    assert close(homogeneous(compose(X, Y)), homogeneous(X) @ homogeneous(Y))
    assert close(act(compose(X, Y), point), act(X, act(Y, point)))
    assert close(act(X, point), (homogeneous(X) @ [*point, 1.0])[:3])


@few
@given(poses, poses, twists, twists)
def test_adjoint_maps(X, Y, V, W):
    """Laws: Ad_XY = Ad_X Ad_Y, Ad_inv undoes Ad, Ad keeps the bracket."""
    Ad = spatial.Ad
    assert close(Ad(spatial.compose(X, Y), V), Ad(X, Ad(Y, V)), 1e-11)
    assert close(spatial.Ad_inv(X, Ad(X, V)), V, 1e-11)
    assert close(spatial.Ad_inv(X, V), Ad(spatial.inverse(X), V), 1e-11)
    assert close(Ad(X, spatial.ad(V, W)), spatial.ad(Ad(X, V), Ad(X, W)), 1e-10)


@few
@given(poses, twists, twists)
def test_wrenches_are_dual_to_twists(X, V, F):
    """Law: power does not depend on the frame; the co-adjoint maps are the transposes of the adjoint ones."""
    assert close(spatial.dot(spatial.coAd(X, F), spatial.Ad(X, V)), spatial.dot(F, V), 1e-10)
    assert close(spatial.dot(spatial.coAd_inv(X, F), V), spatial.dot(F, spatial.Ad(X, V)), 1e-10)
    assert close(spatial.coAd_inv(X, spatial.coAd(X, F)), F, 1e-11)


@few
@given(screws)
def test_exponential_agrees_with_the_matrix_exponential_and_is_undone_by_the_logarithm(V):
    X = spatial.se3_exp(V)
    generator = np.block([[matrix(spatial.hat(V[0])), np.array(V[1])[:, None]], [np.zeros(4)]])
    assert close(homogeneous(X), expm(generator), 1e-13)
    assert close(spatial.se3_log(X), V, 2e-14)


@few
@given(screws, twists)
def test_jacobians_are_the_derivative_of_the_exponential(V, dV):
    """Law: exp(V + dV) = exp(J_l dV) exp(V) = exp(V) exp(J_r dV) to first order."""
    X = spatial.se3_exp(V)
    ahead = spatial.se3_exp(pair(six(V) + STEP * six(dV)))
    behind = spatial.se3_exp(pair(six(V) - STEP * six(dV)))
    inverse = spatial.inverse(behind)
    # log(ahead behind^-1) / (2 STEP) is a central difference in the group.
    left = six(spatial.se3_log(spatial.compose(ahead, inverse))) / (2.0 * STEP)
    right = six(spatial.se3_log(spatial.compose(inverse, ahead))) / (2.0 * STEP)
    assert close(spatial.block_apply(spatial.se3_left_jacobian(V), dV), left, 1e-8)
    assert close(spatial.block_apply(spatial.se3_right_jacobian(V), dV), right, 1e-8)
    assert close(six(spatial.Ad(X, pair(right))), left, 1e-8)


@few
@given(screws, twists, twists)
def test_jacobian_blocks(V, W, F):
    """Laws: the inverse undoes the Jacobian, J_l = Ad_X J_r, and the transpose is the dual map."""
    left, right = spatial.se3_left_jacobian(V), spatial.se3_right_jacobian(V)
    assert close(block(left) @ block(spatial.se3_left_jacobian_inv(V)), np.eye(6), 1e-13)
    assert close(block(right) @ block(spatial.se3_right_jacobian_inv(V)), np.eye(6), 1e-13)
    applied = spatial.block_apply(right, W)
    assert close(applied, block(right) @ six(W))
    assert close(spatial.block_apply_transposed(right, F), block(right).T @ six(F))
    assert close(spatial.block_apply(left, W), spatial.Ad(spatial.se3_exp(V), applied))
