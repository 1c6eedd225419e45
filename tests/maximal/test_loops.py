"""Closed loops in maximal coordinates: reference motions, singular configurations, redundant equations, forces."""

import numpy as np
import pytest

import leastaction as la
from leastaction.mechanism import Box, Plane, Pose
from tests.maximal.helpers import method
from tests.minimal.test_loop_joints import geared, held_rod, reaction
from tests.minimal.test_loops import (
    CLOSED,
    IFTOMM,
    NAMES,
    TEST_SET,
    a02,
    assert_redundant_closure_makes_the_same_motion,
    start_of,
)
from tests.oracles.differences import assert_close

LOOSE = 1e-10


@pytest.mark.parametrize("order", [1, 2, 4])
def test_redundant_closure_makes_the_same_motion(order):
    assert_redundant_closure_makes_the_same_motion(method(order))


@pytest.mark.parametrize(("windows", "duration", "dt"), [(2, 10.0, 0.01), (2, 4.0, 0.001), (40, 4.0, 0.01)])
def test_a02_stays_on_its_branch_through_singular_configurations(windows, duration, dt):
    """IFToMM A02: all links are in line several times; errors are those of order 2, velocities fit."""
    robot = la.robots.n_four_bar(windows)
    entry = next(e for e in CLOSED if e.name == "n_four_bar")
    start = la.robots.home(robot), entry.home_velocity(robot)
    run = la.simulate(robot, *start, dt=dt, duration=duration, integrator=la.Maximal())
    phi, rate = a02(windows, run.t)
    cranks = [robot.coordinate_index(f"A{k}") for k in range(windows + 1)]
    couplers = [robot.coordinate_index(f"B{k}") for k in range(windows)]
    turned, bound = np.pi / 2 - phi, 100.0 * dt**2
    assert (np.diff(np.sign(np.sin(phi))) != 0).sum() >= 2
    assert np.abs(run.q[:, cranks] - turned[:, None]).max() <= bound
    assert np.abs(run.q[:, couplers] + turned[:, None]).max() <= bound
    assert np.abs(run.v[:, cranks] + rate[:, None]).max() <= 10 * bound
    assert run.constraint_violation.max() <= LOOSE
    assert run.iterations.max() <= 10


@pytest.mark.parametrize("order", [2, 4])
def test_andrews_squeezer(order):
    """IFToMM A03 against PSIDE at t = 0.03 s: order by slope, closed at every step."""
    robot = la.robots.andrews_squeezer()
    place = [TEST_SET.index(name) for name in robot.coordinate_names]
    angles, rates, start = (np.array(IFTOMM["A03"][key])[place] for key in ("angles", "rates", "start"))
    errors = []
    for steps in (300, 600):
        run = la.simulate(robot, dt=0.03 / steps, steps=steps, integrator=method(order))
        errors.append([np.linalg.norm(run.q[-1] + start - angles), np.linalg.norm(run.v[-1] - rates)])
        assert run.constraint_violation.max() <= LOOSE
    assert np.abs(np.log2(np.divide(*errors)) - order).max() <= 0.15, errors


@pytest.mark.parametrize("order", [1, 2, 4])
def test_bricard(order):
    """IFToMM A04, an overconstrained linkage, for 10 s."""
    robot, data = la.robots.bricard(), IFTOMM["A04"]
    run = la.simulate(robot, dt=0.01, duration=10.0, integrator=method(order))
    assert run.constraint_violation.max() <= LOOSE
    bound = {1: 0.02, 2: 2e-4, 4: 1e-8}[order]
    np.testing.assert_allclose(run.q[300], data["angles"][4], atol=bound)
    assert np.abs(run.energy - run.energy[0]).max() <= 5.0 * bound


def test_chain_of_four_bars():
    """Segments of four links run on where others fail at two; closed at every step."""
    robot = la.robots.four_bar_chain(10)
    run = la.simulate(robot, dt=0.01, duration=1.0, integrator=la.Maximal())
    assert run.constraint_violation.max() <= LOOSE
    assert np.abs(run.energy - run.energy[0]).max() <= 0.02 * run.kinetic_energy.max()


@pytest.mark.parametrize("entry", [e for e in CLOSED if e.name != "arm_exoskeleton"], ids=lambda e: e.name)
def test_loops_of_every_robot_as_in_joint_coordinates(entry):
    """Closed at every step, velocities that fit, and the motion of Galerkin within O(dt^2)."""
    assert entry.name in NAMES
    q, v = start_of(entry)
    dt = 1e-4 if entry.name == "andrews_squeezer" else 0.005
    options = {"q": q, "v": v, "dt": dt, "steps": 20}
    run = la.simulate(entry.robot, **options, integrator=method(2))
    exact = la.simulate(entry.robot, **options, integrator=la.Galerkin(order=4))
    assert run.constraint_violation.max() <= LOOSE
    _, A = la.dynamics.loop_jacobian(entry.robot, run.q[-1])
    assert np.abs(A @ run.v[-1]).max() <= 1e-8 * max(1.0, np.abs(run.v[-1]).max())
    size = max(1.0, np.abs(exact.v).max() ** 3)
    assert np.abs(entry.robot.difference(exact.q[-1], run.q[-1])).max() <= 10.0 * size * dt**2


