"""Entry points of the variational integrators, one per way to solve for the Newton direction.

`problem` bundles what stays the same over a run, see `newton.step`.
"""

from leastaction._jit import entry
from leastaction.minimal import directions, newton, quasi_newton


@entry
def rollout_recursive(problem, U, dt, settings, Q, P, its):
    """Steps with the O(n) recursion."""
    return newton.rollout(directions.recursive, problem, U, dt, settings, Q, P, its)


@entry
def rollout_sparse(problem, U, dt, settings, Q, P, its):
    """Steps with the tree-sparse factorisation."""
    return newton.rollout(directions.tree_sparse, problem, U, dt, settings, Q, P, its)


@entry
def rollout_dense(problem, U, dt, settings, Q, P, its):
    """Steps with elimination on the whole Jacobian."""
    return newton.rollout(directions.dense, problem, U, dt, settings, Q, P, its)


@entry
def rollout_quasi(problem, U, dt, settings, Q, P, its):
    """Steps with the quasi-Newton method of Lee et al. 2016."""
    return quasi_newton.rollout(quasi_newton.direction, problem, U, dt, settings, Q, P, its)
