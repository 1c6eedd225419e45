"""Problems that are solved, and problems that cannot be."""

import math

import numpy as np
import pytest
from typer.testing import CliRunner

import leastaction as la
from leastaction import optimize as opt
from leastaction.cli import app
from leastaction.optimize.functions.derivative_check import check_user_derivatives
from tests.optimize.problems import limb, swing_up

pytest.importorskip("casadi")


@pytest.mark.parametrize("hessian", ["exact", "differences", "gauss-newton", "quasi-newton", "l-bfgs"])
def test_a_cart_pole_swings_up(hessian):
    solution = swing_up().solve(hessian=hessian)
    assert solution.success, str(solution)
    assert solution.violation < 1e-7
    np.testing.assert_allclose(solution.q[-1], [0, math.pi], atol=1e-9)
    assert np.abs(solution.u).max() <= 20 + 1e-6
    assert solution.cost == pytest.approx(75.807018, rel=1e-6)  # all find the same minimum


def test_the_solution_is_a_run_of_its_integrator():
    """What the optimiser calls dynamics is what the simulator steps."""
    solution = swing_up().solve()
    run = solution.replay()
    np.testing.assert_allclose(run.q, solution.q, atol=1e-6)
    np.testing.assert_allclose(run.p, solution.trajectory.p, atol=1e-6)


def test_a_plan_with_steps_too_long_says_where_the_run_leaves_it(recwarn):
    """All constraints hold, to 1e-10, by solutions that the simulator does not take; with 60 steps it does."""

    def plan(steps, **options):
        problem = opt.Problem(la.robots.double_pendulum(), steps=steps, duration=2.0).start(q=[0, 0], v=0)
        return problem.finish(q=[1.0, 0.5], v=0).minimize(opt.effort()).solve(**options)

    coarse = plan(30)
    assert coarse.converged
    assert not coarse.success
    assert not coarse.replays
    assert coarse.reason.startswith("the run leaves the plan at step 18")
    assert "not solved: the run leaves" in str(coarse)
    with pytest.warns(la.errors.ReplayWarning, match=r"plan at step 18 \(t = 1.2 s\), by 0.0032 in 'joint2'"):
        coarse.replay()
    recwarn.clear()
    coarse.replay(la.Galerkin(order=4))
    coarse.replay(dt=0.01)
    for allowed in (10.0, np.inf):
        as_far = plan(30, replay_tolerance=allowed)
        assert as_far.success
        assert not as_far.reason
    with pytest.raises(la.ProblemError, match="replay_tolerance"):
        plan(30, replay_tolerance=0.0)
    fine = plan(60)
    assert fine.replays
    assert fine.success
    np.testing.assert_allclose(fine.replay().q, fine.q, atol=1e-8)
    assert not [w for w in recwarn if issubclass(w.category, la.errors.ReplayWarning)]


def test_plans_with_loops_say_so_too():
    """What ties joints together makes them no plans with contacts, of which nothing is said."""
    b = la.robots.double_pendulum().edit()
    b.body("wheel", mass=0.01, inertia=1e-5)
    b.revolute("axle", "world", "wheel", axis="y", position=(1.0, 0.0, 0.0))
    b.coupling("gear", "axle", "joint1", ratio=-1.0)
    problem = opt.Problem(b.build(), steps=30, duration=2.0).start(q=[0, 0, 0], v=0)
    coarse = problem.finish(q={"joint1": 1.0, "joint2": 0.5}, v=0).minimize(opt.effort()).solve()
    assert coarse.converged
    assert not coarse.success
    assert coarse.complementarity == 0.0
    with pytest.warns(la.errors.ReplayWarning, match="leaves the plan at step 17"):
        coarse.replay()


@pytest.mark.parametrize("controls", ["linear", "nodes"])
def test_so_is_one_of_simpson(controls):
    problem = swing_up(12, integrator=la.Galerkin(order=4), controls=controls)
    solution = problem.solve()
    assert solution.success, str(solution)
    run = solution.replay()
    np.testing.assert_allclose(run.q, solution.q, atol=1e-5)


@pytest.mark.parametrize("integrator", [la.ImplicitTrapezoidal(), la.HermiteSimpson()], ids=["trapezoid", "simpson"])
def test_so_is_one_of_collocation(integrator):
    solution = swing_up(20, integrator=integrator).solve()
    assert solution.success, str(solution)
    np.testing.assert_allclose(solution.replay().q, solution.q, atol=1e-5)


