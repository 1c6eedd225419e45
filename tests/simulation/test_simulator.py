"""A run step by step: the states of `simulate`, exact restarts, refusals that lose nothing."""

import copy
import pickle
import time

import numpy as np
import pytest

import leastaction as la
from leastaction._jit import batched_call
from leastaction.simulation import simulator

COMPILED = (la.Galerkin(order=2), la.Maximal(), la.BDF(order=2), la.RungeKutta(), la.Grounded(), la.HermiteSimpson())
INTEGRATORS = (*COMPILED, la.ConstrainedEuler())


@pytest.fixture
def at_once(monkeypatch):
    """Strides are prepared after two steps."""
    monkeypatch.setattr(batched_call, "SOON", 2)
    monkeypatch.setattr(batched_call, "LATE", 2)


def dropped_cube():
    robot = la.robots.cube(friction=0.3)
    return robot, [0.0, 0.0, 0.6, 0.9, 0.1, 0.3, np.sqrt(1 - 0.91)], [1.0, 2.0, 0.0, 1.0, 0.0, 0.0]


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: type(i).__name__)
def test_states_are_those_of_a_run(integrator, monkeypatch, at_once):
    monkeypatch.setattr(simulator, "ROOM", 7)  # so that states move to the front several times
    robot, rng = la.robots.pendulum(3), np.random.default_rng(0)
    q, v, u = rng.normal(size=3), rng.normal(size=3), rng.normal(size=(20, 3))
    run = la.simulate(robot, q, v, dt=0.01, steps=20, controls=u, integrator=integrator, start=2.0)
    sim = la.Simulator(robot, integrator, dt=0.01)
    sim.reset(q, v, t=2.0)
    for k in range(20):
        sim.step(u[k])
        np.testing.assert_array_equal(sim.q, run.q[k + 1])
    np.testing.assert_array_equal(sim.v, run.v[-1])
    np.testing.assert_array_equal(sim.p, run.p[-1])
    assert (sim.t, sim.steps, sim.iterations) == (run.t[-1], 20, run.iterations[-1])
    assert sim.energy == pytest.approx(run.energy[-1], rel=1e-14)
    np.testing.assert_array_equal(sim.now.com_poses[0], la.Trajectory(*vars_of(run)).com_poses[-1])


def vars_of(run):
    """A run without stored poses."""
    name = "p" if "p" in run.stored else "v"
    return run.mechanism, run.integrator, run.dt, run.t, run.q, {name: run.stored[name]}


def test_contacts_and_restarts_are_exact(at_once):
    robot, q, v = dropped_cube()
    run = la.simulate(robot, q, v, dt=0.01, steps=60, integrator=la.Maximal())
    sim, other = la.Simulator(robot, dt=0.01), la.Simulator(robot, la.Maximal(), dt=0.01)
    sim.reset(q, v)
    for _ in range(30):
        sim.step()
    packed = pickle.dumps(sim.state())
    assert len(packed) < 600_000  # room for contacts that were not there is left behind
    kept = pickle.loads(packed)
    assert len(repr(kept)) < 100
    other.set_state(kept)
    for k in range(30, 60):
        sim.step()
        other.step(np.zeros(robot.nu))
        np.testing.assert_array_equal(sim.q, run.q[k + 1])
        np.testing.assert_array_equal(other.q, sim.q)
        logged = run.stored["contacts"]
        np.testing.assert_array_equal(sim.contacts, logged[logged[:, 0] == k][:, 1:])
    assert len(sim.contacts) > 0
    table, log = sim.contact_table, run.contacts
    np.testing.assert_array_equal(np.column_stack([table.point, table.force, table.gap]), sim.contacts[:, 2:])
    assert log.step.tolist() == logged[:, 0].tolist()
    assert set(log.first) | set(log.second) == {"world", robot.bodies[0].name}
    sim.set_state(kept)
    sim.step()
    np.testing.assert_array_equal(sim.q, run.q[31])
    sim.reset(q, v)
    sim.step()
    np.testing.assert_array_equal(sim.q, run.q[1])


