"""Merging bodies on fixed joints changes the description, not the physics."""

import numpy as np

import leastaction as la
from leastaction.formats import load_urdf
from leastaction.formats.merge import merge_fixed_bodies
from leastaction.mechanism import MechanismBuilder, Pose, Sphere
from tests.formats.models import joint, link, urdf, write

TURN = Pose.from_rpy((0.1, -0.2, 0.3), (0.4, 0.5, -0.6))


def machine():
    """Two moving bodies, each with a part welded on, and something of every kind attached to the parts."""
    b = MechanismBuilder()
    for k, name in enumerate(("base", "arm", "tool", "hand", "finger")):
        b.body(name, mass=1.0 + k, com=(0.1 * k, 0.2, 0.3), inertia=(0.1, 0.15, 0.2))
    b.fixed("root", "world", "base")
    b.revolute("shoulder", "base", "arm", axis="y", pose=TURN)
    b.fixed("weld", "arm", "tool", pose=TURN, child_pose=TURN)
    b.revolute("wrist", "tool", "hand", axis="x", pose=TURN)
    b.fixed("nail", "hand", "finger", pose=TURN)
    b.add_shape("finger", Sphere(0.1, pose=TURN))
    b.joint("loop", "spherical", "tool", "finger", pose=TURN, child_pose=TURN, loop=True)
    b.spring("spring", ("tool", (0, 0, 1)), ("finger", (1, 0, 0)), stiffness=5.0, rest_length=0.1, damping=1.0)
    b.cable("cable", ["world", ("tool", (0, 1, 0)), "finger"], stiffness=3.0, rest_length=0.2)
    b.wrench("push", "finger", (1, 2, 3, 4, 5, 6), point=(0.1, 0, 0), frame="body")
    b.wrench("pull", "tool", (1, 2, 3, 4, 5, 6), point=(0.1, 0, 0), frame="world")
    b.thruster("thruster", "finger", (1, 2, 3, 4, 5, 6))
    b.contact("contact", "finger", (0.1, 0.2, 0.3), radius=0.05, friction=0.5)
    return b.build()


def about_origin(wrench, X):
    """A wrench (torque, force) of the frame X about the world's origin, in the world's directions."""
    torque, force = X[:3, :3] @ wrench[:3], X[:3, :3] @ wrench[3:]
    return np.concatenate([torque + np.cross(X[:3, 3], force), force])


def test_dynamics_energies_and_forces_stay():
    robot = machine()
    merged = merge_fixed_bodies(robot)
    assert merged.body_names == ("base", "arm", "hand")
    q, v = np.array([0.3, -0.7]), np.array([1.1, 0.4])
    d = la.dynamics
    for law in (d.mass_matrix, d.potential_energy, d.center_of_mass):
        np.testing.assert_allclose(law(merged, q), law(robot, q), rtol=1e-13, atol=1e-13)
    for law in (d.bias_forces, d.passive_forces):
        np.testing.assert_allclose(law(merged, q, v), law(robot, q, v), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(merged.total_mass, robot.total_mass, rtol=1e-15)


def test_points_and_frames_stay_where_they_are_in_the_world():
    robot = machine()
    merged = merge_fixed_bodies(robot)
    q = np.array([0.3, -0.7])
    old = dict(zip(robot.body_names, la.dynamics.body_poses(robot, q), strict=True))
    new = dict(zip(merged.body_names, la.dynamics.body_poses(merged, q), strict=True))

    def same(a, b):
        np.testing.assert_allclose(a, b, atol=1e-14)

    (old_shape,), (new_shape,) = (r.bodies[-1].shapes for r in (robot, merged))
    same(new["hand"] @ new_shape.pose.matrix, old["finger"] @ old_shape.pose.matrix)
    (a,), (b,) = robot.contacts, merged.contacts
    same(new[b.body] @ [*b.point, 1], old[a.body] @ [*a.point, 1])
    (a,), (b,) = robot.loops, merged.loops
    assert (b.parent, b.child) == ("arm", "hand")
    same(new[b.parent] @ b.pose.matrix, old[a.parent] @ a.pose.matrix)
    same(
        new[b.child] @ b.child_pose.inverse().matrix,
        old[a.child] @ a.child_pose.inverse().matrix,
    )
    (a,), (b,) = robot.actuators, merged.actuators
    same(about_origin(b.wrench, new[b.body]), about_origin(a.wrench, old[a.body]))


def test_merging_while_loading(tmp_path):
    text = urdf(
        link("base"),
        link("arm"),
        link("tool"),
        joint("turn", "continuous", "base", "arm"),
        joint("weld", "fixed", "arm", "tool", '<origin xyz="0 0 1"/>'),
    )
    robot = load_urdf(write(tmp_path, text), merge_fixed=True)
    assert robot.body_names == ("base", "arm")
    assert robot.bodies[1].inertia.com == (0.0, 0.0, 0.5)
    assert robot.total_mass == 3.0
    assert load_urdf(write(tmp_path, text), merge_fixed=True, floating_base=True).joints[0].kind == "free"
