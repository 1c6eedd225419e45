"""Problems in which nothing says where the motion is are refused; plain Python functions are differentiated."""

import math
import warnings

import numpy as np
import pytest

import leastaction as la
from leastaction import optimize as opt
from leastaction.errors import LeastActionWarning, ProblemError
from tests.optimize.problems import jacobian_and_differences, limb, perturbed, swing_up
from tests.oracles.differences import assert_close


@pytest.mark.parametrize("cost", [opt.effort, opt.velocity, opt.differences, opt.momentum])
def test_a_problem_without_a_start_is_refused(cost):
    """Its best motion is to rest at the finish, where gravity does nothing: no swing-up, and no cost."""
    problem = opt.Problem(la.robots.cart_pole(), steps=10, duration=1.0).finish(q=[0, math.pi], v=[0, 0])
    with pytest.raises(ProblemError, match="nothing says where the motion starts"):
        problem.minimize(cost()).solve(solver="horizon")


def test_costs_of_places_say_where_the_motion_is():
    problem = opt.Problem(la.robots.cart_pole(), steps=10, duration=1.0)
    solution = problem.minimize(opt.tracking([0.5, 0.0])).minimize(opt.effort()).solve(solver="horizon")
    assert_close(solution.trajectory.q, np.tile([0.5, 0.0], (11, 1)), 1e-5)


def test_a_plain_function_is_differentiated_by_differences_with_a_note():
    """Along the tangents of ball joints, too; the note names what gives exact derivatives."""
    robot = limb()
    problem = opt.Problem(robot, steps=3, duration=0.3)
    X = la.dynamics.body_poses
    with pytest.warns(LeastActionWarning, match=r"kind='casadi' or kind='jax'"):
        problem.subject_to(opt.constraint(lambda q: X(robot, q)[3, :3, 3], lower=-1.0, upper=1.0, where="knots"))
    program, z = perturbed(problem)
    assert_close(*jacobian_and_differences(program, z), 1e-6)


def test_a_plan_with_a_plain_cost_is_that_with_derivatives():
    plans = []
    for f in (
        lambda q, v, u: float(v @ v + 0.1 * u @ u),
        lambda q, v, u: (np.array([v @ v + 0.1 * u @ u]), np.zeros((1, 2)), 2.0 * v[None], 0.2 * u[None]),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LeastActionWarning)
            problem = swing_up(10, duration=1.5).minimize(opt.cost(f))
        plans.append(problem.solve(solver="horizon", hessian="gauss-newton", max_iterations=200))
    assert plans[0].success
    assert plans[0].cost == pytest.approx(plans[1].cost, rel=1e-5)