@pytest.mark.parametrize(("name", "integrator"), [("heavy_top", la.BDF(order=2)), ("four_bar", la.Galerkin(order=2))])
def test_strides_of_balls_and_loops_are_those_of_a_run(name, integrator, at_once):
    """Charts of balls and multipliers of loops, and a controller in place of a simulator."""
    robot = getattr(la.robots, name)()
    run = la.simulate(robot, dt=0.01, steps=12, integrator=integrator)
    told = la.simulate(robot, dt=0.01, steps=12, integrator=integrator, controller=lambda t, q, v: np.zeros(robot.nu))
    np.testing.assert_array_equal(told.q, run.q)


def test_the_robot_starts_at_home_and_wrong_input_changes_nothing():
    robot = la.robots.pendulum(2)
    sim = la.Simulator(robot, la.Galerkin(order=2))
    sim.reset({"joint1": 0.5})
    np.testing.assert_array_equal(sim.q, [0.5, 0.0])
    for wrong in ([1.0], [np.nan, 0.0], "a", np.ones((2, 2))):
        with pytest.raises(la.IntegratorError, match="expected 2 finite numbers"):
            sim.step(wrong)
    with pytest.raises(la.IntegratorError, match=r"controls take no names, but 2 numbers .*mechanism\.control_names"):
        sim.step({"joint1": 0.1})
    with pytest.raises(la.IntegratorError, match="controls take no names"):
        la.simulate(robot, controls={"joint1": 0.1}, steps=1, integrator=la.Galerkin(order=2))
    with pytest.raises(la.MechanismError):
        sim.reset([np.nan, 0.0])
    with pytest.raises(la.IntegratorError, match="finite time"):
        sim.reset(t=np.inf)
    np.testing.assert_array_equal(sim.q, [0.5, 0.0])
    with pytest.raises(la.IntegratorError, match="another robot"):
        sim.set_state(la.Simulator(la.robots.pendulum(3), la.Galerkin(order=2)).state())
    with pytest.raises(la.IntegratorError, match="state"):
        sim.set_state(3)
    with pytest.raises(la.MechanismError, match="Simulator needs"):
        la.Simulator(3)
    with pytest.raises(la.IntegratorError, match="write Galerkin"):
        la.Simulator(robot, la.Galerkin)


def test_simulators_and_their_states_say_what_they_cannot():
    robot = la.robots.pendulum(2)
    sim = la.Simulator(robot, la.Galerkin(order=2), dt=0.01, pushable=["link2"])
    with pytest.raises(la.IntegratorError, match=r"steps of this state are 0.02 s, those of this simulator 0.01 s"):
        sim.set_state(la.Simulator(robot, la.Galerkin(order=2), dt=0.02, pushable=["link2"]).state())
    with pytest.raises(la.IntegratorError, match="once must be"):
        la.Simulator(robot, la.Galerkin(order=2), once=5)
    state = sim.state()
    for name in ("q", "v", "p", "state"):
        with pytest.raises(
            AttributeError, match=rf"{name} of a Simulator cannot be set: reset\(q, v\).*set_state\(state\)"
        ):
            setattr(sim, name, state if name == "state" else [0.0, 0.0])
    sim.set_state(sim.state())
    assert la.Simulator.state(sim).steps == 0


def test_a_simulator_can_be_pickled(at_once):
    sim = la.Simulator(la.robots.pendulum(3), la.Galerkin(order=2), dt=0.02)
    sim.reset([0.1, 0.2, 0.3], t=1.0)
    for _ in range(3):
        sim.step()
    for other in (pickle.loads(pickle.dumps(sim)), copy.deepcopy(sim)):
        assert (other.t, other.steps, other.dt, other.mechanism) == (sim.t, 3, 0.02, sim.mechanism)
        other.step([1.0, 0.0, 0.0])
        assert other.steps == sim.steps + 1
    sim.step([1.0, 0.0, 0.0])
    np.testing.assert_array_equal(other.q, sim.q)


def test_a_step_that_fails_stays_where_it_was():
    sim = la.Simulator(la.robots.pendulum(2), la.Galerkin(order=2, max_iterations=1, tolerance=1e-15), dt=0.5)
    sim.reset([1.0, 2.0], [30.0, -40.0])
    with pytest.raises(la.ConvergenceError) as error:
        sim.step()
    np.testing.assert_array_equal(sim.q, [1.0, 2.0])
    assert (sim.t, error.value.time) == (0.0, 0.0)


