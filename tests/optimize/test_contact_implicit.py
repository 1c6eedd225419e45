"""Contact without a schedule: derivatives, the laws of friction and impact, and a robot that finds its own steps."""

from dataclasses import replace

import numpy as np
import pytest

import leastaction as la
from leastaction import optimize as opt
from leastaction.mechanism import Inertia, MechanismBuilder, joints
from leastaction.optimize.hessians.exact_hessian import ByDifferences, Exact
from tests.optimize.problems import jacobian_and_differences, limb, perturbed
from tests.optimize.test_hessian import BODIES, compare
from tests.optimize.test_standing import hopper

pytest.importorskip("casadi")
RULES = pytest.mark.parametrize("integrator", [la.Midpoint(), la.Galerkin(order=4)], ids=["midpoint", "simpson"])


def touching_limb(integrator, early, duration=(0.3, 0.5)):
    """Two steps of the limb above uneven ground, with a point and a ball."""
    robot, rng = limb(), np.random.default_rng(1)
    problem = opt.Problem(robot, steps=2, integrator=integrator, duration=duration).minimize(opt.effort())
    problem.start(v=rng.normal(size=robot.nv))
    ball = opt.touch("tail", radius=0.1, point=(0, 0.1, 0.2))
    ground = opt.steps([(0.1, 0.3), (2.0, -0.2)], width=1.8)
    problem.contact(opt.touch("tool", point=(0.1, 0, 0)), ball, ground=ground, early=early)
    base = robot.random_configuration(rng)
    return problem.guess(q=robot.integrate(base, 0.3 * rng.normal(size=(3, robot.nv))))


@RULES
@pytest.mark.parametrize("early", [False, True])
def test_derivatives(integrator, early):
    program, z = perturbed(touching_limb(integrator, early))
    exact, found = jacobian_and_differences(program, z)
    np.testing.assert_allclose(exact, found, atol=1e-6 * np.abs(found).max())
    stored = program.jacobian_pattern.dense(np.ones(program.jacobian_pattern.count)) > 0
    assert not (np.abs(found) > 1e-7 * np.abs(found).max())[~stored].any()


@pytest.mark.parametrize(("early", "duration"), [(False, (0.3, 0.5)), (False, 0.4), (True, 0.4)])
def test_second_derivatives(early, duration):
    hessian, _ = compare(touching_limb(BODIES, early, duration), tolerance=1e-6)
    # The impulses, the slip and the friction of the ball are left to differences, whether or not the time is free.
    assert sum(isinstance(part, ByDifferences) for part in hessian.parts) == 3


def block():
    """A mass of 2 kg that moves in x and z, with nothing to drive it."""
    b = MechanismBuilder("block")
    b.body("mass", inertia=Inertia(2.0, (0, 0, 0), 0.1))
    b.joint("base", "composite", "world", "mass", parts=(joints.prismatic("x"), joints.prismatic("z")))
    return b.build()


@RULES
def test_a_block_slides_to_rest(integrator):
    """Friction takes mu g from its speed until it stands, after v^2 / (2 mu g)."""
    problem = opt.Problem(block(), steps=16, duration=0.4, integrator=integrator).start(q=[0, 0], v=[1, 0])
    problem.bounds(u=(0, 0)).minimize(opt.velocity(1e-3)).contact(opt.touch("mass", friction=0.5))
    solution = problem.solve()
    assert solution.success, str(solution)
    assert solution.complementarity <= 1e-4
    assert solution.q[-1, 0] == pytest.approx(1 / (2 * 0.5 * 9.81), rel=0.03)
    np.testing.assert_allclose(solution.q[:, 1], 0.0, atol=1e-5)
    friction = solution.forces["contact mass"]
    assert friction[1, 2] == pytest.approx(0.5 * 2.0 * 9.81, rel=0.02)  # backwards
    assert friction[1, 0] == pytest.approx(2.0 * 9.81, rel=0.02)


def test_a_block_falls_and_stays():
    """It lands between two knots, so its force may act a little early; it does not bounce."""
    problem = opt.Problem(block(), steps=16, duration=0.4).start(q=[0, 0.2], v=[0, 0]).bounds(u=(0, 0))
    solution = problem.minimize(opt.velocity(1e-3)).contact(opt.touch("mass"), early=True).solve()
    assert solution.success, str(solution)
    z = solution.q[:, 1]
    free = 0.2 - 0.5 * 9.81 * solution.t**2
    np.testing.assert_allclose(z[free > 0.05], free[free > 0.05], atol=2e-3)
    np.testing.assert_allclose(z[solution.t > 0.26], 0.0, atol=1e-4)


