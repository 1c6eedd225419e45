"""Shooting by iLQR: its quadratic models, bounds of the controls, swing-ups, contact, and rehearsals of plans."""

import math

import numpy as np
import pytest

import leastaction as la
from leastaction import optimize as opt
from leastaction.mechanism import Inertia, MechanismBuilder, Plane
from leastaction.optimize.shooting.projected_newton import box_minimum
from leastaction.optimize.shooting.stage_costs import Stages, States
from tests.optimize.problems import limb


def test_a_quadratic_with_bounds():
    rng = np.random.default_rng(0)
    for _ in range(20):
        A, g, n = rng.normal(size=(4, 4)), 3.0 * rng.normal(size=4), 4
        H, lower, upper = A @ A.T + 0.1 * np.eye(n), -rng.uniform(0, 1, n), rng.uniform(0, 1, n)
        x, free = np.zeros(n), np.zeros(n, np.int64)
        count = box_minimum(H, g, lower, upper, x, free, (np.zeros((n, n)), *np.zeros((3, n))))
        slope = H @ x + g
        np.testing.assert_allclose(slope[free[:count]], 0.0, atol=1e-9)
        assert count == ((lower < x) & (x < upper)).sum()
        assert (slope[x <= lower] >= -1e-9).all()
        assert (slope[x >= upper] <= 1e-9).all()
        assert ((lower <= x) & (x <= upper)).all()
    wide, work = np.full(2, np.inf), (np.zeros((2, 2)), *np.zeros((3, 2)))
    assert box_minimum(-np.eye(2), np.ones(2), -wide, wide, np.zeros(2), np.zeros(2, np.int64), work) == -1


def test_gradients_of_costs_and_constraints():
    """Of a robot with a free base, by states (q, p) and controls, against central differences."""
    robot, rng, N = limb(), np.random.default_rng(3), 2
    problem = opt.Problem(robot, steps=N, dt=0.1).start(q=robot.neutral(), v=0)
    problem.finish(q=robot.random_configuration(rng), v=rng.normal(size=robot.nv))
    problem.minimize(opt.effort(0.3), opt.velocity(0.2), opt.tracking(robot.random_configuration(rng), 0.5))
    problem.minimize(opt.momentum(0.1), opt.reach("tool", [0.1, 0.2, 0.3])).bounds(v=(-0.1, 0.1))
    stages = Stages(problem, 0.1, 2.0)
    q = robot.integrate(np.tile(robot.neutral(), (N + 1, 1)), 0.3 * rng.normal(size=(N + 1, robot.nv)))
    p = la.dynamics.legendre.momentum_of_velocity(robot, q, rng.normal(size=(N + 1, robot.nv)))
    u = rng.normal(size=(N, robot.nu))

    def states(q, p, u):
        return States(q, p, la.dynamics.legendre.velocity_of_momentum(robot, q, p), u)

    stages.press(states(q, p, u), 3.0)
    model, n, h = stages.quadratic(states(q, p, u)), robot.nv, 1e-6
    for k in range(N + 1):
        for j in range(2 * n):
            values = []
            for sign in (1.0, -1.0):
                x = np.zeros((N + 1, 2 * n))
                x[k, j] = sign * h
                values.append(stages.value(states(robot.integrate(q, x[:, :n]), p + x[:, n:], u))[1])
            assert model.x[k, j] == pytest.approx(
                (values[0] - values[1]) / (2 * h), rel=1e-5, abs=1e-6 * np.abs(model.x).max()
            )
    du = rng.normal(size=u.shape)
    ahead, back = (stages.value(states(q, p, u + sign * h * du))[1] for sign in (1.0, -1.0))
    assert (model.u * du).sum() == pytest.approx((ahead - back) / (2 * h), rel=1e-6)


def swing_up(steps, integrator=None):
    problem = opt.Problem(la.robots.cart_pole(), steps=steps, duration=2.0, integrator=integrator)
    problem.start(q=[0, 0], v=[0, 0]).finish(q=[0, math.pi], v=[0, 0]).bounds(u=(-9, 9), q={"rail": (-2, 2)})
    return problem.minimize(opt.effort()).guess(u=[0.1])


@pytest.mark.parametrize("integrator", [la.Midpoint(), la.Galerkin(order=4)], ids=["midpoint", "simpson"])
def test_a_swing_up(integrator):
    """It ends upright, within bounds that bind, as a run of its integrator; and feedback is worth something."""
    problem = swing_up(30, integrator)
    shot = opt.ilqr(problem)
    assert shot.success, str(shot)
    assert shot.violation <= 1e-4
    np.testing.assert_allclose(shot.q[-1], [0, math.pi], atol=1e-4)
    np.testing.assert_allclose(shot.v[-1], 0.0, atol=1e-4)
    assert np.abs(shot.u).max() == 9.0
    np.testing.assert_allclose(shot.replay().q, shot.q, atol=1e-9)
    run = shot.tracker.simulate(q=[0.03, 0.03])
    assert abs(run.q[-1, 1] - math.pi) < 0.05


