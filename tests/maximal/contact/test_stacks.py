"""Stacks, piles and legs: many contacts at rest, none of which may creep."""

import math

import numpy as np
import pytest

import leastaction as la
from benchmarks.corpus.families import scene
from leastaction.mechanism import Box, Plane
from tests.maximal.scenes import G, clearance, cubes, gaps, placed


@pytest.mark.parametrize("friction", ["cone", "linear"])
def test_stack_of_ten_cubes_stands_still(friction):
    """For 10 s."""
    robot = cubes(10)
    q = placed(robot, *[(0, 0, 0.25 + 0.5 * i) for i in range(10)])
    dt, duration = (0.01, 10.0) if friction == "cone" else (0.01, 1.0)
    run = la.simulate(robot, q, dt=dt, duration=duration, integrator=la.Maximal(friction=friction))
    assert np.abs(run.q - q).max() < 1e-6
    last = run.stored["contacts"][run.stored["contacts"][:, 0] == run.steps - 1]
    ground = last[last[:, 1] < 0]
    assert ground[:, 8].sum() == pytest.approx(10 * G, rel=1e-6)


def test_dropped_stack_settles():
    """Ten cubes, a little out of line, fall on each other and stay where they land."""
    rng = np.random.default_rng(1)
    robot = cubes(10)
    q = placed(robot, *[(*(0.02 * rng.normal(size=2)), 0.26 + 0.52 * i) for i in range(10)])
    run = la.simulate(robot, q, dt=0.01, duration=2.0, integrator=la.Maximal())
    assert clearance(run, np.full((10, 3), 0.25), every=5) > -1e-6
    assert gaps(run).min() > -1e-6
    np.testing.assert_allclose(run.q[-1, 2::7], 0.25 + 0.5 * np.arange(10), atol=1e-4)
    np.testing.assert_allclose(run.q[-1], run.q[-50], atol=1e-5)


def test_what_rests_is_solved_with_kept_factors():
    """Of cubes at rest no problem of either phase is factored anew, and each takes one iteration at most."""
    robot = cubes(2)
    stepper = la.Maximal().prepare(robot, 0.01)
    record, u = stepper.record(30), np.zeros((30, 2, robot.nu))
    record["q"][0] = q = placed(robot, (0, 0, 0.25), (0, 0, 0.75))
    assert stepper.advance(record, 0, 10, u[:10]) == 10
    now = stepper.contact.now[0]
    before = {name: now[name].copy() for name in ("solves", "iterations", "matrices", "dense")}
    assert stepper.advance(record, 10, 30, u[:20]) == 30
    more = {name: (stepper.contact.now[0][name] - count).tolist() for name, count in before.items()}
    assert more["solves"] == [20, 20]
    assert more["matrices"] == more["dense"] == [0, 0]
    assert max(more["iterations"]) <= 20
    np.testing.assert_allclose(record["q"], np.tile(q, (31, 1)), atol=1e-8)


def test_few_problems_are_left_to_the_dense_contact_problem():
    """Modes of feet with redundant contacts, which creep as slowly as compliance lets them, do not go round."""
    solves, dense = np.zeros(2), np.zeros(2)
    for seed in range(3):
        drop = scene("drop_unitree_a1", seed)
        stepper = la.Maximal().prepare(drop.robot, drop.dt)
        record, u = stepper.record(drop.steps), np.zeros((drop.steps, 2, drop.robot.nu))
        record["q"][0] = stepper.prepare_start(stepper.clear_start(drop.q))
        record["p"][0] = la.dynamics.mass_matrix(drop.robot, record["q"][0]) @ drop.v
        assert stepper.advance(record, 0, drop.steps, u) == drop.steps
        solves, dense = solves + stepper.contact.now[0].solves, dense + stepper.contact.now[0].dense
    assert (dense < np.array([0.06, 0.01]) * solves).all()


def test_legs_that_creep_at_the_bound_of_friction_are_solved_by_modes():
    """A fallen robot that rests on its trunk and four feet: modes, weighed with the mass behind them, do not settle.

    It took 97 iterations in one step after another.
    """
    drop = scene("drop_littledog", 10)
    run = la.simulate(drop.robot, drop.q, dt=drop.dt, steps=drop.steps, integrator=la.Maximal())
    assert (run.iterations > 60).sum() <= 4


def test_substeps_of_a_jam_press_nothing_in():
    """Friction that wedges boxes presses with any force. Each substep added what contacts give way by at most to the
    overlap that the one before had left: 1e-5 m in all."""
    stack = scene("stack", 46)
    run = la.simulate(stack.robot, stack.q, stack.v, dt=stack.dt, steps=60, integrator=la.Maximal())
    assert run.stored["contacts"][:, 9].min() > -5e-7


