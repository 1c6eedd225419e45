"""Loops, couplings and rolling contacts in Galerkin steps that interpolate the poses of bodies."""

import json
from pathlib import Path

import numpy as np
import pytest

import leastaction as la
from leastaction.mechanism import Coupling
from tests.minimal.helpers import slopes
from tests.minimal.test_loop_joints import KINDS, both, held_state
from tests.minimal.test_loops import CLOSED, NAMES, assert_redundant_closure_makes_the_same_motion, four_bar, start_of
from tests.minimal.test_rolling import ball, disc, tilted
from tests.oracles.random_trees import random_state

IFTOMM = json.loads((Path(__file__).parents[1] / "data" / "iftomm.json").read_text())
SPRINGS = [case for case, (_, options, _) in KINDS.items() if "stiffness" in options]


def Bodies(order=2, **options):
    return la.Galerkin(order=order, interpolation="bodies", **{"tolerance": 1e-13} | options)


def ends(case, order, steps, duration=0.06):
    """Poses of the bodies at the end: on a tree joint, and free with that joint as a loop."""
    kind, options, _ = KINDS[case]
    tree, loop = both(kind, options)
    q, v = random_state(tree, 2)
    run = {"dt": duration / steps, "steps": steps, "integrator": Bodies(order)}
    runs = la.simulate(tree, q, v, **run), la.simulate(loop, *held_state(tree, loop, q, v), **run)
    assert runs[1].constraint_violation.max() <= 1e-12
    return (la.dynamics.body_poses(r, run.q[-1]) for r, run in zip((tree, loop), runs, strict=True))


@pytest.mark.parametrize("case", [case for case in KINDS if case != "fixed" and case not in SPRINGS])
def test_a_loop_joint_does_what_a_tree_joint_does_to_round_off(case):
    """Bodies are interpolated alike, whether a joint is a coordinate or an equation at the nodes."""
    for order in (2, 4):
        a, b = ends(case, order, 3)
        np.testing.assert_allclose(a, b, atol=1e-11)


@pytest.mark.parametrize("case", ["fixed", *SPRINGS])
def test_springs_of_loop_joints_by_slope(case):
    """Their dampers look at the twists of bodies, those of tree joints at the joint's rate; welded bodies are one."""
    for order in (2, 4):
        errors = [np.abs(np.subtract(*ends(case, order, steps))).max() for steps in (3, 6)]
        assert abs(np.log2(errors[0] / errors[1]) - order) < 0.3, errors


@pytest.mark.parametrize(("order", "counts"), [(2, (100, 200)), (4, (40, 80)), (6, (20, 40))])
@pytest.mark.parametrize("name", ["rods", "bricard"])
def test_order_by_slope(name, order, counts):
    """A four-bar, and an overconstrained linkage with five equations of rank four."""
    if name == "rods":
        robot, reference = four_bar(name)
        duration = 2.0
    else:
        robot, duration = la.robots.bricard(), 1.0
        reference = [np.array(IFTOMM["A04"][key])[[0, 2, 3]] for key in ("angles", "rates")]
    observed = slopes(robot, Bodies(order), reference, duration, counts)
    assert np.abs(observed - order).max() <= 0.25, observed


@pytest.mark.parametrize("entry", CLOSED, ids=NAMES)
def test_loops_of_every_robot_stay_closed(entry):
    """At every step, velocities fit the loops, and forces in them are those of Fan's rule as dt falls."""
    q, v = start_of(entry)
    dt = 1e-4 if entry.name == "andrews_squeezer" else 0.01
    run = la.simulate(entry.robot, q, v, dt=dt, steps=20, integrator=Bodies(4))
    assert run.constraint_violation.max() <= 1e-12
    _, A = la.dynamics.loop_jacobian(entry.robot, run.q[-1])
    assert np.abs(A @ run.v[-1]).max() <= 1e-9 * max(1.0, np.abs(run.v[-1]).max())
    other = la.simulate(entry.robot, q, v, dt=dt, steps=20, integrator=la.Galerkin(order=4, interpolation="joints"))
    apart = np.abs(entry.robot.difference(other.q[-1], run.q[-1])).max()
    assert apart <= 1e-3 * np.abs(entry.robot.difference(q, run.q[-1])).max()
    forces = other.stored["multipliers"]
    if not _dependent(A):
        assert np.abs(run.stored["multipliers"] - forces).max() <= 0.05 * np.abs(forces).max()


def _dependent(A):
    s = np.linalg.svd(A, compute_uv=False)
    return len(A) > A.shape[1] or s[-1] < 1e-7 * s[0]


def test_redundant_closure_makes_the_same_motion():
    assert_redundant_closure_makes_the_same_motion(Bodies(4))


@pytest.mark.parametrize("order", [2, 4])
def test_energy_of_a_four_bar_does_not_drift(order):
    robot, _ = four_bar("rods")
    run = la.simulate(robot, dt=0.02, duration=50.0, integrator=Bodies(order))
    error = np.abs(run.energy - run.energy[0])
    early, late = error[:500].max(), error[-500:].max()
    assert 1e-9 < early < (2e-5 if order == 4 else 2e-2)
    assert late <= 1.1 * early
    assert run.constraint_violation.max() <= 1e-12