def test_an_acrobot_swings_up():
    problem = opt.Problem(la.robots.acrobot(), steps=40, duration=3.0)
    problem.start(q=[0, 0], v=[0, 0]).finish(q=[math.pi, 0], v=[0, 0]).bounds(u=(-40, 40)).minimize(opt.effort())
    solution = problem.solve()
    assert solution.success, str(solution)


def test_the_shortest_time():
    """A unit mass on a rail, pushed by at most 1 N over 1 m, takes 2 s, whatever else."""
    b = la.MechanismBuilder("mass")
    b.body("block", inertia=la.mechanism.Inertia(1.0, (0, 0, 0), 1.0))
    b.prismatic("rail", "world", "block", axis="x")
    b.actuator("push", "rail", limits=(-1.0, 1.0))
    problem = opt.Problem(b.build(), steps=20, duration=(0.1, 10.0)).start(q=[0], v=[0]).finish(q=[1], v=[0])
    solution = problem.minimize(opt.time()).solve()
    assert solution.success, str(solution)
    assert solution.duration == pytest.approx(2.0, abs=1e-5)


def test_a_floating_body_turns_over():
    """By more than half a turn from where the search begins, through orientations that Euler angles cannot pass."""
    b = la.MechanismBuilder("satellite", gravity=(0, 0, 0))
    b.body("hull", inertia=la.mechanism.Inertia(1.0, (0, 0, 0), (0.1, 0.2, 0.3)))
    b.free("hull", name="flight")
    robot = b.build()
    goal = robot.integrate(robot.neutral(), [0.3, 2.6, 0.4, 1.0, 0.0, 0.5])
    problem = opt.Problem(robot, steps=16, duration=2.0).start(q=robot.neutral(), v=0).finish(q=goal, v=0)
    problem.minimize(opt.effort()).guess(q=np.tile(robot.neutral(), (17, 1)))
    solution = problem.solve()
    assert solution.success, str(solution)
    np.testing.assert_allclose(robot.difference(solution.q[-1], goal), 0.0, atol=1e-9)
    np.testing.assert_allclose(robot.difference(solution.replay().q[-1], goal), 0.0, atol=1e-5)


def test_constraints_hold_along_the_way():
    robot = la.robots.double_pendulum()
    problem = opt.Problem(robot, steps=30, duration=1.5).start(q=[0, 0], v=0)
    problem.minimize(opt.effort(), opt.velocity(1e-3))
    problem.subject_to(
        opt.position("link2", [np.nan, 0, 1.0], point=(0, 0, -1.0), at=-1),
        opt.clearance("link2", (1.2, 0, 0), 0.6, point=(0, 0, -1.0)),
    )
    solution = problem.solve()
    assert solution.converged, str(solution)
    tips = np.array([(la.dynamics.body_poses(robot, q)[1] @ [0, 0, -1.0, 1.0])[:3] for q in solution.q])
    assert tips[-1, 2] == pytest.approx(1.0, abs=1e-6)
    assert (np.linalg.norm(tips - [1.2, 0, 0], axis=1) > 0.6 - 1e-6).all()


def test_a_warm_start_takes_fewer_iterations():
    first = swing_up().solve()
    problem = swing_up()
    problem.finish(q=[0.05, math.pi], v=[0, 0])
    cold, warm = problem.solve(), problem.solve(warm_start=first)
    assert warm.success
    assert warm.cost == pytest.approx(cold.cost, rel=1e-6)
    assert len(warm.iterations) < len(cold.iterations)


def test_many_starts_find_the_cheapest_first():
    problem = swing_up(16)
    found = opt.multi_start(problem, 3, max_iterations=60)
    assert len(found) == 3
    assert found[0].success
    assert found[0].cost == min(solution.cost for solution in found if solution.success)
    assert problem._guess == {}
    with pytest.raises(la.ProblemError, match="starts must"):
        opt.multi_start(problem, 0)


def test_many_starts_of_contact():
    """Relaxed and tightened like a single solve."""
    problem = opt.examples.hopper(6)
    found = opt.multi_start(problem, 1, max_iterations=100)
    assert found[0].complementarity < 1e-4
    assert found[0].iterations == problem.solve(max_iterations=100).iterations


def test_a_cost_serves_several_problems():
    cost = opt.velocity()
    first = swing_up(4).minimize(cost)
    opt.Problem(limb(), steps=2, dt=0.1).minimize(cost)
    assert first.costs[-1].function.size == 2
    assert first.solve().success


