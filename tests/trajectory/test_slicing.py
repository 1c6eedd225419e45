"""Parts of runs: cut, joined and sampled at other times."""

import numpy as np
import pytest

import leastaction as la
from leastaction.errors import IntegratorError, MechanismError
from leastaction.mechanism import Pose

DT = 0.01


@pytest.fixture(scope="module")
def run():
    return swing(np.linspace(-1, 1, 20 * 2).reshape(20, 2))


def swing(controls, q=(0.4, -0.3), steps=20, integrator=None, **options):
    integrator = la.Galerkin(order=4) if integrator is None else integrator
    robot = la.robots.double_pendulum()
    return la.simulate(robot, q, controls=controls, dt=DT, steps=steps, integrator=integrator, **options)


def assert_same_run(a, b):
    assert sorted(a.stored) == sorted(b.stored)
    np.testing.assert_array_equal(a.t, b.t)
    np.testing.assert_array_equal(a.q, b.q)
    for name in a.stored:
        np.testing.assert_array_equal(a.stored[name], b.stored[name], err_msg=name)


def logged():
    """A run that logs contacts, by hand."""
    robot = la.robots.cube()
    t, q = 0.1 * np.arange(6), np.tile(robot.neutral(), (6, 1))
    log = np.zeros((4, 10))
    log[:, 0], log[:, 1] = [0, 2, 2, 4], -1
    stored = {"v": np.zeros((6, 6)), "contacts": log, "iterations": np.arange(6), "nodes": np.arange(6.0)}
    return la.Trajectory(robot, None, 0.1, t, q, stored)


def test_a_slice_has_the_rows_of_the_run(run):
    part = run[5:12]
    assert (len(part), part.steps) == (7, 6)
    np.testing.assert_array_equal(part.t, run.t[5:12])
    np.testing.assert_array_equal(part.q, run.q[5:12])
    np.testing.assert_array_equal(part.v, run.v[5:12])
    np.testing.assert_array_equal(part.energy, run.energy[5:12])
    np.testing.assert_array_equal(part.stored["u"], run.stored["u"][5:11])
    assert part.iterations[0] == 0
    np.testing.assert_array_equal(part.iterations[1:], run.iterations[6:12])
    assert part.stored["cuts"].tolist() == [0]
    assert "cuts" not in run[:5].stored
    assert run[-1:].q.tolist() == run.q[-1:].tolist()


def test_contacts_of_a_slice_name_its_steps():
    part = logged()[2:5]
    assert part.stored["contacts"][:, 0].tolist() == [0, 0]
    assert part.contact_force("cube").shape == (2, 3)
    assert part.stored["nodes"].tolist() == list(range(6))


def test_slices_join_to_the_run(run):
    assert_same_run(run[:8].join(run[7:]), run)
    assert_same_run(run[:3].join(run[2:13]).join(run[12:]), run)
    whole = logged()
    assert_same_run(whole[:4].join(whole[3:]), whole)
    assert run[2:9].join(run[8:]).stored["cuts"].tolist() == [0]


def test_slices_are_saved_and_loaded(run, tmp_path):
    part = run[4:9]
    assert_same_run(la.Trajectory.load(part.save(tmp_path / "part")), part)


def test_a_run_goes_on_from_a_slice(run):
    part = run[:9]
    rest = la.simulate(
        run.mechanism,
        part.q[-1],
        p=part.p[-1],
        controls=run.stored["u"][8:, 0],
        dt=DT,
        steps=12,
        integrator=run.integrator,
    )
    whole = part.join(rest)
    np.testing.assert_allclose(whole.t, run.t, atol=1e-15)
    np.testing.assert_allclose(whole.q, run.q, atol=1e-11)
    np.testing.assert_array_equal(whole.stored["u"], run.stored["u"])
    assert whole.stored["cuts"].tolist() == [8]


def test_a_run_without_controls_joins_one_with(run):
    free = swing(None, steps=3)
    driven = la.simulate(
        run.mechanism, free.q[-1], p=free.p[-1], controls=[1.0, 2.0], dt=DT, steps=2, integrator=run.integrator
    )
    u = free.join(driven).stored["u"]
    assert u.shape == (5, *run.stored["u"].shape[1:])
    assert not u[:3].any()
    np.testing.assert_array_equal(u[3:], driven.stored["u"])


