"""Drive inertia (armature) and motors of ball and free joints in files: MuJoCo's accelerations and motion, and back."""

import numpy as np
import pytest

import leastaction as la
from tests.formats.models import mjcf, write

mujoco = pytest.importorskip("mujoco")

pytestmark = pytest.mark.oracle

TREE = (
    '<body name="a" pos="0 0 1"><joint name="root" type="free"/><geom type="box" size=".1 .15 .2" mass="2"/>'
    '<body name="b" pos="0 0 -.2"><joint name="ball" type="ball" armature=".05"/>'
    '<geom type="capsule" fromto="0 0 0 .1 0 -.3" size=".04" mass=".5"/>'
    '<body name="c" pos=".1 0 -.3"><joint name="hinge" axis="0 1 0"/>'
    '<geom type="capsule" fromto="0 0 0 .1 .05 -.2" size=".03" mass=".3"/></body></body></body>'
    '<body name="d" pos="1 0 1"><joint name="socket" type="ball"/><geom type="box" size=".1 .2 .3" mass="1"/></body>'
)
MOTORS = (
    '<actuator><motor name="turn" joint="root" gear="0 0 0 1 -2 .5"/><motor name="wrist" joint="ball" gear="0 0 2"/>'
    '<motor name="oblique" joint="socket" gear="1 2 3"/></actuator>'
)
BEFORE = '<default><joint armature=".03"/></default><option><flag contact="disable"/></option>'


@pytest.fixture
def robot_and_model(tmp_path, recwarn):
    path = write(tmp_path, mjcf(TREE, MOTORS, before=BEFORE), "drives.xml")
    robot, model = la.load(path), mujoco.MjModel.from_xml_path(str(path))
    assert not len(recwarn)
    return robot, model


def native(robot, q, v):
    """q and v as MuJoCo has them: the velocity of a free joint comes first, in the world's directions."""
    turn = la.dynamics.body_poses(robot, q)[0, :3, :3]
    return q, np.concatenate([turn @ v[3:6], v[:3], v[6:]])


def test_accelerations_are_mujocos(robot_and_model):
    robot, model = robot_and_model
    data, rng = mujoco.MjData(model), np.random.default_rng(2)
    assert [a.name for a in robot.actuators] == ["turn", "wrist", "oblique"]
    for _ in range(4):
        q, v = robot.integrate(robot.neutral(), rng.normal(size=robot.nv)), rng.normal(size=robot.nv)
        u = rng.normal(size=robot.nu)
        data.qpos[:], data.qvel[:] = native(robot, q, v)
        data.ctrl[:] = u
        mujoco.mj_forward(model, data)
        a = la.dynamics.forward_dynamics(robot, q, v, robot.generalized_forces(u, q))
        # The velocity of the free joint in the child's frame turns with it.
        turn = la.dynamics.body_poses(robot, q)[0, :3, :3]
        linear = turn @ (a[3:6] + np.cross(v[:3], v[3:6]))
        np.testing.assert_allclose(np.concatenate([linear, a[:3], a[6:]]), data.qacc, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("integrator", [la.Maximal(), la.Grounded(), la.BDF(order=2)], ids=lambda x: type(x).__name__)
def test_motions_are_mujocos(robot_and_model, integrator):
    """A fine run of MuJoCo's, extrapolated: its steps are of first order."""
    robot, model = robot_and_model
    rng, u, ends = np.random.default_rng(5), np.array([0.05, 0.02, 0.1]), []
    q, v = robot.integrate(robot.neutral(), 0.3 * rng.normal(size=robot.nv)), rng.normal(size=robot.nv)
    for dt in (2e-4, 1e-4):
        model.opt.timestep, data = dt, mujoco.MjData(model)
        data.qpos[:], data.qvel[:] = native(robot, q, v)
        data.ctrl[:] = u
        for _ in range(round(0.3 / dt)):
            mujoco.mj_step(model, data)
        ends.append(data.qpos.copy())
    run = la.simulate(robot, q, v, dt=0.002, duration=0.3, integrator=integrator, controls=u)
    assert np.abs(robot.difference(2.0 * ends[1] - ends[0], run.q[-1])).max() < 1e-4


def test_they_are_written_and_read_again(robot_and_model, tmp_path):
    robot, _ = robot_and_model
    la.formats.save_mjcf(robot, tmp_path / "again.xml")
    again = la.load(tmp_path / "again.xml")
    la.formats.save_urdf(robot.replace(actuators=()), tmp_path / "again.urdf")
    for other in (again, la.load(tmp_path / "again.urdf")):
        assert [joint.armature for joint in other.joints] == [joint.armature for joint in robot.joints]
    q = robot.integrate(robot.neutral(), np.linspace(-1.0, 1.0, robot.nv))
    np.testing.assert_allclose(
        again.generalized_forces([1.0, 2.0, 3.0], q), robot.generalized_forces([1.0, 2.0, 3.0], q)
    )


def test_actuators_of_groups_that_are_switched_off_are_left_out(tmp_path):
    """MuJoCo gives them no force, whatever their control."""
    motors = '<actuator><motor name="on" joint="hinge"/><motor name="off" joint="hinge" group="1" gear="5"/></actuator>'
    path = write(tmp_path, mjcf(TREE, motors, before='<option actuatorgroupdisable="1"/>'), "groups.xml")
    with pytest.warns(UserWarning, match=r"switched off \(actuatorgroupdisable\): off"):
        robot = la.load(path)
    assert [actuator.name for actuator in robot.actuators] == ["on"]