def test_accuracy_between_knots_improves_with_their_number():
    """Of second order at least: |x' - f| over a step falls faster than the step."""
    coarse, fine = (swing_up(n).solve().error for n in (20, 40))
    assert fine < coarse / 4


def test_so_does_that_of_a_floating_body():
    coarse, fine = (opt.examples.satellite(steps=n).solve().error for n in (10, 20))
    assert fine < coarse / 3


def test_files(tmp_path):
    solution = swing_up(10).solve()
    solution.save(tmp_path / "swing.npz")
    again = opt.load(tmp_path / "swing.npz")  # with the robot and the integrator
    assert again.success is True
    assert again.iterations == solution.iterations
    np.testing.assert_array_equal(again.trajectory.p, solution.trajectory.p)
    np.testing.assert_array_equal(again.replay().q, solution.replay().q)
    run = la.Trajectory.load(tmp_path / "swing.npz")  # to view, plot and export
    np.testing.assert_array_equal(run.v, solution.trajectory.v)
    np.testing.assert_array_equal(run.stored["u"], solution.trajectory.stored["u"])
    assert la.view.export_html(run, tmp_path / "swing.html").exists()
    assert CliRunner().invoke(app, ["export", str(tmp_path / "swing.npz"), "--csv"]).exit_code == 0
    with pytest.raises(la.FormatError, match="not of 'acrobot'"):
        opt.load(tmp_path / "swing.npz", la.robots.acrobot())
    with pytest.raises(la.FormatError, match="no solution"):
        opt.load(__file__, la.robots.acrobot())
    with pytest.raises(la.FormatError, match="there is no such file"):
        opt.load(tmp_path / "nowhere.npz", la.robots.cart_pole())
    run.save(tmp_path / "run.npz")
    with pytest.raises(la.FormatError, match=r"Trajectory\.load reads runs"):
        opt.load(tmp_path / "run.npz")


def test_files_without_a_robot_ask_for_one(tmp_path):
    """Such as older versions wrote."""
    solution = swing_up(10).solve()
    solution.save(tmp_path / "swing.npz")
    with np.load(tmp_path / "swing.npz") as file:
        older = {name: file[name] for name in file if name != "about"}
    np.savez(tmp_path / "older.npz", **older)
    with pytest.raises(la.FormatError, match="give load the Mechanism"):
        opt.load(tmp_path / "older.npz")
    assert opt.load(tmp_path / "older.npz", la.robots.cart_pole()).cost == solution.cost


def test_a_problem_reads_like_its_mathematics():
    text = repr(opt.examples.cart_pole().subject_to(opt.center_of_mass(lower=-2, upper=2)))
    for words in (
        "minimise   integral of |effort|^2 dt",
        "q_0 ... q_60 of 'cart_pole' (2 degrees of freedom), controls u (1), T = 2 s",
        "such that  Midpoint() moves it",
        "q(T) = (0, 3.142), v(T) = 0",
        "-20 <= u['motor'] <= 20",
        "<= center of mass <=",
    ):
        assert words in text


def test_an_integrator_without_such_equations_is_refused():
    """At once where nothing can be done with it; those through which `ilqr` shoots, by `solve`."""
    robot, message = la.robots.cart_pole(), "has no equations of a discrete action"
    for integrator, options in (
        (la.BDF(), {"dt": 0.1}),
        (la.Grounded(), {"duration": (0.5, 1.0)}),
        (la.Grounded(), {"dt": 0.1, "controls": "linear"}),
    ):
        with pytest.raises(la.IntegratorError, match=message):
            opt.Problem(robot, steps=5, integrator=integrator, **options)
    for integrator in (la.Maximal(), la.Grounded()):
        problem = opt.Problem(robot, steps=5, dt=0.1, integrator=integrator).minimize(opt.effort())
        with pytest.raises(la.IntegratorError, match=f"{type(integrator).__name__} {message}.*ilqr"):
            problem.solve()


@pytest.mark.parametrize("solver", ["ipopt", "horizon"])
def test_progress_is_told(solver, monkeypatch):
    from leastaction._display import progress

    seen = []
    monkeypatch.setattr(progress.Progress, "update", lambda self, done, words="": seen.append((done, words)))
    solution = swing_up(10).solve(solver=solver, progress=True)
    assert [done for done, _ in seen] == list(range(len(solution.iterations)))
    assert seen[0][1].startswith("cost ")
    with pytest.raises(la.ProblemError, match="progress must be"):
        swing_up(10).solve(progress=1)