def test_gradients_of_a_slice_are_those_of_its_steps(run):
    part = run[5:12]
    dq = np.zeros((7, 2))
    dq[-1] = 1.0
    found = la.derivatives.gradient(part, dq, None)["controls"]
    fresh = la.simulate(
        run.mechanism,
        part.q[0],
        p=part.p[0],
        controls=part.stored["u"][:, 0],
        dt=DT,
        steps=6,
        integrator=run.integrator,
    )
    np.testing.assert_allclose(found, la.derivatives.gradient(fresh, dq, None)["controls"], atol=1e-9)


def test_gradients_of_parts_whose_steps_need_those_before_are_refused():
    run = swing(None, steps=4, integrator=la.BDF(order=2))
    with pytest.raises(IntegratorError, match="steps of BDF need those before"):
        la.derivatives.gradient(run[2:], None, None)


# ---------------------------------------------------------------------- other times


def tumbling(n, end=1.0):
    """A free body that turns about a fixed axis by sin(t) and whose origin moves on a curve, at n + 1 times."""
    robot = la.robots.free_body()
    t = np.linspace(0.0, end, n + 1)
    axis, angle, rate = np.array([2.0, -1.0, 2.0]) / 3.0, np.sin(2 * t), 2 * np.cos(2 * t)
    x = np.stack([np.sin(t), np.cos(3 * t), t**2], axis=1)
    dx = np.stack([np.cos(t), -3 * np.sin(3 * t), 2 * t], axis=1)
    turn = np.column_stack([np.cos(angle / 2), np.sin(angle / 2)[:, None] * axis])
    v = np.zeros((n + 1, 6))
    for k in range(n + 1):
        v[k, :3] = rate[k] * axis
        v[k, 3:] = Pose((0, 0, 0), tuple(turn[k])).rotation.T @ dx[k]
    return la.Trajectory(robot, None, end / n, t, np.hstack([x, turn]), {"v": v})


def test_resampled_motion_converges_with_the_fourth_power():
    finest = tumbling(240)
    errors = []
    for n in (10, 20):
        found = tumbling(n).resample(finest.t)
        positions = finest.mechanism.difference(finest.q, found.q)
        errors.append([np.abs(positions).max(), np.abs(found.v - finest.v).max()])
        np.testing.assert_allclose(np.linalg.norm(found.q[:, 3:], axis=1), 1.0, atol=1e-14)
    assert errors[1][0] < 1e-5
    assert errors[0][0] / errors[1][0] > 14.0
    assert errors[0][1] / errors[1][1] > 7.0


def test_velocities_are_those_of_the_resampled_positions():
    run, h = tumbling(6), 1e-5
    t = np.linspace(0.07, 0.9, 9)
    before, at, after = (run.resample(t + d) for d in (-h, 0.0, h))
    rates = run.mechanism.difference(before.q, after.q) / (2 * h)
    np.testing.assert_allclose(at.v, rates, atol=1e-8)


def test_at_its_own_times_a_run_stays_what_it_is(run):
    again = run.resample(run.t)
    np.testing.assert_array_equal(again.q, run.q)
    np.testing.assert_array_equal(again.v, run.v)
    np.testing.assert_allclose(again.energy, run.energy, rtol=1e-14)


# ---------------------------------------------------------------------- refusals


@pytest.mark.parametrize("part", [3, "a", slice(None, None, 2), slice(5, 5), slice(None, None, -1), slice("a", 3)])
def test_what_is_no_part_of_a_run(run, part):
    with pytest.raises(MechanismError):
        run[part]


@pytest.mark.parametrize("times", [None, "a", [], [0.1, 0.1], [-0.1], [0.1, 9.0], [[0.1]], [np.nan]])
def test_times_that_a_run_does_not_have(run, times):
    with pytest.raises(MechanismError, match="resample"):
        run.resample(times)


def test_runs_that_do_not_continue_each_other(run):
    other = {
        "another run": 3,
        "two robots": la.Trajectory(
            la.robots.pendulum(), None, DT, np.zeros(1), np.zeros((1, 1)), {"v": np.zeros((1, 1))}
        ),
        "two integrators": la.Trajectory(run.mechanism, None, DT, run.t, run.q, run.stored),
        "steps of": la.Trajectory(run.mechanism, run.integrator, 0.1, 0.1 * np.arange(len(run.t)), run.q, run.stored),
        "does not begin where": run,
    }
    for message, second in other.items():
        with pytest.raises(MechanismError, match=message):
            run.join(second)