def test_each_contact_is_solved_to_the_end():
    """Products of slack and impulse are one number: as it was, their mean was small, but single ones 1000 times less or
    more, by how the interior point method had come there."""
    b = la.MechanismBuilder("things")
    for name, mass in (("heavy", 20.0), ("cube", 1.0), ("light", 0.01)):
        b.body(name, mass=mass, shapes=Box((0.5, 0.5, 0.5), friction=0.5))
        b.free(name)
    b.add_shape("world", Plane(friction=0.5))
    robot = b.build()
    q = placed(robot, (0, 0, 0.25), (1, 0, 0.25), (2, 0, 0.25))
    v = np.zeros(robot.nv)
    v[3:6], v[9:12], v[15:18] = (2.0, 0.3, -1.0), (0.0, 0.0, -0.2), (0.1, -0.5, -3.0)
    stepper = la.Maximal().prepare(robot, 0.01)
    record = stepper.record(1)
    record["q"][0], record["p"][0] = q, la.dynamics.mass_matrix(robot, q) @ v
    assert stepper.advance(record, 0, 1, np.zeros((1, 2, robot.nu))) == 1
    cones = stepper.contact.cones[: stepper.contact.now[0].count]
    products = (cones.gam * cones.s)[cones.gam > 1e-6]
    assert len(products) == 12
    np.testing.assert_allclose(products, products[0], rtol=1e-6)


def test_cubes_with_sides_in_line_do_not_tilt_into_each_other():
    robot = cubes(3)
    q = placed(robot, *[(0.05 * i, 0, 0.35 + 0.6 * i) for i in range(3)])
    run = la.simulate(robot, q, dt=0.01, duration=2.0, integrator=la.Maximal())
    assert clearance(run, np.full((3, 3), 0.25)) > -1e-6
    np.testing.assert_allclose(run.q[-1, 2::7], [0.25, 0.75, 1.25], atol=1e-6)


def test_cube_lands_on_another_askew():
    robot = cubes(2)
    turned = np.array([math.cos(0.4), 0.1, 0.05, math.sin(0.4)])
    q = np.concatenate([placed(robot, (0, 0, 0.25)), [0.1, 0.05, 0.9], turned / np.linalg.norm(turned)])
    run = la.simulate(robot, q, dt=0.01, duration=2.0, integrator=la.Maximal())
    assert clearance(run, np.full((2, 3), 0.25)) > -1e-5
    assert run.q[-1, 9] == pytest.approx(0.75, abs=1e-4)
    np.testing.assert_allclose(run.v[-1], 0.0, atol=1e-3)


def test_quadruped_stands_on_four_feet():
    """Twelve contact forces for six equations: no drift, and together they carry the robot."""
    robot = la.robots.unitree_a1(ground=True)
    q = robot.neutral()
    q[7:] = np.tile([0.0, 0.8, -1.6], 4)
    q[2] = 0.4 * math.cos(0.8) + 0.02

    def hold(_t, x, v):
        return 100.0 * (q[7:] - x[7:]) - 2.0 * v[6:]

    run = la.simulate(robot, q, dt=0.002, duration=6.0, integrator=la.Maximal(), controller=hold)
    # The soft drives settle like exp(-1.9 t); what is left after 5 s is that, and no creep.
    late = run.q[run.t > 5.0]
    assert np.abs(late - late[-1]).max() < 1e-5
    assert np.abs(run.q[:, :2]).max() < 0.02
    last = run.stored["contacts"][run.stored["contacts"][:, 0] == run.steps - 1]
    assert len(last) == 4
    np.testing.assert_allclose(last[:, 6:9].sum(axis=0), [0, 0, robot.total_mass * G], atol=0.2)
    assert run.stored["poses"].shape[1] == len(robot.bodies)
    assert np.all(np.hypot(last[:, 6], last[:, 7]) <= 0.8 * last[:, 8] * (1 + 1e-6))


def test_friction_that_newton_overshoots_is_brought_to_its_bound():
    """Stacks that slide: modes find their way. How many iterations one stack takes is chance; ten take 25 a step."""
    iterations = []
    for seed in range(10):
        piled = scene("stack", seed)
        run = la.simulate(piled.robot, piled.q, piled.v, dt=piled.dt, steps=piled.steps, integrator=la.Maximal())
        iterations.append(run.iterations)
    assert np.concatenate(iterations).mean() < 40
