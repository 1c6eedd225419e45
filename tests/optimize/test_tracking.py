"""Following a solution by a time-varying regulator."""

import math
from dataclasses import replace

import numpy as np
import pytest

import leastaction as la
from leastaction import optimize as opt
from leastaction.kinematics.frame_jacobians import Placement
from leastaction.optimize.mpc.stance_feedback import Stance, foot_motion
from leastaction.optimize.solution import foothold_replay
from tests.optimize.problems import swing_up
from tests.optimize.test_standing import hop

pytest.importorskip("casadi")


def missed(run):
    """How far the last state is from upright and at rest [rad, rad/s]."""
    return max(abs(run.q[-1, 1] - math.pi), 0.2 * abs(run.v[-1, 1]))


@pytest.mark.parametrize("integrator", [la.Midpoint(), la.Galerkin(order=4)], ids=["midpoint", "simpson"])
def test_a_disturbed_swing_up(integrator):
    """Played back from a start that is off, the pole falls over; followed, it stands."""
    solution = swing_up(40, integrator=integrator).bounds(u=(-15, 15)).solve()
    tracker = opt.tvlqr(solution)
    rng, lost = np.random.default_rng(0), []
    for _ in range(3):
        q, v = solution.q[0] + 0.1 * rng.normal(size=2), solution.v[0] + 0.2 * rng.normal(size=2)
        options = {"q": q, "v": v, "dt": 0.05, "steps": 40, "integrator": integrator}
        loose = la.simulate(solution.mechanism, controls=solution.control, **options)
        lost.append(missed(loose))
        assert missed(tracker.simulate(q, v)) < min(0.05, 0.2 * lost[-1])
        assert missed(solution.track(q, v, dt=0.01)) < 0.05  # finer steps than those of the solution
    assert max(lost) > 0.5


def test_the_regulator_is_optimal_near_the_solution():
    """The cost that the closed loop runs up is the one that the Riccati recursion told."""
    solution = swing_up(30).solve()
    tracker = opt.tvlqr(solution, position=3.0, velocity=0.5, effort=0.1)
    q = solution.q[0] + 1e-5 * np.array([1.0, -2.0])
    run = tracker.simulate(q)
    weights, total = np.diag([3.0, 3.0]), 0.0
    for k in range(31):
        x = tracker.deviation(run.t[k], run.q[k], run.v[k])
        inverse = np.linalg.inv(la.dynamics.mass_matrix(run.mechanism, solution.q[k]))
        total += x[:2] @ weights @ x[:2] + 0.5 * (inverse @ x[2:]) @ (inverse @ x[2:])
        if k < 30:
            du = run.stored["u"][k, 0] - solution.u[k, 0]
            total += 0.1 * du @ du
    x = tracker.deviation(0.0, q, solution.v[0])
    assert total == pytest.approx(x @ tracker.cost_to_go[0] @ x, rel=1e-3)


def test_a_hop_is_followed_through_its_phases():
    solution = hop().solve()
    q = solution.q[0] + [0.0, 0.0, 0.0, 0.05, 0.0]  # it stands a little to the side
    loose = foothold_replay.replay(solution, q=q)
    kept = solution.track(q)
    assert np.abs(kept.q[-1] - solution.q[-1]).max() < 0.25 * np.abs(loose.q[-1] - solution.q[-1]).max()


def test_wrong_weights():
    solution = swing_up(4).solve()
    for message, weights in (
        ("position must be", {"position": -1}),
        ("effort must be", {"effort": 0}),
        ("velocity", {"velocity": [1, 2, 3]}),
    ):
        with pytest.raises(la.ProblemError, match=message):
            opt.tvlqr(solution, **weights)
    with pytest.raises(la.ProblemError, match="collocation"):
        opt.tvlqr(swing_up(8, integrator=la.ImplicitTrapezoidal()).solve())
    with pytest.raises(la.ProblemError, match="tvlqr needs a Solution, got 3"):
        opt.tvlqr(3)
    with pytest.raises(la.ProblemError, match="servo_forces needs a Trajectory, got 3"):
        opt.servo_forces(3)
    with pytest.raises(la.ProblemError, match="solve_relaxed needs a Problem, got 3"):
        opt.solve_relaxed(3)


