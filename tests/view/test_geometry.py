"""Triangles of solids: closed, of the right size, with normals that point outwards."""

import math

import numpy as np
import pytest

from leastaction.mechanism import Box, Capsule, Cylinder, HeightField, Mesh, Plane, Pose, Sphere
from leastaction.view import geometry

POSE = Pose.from_rpy((0.3, -0.2, 0.5), (0.4, 1.0, -2.0))
SOLIDS = [
    Sphere(0.7, pose=POSE),
    Capsule(0.3, 1.1, pose=POSE),
    Cylinder(0.4, 0.9, pose=POSE),
    Box((1, 2, 3), pose=POSE),
]


def volume(mesh):
    return np.linalg.det(mesh.vertices[mesh.faces]).sum() / 6.0


def faces_and_normals(mesh):
    corners = mesh.vertices[mesh.faces]
    cross = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    return cross, mesh.normals[mesh.faces]


@pytest.mark.parametrize("shape", SOLIDS, ids=lambda s: s.kind)
def test_solids_have_their_volume_and_place(shape):
    """Inscribed polyhedra and rounded edges lose a few percent, never gain."""
    mesh = geometry.of_shape(shape)
    assert 0.95 * shape.volume() < volume(mesh) <= shape.volume()
    assert mesh.vertices.mean(axis=0) == pytest.approx(POSE.position, abs=0.15)


@pytest.mark.parametrize("shape", SOLIDS, ids=lambda s: s.kind)
def test_normals_are_unit_vectors_on_the_outer_side(shape):
    cross, normals = faces_and_normals(geometry.of_shape(shape))
    assert np.linalg.norm(normals, axis=-1) == pytest.approx(1.0)
    area = np.linalg.norm(cross, axis=1)
    outward = np.einsum("ij,ikj->ik", cross, normals)[area > 1e-12]
    assert (outward > 0.0).all()


def test_a_mesh_keeps_sharp_edges_and_smooths_round_ones():
    corners = np.array([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)
    cross, normals = faces_and_normals(geometry.of_shape(Mesh(corners)))
    flat = cross / np.linalg.norm(cross, axis=1, keepdims=True)
    assert np.einsum("ij,ikj->ik", flat, normals) == pytest.approx(1.0)  # a cube is flat everywhere
    ball = geometry.capsule(1.0, 0.0, 48)
    smooth = geometry.soup(ball.vertices, ball.faces)
    assert np.einsum("ij,ij->i", smooth.vertices, smooth.normals).min() > 0.995  # a ball is round everywhere


def test_terrain_goes_through_its_heights():
    heights = np.random.default_rng(1).normal(size=(5, 7))
    mesh = geometry.of_shape(HeightField(heights, 0.5))
    i, j = 3, 6
    point = [(i - 2) * 0.5, (j - 3) * 0.5, heights[i, j]]
    assert np.abs(mesh.vertices - point).max(axis=1).min() == pytest.approx(0.0)
    assert len(mesh.faces) == 2 * 4 * 6
    assert (faces_and_normals(mesh)[0][:, 2] > 0.0).all()


def test_tubes_stand_where_they_should_even_without_length():
    tube = geometry.tubes([[0, 0, 0], [1, 1, 1]], [[0, 0, 2], [1, 1, 1]], 0.1, [0.05, 0.1])
    assert np.isfinite(tube.vertices).all()
    assert np.isfinite(tube.normals).all()
    first = tube.vertices[:8]
    assert np.linalg.norm(first[:, :2], axis=1) == pytest.approx(0.1)
    assert np.linalg.norm(tube.vertices[8:16, :2], axis=1) == pytest.approx(0.05)
    assert geometry.of_shape(Plane()) is None


def test_joined_meshes_are_all_there():
    meshes = [geometry.box((1, 1, 1)), geometry.capsule(0.5, 0.0)]
    assert volume(geometry.join(meshes)) == pytest.approx(sum(map(volume, meshes)))
    assert math.isclose(volume(meshes[0]), 1.0, rel_tol=0.03)
