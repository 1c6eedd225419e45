"""Identification of a model from logs that MuJoCo made with another one."""

import numpy as np
import pytest

import leastaction as la
from leastaction.identification.parameter_charts import Chart

pytestmark = pytest.mark.oracle
mujoco = pytest.importorskip("mujoco")

MODEL = """
<mujoco model="arm">
  <option timestep="0.0001" integrator="implicitfast"/>
  <worldbody>
    <body name="upper">
      <joint name="shoulder" axis="0 1 0" damping="{d1}" armature="0.02"/>
      <inertial mass="2" pos="0 0 -0.2" diaginertia="0.02 0.02 0.004"/>
      <body name="fore" pos="0 0 -0.4">
        <joint name="elbow" axis="1 0 0" damping="{d2}" armature="0.01"/>
        <inertial mass="{m}" pos="{x} 0.01 {z}" fullinertia="0.012 0.010 0.003 0 {xz} 0"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor joint="shoulder" gear="{g}"/>
    <motor joint="elbow" gear="2"/>
  </actuator>
</mujoco>
"""
FIRST = {"d1": 0.2, "d2": 0.1, "m": 1.0, "x": 0.0, "z": -0.15, "xz": 0.0, "g": 4.0}
TRUE = {"d1": 0.35, "d2": 0.06, "m": 1.3, "x": 0.03, "z": -0.18, "xz": 0.001, "g": 3.6}
EVERY = 50
"""Steps of MuJoCo for each state of a log: its velocities are half a step behind its positions, which shows at 1 ms."""


def logged(robot, seed, steps=160):
    """A log of MuJoCo's motion with noise, whose controls are held over 5 ms."""
    model = mujoco.MjModel.from_xml_string(MODEL.format(**TRUE))
    data, rng = mujoco.MjData(model), np.random.default_rng(seed)
    data.qpos[:] = rng.uniform(-0.5, 0.5, 2)
    t = 0.005 * np.arange(steps)
    phases, speeds = rng.uniform(0.0, 6.0, (2, 3)), np.array([3.0, 7.0, 12.0])
    u = np.sin(t[:, None, None] * speeds + phases).sum(axis=2) * [1.0, 0.5]
    rows = [(data.qpos.copy(), data.qvel.copy())]
    for row in u:
        data.ctrl[:] = row
        mujoco.mj_step(model, data, EVERY)
        rows.append((data.qpos.copy(), data.qvel.copy()))
    q, v = (np.array(x) for x in zip(*rows, strict=True))
    q, v = q + 2e-4 * rng.normal(size=q.shape), v + 2e-3 * rng.normal(size=v.shape)
    return la.Trajectory.from_states(robot, q, v, dt=0.005, u=u)


@pytest.fixture(scope="module")
def robot():
    return la.load_string(MODEL.format(**FIRST))


@pytest.fixture(scope="module")
def found(robot):
    names = ["body:fore", "damping:shoulder", "damping:elbow", f"gear:{robot.actuators[0].name}"]
    logs = [logged(robot, seed, steps=80) for seed in (0, 1)]
    return la.identify(robot, logs, names, integrator=la.Galerkin(order=2))


def test_what_is_determined_is_the_other_model(robot, found):
    """Within four standard deviations, and a share of 2e-3 for errors of order 1 of the integrator there."""
    true = la.load_string(MODEL.format(**TRUE))
    known = [label for label in found.labels if label not in found.undetermined]
    assert {"mass:fore", "damping:shoulder", "damping:elbow", "com:fore[x]", "com:fore[z]"} <= set(known)
    values = dict(zip(found.labels, found.chart.entries(found.x), strict=True))
    sizes = dict(zip(found.labels, found.chart.sizes(found.x), strict=True))
    sigma = dict(zip(found.labels, np.sqrt(np.diag(found.covariance)), strict=True))
    chart = Chart(true, found.chart.names)
    expected = dict(zip(found.labels, chart.entries(chart.start), strict=True))
    for label in known:
        assert abs(values[label] - expected[label]) <= 4.0 * sigma[label] + 2e-3 * sizes[label], label


def test_it_predicts_motions_that_were_not_fitted(robot, found):
    """A third log: over an eighth of a second down to the noise, as one piece of 0.8 s far nearer than before."""
    log = logged(robot, 2)
    assert found.validate(log)["q"] == pytest.approx(2e-4, rel=0.5)
    errors = found.validate(log, segment=None)
    assert (errors["q_before"] > 20.0 * errors["q"]).all()


def test_the_true_model_is_found_whatever_is_named(robot, found):
    """What is not determined does not act on the motion: the identified robot and the true one move alike."""
    true = la.load_string(MODEL.format(**TRUE))
    options = {"q": [0.4, -0.3], "dt": 0.005, "steps": 100, "integrator": la.Galerkin(order=2), "progress": False}
    runs = [la.simulate(x, **options) for x in (true, found.robot, robot)]
    off = [np.abs(run.q - runs[0].q).max() for run in runs]
    assert off[1] < 2e-3
    assert off[2] > 20.0 * off[1]
