"""Quaternions: group axioms, the exponential map, and scipy's rotations."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from leastaction import spatial
from tests.spatial.helpers import close, directions, few, matrix, rotation_vectors, vectors

quaternions = rotation_vectors.map(spatial.quat_exp)


def same_rotation(a, b):
    """Whether two unit quaternions agree to round-off, up to their sign."""
    return close(a, b, 1e-15) or close(a, np.negative(b), 1e-15)


@few
@given(quaternions, quaternions, quaternions)
def test_quaternions_are_a_group(a, b, c):
    mul = spatial.quat_mul
    assert close(mul(mul(a, b), c), mul(a, mul(b, c)))
    assert close(mul(a, spatial.QUAT_ID), a)
    assert close(mul(a, spatial.quat_conj(a)), spatial.QUAT_ID)


@few
@given(quaternions, quaternions, vectors)
def test_rotation_of_a_vector_is_a_homomorphism(a, b, x):
    rotate = spatial.quat_rotate
    assert close(rotate(spatial.quat_mul(a, b), x), rotate(a, rotate(b, x)))
    assert close(spatial.quat_rotate(a, x), matrix(spatial.quat_to_rotation(a)) @ x)


@few
@given(rotation_vectors)
def test_exponential_agrees_with_scipy(w):
    reference = Rotation.from_rotvec(w)
    q = spatial.quat_exp(w)
    assert same_rotation(q, np.roll(reference.as_quat(), 1))
    assert close(matrix(spatial.quat_to_rotation(q)), reference.as_matrix(), 1e-15)


@few
@given(rotation_vectors, st.sampled_from([1.0, -1.0]))
def test_logarithm_undoes_the_exponential_for_either_sign(w, sign):
    q = tuple(sign * x for x in spatial.quat_exp(w))
    assert close(spatial.quat_log(q), w, 1e-15 + 4e-16 * np.linalg.norm(w))


@few
@given(directions, st.floats(0.0, 4.0 * math.pi))
def test_logarithm_is_never_longer_than_pi(axis, angle):
    w = spatial.quat_log(spatial.quat_exp(tuple(angle * x for x in axis)))
    assert np.linalg.norm(w) <= math.pi + 1e-15
    assert close(Rotation.from_rotvec(w).as_matrix(), Rotation.from_rotvec(np.multiply(angle, axis)).as_matrix(), 1e-14)


@few
@given(quaternions)
def test_rotation_matrix_gives_the_quaternion_back(q):
    assert same_rotation(spatial.quat_from_rotation(spatial.quat_to_rotation(q)), q)


@pytest.mark.parametrize("axis", range(3))
def test_half_turns_are_exact(axis):
    R = tuple(np.diag([1.0 if i == axis else -1.0 for i in range(3)]).ravel())
    q = spatial.quat_from_rotation(R)
    assert q == tuple(1.0 if i == axis + 1 else 0.0 for i in range(4))
    assert np.abs(spatial.quat_log(q)) == pytest.approx([math.pi if i == axis else 0.0 for i in range(3)])


@few
@given(st.tuples(*[st.floats(-2.0, 2.0)] * 4).filter(lambda q: np.linalg.norm(q) > 1e-3))
def test_normalized_quaternion_has_length_one(q):
    unit = spatial.quat_normalize(q)
    assert np.linalg.norm(unit) == pytest.approx(1.0, abs=4e-16)
    assert close(np.linalg.norm(q) * np.array(unit), q)
