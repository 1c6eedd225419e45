"""`Grounded` with loops and couplings beside contacts: `Maximal`, energy, exact restart, derivatives."""

import numpy as np
import pytest

import leastaction as la
from tests.minimal.contact.test_springs_and_tendons import over_a_floor

DT = 0.005


def coupled():
    """Two links with a ball at the end over a floor, of which the second turns with the first."""
    builder = over_a_floor("coupled")
    builder.coupling("gear", "elbow", "shoulder", ratio=0.7, offset=0.1)
    return builder.build(), np.array([1.0, 0.8])


def linkage():
    """A hinge closes its loop: five equations, of which two say all."""
    builder = la.robots.four_bar().edit()
    builder.remove("closure")
    hinge = {"axis": "y", "pose": (0.0, 0.0, -2.0), "child_pose": (0.0, 0.0, 1.0)}
    builder.revolute("hinge", "coupler", "rocker", loop=True, **hinge)
    robot = builder.build()
    return robot, la.dynamics.close_loops(robot, robot.home())


ROBOTS = {"coupled": coupled, "linkage": linkage}


@pytest.mark.parametrize("name", ROBOTS)
def test_it_agrees_with_maximal_to_second_order(name):
    """Half the step, a quarter of the difference, through an impact of the coupled links."""
    robot, q = ROBOTS[name]()
    off = []
    for dt in (DT, 0.5 * DT):
        options = {"dt": dt, "duration": 0.8}
        one = la.simulate(robot, q, integrator=la.Grounded(), **options)
        off.append(np.abs(one.q - la.simulate(robot, q, integrator=la.Maximal(2), **options).q).max())
        assert one.constraint_violation.max() < 1e-9
        assert one.stored["contacts"][:, 9].min(initial=0.0) > -1e-7
        assert one.energy.max() - one.energy[0] < 1e-3
    assert off[1] < 0.3 * off[0] < 0.3 * 1e-5


def test_a_gear_moves_as_one_joint_with_the_sum_of_inertias():
    """Two masses on rails, the second twice as fast: a push f on the first moves it by f / (m + 4 M) t^2 / 2."""
    builder = la.MechanismBuilder("gear")
    for name, mass in (("one", 2.0), ("two", 3.0)):
        builder.body(name, mass=mass, inertia=0.01)
        builder.prismatic(f"along {name}", "world", name, axis="x")
    builder.coupling("gear", "along two", "along one", ratio=2.0)
    push = np.tile([7.0, 0.0], (50, 1))
    run = la.simulate(builder.build(), dt=0.01, steps=50, controls=push, integrator=la.Grounded())
    np.testing.assert_allclose(run.q[:, 0], 0.5 * 7.0 / 14.0 * run.t**2, atol=1e-9)
    np.testing.assert_allclose(run.q[:, 1], 2.0 * run.q[:, 0], atol=1e-10)
    np.testing.assert_allclose(run.v[1:-1, 0], 0.5 * run.t[1:-1], atol=1e-9)


@pytest.mark.parametrize("name", ROBOTS)
def test_runs_go_on_to_the_last_bit(name):
    robot, q = ROBOTS[name]()
    sim, u, ends = la.Simulator(robot, la.Grounded(), DT), np.zeros(robot.nu), []
    sim.reset(q)
    for _ in range(60):
        sim.step(u)
    state = sim.state()
    for _ in range(2):
        sim.set_state(state)
        for _ in range(20):
            sim.step(u)
        ends.append(np.concatenate([sim.q, sim.v]))
    np.testing.assert_array_equal(*ends)


@pytest.mark.parametrize("name", ROBOTS)
def test_steps_have_the_derivatives_of_central_differences(name):
    """Of where the step ends and the momentum that it goes on with, also in directions that open the loop."""
    robot, q = ROBOTS[name]()
    run, n = la.simulate(robot, q, dt=DT, steps=40, integrator=la.Grounded()), robot.nv
    u = np.full(robot.nu, 0.1)
    stepper = la.Grounded().prepare(robot, DT)
    A, B = stepper.linearize(run.q[30], run.p[30], u)

    def end(x):
        record = stepper.record(1)
        record["q"][0], record["p"][0] = x[:n], x[n : 2 * n]
        assert stepper.advance(record, 0, 1, x[None, None, 2 * n :]) == 1
        stepper.finish(record)
        return np.concatenate([record["q"][1], record["p"][1]])

    x, d = np.concatenate([run.q[30], run.p[30], u]), 1e-6
    J = np.stack([(end(x + d * e) - end(x - d * e)) / (2.0 * d) for e in np.eye(len(x))], axis=1)
    np.testing.assert_allclose(np.hstack([A, B]), J, atol=1e-5 * np.abs(J).max())


def test_starts_that_open_a_loop_are_refused():
    robot, q = coupled()
    with pytest.raises(la.MechanismError, match="'gear' is open"):
        la.simulate(robot, [1.0, 0.0], steps=1, integrator=la.Grounded())
    with pytest.raises(la.MechanismError, match="opens the loops"):
        la.simulate(robot, q, [0.0, 1.0], steps=1, integrator=la.Grounded())
    run = la.simulate(robot, q, [0.0, 1.0], dt=DT, steps=1, integrator=la.Grounded(), project=True)
    assert run.v[0, 1] == pytest.approx(0.7 * run.v[0, 0], abs=1e-12)
