"""The body-wise equations of all steps of a motion, their derivatives and second derivatives in one call each."""

from leastaction._jit import entry, routine
from leastaction.minimal.bodywise import contraction
from leastaction.minimal.bodywise.hessian import control_slopes, hessian
from leastaction.minimal.bodywise.residual import end_momentum, hold_controls, place_bodies, residual


@routine
def _evaluate(model, settings, data, Q, first, u, out):
    """Rows out (s + 1, nv) of the step whose nodes are the rows of Q from `first` on, without momentum at its start."""
    last = out.shape[0] - 1
    for j in range(last + 1):
        for k in range(Q.shape[1]):
            data.Q[j, k] = Q[first + j, k]
    for k in range(out.shape[1]):
        out[last, k] = 0.0
    place_bodies(model, data, 0)
    hold_controls(model, data, u)
    residual(model, settings, data, out[last], u)
    for j in range(last):
        for k in range(out.shape[1]):
            out[j, k] = data.r[j, k]
    end_momentum(model, settings, data, u, out[last])


@entry
def rows(model, data, settings, Q, U, out):
    """Rows out (steps, s + 1, nv) at the configurations Q (steps s + 1, nq), with controls U (steps, s + 1, nu)."""
    s = out.shape[1] - 1
    for k in range(out.shape[0]):
        _evaluate(model, settings, data, Q, s * k, U[k], out[k])


@entry
def blocks(model, data, settings, Q, U, out, D, C):
    """`rows`, their derivatives by the nodes in D (steps, s + 1, nv, s + 1, nv) and by the controls in C.

    C: of shape (steps, s + 1, nv, s + 1, nu), zero where row and node differ.
    """
    s, dense = out.shape[1] - 1, data.dense
    for k in range(out.shape[0]):
        _evaluate(model, settings, data, Q, s * k, U[k], out[k])
        hessian(model, settings, data, U[k], 0)
        control_slopes(model, settings, data)
        for j in range(s + 1):
            for a in range(out.shape[2]):
                for l in range(s + 1):
                    for b in range(out.shape[2]):
                        D[k, j, a, l, b] = dense.H[j, a, l, b]
                for b in range(C.shape[4]):
                    C[k, j, a, j, b] = dense.C[j, a, b]


@entry
def contractions(model, data, work, settings, Q, U, out, lam, change):
    """`rows`, and how D of `blocks` changes along lam (steps, s + 1, nv): change (steps, s + 1, nv, s + 1, nv)."""
    s = out.shape[1] - 1
    for k in range(out.shape[0]):
        _evaluate(model, settings, data, Q, s * k, U[k], out[k])
        contraction.contract(model, settings, data, work, lam[k], change[k])
