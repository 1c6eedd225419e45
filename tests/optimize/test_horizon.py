"""The package's own solver: its linear systems, its solutions, and what it says where there are none."""

import math

import numpy as np
import pytest

import leastaction as la
from leastaction import optimize as opt
from leastaction.optimize.hessians.lagrangian_hessian import GaussNewton
from leastaction.optimize.solvers.kkt_system import multifrontal_ldlt
from leastaction.optimize.solvers.kkt_system.elimination_order import front_model
from leastaction.optimize.solvers.kkt_system.front_arrays import front_data
from leastaction.optimize.solvers.kkt_system.kkt import System
from tests.optimize.problems import swing_up


def floating():
    """A free body that turns and moves on, in a time to be found, within a region."""
    robot = la.robots.free_body()
    goal = robot.integrate(robot.neutral(), [0.3, 1.2, -0.2, 0.2, 0.1, 0.3])
    problem = opt.Problem(robot, steps=6, duration=(0.5, 3.0)).start(q=robot.neutral(), v=0).finish(q=goal, v=0)
    problem.minimize(opt.effort(), opt.time(3.0))
    return problem.subject_to(opt.position(robot.body_names[0], lower=-0.5, upper=0.5))


PROBLEMS = {
    "midpoint": lambda: swing_up(12),
    "momenta": lambda: swing_up(8, integrator=la.Galerkin(order=4), momenta=True),
    "free time": lambda: swing_up(12, duration=(0.5, 4.0)).minimize(opt.time(5.0)),
    "collocation": lambda: swing_up(8, integrator=la.HermiteSimpson()),
}


def matrix(system):
    """The system as a plain matrix."""
    model, size = system.model, system.n + system.m
    out = np.zeros((size, size))
    np.add.at(out, (model.rows, model.columns), system.values[model.slots])
    return out + np.tril(out, -1).T + np.triu(out, 1).T


def filled(problem):
    """The linear system of a problem at its guess, with a Gauss-Newton Hessian."""
    program = problem.transcribe()
    hessian, z = GaussNewton(program), problem.initial_unknowns(program)
    system = System(program, hessian.pattern)
    program.jacobian(z, system.jacobian)
    hessian.evaluate(z, 1.0, np.zeros(program.m), system.hessian)
    return system


# ---------------------------------------------------------------------- linear systems


def test_orderings_are_found_once():
    """For the same form with other numbers; not where other unknowns are free."""
    first, again = (filled(swing_up(12, duration=T)) for T in (2.0, 2.5))
    assert again.order is first.order
    assert again.values is not first.values
    other = filled(swing_up(12).finish(q=[np.nan, math.pi], v=0))
    assert other.order is not first.order
    assert other.n == first.n + 1


@pytest.mark.parametrize("which", PROBLEMS)
@pytest.mark.parametrize("shift", [1e-3, -0.02])
def test_signs_and_solution_of_a_linear_system(which, shift):
    """Positive and negative pivots are those of the eigenvalues, for definite and indefinite Hessians."""
    system = filled(PROBLEMS[which]())
    rng = np.random.default_rng(0)
    system.diagonal[: system.n] = shift * rng.random(system.n)
    system.diagonal[system.n :] = -1e-8
    A, b = matrix(system), rng.normal(size=system.n + system.m)
    eigenvalues = np.linalg.eigvalsh(A)
    assert system.factor() == ((eigenvalues > 0).sum(), (eigenvalues < 0).sum(), 0)
    x = system.solve(b)
    np.testing.assert_allclose(A @ x, b, atol=1e-9)


def test_rounding_errors_of_long_horizons_are_not_refined():
    """What is left after one refinement is round-off, however large solutions are."""
    system, calls = filled(swing_up(200)), []
    system.diagonal[: system.n] = 1e-3
    system.factor()
    solve = system._solve
    system._solve = lambda x: (calls.append(x), solve(x))
    b = np.ones(system.n + system.m)
    x = system.solve(b)
    assert len(calls) == 2
    assert np.abs(matrix(system) @ x - b).max() <= 1e-15 * np.abs(system.values).max() * np.abs(x).max()


def random_chain(rng, stages=9, size=4, wide=1):
    """A symmetric indefinite matrix that is block tridiagonal, with unknowns that couple all stages."""
    n = stages * size + wide
    stage = np.append(np.repeat(np.arange(stages), size), np.zeros(wide, int))
    A = rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.7)
    A += A.T
    far = np.abs(stage[:, None] - stage) > 1
    far[-wide:] = far[:, -wide:] = False
    A[far] = 0.0
    A[np.arange(0, n - wide, 2), np.arange(0, n - wide, 2)] = 0.0  # pivots of two rows are needed
    return A, stage


