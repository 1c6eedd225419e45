"""Tendons and force ranges that are read from MJCF act as MuJoCo's own do, and are written back."""

import numpy as np
import pytest

import leastaction as la
from leastaction.actuation.actuation import follow_muscle, muscle_rate
from leastaction.mechanism import Muscle
from leastaction.sensing import SensorReader
from tests.formats.models import mjcf, write

mujoco = pytest.importorskip("mujoco")

pytestmark = pytest.mark.oracle

BODIES = (
    '<site name="w" pos=".3 .1 1.2"/><body name="a" pos="0 0 1"><joint name="j1" axis="0 1 0"/>'
    '<joint name="j2" axis="1 0 0"/><geom type="capsule" size="0.03" fromto="0 0 0 0 0 -0.5" mass="1"/>'
    '<site name="sa" pos=".05 .02 -.3"/><geom name="ball" type="sphere" size=".12" pos=".02 .03 -.05" mass="0"/>'
    '<geom name="drum" type="cylinder" size=".1 .2" pos=".02 0 -.45" euler=".3 1.2 .1" mass="0"/>'
    '<site name="by" pos=".2 .1 -.05"/><site name="within" pos=".02 .03 -.04"/><site name="beside" pos=".12 .2 -.44"/>'
    '<body name="b" pos="0 0 -0.5"><joint name="j3" axis="0 1 0.2"/>'
    '<geom type="capsule" size="0.03" fromto="0 0 0 0 0 -0.4" mass="0.7"/><site name="sb" pos=".05 -.02 -.2"/>'
    '<body name="c" pos="0 0 -0.4"><joint name="j4" type="slide" axis="0 0 1" ref="0.1"/>'
    '<geom type="sphere" size="0.05" mass="0.3"/><site name="sc"/></body></body></body>'
)
FIXED = '<joint joint="j1" coef=".5"/><joint joint="j3" coef="-.7"/><joint joint="j4" coef="2"/>'
TENDONS = (
    f'<tendon><fixed name="f" stiffness="3" damping=".4" springlength=".1 .2">{FIXED}</fixed>'
    '<spatial name="s" stiffness="20" damping=".3" springlength=".2 .5"><site site="w"/><site site="sa"/>'
    '<pulley divisor="2"/><site site="sb"/><site site="sc"/><pulley divisor="2"/><site site="sa"/><site site="w"/>'
    '</spatial><spatial name="r"><site site="w"/><site site="sa"/><site site="sc"/></spatial>'
    '<fixed name="g"><joint joint="j2" coef="1"/><joint joint="j3" coef=".3"/></fixed>'
    '<spatial name="round" stiffness="8" damping=".5"><site site="w"/><geom geom="ball"/><site site="sb"/></spatial>'
    '<spatial name="side"><pulley divisor="1.5"/><site site="w"/><geom geom="ball" sidesite="by"/><site site="sc"/>'
    '<pulley divisor="2"/><site site="w"/><geom geom="drum"/><site site="sb"/></spatial>'
    '<spatial name="drum" actuatorfrcrange="-2.5 2"><site site="by"/><geom geom="drum" sidesite="beside"/>'
    '<site site="sc"/></spatial><spatial name="ring"><site site="w"/><geom geom="ball" sidesite="within"/>'
    '<site site="sc"/></spatial></tendon>'
)
ACTUATORS = (
    '<actuator><motor name="m1" tendon="f" gear="2"/><motor name="m2" tendon="r" gear="3"/>'
    '<position name="p1" tendon="s" kp="30" kv="2" gear="1.5"/><velocity name="v1" tendon="g" kv="3"/>'
    '<position name="p2" joint="j1" kp="100" kv="4" forcerange="-6 5" gear="1.3"/>'
    '<general name="c" tendon="r" gainprm="30" biastype="affine" biasprm="3 -25 -2" forcerange="-8 8"/>'
    '<motor name="m3" tendon="drum" gear="2"/><position name="p3" tendon="drum" kp="30" gear="2"/>'
    '<muscle name="u1" tendon="round" force="90" range=".7 1.1" timeconst=".02 .05" tausmooth=".3"'
    ' lengthrange=".8 1.5"/>'
    '<muscle name="u2" joint="j1" gear=".4" scale="300" lmin=".4" vmax="2" fvmax="1.4" lengthrange="-.6 .7"/>'
    '<muscle name="u3" tendon="side" gear="1.3" force="60" forcerange="-20 0" lengthrange=".4 1.8"/></actuator>'
)
SENSORS = '<sensor><accelerometer name="felt" site="sc"/><jointactuatorfrc name="driven" joint="j1"/></sensor>'
MODEL = mjcf(BODIES, TENDONS + ACTUATORS + SENSORS, before='<option><flag contact="disable"/></option>')


