"""What MJCF says of scenes: pairs of geoms, which friction acts between two, and mocap bodies."""

import numpy as np
import pytest

import leastaction as la
from leastaction.contact.contact_shapes import collect
from leastaction.errors import FormatError
from leastaction.formats import load_mjcf, save_mjcf
from leastaction.mechanism import Pose

pytest.importorskip("mujoco")

SCENE = """<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 1" {floor}/>
    <body name="a" pos="0 0 0.1"><freejoint/><geom name="a" type="box" size="0.1 0.1 0.1" {a}/></body>
    <body name="b" pos="0 0 0.3"><freejoint/><geom name="b" type="box" size="0.1 0.1 0.1" {b}/></body>
  </worldbody>
  {rest}
</mujoco>"""


def read(tmp_path, text, **options):
    path = tmp_path / "scene.xml"
    path.write_text(text)
    return load_mjcf(path, **options)


def surfaces(robot):
    """(friction, spinning, rolling) of the pairs of shapes that may touch, by their names."""
    table = collect(robot, {name: (k, Pose()) for k, name in enumerate(robot.body_names)})
    pairs = [*table.ground, *table.body_pairs()]
    return {(table.names[p.a][1], table.names[p.b][1]): (p.friction, p.spin, p.roll) for p in pairs}


def mujoco_surfaces(text):
    """The same by MuJoCo."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qpos[2::7] -= 1e-3 * np.arange(1, 3)  # a little inside each other
    mujoco.mj_forward(model, data)
    found = {}
    for c in data.contact:
        slide, _, spin, roll, _ = c.friction
        names = tuple(sorted((model.geom(c.geom1).name, model.geom(c.geom2).name)))
        found[names] = (slide if c.dim >= 3 else 0.0, spin if c.dim >= 4 else 0.0, roll if c.dim >= 6 else 0.0)
    return found


@pytest.mark.parametrize(
    "given",
    [
        {"floor": 'condim="3" friction="0.3"', "a": 'condim="1"', "b": 'condim="1" friction="0.2"'},
        {"floor": 'friction="0.3 0.2 0.1"', "a": 'condim="4" friction="0.5 0.01 0.3"', "b": 'condim="6"'},
        {"floor": 'friction="0.9" priority="1"', "a": 'friction="0.2" condim="6"', "b": 'priority="2" friction="0.1"'},
        {
            "a": 'contype="0" conaffinity="0"',
            "rest": '<contact><pair geom1="a" geom2="b" friction="0.7 0.7"/></contact>',
        },
        {"a": 'contype="2" conaffinity="2"', "b": 'contype="4" conaffinity="1"'},
        {"rest": '<contact><exclude body1="a" body2="b"/><pair geom1="floor" geom2="b" condim="1"/></contact>'},
        {
            "rest": '<contact><exclude body1="a" body2="b"/>'
            '<pair geom1="b" geom2="a" condim="6" friction="0.4 0.4 0.02 0.01 0.01"/></contact>'
        },
    ],
)
def test_pairs_touch_as_in_mujoco(tmp_path, given):
    text = SCENE.format(**{"floor": "", "a": "", "b": "", "rest": ""} | given)
    given = read(tmp_path, text)
    for robot in (given, _saved(given, tmp_path)):
        found = {tuple(sorted(names)): values for names, values in surfaces(robot).items()}
        for names, expected in mujoco_surfaces(text).items():
            np.testing.assert_allclose(found.pop(names), expected, atol=1e-15)
        assert set(found) <= {("b", "floor")}  # too far apart for MuJoCo to tell


def _saved(robot, tmp_path):
    save_mjcf(robot, tmp_path / "again.xml")
    return load_mjcf(tmp_path / "again.xml")


def test_frictionless_geom_on_a_rough_floor(tmp_path):
    """The larger of two `condim` counts, so a geom with `condim` 1 does not slide on a floor with 3."""
    text = SCENE.format(floor='friction="0.3"', a='condim="1" friction="0.6"', b="", rest="")
    slope = '<option gravity="4 0 -9"/>'
    robot = read(tmp_path, text.replace("<worldbody>", slope + "<worldbody>")).edit()
    robot.remove("b")
    robot.remove("b_free")
    run = la.simulate(robot.build(), dt=0.01, steps=20, integrator=la.Maximal())
    assert abs(run.q[-1, 0]) < 1e-6


MOCAP = """<mujoco>
  <worldbody>
    <body name="hand" mocap="true" pos="0.5 0 0.4"/>
    <body name="upper"><joint name="shoulder" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0.4 0 0" size="0.02"/>
      <body name="lower" pos="0.4 0 0"><joint name="elbow" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 0.4 0 0" size="0.02"/></body></body>
  </worldbody>
  <equality><connect name="grip" body1="lower" body2="hand" anchor="0.4 0 0"/></equality>
  <keyframe><key name="bent" qpos="-1 1.5" mpos="0.4 0 0.3" mquat="1 0 0 0"/>
    <key name="plain" qpos="-1 1.5"/></keyframe>
