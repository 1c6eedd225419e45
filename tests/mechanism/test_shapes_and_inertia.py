"""Volumes and inertias of shapes against closed forms, composites, principal axes."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import trapezoid

from leastaction import MechanismError
from leastaction.mechanism import (
    Box,
    Capsule,
    Cylinder,
    HeightField,
    Inertia,
    MechanismBuilder,
    Mesh,
    Pose,
    Sphere,
    rod,
    solid_box,
    solid_capsule,
    solid_cylinder,
    solid_sphere,
)

lengths = st.floats(0.1, 3.0)
POSE = Pose.from_rpy((0.3, -1.2, 0.7), (0.4, -0.9, 2.1))


def corners(size):
    return np.array(list(itertools.product(*[(-0.5 * s, 0.5 * s) for s in size])))


@pytest.mark.parametrize(
    ("shape", "volume", "moments"),
    [
        (Sphere(2.0), 32 / 3 * math.pi, (8 / 5,) * 3),
        (Box((1, 2, 3)), 6.0, (13 / 12, 10 / 12, 5 / 12)),
        (Cylinder(2.0, 3.0), 12 * math.pi, (21 / 12, 21 / 12, 2.0)),
    ],
)
def test_textbook_solids(shape, volume, moments):
    assert shape.volume() == pytest.approx(volume, rel=1e-15)
    inertia = shape.inertia(mass=1.0)
    np.testing.assert_allclose(inertia.matrix, np.diag(moments), rtol=1e-14, atol=1e-15)
    assert inertia.com == (0.0, 0.0, 0.0)


def test_density_and_mass_say_the_same():
    for shape in (
        Sphere(0.3),
        Box((1, 2, 3)),
        Cylinder(0.2, 1.0),
        Capsule(0.2, 1.0),
        Mesh(corners((1, 2, 3))),
    ):
        by_density, by_mass = shape.inertia(density=7.0), shape.inertia(mass=7.0 * shape.volume())
        assert by_density.mass == pytest.approx(by_mass.mass)
        np.testing.assert_allclose(by_density.matrix, by_mass.matrix, atol=1e-14)


def test_a_capsule_is_a_cylinder_with_two_half_balls():
    """Volume, and the moments by quadrature over discs of the capsule's profile."""
    r, l, m = 0.4, 1.3, 2.0
    z = np.linspace(-0.5 * l - r, 0.5 * l + r, 20001)
    beyond = np.maximum(np.abs(z) - 0.5 * l, 0.0)
    rho2 = np.maximum(r**2 - beyond**2, 0.0)
    volume = trapezoid(math.pi * rho2, z)
    axial = trapezoid(0.5 * math.pi * rho2**2, z) * m / volume
    side = trapezoid(math.pi * rho2 * (0.25 * rho2 + z**2), z) * m / volume
    capsule = Capsule(r, l)
    assert capsule.volume() == pytest.approx(volume, rel=1e-7)
    np.testing.assert_allclose(capsule.inertia(mass=m).matrix, np.diag([side, side, axial]), rtol=1e-7, atol=1e-15)


def test_limits_of_a_capsule():
    """No length: a ball. No radius: a thin rod."""
    np.testing.assert_allclose(solid_capsule(1.0, 0.5, 1e-13).matrix, solid_sphere(1.0, 0.5).matrix, rtol=1e-12)
    np.testing.assert_allclose(solid_capsule(1.0, 1e-9, 2.0).matrix, rod(1.0, 2.0).matrix, atol=1e-8)
    np.testing.assert_allclose(solid_cylinder(1.0, 1e-9, 2.0).matrix, rod(1.0, 2.0).matrix, atol=1e-15)


