"""What new users typed wrongly, and the line that helps them."""

import dataclasses
import math

import numpy as np
import pytest

import leastaction as la
from tests.formats.models import arm, write

REVOLUTE = la.robots.pendulum()


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: la.load(None), la.FormatError, "load needs the path of a file, got None"),
        (lambda: la.load(3), la.FormatError, "load needs the path"),
        (lambda: la.robots.get(3), la.MechanismError, "unknown robot 3; expected a name such as 'pendulum'"),
        (lambda: la.robots.get(["pendulum"]), la.MechanismError, "unknown robot"),
        (lambda: la.robots.get("double-pendulum"), la.MechanismError, "did you mean 'double_pendulum'"),
        (lambda: la.robots.get("ATLAS"), la.MechanismError, "did you mean 'atlas'"),
        (lambda: la.robots.get("pendulum", lnks=3), la.MechanismError, "no parameter 'lnks'; did you mean 'links'"),
        (lambda: la.robots.home(3), la.MechanismError, "home needs a robot"),
        (lambda: la.RungeKutta(order="4"), la.IntegratorError, "order must be 1, 2 or 4, got '4'"),
        (lambda: la.RungeKutta(order=4.0), la.IntegratorError, "order must be 1, 2 or 4, got 4.0"),
        (lambda: la.Galerkin(order="4"), la.IntegratorError, "order must be 2, 4, 6"),
        (lambda: la.DOP853(rtol="small"), la.IntegratorError, "rtol must be between 0 and 1"),
        (lambda: REVOLUTE.body_index("lnk1"), la.MechanismError, "did you mean 'link1'"),
        (lambda: REVOLUTE.body_index(["link1"]), la.MechanismError, "unknown body"),
        (lambda: REVOLUTE.joint("jont1"), la.MechanismError, "did you mean 'joint1'"),
        (lambda: REVOLUTE.joint("x"), la.MechanismError, "there are 'joint1'"),
        (lambda: REVOLUTE.coordinate_index("jnt1"), la.MechanismError, "did you mean 'joint1'"),
        (lambda: REVOLUTE.velocity_index(0), la.MechanismError, "expected a name such as 'joint1'"),
        (lambda: REVOLUTE.replace(gravty=(0, 0, 0)), la.MechanismError, "did you mean 'gravity'"),
        (lambda: REVOLUTE.integrate("q", [0.0]), la.MechanismError, "q: expected 1 numbers"),
        (lambda: la.dynamics.body_jacobian(REVOLUTE, [0.0], "lnk1"), la.MechanismError, "did you mean 'link1'"),
    ],
)
def test_typed_errors_with_help(call, error, says):
    with pytest.raises(error, match=says):
        call()


def test_unknown_bodies_of_joints():
    b = la.MechanismBuilder("arm")
    b.body("upper", mass=1.0, inertia=1.0)
    b.revolute("shoulder", "world", "uper")
    with pytest.raises(la.MechanismError, match="unknown child body 'uper'; did you mean 'upper'"):
        b.build()


def test_unknown_coordinates_of_couplings():
    b = la.robots.pendulum(links=2).edit()
    b.coupling("gears", "joint2", "jiont1", ratio=2.0)
    with pytest.raises(la.MechanismError, match="unknown coordinate 'jiont1'; did you mean 'joint1'"):
        b.build()


def test_unknown_options_of_a_file(tmp_path):
    with pytest.raises(la.FormatError, match="load_urdf has no option 'floating'; did you mean 'floating_base'"):
        la.load(write(tmp_path, arm()), floating=True)


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"controls": lambda: [0.0]}, r"controls must be a function that can be called as controls\(t\)"),
        ({"controls": lambda t, q: [0.0]}, r"controls\(t\): missing a required argument: 'q'"),
        ({"controller": lambda t: [0.0]}, r"controller\(t, q, v\): too many positional arguments"),
        ({"controller": lambda *, t, q, v: [0.0]}, r"controller\(t, q, v\)"),
        ({"controller": 3}, "controller must be"),
    ],
)
def test_callables_with_the_wrong_signature(how, says):
    with pytest.raises(la.IntegratorError, match=says):
        la.simulate(REVOLUTE, steps=1, **how)


def test_errors_inside_a_controller_stay_their_own():
    def controller(t, q, v):
        return q + "fast"

    with pytest.raises(TypeError, match=r"str|ufunc"):
        la.simulate(REVOLUTE, steps=1, controller=controller)


def test_callables_that_take_more_if_asked():
    for function in (lambda t, q, v, gain=2.0: -gain * v, lambda *state: [0.0], np.vectorize(lambda t, q, v: -v)):
        assert la.simulate(REVOLUTE, q=[0.1], steps=2, controller=function).steps == 2
    assert la.simulate(REVOLUTE, steps=2, controls=math.sin).steps == 2