def test_log_and_limits():
    seen = []
    solution = swing_up().solve(log=seen.append, max_iterations=3)
    assert not solution.success
    assert "too many iterations" in solution.reason
    assert "dynamics" in solution.reason
    assert [i.number for i in seen] == [0, 1, 2, 3]
    solution = swing_up(60).solve(time_limit=1e-3)
    assert not solution.success
    assert "too long" in solution.reason


def test_ctrl_c_gives_the_best_so_far():
    def stop(iteration):
        if iteration.number == 4:
            raise KeyboardInterrupt

    solution = swing_up().solve(log=stop)
    assert not solution.success
    assert "stopped" in solution.reason
    assert solution.violation == min(i.violation for i in solution.iterations)


# ---------------------------------------------------------------------- what cannot be


def test_an_unreachable_goal_names_the_constraint():
    """Iterations are enough: a goal within reach is met with as many."""

    def reach(place):
        problem = opt.Problem(la.robots.double_pendulum(), steps=8, duration=1.0).start(q=[0, 0], v=0)
        problem.minimize(opt.effort()).subject_to(opt.position("link2", place, at=-1))
        return problem.solve(max_iterations=60)

    solution = reach([5, 0, 0])
    assert not solution.success
    assert "position link2 (x) at knot 8" in solution.reason
    assert reach([math.sin(0.3), 0, -math.cos(0.3)]).converged


@pytest.mark.parametrize("solver", ["ipopt", "horizon"])
def test_what_is_given_may_contradict_a_constraint(solver):
    """Then nothing is searched for, and the constraint is named, not the dynamics."""
    problem = swing_up(20).subject_to(opt.clearance("pole", (0, 0, 0), 0.1))
    solution = problem.solve(solver=solver)
    assert not solution.success
    assert not solution.iterations
    assert "what is given contradicts clearance pole (0) at knot 0 by 0.1" in solution.reason


@pytest.mark.parametrize("solver", ["ipopt", "horizon"])
def test_a_cost_without_a_minimum_is_named(solver):
    """Not the dynamics, which such a search leaves; costs with a minimum are not blamed."""

    def ahead(q):
        return [-q[0]], [[-1.0, 0.0]]

    problem = opt.Problem(la.robots.cart_pole(), steps=10, duration=1.0).start(q=[0, 0], v=0)
    endless = problem.minimize(opt.cost(ahead, where="knots", name="ahead")).solve(solver=solver)
    assert not endless.success
    assert "seems to have no minimum" in endless.reason
    assert "by its term 'ahead'" in endless.reason
    early = swing_up(10).minimize(opt.cost(ahead, where="knots")).solve(solver=solver, max_iterations=2)
    assert "minimum" not in early.reason


def test_loops_are_not_opened_by_given_velocities():
    robot = la.robots.four_bar()
    q = la.dynamics.close_loops(robot, la.robots.home(robot))
    problem = opt.Problem(robot, steps=5, duration=0.5).start(q=q, v=[1, 0, 0]).minimize(opt.effort())
    with pytest.raises(la.ProblemError, match="start: v opens the loop"):
        problem.transcribe()


def test_too_little_force():
    """Iterations are enough: with more force as many will do."""
    solution = swing_up(20).bounds(u=(-0.01, 0.01)).solve(max_iterations=60)
    assert not solution.success
    assert "dynamics" in solution.reason
    assert swing_up(20).bounds(u=(-50, 50)).solve(max_iterations=60).converged


def test_a_cost_that_is_not_a_number():
    def root(q, v, u):
        return (
            [math.sqrt(-1.0 - q[0] ** 2) if q[0] < -1e9 else np.nan],
            np.zeros((1, 2)),
            np.zeros((1, 2)),
            np.zeros((1, 1)),
        )

    problem = swing_up(6).minimize(opt.cost(root, name="my root"))
    solution = problem.solve()
    assert not solution.success
    assert "my root" in solution.reason
    assert "not finite" in solution.reason
    assert " 0 iterations" in str(solution)


@pytest.mark.parametrize("solver", ["ipopt", "horizon"])
def test_a_derivative_that_is_not_a_number(solver):
    def steep(q):
        return [q[0]], np.array([[np.nan, 0.0]])

    solution = swing_up(6).subject_to(opt.constraint(steep, upper=1, name="my slope")).solve(solver=solver)
    assert not solution.success
    assert "the derivative of the constraint 'my slope' at knots 0 is not finite" in solution.reason


