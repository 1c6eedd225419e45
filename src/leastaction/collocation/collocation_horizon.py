"""Accelerations at many states and their derivatives, in one call: for optimisers."""

from leastaction._jit import entry
from leastaction.collocation.arrays import named_data, named_model
from leastaction.collocation.collocation_jacobians import force_slopes, generalized_forces
from leastaction.dynamics.applied_forces import forced_accelerations
from leastaction.linalg.dense import solve_in_place


@entry
def accelerations(model, data, Q, V, U, unit, A, G):
    """A (rows, nv) at positions Q (rows, nq), velocities V (rows, nv) and controls U (rows, nu).

    G: derivatives along the tangent of q, by v and by u, shape (rows, nv, 2 nv + nu); without rows: not wanted.
    unit: scratch (nu,).
    """
    model, data = named_model(*model), named_data(*data)
    n, nu = V.shape[1], U.shape[1]
    for r in range(Q.shape[0]):
        forced_accelerations(model, data, Q[r], V[r], U[r], A[r])
        if G.shape[0] == 0:
            continue
        force_slopes(model, data, Q[r], V[r], U[r], A[r], G[r])
        # Forces are linear in the controls, so any step is exact.
        generalized_forces(model, data, Q[r], V[r], U[r], data.down)
        for j in range(nu):
            for k in range(nu):
                unit[k] = U[r, k] + (1.0 if k == j else 0.0)
            generalized_forces(model, data, Q[r], V[r], unit, data.up)
            for k in range(n):
                G[r, k, 2 * n + j] = data.up[k] - data.down[k]
        solve_in_place(data.M, G[r])
