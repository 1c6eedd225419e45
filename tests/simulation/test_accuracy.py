"""Runs with an accuracy in place of a time step: their errors, their energy, and what is reversed of them."""

import warnings

import numpy as np
import pytest

import leastaction as la
from leastaction._jit import batched_call
from leastaction.derivatives.adjoint import gradient
from leastaction.initial_state.start import start_run
from leastaction.simulation import long_steps
from leastaction.simulation.error_estimate import Node, Rows, Steps, Task
from leastaction.simulation.reversible_steps import Reversible
from tests.oracles.random_trees import random_tree

START = [1.57, 0.5]


@pytest.fixture(scope="module")
def double_pendulum():
    return la.robots.pendulum(links=2)


def error_at_end(robot, q, v, accuracy, reference, **options):
    run = la.simulate(robot, q, v, accuracy=accuracy, **options)
    return np.abs(robot.difference(reference.q[-1], run.q[-1])).max(), run


@pytest.mark.parametrize("accuracy", [1e-3, 1e-5, 1e-7])
def test_errors_of_a_double_pendulum_are_below_the_accuracy(double_pendulum, accuracy):
    """For one second, in which its motion amplifies errors less than tenfold."""
    fine = la.simulate(double_pendulum, START, dt=1e-3, duration=1.0, integrator=la.Galerkin(order=6))
    for integrator in (la.Galerkin(order=4), la.Galerkin(order=2)):
        if integrator.order == 2 and accuracy < 1e-6:
            continue
        error, run = error_at_end(double_pendulum, START, None, accuracy, fine, duration=1.0, integrator=integrator)
        assert error < accuracy
        assert error > 1e-5 * accuracy, "steps much shorter than they need to be"
        assert not run.uniform
        assert run.t[-1] == pytest.approx(1.0, abs=1e-12)


def test_errors_of_a_spinning_top():
    """Free, about its middle axis: it turns over, which amplifies errors."""
    top = la.robots.free_body(moments=(1.0, 2.0, 3.0))
    q, v = top.home(), np.array([0.01, 5.0, 0.01, 0.0, 0.0, 0.0])
    fine = la.simulate(top, q, v, dt=1e-3, duration=1.0, integrator=la.Galerkin(order=4))
    for accuracy in (1e-3, 1e-5):
        error, _ = error_at_end(top, q, v, accuracy, fine, duration=1.0, integrator=la.Galerkin(order=4))
        assert error < 5.0 * accuracy


def test_errors_of_a_spring():
    """x = cos(10 t) of a mass on a spring."""
    b = la.MechanismBuilder("spring", gravity=(0, 0, 0))
    b.body("mass", mass=1.0, inertia=1.0)
    b.prismatic("x", "world", "mass", axis="x", stiffness=100.0)
    for accuracy in (1e-3, 1e-6):
        run = la.simulate(b.build(), [1.0], accuracy=accuracy, duration=3.0, integrator=la.Galerkin(order=4))
        assert abs(run.q[:, 0] - np.cos(10.0 * run.t)).max() < 3.0 * accuracy


@pytest.mark.parametrize("integrator", [la.Minimal(), la.Maximal()], ids=["Minimal", "Maximal"])
def test_errors_of_a_ball_that_lands_and_rolls(integrator):
    """The time of impact decides where it ends: x = t1 + 5/7 (T - t1), t1 = sqrt(2 z / g)."""
    b = la.MechanismBuilder("ball")
    b.body("ball", mass=1.0, inertia=0.004, shapes=la.mechanism.Sphere(0.1, friction=0.5))
    b.free("ball")
    b.add_shape("world", la.mechanism.Plane(friction=0.5))
    robot, duration = b.build(), 0.6
    q, v = robot.home(), np.zeros(6)
    q[2], v[3] = 1.1, 1.0
    landing = np.sqrt(2.0 / 9.81)
    x = landing + 5.0 / 7.0 * (duration - landing)
    for accuracy in (1e-2, 1e-4):
        run = la.simulate(robot, q, v, accuracy=accuracy, duration=duration, integrator=integrator)
        assert abs(run.q[-1, 0] - x) < accuracy * duration
        assert abs(run.q[-1, 2] - 0.1) < 1e-6
    even = la.simulate(robot, q, v, accuracy=1e-4, dt=0.05, duration=duration, integrator=integrator)
    assert even.uniform
    assert even.steps == 12
    assert abs(even.q[-1, 0] - x) < 1e-4 * duration
    assert even.contact_force("ball")[-1, 2] == pytest.approx(9.81, rel=1e-3)  # means over steps of dt


