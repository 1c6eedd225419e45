"""Model predictive control in closed loop."""

import math

import numpy as np
import pytest

import leastaction as la
from leastaction import optimize as opt
from leastaction.optimize.examples.planar_hopper import hops

UP = [0.0, math.pi]


def balance(steps=25, **options):
    """A cart-pole that is to stand upright."""
    problem = opt.Problem(la.robots.cart_pole(), steps=steps, dt=0.04, **options).start(q=UP, v=0)
    problem.bounds(u=(-20, 20), q={"rail": (-2, 2)})
    return problem.minimize(opt.tracking(UP, [1, 10]), opt.velocity(0.1), opt.effort(1e-3), opt.terminal(UP, [10, 100]))


def run(mpc, simulator, ticks, pushes=None):
    """States and controls, with jumps of the velocity at some ticks."""
    q, u = [], []
    for k in range(ticks):
        if pushes and k in pushes:
            simulator.reset(q=simulator.q, v=simulator.v + pushes[k], t=simulator.t)
        u.append(mpc.step(simulator.q, simulator.v))
        simulator.step(u[-1])
        q.append(simulator.q)
    return np.array(q), np.array(u)


def test_a_pole_stays_upright_against_pushes():
    mpc = opt.MPC(balance())
    simulator = la.Simulator(mpc.problem.mechanism, la.Midpoint(), dt=0.04)
    simulator.reset(q=UP, v=[0, 0])
    q, u = run(mpc, simulator, 150, {10: [0, 2.0], 70: [0.5, -2.5]})
    assert np.abs(u).max() <= 20
    assert np.abs(u).max() > 15  # the second push needs nearly all of it
    assert np.abs(q[:, 0]).max() <= 2
    assert 0.1 < np.abs(q[:, 1] - math.pi).max() < 1.0
    np.testing.assert_allclose(q[-1], UP, atol=0.02)
    assert len(mpc.seconds) == 149  # the first one solved the problem
    assert mpc.failures == 0
    assert mpc.worst >= 1.0 / mpc.rate


def test_without_pushes_it_does_what_it_planned():
    """But for what comes into view at the end of the horizon."""
    problem = balance().start(q=[0.3, math.pi], v=0)
    mpc = opt.MPC(problem, iterations=3, barrier=1e-5)
    plan = mpc.reset()
    assert plan.success
    simulator = la.Simulator(problem.mechanism, la.Midpoint(), dt=0.04)
    simulator.reset(q=[0.3, math.pi], v=[0, 0])
    q, u = run(mpc, simulator, 3)
    np.testing.assert_allclose(u[0], plan.u[0, 0], atol=1e-3)
    np.testing.assert_allclose(q, plan.q[1:4], atol=5e-3)
    assert mpc.plan.violation < 1e-6
    np.testing.assert_allclose(mpc.plan.q[0], q[-2], atol=1e-12)


def test_it_begins_from_a_plan():
    """A solution of the problem, where the search stays; not one of another problem."""
    problem = balance().start(q=[0.3, 2.5], v=0)
    mpc = opt.MPC(problem, barrier=1e-6)
    plan = problem.solve(solver="horizon")
    from_guess, from_plan = mpc.reset(), mpc.reset(plan=plan)
    assert plan.success
    assert from_plan.iterations[0].cost == pytest.approx(plan.cost, rel=1e-2)
    assert from_guess.iterations[0].cost > 2.0 * plan.cost
    np.testing.assert_allclose(from_plan.q, plan.q, atol=1e-3)
    with pytest.raises(la.ProblemError, match="plan must be a solution of the same problem"):
        mpc.reset(plan=balance(5).solve(solver="horizon"))


def test_goals_move():
    mpc = opt.MPC(balance())
    simulator = la.Simulator(mpc.problem.mechanism, la.Midpoint(), dt=0.04)
    simulator.reset(q=UP, v=[0, 0])
    mpc.target([0.5, math.pi])
    q, _ = run(mpc, simulator, 120)
    np.testing.assert_allclose(q[-1], [0.5, math.pi], atol=0.02)


def test_a_floating_body_comes_back():
    """Unknowns are counted from the plan of the tick before, so no orientation is singular."""
    robot = la.robots.free_body()
    goal = robot.neutral()
    problem = opt.Problem(robot, steps=8, dt=0.1).start(q=goal, v=0)
    problem.minimize(opt.tracking(goal, 5.0), opt.velocity(), opt.effort(1e-3))
    mpc = opt.MPC(problem, iterations=2)
    simulator = la.Simulator(robot, la.Midpoint(), dt=0.1)
    simulator.reset(q=robot.integrate(goal, [1.5, 1.5, 0.5, 0.3, 0, 0]), v=[0, 2.0, 0, 0, 0, 0])
    q, _ = run(mpc, simulator, 60)
    np.testing.assert_allclose(robot.difference(goal, q[-1]), 0.0, atol=0.02)


