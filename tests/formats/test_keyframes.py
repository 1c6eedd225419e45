"""Configurations that MJCF files name."""

import numpy as np
import pytest

import leastaction as la
from leastaction.errors import FormatError
from leastaction.formats import load_keyframes

SCENE = """<mujoco><worldbody>
  <body name="trunk" pos="0 0 1"><freejoint name="root"/><geom size=".1"/>
    <body name="leg"><geom size=".1"/><joint name="hip" axis="0 1 0"/>
      <joint name="slide" type="slide" ref="0.5"/></body>
  </body>
</worldbody><keyframe>{}</keyframe></mujoco>"""


def write(tmp_path, keys):
    path = tmp_path / "scene.xml"
    path.write_text(SCENE.format(keys))
    return path


def test_a_keyframe_is_a_configuration_of_the_robot(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    q = [0.1, 0.2, 0.3, 0.6, 0.8, 0, 0, 0.4, 0.7]
    path = write(
        tmp_path, f'<key name="crouch" qpos="{" ".join(map(str, q))}"/> <key qpos="{"1 " * 9}"/> <key time="1"/>'
    )
    keys = load_keyframes(path)
    assert list(keys) == ["crouch", "key1"]
    np.testing.assert_array_equal(keys["crouch"], q)
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_kinematics(model, data)
    robot = la.load(path)
    X = la.dynamics.body_poses(robot, keys["crouch"])
    np.testing.assert_allclose(X[robot.body_index("leg"), :3, 3], data.body("leg").xpos, atol=1e-12)


@pytest.mark.parametrize("qpos", ["1 two", "1 nan"])
def test_what_is_not_a_number_is_refused(tmp_path, qpos):
    with pytest.raises(FormatError, match='key "bad": qpos'):
        load_keyframes(write(tmp_path, f'<key name="bad" qpos="{qpos}"/>'))


def test_urdf_has_none(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text('<robot name="r"><link name="a"/></robot>')
    with pytest.raises(FormatError, match="keyframes are part of MJCF"):
        load_keyframes(path)


def test_mocap_bodies_are_where_the_file_has_them_unless_a_key_tells(tmp_path):
    pytest.importorskip("mujoco")
    path = tmp_path / "scene.xml"
    path.write_text("""<mujoco><worldbody>
      <body name="hand" mocap="true" pos="1 2 3" quat="0 1 0 0"/>
      <frame pos="0 0 1"><body name="eye" mocap="true" pos="1 0 0"/></frame>
      <body><joint name="hinge"/><geom size=".1"/></body>
    </worldbody><keyframe><key name="up" qpos="0.4"/><key name="there" qpos="0.5" mpos="4 5 6 7 8 9"/>
      <key name="turned" qpos="0.6" mpos="4 5 6 7 8 9" mquat="1 0 0 0 0 0 0 1"/></keyframe></mujoco>""")
    robot, keys = la.load(path), load_keyframes(path)
    np.testing.assert_array_equal(keys["up"], [0.4, 1, 2, 3, 0, 1, 0, 0, 1, 0, 1, 1, 0, 0, 0])
    np.testing.assert_array_equal(keys["there"], [0.5, 4, 5, 6, 0, 1, 0, 0, 7, 8, 9, 1, 0, 0, 0])
    np.testing.assert_array_equal(keys["turned"], [0.6, 4, 5, 6, 1, 0, 0, 0, 7, 8, 9, 0, 0, 0, 1])
    np.testing.assert_array_equal(keys["up"][1:], robot.home()[1:])
    np.testing.assert_array_equal(la.load(path, keyframe="there").home(), keys["there"])
    np.testing.assert_array_equal(la.load(path, keyframe="there", mocap=False).home(), [0.5])


def test_a_keyframe_of_another_length_is_named_when_the_model_is_loaded(tmp_path):
    path = tmp_path / "a.xml"
    joint = '<body name="a"><joint axis="0 1 0"/><geom size="0.1"/></body>'
    keys = '<key name="home" qpos="0.1"/><key name="away" qpos="0.1 0.2 0.3"/>'
    path.write_text(f"<mujoco><worldbody>{joint}</worldbody><keyframe>{keys}</keyframe></mujoco>")
    with pytest.warns(UserWarning, match=r"keyframes, whose qpos is not as long as .* \(1\): away \(3, line 1\)"):
        robot = la.load(path)
    assert robot.nq == 1