@pytest.fixture
def arm(tmp_path, recwarn):
    path = write(tmp_path, MODEL, "arm.xml")
    robot = la.load(path)
    assert not len(recwarn)  # nothing is left out
    return robot, mujoco.MjModel.from_xml_path(str(path))


def states(model, count=8):
    rng = np.random.default_rng(1)
    data = mujoco.MjData(model)
    for _ in range(count):
        data.qpos[:], data.qvel[:] = 0.8 * rng.normal(size=model.nq), rng.normal(size=model.nv)
        data.ctrl[:], data.act[:] = rng.normal(size=model.nu), rng.uniform(size=model.na)
        data.ctrl[model.nu - model.na :] = data.act  # those of muscles, which come last
        mujoco.mj_forward(model, data)
        yield data, data.qpos.copy(), data.qvel.copy(), data.ctrl.copy()


def jacobian(model, data):
    """Dense, from whatever form this version of MuJoCo keeps it in."""
    J = np.array(data.ten_J)
    if J.shape == (model.ntendon, model.nv):
        return J
    out = np.zeros((model.ntendon, model.nv))
    owner = model if hasattr(model, "ten_J_rownnz") else data
    mujoco.mju_sparse2dense(out, J.ravel(), owner.ten_J_rownnz, owner.ten_J_rowadr, owner.ten_J_colind.ravel())
    return out


def test_lengths_and_moment_arms(arm):
    """MuJoCo finds the point where a ring is touched to 1e-6 only, which moves its length by the square of that."""
    robot, model = arm
    points = np.zeros(model.ntendon, int)
    for data, q, _, _ in states(model, 30):
        np.testing.assert_allclose(la.kinematics.tendon_lengths(robot, q), data.ten_length, atol=1e-12)
        found, expected = la.kinematics.tendon_jacobian(robot, q), jacobian(model, data)
        np.testing.assert_allclose(found[:-1], expected[:-1], atol=1e-12)
        np.testing.assert_allclose(found[-1], expected[-1], atol=1e-6)
        points += data.ten_wrapnum
    assert (points[4:] > 30 * np.array([2, 5, 2, 2]) + 4).all()  # all of them lay on something at times


def test_accelerations_with_clipped_servos(arm):
    robot, model = arm
    clipped = 0
    for data, q, v, u in states(model):
        step = {"dt": 1e-6, "steps": 1, "integrator": la.ExplicitEuler(), "progress": False}
        active = np.where([isinstance(a, Muscle) for a in robot.actuators], u, 0.0)
        run = la.simulate(robot, q, v, controls=u, activation=active, **step)
        a = (run.v[1] - run.v[0]) / 1e-6
        np.testing.assert_allclose(a, data.qacc, atol=1e-9 * max(1.0, np.abs(data.qacc).max()))
        felt = np.concatenate(list(SensorReader(robot).read(q, v, u).values()))
        np.testing.assert_allclose(felt, data.sensordata, atol=1e-9 * max(1.0, np.abs(data.qacc).max()))
        clipped += int(np.isin(data.actuator_force, (-8.0, -6.0, 5.0, 8.0)).sum())
    assert 2 < clipped < 16