@pytest.mark.parametrize("integrator", [la.Minimal(), la.Maximal()], ids=["Minimal", "Maximal"])
def test_errors_of_a_cube_that_slides_to_rest(integrator):
    """After v^2 / (2 mu g); a step in which it stops holds it from its start, in whole and halves."""
    robot = la.robots.cube(edge=0.5, friction=0.2)
    q, v = robot.home(), np.zeros(6)
    q[2], v[3] = 0.25, 2.0
    for accuracy in (1e-3, 1e-4):
        run = la.simulate(robot, q, v, accuracy=accuracy, duration=1.5, integrator=integrator)
        assert abs(run.q[-1, 0] - 4.0 / (0.4 * 9.81)) < 0.5 * accuracy


def test_errors_of_a_wheel_that_dry_friction_stops():
    """After v^2 / (2 f / I)."""
    b = la.MechanismBuilder("wheel", gravity=(0, 0, 0))
    b.body("wheel", mass=1.0, inertia=1.0)
    b.revolute("axle", "world", "wheel", axis="x", friction=0.7)
    for accuracy in (1e-3, 1e-5):
        run = la.simulate(b.build(), v=[1.3], accuracy=accuracy, duration=3.0, integrator=la.Minimal())
        assert abs(run.q[-1, 0] - 1.3**2 / 1.4) < accuracy


@pytest.mark.parametrize("integrator", [la.Minimal(), la.Maximal()], ids=["Minimal", "Maximal"])
def test_impacts_with_restitution_are_where_things_touch(integrator):
    """Two bounces with e = 1: how near to the ground they are goes with the steps, not with those of another run."""
    b = la.MechanismBuilder("ball")
    b.body("ball", mass=1.0, inertia=0.004, shapes=la.mechanism.Sphere(0.1, restitution=1.0))
    b.free("ball")
    b.add_shape("world", la.mechanism.Plane(restitution=1.0))
    robot, first = b.build(), np.sqrt(2.0 / 9.81)
    q = robot.home()
    q[2] = 1.1
    run = la.simulate(robot, q, accuracy=1e-5, duration=4.0 * first, integrator=integrator)
    assert abs(run.q[-1, 2] - 1.1) < 1e-5


def test_controls_that_jump(double_pendulum):
    """A force of 10 N on 1 kg from 0.4321 s on, by a function of time."""
    b = la.MechanismBuilder("slider", gravity=(0, 0, 0))
    b.body("mass", mass=1.0, inertia=1.0)
    b.prismatic("x", "world", "mass", axis="x")
    robot, end = b.build(), 5.0 * (1.0 - 0.4321) ** 2
    for integrator in (la.Galerkin(order=4), la.RungeKutta(order=4)):
        for accuracy in (1e-3, 1e-6):
            options = {"accuracy": accuracy, "duration": 1.0, "integrator": integrator}
            run = la.simulate(robot, controls=lambda t: [10.0 if t > 0.4321 else 0.0], **options)
            assert abs(run.q[-1, 0] - end) < accuracy
            assert run.steps < 200


def test_energy_does_not_drift(double_pendulum):
    """Over some 10^4 steps of a chaotic motion; Runge-Kutta steps with the same errors lose it."""
    options = {"accuracy": 1e-3, "duration": 100.0}
    run = la.simulate(double_pendulum, START, integrator=la.Galerkin(order=4), **options)
    other = la.simulate(double_pendulum, START, integrator=la.RungeKutta(order=4), **options)
    assert run.steps > 1e4
    tenth = run.steps // 10
    error = np.abs(run.energy - run.energy[0])
    assert error[-tenth:].max() < 3.0 * error[:tenth].max()
    assert error.max() < 0.1 * np.abs(other.energy - other.energy[0]).max()


