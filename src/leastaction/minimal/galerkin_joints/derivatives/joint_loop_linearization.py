"""Linearization of a step with closed loops.

Differentiates the equations of `joint_loops`: first the control points and multipliers, then the projection of the
new momentum onto the loops, p^ = p + A^T nu with A M^-1 p^ = 0. Both by the implicit function theorem, with exact
second derivatives; redundant equations are solved in the least-squares sense. The derivatives hold along motions that
keep the loops closed. Rolling contacts, equations of velocities, depend on the start of the step too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from leastaction._jit import entry
from leastaction.dynamics.loops import momentum_projection
from leastaction.forces.arrays import items_of
from leastaction.integration.integrators import FloatArray
from leastaction.integration.record import Record
from leastaction.minimal.fitted_momentum import fitted_slope
from leastaction.minimal.galerkin_joints import joint_residual as equations
from leastaction.minimal.galerkin_joints.derivatives import joint_linearization as linear
from leastaction.minimal.galerkin_joints.derivatives.parameter_rows import last_turns
from leastaction.minimal.galerkin_joints.joint_loops import at_control_points, loop_rows, start_momentum
from leastaction.minimal.galerkin_joints.newton import joint_newton
from leastaction.minimal.galerkin_joints.quadrature_points import is_nodal, positions
from leastaction.parameters.parameter_differences import Stencil
from leastaction.spatial import exponential as ex

if TYPE_CHECKING:
    from leastaction.minimal.galerkin_joints.stepper import ConstrainedStepper


@entry
def evaluate(model, settings, points, data, loops, p, u):
    """Residual, second derivatives and loop rows at the control points and multipliers of a step from momentum p."""
    if is_nodal(settings.rule):
        for al in range(1):  # a literal 0 would be compiled separately
            positions(model, settings.rule, points, al)
    else:
        at_control_points(model, loops)
        loop_rows(model, loops)
    start_momentum(settings, loops, p)
    equations.residual(model, settings, points, loops.p, u)
    linear.blocks(model, settings, points, data)
    if is_nodal(settings.rule):
        loop_rows(model, loops)


@entry
def convert(model, X, states, momenta, W):
    """W (2 nv, 2 nv + others) from split coordinates to the joints' own ones, in place."""
    linear.end_turns(model.nodes, X, W[: momenta.shape[1]])
    linear.user_columns(model.free, states[0], momenta[0], W)
    linear.user_rows(model.free, states[1], momenta[1], W)


@entry
def split_momentum(model, q, p, out):
    """See `joint_newton.to_split`."""
    joint_newton.to_split(model.free, q, p, out)


@entry
def end_momentum(model, settings, points, p):
    """See `joint_residual.next_momentum`."""
    equations.next_momentum(model, settings, points, p)


@entry
def end_jacobian(model, X, out):
    """out (nv, nv): derivative of end rotations by the last control point's coordinates; 1 for single axes."""
    nodes = model.nodes
    s = X.shape[0] - 1
    for i in range(nodes.shape[0]):
        n = nodes[i].iv
        if nodes[i].nv == 1:
            out[n, n] = 1.0
            continue
        xi = (X[s, n], X[s, n + 1], X[s, n + 2])
        k = ex.coefficients(xi)
        for j in range(3):
            e = (1.0 if j == 0 else 0.0, 1.0 if j == 1 else 0.0, 1.0 if j == 2 else 0.0)
            y = ex.jr(xi, k, e)
            out[n, n + j], out[n + 1, n + j], out[n + 2, n + j] = y


@entry
def own_momentum(model, q, p, out):
    """See `joint_newton.from_split`."""
    joint_newton.from_split(model.free, q, p, out)


class _Changes(NamedTuple):
    """Derivatives by parameters at fixed control points, multipliers and end of the step, one column each.

    Attributes:
        rows: of the action, shape (s + 1, nv, parameters).
        h: of the loop equations, shape (s m, parameters).
        p: of the projected momentum, in the joints' own coordinates, shape (nv, parameters).
    """

    rows: FloatArray
    h: FloatArray
    p: FloatArray