@pytest.mark.parametrize("integrator", COMPILED, ids=lambda i: type(i).__name__)
def test_a_step_costs_little_more_than_one_of_a_compiled_run(integrator):
    """2 to 3 us on an idle machine; the bound is of a busy one."""
    robot = la.robots.pendulum(2)
    sim, u, steps = la.Simulator(robot, integrator), np.zeros(2), 200
    sim.reset([0.5, 0.2])
    for _ in range(batched_call.LATE + batched_call.SOON):
        sim.step(u)
    best = [np.inf, np.inf]
    for _ in range(20):
        began = time.process_time()
        for _ in range(steps):
            sim.step(u)
        best[0] = min(best[0], time.process_time() - began)
    stepper = integrator.prepare(robot, sim.dt)
    record, controls = stepper.record(steps), np.zeros((steps, len(stepper.control_nodes), 2))
    record.q[0] = [0.5, 0.2]
    for _ in range(20):
        began = time.process_time()
        stepper.advance(record, 0, steps, controls)
        best[1] = min(best[1], time.process_time() - began)
    assert (best[0] - best[1]) / steps < 30e-6


@pytest.mark.parametrize("integrator", [la.Maximal(), la.Minimal(), la.Galerkin(order=4), la.BDF(order=2)])
def test_what_was_done_is_a_run_like_any_other(integrator, tmp_path):
    """Controls with an activation, sensors, contacts where there are any, more steps than there is room for."""
    b = la.robots.cart_pole().edit()
    touching = isinstance(integrator, la.Maximal | la.Minimal)
    if touching:
        b = la.robots.cube(friction=0.5).edit()
        b.body("flap", mass=0.1, inertia=1e-3, com=(0.0, 0.0, 0.1))
        b.revolute("hinge", b.bodies[0].name, "flap", axis="y")
        b.actuator("motor", "hinge", activation=0.1, limits=(-0.05, 0.05))
        b.sensor("touch", "touch", b.bodies[0].name)
    b.sensor("gyro", "gyro", b.bodies[-1].name)
    robot, steps = b.build(), 600
    q = la.robots.on_ground(robot, robot.home()) if touching else robot.home()
    u = 0.1 * np.sin(0.02 * np.arange(steps))[:, None]
    run = la.simulate(robot, q, dt=0.005, steps=steps, integrator=integrator, controls=u, start=1.0)
    sim = la.Simulator(robot, integrator, dt=0.005, recording=True)
    for _ in range(2):  # of two starts the last counts
        sim.reset(q, t=1.0)
        for k in range(steps):
            sim.step(u[k])
    found = sim.trajectory()
    assert np.array_equal(found.q, run.q)
    assert np.array_equal(found.t, run.t)
    assert ("contacts" in found.stored) == ("contacts" in run.stored)
    for name in ("u", "activation", "contacts"):
        if name in run.stored:
            assert np.array_equal(found.stored[name], run.stored[name])
    for name, values in run.sensors.items():
        assert np.allclose(found.sensors[name][1:], values[1:], atol=1e-9)
    again = la.Trajectory.load(found.save(tmp_path / "run"))
    assert np.array_equal(again.q, found.q)
    kept = sim.state()
    sim.set_state(kept)
    for k in range(3):
        sim.step(u[k])
    later = sim.trajectory()
    assert later.steps == 3
    assert np.array_equal(later.q[0], found.q[-1])
    assert found.join(later).steps == steps + 3


def test_nothing_is_recorded_unless_asked_for():
    sim = la.Simulator(la.robots.pendulum(), la.Galerkin(order=4))
    with pytest.raises(la.IntegratorError, match="recording=True"):
        sim.trajectory()
    with pytest.raises(la.IntegratorError, match="recording must be True or False"):
        la.Simulator(la.robots.pendulum(), la.Galerkin(order=4), recording="yes")


def test_only_the_start_that_counts_is_looked_at(recwarn):
    """At home this cube overlaps the ground; who starts it elsewhere need not hear of it."""
    cube = la.robots.cube()
    inside = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    sim = la.Simulator(cube, la.Maximal(), dt=0.01)
    sim.reset(inside + [0, 0, 1, 0, 0, 0, 0])
    sim.step()
    assert not recwarn.list
    sim = la.Simulator(cube, la.Maximal(), dt=0.01)
    with pytest.raises(AttributeError, match="no attribute 'velocity'"):
        _ = sim.velocity
    with pytest.warns(la.LeastActionWarning, match="overlap"):
        sim.reset(inside)