def test_feet_that_stand_give_the_wrench_that_the_body_lacks():
    """Motors push with the transpose of the feet's Jacobians: the legs' forces sum up to the wrench asked for."""
    robot = la.robots.littledog()
    stand = la.robots.home(robot)
    feet = {f"forces of contact {c.name}": np.full((2, 5), 20.0) for c in robot.contacts}
    run = la.Trajectory(robot, la.Midpoint(), 0.1, np.array([0.0, 0.1]), np.array([stand, stand]), feet)
    plan = opt.Solution(True, "", "", 0.0, 0.0, run, np.zeros((1, 1, 12)), run.q, 0.1, (), (), 0.0, np.zeros(0))
    gains = opt.StanceFeedback(position=100.0, velocity=10.0, turn=2.0, spin=0.1)
    stance, driven = Stance(plan, gains, list(range(6, 18))), slice(6, 18)
    lacks, slow = 1e-2 * np.arange(1, 7), 1e-2 * np.ones(6)
    tau = stance.torques(0, 0.5, stand, lacks, slow)
    at, wrench = Placement(robot, stand), np.zeros(6)
    for k, c in enumerate(robot.contacts):
        place, J = foot_motion(robot, at, c)
        legs = slice(3 * k, 3 * k + 3)
        force = -np.linalg.solve(J[:, driven][:, legs].T, tau[legs])
        wrench += np.concatenate([np.cross(place - stand[:3], force), force])
    wanted = np.r_[2.0 * lacks[:3] + 0.1 * slow[:3], 100.0 * lacks[3:] + 10.0 * slow[3:]]
    np.testing.assert_allclose(wrench, wanted, rtol=2e-2, atol=2e-3)
    # A foot in the air comes to its place in the world though the body is off.
    stance = Stance(plan, replace(gains, placing=1.0), stance.driven)
    stance.forces[:, 1] = 0.0
    off = robot.integrate(stand, np.r_[0.01, -0.02, 0.01, 4e-3, -3e-3, 5e-3, np.zeros(12)])
    corrected = off.copy()
    moved = [stance.moves(0, part, off, stand, np.zeros(6)) for part in np.linspace(0.0, 0.9, 10)]
    assert np.abs(np.diff(moved, axis=0)).max() < 0.05  # it comes and goes smoothly
    corrected[7:] += moved[-1]
    places = [foot_motion(robot, Placement(robot, q), robot.contacts[1])[0] for q in (stand, off, corrected)]
    assert np.linalg.norm(places[2] - places[0]) < 0.35 * np.linalg.norm(places[1] - places[0])
    np.testing.assert_array_equal(np.delete(corrected - off, slice(10, 13)), 0.0)
    # Where the body is too fast sideways, a foot in the air goes ahead of it, and no other way.
    stance = Stance(plan, replace(gains, capture=(0.0, 0.1, 0.0)), stance.driven)
    stance.forces[:, 1] = 0.0
    fast = [stance.moves(0, part, stand, stand, np.r_[np.zeros(4), -0.2, 0.0]) for part in np.linspace(0.0, 1.0, 50)]
    caught = np.r_[stand[:7], stand[7:] + fast[-1]]
    places = [foot_motion(robot, Placement(robot, q), robot.contacts[1])[0] for q in (stand, caught)]
    np.testing.assert_allclose(places[1] - places[0], [0.0, 0.02 * (1.0 - np.exp(-2.0)), 0.0], atol=1.5e-3)
    np.testing.assert_array_equal(np.delete(fast[-1], slice(3, 6)), 0.0)
    with pytest.raises(la.ProblemError, match="StanceFeedback: spin"):
        opt.StanceFeedback(1.0, 1.0, 1.0, -1.0)
    with pytest.raises(la.ProblemError, match="no free base"):
        Stance(swing_up(4).solve(), gains, [0])