@pytest.mark.parametrize("solver", ["ipopt", "horizon"])
def test_a_wrong_derivative_is_named(solver):
    """A sign, a factor that does not show at rest, a term of another degree of freedom; kinks and edges are not."""

    def kinked(q):
        kink, root = np.maximum(q, 0.0), np.sqrt(np.where(q < 1e-2, np.nan, q))
        return [kink[0], abs(q[1]), root[1]], [[float(q[0] > 0), 0], [0, np.sign(q[1])], [0, 0.5 / root[1]]]

    for function, where, words in (
        (lambda q: ([q[0]], [[-1.0, 0]]), "knots", "mine: .* value 0 by q of 'rail' is -1, but differences give 1"),
        (lambda q: (np.sin(q), np.eye(2)), "knots", "mine: .* by q of '"),
        (lambda q, v, u: (u**2, [0, 0], [0, 0], u), "steps", "mine: .* value 0 by u of 'motor'"),
        (lambda q, v, u: ([v[0] * v[1]], [0, 0], [v[1], 0], [0]), "steps", "mine: .* value 0 by v of 'pivot'"),
    ):
        problem = swing_up(6).subject_to(opt.constraint(function, -9, 9, where=where, name="mine"))
        with pytest.raises(la.ProblemError, match=words):
            problem.solve(solver=solver)
    places = np.zeros((3, 2)), np.zeros((2, 2)), np.zeros((2, 1))
    problem = swing_up(6).subject_to(opt.constraint(kinked, -9, 9))
    check_user_derivatives([problem.constraints[-1].function], *places)


def test_errors_of_a_users_function_come_through():
    calls = []

    def broken(q, v, u):
        calls.append(1)
        if len(calls) > 20:
            raise ZeroDivisionError("mine")
        return [0.0], np.zeros((1, 2)), np.zeros((1, 2)), np.zeros((1, 1))

    with pytest.raises(ZeroDivisionError, match="mine"):
        swing_up(6).minimize(opt.cost(broken)).solve()