@pytest.mark.parametrize("seed", range(4))
def test_random_chains(seed):
    """Pivots that are too small wait for later stages."""
    rng = np.random.default_rng(seed)
    A, stage = random_chain(rng)
    a, b = np.nonzero(np.triu(A))
    model = front_model(stage, a, b, np.arange(len(a)), len(A))
    data = front_data(model, len(A), len(A) ** 2, len(A) ** 2)
    assert multifrontal_ldlt.factor(model, data, A[a, b]) == multifrontal_ldlt.DONE
    eigenvalues = np.linalg.eigvalsh(A)
    assert list(data.counts[:3]) == [(eigenvalues > 0).sum(), (eigenvalues < 0).sum(), 0]
    x = b = rng.normal(size=len(A))
    x = b.copy()
    multifrontal_ldlt.solve(model, data, x)
    np.testing.assert_allclose(A @ x, b, atol=1e-8 * np.abs(x).max())
    assert data.pivots.sum() == len(A)
    assert data.size.max() < len(A)


def test_other_values_find_other_pivots():
    """What is kept of how fronts are arranged holds only as long as the same unknowns wait in them."""
    rng = np.random.default_rng(5)
    A, stage = random_chain(rng)
    a, b = np.nonzero(np.triu(A))
    model = front_model(stage, a, b, np.arange(len(a)), len(A))
    data = front_data(model, len(A), len(A) ** 2, len(A) ** 2)
    wanted = rng.normal(size=len(A))
    orders = set()
    for values in (A[a, b], rng.normal(size=len(a)) ** 9, A[a, b]):
        B = np.zeros_like(A)
        B[a, b] = B[b, a] = values
        assert multifrontal_ldlt.factor(model, data, values) == multifrontal_ldlt.DONE
        orders.add(tuple(data.pivots))
        x = B @ wanted
        multifrontal_ldlt.solve(model, data, x)
        np.testing.assert_allclose(B @ x, B @ wanted, atol=1e-8 * np.abs(B).max())
    assert len(orders) == 2


def test_singular_matrices_are_found_out():
    A, stage = random_chain(np.random.default_rng(0))
    A[5] = A[:, 5] = 0.0
    a, b = np.nonzero(np.triu(A) + np.eye(len(A)))
    model = front_model(stage, a, b, np.arange(len(a)), len(A))
    data = front_data(model, len(A), len(A) ** 2, len(A) ** 2)
    assert multifrontal_ldlt.factor(model, data, A[a, b]) == multifrontal_ldlt.SINGULAR
    assert data.counts[2] == 1


def test_memory_grows_where_many_pivots_wait():
    system = filled(swing_up(12))
    system.diagonal[: system.n] = 1e-3
    assert system.factor()[2] == 0
    before = system.solve(np.ones(system.n + system.m))
    system._make_room(0.1)
    assert system.factor()[2] == 0
    np.testing.assert_allclose(system.solve(np.ones(system.n + system.m)), before, rtol=1e-6)


@pytest.mark.parametrize("options", [{}, {"duration": (1.0, 3.0)}], ids=["given time", "free time"])
def test_work_is_linear_in_the_number_of_steps(options):
    work = []
    for steps in (20, 40, 80):
        system = filled(swing_up(steps, **options))
        system.diagonal[: system.n] = 1e-3
        system.factor()
        pivots = int(system.data.pivots.sum())
        work.append((int(system.data.starts[pivots]), int(system.data.counts[3])))
    (a, front), (b, _), (c, last) = work
    assert c - b == pytest.approx(2 * (b - a), rel=0.05)  # nonzeros of the factor
    assert last == front


# ---------------------------------------------------------------------- solutions


def test_a_cart_pole_swings_up():
    solution = swing_up().solve(solver="horizon")
    assert solution.success, str(solution)
    assert solution.violation < 1e-7
    assert np.abs(solution.u).max() <= 20
    assert solution.cost == pytest.approx(75.807018, rel=1e-6)  # that of IPOPT


@pytest.mark.parametrize("problem", [*PROBLEMS.values(), floating], ids=[*PROBLEMS, "floating"])
def test_optima_are_those_of_ipopt(problem):
    pytest.importorskip("casadi")
    ours, theirs = problem().solve(solver="horizon"), problem().solve()
    assert ours.success, str(ours)
    assert ours.cost == pytest.approx(theirs.cost, rel=1e-6)
    for a, b in zip(ours.multipliers, theirs.multipliers, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-4 * max(np.abs(b).max(), 1.0))


def test_gauss_newton_and_warm_starts():
    first = swing_up().solve(solver="horizon", hessian="gauss-newton")
    assert first.success, str(first)
    assert first.cost == pytest.approx(75.807018, rel=1e-6)
    problem = swing_up().finish(q=[0.05, math.pi], v=[0, 0])
    cold, warm = problem.solve(solver="horizon"), problem.solve(solver="horizon", warm_start=first)
    assert warm.success
    assert warm.cost == pytest.approx(cold.cost, rel=1e-6)
    assert len(warm.iterations) < len(cold.iterations)