def _changes(
    stepper: ConstrainedStepper, u: FloatArray, start: FloatArray, end: tuple[Any, ...], stencils: Sequence[Stencil]
) -> _Changes:
    """Weighted sums over mechanisms with other parameters; `end`: configuration and momentum before its projection."""
    settings, points, loops, guess = stepper.settings, stepper.data.points, stepper.loops, stepper.data.guess
    system = loops.system
    (s, n), count, k = points.r.shape, len(system.h), len(stencils)
    out = _Changes(np.zeros((s + 1, n, k)), np.zeros((count, k)), np.zeros((n, k)))
    for c, stencil in enumerate(stencils):
        for weight, mechanism in stencil:
            model, t, p = stepper.other(mechanism).tree, mechanism.tree, end[1].copy()
            with items_of(points.modes, model.forces):
                evaluate(model, settings, points, stepper.linear, loops, start, u)
            last_turns(model, points)
            out.rows[:s, :, c] += weight * points.r
            out.rows[s, :, c] += weight * points.g[s]
            out.h[:, c] += weight * system.h
            arrays = ((t.nodes, t.dofs, t.gravity), (t.closure.rows, t.closure.coefficients, t.closure.count))
            scratch = (tuple(system.end), bool(system.redundant[0]))
            momentum_projection(*arrays, (guess.links, guess.screws, guess.external), end[0], p, *scratch)
            out.p[:, c] += weight * p
    return out


def linearize(
    stepper: ConstrainedStepper, record: Record, u: FloatArray, stencils: Sequence[Stencil] = ()
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(A, B) of the step in `record` (two rows), which `stepper` has just solved, and its derivatives by parameters.

    Args:
        stepper: after the step.
        record: its start and end.
        u: controls (nodes, nu).
        stencils: of the parameters, see `parameter_differences`.
    """
    tree, settings, points, loops = stepper.model.tree, stepper.settings, stepper.data.points, stepper.loops
    s, n, nu, count = len(settings.rule.c) - 1, stepper.mechanism.nv, u.shape[1], len(loops.system.end.h)
    lam = loops.points.lam
    q, p = record["q"], record["p"]
    start, end = np.zeros(n), np.zeros(n)
    split_momentum(tree, q[0], p[0], start)
    split_momentum(tree, q[1], p[1], end)
    evaluate(tree, settings, points, stepper.linear, loops, start, u)
    D, C, G, H, begins = (
        x.copy() for x in (stepper.linear.hessian.D, stepper.linear.C, loops.system.G, loops.system.H, loops.p)
    )
    H_start = loops.system.H_start.copy()

    def at_ends() -> FloatArray:
        """Blocks of the rule through the control points: for Galerkin that of the step."""
        data = stepper.linear_ends
        evaluate(tree, loops.settings, loops.points, data, loops, start, u if loops.points is points else zero)
        return data.hessian.D.copy()

    zero = np.zeros((s + 1, nu))
    with_loops = at_ends()
    last = loops.points.g[s].copy()
    if loops.points is not points:
        held = lam.copy()
        lam[:] = 0.0
        D += with_loops - at_ends()
        lam[:] = held
    raw, end_raw = begins, np.zeros(n)
    end_momentum(tree, settings, points, raw)
    own_momentum(tree, q[1], raw, end_raw)
    by = _changes(stepper, u, start, (q[1], end_raw), stencils)
    at = 2 * n + nu
    right = np.zeros((s * (n + count), at + len(stencils)))
    right[: s * n, :n] = -D[:s, :, 0, :].reshape(s * n, n)
    right[:n, n : 2 * n] = -np.eye(n)
    right[s * n :, :n] = -H_start
    right[: s * n, 2 * n : at] = -C[:s].reshape(s * n, nu)
    right[: s * n, at:] = -by.rows[:s].reshape(s * n, len(stencils))
    right[s * n :, at:] = -by.h
    J = D[:s, :, 1:, :].reshape(s * n, s * n)
    kkt = np.block([[J, G], [H, np.zeros((s * count, s * count))]])
    dx = np.linalg.lstsq(kkt, right, rcond=1e-13)[0][: s * n]
    dp = D[s, :, 1:, :].reshape(n, s * n) @ dx
    dp[:, :n] += D[s, :, 0, :]
    dp[:, 2 * n : at] += C[s]
    dp[:, at:] += by.rows[s]
    turn = np.zeros((n, n))
    end_jacobian(tree, points.X, turn)
    dq = turn @ dx[(s - 1) * n :]
    # With a unit multiplier at the end, the last row is that of the equation's Jacobian, and row s of D its derivative.
    A, curvature = np.zeros((count, n)), np.zeros((count, n, n))
    for c in range(count):
        lam[s, c] = 1.0
        curvature[c] = np.linalg.solve(turn.T, (at_ends() - with_loops)[s, :, s, :].T).T
        A[c] = np.linalg.solve(turn.T, loops.points.g[s] - last)
        lam[s, c] = 0.0
    at_ends()
    fitted = fitted_slope(tree, q[1], (raw, end), (A, curvature), (dq, dp))
    W = np.asarray(np.concatenate([dx[(s - 1) * n :], fitted]), float)
    convert(tree, points.X, q, p, W)
    W[n:, at:] += by.p
    return W[:, : 2 * n].copy(), W[:, 2 * n : at].copy(), W[:, at:].copy()
