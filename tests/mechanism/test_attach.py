"""Robots as parts of a scene move as they do by themselves."""

import numpy as np
import pytest

import leastaction as la
from leastaction.errors import MechanismError
from leastaction.mechanism import Box, Pose, Sphere, Wrap

TURN = Pose((1.0, -2.0, 0.5), (0.6, 0.0, 0.0, 0.8))


def crane():
    """A tree with everything that names bodies, joints and the world."""
    b = la.MechanismBuilder("crane")
    b.body("boom", mass=2.0, com=(0.3, 0, 0), inertia=(0.1, 0.2, 0.3))
    b.revolute("swing", "world", "boom", axis="y", position=(0.1, 0, 0.2), damping=0.1)
    b.body("tip", mass=1.0, com=(0.1, 0, 0), inertia=(0.02, 0.03, 0.04), shapes=Box((0.1, 0.1, 0.1)))
    b.joint("wrist", "universal", "boom", "tip", axis=("x", "y"), position=(0.6, 0, 0))
    b.body("rod", mass=0.5, com=(0, 0, 0.2), inertia=(0.01, 0.01, 0.001))
    b.revolute("foot", "world", "rod", axis="y", position=(0.1, 0, -0.3))
    b.spring("spring", ("world", (0.5, 0, 1.0)), ("tip", (0.1, 0, 0)), stiffness=30.0, rest_length=0.4)
    b.cable("cable", [("world", (0, 0, 1)), "boom", "tip"], stiffness=20.0, rest_length=0.5)
    b.tendon("both", joints={"swing": 1.0, "foot": -0.5}, stiffness=5.0, rest=0.1)
    b.tendon("rope", via=["world", Wrap("boom", 0.05), "tip"], stiffness=3.0, rest=0.2)
    b.coupling("gear", "foot", "swing", ratio=0.5)
    b.drag("air", "tip", linear=0.2)
    b.wrench("wind", "tip", (0, 0, 0, 0, 0, 0.7))
    b.actuator("motor", "swing", gear=2.0)
    b.position_servo("servo", "both", kp=3.0, kv=0.3)
    b.thruster("jet", "tip", (0, 0, 0, 0.5, 0, 0))
    b.frame("eye", "world", (0.2, 0, 0))
    b.frame("hand", "tip", (0.1, 0, 0))
    b.sensor("angle", "joint_position", "swing")
    b.sensor("seen", "position", "hand", reference="eye")
    b.sensor("felt", "accelerometer", "hand")
    b.add_shape("world", Sphere(0.1, pose=(0, 0, -5.0)))
    b.exclude_contact("tip", "world")
    b.contact_pair("tip", "rod", friction=0.3)
    b.home({"swing": 0.2, "foot": 0.1})
    return b.build()


@pytest.mark.filterwarnings("ignore:contacts do not act")
def test_two_robots_move_as_each_does_alone():
    robot = crane()
    b = la.MechanismBuilder("yard")
    b.attach(robot, prefix="left/")
    b.attach(robot, prefix="right/", pose=TURN)
    yard = b.build()
    u = np.array([0.5, 0.2, 1.0])
    options = {"dt": 0.01, "steps": 40, "integrator": la.Galerkin(order=2)}
    alone = la.simulate(robot, controls=u, **options)
    both = la.simulate(yard, controls=np.concatenate([u, u]), **options)
    assert abs(alone.q[-1] - alone.q[0]).max() > 0.1
    for k, prefix in enumerate(("left/", "right/")):
        place = [yard.coordinate_index(prefix + name) for name in robot.coordinate_names]
        np.testing.assert_allclose(both.q[:, place], alone.q, atol=1e-9)
        for name, values in alone.sensors.items():
            np.testing.assert_allclose(both.sensors[prefix + name], values, atol=1e-6)
        X = (Pose(), TURN)[k].matrix
        hand = la.kinematics.frame_pose(yard, both.q[-1], prefix + "hand")
        np.testing.assert_allclose(hand, X @ la.kinematics.frame_pose(robot, alone.q[-1], "hand"), atol=1e-9)
    assert len(yard.ground) == 2


def test_a_gripper_on_a_hand():
    finger = la.MechanismBuilder("gripper")
    finger.body("palm", mass=0.2, inertia=1e-3)
    finger.fixed("mount", "world", "palm", position=(0, 0, 0.05))
    finger.body("finger", mass=0.1, inertia=1e-4)
    finger.prismatic("grip", "palm", "finger", axis="x")
    arm = la.robots.serial_arm(dof=3)
    b = arm.edit()
    b.attach(finger.build(), prefix="gripper.", parent=arm.body_names[-1], pose=(0, 0, 0.1))
    whole = b.build()
    q = np.array([0.3, -0.2, 0.5, 0.0])
    flange = la.kinematics.frame_pose(whole, q, arm.body_names[-1])
    palm = la.kinematics.frame_pose(whole, q, "gripper.palm")
    np.testing.assert_allclose(palm[:3, 3], flange[:3, 3] + 0.15 * flange[:3, 2], atol=1e-12)
    assert whole.total_mass == pytest.approx(arm.total_mass + 0.3)


def test_bodies_that_are_free_keep_their_coordinates_and_start_elsewhere():
    cube = la.robots.cube()
    b = la.MechanismBuilder("two cubes")
    b.attach(cube, prefix="a ")
    b.attach(cube, prefix="b ", pose=(1.0, 0.0, 0.0))
    two = b.build()
    home = two.home()
    np.testing.assert_allclose(home[7:10] - home[:3], [1.0, 0.0, 0.0])
    assert two.joints[1].pose == cube.joints[0].pose
    assert two.ground == cube.ground  # the same plane
    b.attach(cube, prefix="d ", pose=(0.0, 0.0, 2.0), ground=False)
    b.attach(cube, prefix="c ", pose=(0.0, 0.0, 1.0))
    assert len(b.build().ground) == 2


def test_what_cannot_be_attached_is_refused_and_leaves_the_builder_alone():
    robot, b = crane(), crane().edit()
    before = b.build()
    with pytest.raises(MechanismError, match="body 'boom': this name is used twice; give a prefix"):
        b.attach(robot)
    with pytest.raises(MechanismError, match="unknown body 'bom'"):
        b.attach(robot, prefix="x", parent="bom")
    with pytest.raises(MechanismError, match="gravity"):
        b.attach(robot.replace(gravity=(0, 0, 0)), prefix="x")
    with pytest.raises(MechanismError, match="robot"):
        b.attach("crane", prefix="x")
    wheel = la.MechanismBuilder("wheel")
    wheel.body("disc", mass=1.0, inertia=0.1)
    wheel.free("disc")
    wheel.rolling("roll", "disc", 0.3, axis="z")
    with pytest.raises(MechanismError, match="'roll' rolls on the plane z = 0"):
        b.attach(wheel.build(), prefix="x", pose=(0, 0, 1.0))
    assert b.build() == before
