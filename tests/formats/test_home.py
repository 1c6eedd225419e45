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


def test_joints_of_a_urdf_start_within_their_limits(tmp_path):
    """At the limit nearest to zero; those that mimic others where these tell."""
    link = '<link name="{0}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>'
    joint = '<joint name="{0}" type="revolute"><parent link="{1}"/><child link="{2}"/>{3}</joint>'
    limit = '<limit lower="{}" upper="{}" effort="1" velocity="1"/>'
    text = "".join(link.format(x) for x in "abcd")
    text += joint.format("knee", "a", "b", limit.format(-2.0, -0.5)) + joint.format(
        "toe", "b", "c", limit.format(-1, 1)
    )
    text += joint.format("heel", "c", "d", '<mimic joint="knee" multiplier="2" offset="0.1"/>')
    robot = load_urdf(write(tmp_path, f'<robot name="leg">{text}</robot>', "leg.urdf"))
    np.testing.assert_allclose(robot.home(), [-0.5, 0.0, -0.9])


def test_flags_of_an_mjcf_file_switch_things_off(tmp_path):
    """A ball in the ground on a hinge beyond its limit, with a spring, a damper and dry friction: none of it acts."""
    body = (
        '<geom type="plane" size="1 1 1"/><body name="arm"><joint name="hinge" axis="0 1 0" limited="true" '
        'range="10 20" stiffness="3" damping="2" frictionloss="1"/><geom size="0.1" pos="0.2 0 0"/></body>'
    )
    flags = "contact", "limit", "spring", "damper", "frictionloss", "gravity"
    off = "".join(f'{name}="disable" ' for name in flags)
    robot = load_mjcf(write(tmp_path, mjcf(body, f"<option><flag {off}/></option>"), "main.xml"))
    joint = robot.joints[0]
    assert joint.lower == (-np.inf,)
    assert (joint.stiffness, joint.damping, joint.friction) == ((0.0,), (0.0,), (0.0,))
    assert robot.gravity == (0.0, 0.0, 0.0)
    assert not any(shape.collision for shape in (*robot.ground, *robot.bodies[0].shapes))
    everything = load_mjcf(write(tmp_path, mjcf(body), "other.xml"))
    assert everything.joints[0].friction == (1.0,)
    assert everything.ground[0].collision


def test_followers_without_room_are_free_of_their_limits(tmp_path):
    """As degrees that are meant as radians make them: the equation holds, with the leader's limits; and it runs."""
    file = tmp_path / "finger.xml"
    text = """<mujoco><worldbody><body><joint name="leader" axis="0 1 0" range="0 2"/><geom size="0.1"/>
        <body pos="0 0 -0.3"><joint name="follower" axis="0 1 0" range="0 1"/><geom size="0.1"/></body></body>
        </worldbody><equality><joint joint1="follower" joint2="leader" polycoef="{offset} 1 0 0 0"/></equality>
        </mujoco>"""
    file.write_text(text.format(offset=np.deg2rad(0.5)))
    assert la.load(file).joints[1].upper == pytest.approx([np.deg2rad(1.0)])
    file.write_text(text.format(offset=0.5))
    with pytest.warns(la.LeastActionWarning, match="limits of 'follower' leave no room"):
        robot = la.load(file)
    assert robot.joints[1].upper == (np.inf,)
    assert robot.joints[0].upper == pytest.approx([np.deg2rad(2.0)])
    run = la.simulate(robot, la.dynamics.close_loops(robot, robot.home()), dt=0.005, steps=5, integrator=la.Maximal())
    np.testing.assert_allclose(run.q[:, 1], run.q[:, 0] + 0.5, rtol=0.0, atol=1e-9)