def test_a_momentum_that_opens_loops_is_not_called_v():
    robot = la.robots.four_bar()
    with pytest.raises(la.MechanismError, match="velocity opens the loops") as caught:
        la.simulate(robot, p=[1.0, 2.0, 3.0], steps=1)
    assert not str(caught.value).startswith("v:")


def test_a_run_remembers_its_integrator(tmp_path):
    integrator = la.Galerkin(order=4, tolerance=1e-11)
    run = la.simulate(REVOLUTE, q=[0.3], steps=3, integrator=integrator)
    path = run.save(tmp_path / "run")
    assert path == tmp_path / "run.npz"
    for name in ("run", "run.npz"):  # what `save` takes, `load` takes
        again = la.Trajectory.load(tmp_path / name)
        assert again.integrator == integrator
    gradient = la.derivatives.backpropagate(again, np.zeros((4, 1)), np.ones((4, 1)))
    assert np.isfinite(gradient[0]).all()


@pytest.mark.parametrize("path", [None, 3])
def test_paths_of_runs(path):
    run = la.simulate(REVOLUTE, steps=1)
    with pytest.raises(la.FormatError, match="expected the path"):
        run.save(path)
    with pytest.raises(la.FormatError, match="expected the path"):
        la.Trajectory.load(path)


def test_dir_shows_public_names_only():
    names = [name for name in dir(la) if not name.startswith("__")]
    assert names == sorted(la.__all__)


def test_reports_of_benchmarks_keep_units():
    import io

    from rich.console import Console

    from benchmarks.report import Report, Requirement, Sheet

    console = Console(file=io.StringIO(), width=120)
    sheet = Sheet("error [rad]", ["method", "time [s]"], [["with [x]", 1.0]])
    Report("angle [rad]", "in [rad]", [sheet], [Requirement("drift [J]", 1.0, 2.0)]).show(console)
    text = console.file.getvalue()
    for unit in ("angle [rad]", "in [rad]", "error [rad]", "time [s]", "with [x]", "drift [J]"):
        assert unit in text


def test_a_name_in_another_spelling_is_suggested():
    for module, wrong, right in [
        (la, "Runge_Kutta", "RungeKutta"),
        (la, "maximal_", "maximal"),
        (la.robots, "cartpole", "cart_pole"),
        (la.robots, "DoublePendulum", "double_pendulum"),
    ]:
        with pytest.raises(AttributeError, match=f"did you mean '{right}'"):
            getattr(module, wrong)
    with pytest.raises(AttributeError, match=r"has no attribute '_nothing'$"):
        getattr(la.robots, "_nothing")  # noqa: B009
    for text, right in [("rk4", r"leastaction.RungeKutta\(order=4\)"), ("maximal", r"leastaction.Maximal\(order=2\)")]:
        with pytest.raises(la.IntegratorError, match=f"write {right}"):
            la.simulate(REVOLUTE, steps=1, integrator=text)
    with pytest.raises(la.IntegratorError, match="did you mean 'galerkin'"):
        la.simulate(REVOLUTE, steps=1, integrator="galerkn")


def test_a_mechanism_says_how_to_change_it():
    with pytest.raises(dataclasses.FrozenInstanceError, match=r"robot.replace\(gravity=...\).*robot.edit\(\)"):
        REVOLUTE.gravity = (0.0, 0.0, 0.0)
    with pytest.raises(AttributeError, match=r"robot.replace\(...\)"):
        REVOLUTE.colour = "red"


def test_durations_that_are_no_whole_number_of_steps_are_reported(recwarn):
    for duration, dt in [(1.0, 0.01), (0.3, 0.1), (10.0, 1e-3), (0.7, 0.07)]:
        la.simulate(REVOLUTE, dt=dt, duration=duration, integrator=la.RungeKutta())
    assert not recwarn.list
    with pytest.warns(la.LeastActionWarning, match="the run ends at 0.99 s, after 33 steps"):
        run = la.simulate(REVOLUTE, dt=0.03, duration=1.0, integrator=la.RungeKutta())
    assert run.t[-1] == pytest.approx(0.99)


def test_degrees_are_suspected_where_they_would_be_within_the_limits():
    b = REVOLUTE.edit()
    robot = b.build()
    joint = dataclasses.replace(robot.joints[0], lower=(-1.6,), upper=(1.6,))
    robot = robot.replace(joints=(joint,))
    with pytest.warns(la.LeastActionWarning, match="radians, and 45 degrees would be within the limits"):
        la.simulate(robot, [45.0], steps=1, integrator=la.Maximal())
    with pytest.warns(la.LeastActionWarning, match="beyond the limits") as said:
        la.simulate(robot, [2.0], steps=1, integrator=la.Maximal())
    assert not any("degrees" in str(w.message) for w in said)


def test_a_revolute_joint_of_urdf_without_a_limit_is_reported(tmp_path):
    path = write(tmp_path, arm(kind="revolute"))
    with pytest.warns(UserWarning, match="needs a <limit>, which move freely: hinge"):
        la.load(path)