@pytest.mark.parametrize("axis", ["x", "y", "z", (0.6, 0.0, 0.8)])
def test_a_rod_has_no_moment_about_its_axis(axis):
    a = np.array({"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}.get(axis, axis), dtype=float)
    inertia = rod(3.0, 2.0, axis=axis, com=(1, 2, 3))
    np.testing.assert_allclose(inertia.matrix @ a, 0.0, atol=1e-15)
    assert np.trace(inertia.matrix) == pytest.approx(2 * 3.0 * 4.0 / 12)
    assert inertia.com == (1.0, 2.0, 3.0)


@given(lengths, lengths, lengths)
@settings(max_examples=25, deadline=None)
def test_the_mesh_of_a_box_is_the_box(x, y, z):
    size = (x, y, z)
    mesh = Mesh(corners(size) + [0.3, -0.2, 0.5], name="crate")
    assert mesh.volume() == pytest.approx(x * y * z)
    inertia = mesh.inertia(mass=2.0)
    np.testing.assert_allclose(inertia.com, [0.3, -0.2, 0.5], atol=1e-12)
    np.testing.assert_allclose(inertia.matrix, solid_box(2.0, size).matrix, atol=1e-12)


def test_a_fine_mesh_of_a_ball_is_nearly_the_ball():
    k = np.arange(4000) + 0.5
    polar, around = np.arccos(1 - 2 * k / 4000), np.pi * (1 + 5**0.5) * k
    points = np.column_stack([np.cos(around) * np.sin(polar), np.sin(around) * np.sin(polar), np.cos(polar)])
    inertia = Mesh(points).inertia(mass=1.0)
    np.testing.assert_allclose(inertia.matrix, solid_sphere(1.0, 1.0).matrix, atol=2e-3)


def test_faces_may_be_given_and_must_point_outwards():
    hull = Mesh(corners((1, 1, 1)))
    same = Mesh(hull.vertices, hull.faces)
    assert same.volume() == pytest.approx(1.0)
    inside_out = Mesh(hull.vertices, hull.faces[:, ::-1])
    for ask in (inside_out.volume, lambda: inside_out.inertia(mass=1.0)):
        with pytest.raises(MechanismError, match="encloses no volume, or its faces point inwards"):
            ask()


def test_shapes_that_hold_arrays_compare_by_content():
    assert Mesh(corners((1, 1, 1))) == Mesh(corners((1, 1, 1)))
    assert Mesh(corners((1, 1, 1))) != Mesh(corners((1, 1, 2)))
    assert hash(Mesh(corners((1, 1, 1)))) == hash(Mesh(corners((1, 1, 1))))
    assert HeightField(np.zeros((2, 3)), 1.0) == HeightField(np.zeros((2, 3)), 1.0)
    assert HeightField(np.zeros((2, 3)), 1.0) != HeightField(np.zeros((3, 2)), 1.0)
    assert Mesh(corners((1, 1, 1))) != Box((1, 1, 1))


def test_a_shape_brings_its_pose():
    inertia = Box((1, 2, 3), pose=POSE).inertia(mass=2.0)
    R = POSE.rotation
    np.testing.assert_allclose(inertia.com, POSE.position)
    np.testing.assert_allclose(inertia.matrix, R @ solid_box(2.0, (1, 2, 3)).matrix @ R.T, atol=1e-15)


def test_two_halves_make_the_whole():
    """Parallel-axis theorem: a box cut in two is the same box."""
    halves = [(solid_box(1.0, (1, 2, 1.5)), Pose((0, 0, z))) for z in (-0.75, 0.75)]
    whole = Inertia.from_parts(halves)
    assert whole.mass == 2.0
    np.testing.assert_allclose(whole.matrix, solid_box(2.0, (1, 2, 3)).matrix, atol=1e-15)


@given(st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_composites_against_a_cloud_of_points(seed):
    """A body of point masses, grouped at random into turned and shifted parts."""
    rng = np.random.default_rng(seed)
    masses, points = rng.uniform(0.1, 1.0, 12), rng.normal(size=(12, 3))
    parts = []
    for group in np.split(np.arange(12), 3):
        X = Pose.from_rpy(rng.normal(size=3), rng.normal(size=3))
        local = [X.inverse().apply(p) for p in points[group]]
        cloud = Inertia.from_parts([(Inertia(m), Pose(p)) for m, p in zip(masses[group], local, strict=True)])
        parts.append((cloud, X))
    total = Inertia.from_parts(parts)
    com = masses @ points / masses.sum()
    d = points - com
    expected = np.einsum("n,nij->ij", masses, (d**2).sum(1)[:, None, None] * np.eye(3) - np.einsum("ni,nj->nij", d, d))
    assert total.mass == pytest.approx(masses.sum())
    np.testing.assert_allclose(total.com, com, atol=1e-13)
    np.testing.assert_allclose(total.matrix, expected, atol=1e-12)


def test_principal_axes():
    inertia = Inertia(2.0, (1, 2, 3), POSE.rotation @ np.diag([0.5, 0.9, 1.2]) @ POSE.rotation.T)
    moments, frame = inertia.principal()
    np.testing.assert_allclose(moments, [0.5, 0.9, 1.2], rtol=1e-12)
    assert frame.position == (1.0, 2.0, 3.0)
    assert np.linalg.det(frame.rotation) == pytest.approx(1.0)
    np.testing.assert_allclose(frame.rotation @ np.diag(moments) @ frame.rotation.T, inertia.matrix, atol=1e-13)


def test_moving_an_inertia_there_and_back():
    inertia = Inertia(2.0, (1, 2, 3), (0.5, 0.1, -0.05, 0.9, 0.02, 1.2))
    back = inertia.moved(POSE).moved(POSE.inverse())
    np.testing.assert_allclose(back.com, inertia.com, atol=1e-14)
    np.testing.assert_allclose(back.moments, inertia.moments, atol=1e-14)
    assert inertia.moved(Pose()) is inertia


@pytest.mark.parametrize(
    ("given_as", "moments"),
    [
        (2.0, (2, 0, 0, 2, 0, 2)),
        ((1, 2, 3), (1, 0, 0, 2, 0, 3)),
        ((1, 0.1, 0.2, 2, 0.3, 3), (1, 0.1, 0.2, 2, 0.3, 3)),
        ([[1, 0.1, 0.2], [0.1, 2, 0.3], [0.2, 0.3, 3]], (1, 0.1, 0.2, 2, 0.3, 3)),
    ],
)
def test_ways_to_write_moments(given_as, moments):
    assert Inertia(1.0, (0, 0, 0), given_as).moments == moments


def test_bodies_from_shapes():
    """By density, or by a mass spread over the volumes; several shapes make a composite."""
    b = MechanismBuilder()
    dumbbell = [Sphere(0.1, pose=Pose((x, 0, 0))) for x in (-0.5, 0.5)]
    b.body("heavy", density=1000.0, shapes=dumbbell)
    b.body("light", mass=3.0, shapes=dumbbell)
    b.body("given", mass=3.0, com=(1, 0, 0), inertia=1.0, shapes=dumbbell)
    for name in ("heavy", "light", "given"):
        b.free(name)
    heavy, light, given_body = (body.inertia for body in b.build().bodies)
    assert heavy.mass == pytest.approx(2000 * Sphere(0.1).volume())
    assert light.mass == pytest.approx(3.0)
    assert light.matrix[1, 1] == pytest.approx(3.0 * (0.4 * 0.01 + 0.25))
    assert light.matrix[0, 0] == pytest.approx(3.0 * 0.4 * 0.01)
    assert given_body.com == (1.0, 0.0, 0.0)
    assert given_body.matrix[0, 0] == 1.0


def test_adding_a_shape_later_does_not_change_the_mass():
    b = MechanismBuilder()
    b.body("a", mass=1.0, inertia=1.0)
    b.add_shape("a", Sphere(1.0))
    b.free("a")
    robot = b.build()
    assert robot.total_mass == 1.0
    assert robot.bodies[0].shapes == (Sphere(1.0),)
