"""`solref` and `solimp` of MJCF: contacts that give way as far as MuJoCo's do, or a line that says what was dropped."""

import warnings

import numpy as np
import pytest

import leastaction as la

mujoco = pytest.importorskip("mujoco")

SOFT = {
    "MuJoCo's own": "",
    "wide": 'solref="0.05 0.7" solimp="0.5 0.9 0.02 0.5 2"',
    "direct": 'solref="-2000 -50" solimp="0.8 0.9 0.02 0.5 2"',
    "linear": 'solref="0.04 1" solimp="0.3 0.95 0.03 0.4 1"',
}


def ball(option, ground, own, friction=0.6):
    return f"""<mujoco><option timestep="0.002" {option}/><worldbody>
        <geom name="floor" type="plane" size="5 5 .1" friction="{friction} .005 .0001" {ground}/>
        <body name="ball" pos="0 0 .1"><freejoint/>
        <geom name="skin" size=".1" mass="2" friction="0.3 .005 .0001" {own}/></body></worldbody></mujoco>"""


DOG = """<mujoco><option timestep="0.002" cone="elliptic"/><worldbody>
    <geom name="floor" type="plane" size="5 5 .1"/>
    <body name="torso" pos="0 0 0.36"><freejoint/><geom type="box" size=".25 .1 .05" mass="6"/>
    {legs}</body></worldbody><actuator>{servos}</actuator></mujoco>"""


def dog():
    """Four legs of two links with servos; its feet are as soft as those of real robots are."""
    legs, servos = "", ""
    for k, (x, y) in enumerate(((0.2, 0.12), (0.2, -0.12), (-0.2, 0.12), (-0.2, -0.12))):
        legs += f"""<body name="thigh{k}" pos="{x} {y} 0"><joint name="hip{k}" axis="0 1 0" armature="0.01"/>
            <geom type="capsule" fromto="0 0 0 0 0 -.16" size=".02" mass=".5" contype="0" conaffinity="0"/>
            <body name="shank{k}" pos="0 0 -.16"><joint name="knee{k}" axis="0 1 0" armature="0.01"/>
            <geom type="capsule" fromto="0 0 0 0 0 -.16" size=".015" mass=".2" contype="0" conaffinity="0"/>
            <geom name="foot{k}" size=".02" pos="0 0 -.16" mass=".05" solimp="0.015 1 0.031" friction="0.8 .02 .01"/>
            </body></body>"""
        servos += f'<position joint="hip{k}" kp="60" kv="2"/><position joint="knee{k}" kp="60" kv="2"/>'
    return DOG.format(legs=legs, servos=servos)


def settled(text, seconds=4.0):
    """qpos after a time, of MuJoCo."""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    while data.time < seconds:
        mujoco.mj_step(model, data)
    return data.qpos.copy()


def standing(text, contacts, seconds=4.0):
    """q after a time, of ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        robot = la.load_string(text, contacts=contacts)
    return la.simulate(robot, dt=0.005, duration=seconds, integrator=la.Minimal()).q[-1]


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
@pytest.mark.parametrize("name", SOFT)
def test_a_ball_stands_as_high_as_in_mujoco(name, cone):
    """Its sink, from 0.02 to 8 mm, is MuJoCo's: the load at which the compliance is taken is its weight."""
    text = ball(f'cone="{cone}"', SOFT[name], SOFT[name])
    expected = 0.1 - settled(text)[2]
    assert 1e-5 < expected < 0.02
    assert 0.1 - standing(text, "soft")[2] == pytest.approx(expected, rel=1e-3)


def test_softness_of_both_geoms_is_mixed_as_mujoco_mixes_it():
    """By solmix and priority."""
    for own in (f'{SOFT["wide"]} solmix="3"', f'{SOFT["direct"]} priority="1"', f"{SOFT['direct']}"):
        text = ball('cone="elliptic"', "", own)
        assert 0.1 - standing(text, "soft")[2] == pytest.approx(0.1 - settled(text)[2], rel=1e-3)


def test_condim_and_impratio_of_pyramids():
    for size in (1, 3, 4, 6):
        text = ball('cone="pyramidal" impratio="2"', f'condim="{size}"', SOFT["wide"])
        assert 0.1 - standing(text, "soft")[2] == pytest.approx(0.1 - settled(text)[2], rel=1e-3)


def test_a_robot_stands_as_high_as_in_mujoco():
    """Within 1e-3 m, where rigid feet leave it several millimetres higher."""
    text = dog()
    expected = settled(text)
    soft, rigid = (standing(text, contacts) for contacts in ("soft", True))
    assert abs(soft[2] - expected[2]) < 1e-3
    assert rigid[2] - expected[2] > 3e-3
    np.testing.assert_allclose(soft[7:], expected[7:], atol=5e-3)


def test_rigid_contacts_are_said_in_one_line():
    """Geoms with values of their own are named; others give no warning."""
    with pytest.warns(UserWarning, match=r'softness of contacts .*contacts="soft" takes it\): foot0, foot1') as said:
        robot = la.load_string(dog())
    assert len(said) == 1
    assert "soft contact" not in robot.special_parts
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        la.load_string(ball("", "", ""))
        soft = la.load_string(dog(), contacts="soft")
    assert isinstance(la.default_integrator(soft), la.Minimal)
    feet = [shape for body in soft.bodies for shape in body.shapes if shape.name.startswith("foot")]
    assert all(foot.compliance > 1e-5 and foot.relaxation_time > 1e-3 for foot in feet)
    assert soft.ground[0].compliance is None


def test_limits_and_equality_constraints_stay_rigid_and_are_named():
    text = """<mujoco><worldbody><body name="a"><joint name="hinge" axis="0 1 0" range="-10 10" solreflimit="0.1 1"/>
        <geom size=".1"/></body><body name="b" pos="1 0 0"><joint name="other" axis="0 1 0"/><geom size=".1"/></body>
        </worldbody><equality><joint name="tie" joint1="hinge" joint2="other" solref="0.1 1"/></equality></mujoco>"""
    with pytest.warns(UserWarning, match=r"softness of joint limits .*: hinge; softness of equality .*: tie"):
        la.load_string(text, contacts="soft")


def test_other_words_are_refused():
    with pytest.raises(la.FormatError, match='contacts must be True, False or "soft"'):
        la.load_string(ball("", "", ""), contacts="hard")