def test_constraints_along_the_way_from_a_singular_guess():
    """Hanging, the tip cannot be lifted to first order; the way back to the constraints finds out."""
    robot = la.robots.double_pendulum()
    problem = opt.Problem(robot, steps=20, duration=1.5).start(q=[0, 0], v=0)
    problem.minimize(opt.effort(), opt.velocity(1e-3))
    problem.subject_to(
        opt.position("link2", [np.nan, 0, 1.0], point=(0, 0, -1.0), at=-1),
        opt.clearance("link2", (1.2, 0, 0), 0.6, point=(0, 0, -1.0)),
    )
    solution = problem.solve(solver="horizon")
    assert solution.converged, str(solution)
    assert solution.violation < 1e-7


# ---------------------------------------------------------------------- limits, and what cannot be


def test_log_and_limits():
    seen = []
    solution = swing_up().solve(solver="horizon", log=seen.append, max_iterations=3)
    assert not solution.success
    assert "too many iterations" in solution.reason
    assert [i.number for i in seen] == [0, 1, 2, 3]
    assert solution.violation == pytest.approx(seen[-1].violation, rel=1e-6)
    solution = swing_up(60).solve(solver="horizon", time_limit=1e-3)
    assert not solution.success
    assert "too long" in solution.reason


def test_ctrl_c_gives_the_best_so_far():
    def stop(iteration):
        if iteration.number == 4:
            raise KeyboardInterrupt

    solution = swing_up().solve(solver="horizon", log=stop)
    assert not solution.success
    assert "stopped" in solution.reason
    assert solution.violation == pytest.approx(min(i.violation for i in solution.iterations), rel=1e-6)


def unreachable():
    problem = opt.Problem(la.robots.double_pendulum(), steps=8, duration=1.0).start(q=[0, 0], v=0)
    return problem.minimize(opt.effort()).subject_to(opt.position("link2", [5, 0, 0], at=-1))


def contradiction():
    problem = opt.Problem(la.robots.double_pendulum(), steps=8, duration=1.0).start(q=[0, 0], v=0)
    tip = {"point": (0, 0, -1.0), "at": -1}
    return problem.minimize(opt.effort()).subject_to(
        opt.position("link2", lower=[-9, -9, 0.5], upper=9, **tip),
        opt.position("link2", lower=-9, upper=[9, 9, -0.5], **tip),
    )


def not_a_number():
    def root(q, v, u):
        return [np.nan], np.zeros((1, 2)), np.zeros((1, 2)), np.zeros((1, 1))

    return swing_up(6).minimize(opt.cost(root, name="my root"))


def becomes_infinite():
    def slope(q, v, u):
        return [0.0], np.full((1, 2), np.inf), np.zeros((1, 2)), np.zeros((1, 1))

    return swing_up(6).minimize(opt.cost(slope))


BAD = {
    "position link2 (x) at knot 8": unreachable,
    "position link2 (z) at knot 8": contradiction,
    "'my root' at steps 0 is not finite": not_a_number,
    "not finite": becomes_infinite,
    "dynamics": lambda: swing_up(20).bounds(u=(-0.01, 0.01)),
    "position pole (x) at knot 0": lambda: swing_up(8).subject_to(opt.position("pole", [1, 0, 0], at=0)),
}


@pytest.mark.parametrize("reason", BAD)
def test_problems_without_a_solution_say_why(reason):
    solution = BAD[reason]().solve(solver="horizon")
    assert not solution.success
    assert reason in solution.reason
    assert len(solution.iterations) < 300
    assert np.isfinite(solution.z).all()


def test_errors_of_a_users_function_come_through():
    def broken(q, v, u):
        if abs(u[0]) > 1e-3:
            raise ZeroDivisionError("mine")
        return [0.0], np.zeros((1, 2)), np.zeros((1, 2)), np.zeros((1, 1))

    with pytest.raises(ZeroDivisionError, match="mine"):
        swing_up(6).minimize(opt.cost(broken)).solve(solver="horizon")


def test_wrong_options():
    with pytest.raises(la.ProblemError, match="solver must be one of 'ipopt', 'horizon'"):
        swing_up(5).solve(solver="sqp")
    with pytest.raises(la.ProblemError, match="knows mu_init alone"):
        swing_up(5).solve(solver="horizon", options={"tol": 1})
    with pytest.raises(la.ProblemError, match="hessian must be"):
        swing_up(5).solve(solver="horizon", hessian="none")
    with pytest.raises(la.ProblemError, match="more equations"):
        swing_up(2).solve(solver="horizon")
