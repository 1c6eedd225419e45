"""Planar closed loops against closed forms."""

import numpy as np
import pytest

from leastaction import MechanismError, dynamics, robots
from tests.robots.kinematics import (
    constrained_acceleration,
    loop_jacobian,
    loop_residual,
    point,
    poses,
    rank,
)

g = 9.81
PLANAR = ("four_bar", "three_link_loop", "four_bar_chain", "n_four_bar", "andrews_squeezer", "minitaur")


def absolute_angle(robot, q, body):
    """Angle of a link from the downward vertical, positive towards +x."""
    d = poses(robot, q)[body][:3, :3] @ [0, 0, -1]
    return np.arctan2(d[0], -d[2])


@pytest.mark.parametrize("name", PLANAR)
def test_a_hinge_in_a_planar_loop_adds_only_redundant_equations(name):
    """`in_plane` has full rank; `revolute` has 5/2 as many equations and the same rank and solutions."""
    lean, full = robots.get(name), robots.get(name, closure="revolute")
    q = lean.neutral()
    J, K = loop_jacobian(lean, q), loop_jacobian(full, q)
    assert J.shape[0] == 2 * len(lean.loops) == rank(J) == rank(K)
    assert K.shape[0] == 5 * len(lean.loops)
    assert np.abs(loop_residual(full, q)).max() < 1e-12
    assert rank(np.vstack([J, K])) == rank(J)


@pytest.mark.parametrize(
    ("options", "angles", "energy"),
    [
        ({}, (0.7, np.pi / 2, 0.7), -22.509305571782495),
        (
            {"lengths": (1.0, 2.0, 1.5), "crank_angle": -0.6},
            (-0.6, 1.3011733530502032, -0.4385198072640115),
            -35.45950976683791,
        ),
    ],
)
def test_four_bars_start_at_the_given_crank_angle(options, angles, energy):
    robot = robots.four_bar(**options)
    q = robot.neutral()
    for body, angle in zip(("crank", "coupler", "rocker"), angles, strict=True):
        assert absolute_angle(robot, q, body) == pytest.approx(angle, abs=1e-14)
    assert dynamics.potential_energy(robot, q) == pytest.approx(energy, rel=1e-14)


@pytest.mark.parametrize("angle", [0.7, -0.3])
def test_the_parallelogram_obeys_its_closed_form(angle):
    """(m1/3 + m2 + m3/3) l a'' = -(m1/2 + m2 + m3/2) g sin(a), which is (8/3) a'' = -3 g sin(a)."""
    robot = robots.four_bar(crank_angle=angle)
    v = np.array([0.8, -0.8, 0.8])  # the coupler keeps its direction
    a = constrained_acceleration(robot, robot.neutral(), v)
    expected = -9 / 8 * g * np.sin(angle)
    np.testing.assert_allclose(a, [expected, -expected, expected], rtol=1e-6)


def test_positive_angles_swing_towards_x():
    robot = robots.four_bar(crank_angle=0.0)
    assert point(robot, [0.1, -0.1, 0.1], "crank", (0, 0, -1))[0] == pytest.approx(np.sin(0.1))


def test_a_four_bar_that_cannot_close_is_refused():
    with pytest.raises(MechanismError, match=r"coupler \(0.5 m\) and rocker \(0.5 m\) cannot meet"):
        robots.four_bar(lengths=(1.0, 0.5, 0.5))
    with pytest.raises(MechanismError, match="closure must be one of 'in_plane', 'revolute'"):
        robots.four_bar(closure="weld")


def test_assembly_chooses_the_side():
    tips = [point(robots.four_bar(assembly=side), np.zeros(3), "coupler", (0, 0, -2)) for side in ("below", "above")]
    assert tips[0][2] < tips[1][2]


def test_the_three_link_loop_starts_as_in_the_experiment():
    robot = robots.three_link_loop()
    q = robot.neutral()
    assert absolute_angle(robot, q, "crank") == pytest.approx(2.842889445268244, abs=1e-11)
    bend = absolute_angle(robot, q, "crank") - absolute_angle(robot, q, "coupler")
    assert bend == pytest.approx(1.209429202890086, abs=1e-11)
    assert abs(absolute_angle(robot, q, "rocker")) == pytest.approx(np.pi, abs=1e-14)
    np.testing.assert_allclose([b.inertia.mass for b in robot.bodies], [1, np.sqrt(0.5), 1])
    bar = robot.bodies[0].inertia
    assert bar.moments[3] == pytest.approx((0.1**2 + 1.0) / 12)


@pytest.mark.parametrize("segments", [1, 2, 4])
def test_the_chain_of_rhombi(segments):
    """Lower corners lie 2 l cos(opening) below the upper ones, along the lean of each segment."""
    robot = robots.four_bar_chain(segments)
    q = robot.neutral()
    corner = np.zeros(3)
    for k in range(segments):
        lean = np.pi / 2 if k == segments - 1 else np.pi / 4
        corner = corner + 2 * np.cos(np.pi / 8) * np.array([np.sin(lean), 0, -np.cos(lean)])
        for link in (4 * k + 2, 4 * k + 4):
            np.testing.assert_allclose(point(robot, q, f"link{link}", (0, 0, -1)), corner, atol=1e-14)
    assert robot.nv - rank(loop_jacobian(robot, q)) == 2 * segments
    assert robot.total_mass == 4.0 * segments


def on_branch(robot, theta):
    """All cranks leaning by theta, couplers level."""
    return np.array([theta if name.startswith("A") else -theta for name in robot.coordinate_names])


@pytest.mark.parametrize("windows", [1, 2, 5])
def test_n_four_bar_obeys_its_closed_form(windows):
    """((N+1)/3 + N) phi'' = -g ((N+1)/2 + N) cos(phi) with phi = pi/2 - theta on the regular branch."""
    n, theta = windows, 0.6
    robot = robots.n_four_bar(windows)
    q = on_branch(robot, theta)
    assert np.abs(loop_residual(robot, q)).max() < 1e-15
    expected = g * ((n + 1) / 2 + n) * np.sin(theta) / ((n + 1) / 3 + n)
    a = constrained_acceleration(robot, q, on_branch(robot, 1.0))
    np.testing.assert_allclose(a, on_branch(robot, expected), rtol=1e-6)


def test_n_four_bar_starts_as_in_the_benchmark():
    robot = robots.n_four_bar(2)
    entry = next(e for e in robots.catalogue() if e.name == "n_four_bar")
    q, v = entry.home(robot), entry.home_velocity(robot)
    np.testing.assert_allclose(point(robot, q, "crank0", (0, 0, 1)), [0, 0, 1])
    np.testing.assert_allclose(dynamics.body_twists(robot, q, v)[0][:3], [0, 1, 0])  # the end moves at +1 m/s in x
    energy = dynamics.kinetic_energy(robot, q, v) + dynamics.potential_energy(robot, q)
    assert energy == pytest.approx(35.835, rel=1e-14)
    assert robots.double_four_bar().bodies == robot.bodies


def test_n_four_bar_gains_freedom_when_its_links_are_in_line():
    """With all links level the rank drops from 2 N to N: N + 1 degrees of freedom."""
    robot = robots.n_four_bar(3)
    assert robot.nv - rank(loop_jacobian(robot, on_branch(robot, 0.3))) == 1
    assert robot.nv - rank(loop_jacobian(robot, on_branch(robot, np.pi / 2))) == 4