def test_steps_go_back_the_way_they_came(double_pendulum):
    """Once its scale is fixed, the controller takes the same steps of the reversed motion: to round-off, amplified."""
    run = start_run(double_pendulum, la.Galerkin(order=4), q=START, dt=0.01, steps=1)

    def go(node, steps, density, before):
        rows = Rows(node, 0.0)
        way = Reversible(Task(Steps(run, None), rows, 1e-4, 1e9, None))
        way.adapt, way.eps, way.density, way.before, way.most = False, 0.15, density, before, steps
        way.run()
        return rows, way

    there, way = go(Node(np.array(START), np.zeros(2), np.zeros(2)), 60, None, 0.0)
    last, lengths = there.nodes[-1], np.diff(there.t)
    # The step before the reversed motion is the one after this one.
    beyond, ahead = go(last, 1, way.density, way.before)
    back, _ = go(Node(last.q, -last.second, -last.v), 60, ahead.density, ahead.before)
    assert beyond.t[-1] > 0.0
    assert lengths.max() > 2.0 * lengths.min()
    assert np.abs(np.diff(back.t) - lengths[::-1]).max() < 1e-8
    assert np.abs(back.nodes[-1].q - START).max() < 1e-7


def test_states_that_are_asked_for_are_those_of_the_run(double_pendulum):
    run = la.simulate(double_pendulum, START, accuracy=1e-6, duration=1.0)
    even = la.simulate(double_pendulum, START, accuracy=1e-6, duration=1.0, dt=0.1)
    assert even.uniform
    assert even.steps == 10
    assert np.abs(even.q - run.resample(even.t).q).max() < 1e-6


def test_loops_stay_closed():
    robot = la.robots.four_bar()
    run = la.simulate(robot, accuracy=1e-5, duration=1.0, integrator=la.Galerkin(order=4))
    assert run.constraint_violation.max() < 1e-9
    assert np.ptp(run.energy) < 1e-3 * max(1.0, run.kinetic_energy.max())


def test_runs_with_uneven_steps_can_be_cut_joined_saved_and_read(double_pendulum, tmp_path):
    run = la.simulate(double_pendulum, START, accuracy=1e-4, duration=0.5)
    again = la.Trajectory.load(run.save(tmp_path / "run"))
    assert np.array_equal(again.t, run.t)
    assert not again.uniform
    both = run[:11].join(run[10:])
    assert np.array_equal(both.t, run.t)
    assert np.array_equal(both.q, run.q)
    assert both.dt == pytest.approx(run.dt)
    with pytest.raises(la.IntegratorError, match="steps of one length"):
        gradient(run, np.zeros((len(run), 2)), np.zeros((len(run), 2)))


