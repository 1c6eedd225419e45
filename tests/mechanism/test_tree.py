"""The flat arrays that kernels read: sizes, order, merged bodies."""

import numpy as np
import pytest

from leastaction import dynamics, robots
from leastaction.mechanism import Inertia, MechanismBuilder, Pose, joints
from tests.robots.kinematics import poses


def with_fixed_bodies():
    """A link with a tool welded to it, a hinge on the tool, and a post welded to the world."""
    b = MechanismBuilder()
    b.body("post", mass=50.0, inertia=1.0)
    b.fixed("ground", "world", "post", position=(0, 0, 1))
    b.body("link", mass=2.0, com=(0, 0, 0.5), inertia=(0.3, 0.3, 0.1))
    b.revolute("j1", "post", "link", axis="x", position=(0, 0, 0.2))
    b.body("tool", mass=1.0, com=(0.1, 0, 0), inertia=0.05)
    b.fixed("weld", "link", "tool", pose=Pose.from_rpy((0, 0, 1), (0.3, 0.1, -0.7)))
    b.body("tip", mass=0.5, com=(0, 0.2, 0), inertia=0.02)
    b.revolute("j2", "tool", "tip", axis="y", position=(0, 0, 0.3))
    return b.build()


def test_one_node_per_primitive_and_none_for_welds():
    tree = with_fixed_bodies().tree
    assert len(tree.nodes) == 2
    assert len(tree.dofs) == 2
    assert len(tree.bodies) == 4
    assert list(tree.bodies.node) == [-1, 0, 0, 1]
    assert (tree.nq, tree.nv) == (2, 2)


def test_welded_bodies_are_merged_with_what_carries_them():
    robot = with_fixed_bodies()
    nodes = robot.tree.nodes
    np.testing.assert_allclose(nodes.mass, [3.0, 0.5])
    # what is welded to the world does not move, so its 50 kg are nobody's
    assert nodes.mass.sum() == pytest.approx(robot.total_mass - 50.0)
    X = robot.joint("weld").pose
    com = (2.0 * np.array([0, 0, 0.5]) + 1.0 * np.array(X.apply((0.1, 0, 0)))) / 3.0
    q = np.zeros(2)
    expected = poses(robot, q)["link"] @ [*com, 1.0]
    frame = robot.tree.bodies[1]  # from node to link: find the node's COM in the world through the link
    in_link = frame.R.reshape(3, 3).T @ (nodes[0].com - frame.p)
    np.testing.assert_allclose(poses(robot, q)["link"] @ [*in_link, 1.0], expected, atol=1e-15)


def test_a_weld_changes_nothing_but_the_bookkeeping():
    """A robot with a welded tool moves as the robot with one composite body in its place."""
    robot = with_fixed_bodies()
    weld = robot.joint("weld").pose
    link, tool = (robot.bodies[robot.body_index(name)].inertia for name in ("link", "tool"))
    b = robot.edit()
    for name in ("weld", "tool", "link", "j2"):
        b.remove(name)
    b.body("link", inertia=Inertia.from_parts([(link, Pose()), (tool, weld)]))
    b.revolute("j2", "link", "tip", axis="y", pose=weld * robot.joint("j2").pose)
    merged = b.build()
    for seed in range(3):
        q = robot.random_configuration(seed)
        np.testing.assert_allclose(dynamics.mass_matrix(merged, q), dynamics.mass_matrix(robot, q), atol=1e-14)
        np.testing.assert_allclose(dynamics.gravity_forces(merged, q), dynamics.gravity_forces(robot, q), atol=1e-13)


def test_joints_with_several_axes_become_several_nodes():
    b = MechanismBuilder()
    b.body("a", mass=1.0, inertia=1.0)
    parts = (joints.prismatic("x"), joints.revolute("y"), joints.spherical())
    b.joint("j", "composite", "world", "a", parts=parts, armature=(1, 2, 3, 4, 5), damping=0.1)
    tree = b.build().tree
    assert list(tree.nodes.parent) == [-1, 0, 1]
    np.testing.assert_allclose(tree.nodes.mass, [0.0, 0.0, 1.0])
    assert list(tree.nodes.nv) == [1, 1, 3]
    assert list(tree.nodes.iq) == [0, 1, 2]
    assert list(tree.nodes.iv) == [0, 1, 2]
    assert list(tree.dofs.armature) == [1, 2, 3, 4, 5]
    assert list(tree.dofs.damping) == [0.1] * 5
    assert list(tree.rest) == [0, 0, 1, 0, 0, 0]


@pytest.mark.parametrize("name", ["atlas", "n_four_bar", "sphere_chain", "flyball_governor", "spring_flamingo"])
def test_invariants_of_the_arrays(name):
    """Parents first, coordinates in order without gaps, all movable mass present, rotations orthonormal."""
    robot = robots.get(name)
    tree = robot.tree
    assert np.all(tree.nodes.parent < np.arange(len(tree.nodes)))
    np.testing.assert_array_equal(tree.nodes.iv, np.cumsum(tree.nodes.nv) - tree.nodes.nv)
    assert tree.nodes.nv.sum() == robot.nv == len(tree.dofs)
    assert tree.nodes.mass.sum() == pytest.approx(robot.total_mass)
    for R in (*tree.nodes.Rt.reshape(-1, 3, 3), *tree.bodies.R.reshape(-1, 3, 3)):
        np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-15)
    np.testing.assert_array_equal(tree.gravity, robot.gravity)


def test_compiled_once():
    robot = robots.pendulum()
    assert robot.tree is robot.tree