def test_a_goal_out_of_reach_ends_soon():
    """Forces are too small: feasibility restoration fails, and the reason says so."""
    problem = opt.Problem(block(), steps=6, duration=0.3).start(q=[0, 0], v=[0, 0]).finish(q=[3, 0], v=0)
    problem.bounds(u=(-5, 5)).minimize(opt.effort(), opt.velocity(1e-3)).contact(opt.touch("mass", friction=0.5))
    solution = problem.solve(solver="horizon", relaxations=[1.0])
    assert not solution.success
    assert len(solution.iterations) < 400
    assert "feasibility restoration failed" in solution.reason
    assert "dynamics (base.slide1) at knot" in solution.reason


def test_nothing_stops_a_block_in_the_air():
    """No force acts at the last control point either, unless the point touches there."""

    def fall():
        problem = opt.Problem(block(), steps=6, duration=0.3).start(q=[0, 1], v=[0, 0]).bounds(u=(0, 0))
        return problem.minimize(opt.velocity(1e-3)).contact(opt.touch("mass"))

    solution = fall().finish(v=[0, 0]).solve(max_iterations=60)
    assert not solution.success
    # Iterations are enough: to fall is solved with as many.
    free = fall().solve(max_iterations=60)
    assert free.success, str(free)
    np.testing.assert_allclose(free.q[:, 1], 1.0 - 0.5 * 9.81 * free.t**2, atol=1e-6)


def toes(solution):
    """Where the toe is at the knots [m]."""
    return np.array([(la.dynamics.body_poses(solution.mechanism, q)[2] @ [0, 0, -0.5, 1])[:3] for q in solution.q])


def move_on(distance, steps, duration, **contact):
    """A hopper is asked to be further ahead, and not how."""
    problem = opt.Problem(hopper(), steps=steps, duration=duration)
    problem.start(q=[0, 0.65, 0, 0, 0.1], v=0).finish(q=[distance, 0.65, 0, 0, 0.1], v=0)
    problem.bounds(q={"slide": (-0.1, 0.3), "hip": (-1.2, 1.2)}).minimize(opt.effort(1e-3), opt.velocity(1e-2))
    return problem.contact(opt.touch("shank", point=(0, 0, -0.5)), **contact)


def test_what_is_stored_is_not_zero():
    """Of a robot with slides and joints along the axes, too; the diagonal of the Hessian is the barrier's."""
    problem = move_on(0.1, 4, 0.2)
    program = problem.transcribe()
    hessian, rng = Exact(program), np.random.default_rng(3)
    J, H = np.zeros((3, program.jacobian_pattern.count)), np.zeros((3, hessian.pattern.count))
    for k in range(3):
        z = problem.initial_unknowns(program) + 0.3 * rng.normal(size=program.n)
        program.jacobian(z, J[k])
        hessian.evaluate(z, 1.0, rng.normal(size=program.m), H[k])
    columns = np.repeat(np.arange(program.n), np.diff(hessian.pattern.indptr))
    beside = hessian.pattern.indices != columns
    assert (np.abs(J).max(axis=0) > 1e-9).all()
    assert (np.abs(H).max(axis=0)[beside] > 1e-9).all()


def test_a_hopper_moves_on():
    solution = move_on(0.1, 10, 0.5).solve(hessian="exact")
    assert solution.success, str(solution)
    assert solution.violation <= 1e-6
    assert solution.complementarity <= 1e-4
    at, force = toes(solution), solution.forces["contact shank"]
    assert at[-1] == pytest.approx([0.1, 0, 0], abs=1e-6)
    assert (at[:, 2] >= -1e-7).all()
    assert (force[at[:, 2] > 1e-3, 0] < 0.1).all()
    assert (np.abs(force[:, 1] - force[:, 2]) <= 0.8 * force[:, 0] + 1e-6).all()


def test_a_goal_too_high_ends_soon():
    """However hard its leg pushes, what is thrown up by two metres comes to rest after more than half a second."""
    problem = move_on(0.1, 10, 0.5).finish(q=[0.1, 3.0, 0, 0, 0.1], v=0)
    solution = problem.solve(solver="horizon")
    assert not solution.success
    assert len(solution.iterations) < 600
    assert "dynamics (base.slide2) at knot" in solution.reason


