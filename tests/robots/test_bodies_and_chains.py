"""Free bodies, chains and the humanoid tree."""

import numpy as np
import pytest

from leastaction import dynamics, robots
from tests.robots.kinematics import point


def test_a_free_body_has_the_given_moments_and_no_gravity():
    robot = robots.free_body(2.0, (1.0, 2.0, 3.0))
    np.testing.assert_allclose(dynamics.mass_matrix(robot, robot.neutral()), np.diag([1, 2, 3, 2, 2, 2]), atol=1e-15)
    assert robot.gravity == (0.0, 0.0, 0.0)
    assert robots.free_body(gravity=(0, 0, -9.81)).gravity == (0.0, 0.0, -9.81)


def test_the_picture_of_a_free_body_has_its_moments():
    robot = robots.free_body(2.0, (0.7, 1.1, 1.6))
    (box,) = robot.bodies[0].shapes
    np.testing.assert_allclose(box.inertia(mass=2.0).matrix, np.diag([0.7, 1.1, 1.6]), atol=1e-12)


def test_the_cube_of_the_box_drop():
    robot = robots.cube()
    np.testing.assert_allclose(robot.bodies[0].inertia.matrix, np.eye(3) * 0.25 / 6, rtol=1e-14)
    corners = {contact.point for contact in robot.contacts}
    assert corners == {(x, y, z) for x in (-0.25, 0.25) for y in (-0.25, 0.25) for z in (-0.25, 0.25)}
    assert [shape.kind for shape in robot.ground] == ["plane"]
    q = robots.home(robot)
    assert min(point(robot, q, "cube", c)[2] for c in corners) == pytest.approx(0.0, abs=1e-15)


def test_balls_of_the_chain_are_a_metre_apart():
    robot = robots.sphere_chain(4)
    assert robot.nv == 6 + 3 * 3
    q = robot.random_configuration(2)
    centres = np.array([point(robot, q, c.body, c.point) for c in robot.contacts])
    np.testing.assert_allclose(np.linalg.norm(np.diff(centres, axis=0), axis=1), 1.0, atol=1e-14)
    q = robots.home(robot)
    heights = [point(robot, q, c.body, c.point)[2] for c in robot.contacts]
    np.testing.assert_allclose(heights, 0.25 + np.arange(4) * np.sin(np.pi / 4), atol=1e-14)


def test_the_serial_arm_keeps_its_totals():
    for dof in (1, 3, 7, 10):
        robot = robots.serial_arm(dof, reach=2.0, mass=5.0)
        assert robot.nv == dof == robot.nu
        assert robot.total_mass == pytest.approx(5.0)
        tip = point(robot, np.zeros(dof), f"link{dof}", (0, 0, 2.0 / dof))
        np.testing.assert_allclose(tip, [0, 0, 2.0], atol=1e-15)


def test_axes_of_the_spatial_chain_alternate():
    robot = robots.spatial_chain(5)
    axes = [joint.primitives[0].axis for joint in robot.joints]
    assert axes == [(1, 0, 0), (0, 1, 0)] * 2 + [(1, 0, 0)]
    swung = point(robot, [0.3, 0.4, 0.1, -0.2, 0.7], "link5", (0, 0, -1))
    assert np.all(np.abs(swung) > 0.1)


def test_the_humanoid_tree_has_the_joints_of_atlas():
    tree, atlas = robots.humanoid_tree(), robots.atlas()
    assert tree.nv == atlas.nv == 36

    def depths(robot):
        return sorted(len(above) for above in robot.ancestors)

    assert depths(tree) == depths(atlas)
    assert tree.total_mass == pytest.approx(104.7)


def test_the_humanoid_tree_is_symmetric():
    robot = robots.humanoid_tree()
    assert dynamics.center_of_mass(robot, robots.home(robot))[1] == pytest.approx(0.0, abs=1e-15)