def test_activation_of_muscles():
    rng = np.random.default_rng(1)
    for smooth in (0.0, 0.3):
        for u, a in rng.uniform(-0.2, 1.2, (20, 2)):
            constants = np.array([0.01, 0.04, smooth])
            found = muscle_rate(u, a, *constants)
            assert found[0] == pytest.approx(mujoco.mju_muscleDynamics(u, a, constants), rel=1e-10)
            out = np.zeros((2, 3))
            follow_muscle(u, a, constants, np.array([1e-5, 0.02]), out)
            assert (out[0, 0] - a) / 1e-5 == pytest.approx(found[0], rel=0.02)
            for k, (du, da) in ((1, (0.0, 1e-6)), (2, (1e-6, 0.0))):
                ahead, back = np.zeros((2, 2, 3))
                follow_muscle(u + du, a + da, constants, np.array([1e-5, 0.02]), ahead)
                follow_muscle(u - du, a - da, constants, np.array([1e-5, 0.02]), back)
                assert out[:, k] == pytest.approx((ahead - back)[:, 0] / 2e-6, rel=1e-4, abs=1e-6)


def test_written_and_read_back(arm, tmp_path):
    robot, model = arm
    path = tmp_path / "back.xml"
    b = robot.edit()
    b.tendon("rope", via=[("world", (0, 0, 2)), "c"], limits=(0.0, 0.7), limit_stiffness=30.0, limit_damping=2.0)
    robot = b.build()
    la.formats.save_mjcf(robot, path)
    back = la.load(path)
    assert [t.name for t in back.tendons] == [t.name for t in robot.tendons]
    assert back.tendons[-1].limit_stiffness == 30.0
    assert [a.force_limits for a in back.actuators[4:6]] == [(-6.0, 5.0), (-8.0, 8.0)]
    assert back.actuators[-3:] == robot.actuators[-3:]
    assert [t.force_limits for t in back.tendons] == [t.force_limits for t in robot.tendons]
    assert [b.shapes for b in back.bodies] == [b.shapes for b in robot.bodies]
    for _, q, v, _ in states(model, 3):
        np.testing.assert_allclose(
            la.dynamics.passive_forces(back, q, v), la.dynamics.passive_forces(robot, q, v), atol=1e-12
        )
        lengths = la.kinematics.tendon_lengths(back, q), la.kinematics.tendon_lengths(robot, q)
        np.testing.assert_allclose(*lengths, atol=1e-12)


def test_soft_equalities_and_limits(tmp_path, recwarn):
    """Three joints whose sum is held, one joint that is held, and a string: springs as stiff as MuJoCo's."""
    tendons = f'<tendon><fixed name="sum">{FIXED}</fixed><spatial name="string" limited="true" range="0 0.6">'
    tendons += '<site site="w"/><site site="sc"/></spatial></tendon>'
    held = (
        '<equality><tendon name="tied" tendon1="sum"/><joint name="one" joint1="j2" polycoef="0.2 0 0 0 0"/></equality>'
    )
    path = write(tmp_path, mjcf(BODIES, tendons + held), "soft.xml")
    robot = la.load(path)
    assert not len(recwarn)
    assert not next(t for t in la.load(path, contacts="soft").tendons if t.name == "string").rigid  # `Minimal` needs it
    named = {t.name: t for t in robot.tendons}
    assert named["tied"].rest == pytest.approx((0.2, 0.2))  # coefficient 2 times ref 0.1
    assert named["one"].rest == pytest.approx((0.2, 0.2))
    string = named["string"]
    assert string.upper == 0.6
    assert string.lower == -np.inf
    assert string.rigid
    assert min(string.limit_stiffness, named["tied"].stiffness, named["one"].stiffness) > 0.0


def test_what_is_left_out_is_named(tmp_path):
    """Side sites that do not move with what they are beside of, and gains of other kinds."""
    path = '<site site="w"/><geom geom="ball" sidesite="sc"/><site site="sb"/>'
    motor = '<actuator><general name="m" gaintype="affine" gainprm="1 2 3" joint="j1"/></actuator>'
    text = mjcf(BODIES, f'<tendon><spatial name="round">{path}</spatial></tendon>{motor}')
    with pytest.warns(UserWarning, match="side site on another body: round; actuators whose gain .*: m"):
        la.load(write(tmp_path, text, "round.xml"))