# ---------------------------------------------------------------- forces of joints


@pytest.mark.parametrize("order", [1, 2, 4])
def test_multipliers_at_rest_carry_the_weight(order):
    """The first three equations of the loop hold the pivot's position along x, y and z: 0, 0 and m g."""
    robot = held_rod()
    run = la.simulate(robot, dt=0.01, steps=5, integrator=method(order))
    rows = run.stored["multipliers"]
    if order == 1:  # a step's force acts at its start alone
        rows = rows[1:-1]
    assert_close(rows[:, :3], np.tile(reaction(robot, [0, 0, 2 * 9.81]), (len(rows), 1)), 1e-7)


def test_multipliers_of_a_swinging_rod():
    """They converge to the pivot's force m (a - g) as dt^2, for the loop and for the same rod as a tree."""
    b = la.MechanismBuilder("tree")
    b.body("rod", mass=2.0, com=(0, 0, -0.5), inertia=(1 / 6, 1 / 6, 0.001))
    b.revolute("pivot", "world", "rod", axis="y")
    tree, loop, angle, rate = b.build(), held_rod(), 1.0, 0.7
    n = loop.tree.closure.rows.n[:3]
    worst = []
    for dt in (0.02, 0.01):
        start = np.array([0, 0, 0, np.cos(angle / 2), 0, np.sin(angle / 2), 0])
        runs = [
            la.simulate(tree, [angle], [rate], dt=dt, duration=1.0, integrator=method(2)),
            la.simulate(loop, start, [0, rate, 0, 0, 0, 0], dt=dt, duration=1.0, integrator=method(2)),
        ]
        a, w = runs[0].q[:, 0], runs[0].v[:, 0]
        speeding = -1.5 * 9.81 * np.sin(a)
        along, across = np.array([-np.sin(a), 0 * a, -np.cos(a)]), np.array([-np.cos(a), 0 * a, np.sin(a)])
        force = 2.0 * (0.5 * (speeding * across - w**2 * along) + np.array([[0], [0], [9.81]]))
        worst.append([np.abs(r.stored["multipliers"][1:-1, :3] - (force.T @ n.T)[1:-1]).max() for r in runs])
    assert np.max(worst) <= 0.05 * 2.0 * 9.81, worst
    assert (np.divide(*worst) >= 3.5).all(), worst


def test_the_multiplier_of_a_gear_is_its_torque():
    """At rest on a level arm: what hinge 1 needs to hold its rod comes through the gear."""
    robot = geared((np.pi / 2, 1.0))
    x = -np.arctan(0.18 / 0.5)
    run = la.simulate(robot, [x, np.pi / 2 + x], dt=0.01, steps=5, integrator=method(2))
    assert_close(run.q, np.tile([x, np.pi / 2 + x], (6, 1)), 1e-10)
    torque = 9.81 * 0.18 * np.sin(np.pi / 2 + x)
    assert_close(run.stored["multipliers"][:, -1], np.full(6, torque), 1e-7)


def test_loop_that_lies_on_the_ground_does_not_move():
    """What a loop holds against contacts is no motion: at rest v, J v and the kinetic energy are zero.

    While it collapses, velocities keep the loop closed, and derivatives of momenta are those of differences.
    """
    b = la.MechanismBuilder("pantograph")
    b.body("base", mass=2.0, shapes=Box((0.4, 0.2, 0.1)))
    b.free("base")
    for side, name in ((-1, "left"), (1, "right")):
        b.body(name, mass=0.3, com=(0, 0, -0.1), inertia=1e-3)
        b.revolute(f"hip {name}", "base", name, axis="y", position=(0.15 * side, 0, -0.05))
    b.body("foot", mass=0.3, shapes=Box((0.4, 0.1, 0.04), friction=0.6))
    b.revolute("ankle", "left", "foot", axis="y", position=(0, 0, -0.2), child_pose=Pose((0.15, 0, 0)))
    b.revolute("close", "foot", "right", axis="y", position=(0.15, 0, 0), child_pose=Pose((0, 0, 0.2)))
    b.add_shape("world", Plane())
    robot = b.build()
    q = robot.home()
    q[2] = 0.271
    options = {"dt": 0.005, "integrator": la.Maximal()}
    run = la.simulate(
        robot, q, {"hip left": 1.0, "ankle": -1.0, "hip right": 1.0}, duration=1.0, project=True, **options
    )
    assert abs(run.q[-1] - run.q[-2]).max() < 1e-9
    assert abs(run.v[-1]).max() < 1e-5
    assert run.kinetic_energy[-1] < 1e-9
    rates = [np.abs(la.dynamics.loop_jacobian(robot, q)[1] @ v).max() for q, v in zip(run.q, run.v, strict=True)]
    assert max(rates) < 1e-8

    k, h = 20, 1e-3  # falls to one side, the foot on the ground
    B = la.linearize(robot, la.Maximal(), run.q[k], run.p[k], dt=0.005)[1][robot.nv :, 7]
    push = np.zeros(robot.nu)
    push[7] = h
    p = [la.simulate(robot, run.q[k], p=run.p[k], steps=1, controls=u, **options).p[-1] for u in (push, -push)]
    assert abs((p[0] - p[1]) / (2 * h) - B).max() < 1e-6 * abs(B).max()