</mujoco>"""


def test_mocap_body_drags_an_arm(tmp_path):
    robot = read(tmp_path, MOCAP)
    assert robot.prescribed == ("hand",)
    np.testing.assert_allclose(robot.home(), [0, 0, 0.5, 0, 0.4, 1, 0, 0, 0])
    np.testing.assert_allclose(read(tmp_path, MOCAP, keyframe="bent").home(), [-1, 1.5, 0.4, 0, 0.3, 1, 0, 0, 0])
    np.testing.assert_allclose(read(tmp_path, MOCAP, keyframe="plain").home()[:5], [-1, 1.5, 0.5, 0, 0.4])
    still = read(tmp_path, MOCAP, mocap=False)
    assert not still.prescribed
    assert still.nq == 2
    again = _saved(robot, tmp_path)
    assert again.prescribed == robot.prescribed
    assert again.joints == robot.joints

    b = robot.edit()
    b.remove("grip")
    b.joint(
        "grip", "spherical", "lower", "hand", position=(0.4, 0, 0), loop=True
    )  # MuJoCo's is at the pose of the file
    robot = b.build()

    def hand(t):
        return Pose((0.5 + 0.05 * np.sin(2 * t), 0, 0.4 - 0.1 * t))

    with pytest.warns(UserWarning, match=r"open loops: 'grip' \(lower and hand"):
        run = la.simulate(robot, {"shoulder": -1.0, "elbow": 1.5}, dt=0.01, steps=40, motions={"hand": hand})
    assert run.constraint_violation.max() < 1e-9
    lower = run.com_poses[-1, robot.body_names.index("lower")]
    tip = Pose(tuple(lower[:3]), tuple(lower[3:])).apply((0.2, 0, 0))
    np.testing.assert_allclose(tip, hand(0.4).position, atol=1e-9)
    assert abs(run.energy[-1] - run.energy[0] - run.stored["work"][-1]) < 0.02 * abs(run.energy[0])


def test_what_cannot_be_written(tmp_path):
    robot = read(tmp_path, SCENE.format(floor="", a="", b="", rest=""))
    b = robot.edit()
    b.contact_pair("a", "b", restitution=0.5)
    with pytest.raises(FormatError, match="restitution"):
        save_mjcf(b.build(), tmp_path / "no.xml")
    b = robot.edit()
    b.add_shape("a", la.mechanism.Sphere(0.1, surface_velocity=(1, 0, 0)))
    with pytest.raises(FormatError, match="surface of a shape moves"):
        save_mjcf(b.build(), tmp_path / "no.xml")
    with pytest.warns(UserWarning, match="omitted: surface velocities: sphere of a"):
        save_mjcf(b.build(), tmp_path / "still.xml", lossy=True)
    b = robot.edit()
    b.add_shape("a", la.mechanism.Sphere(0.1))
    b.contact_pair("a", "b", friction=0.5)
    save_mjcf(b.build(), tmp_path / "pairs.xml")  # shapes of pairs get names
    back = la.load(tmp_path / "pairs.xml")
    shapes = {name: [s.name for s in body.shapes] for name, body in zip(back.body_names, back.bodies, strict=True)}
    assert len(set(shapes["a"])) == len(shapes["a"]) == 2
    assert [(pair.first, pair.second, *pair.shapes) for pair in back.contact_pairs] == [("a", "b", "", "")]
    assert {pair.friction for pair in back.contact_pairs} == {0.5}


ARM = """<mujoco><worldbody><body name="a" pos="0 0 1"><joint name="j1" axis="0 1 0"/><geom size="0.1" pos="0.4 0 0"/>
  <body name="b" pos="0.4 0 0"><joint name="j2" axis="0 1 0"/><geom size="0.05" pos="0.3 0 0"/></body></body>
  </worldbody><equality><joint name="tied" joint1="j2" joint2="j1" polycoef="0.1 -0.5 0 0 0"/></equality></mujoco>"""


def test_equalities_that_do_not_hold_at_home_are_closed_before_the_first_step(tmp_path):
    robot = read(tmp_path, ARM)
    with pytest.warns(la.LeastActionWarning, match=r"open loops: 'tied' \(by 0\.1\); closed"):
        run = la.simulate(robot, dt=0.005, steps=20, integrator=la.Maximal())
    assert np.abs(run.q[:, 1] - (0.1 - 0.5 * run.q[:, 0])).max() < 1e-9
    assert np.abs(run.energy - run.energy[0]).max() < 1e-3 * run.kinetic_energy.max()
    with pytest.raises(la.MechanismError, match="open by"):  # a start that somebody chose is a mistake
        la.simulate(robot, [0.0, 0.0], dt=0.005, steps=20, integrator=la.Maximal())
