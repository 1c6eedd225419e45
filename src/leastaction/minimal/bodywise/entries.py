"""Entry points of the body-wise rule: what Python calls."""

from leastaction._jit import entry
from leastaction.minimal.bodywise import dense_direction, linearization
from leastaction.minimal.bodywise.hessian import control_slopes, hessian
from leastaction.minimal.bodywise.recursion import again, recursive
from leastaction.minimal.bodywise.residual import end_momentum, hold_controls, place_bodies, residual
from leastaction.minimal.bodywise.rollout import rollout_with

_rollout_recursive = rollout_with(recursive, again)
_rollout_dense = rollout_with(dense_direction.solve, dense_direction.solve)


@entry(nogil=True)
def rollout_recursive(model, settings, data, U, Q, P, iterations):
    """Steps with the O(n) recursion."""
    return _rollout_recursive(model, settings, data, U, Q, P, iterations)


@entry(nogil=True)
def rollout_dense(model, settings, data, U, Q, P, iterations):
    """Steps with elimination on the whole Jacobian."""
    return _rollout_dense(model, settings, data, U, Q, P, iterations)


@entry
def rows(model, settings, data, p, u, out):
    """All rows (s + 1, nv) of the equations at the nodes in data.Q, whether they solve a step or not."""
    place_bodies(model, data, 0)
    hold_controls(model, data, u)
    residual(model, settings, data, p, u)
    last = out.shape[0] - 1
    for j in range(last):
        for k in range(out.shape[1]):
            out[j, k] = data.r[j, k]
    end_momentum(model, settings, data, u, out[last])


@entry
def derivatives(model, settings, data, u):
    """H and C of `data.dense`, where `rows` were evaluated last."""
    hessian(model, settings, data, u, 0)
    control_slopes(model, settings, data)


@entry
def linearize(dense, A, B):
    """(A, B) of the step at which `derivatives` were taken."""
    linearization.linearize(dense, A, B)


@entry
def pull_back(dense, bar, out):
    """Transposed product of the step at which `derivatives` were taken; see `linearization.pull_back`."""
    linearization.pull_back(dense, bar, out)
