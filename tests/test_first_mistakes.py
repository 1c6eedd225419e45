"""What new users typed wrongly, and the line that helps them."""

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