def test_a_block_falls_into_a_gap():
    """Without friction it slides on until the ground ends, then nothing holds it."""
    problem = opt.Problem(block(), steps=12, duration=0.3).start(q=[0, 0], v=[1, 0]).bounds(u=(0, 0))
    problem.minimize(opt.velocity(1e-3)).contact(opt.touch("mass", friction=0.0), ground=opt.gaps([(0.11, 2.0)]))
    solution = problem.solve()
    assert solution.success, str(solution)
    np.testing.assert_allclose(solution.q[:, 0], solution.t, atol=1e-6)
    np.testing.assert_allclose(solution.q[:5, 1], 0.0, atol=1e-5)
    force = solution.forces["contact mass"][:, 0]
    assert (force[5:] < 1e-3).all()
    np.testing.assert_allclose(np.diff(solution.q[4:, 1], 2), -9.81 * 0.025**2, atol=1e-5)


def test_the_own_solver_takes_contacts():
    """Slip costs nothing where no force acts: the barrier alone would drive it to infinity."""
    solved = []
    for solver in ("ipopt", "horizon"):
        problem = opt.Problem(block(), steps=16, duration=0.376, integrator=la.Galerkin(order=4)).bounds(u=(0, 0))
        problem.start(q=[0, 0], v=[0.81, 0]).minimize(opt.velocity(1e-3))
        problem.contact(opt.touch("mass", friction=0.55), ground=opt.gaps([(0.08, 2.0)]))
        solved.append(problem.solve(solver=solver))
    assert all(solution.success for solution in solved), solved
    assert solved[1].cost == pytest.approx(solved[0].cost, rel=1e-6)
    assert np.abs(solved[1].z).max() < 1e6


def test_a_failure_widens_the_relaxation(monkeypatch):
    """Where the last solve fails, another relaxation is put in between, and only so often."""
    from leastaction.optimize.solvers import solve_problem

    asked, fails, ending, wrong = [], [{1.0, 1e-2, 1e-5}, {1e-5}, set()], "Maximum_Iterations_Exceeded", 0.0
    ordinary = solve_problem.solve

    def solve(problem, **options):
        asked.append(problem.relaxation)
        found = ordinary(problem, **options | {"max_iterations": 1})
        success = problem.relaxation not in fails[0]
        if problem.relaxation == 1e-5:
            fails.pop(0)
        status = "Solve_Succeeded" if success else ending
        return replace(found, converged=success, status=status, violation=0.0 if success else wrong)

    monkeypatch.setattr(solve_problem, "solve", solve)
    problem = opt.Problem(block(), steps=4, dt=0.1).start(q=[0, 0], v=[1, 0]).bounds(u=(0, 0))
    problem.minimize(opt.velocity(1e-3)).contact(opt.touch("mass"))
    assert problem.solve(relaxations=[1, 1e-2, 1e-5]).success
    np.testing.assert_allclose(asked, [1.0, 1e-2, 1e-5, 30.0, 1.0, 1e-2, 1e-5, 10**-3.5, 1e-5])
    # After constraints that contradict each other no tighter ones are tried, and a wider one once.
    asked[:], fails[:], ending = [], [{1.0, 30.0}], "Infeasible_Problem_Detected"
    assert not problem.solve(relaxations=[1, 1e-2, 1e-5]).success
    np.testing.assert_allclose(asked, [1.0, 30.0])
    # Nor are they where constraints are far from being kept when all iterations are used up.
    asked[:], fails[:], ending, wrong = [], [{1.0, 30.0}], "Maximum_Iterations_Exceeded", 5.0
    assert not problem.solve(relaxations=[1, 1e-2, 1e-5]).success
    np.testing.assert_allclose(asked, [1.0, 30.0])


def test_ill_posed_contacts_say_so():
    problem = opt.Problem(block(), steps=4, dt=0.1)
    for message, call in (
        ("has no contact points", lambda: problem.contact()),
        ("there is no body 'mas' in .*; did you mean 'mass'", lambda: problem.contact(opt.touch("mas"))),
        ("expected contacts", lambda: problem.contact("mass")),
        ("radius must be", lambda: opt.touch("mass", radius=-1)),
        ("point must be", lambda: opt.touch("mass", point=(1, 2))),
        ("ascending x", lambda: opt.steps([(1, 0), (0, 1)])),
        ("expected pairs", lambda: opt.gaps([1, 2])),
        ("width must be positive", lambda: opt.steps([], width=0)),
        ("relaxations must be", lambda: problem.contact(opt.touch("mass")).finish(v=0).solve(relaxations=[])),
        ("relaxations must be .*, got 'few'", lambda: problem.solve(relaxations="few")),
        ("relaxations must be", lambda: problem.solve(relaxations=[1.0, np.nan])),
        ("time_limit .* got 'long'", lambda: problem.solve(time_limit="long")),
        ("tolerance: expected a number", lambda: problem.solve(tolerance=None)),
        ("early must be True or False", lambda: problem.contact(opt.touch("mass"), early="yes")),
    ):
        with pytest.raises(la.ProblemError, match=message):
            call()
