"""Wrong calls of every public function: each ends in an error of the package, none in a crash."""

import inspect
import warnings

import numpy as np
import pytest

import leastaction as la
from tests import wrong_calls
from tests.wrong_calls import GROUPS, WRONG


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.__name__)
@pytest.mark.filterwarnings("ignore")
def test_wrong_calls_are_refused(group, tmp_path, monkeypatch):
    """Not one is accepted, and not one fails anywhere else than at the door."""
    monkeypatch.chdir(tmp_path)
    found, count = [], 0
    for call in group():
        if call.works:
            call.function(**call.valid)
        for name, value, arguments in call.spoiled():
            count += 1
            try:
                call.function(**arguments)
            except la.LeastActionError as error:
                if not str(error).strip() or len(str(error)) > 1000:
                    found.append(f"{call.what}({name}={value!r}): says {error!s:.80}")
            except Exception as error:
                found.append(f"{call.what}({name}={value!r}): {type(error).__name__} {error!s:.80}")
            else:
                found.append(f"{call.what}({name}={value!r}): accepted")
    assert count > 90
    assert not found, f"{len(found)} of {count}:\n" + "\n".join(found[:40])
    assert not list(tmp_path.iterdir()), "a wrong call has written a file"


HELPERS = {"Pose.__mul__", "MechanismBuilder.exclude_contact", "GraphLDU.solve", "GraphLDU.solve_transposed"}
HELPERS |= {"BatchRun.__getitem__"}
"""Operators, which say by Python's own errors what they cannot take, and calls through a function of the table."""


@pytest.mark.slow
@pytest.mark.parametrize("group", [g for g in GROUPS if g.__name__ != "pictures"], ids=lambda group: group.__name__)
@pytest.mark.filterwarnings("ignore")
def test_anything_for_any_argument(group, tmp_path, monkeypatch):
    """All that is wrong for some argument is given to every other one: it is taken or refused, and never fails raw."""
    monkeypatch.chdir(tmp_path)
    values = {repr(value): value for values in WRONG.values() for value in values if not inspect.isfunction(value)}
    found = []
    for call in group():
        for name in (name for name in call.valid if call.what not in HELPERS):
            for value in (None, *values.values()):
                if group.__name__ == "algebra" and isinstance(value, list) and not value:
                    continue  # Numba itself says that it cannot tell what an empty list holds
                try:
                    call.function(**(call.valid | {name: value}))
                except la.LeastActionError:
                    pass
                except Exception as error:
                    found.append(f"{call.what}({name}={value!r}): {type(error).__name__} {error!s:.80}")
    assert not found, f"{len(found)}:\n" + "\n".join(found[:40])


def public(module):
    """Public functions and classes of a module."""
    return {name: getattr(module, name) for name in module.__all__ if callable(getattr(module, name))}


def test_the_table_has_every_function_of_these_modules():
    """A new one is called wrongly, too, once it is in the table."""
    called = {call.what.split(" ")[0].split(".")[-1] for group in GROUPS for call in group()}
    for module in (la.dynamics, la.derivatives, la.mechanism):
        missing = {name for name in public(module) if name not in called}
        assert missing <= {"Actuator", "Motion", "Shape"}, missing


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: la.mechanism.Inertia(-1), "mass: must not be negative"),
        (lambda: la.mechanism.Primitive(la.mechanism.Motion.REVOLUTE, (0, 0, 0)), "axis: must have unit norm"),
        (lambda: la.mechanism.Sphere(1.0, pose="a"), "sphere '': pose must be"),
        (lambda: la.mechanism.joints.screw("z", float("nan")), "pitch: expected a finite number"),
        (lambda: la.robots.pendulum().integrate([float("nan")], [0.0]), "q: expected finite numbers"),
        (lambda: la.robots.pendulum().difference([0.0], [float("inf")]), "q1: expected finite numbers"),
        (lambda: la.mechanism.Inertia(1e308), "mass: must not be larger than 1e"),
        (
            lambda: wrong_calls.built("damper", name="d", start="world", end="link1", damping=1e150),
            "damping: must not be",
        ),
    ],
)
def test_nonsense_that_was_accepted_once(call, says):
    with pytest.raises(la.MechanismError, match=says):
        call()


ODDS = [[], {}, set(), np.zeros(0), np.zeros(2), np.array(["a"]), b"x", 10**70]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: la.robots.pendulum().edit().attach(la.robots.pendulum(), parent=x),
        lambda x: la.robots.pendulum().edit().set_inertia(x, la.mechanism.Inertia(1.0)),
        lambda x: la.mechanism.Sphere(1.0, condim=x),
        lambda x: la.optimize.touch("foot", point=x),
        lambda x: la.optimize.flat(x),
        lambda x: la.optimize.read_problem(x),
        lambda x: la.gym.RobotEnv(render_mode=x),
        lambda x: la.derivatives.SimulationObjective(la.robots.pendulum(), la.BDF(), lambda run: None, x, steps=2),
    ],
    ids=["attach", "set_inertia", "condim", "touch", "flat", "read_problem", "render_mode", "objective"],
)
@pytest.mark.parametrize("value", ODDS, ids=[type(x).__name__ + str(k) for k, x in enumerate(ODDS)])
def test_what_cannot_be_compared_or_looked_up_is_refused(call, value):
    with pytest.raises(la.LeastActionError):
        call(value)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: la.BDF(order=2.0), "BDF: order must be a whole number"),
        (lambda: la.BDF(order=True), "BDF: order must be a whole number"),
        (lambda: la.Maximal(tolerance=float("nan")), "Maximal: tolerance must be a finite number"),
        (lambda: la.Galerkin(tolerance="1e-9"), "Galerkin: tolerance must be a finite number"),
        (lambda: la.Midpoint(max_iterations=1.0), "Midpoint: max_iterations must be a whole number"),
        (lambda: la.ConstrainedEuler(tolerance=-1.0), "ConstrainedEuler: tolerance must be between 0 and 1"),
        (lambda: la.ConstrainedEuler(limits="no"), "ConstrainedEuler: limits must be True or False"),
        (lambda: la.Maximal(self_collision=1), "Maximal: self_collision must be True or False"),
    ],
)
def test_settings_name_the_field(call, says):
    with pytest.raises(la.IntegratorError, match=says):
        call()


@pytest.mark.parametrize("integrator", [la.Galerkin(order=2), la.Maximal(), la.RungeKutta()], ids=repr)
@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"q": [1e300, 0.0]}, r"q: entry 0 \('joint1'\) is 1e\+300, expected a finite number of at most 1e\+60"),
        ({"v": [0.0, -1e200]}, r"v: entry 1 \('joint2'\) is -1e\+200, expected a finite number of at most 1e\+60"),
        ({"dt": 1e300}, r"dt must not be larger than 1e\+60 s"),
        ({"steps": 10**15}, "steps must not be more than"),
    ],
)
def test_runs_refuse_numbers_that_overflow(integrator, given, says):
    with pytest.raises(la.LeastActionError, match=says):
        la.simulate(la.robots.pendulum(links=2), integrator=integrator, **({"dt": 0.01, "steps": 2} | given))


def test_settings_come_out_as_plain_numbers():
    made = la.Galerkin(order=np.int64(4), tolerance=np.float32(0.5), max_iterations=np.int32(7))
    assert [type(x) for x in (made.order, made.tolerance, made.max_iterations)] == [int, float, int]


def test_valid_calls_warn_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for call in wrong_calls.parts():
            call.function(**call.valid)
