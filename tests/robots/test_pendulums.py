"""Pendulums and their kin against closed forms; energies of well-known test cases."""

import numpy as np
import pytest

from leastaction import MechanismError, dynamics, robots
from tests.robots.kinematics import point, poses

g = 9.81


def relative(angles):
    """Joint angles of links with these absolute angles."""
    return np.diff(angles, prepend=0.0)


@pytest.mark.parametrize(("shape", "moment"), [("rod", 1 / 3), ("point", 1.0)])
def test_one_link_has_the_textbook_moment(shape, moment):
    robot = robots.pendulum(shape=shape, mass=2.0, length=3.0)
    np.testing.assert_allclose(dynamics.mass_matrix(robot, [0.4]), [[moment * 2.0 * 9.0]], rtol=1e-15)


@pytest.mark.parametrize("shape", ["rod", "point"])
def test_double_pendulum_mass_matrix(shape):
    """M in relative angles, from T = sum of m v^2/2 + I w^2/2 by hand."""
    q = np.array([0.3, -1.1])
    # first moment m c and second moment m c^2 + I of a link about its own joint
    first, second = (0.5, 1 / 3) if shape == "rod" else (1.0, 1.0)
    a, b, c = second + 1.0, second, first * np.cos(q[1])  # absolute angles: [[a, c], [c, b]], l = m = 1
    expected = [[a + b + 2 * c, b + c], [b + c, b]]
    robot = robots.double_pendulum(shape=shape)
    np.testing.assert_allclose(dynamics.mass_matrix(robot, q), expected, atol=1e-15)


@pytest.mark.parametrize(
    ("shape", "angles", "energy"),
    [
        ("point", [1.0, 1.5], -11.294663189493068),
        ("point", [np.pi / 2, np.pi / 2 + 0.5], 4.70316453370723),
        ("rod", [1.0, 1.5], -8.297514405029759),
        ("point", [0.5, 0.9, 1.2], -41.57797194532027),
        ("rod", [0.5, 0.9, 1.2], -32.4470677991723),
    ],
)
def test_energy_of_planar_test_cases_at_rest(shape, angles, energy):
    robot = robots.pendulum(len(angles), shape=shape)
    assert dynamics.potential_energy(robot, relative(angles)) == pytest.approx(energy, rel=1e-14)


def test_links_hang_down_and_swing_in_the_x_z_plane():
    robot = robots.pendulum(4, length=0.5)
    np.testing.assert_allclose(point(robot, np.zeros(4), "link4", (0, 0, -0.5)), [0, 0, -2.0], atol=1e-15)
    q = np.array([0.2, 0.5, -0.7, 1.0])
    a = np.cumsum(q)
    tip = [-0.5 * np.sin(a).sum(), 0.0, -0.5 * np.cos(a).sum()]
    np.testing.assert_allclose(point(robot, q, "link4", (0, 0, -0.5)), tip, atol=1e-15)


def test_spherical_pendulum_of_a_point_mass_on_a_universal_joint():
    """Start x = (sin 1, 0, -cos 1), v = (0, 1.5, 0): energy and vertical angular momentum."""
    robot = robots.pendulum(joint="universal", shape="point")
    q, v = np.array([0.0, -1.0]), np.array([1.5 / np.cos(1.0), 0.0])
    np.testing.assert_allclose(point(robot, q, "link1", (0, 0, -1)), [np.sin(1), 0, -np.cos(1)], atol=1e-15)
    energy = dynamics.kinetic_energy(robot, q, v) + dynamics.potential_energy(robot, q)
    assert energy == pytest.approx(-4.175365620566451, rel=1e-14)
    assert dynamics.momentum(robot, q, v)[2] == pytest.approx(1.2622064772118449, rel=1e-14)


@pytest.mark.parametrize("shape", ["rod", "point"])
def test_ball_joints_leave_the_mass_matrix_regular(shape):
    robot = robots.pendulum(3, joint="spherical", shape=shape)
    assert (robot.nq, robot.nv) == (12, 9)
    M = dynamics.mass_matrix(robot, robot.random_configuration(0))
    assert np.linalg.eigvalsh(M)[0] > 1e-5


