"""Controls that hold a robot where it is."""

import numpy as np
import pytest

import leastaction as la
from leastaction.mechanism import Servo
from leastaction.view.control_sliders import _range


def driven():
    """A chain without weight: servos with gear, gain and rest on a hinge, on a ball joint and on a tendon; a motor."""
    b = la.MechanismBuilder("driven", gravity=(0, 0, 0))
    for k, (name, kind) in enumerate((("a", "revolute"), ("b", "revolute"), ("c", "spherical"), ("d", "revolute"))):
        b.body(name, mass=1.0, com=(0, 0, -0.2), inertia=(0.02, 0.02, 0.01))
        b.joint(name, kind, "world" if k == 0 else "abc"[k - 1], name, position=(0, 0, -0.4 if k else 0.0))
    b.tendon("cord", joints={"b": 0.5, "d": -0.3})
    b.add(Servo("hinge", "a", gear=2.0, kp=30.0, kv=1.0, gain=12.0, rest=0.1))
    for axis in b.build().velocity_names[2:5]:
        b.position_servo(f"ball {axis}", axis, kp=20.0, kv=0.5)
    b.position_servo("pull", "cord", kp=40.0, kv=1.0)
    b.actuator("motor", "d")
    return b.build()


def test_servos_rest_where_they_are_held():
    """Without gravity nothing moves: no servo exerts a force."""
    robot = driven()
    q = robot.normalize([0.3, -0.4, 0.9, 0.2, -0.3, 0.1, 0.5])
    u = la.robots.holding_controls(robot, q)
    assert u[-1] == 0.0
    run = la.simulate(robot, q, dt=0.01, steps=50, controls=u, integrator=la.Galerkin(order=2))
    assert np.abs(run.v).max() < 1e-11
    moved = la.simulate(robot, q, dt=0.01, steps=50, controls=u + 0.1, integrator=la.Galerkin(order=2))
    assert np.abs(moved.v).max() > 1e-2


def test_home_is_the_default():
    robot = driven()
    u = la.robots.holding_controls(robot)
    np.testing.assert_array_equal(u, la.robots.holding_controls(robot, robot.home()))
    with pytest.raises(la.MechanismError, match="expected Mechanism"):
        la.robots.holding_controls("robot")


def test_sliders_of_the_viewer_have_ranges_for_all_servos():
    """Those of ball joints and tendons too."""
    robot = driven()
    ranges = [_range(robot, actuator, 10.0) for actuator in robot.actuators]
    assert all(low < high and np.isfinite([low, high]).all() for low, high in ranges)


def test_controls_of_keyframes(tmp_path):
    path = tmp_path / "arm.xml"
    path.write_text("""<mujoco><worldbody><body><joint name="j" axis="0 1 0"/><geom size="0.1"/></body></worldbody>
        <actuator><position name="s" joint="j" kp="30" kv="2"/></actuator>
        <keyframe><key name="up" qpos="0.5" ctrl="0.6"/><key qpos="0.1"/></keyframe></mujoco>""")
    assert {name: list(u) for name, u in la.formats.load_keyframe_controls(path).items()} == {"up": [0.6]}
    assert set(la.formats.load_keyframes(path)) == {"up", "key1"}
    path.write_text(path.read_text().replace('ctrl="0.6"', 'ctrl="nan"'))
    with pytest.raises(la.FormatError, match=r"ctrl.*finite"):
        la.formats.load_keyframe_controls(path)
