"""Rotations: group axioms, the exponential map and its Jacobians."""

import math

import numpy as np
import pytest
from hypothesis import given
from scipy.spatial.transform import Rotation

from leastaction import spatial
from tests.spatial.helpers import (
    close,
    directions,
    few,
    matrices,
    matrix,
    rotation_vectors,
    rotations,
    vectors,
)

STEP = 1e-5  # of a central difference [rad]: its error is about STEP^2 / 6 + 1e-16 / STEP, so below 1e-9


def slope(function, x, dx):
    """Central difference of a function of a vector, along dx."""
    x, dx = np.array(x), np.array(dx)
    ahead = np.array(function(tuple((x + STEP * dx).tolist())))
    behind = np.array(function(tuple((x - STEP * dx).tolist())))
    return (ahead - behind) / (2.0 * STEP)


@few
@given(matrices, matrices, vectors)
def test_matrix_algebra_agrees_with_numpy(A, B, a):
    a_, b_ = matrix(A), matrix(B)
    assert close(spatial.matvec(A, a), a_ @ a)
    assert close(spatial.mattvec(A, a), a_.T @ a)
    assert close(spatial.matmul(A, B), a_ @ b_)
    assert close(spatial.mattmul(A, B), a_.T @ b_)
    assert close(spatial.matmult(A, B), a_ @ b_.T)
    assert close(spatial.transpose(A), a_.T)
    assert close(spatial.vee(A), spatial.vee(tuple(((a_ - a_.T) / 2).ravel().tolist())))


@few
@given(vectors, vectors)
def test_hat_is_the_cross_product_and_vee_undoes_it(a, b):
    assert close(spatial.matvec(spatial.hat(a), b), np.cross(a, b))
    assert spatial.vee(spatial.hat(a)) == a


@few
@given(rotations)
def test_rotations_are_orthogonal_and_right_handed(R):
    assert close(matrix(R) @ matrix(R).T, np.eye(3), 2e-15)
    assert np.linalg.det(matrix(R)) == pytest.approx(1.0)


@few
@given(rotation_vectors)
def test_exponential_agrees_with_scipy_and_is_undone_by_the_logarithm(w):
    R = spatial.rot_exp(w)
    assert close(matrix(R), Rotation.from_rotvec(w).as_matrix(), 1e-15)
    assert close(spatial.rot_log(R), w, 2e-15)


@few
@given(directions)
def test_logarithm_of_half_a_turn(axis):
    w = spatial.rot_log(spatial.rot_exp(tuple(math.pi * x for x in axis)))
    assert close(np.multiply(math.pi, axis), w, 2e-15) or close(np.multiply(-math.pi, axis), w, 2e-15)


@few
@given(directions, rotation_vectors)
def test_rotation_about_an_axis_is_the_exponential(axis, w):
    angle = float(np.linalg.norm(w))
    expected = spatial.rot_exp(tuple(angle * x for x in axis))
    assert close(spatial.axis_rotation(axis, math.sin(angle), math.cos(angle)), expected, 2e-15)


@few
@given(rotation_vectors, vectors)
def test_jacobians_are_the_derivative_of_the_exponential(w, dw):
    """Law: dR R^T = hat(J_l dw) and R^T dR = hat(J_r dw)."""
    R = spatial.rot_exp(w)
    dR = tuple(slope(spatial.rot_exp, w, dw).tolist())
    left = spatial.vee(spatial.matmult(dR, R))
    right = spatial.vee(spatial.mattmul(R, dR))
    assert close(spatial.matvec(spatial.left_jacobian(w), dw), left, 1e-8)
    assert close(spatial.matvec(spatial.right_jacobian(w), dw), right, 1e-8)


@few
@given(rotation_vectors)
def test_jacobians_and_their_inverses(w):
    left, right = matrix(spatial.left_jacobian(w)), matrix(spatial.right_jacobian(w))
    assert close(left, right.T, 0.0)
    assert close(left @ matrix(spatial.left_jacobian_inv(w)), np.eye(3), 4e-15)
    assert close(right @ matrix(spatial.right_jacobian_inv(w)), np.eye(3), 4e-15)
    assert close(left, matrix(spatial.rot_exp(w)) @ right, 4e-15)


@few
@given(rotation_vectors, vectors, vectors)
def test_derivatives_of_the_jacobians(w, wdot, a):
    """Law: the *_dot functions are the directional derivatives of the Jacobians."""
    left = slope(lambda x: spatial.matvec(spatial.left_jacobian(x), a), w, wdot)
    right = slope(lambda x: spatial.matvec(spatial.right_jacobian(x), a), w, wdot)
    assert close(spatial.left_jacobian_dot(w, wdot, a), left, 1e-8)
    assert close(spatial.right_jacobian_dot(w, wdot, a), right, 1e-8)
