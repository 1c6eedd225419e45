"""Entry points of the variational integrators, one per solver of the Newton direction.

Runs use `rollout_...`, or `swept_...` with the sweeps of `simplified_newton` before Newton's method.
"""

from leastaction._jit import entry
from leastaction.minimal.galerkin_joints.joint_rollout import rollout_with, swept_rollout_with
from leastaction.minimal.galerkin_joints.newton import lee2016, newton_directions

_rollout_recursive = rollout_with(newton_directions.recursive)
_rollout_sparse = rollout_with(newton_directions.tree_sparse)
_rollout_dense = rollout_with(newton_directions.dense)
_swept_recursive = swept_rollout_with(newton_directions.recursive)
_swept_sparse = swept_rollout_with(newton_directions.tree_sparse)
_swept_dense = swept_rollout_with(newton_directions.dense)


@entry(nogil=True)
def rollout_recursive(model, settings, data, U, Q, P, iterations, divided):
    """Steps with the O(n) recursion."""
    return _rollout_recursive(model, settings, data, U, Q, P, iterations, divided, None)


@entry(nogil=True)
def rollout_sparse(model, settings, data, U, Q, P, iterations, divided):
    """Steps with the tree-sparse factorisation."""
    return _rollout_sparse(model, settings, data, U, Q, P, iterations, divided, None)


@entry(nogil=True)
def rollout_dense(model, settings, data, U, Q, P, iterations, divided):
    """Steps with elimination on the whole Jacobian."""
    return _rollout_dense(model, settings, data, U, Q, P, iterations, divided, None)


@entry(nogil=True)
def swept_recursive(model, settings, data, U, Q, P, iterations, divided):
    """Steps with sweeps, then the O(n) recursion."""
    return _swept_recursive(model, settings, data, U, Q, P, iterations, divided, None)


@entry(nogil=True)
def swept_sparse(model, settings, data, U, Q, P, iterations, divided):
    """Steps with sweeps, then the tree-sparse factorisation."""
    return _swept_sparse(model, settings, data, U, Q, P, iterations, divided, None)


@entry(nogil=True)
def swept_dense(model, settings, data, U, Q, P, iterations, divided):
    """Steps with sweeps, then elimination on the whole Jacobian."""
    return _swept_dense(model, settings, data, U, Q, P, iterations, divided, None)


@entry(nogil=True)
def rollout_quasi(model, settings, data, U, Q, P, iterations, divided):
    """Steps with the quasi-Newton method of Lee et al. 2016."""
    return lee2016.rollout(model, settings, data, U, Q, P, iterations, divided, None)
