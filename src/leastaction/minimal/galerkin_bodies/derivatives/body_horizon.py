"""Equations of steps at given nodes and their derivatives: of one step, or of all steps of a motion in one call.

Steps are given by the configurations at their nodes, so nothing is solved and no momentum is passed from one to the
next: row 0 of a step excludes the momentum at its start, and row s is the momentum at its end.
"""

from leastaction._jit import entry, routine
from leastaction.minimal.galerkin_bodies.body_residual import end_momentum, hold_controls, place_bodies, residual
from leastaction.minimal.galerkin_bodies.derivatives.body_hessian import control_slopes, hessian
from leastaction.minimal.galerkin_bodies.derivatives.body_hessian_derivative import contract
from leastaction.minimal.one_sided_forces import reset_modes
from leastaction.minimal.step_blocks import copy_blocks


@entry
def rows(model, data, settings, Q, U, anew, out):
    """Rows out (steps, s + 1, nv) at the configurations Q (steps s + 1, nq), with controls U (steps, nodes, nu).

    anew: one-sided forces are active as of their gaps; otherwise as in the step solved last.
    """
    s = data.Q.shape[0] - 1
    for k in range(out.shape[0]):
        _evaluate(model, settings, data, Q, s * k, U[k], anew, out[k])


@entry
def blocks(model, data, settings, Q, U, anew, out, D, C):
    """`rows`, their derivatives by the nodes in D (steps, s + 1, nv, s + 1, nv) and by the controls in C.

    C: of shape (steps, s + 1, nv, nodes, nu), zero for unrelated rows and nodes. Those of the last step remain
    in `data.dense`.
    """
    s = data.Q.shape[0] - 1
    for k in range(out.shape[0]):
        _evaluate(model, settings, data, Q, s * k, U[k], anew, out[k])
        hessian(model, settings, data, U[k], 0)
        control_slopes(model, settings, data)
        copy_blocks(data.dense.H, data.dense.C, D[k], C[k])


@entry
def contractions(model, data, work, settings, Q, U, contracted):
    """`rows` into contracted (`Contractions`), and the change of D of `blocks` along its multipliers."""
    out, lam, change = contracted.rows, contracted.multipliers, contracted.change
    s = data.Q.shape[0] - 1
    for k in range(out.shape[0]):
        _evaluate(model, settings, data, Q, s * k, U[k], True, out[k])
        contract(model, settings, data, work, lam[k], change[k])


@routine
def _evaluate(model, settings, data, Q, first, u, anew, out):
    """The equations of the step whose nodes are the rows of Q from `first` on."""
    last = data.Q.shape[0] - 1
    for j in range(last + 1):
        for k in range(Q.shape[1]):
            data.Q[j, k] = Q[first + j, k]
    if anew:
        reset_modes(model.jumps, data.modes)
    place_bodies(model, data, 0)
    hold_controls(model, data, u)
    p = data.guess.x
    for k in range(p.shape[0]):
        p[k] = 0.0
    residual(model, settings, data, p, u)
    for j in range(last):
        for k in range(out.shape[1]):
            out[j, k] = data.r[j, k]
    end_momentum(model, settings, data, u, out[last])
