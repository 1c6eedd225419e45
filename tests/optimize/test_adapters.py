"""Solvers of other packages on the same nonlinear programs: cyipopt, and those of CasADi that take no Hessian."""

import sys

import numpy as np
import pytest

import leastaction as la
from leastaction import optimize as opt
from leastaction.optimize.solvers.snopt import Snopt
from tests.optimize import cyipopt_stand_in
from tests.optimize.problems import swing_up

pytest.importorskip("casadi")


@pytest.fixture
def cyipopt(monkeypatch):
    """The package itself where it is installed."""
    try:
        import cyipopt
    except ModuleNotFoundError:
        monkeypatch.setitem(sys.modules, "cyipopt", cyipopt_stand_in)
    else:
        return cyipopt


@pytest.mark.parametrize("hessian", ["exact", "l-bfgs"])
def test_cyipopt_finds_what_ipopt_does(cyipopt, hessian):
    mine, theirs = (swing_up(16).solve(solver=name, hessian=hessian) for name in ("cyipopt", "ipopt"))
    assert mine.success, str(mine)
    assert mine.cost == pytest.approx(theirs.cost, rel=1e-9)
    assert len(mine.iterations) == len(theirs.iterations)
    np.testing.assert_allclose(mine.multipliers[1], theirs.multipliers[1], atol=1e-5)
    np.testing.assert_allclose(mine.multipliers[0], theirs.multipliers[0], atol=1e-5)


def test_cyipopt_goes_on_stops_and_refuses(cyipopt):
    first = swing_up(16).solve(solver="cyipopt")
    again = swing_up(16).solve(solver="cyipopt", warm_start=first)
    assert again.success
    assert len(again.iterations) < len(first.iterations)
    few = swing_up(16).solve(solver="cyipopt", max_iterations=2)
    assert few.status == "Maximum_Iterations_Exceeded"

    def stop(iteration):
        if iteration.number == 3:
            raise KeyboardInterrupt

    assert swing_up(16).solve(solver="cyipopt", log=stop).status == "User_Requested_Stop"
    with pytest.raises(la.ProblemError, match="refuses 'mu_first'"):
        swing_up(16).solve(solver="cyipopt", options={"mu_first": 1.0})
    with pytest.raises(ZeroDivisionError):
        swing_up(16).solve(solver="cyipopt", log=lambda _: 1 / 0)


def test_solvers_that_are_not_there(monkeypatch):
    monkeypatch.setitem(sys.modules, "cyipopt", None)
    with pytest.raises(la.ProblemError, match="needs the package"):
        swing_up(4).solve(solver="cyipopt")
    if "snopt" not in _loadable():
        with pytest.raises(la.ProblemError, match="solver 'snopt': CasADi cannot load it"):
            swing_up(4).solve(solver="snopt")


def _loadable():
    import casadi

    try:
        casadi.load_nlpsol("snopt")
    except RuntimeError:
        return ()
    return ("snopt",)


class Sqp(Snopt):
    """A solver of CasADi's wheel that asks as SNOPT does: for values and first derivatives."""

    plugin = "sqpmethod"

    def settings(self, asked):
        quiet = {"print_header": False, "print_iteration": False, "print_status": False}
        qp = {"printLevel": "none", "error_on_fail": False}
        tolerances = {"tol_du": 1e-6, "tol_pr": 1e-6, "max_iter": asked.max_iterations}
        return quiet | tolerances | {"hessian_approximation": "limited-memory", "qpsol_options": qp}


@pytest.fixture
def sqp(monkeypatch):
    from leastaction.optimize.solvers import solve_problem

    monkeypatch.setitem(solve_problem.SOLVERS, "snopt", Sqp)


def reach():
    """A small problem."""
    problem = opt.Problem(la.robots.double_pendulum(), steps=6, duration=1.0).start(q=[0, 0], v=0)
    return problem.finish(q=[0.3, 0.2], v=0).minimize(opt.effort())


def test_solvers_without_second_derivatives(sqp):
    mine, theirs = reach().solve(solver="snopt"), reach().solve()
    assert mine.converged, str(mine)
    assert mine.cost == pytest.approx(theirs.cost, rel=1e-6)
    assert len(mine.iterations) > 1
    assert reach().solve(solver="snopt", max_iterations=1).status == "Maximum_Iterations_Exceeded"


def test_what_functions_raise_there_comes_through(sqp):
    def stop(iteration):
        raise KeyboardInterrupt

    assert reach().solve(solver="snopt", log=stop).status == "User_Requested_Stop"
    with pytest.raises(ZeroDivisionError):
        reach().solve(solver="snopt", log=lambda _: 1 / 0)