def test_controls(double_pendulum):
    """Functions of time are read at the nodes; controllers are called every dt."""
    told = []

    def controller(t, q, v):
        told.append(t)
        return [np.sin(t), 0.0]

    sampled = la.simulate(double_pendulum, accuracy=1e-4, dt=0.1, duration=0.5, controller=controller)
    assert np.allclose(told, [0.0, 0.1, 0.2, 0.3, 0.4])
    table = np.array([[np.sin(0.1 * (k // 100)), 0.0] for k in range(500)])
    held = la.simulate(double_pendulum, dt=1e-3, duration=0.5, controls=table)
    assert np.abs(sampled.q[-1] - held.q[-1]).max() < 1e-4
    smooth = la.simulate(double_pendulum, accuracy=1e-5, duration=0.5, controls=lambda t: [np.sin(t), 0.0])
    fine = la.simulate(double_pendulum, dt=1e-3, duration=0.5, controls=lambda t: [np.sin(t), 0.0])
    assert np.abs(smooth.q[-1] - fine.q[-1]).max() < 1e-5


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"accuracy": -1.0, "duration": 1.0}, "relative error per second"),
        ({"accuracy": 1e-4}, "give the duration"),
        ({"accuracy": 1e-4, "steps": 5}, "give the duration"),
        ({"accuracy": 1e-4, "duration": 0.0}, "positive"),
        ({"accuracy": 1e-4, "duration": 1.0, "integrator": la.BDF(order=2)}, "steps of one length"),
        ({"accuracy": 1e-4, "duration": 1.0, "controller": lambda t, q, v: [0.0, 0.0]}, "need dt"),
        ({"accuracy": 1e-4, "duration": 1.0, "dt": 0.1, "controls": np.zeros((3, 2))}, r"expected shape \(10, 2\)"),
    ],
)
def test_what_cannot_be_is_refused(double_pendulum, options, words):
    with pytest.raises(la.IntegratorError, match=words):
        la.simulate(double_pendulum, **options)


def test_steps_that_are_far_too_long_are_named_with_one_that_is_not(double_pendulum):
    with pytest.warns(la.AccuracyWarning, match=r"dt = 0.5 s are too long for 'pendulum'.*need dt = 0\."):
        la.simulate(double_pendulum, START, dt=0.5, duration=10.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        la.simulate(double_pendulum, START, dt=0.01, duration=10.0)


def test_nobody_looks_for_long_steps_where_the_warning_is_ignored(double_pendulum, monkeypatch):
    looked = []
    monkeypatch.setattr(long_steps, "_error_of_step", lambda *_: looked.append(1) or 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        la.simulate(double_pendulum, START, dt=0.2, steps=10, integrator=la.Maximal())
    assert not looked
    with pytest.warns(la.AccuracyWarning):
        la.simulate(double_pendulum, START, dt=0.2, steps=10, integrator=la.Maximal())
    assert looked


@pytest.mark.parametrize(
    "integrator", [la.Galerkin(order=4), la.Minimal(), la.Maximal()], ids=lambda x: type(x).__name__
)
def test_steps_that_are_divided_all_the_time_are_named(double_pendulum, integrator):
    with pytest.warns(la.AccuracyWarning, match=r"dt = 1 s are too long.*had to divide 10 of 10.*need dt = 0\."):
        la.simulate(double_pendulum, START, dt=1.0, duration=10.0, integrator=integrator)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        la.simulate(double_pendulum, START, dt=0.01, duration=1.0, integrator=integrator)


@pytest.mark.parametrize("integrator", [la.Galerkin(order=4), la.Minimal(), la.RungeKutta(order=4)], ids=repr)
def test_words_kept_in_memory_give_the_same_run(integrator, monkeypatch):
    """Steps of many lengths by one call with kept words, which only long runs take, and by way of Python."""
    robot = la.robots.cube(edge=0.5, friction=0.2) if isinstance(integrator, la.Minimal) else la.robots.pendulum(2)
    q, v = robot.home(), np.zeros(robot.nv)
    if isinstance(integrator, la.Minimal):
        q[2], v[3:5] = 0.3, 2.0
    runs = []
    for late in (0, 10**9):
        monkeypatch.setattr(batched_call, "LATE", late)
        runs.append(la.simulate(robot, q, v, accuracy=1e-4, duration=1.0, integrator=integrator))
    one, other = runs
    assert np.array_equal(one.t, other.t)
    assert np.array_equal(one.q, other.q)
    for name, values in one.stored.items():
        assert np.array_equal(values, other.stored[name]), name


def error_and_growth(robot, q, v, accuracy, rng, **options):
    """Error at the end over what was asked for [s], and how much the motion amplifies an error of its start."""
    options = {"duration": 0.5} | options
    run, fine = (la.simulate(robot, q, v, accuracy=a, **options) for a in (accuracy, 1e-3 * accuracy))
    moved = 1e-6 * rng.normal(size=robot.nv)
    other = la.simulate(robot, robot.integrate(q, moved), v, accuracy=1e-3 * accuracy, **options)
    growth = np.abs(robot.difference(fine.q[-1], other.q[-1])).max() / np.abs(moved).max()
    return np.abs(robot.difference(fine.q[-1], run.q[-1])).max() / accuracy, max(1.0, growth)


@pytest.mark.parametrize("accuracy", [1e-2, 1e-4])
def test_errors_of_random_robots_are_those_that_were_asked_for(accuracy):
    """Accuracy times duration, times what the motion itself makes of errors."""
    rng = np.random.default_rng(0)
    for seed in range(12):
        robot = random_tree(seed, bodies=int(rng.integers(1, 6)))
        q, v = robot.random_configuration(rng), 2.0 * rng.normal(size=robot.nv)
        error, growth = error_and_growth(robot, q, v, accuracy, rng, integrator=la.Galerkin(order=4))
        assert error < 0.5 * growth, seed
