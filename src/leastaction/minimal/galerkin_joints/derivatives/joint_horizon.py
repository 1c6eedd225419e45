"""Equations of all steps of a motion and their derivatives, in one call: for optimisers.

Steps are given by the configurations at their control points, so nothing is solved and no momentum is passed from one
to the next: row 0 of a step excludes the momentum at its start, and row s is the momentum at its end.
"""

from leastaction._jit import entry, inline, routine
from leastaction.kinematics.sweeps import FREE
from leastaction.minimal.galerkin_joints.derivatives import joint_hessian_derivative, joint_linearization
from leastaction.minimal.galerkin_joints.derivatives.tangent_rows import (
    own_free_changes,
    own_rows,
    own_tangents,
    split_free,
)
from leastaction.minimal.galerkin_joints.joint_residual import residual, start_point
from leastaction.minimal.one_sided_forces import reset_modes
from leastaction.minimal.step_blocks import copy_blocks
from leastaction.spatial import quat_conj, quat_log, quat_mul


@entry
def rows(model, points, settings, Q, U, out):
    """Rows out (steps, s + 1, nv) at the configurations Q (steps s + 1, nq), with controls U (steps, points, nu)."""
    s = points.X.shape[0] - 1
    for k in range(out.shape[0]):
        _evaluate(model, settings, points, Q, s * k, U[k])
        own_rows(model.tree, points, out[k])


@entry
def blocks(model, points, data, settings, Q, U, out, D, C):
    """`rows`, their derivatives by the control points in D (steps, s + 1, nv, s + 1, nv) and by the controls in C.

    C: of shape (steps, s + 1, nv, nodes, nu), zero for unrelated rows and nodes.
    """
    s = points.X.shape[0] - 1
    for k in range(out.shape[0]):
        _evaluate(model, settings, points, Q, s * k, U[k])
        joint_linearization.blocks(model.tree, settings, points, data)
        own_tangents(model.tree, points, data.hessian.D, data.C, out[k])
        copy_blocks(data.hessian.D, data.C, D[k], C[k])


@entry
def contractions(model, points, data, work, settings, Q, U, contracted):
    """`rows` into contracted (`Contractions`), and the change of D of `blocks` along its multipliers."""
    out, lam, change = contracted.rows, contracted.multipliers, contracted.change
    tree = model.tree
    s = points.X.shape[0] - 1
    for k in range(out.shape[0]):
        _evaluate(model, settings, points, Q, s * k, U[k])
        split_free(tree, points, lam[k], work.lam)
        joint_hessian_derivative.contract(tree, settings, points, work, change[k])
        if tree.free.shape[0] > 0:
            joint_linearization.blocks(tree, settings, points, data)
            own_tangents(tree, points, data.hessian.D, data.C, out[k])
            own_free_changes(tree, points, lam[k], data.hessian.D, out[k], change[k])
        else:
            own_rows(tree, points, out[k])


@routine
def _evaluate(model, settings, points, Q, first, u):
    """The equations of the step whose control points are the rows of Q from `first` on."""
    for ga in range(points.X.shape[0]):
        _put(model.native.nodes, Q[first], Q[first + ga], points.X, ga)
    for k in range(points.r.shape[1]):
        points.r[0, k] = 0.0
    reset_modes(model.tree.jumps, points.modes)
    start_point(model.tree, settings.rule, points, Q[first])
    residual(model.tree, settings, points, points.r[0], u)


@routine
def _put(nodes, start, q, X, ga):
    """Set control point ga: angles, displacements, and rotation vectors of ball joints since the start of the step."""
    for i in range(nodes.shape[0]):
        n, j = nodes[i].iv, nodes[i].iq
        if nodes[i].nv == 1:
            X[ga, n] = q[j]
            continue
        if nodes[i].kind == FREE:
            for k in range(3):
                X[ga, n + k] = q[j + k]
            n += 3
            j += 3
        X[ga, n], X[ga, n + 1], X[ga, n + 2] = quat_log(quat_mul(quat_conj(_at(start, j)), _at(q, j)))


@inline
def _at(q, j):
    return (q[j], q[j + 1], q[j + 2], q[j + 3])