WRONG = {
    "needs a Problem": lambda: opt.MPC(3),
    "start with all": lambda: opt.MPC(opt.Problem(la.robots.cart_pole(), steps=5, dt=0.1).minimize(opt.effort())),
    "duration must be given": lambda: opt.MPC(
        opt.Problem(la.robots.cart_pole(), steps=5, duration=(1, 2)).start(q=UP, v=0).minimize(opt.effort())
    ),
    "iterations must": lambda: opt.MPC(balance(5), iterations=0),
    "barrier: expected a number": lambda: opt.MPC(balance(5), barrier=-1.0),
    "hessian must": lambda: opt.MPC(balance(5), hessian="l-bfgs"),
    "is for integrators": lambda: opt.MPC(balance(5, integrator=la.HermiteSimpson())),
    "MPC: q: expected finite": lambda: opt.MPC(balance(5)).step([np.nan, 0], [0, 0]),
    r"MPC: v: expected shape \(2,\)": lambda: opt.MPC(balance(5)).step([0, 0], [0]),
    "target: expected": lambda: opt.MPC(balance(5)).target([1]),
    "has no cost": lambda: opt.MPC(
        opt.Problem(la.robots.cart_pole(), steps=5, dt=0.1).start(q=UP, v=0).minimize(opt.effort())
    ).target(UP),
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_arguments(message):
    with pytest.raises(la.ProblemError, match=message):
        WRONG[message]()


def test_a_hopper_lands_where_it_is_thrown_up():
    """When its toe leaves the ground and touches it again is found in each tick."""
    problem = opt.examples.steady_hopper(steps=12)
    mpc, robot = opt.MPC(problem, iterations=2, barrier=1e-2), problem.mechanism
    simulator = la.Simulator(robot, la.Grounded(), dt=0.02)
    simulator.reset(q=problem.start_position, v=0.7 * np.eye(robot.nv)[1])
    heights = []
    for _ in range(40):
        simulator.step(mpc.step(simulator.q, simulator.v))
        heights.append(simulator.q[1] + simulator.q[4] - 0.75)
    assert max(heights) > 5e-3
    assert min(heights) > -1e-6
    assert heights[-1] == pytest.approx(0.0, abs=1e-5)
    np.testing.assert_allclose(simulator.q, problem.start_position, atol=5e-3)
    assert mpc.failures == 0


def test_a_hopper_that_is_pushed_puts_its_toe_where_it_must():
    """Hopping on the spot it is pushed sideways by 1 m/s, on the ground and in the air: it stays up and comes back."""
    problem = opt.examples.pushed_hopper()
    mpc, robot, steps = opt.MPC(problem, iterations=3, barrier=0.1), problem.mechanism, problem.steps
    simulator = la.Simulator(robot, la.Grounded(), dt=0.02)
    simulator.reset(q=problem.start_position, v=problem.start_velocity)
    way = []
    for k in range(150):
        if k in (5, 65):
            push = (1.0 if k == 5 else -1.0) * np.eye(robot.nv)[0]
            simulator.reset(q=simulator.q, v=simulator.v + push, t=simulator.t)
        mpc.target(hops(0.02 * (k + np.arange(steps + 1))))
        simulator.step(mpc.step(simulator.q, simulator.v))
        way.append(simulator.q)
    x, z, pitch = np.array(way)[:, :3].T
    assert np.abs(x).max() > 0.15  # it had to go along
    assert np.abs(x[-25:]).max() < 0.15
    assert np.abs(pitch).max() < 0.4
    assert z.min() > 0.5
    assert mpc.failures == 0


def test_a_quadrotor_that_is_pushed_takes_no_search():
    """Each tick takes a step, after a few looks along it at most; a line search would take tens where it is refused."""
    b = la.MechanismBuilder("quadrotor")
    b.body("hull", inertia=la.mechanism.Inertia(0.8, (0, 0, 0), (0.008, 0.008, 0.014)))
    b.free("hull", name="flight")
    for k, (x, y, sign) in enumerate(((0.17, 0, 1), (0, 0.17, -1), (-0.17, 0, 1), (0, -0.17, -1))):
        b.thruster(f"rotor{k}", "hull", (y, -x, 0.02 * sign, 0, 0, 1), limits=(0, 6))
    robot = b.build()
    goal, weights = robot.neutral(), np.array([3, 3, 3, 10, 10, 10])
    start = robot.integrate(goal, [0.5, -0.4, 0.3, 1.0, -0.5, 0.4])
    problem = opt.Problem(robot, steps=20, dt=0.02).start(q=start, v=0)
    problem.minimize(opt.tracking(goal, weights), opt.velocity(0.2), opt.effort(1e-2))
    mpc = opt.MPC(problem.minimize(opt.terminal(goal, 10 * weights)))
    simulator = la.Simulator(robot, la.Midpoint(), dt=0.02)
    simulator.reset(q=start)
    looks, whole = [], mpc.program.constraints
    mpc.program.constraints = lambda z, out: (looks.append(z), whole(z, out))[1]
    most = 0
    for k in range(75):
        if k == 30:
            simulator.reset(q=simulator.q, v=simulator.v + [1.5, -1.0, 0.5, 0.5, -0.5, 0.3], t=simulator.t)
        looks.clear()
        u = mpc.step(simulator.q, simulator.v)
        most = max(most, len(looks)) if k else 0
        simulator.step(u)
    assert mpc.failures == 0
    assert most <= 5
    assert np.abs(robot.difference(goal, simulator.q)).max() < 0.3
