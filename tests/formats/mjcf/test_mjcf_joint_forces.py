"""Force ranges of MJCF's joints: actuators exert no more than MuJoCo lets them."""

import numpy as np
import pytest

import leastaction as la
from leastaction.formats import load_mjcf, save_mjcf

mujoco = pytest.importorskip("mujoco")

LINK = (
    '<body pos="0 0 -0.3"><joint name="{name}" axis="0 1 0" {range}/>'
    '<geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.02" mass="0.5" contype="0" conaffinity="0"/>{inner}</body>'
)
RANGES = {
    "motor": 'actuatorfrcrange="-1 1"',
    "slow": 'actuatorfrcrange="-0.4 0.3"',
    "servo": 'actuatorfrcrange="-0.5 2"',
    "both": 'actuatorfrcrange="-0.2 0.4"',
    "weak": 'actuatorfrcrange="-50 50"',
    "tendon": 'actuatorfrcrange="-1 1"',
}
ACTUATORS = """<actuator>
  <motor name="motor" joint="motor" gear="-10" ctrllimited="true" ctrlrange="-3 3"/>
  <general name="slow" joint="slow" gear="4" dyntype="filterexact" dynprm="0.05"/>
  <position name="servo" joint="servo" kp="100" kv="3" gear="2"/>
  <position name="hold" joint="both" kp="20" kv="0.2"/> <motor name="push" joint="both" gear="5"/>
  <motor name="weak" joint="weak" gear="2" ctrllimited="true" ctrlrange="-1 1"/>
</actuator>"""


def scene(names, more=""):
    inner = ""
    for name in reversed(names):
        inner = LINK.format(name=name, range=RANGES[name], inner=inner)
    option = '<option timestep="0.001" integrator="RK4"/>'
    return f"<mujoco>{option}<worldbody>{inner}</worldbody>{more}{ACTUATORS if not more else ''}</mujoco>"


@pytest.mark.oracle
def test_what_joints_bear_is_what_mujoco_lets_them(tmp_path):
    text = scene([name for name in RANGES if name != "tendon"])
    path = tmp_path / "scene.xml"
    path.write_text(text)
    robot = load_mjcf(path)
    u = np.array([0.4, 0.5, 0.8, 0.6, -0.1, 1.0])
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.ctrl[:] = u
    for _ in range(150):
        mujoco.mj_step(model, data)
    run = la.simulate(robot, dt=0.001, steps=150, controls=u, integrator=la.Galerkin(order=2))
    assert abs(run.q[-1]).max() > 0.1
    np.testing.assert_allclose(run.q[-1], data.qpos, atol=2e-4)  # steps of order 2, and clipping begins within them
    free = robot.replace(actuators=load_mjcf(_without_ranges(tmp_path, text)).actuators)
    other = la.simulate(free, dt=0.001, steps=150, controls=u, integrator=la.Galerkin(order=2))
    assert abs(other.q[-1] - data.qpos).max() > 0.1  # the ranges do act


def _without_ranges(folder, text):
    for value in RANGES.values():
        text = text.replace(value, "")
    path = folder / "free.xml"
    path.write_text(text)
    return path


def test_what_never_exceeds_a_range_is_as_it_was(tmp_path):
    path = tmp_path / "scene.xml"
    path.write_text(scene([name for name in RANGES if name != "tendon"]))
    robot = load_mjcf(path)
    kinds = {a.name: type(a).__name__ for a in robot.actuators}
    assert list(kinds) == ["motor", "slow", "servo", "hold", "push", "weak"]
    weak, motor = robot.actuators[-1], robot.actuators[0]
    assert (weak.lower, weak.upper) == (-1.0, 1.0)
    assert (motor.lower, motor.upper) == (-0.1, 0.1)
    assert kinds["slow"] == "Servo"
    assert robot.actuators[2].force_limits == (-0.25, 1.0)
    assert [t.force_limits for t in robot.tendons] == [(-0.2, 0.4)]


def test_ranges_that_tendons_may_exceed_are_named(tmp_path):
    tendon = '<tendon><fixed name="pull"><joint joint="tendon" coef="2"/></fixed></tendon>'
    path = tmp_path / "scene.xml"
    path.write_text(scene(["tendon"], tendon + '<actuator><motor tendon="pull"/></actuator>'))
    with pytest.warns(UserWarning, match="force ranges of joints that tendons drive: tendon"):
        load_mjcf(path)


def test_files_do_not_clip_motors_that_effort_limits_do_not(tmp_path):
    """An effort limit only tells; MuJoCo's range acts. So it is written where both are the same."""
    b = la.MechanismBuilder("arm")
    for name in ("strong", "weak"):
        b.body(name, mass=1.0, inertia=0.1)
        b.revolute(name, "world" if name == "strong" else "strong", name, axis="y", effort_limit=5.0)
    b.actuator("strong", "strong", gear=10.0)
    b.actuator("weak", "weak", gear=10.0, limits=(-0.5, 0.5))
    robot = b.build()
    save_mjcf(robot, tmp_path / "arm.xml")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "arm.xml"))
    assert model.jnt_actfrclimited.tolist() == [0, 1]
    assert load_mjcf(tmp_path / "arm.xml").actuators == robot.actuators
    assert [j.effort_limit for j in load_mjcf(tmp_path / "arm.xml").joints] == [(5.0,), (5.0,)]
