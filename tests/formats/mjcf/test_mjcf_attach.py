"""Models that an MJCF file attaches to its own: read as MuJoCo reads them, by the rules of other files."""

import numpy as np
import pytest

import leastaction as la
from leastaction.errors import FormatError
from leastaction.formats import load_mjcf
from tests.formats.models import mjcf, write

mujoco = pytest.importorskip("mujoco")

TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
ARM = mjcf(
    '<body name="upper" pos="0 0 1" childclass="soft"><joint name="shoulder" axis="0 1 0"/>'
    '<geom type="mesh" mesh="m"/><site name="elbow"/>\n'
    '<body name="lower" pos="0 0 1"><joint name="knee" axis="1 0 0"/><geom size="0.1"/></body></body>',
    '<actuator><motor name="drive" joint="knee"/></actuator><sensor><jointpos name="angle" joint="knee"/></sensor>',
    before='<compiler meshdir="meshes" angle="radian"/><default><default class="soft"><joint damping="2"/></default>'
    '</default><asset><mesh name="m" file="m.obj"/></asset>',
)
ASSET = '<asset><model name="arm" file="parts/arm.xml"/></asset>'
HALL = '<body name="base"><freejoint/><geom size="0.3"/>{}</body>'
PLACE = '<frame pos="{} 0 0"><attach model="arm" body="upper" prefix="{}"/></frame>'


def main(tmp_path, world, before=ASSET, arm=ARM):
    write(tmp_path, TETRAHEDRON, "parts/meshes/m.obj")
    write(tmp_path, arm, "parts/arm.xml")
    return write(tmp_path, mjcf(world, before=before), "main.xml")


def refused(path, message):
    with pytest.raises(FormatError, match=message) as error:
        load_mjcf(path)
    return error.value


def test_attached_models_move_as_in_mujoco(tmp_path):
    path = main(tmp_path, HALL.format(PLACE.format("0.5", "left_") + PLACE.format("-0.5", "right_")))
    robot, model = load_mjcf(path), mujoco.MjModel.from_xml_path(str(path))
    assert robot.body_names == ("base", "left_upper", "left_lower", "right_upper", "right_lower")
    assert [a.name for a in robot.actuators] == ["left_drive", "right_drive"]
    assert [(s.name, s.target) for s in robot.sensors] == [("left_angle", "left_knee"), ("right_angle", "right_knee")]
    assert [joint.damping for joint in robot.joints[1:]] == [(2.0,)] * 4
    assert "left_elbow" in [frame.name for frame in robot.frames]
    data = mujoco.MjData(model)
    q = robot.home()
    q[7:] = (0.3, -0.4, 0.5, 0.6)
    data.qpos[:] = q
    mujoco.mj_forward(model, data)
    columns = np.zeros((model.nv, model.nv))
    for column, unit in zip(columns, np.eye(model.nv), strict=True):
        mujoco.mj_mulM(model, data, column, unit)
    M = la.dynamics.mass_matrix(robot, q)[6:, 6:]
    np.testing.assert_allclose(M, columns[6:, 6:], atol=1e-12 * np.abs(M).max())


def test_attached_models_may_attach_others(tmp_path):
    hand = mjcf('<body name="palm"><joint name="turn"/><geom size="0.1"/></body>')
    write(tmp_path, hand, "hands/hand.xml")
    arm = ARM.replace("</asset>", '<model name="hand" file="../hands/hand.xml"/></asset>')
    arm = arm.replace('<geom size="0.1"/>', '<geom size="0.1"/><attach model="hand" body="palm" prefix="h_"/>')
    arm = arm.replace("<sensor>", '<sensor><jointvel name="rate" joint="h_turn"/>')
    robot = load_mjcf(main(tmp_path, HALL.format(PLACE.format("1", "a_")), arm=arm))
    assert robot.body_names == ("base", "a_upper", "a_lower", "a_h_palm")
    assert [s.target for s in robot.sensors] == ["a_h_turn", "a_knee"]


def test_faults_of_attached_models_are_told_at_their_lines(tmp_path):
    place = HALL.format(PLACE.format("0", "p_"))
    error = refused(main(tmp_path, place, arm=ARM.replace('axis="0 1', 'axes="0 1')), "unrecognized attribute")
    assert (error.file, error.line) == (str(tmp_path / "parts/arm.xml"), 4)
    error = refused(main(tmp_path, place, arm=ARM.replace('"1 0 0"', '"0 0 0"')), "axis too small")
    assert (error.file, error.line, error.element) == (str(tmp_path / "parts/arm.xml"), 5, 'joint "knee"')
    error = refused(main(tmp_path, place.replace('"upper"', '"none"')), "could not find body 'none'")
    assert (error.file, error.line) == (str(tmp_path / "main.xml"), 4)
    refused(main(tmp_path, place, arm="<robot/>"), "root element <mujoco>")
    slim = ARM.replace('mesh="m"/>', 'mesh="m" mass="0"/><geom size="0.1"/>').replace("meshes", "elsewhere")
    with pytest.warns(UserWarning, match="meshes that were not found: m.obj"):
        load_mjcf(main(tmp_path, place, arm=slim))


def test_models_that_attach_each_other_are_refused(tmp_path):
    again = ARM.replace("</asset>", '<model name="main" file="../main.xml"/></asset>')
    refused(main(tmp_path, HALL.format(""), arm=again), r"cycle: main\.xml -> arm\.xml -> main\.xml")


def test_attached_models_do_not_grow_without_bound(tmp_path):
    """Each file attaches the one before it ten times."""
    write(tmp_path, mjcf('<body name="b"><geom size="0.1"/></body>'), "m0.xml")
    for k in range(1, 6):
        places = "".join(f'<attach model="m" prefix="p{n}"/>' for n in range(10))
        asset = f'<asset><model name="m" file="m{k - 1}.xml"/></asset>'
        path = write(tmp_path, mjcf(places, before=asset), f"m{k}.xml")
    refused(path, "stands for more than 10000 elements")