def test_it_costs_what_the_direct_method_finds():
    pytest.importorskip("casadi")
    problem = swing_up(30)
    direct, shot = problem.solve(), opt.ilqr(problem, tolerance=1e-8)
    assert shot.cost == pytest.approx(direct.cost, rel=1e-2)


def test_states_that_were_guessed_become_a_motion():
    problem = swing_up(30)
    angles = np.linspace(0.0, 1.0, 31)[:, None] * [0.0, math.pi]
    shot = opt.ilqr(problem.guess(q=angles))
    assert shot.success, str(shot)
    np.testing.assert_allclose(shot.replay().q, shot.q, atol=1e-7)


def sled():
    """A box of 2 kg on rough ground that a motor pushes ahead; nothing lifts it."""
    b = MechanismBuilder("sled")
    b.add_shape("world", Plane())
    b.body("motor", inertia=Inertia(0.5, (0, 0, 0), 0.01))
    b.prismatic("ahead", "world", "motor", axis="x")
    b.body("box", inertia=Inertia(2.0, (0, 0, 0), 0.02))
    b.prismatic("up", "motor", "box", axis="z")
    b.contact("skid", "box", (0, 0, -0.1), friction=0.5)
    b.actuator("push", "ahead", limits=(-40, 40))
    return b.build()


def test_a_box_is_pushed_along_rough_ground():
    """Through steps with contact: friction, which the motor must overcome, stops it at the place asked for."""
    robot = sled()
    problem = opt.Problem(robot, steps=20, dt=0.02, integrator=la.Maximal(order=1, smoothing=1e-3))
    problem.start(q=[0, 0.1], v=0).finish(q={"ahead": 0.2}, v=0).minimize(opt.effort()).guess(u=[12.0])
    shot = opt.ilqr(problem, violation=1e-3)
    assert shot.success, str(shot)
    assert shot.u.max() > 0.5 * 2.0 * 9.81  # friction
    rigid = shot.replay(la.Maximal(order=1))
    assert rigid.q[-1, 0] == pytest.approx(0.2, abs=0.02)
    assert (rigid.q[:, 1] > 0.1 - 1e-6).all()


def test_a_plan_is_rehearsed():
    """A plan with contacts that were found with it becomes a run of the simulator."""
    pytest.importorskip("casadi")
    problem = opt.Problem(sled(), steps=10, duration=0.4).start(q=[0, 0.1], v=0).finish(q=[0.2, 0.1], v=0)
    plan = problem.minimize(opt.effort(1e-2), opt.velocity()).contact().solve()
    assert plan.success, str(plan)
    shot = opt.rehearse(plan)
    assert shot.success, str(shot)
    assert np.abs(shot.q - plan.q).max() < 0.01
    run = shot.track(integrator=la.Maximal(order=1), dt=0.01)
    assert run.q[-1, 0] == pytest.approx(0.2, abs=0.01)
    fine = opt.rehearse(plan, dt=0.01)  # with the steps of the run that is to follow
    assert fine.success, str(fine)
    assert np.abs(fine.q[::4] - plan.q).max() < 0.01
    follows = np.abs(fine.track(integrator=la.Maximal(order=1)).q - fine.q).max()
    drifts = np.abs(run.q[::4] - shot.q).max()
    assert follows < 0.5 * drifts
    with pytest.raises(la.ProblemError, match=r"dt must be 0\.04 s, the step of the solution, or a whole part of it"):
        opt.rehearse(plan, dt=0.03)


def test_a_robot_does_not_fall_over_the_closing_of_gaps():
    """A guess whose states jump about: gaps close by and by where closing them all at once swings an acrobot over."""
    up, N = [math.pi, 0.0], 40
    q = up + 0.05 * np.random.default_rng(0).normal(size=(N + 1, 2))
    problem = opt.Problem(la.robots.acrobot(), steps=N, dt=0.05).start(q=up, v=0).bounds(u=(-20, 20))
    problem.minimize(opt.tracking(up, 100.0), opt.effort(1e-5)).guess(q=q)
    shot = opt.ilqr(problem, max_iterations=30, tolerance=1e-4)
    assert shot.success, str(shot)
    assert shot.cost < 1e-6
    assert max(entry.cost for entry in shot.iterations) < 100


def test_servos_follow_a_plan():
    """Stiff ones keep to it from a start that is off, and push with what the motor had to push with."""
    pytest.importorskip("casadi")
    problem = opt.Problem(sled(), steps=10, duration=0.4).start(q=[0, 0.1], v=0).finish(q=[0.2, 0.1], v=0)
    plan = problem.minimize(opt.effort(1e-2), opt.velocity()).contact().solve()
    loose = plan.replay(la.Maximal(order=1), dt=0.01)
    run = opt.servo_track(plan, kp=2e4, kv=400.0, q=[0.02, 0.1], integrator=la.Maximal(), dt=0.01)
    off = np.abs(run.q[::4, 0] - plan.q[:, 0])
    assert off[0] == pytest.approx(0.02)
    assert off[5:].max() < 2e-3
    assert off[-1] < 0.2 * abs(loose.q[-1, 0] - plan.q[-1, 0] + 0.02)
    forces = opt.servo_forces(run)
    assert forces.shape == (40, 1)
    # Work of the servo: what friction took, and the kinetic energy, which is zero at the end.
    work = float((forces[:, 0] * np.diff(run.q[:, 0])).sum())
    friction = 0.5 * 2.0 * 9.81 * float(np.abs(np.diff(run.q[:, 0])).sum())
    assert work == pytest.approx(friction, rel=0.1)


