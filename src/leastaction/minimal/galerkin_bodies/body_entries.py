"""Entry points of the body-wise rule, called from Python."""

from leastaction._jit import entry
from leastaction.minimal.galerkin_bodies.body_rollout import rollout_with
from leastaction.minimal.galerkin_bodies.derivatives import body_linearization
from leastaction.minimal.galerkin_bodies.newton import dense_direction
from leastaction.minimal.galerkin_bodies.newton.body_recursion import again, recursive

_rollout_recursive = rollout_with(recursive, again)
_rollout_dense = rollout_with(dense_direction.solve, dense_direction.solve)


@entry(nogil=True)
def rollout_recursive(model, settings, data, U, Q, P, iterations, divided):
    """Steps with the O(n) recursion."""
    return _rollout_recursive(model, settings, data, U, Q, P, iterations, divided, None)


@entry(nogil=True)
def rollout_dense(model, settings, data, U, Q, P, iterations, divided):
    """Steps with elimination on the whole Jacobian."""
    return _rollout_dense(model, settings, data, U, Q, P, iterations, divided, None)


@entry
def linearize(dense, A, B):
    """(A, B) of the step at which `body_horizon.blocks` were taken."""
    body_linearization.linearize(dense, A, B)


@entry
def pull_back(dense, bar, out):
    """Transposed product of the step at which `body_horizon.blocks` were taken; see `body_linearization.pull_back`."""
    body_linearization.pull_back(dense, bar, out)