@pytest.mark.parametrize("name", ["four_bar", "bricard", "minitaur"])
def test_restart_bit_for_bit(name):
    entry = next(e for e in CLOSED if e.name == name)
    run = la.simulate(entry.robot, *start_of(entry), dt=0.01, steps=8, integrator=Bodies(4))
    rest = la.simulate(entry.robot, run.q[5], p=run.p[5], dt=0.01, steps=3, integrator=run.integrator)
    assert (rest.q == run.q[5:]).all()
    assert (rest.p == run.p[5:]).all()
    assert (rest.stored["multipliers"][1:] == run.stored["multipliers"][6:]).all()


# ------------------------------------------------------------------ couplings and rolling


def geared(coefficients=(0.1, 0.7, -0.3)):
    """Three links, the second of which follows the first by a polynomial."""
    b = la.robots.serial_arm(3).edit()
    names = [joint.name for joint in la.robots.serial_arm(3).joints]
    b.add(Coupling("gear", names[1], names[0], coefficients))
    return b.build()


def test_couplings_against_the_rule_on_joints():
    robot = geared()
    q, v = la.dynamics.close_loops(robot, [0.4, 0.0, 0.2]), [1.0, 0.0, -0.5]
    exact = la.simulate(
        robot, q, v, dt=0.005, steps=32, project=True, integrator=la.Galerkin(order=6, interpolation="joints")
    )
    for order, counts in ((2, (32, 64)), (4, (8, 16))):
        errors = []
        for steps in counts:
            run = la.simulate(robot, q, v, dt=0.16 / steps, steps=steps, project=True, integrator=Bodies(order))
            errors.append(np.abs(run.q[-1] - exact.q[-1]).max())
            assert run.constraint_violation.max() <= 1e-12
        assert abs(np.log2(errors[0] / errors[1]) - order) < 0.25, errors
    np.testing.assert_allclose(run.stored["multipliers"][-1], exact.stored["multipliers"][-1], rtol=0.05)


def test_a_ball_rolls_down_a_slope_as_in_the_closed_form():
    robot = ball()
    q = robot.neutral()
    q[2] = 0.2
    for order in (2, 4):
        run = la.simulate(robot, q=q, dt=0.01, duration=0.5, integrator=Bodies(order))
        np.testing.assert_allclose(run.q[-1, 0], 0.125 * 9.81 * np.sin(0.3) / 1.4, rtol=1e-10)
        assert run.constraint_violation.max() < 1e-12
        assert np.abs(run.energy - run.energy[0]).max() < 1e-9


def test_a_tilted_disc_converges_at_order_two():
    robot = disc()
    options = {"q": tilted(robot), "v": [0, 6, 1.5, 0, 0, 0], "duration": 0.5, "project": True}
    fine = la.simulate(robot, dt=0.00125, integrator=la.Galerkin(order=4, interpolation="joints"), **options)
    errors = []
    for dt in (0.01, 0.005):
        run = la.simulate(robot, dt=dt, integrator=Bodies(2), **options)
        errors.append(np.abs(robot.difference(fine.q[-1], run.q[-1])).max())
        assert run.constraint_violation.max() < 1e-12
    assert abs(np.log2(errors[0] / errors[1]) - 2.0) < 0.25, errors


# ------------------------------------------------------------------ derivatives


def start_for(name):
    """A robot and a state that fits its loops, all of it moving."""
    if name == "held":
        tree, robot = both(*KINDS["cylindrical, springs"][:2])
        return robot, *held_state(tree, robot, *random_state(tree, 2))
    if name == "geared":
        robot = geared()
        return robot, la.dynamics.close_loops(robot, [0.4, 0.0, 0.2]), np.array([1.0, 0.0, -0.5])
    robot = disc() if name == "disc" else la.robots.bricard()
    return robot, *((tilted(robot), np.array([0.5, 6, 1.5, 0, 0, 0])) if name == "disc" else _moving_bricard())


def _moving_bricard():
    return start_of(next(e for e in CLOSED if e.name == "bricard"))


