"""Where robots start: the pose of their file, a keyframe, or what the builder says."""

import numpy as np
import pytest

import leastaction as la
from leastaction.formats import load_mjcf, load_urdf
from leastaction.mechanism import joints
from tests.formats.models import arm, mjcf, write

TWO = (
    '<body name="a" pos="1 2 3" euler="0 0 90"><freejoint name="f"/><geom size="0.1"/></body>'
    '<body name="b"><joint name="j" axis="0 1 0" ref="30"/><joint name="s" type="slide"/><geom size="0.1"/></body>'
)
KEYS = '<keyframe><key name="up" qpos="0 0 5 1 0 0 0 0.1 0.2"/></keyframe>'


def test_the_pose_of_an_mjcf_file_is_the_home(tmp_path):
    robot = load_mjcf(write(tmp_path, mjcf(TWO), "main.xml"))
    turned = [np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)]
    np.testing.assert_allclose(robot.home(), [1, 2, 3, *turned, np.pi / 6, 0.0], atol=1e-12)
    np.testing.assert_allclose(la.dynamics.body_poses(robot, robot.home())[1], np.eye(4), atol=1e-12)
    np.testing.assert_array_equal(la.robots.home(robot), robot.home())
    run = la.simulate(robot, q={"s": 0.5}, dt=0.01, steps=0, integrator=la.Galerkin(order=2))
    np.testing.assert_allclose(run.q[0], [1, 2, 3, *turned, np.pi / 6, 0.5], atol=1e-12)


def test_a_keyframe_can_be_the_home(tmp_path):
    path = write(tmp_path, mjcf(TWO, KEYS), "main.xml")
    robot = la.load(path, keyframe="up")
    np.testing.assert_array_equal(robot.home(), [0, 0, 5, 1, 0, 0, 0, 0.1, 0.2])
    with pytest.raises(la.FormatError, match="no keyframe 'upp'; did you mean 'up'"):
        load_mjcf(path, keyframe="upp")


def test_the_builder_says_where_a_robot_starts():
    b = la.robots.pendulum(2).edit()
    b.home({"joint2": 0.3})
    robot = b.build()
    np.testing.assert_array_equal(robot.home(), [0.0, 0.3])
    np.testing.assert_array_equal(robot.edit().build().home(), robot.home())
    assert robot != la.robots.pendulum(2)
    with pytest.raises(la.MechanismError, match="home: unknown coordinate 'joint3'; did you mean"):
        b.home({"joint3": 1.0})
    with pytest.raises(la.MechanismError, match="home"):
        b.home({"joint2": float("nan")})


def test_the_home_is_stored_with_a_run(tmp_path):
    b = la.robots.pendulum(2).edit()
    b.home({"joint1": 0.3})
    run = la.simulate(b.build(), dt=0.01, steps=1, integrator=la.Galerkin(order=2))
    run.save(tmp_path / "run.npz")
    np.testing.assert_array_equal(la.Trajectory.load(tmp_path / "run.npz").mechanism.home(), [0.3, 0.0])


def test_motions_of_composite_joints_have_names_of_their_own():
    parts = [joints.prismatic("x"), joints.spherical()]
    b = la.MechanismBuilder("named")
    b.body("a", mass=1.0, inertia=1.0)
    b.joint("j", "composite", "world", "a", parts=parts, motions=["along", "ball"])
    robot = b.build()
    assert robot.coordinate_names == ("along", "ball.qw", "ball.qx", "ball.qy", "ball.qz")
    assert robot.velocity_names == ("along", "ball.wx", "ball.wy", "ball.wz")
    with pytest.raises(la.MechanismError, match="expected 2 names of motions, got 1"):
        b.joint("k", "composite", "world", "a", parts=parts, motions=["along"])


def test_a_flying_urdf_robot_has_drives_for_its_joints_only(tmp_path):
    robot = load_urdf(write(tmp_path, arm()), floating_base=True)
    axes = [joint.name for joint in robot.joints if joint.nv == 1]
    assert [actuator.name for actuator in robot.actuators] == axes
    assert robot.nu == len(axes)
    assert load_urdf(write(tmp_path, arm())).actuators == ()