def ill_posed():
    pole = la.robots.cart_pole()
    yield "steps must", lambda: opt.Problem(pole, steps=0, dt=0.1)
    yield "either dt", lambda: opt.Problem(pole, steps=5)
    yield "positive", lambda: opt.Problem(pole, steps=5, dt=-0.1)
    yield "shortest first", lambda: opt.Problem(pole, steps=5, duration=(2, 1))
    yield "needs a Mechanism", lambda: opt.Problem("cart_pole", steps=5, dt=0.1)
    yield r"write Midpoint\(\)", lambda: opt.Problem(pole, steps=5, dt=0.1, integrator=la.Midpoint)
    yield r"start: q: expected shape \(2,\), got \(3,\)", lambda: swing_up(5).start(q=[0, 0, 0])
    yield "finish: v: expected finite", lambda: swing_up(5).finish(v=[0, np.nan])
    yield "there is no 'pivto'; did you mean 'pivot'", lambda: swing_up(5).bounds(v={"pivto": (0, 1)})
    yield "u of 'motor': lower 30 is above upper 20", lambda: swing_up(5).bounds(u=(30, 40))
    yield "u of 'motor': lower inf leaves nothing below upper inf", lambda: swing_up(5).bounds(u=(np.inf, np.inf))
    yield (
        "mine: lower -inf leaves nothing below upper -inf",
        lambda: swing_up(5).subject_to(opt.constraint(lambda q: ([q[0]], [[1.0, 0]]), -np.inf, -np.inf, name="mine")),
    )
    yield "replay: dt .* positive, got 0", lambda: swing_up(8).solve(max_iterations=1).replay(dt=0)
    yield r"bounds: u: expected \(lower, upper\)", lambda: swing_up(5).bounds(u=3)
    yield "outside its bounds", lambda: swing_up(5).bounds(q={"pivot": (-1, 1)}).transcribe()
    yield (
        r"position pole \(0\): lower 1 is above upper 0",
        lambda: swing_up(5).subject_to(opt.position("pole", lower=1, upper=0)),
    )
    yield "weight", lambda: swing_up(5).minimize(opt.effort([1, 2]))
    yield "not be negative", lambda: swing_up(5).minimize(opt.effort(-1))
    yield "expected a cost", lambda: swing_up(5).minimize(3)
    yield (
        r"tracking: reference: expected shape \(2,\) or shape \(6, 2\), got \(3,\)",
        lambda: swing_up(5).minimize(opt.tracking([0, 0, 0])),
    )
    yield "no rotation", lambda: swing_up(5).subject_to(opt.pose("pole", 2 * np.eye(4)))
    yield (
        "whole numbers from -6 to 5",
        lambda: swing_up(5).subject_to(opt.position("pole", [0, 0, 0], at=9)).transcribe(),
    )
    yield (
        "derivative by u",
        lambda: swing_up(5).minimize(opt.cost(lambda q, v, u: ([0.0], np.zeros(2), np.zeros(2), np.zeros(2)))),
    )
    yield r"called as f\(q, v, u\) in the middles", lambda: swing_up(5).minimize(opt.cost(lambda q: [0.0]))
    yield (
        r"called as f\(q\) at knots",
        lambda: swing_up(5).subject_to(opt.constraint(lambda q, v, u: [0.0], upper=1)),
    )
    yield (
        "mine: with kind 'casadi' .* symbols q, v, u of 2, 2, 1 entries.*: 'to_double' not defined",
        lambda: swing_up(5).minimize(opt.cost(lambda q, v, u: math.sin(q[0]), kind="casadi", name="mine")),
    )
    yield (
        r"mine: with kind 'casadi' .*: Wrong number or type of arguments for overloaded function '_vertcat'.$",
        lambda: swing_up(5).subject_to(opt.constraint(lambda q: "far", kind="casadi", name="mine")),
    )
    yield "no contacts to relax", lambda: swing_up(5).solve(relaxations=[1.0])
    yield "IPOPT refuses one of 'mu_first'", lambda: swing_up(5).solve(options={"mu_first": 1.0})
    yield "nothing to do", lambda: opt.Problem(pole, steps=5, dt=0.1).transcribe()
    yield (
        "single axes",
        lambda: opt.Problem(limb(), steps=2, dt=0.1, integrator=la.HermiteSimpson()).finish(v=0).transcribe(),
    )
    yield "controls must be", lambda: swing_up(5, controls="bent").transcribe()
    yield "hessian must be", lambda: swing_up(5).solve(hessian="exact?")
    yield "more equations", lambda: swing_up(2).solve()
    yield "ball and free joints take no bounds", lambda: opt.Problem(limb(), steps=2, dt=0.1).bounds(q=(-1, 1))
    yield "as a whole", lambda: opt.Problem(limb(), steps=2, dt=0.1).start(q={"base.x": 1.0})


@pytest.mark.parametrize(("message", "make"), list(ill_posed()), ids=[m for m, _ in ill_posed()])
def test_ill_posed_problems_say_why(message, make):
    with pytest.raises(la.ProblemError, match=message):
        make()


def test_integrators_without_equations_name_one_that_has():
    with pytest.raises(la.IntegratorError, match="Galerkin"):
        swing_up(5, integrator=la.RungeKutta()).transcribe()


def test_functions_that_jax_cannot_trace_are_named():
    jnp = pytest.importorskip("jax.numpy")
    for wrong in (
        lambda q: math.sin(q[0]),
        lambda q: q[0] if q[0] > 0 else q[1],
        lambda q: "far",
        lambda q: None,
        lambda q: 1j * jnp.sin(q),
    ):
        with pytest.raises(la.ProblemError, match="mine: with kind 'jax' the function is traced with arrays q of 2"):
            swing_up(5).subject_to(opt.constraint(wrong, -1, 1, kind="jax", name="mine"))
    with pytest.raises(ZeroDivisionError):
        swing_up(5).subject_to(opt.constraint(lambda q: 1 / 0, -1, 1, kind="jax"))


def test_a_solution_is_plotted_into_a_file(tmp_path):
    """By `path`, as runs are, in the look of the package."""
    problem = opt.Problem(la.robots.cart_pole(), steps=20, duration=2.0)
    solution = problem.start(q=[0, 0], v=0).finish(q=[0.2, 0], v=0).minimize(opt.effort()).solve()
    figure = solution.plot(path=tmp_path / "plan.png")
    assert (tmp_path / "plan.png").stat().st_size > 10_000
    assert [axis.get_ylabel() for axis in figure.axes] == [
        "position [rad, m]",
        "velocity [rad/s, m/s]",
        "control [N m, N]",
    ]
    with pytest.raises(la.LeastActionError, match=r"plan\.txt"):
        solution.plot(path=tmp_path / "plan.txt")