def test_rods_of_any_direction_are_thin_rods():
    inertia = robots.pendulum(mass=3.0, length=2.0).bodies[0].inertia
    np.testing.assert_allclose(inertia.moments, [1.0, 0, 0, 1.0, 0, 3.0 * 0.02**2 / 2], rtol=1e-15)
    assert inertia.com == (0.0, 0.0, -1.0)


def test_heavy_body_on_a_ball_joint():
    """Attitude Rx(0.6) Ry(0.2) Rz(0.1), Euler rates (0.3, 0.2, 3): energy and vertical momentum."""
    robot = robots.heavy_top(com=(0, 0, -0.5), moments=(0.1, 0.2, 0.3))
    q = [0.9479013036803995, 0.29844309689102705, 0.08055924577961497, 0.07697430947083345]
    v = [0.3125177814899104, 0.16964781455342845, 3.0596007992385186]
    energy = dynamics.kinetic_energy(robot, q, v) + dynamics.potential_energy(robot, q)
    assert energy == pytest.approx(-2.5398343604839413, rel=1e-13)
    assert dynamics.momentum(robot, q, v)[2] == pytest.approx(0.7749188205502424, rel=1e-13)


def test_lagrange_top_stands_above_its_support():
    robot = robots.heavy_top()
    assert dynamics.potential_energy(robot, [1, 0, 0, 0]) == pytest.approx(0.5 * g)
    M = dynamics.mass_matrix(robot, [1, 0, 0, 0])
    np.testing.assert_allclose(M, np.diag([0.1 + 0.25, 0.1 + 0.25, 0.05]), atol=1e-15)


def test_cart_pole_is_the_textbook_system():
    M, m, l, q = 1.0, 0.1, 1.0, 0.7
    robot = robots.cart_pole()
    # Turning about +y from -z swings the pole towards -x.
    coupling = -m * l / 2 * np.cos(q)
    np.testing.assert_allclose(
        dynamics.mass_matrix(robot, [2.0, q]), [[M + m, coupling], [coupling, m * l**2 / 3]], atol=1e-15
    )
    np.testing.assert_allclose(dynamics.gravity_forces(robot, [2.0, q]), [0, m * g * l / 2 * np.sin(q)], atol=1e-15)
    assert [a.coordinate for a in robot.actuators] == ["rail"]


def test_acrobot_has_the_figures_of_spong():
    robot = robots.acrobot()
    I1, I2, l1, c1, c2 = 1 / 12, 4 / 12, 1.0, 0.5, 1.0
    q = np.array([0.4, 0.9])
    k = l1 * c2 * np.cos(q[1])
    expected = [[I1 + c1**2 + I2 + l1**2 + c2**2 + 2 * k, I2 + c2**2 + k], [I2 + c2**2 + k, I2 + c2**2]]
    np.testing.assert_allclose(dynamics.mass_matrix(robot, q), expected, atol=1e-15)
    assert [a.coordinate for a in robot.actuators] == ["elbow"]


def test_a_pole_upright_is_half_a_turn_away():
    X = poses(robots.cart_pole(), np.array([0.0, np.pi]))["pole"]
    np.testing.assert_allclose(X[:3, :3] @ [0, 0, -1], [0, 0, 1], atol=1e-15)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"links": 0}, "links must be an integer of at least 1, got 0"),
        ({"links": 1.5}, "links must be an integer"),
        ({"links": True}, "links must be an integer"),
        ({"joint": "hinge"}, "joint must be one of 'revolute', 'spherical', 'universal', got 'hinge'"),
        ({"shape": "cone"}, "shape must be one of 'rod', 'point', got 'cone'"),
        ({"mass": -1.0}, "mass: must not be negative"),
        ({"length": float("nan")}, "finite number"),
    ],
)
def test_wrong_parameters_are_refused(options, message):
    with pytest.raises(MechanismError, match=message):
        robots.pendulum(**options)


def test_an_unknown_parameter_is_named_with_the_nearest_one():
    with pytest.raises(TypeError, match=r"pendulum\(\) has no argument 'link'; did you mean 'links'\?"):
        robots.pendulum(link=2)  # pyright: ignore[reportCallIssue]
