"""Servos and activations that are read from MJCF act as MuJoCo's own do."""

import numpy as np
import pytest

import leastaction as la
from leastaction.actuation.actuation import Actuation
from tests.formats.models import mjcf, write

mujoco = pytest.importorskip("mujoco")

pytestmark = pytest.mark.oracle

ARM = mjcf(
    '<body name="a" pos="0 0 1"><joint name="j1" axis="0 1 0" damping="0.1" stiffness="2" springref="10"/>'
    '<geom type="capsule" size="0.03" fromto="0 0 0 0 0 -0.5" mass="1"/>'
    '<body name="b" pos="0 0 -0.5"><joint name="j2" axis="0 1 0"/>'
    '<geom type="capsule" size="0.03" fromto="0 0 0 0 0 -0.4" mass="0.7"/>'
    '<body name="c" pos="0 0 -0.4"><joint name="j3" type="slide" axis="0 0 1" ref="0.1"/>'
    '<geom type="sphere" size="0.05" mass="0.3"/>'
    '<body name="d" pos="0 0 -0.1"><joint name="j4" axis="1 0 0" armature="0.01"/>'
    '<geom type="capsule" size="0.02" fromto="0 0 0 0 0 -0.3" mass="0.2"/>'
    '<body name="e" pos="0 0 -0.3"><joint name="j5" axis="1 0 0"/>'
    '<geom type="capsule" size="0.02" fromto="0 0 0 0 0.2 0" mass="0.2"/></body></body></body></body></body>',
    '<actuator><position name="p" joint="j1" kp="200" kv="10" gear="1.5" ctrlrange="-0.4 0.4"/>'
    '<velocity name="v" joint="j2" kv="3" gear="2"/>'
    '<general name="g" joint="j3" gainprm="300" biastype="affine" biasprm="30 -250 -20" dyntype="filterexact" '
    'dynprm="0.05"/>'
    '<intvelocity name="i" joint="j4" kp="40" kv="2" actrange="-0.3 0.5"/>'
    '<motor name="m" joint="j5" gear="0.7" ctrlrange="-1 1"/></actuator>',
    before='<option integrator="implicit"><flag contact="disable"/></option>',
)
U = np.array([0.8, 1.0, 0.2, 0.6, 0.3])


@pytest.fixture
def arm(tmp_path, recwarn):
    path = write(tmp_path, ARM, "arm.xml")
    robot = la.load(path)
    assert not len(recwarn)  # nothing is left out
    return robot, mujoco.MjModel.from_xml_path(str(path))


def test_accelerations_at_random_states(arm):
    robot, model = arm
    data, rng = mujoco.MjData(model), np.random.default_rng(1)
    for _ in range(5):
        data.qpos[:], data.qvel[:], data.act[:] = rng.normal(size=5), rng.normal(size=5), rng.normal(size=2)
        data.ctrl[:] = rng.normal(size=5)
        mujoco.mj_forward(model, data)
        acting = Actuation(robot, 1.0, (0.0,)).clipped(data.ctrl.copy())
        acting[2:4] = data.act[0], data.act[1]
        q, v = data.qpos.copy(), data.qvel.copy()
        tau = robot.generalized_forces(acting, q) + la.dynamics.passive_forces(robot, q, v)
        assert np.allclose(la.dynamics.forward_dynamics(robot, q, v, tau), data.qacc, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("integrator", [la.Galerkin(order=4), la.Maximal()], ids=["galerkin", "maximal"])
def test_a_run_is_the_limit_of_its_implicit_steps(arm, integrator):
    robot, model = arm
    ends = []
    for dt in (2e-4, 1e-4):
        model.opt.timestep, data = dt, mujoco.MjData(model)
        data.ctrl[:] = U
        for _ in range(round(0.5 / dt)):
            mujoco.mj_step(model, data)
        ends.append(np.concatenate([data.qpos, data.act]))
    limit = 2.0 * ends[1] - ends[0]  # MuJoCo's steps are of first order
    run = la.simulate(robot, dt=0.002, duration=0.5, integrator=integrator, controls=U)
    assert np.abs(run.q[-1] - limit[:5]).max() < 1e-4
    assert np.abs(run.stored["activation"][-1, 2:4] - limit[5:]).max() < 1e-8


def test_servos_of_ball_joints(tmp_path, recwarn):
    """Accelerations of two balls, the servos of one of which are together a spring; others are named."""
    text = mjcf(
        '<body name="a" pos="0 0 1"><joint name="j1" type="ball" damping="0.01"/>'
        '<geom type="capsule" size="0.1" fromto="0 0 0 0.1 0.2 -0.5" mass="1"/>'
        '<body name="b" pos="0.1 0.2 -0.5"><joint name="j2" type="ball" stiffness="3"/>'
        '<geom type="box" size="0.1 0.2 0.1" pos="0 0.1 -0.1" mass="1"/></body></body>',
        '<actuator><position name="x" joint="j1" kp="20" kv="1" gear="1 0 0"/>'
        '<position name="y" joint="j1" kp="5" kv="0.2" gear="0 2 0"/>'
        '<general name="z" joint="j1" gainprm="15" biastype="affine" biasprm="0 -20 -0.5" gear="0 0 1" '
        'dyntype="filterexact" dynprm="0.05"/><velocity name="v" joint="j2" kv="0.5" gear="0 0 1.5"/></actuator>',
        before='<option><flag contact="disable"/></option>',
    )
    path = write(tmp_path, text, "balls.xml")
    robot, model = la.load(path), mujoco.MjModel.from_xml_path(str(path))
    assert not len(recwarn)
    data, rng = mujoco.MjData(model), np.random.default_rng(2)
    for _ in range(4):
        q, v, u = robot.integrate(robot.neutral(), rng.normal(size=6)), rng.normal(size=6), rng.normal(size=4)
        data.qpos[:], data.qvel[:], data.ctrl[:], data.act[:] = q, v, u, u[2]
        mujoco.mj_forward(model, data)
        tau = robot.generalized_forces(u, q) + la.dynamics.passive_forces(robot, q, v)
        assert np.allclose(la.dynamics.forward_dynamics(robot, q, v, tau), data.qacc, rtol=1e-9, atol=1e-9)
    la.formats.save_mjcf(robot, tmp_path / "again.xml")
    assert la.load(tmp_path / "again.xml").actuators == robot.actuators
    path = write(tmp_path, text.replace('kp="20"', 'kp="21"'), "uneven.xml")
    with pytest.warns(match=r"servos of balls with .* gains about another axis: x, y, z"):
        assert [a.name for a in la.load(path).actuators] == ["v"]
