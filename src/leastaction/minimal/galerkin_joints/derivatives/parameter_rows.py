"""Derivatives of a step by parameters of the mechanism, by the implicit function theorem.

The derivative of the equations of a step by a parameter at fixed control points is a weighted sum over mechanisms with
other values of it (`parameter_differences`); one solve with the Jacobian of the step yields the change of its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from leastaction._jit import entry
from leastaction.forces.arrays import items_of
from leastaction.integration.integrators import FloatArray
from leastaction.integration.record import Record
from leastaction.minimal.galerkin_joints.derivatives import joint_linearization as linear
from leastaction.minimal.galerkin_joints.joint_residual import residual, start_point
from leastaction.parameters.parameter_differences import Stencil
from leastaction.spatial import exponential as ex

if TYPE_CHECKING:
    from leastaction.minimal.galerkin_joints.stepper import VariationalStepper


@entry
def last_turns(model, points):
    """Row s of points.g from the chart of ball joints to rotations of the end, in place."""
    nodes, X, g = model.nodes, points.X, points.g
    s = X.shape[0] - 1
    for i in range(nodes.shape[0]):
        if nodes[i].nv == 3:
            n = nodes[i].iv
            xi = (X[s, n], X[s, n + 1], X[s, n + 2])
            t = ex.jl_inverse(xi, ex.coefficients(xi), (g[s, n], g[s, n + 1], g[s, n + 2]))
            g[s, n], g[s, n + 1], g[s, n + 2] = t


@entry
def action_rows(model, settings, points, q, u):
    """points.g: rows of the discrete action at the control points in X, the last one along rotations of the end."""
    for k in range(points.X.shape[1]):
        points.r[0, k] = 0.0
    start_point(model, settings.rule, points, q)
    residual(model, settings, points, points.r[0], u)
    last_turns(model, points)


@entry
def end_rows(model, X, states, momenta, W):
    """W (2 nv, columns), changes of the end of a step, from split coordinates to the joints' own ones, in place."""
    linear.end_turns(model.nodes, X, W[: momenta.shape[1]])
    linear.user_rows(model.free, states[1], momenta[1], W)


def changes(stepper: VariationalStepper, q: FloatArray, u: FloatArray, stencils: Sequence[Stencil]) -> FloatArray:
    """Derivatives of the rows of the step that `stepper` has just solved, shape (s + 1, nv, len(stencils))."""
    points = stepper.data.points
    out = np.zeros((*points.g.shape, len(stencils)))
    for k, stencil in enumerate(stencils):
        for weight, mechanism in stencil:
            model = stepper.other(mechanism).tree
            with items_of(points.modes, model.forces):
                action_rows(model, stepper.settings, points, q, u)
            out[:, :, k] += weight * points.g
    return out


def jacobian(stepper: VariationalStepper, record: Record, u: FloatArray, stencils: Sequence[Stencil]) -> FloatArray:
    """Derivatives of the end of the solved step in `record` by parameters, shape (2 nv, len(stencils))."""
    q, p = record["q"], record["p"]
    linear.second_derivatives(stepper.model.tree, stepper.settings, stepper.data.points, stepper.linear)
    D = stepper.linear.hessian.D.copy()
    rows = changes(stepper, q[0], u, stencils)
    s, n = len(D) - 1, D.shape[1]
    J = D[:s, :, 1:].reshape(s * n, s * n)
    dx = np.linalg.solve(J, -rows[:s].reshape(s * n, -1))
    W = np.asarray(np.concatenate([dx[(s - 1) * n :], rows[s] + D[s, :, 1:].reshape(n, s * n) @ dx]), float)
    end_rows(stepper.model.tree, stepper.data.points.X, q, p, W)
    return W


def pull_back(stepper: VariationalStepper, q: FloatArray, u: FloatArray, stencils: Sequence[Stencil]) -> FloatArray:
    """Gradient by parameters, shape (len(stencils),), after `joint_linearization.pull_back` of the same step."""
    data = stepper.linear
    rows = changes(stepper, q, u, stencils)
    s, n = len(rows) - 1, rows.shape[1]
    return rows[s].T @ data.bar[0, n:] - rows[:s].reshape(s * n, -1).T @ data.y[:, 0]