@pytest.mark.parametrize(
    ("low", "high", "said"), [(-90, 90, True), (0, 180, True), (-6.28, 6.28, False), (-100, 100, False)]
)
def test_limits_of_urdf_in_degrees_are_suspected(low, high, said, recwarn):
    la.load_string(f"""<robot name="r"><link name="base"/>
        <link name="arm"><inertial><mass value="1"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="hinge" type="revolute"><parent link="base"/><child link="arm"/>
        <limit lower="{low}" upper="{high}" effort="1" velocity="1"/></joint></robot>""")
    words = [str(w.message) for w in recwarn if issubclass(w.category, la.LeastActionWarning)]
    assert any("'hinge'" in w and "radians" in w for w in words) == said


def test_what_is_omitted_of_a_file_is_a_warning_of_the_package():
    with pytest.warns(la.LeastActionWarning, match="needs a <limit>, which move freely: hinge"):
        la.load_string("""<robot name="r"><link name="base"/>
            <link name="arm"><inertial><mass value="1"/>
            <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
            <joint name="hinge" type="revolute"><parent link="base"/><child link="arm"/></joint></robot>""")


def test_a_start_beyond_limits_is_reported_with_its_unit():
    b = la.MechanismBuilder("two")
    b.body("a", mass=1.0, inertia=0.1)
    b.revolute("turn", "world", "a", limits=(-1.0, 1.0))
    b.body("b", mass=1.0, inertia=0.1)
    b.prismatic("slide", "world", "b", limits=(-1.0, 1.0))
    with pytest.warns(la.LeastActionWarning, match=r"'turn' by 1 rad, 'slide' by 0.5 m; the run starts"):
        la.simulate(b.build(), [2.0, -1.5], dt=0.01, steps=1, integrator=la.Minimal())


def test_runs_from_states_of_others(tmp_path):
    robot = la.robots.double_pendulum()
    made = la.simulate(robot, [1.0, 0.5], dt=0.01, steps=20, controls=[0.1, 0.2], integrator=la.Galerkin(order=4))
    run = la.Trajectory.from_states(robot, made.q, made.v, dt=0.01, u=np.tile([0.1, 0.2], (20, 1)))
    assert np.allclose(run.energy, made.energy)
    assert np.allclose(run.t, made.t)
    again = la.Trajectory.load(run.save(tmp_path / "run"))
    assert np.array_equal(again.q, made.q)
    assert la.Trajectory.from_states(robot, made.q, made.v, t=made.t + 2.0).t[0] == 2.0
    for options, message in [
        ({}, "either dt"),
        ({"dt": 0.01, "t": made.t}, "either dt"),
        ({"dt": -1.0}, "dt"),
        ({"t": made.t[::-1]}, "times must grow"),
        ({"dt": 0.01, "u": np.zeros((3, 2))}, "u: expected shape"),
    ]:
        with pytest.raises(la.MechanismError, match=message):
            la.Trajectory.from_states(robot, made.q, made.v, **options)
    with pytest.raises(la.MechanismError, match="v: expected shape"):
        la.Trajectory.from_states(robot, made.q, made.v[:-1], dt=0.01)
    with pytest.raises(la.MechanismError, match="not finite"):
        la.Trajectory.from_states(robot, made.q, np.full_like(made.v, np.nan), dt=0.01)


@pytest.mark.parametrize("integrator", [la.Galerkin(order=4), la.Maximal()])
def test_poses_of_runs_are_those_of_states(integrator):
    robot = la.robots.double_pendulum()
    run = la.simulate(robot, [1.0, 0.5], [0.3, -0.2], dt=0.01, steps=5, integrator=integrator)
    for k in range(6):
        assert np.allclose(run.body_poses[k], la.dynamics.body_poses(robot, run.q[k]), atol=1e-9)
        assert np.allclose(run.body_twists[k], la.dynamics.body_twists(robot, run.q[k], run.v[k]), atol=1e-9)
    with pytest.warns(DeprecationWarning, match="com_poses; body_poses"):
        assert run.poses is run.com_poses
    with pytest.warns(DeprecationWarning, match="com_twists; body_twists"):
        assert run.twists is run.com_twists


@pytest.mark.parametrize("name", ["momenta", "velocities", "multipliers"])
def test_saved_runs_with_rows_of_another_width_are_refused(name, tmp_path):
    run = la.simulate(la.robots.double_pendulum(), [1.0, 0.5], dt=0.01, steps=3, integrator=la.Maximal())
    path = run.save(tmp_path / "run")
    with np.load(path) as data:
        arrays = dict(data)
    arrays[f"stored_{name}"] = np.concatenate([run.stored[name]] * 2, axis=1)
    np.savez(path, **arrays)
    with pytest.raises(la.FormatError, match=f"{name}: expected shape"):
        la.Trajectory.load(path)