def test_servos_of_what_cannot_have_them():
    acrobot, pendulum = la.robots.acrobot(), la.robots.double_pendulum()
    problem = opt.Problem(acrobot, steps=4, dt=0.1).start(q=[0, 0], v=0)
    plan = problem.minimize(opt.effort()).solve(solver="horizon")
    free = opt.Problem(pendulum, steps=4, dt=0.1).start(q=[0, 0], v=0).minimize(opt.effort()).solve(solver="horizon")
    for message, call in (
        ("needs a Solution", lambda: opt.servo_track(problem, kp=1, kv=1)),
        ("kp must be positive", lambda: opt.servo_track(plan, kp=0, kv=1)),
        (r"kv: expected a number or shape \(1,\)", lambda: opt.servo_track(plan, kp=1, kv=[1, 2, 3])),
        ("mechanism must be", lambda: opt.servo_track(plan, la.robots.four_bar(), kp=1, kv=1)),
        ("has no actuators", lambda: opt.servo_track(free, kp=1, kv=1)),
        ("other actuators than servos", lambda: opt.servo_forces(plan.trajectory)),
    ):
        with pytest.raises(la.ProblemError, match=message):
            call()


def test_bad_problems_say_so():
    pendulum = la.robots.double_pendulum()
    good = opt.Problem(pendulum, steps=4, dt=0.1).start(q=[0, 0], v=0).minimize(opt.effort())
    free = opt.Problem(pendulum, steps=4, duration=(0.3, 0.5)).start(q=[0, 0], v=0).minimize(opt.effort())
    loop = opt.Problem(la.robots.four_bar(), steps=4, dt=0.1).start(q=la.robots.four_bar().neutral(), v=0)
    for message, call in (
        ("needs a Problem", lambda: opt.ilqr("swing")),
        ("start: q and v", lambda: opt.ilqr(opt.Problem(pendulum, steps=4, dt=0.1).minimize(opt.effort()))),
        ("final time must be given", lambda: opt.ilqr(free)),
        ("nothing to minimise", lambda: opt.ilqr(opt.Problem(pendulum, steps=4, dt=0.1).start(q=[0, 0], v=0))),
        ("closed loops", lambda: opt.ilqr(loop.minimize(opt.effort()))),
        ("tolerance", lambda: opt.ilqr(good, tolerance=-1)),
        ("needs a Solution", lambda: opt.rehearse(good)),
    ):
        with pytest.raises(la.ProblemError, match=message):
            call()
    late = opt.ilqr(swing_up(20), max_iterations=1)
    assert not late.success
    assert "too many iterations: the largest violation" in late.reason
    assert "finish" in late.reason


def test_what_is_not_finite_is_named():
    """A value of a cost, and a derivative of a constraint, at the knot or step where it is."""

    def steep(q):
        return [q[0]], np.array([[np.nan if q[0] > -1e9 else 1.0, 0.0]])

    none = np.zeros((1, 2)), np.zeros((1, 2)), np.zeros((1, 1))
    root = opt.cost(lambda q, v, u: ([np.nan], *none), name="my root")
    for problem, words in (
        (swing_up(4).minimize(root), "the cost 'my root' at step 0 is not finite"),
        (
            swing_up(4).subject_to(opt.constraint(steep, -9, 9, name="my slope", at=2)),
            "the derivative of the constraint 'my slope' at knot 2 is not finite",
        ),
    ):
        shot = opt.ilqr(problem)
        assert not shot.success
        assert words in shot.reason


def test_a_step_without_a_derivative_ends_the_search_with_the_motion_so_far(monkeypatch):
    """Such as one that was divided too finely; what was found before is a run, and the reason says which step."""
    problem = opt.Problem(la.robots.cart_pole(), steps=20, duration=1.0, integrator=la.Galerkin(order=2))
    problem.start(q=[0, 0], v=0).minimize(opt.terminal([0.5, 0.0], 10.0), opt.effort(1e-3))
    stepper, calls = type(problem.integrator.prepare(problem.mechanism, 0.05)), []
    ordinary = stepper.linearize

    def linearize(self, *state):
        calls.append(1)
        if len(calls) > 20:
            raise la.IntegratorError("step 7 has no derivative")
        return ordinary(self, *state)

    monkeypatch.setattr(stepper, "linearize", linearize)
    shot = opt.ilqr(problem)
    assert not shot.success
    assert "step 7 has no derivative" in shot.reason
    assert len(shot.iterations) > 1
    assert np.abs(shot.replay().q - shot.q).max() < 1e-9
