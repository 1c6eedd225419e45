"""Sensors that are read from MJCF tell what MuJoCo's own do, in free motion and at rest."""

import numpy as np
import pytest

import leastaction as la
from tests.formats.models import mjcf, write

mujoco = pytest.importorskip("mujoco")

pytestmark = pytest.mark.oracle

SENSORS = """<sensor>
  <jointpos name="angle" joint="elbow"/> <jointvel name="rate" joint="elbow" cutoff="0.2"/>
  <jointactuatorfrc name="motor" joint="elbow"/> <jointactuatorfrc name="servo" joint="finger"/>
  <gyro name="gyro" site="imu"/> <accelerometer name="accel" site="imu"/> <velocimeter name="velo" site="imu"/>
  <force name="force" site="wrist"/> <torque name="torque" site="wrist"/>
  <force name="welded force" site="plate"/> <torque name="welded torque" site="plate"/>
  <framepos name="place" objtype="site" objname="imu"/> <framequat name="turn" objtype="xbody" objname="hand"/>
  <framepos name="seen" objtype="body" objname="hand" reftype="site" refname="imu"/>
  <framequat name="turn seen" objtype="body" objname="hand" reftype="site" refname="imu"/>
  <framelinvel name="speed" objtype="site" objname="wrist"/> <frameangvel name="spin" objtype="body" objname="arm"/>
  <framelinvel name="speed seen" objtype="site" objname="wrist" reftype="site" refname="imu"/>
  <frameangvel name="spin seen" objtype="site" objname="wrist" reftype="site" refname="imu"/>
  <subtreecom name="com" body="arm"/> <rangefinder name="range" site="eye"/>
</sensor>"""

FLIER = mjcf(
    '<geom name="floor" type="plane" size="5 5 0.1" pos="0 0 -3"/>'
    '<geom name="pillar" type="cylinder" size="0.3 2" pos="1.5 0.2 0"/>'
    '<body name="base" pos="0 0 1"><freejoint name="flight"/><geom type="box" size="0.2 0.15 0.1" mass="3"/>'
    '<site name="imu" pos="0.1 0.05 0.02" euler="20 -30 40"/><site name="eye" pos="0 0 -0.1" euler="170 10 0"/>'
    '<body name="arm" pos="0.2 0 0"><joint name="elbow" axis="0 1 0.2" damping="0.3" armature="0.05"/>'
    '<geom type="capsule" size="0.04" fromto="0 0 0 0.5 0 0" mass="1"/>'
    '<site name="wrist" pos="0.1 0 0.03" euler="5 6 7"/>'
    '<body name="plate" pos="0.3 0 0.05"><geom type="box" size="0.05 0.1 0.02" mass="0.4"/><site name="plate"/>'
    '<body name="hand" pos="0.2 0 0"><joint name="finger" axis="0 0 1" stiffness="2"/>'
    '<geom type="ellipsoid" size="0.1 0.04 0.06" pos="0.05 0 0" euler="0 0 30" mass="0.5" contype="0" conaffinity="0"/>'
    "</body></body></body></body>",
    '<actuator><motor joint="elbow"/><position joint="finger" kp="3" kv="0.1"/></actuator>' + SENSORS,
)


def peer(path):
    model = mujoco.MjModel.from_xml_path(str(path))
    return model, mujoco.MjData(model)


def told(model, data, name):
    return data.sensor(name).data


@pytest.mark.filterwarnings("ignore::leastaction.errors.LeastActionWarning")
def test_in_free_motion_with_controls(tmp_path):
    path = write(tmp_path, FLIER, "flier.xml")
    robot, (model, data) = la.load(path), peer(path)
    assert [s.name for s in robot.sensors] == [model.sensor(k).name for k in range(model.nsensor)]
    u = np.array([0.4, -0.3])
    rng = np.random.default_rng(2)
    q, v = robot.home(), rng.normal(size=robot.nv)
    run = la.simulate(robot, q, v, dt=0.01, steps=20, controls=u, integrator=la.Galerkin(order=4))
    sim = la.Simulator(robot, la.Galerkin(order=4), 0.01)
    sim.reset(q, v)
    for _ in range(20):
        sim.step(u)
    for k in (0, 7, 20):
        at, rate = run.q[k], run.v[k]
        R = np.zeros(9)
        mujoco.mju_quat2Mat(R, at[3:7])
        # MuJoCo has the velocity of a free joint in the world, linear first.
        data.qpos[:] = at
        data.qvel[:] = np.concatenate([R.reshape(3, 3) @ rate[3:6], rate[:3], rate[6:]])
        data.ctrl[:] = u
        mujoco.mj_forward(model, data)
        for sensor in robot.sensors:
            mine, its = run.sensors[sensor.name][k], told(model, data, sensor.name)
            assert mine.shape == (sensor.size,)
            if sensor.kind == "orientation":
                its = its * np.sign(its @ mine)
            assert np.allclose(mine, its, rtol=1e-6, atol=1e-6), (sensor.name, k, mine, its)
    assert all(np.allclose(sim.sensors[name], values[-1], atol=1e-9) for name, values in run.sensors.items())


STANDING = mjcf(
    '<geom name="floor" type="plane" size="5 5 0.1"/>'
    '<body name="base" pos="0 0 0.3"><freejoint/><geom type="box" size="0.3 0.2 0.05" mass="4"/>'
    '<site name="imu"/><site name="left" type="box" size="0.2 0.5 0.5" pos="-0.25 0 -0.2"/>'
    '<geom name="leg1" type="sphere" size="0.05" pos="0.25 0.15 -0.25"/>'
    '<geom name="leg2" type="sphere" size="0.05" pos="0.25 -0.15 -0.25"/>'
    '<geom name="leg3" type="sphere" size="0.05" pos="-0.25 0 -0.25"/>'
    '<body name="mast" pos="0 0 0.05"><geom type="capsule" size="0.02" fromto="0 0 0 0 0 0.4" mass="0.7"/>'
    '<site name="foot of the mast"/></body></body>',
    '<sensor><accelerometer name="accel" site="imu"/><gyro name="gyro" site="imu"/><touch name="touch" site="left"/>'
    '<force name="force" site="foot of the mast"/><torque name="torque" site="foot of the mast"/></sensor>',
    before='<option timestep="0.002"/>',
)


@pytest.mark.filterwarnings("ignore::leastaction.errors.LeastActionWarning")
@pytest.mark.parametrize("integrator", [la.Maximal(), la.Grounded()], ids=["maximal", "grounded"])
def test_at_rest_on_the_ground(tmp_path, integrator):
    path = write(tmp_path, STANDING, "standing.xml")
    robot, (model, data) = la.load(path), peer(path)
    run = la.simulate(robot, dt=0.01, steps=20, integrator=integrator)
    for _ in range(3000):
        mujoco.mj_step(model, data)
    mujoco.mj_forward(model, data)
    for sensor in robot.sensors:
        mine, its = run.sensors[sensor.name][-1], told(model, data, sensor.name)
        # MuJoCo's soft contacts sink, and tilt the robot by some 1e-5 rad.
        assert np.allclose(mine, its, rtol=1e-4, atol=2e-3), (sensor.name, mine, its)
    assert np.allclose(run.sensors["accel"][-1], [0.0, 0.0, 9.81], atol=1e-6)
    assert np.abs(run.sensors["gyro"][-1]).max() < 1e-6
    assert np.allclose(run.sensors["force"][-1], [0.0, 0.0, 0.7 * 9.81], atol=1e-6)
