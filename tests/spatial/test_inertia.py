"""Spatial inertias: one body seen from several frames has one mass, one energy, one momentum."""

import numpy as np
import pytest
from hypothesis import given

from leastaction import spatial
from tests.spatial.helpers import (
    close,
    com_inertias,
    few,
    inertias,
    masses,
    matrix,
    poses,
    rotations,
    six,
    symmetric,
    twists,
    vectors,
)


@few
@given(rotations, com_inertias, vectors)
def test_symmetric_matrices_agree_with_numpy(R, S, a):
    assert close(spatial.symvec(S, a), symmetric(S) @ a)
    assert close(symmetric(spatial.rotate_sym(R, S)), matrix(R) @ symmetric(S) @ matrix(R).T)


@few
@given(masses, vectors, com_inertias, twists)
def test_energy_splits_into_that_of_the_centre_of_mass_and_that_about_it(m, com, Ic, V):
    """Law (König): T = m |v_com|^2 / 2 + w . Ic w / 2."""
    M = spatial.inertia_from_com(m, com, Ic)
    v_com = np.array(V[1]) + np.cross(V[0], com)
    energy = 0.5 * m * v_com @ v_com + 0.5 * np.array(V[0]) @ symmetric(Ic) @ V[0]
    assert spatial.kinetic(M, V) == pytest.approx(energy, rel=1e-12, abs=1e-12)
    assert spatial.dot(V, spatial.momentum(M, V)) == pytest.approx(2.0 * energy, rel=1e-12, abs=1e-12)
    spin = symmetric(Ic) @ V[0] + m * np.cross(com, v_com)
    assert close(six(spatial.momentum(M, V)), np.concatenate([spin, m * v_com]), 1e-10)


@few
@given(poses, inertias, twists)
def test_energy_and_momentum_do_not_depend_on_the_frame(X, M, V):
    """Law: T is a scalar and momentum a wrench under a change of frame."""
    parent = spatial.inertia_transform(X, M)
    W = spatial.Ad(X, V)
    assert spatial.kinetic(parent, W) == pytest.approx(spatial.kinetic(M, V), rel=1e-11, abs=1e-9)
    assert close(spatial.momentum(parent, W), spatial.coAd(X, spatial.momentum(M, V)), 1e-9)


@few
@given(poses, masses, vectors, com_inertias)
def test_world_inertia_is_the_transformed_body_inertia(X, m, com, Ic):
    body = spatial.inertia_from_com(m, com, Ic)
    assert close(spatial.world_inertia(X[0], X[1], m, com, Ic), spatial.inertia_transform(X, body), 1e-11)


@few
@given(inertias, inertias, twists)
def test_momenta_of_welded_bodies_add(A, B, V):
    total = spatial.momentum(spatial.add_inertia(A, B), V)
    assert close(total, spatial.add(spatial.momentum(A, V), spatial.momentum(B, V)), 1e-10)


@few
@given(inertias, vectors)
def test_gravity_gives_every_free_body_the_same_acceleration(M, g):
    """Law: the wrench of gravity is M times the acceleration (0, g)."""
    assert close(spatial.gravity_wrench(M, g), spatial.momentum(M, (spatial.ZERO3, g)))
