"""The equations of all steps of a motion and their derivatives, in one call: for optimisers.

As `jointwise.horizon`: row 0 of a step leaves out the momentum at its start, row s is the momentum at its end.
"""

from leastaction._jit import entry, routine
from leastaction.minimal.bodywise.hessian import control_slopes, hessian
from leastaction.minimal.bodywise.residual import end_momentum, hold_controls, place_bodies, residual
from leastaction.minimal.one_sided import forget


@entry
def rows(model, data, settings, Q, U, out):
    """Rows out (steps, s + 1, nv) at the configurations Q (steps s + 1, nq), with controls U (steps, s + 1, nu)."""
    for k in range(out.shape[0]):
        _evaluate(model, settings, data, Q, U, k, out)


@entry
def blocks(model, data, settings, Q, U, out, D, C):
    """`rows`, their derivatives D (steps, s + 1, nv, s + 1, nv) and C (steps, s + 1, nv, s + 1, nu)."""
    H, slopes = data.dense.H, data.dense.C
    for k in range(out.shape[0]):
        _evaluate(model, settings, data, Q, U, k, out)
        hessian(model, settings, data, U[k])
        control_slopes(model, settings, data)
        for chi in range(H.shape[0]):
            for i in range(H.shape[1]):
                for other in range(H.shape[2]):
                    for j in range(H.shape[3]):
                        D[k, chi, i, other, j] = H[chi, i, other, j]
                for j in range(slopes.shape[2]):
                    C[k, chi, i, chi, j] = slopes[chi, i, j]


@routine
def _evaluate(model, settings, data, Q, U, k, out):
    """Rows of step k, without the momentum at its start."""
    s = out.shape[1] - 1
    for j in range(s + 1):
        for i in range(Q.shape[1]):
            data.Q[j, i] = Q[s * k + j, i]
    forget(model.jumps, data.modes)
    place_bodies(model, data, 0)
    hold_controls(model, data, U[k])
    residual(model, settings, data, data.guess.zero, U[k])
    for j in range(s):
        for i in range(out.shape[2]):
            out[k, j, i] = data.r[j, i]
    end_momentum(model, settings, data, U[k], out[k, s])