@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize("name", ["held", "geared", "disc", "bricard"])
def test_linearization_against_central_differences(name, order):
    """Along curves of states that keep the loops closed, and by controls; transposed too."""
    robot, q, v = start_for(name)
    integrator = Bodies(order, tolerance=1e-14)
    options = {"dt": 0.02, "integrator": integrator, "project": True}
    run = la.simulate(robot, q, v, steps=3, **options)
    q, p = run.q[-1], run.p[-1]
    rng = np.random.default_rng(1)
    u = rng.normal(size=robot.nu)
    stepper = integrator.prepare(robot, 0.02)

    def step(q, p, u):
        q, record = stepper.prepare_start(q), stepper.record(1)
        record["q"][0], record["p"][0] = q, stepper.prepare_momentum(q, p, True)
        assert stepper.advance(record, 0, 1, np.tile(u, (1, len(stepper.control_nodes), 1))) == 1
        return record["q"][1], record["p"][1]

    q1, p1 = step(q, p, u)
    A, B = la.linearize(robot, integrator, q, p, u, dt=0.02)
    for _ in range(3):
        dq, dp = rng.normal(size=(2, robot.nv))

        def both_ends(h, dq=dq, dp=dp):
            x = la.dynamics.close_loops(robot, robot.integrate(q, h * dq), tolerance=1e-14)
            y = stepper.prepare_momentum(stepper.prepare_start(x), p + h * dp, True)
            x1, y1 = step(x, y, u)
            return np.concatenate([robot.difference(q, x), y - p, robot.difference(q1, x1), y1 - p1])

        h = 1e-4
        slope = (8 * (both_ends(h) - both_ends(-h)) - (both_ends(2 * h) - both_ends(-2 * h))) / (12 * h)
        before, after = np.split(slope, 2)
        np.testing.assert_allclose(A @ before, after, atol=1e-6 * np.abs(after).max())
    for k, e in enumerate(np.eye(robot.nu)):
        (qa, pa), (qb, pb) = step(q, p, u + 1e-2 * e), step(q, p, u - 1e-2 * e)
        change = np.concatenate([robot.difference(qb, qa), pa - pb]) / 2e-2
        np.testing.assert_allclose(B[:, k], change, atol=1e-6 * max(1.0, np.abs(B).max()))
    bar = rng.normal(size=2 * robot.nv)
    pulled = bar.copy()
    by_controls = stepper.pull_back(q, p, np.tile(u, (len(stepper.control_nodes), 1)), pulled)
    np.testing.assert_allclose(pulled, A.T @ bar, atol=1e-10 * np.abs(A).max())
    np.testing.assert_allclose(by_controls.sum(axis=0), B.T @ bar, atol=1e-10 * max(1.0, np.abs(B).max()))


def test_parameters_against_differences():
    tree, robot = both(*KINDS["prismatic, spring"][:2])
    q, v = held_state(tree, robot, *random_state(tree, 2))
    run = la.simulate(robot, q, v, dt=0.02, steps=2, integrator=Bodies(4))
    q, p = run.q[-1], run.p[-1]
    names = ["mass:body", "com:arm", "stiffness:joint", "damping:joint", "gravity"]
    integrator = Bodies(4, tolerance=1e-14)
    found = la.derivatives.parameter_jacobian(robot, integrator, q, p, dt=0.02, parameters=names)
    for name in names:
        value = la.derivatives.parameter(robot, name)
        for k in range(value.size):
            states = []
            for sign in (1e-4, -1e-4):
                other = value.copy()
                other.flat[k] += sign
                changed = la.derivatives.with_parameters(robot, {name: other})
                # The momentum as it is: other masses would have another one that fits.
                stepper = integrator.prepare(changed, 0.02)
                stepper.prepare_start(q)
                record = stepper.record(1)
                record["q"][0], record["p"][0] = q, p
                assert stepper.advance(record, 0, 1, np.zeros((1, 3, robot.nu))) == 1
                states.append((record["q"][1], record["p"][1]))
            tangent = robot.difference(states[1][0], states[0][0])
            expected = np.concatenate([tangent, states[0][1] - states[1][1]]) / 2e-4
            np.testing.assert_allclose(found[name].reshape(len(expected), -1)[:, k], expected, atol=1e-6)


@pytest.mark.parametrize("interpolation", ["bodies", "joints"])
def test_rows_of_the_action_have_no_part_of_the_step_before(interpolation):
    """Reactions of loops are no part of `residual`, before and after a step; its derivatives are those of its rows."""
    robot = la.robots.four_bar()
    stepper = la.Galerkin(order=4, interpolation=interpolation).prepare(robot, 0.02)
    q, u = stepper.prepare_start(robot.neutral()), np.zeros((3, robot.nu))
    p = stepper.prepare_momentum(q, np.array([0.1, 0.2, 0.3]), True)
    x = np.random.default_rng(3).normal(size=(2, 3)) * 0.01
    before = stepper.residual(q, p, u, x)
    record = stepper.record(1)
    record["q"][0], record["p"][0] = q, p
    assert stepper.advance(record, 0, 1, u[None]) == 1
    assert (stepper.residual(q, p, u, x) == before).all()
    rows, H, _ = stepper.residual_blocks(q, p, u, x)
    np.testing.assert_allclose(rows, before, atol=1e-14)
    dx = np.random.default_rng(4).normal(size=(2, 3))
    h = 1e-5
    slope = (stepper.residual(q, p, u, x + h * dx) - stepper.residual(q, p, u, x - h * dx)) / (2 * h)
    np.testing.assert_allclose(np.einsum("jakb,kb->ja", H[:, :, 1:], dx), slope, atol=1e-6 * np.abs(slope).max())
