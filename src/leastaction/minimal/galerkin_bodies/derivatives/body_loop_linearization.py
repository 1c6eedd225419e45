"""Linearization of a body-wise step with closed loops.

Differentiates the equations of `body_loops`: first the nodes and multipliers, then the projection of the new
momentum onto the loops. Both by the implicit function theorem, with exact second derivatives; redundant equations are
solved in the least-squares sense. The derivatives hold along motions that keep the loops closed. Rolling contacts,
equations of velocities, depend on the start of the step too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from leastaction.dynamics.loops import momentum_projection
from leastaction.integration.integrators import FloatArray
from leastaction.integration.record import Record
from leastaction.minimal.fitted_momentum import fitted_slope
from leastaction.minimal.galerkin_bodies import body_loops
from leastaction.parameters.parameter_differences import Stencil

if TYPE_CHECKING:
    from leastaction.minimal.galerkin_bodies.constrained_stepper import GalerkinBodiesLoopStepper


def linearize(
    stepper: GalerkinBodiesLoopStepper, record: Record, u: FloatArray, stencils: Sequence[Stencil] = ()
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(A, B) of the step in `record` (two rows), which `stepper` has just solved, and its derivatives by parameters.

    Args:
        stepper: after the step.
        record: its start and end.
        u: controls (nodes, nu).
        stencils: of the parameters, see `parameter_differences`.
    """
    q, p, lam, system = record["q"], record["p"], stepper.lam, stepper.system
    rows, H, C = stepper.differentiate(p[0], u)
    body_loops.equations(stepper.model, stepper.settings, stepper.data, system)
    G, Hl, H_start = system.G.copy(), system.H.copy(), system.H_start.copy()
    s, n, nu, count = len(H) - 1, H.shape[1], C.shape[2], lam.shape[1]
    raw = rows[s].copy()
    by_rows, by_h, by_p = _changes(stepper, p[0], u, (q[1], raw), stencils)
    at = 2 * n + nu
    right = np.zeros((s * (n + count), at + len(stencils)))
    right[: s * n, :n] = -H[:s, :, 0].reshape(s * n, n)
    right[:n, n : 2 * n] = -np.eye(n)
    right[s * n :, :n] = -H_start
    right[: s * n, 2 * n : at] = -C[:s].reshape(s * n, nu)
    right[: s * n, at:] = -by_rows[:s].reshape(s * n, len(stencils))
    right[s * n :, at:] = -by_h
    kkt = np.block([[H[:s, :, 1:].reshape(s * n, s * n), G], [Hl, np.zeros((s * count, s * count))]])
    dx = np.linalg.lstsq(kkt, right, rcond=1e-13)[0][: s * n]
    dp = H[s, :, 1:].reshape(n, s * n) @ dx
    dp[:, :n] += H[s, :, 0]
    dp[:, 2 * n : at] += C[s]
    dp[:, at:] += by_rows[s]
    dq = np.asarray(dx[(s - 1) * n :], float)
    # With a unit multiplier at the end, the last row is that of the equation's Jacobian, and row s of H its derivative.
    A, curvature = np.zeros((count, n)), np.zeros((count, n, n))
    for c in range(count):
        lam[s, c] = 1.0
        more, slopes, _ = stepper.differentiate(p[0], u)
        A[c], curvature[c] = more[s] - rows[s], (slopes - H)[s, :, s]
        lam[s, c] = 0.0
    tree = stepper.mechanism.tree
    fitted = fitted_slope(tree, q[1], (raw, p[1]), (A, curvature), (dq, dp))
    W = np.asarray(np.concatenate([dq, fitted]), float)
    W[n:, at:] += by_p
    return W[:, : 2 * n].copy(), W[:, 2 * n : at].copy(), W[:, at:].copy()


def _changes(
    stepper: GalerkinBodiesLoopStepper,
    p: FloatArray,
    u: FloatArray,
    end: tuple[FloatArray, FloatArray],
    stencils: Sequence[Stencil],
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Derivatives by parameters at fixed nodes, multipliers and end of the step, one column each.

    Of the rows of the action, shape (s + 1, nv, parameters); of the loop equations, (s m, parameters); of the projected
    momentum, (nv, parameters). Weighted sums over mechanisms with other parameters. `end`: configuration and momentum
    before its projection.
    """
    settings, data, system, guess = stepper.settings, stepper.data, stepper.system, stepper.data.guess
    nodes = len(stepper.control_nodes)
    by_rows, by_h = np.zeros((nodes, len(p), len(stencils))), np.zeros((len(system.h), len(stencils)))
    by_p = np.zeros((len(p), len(stencils)))
    for c, stencil in enumerate(stencils):
        for weight, mechanism in stencil:
            t, raw = mechanism.tree, end[1].copy()
            by_rows[:, :, c] += weight * stepper.rows_of(mechanism, p, u)
            body_loops.equations(stepper.other(mechanism), settings, data, system)
            by_h[:, c] += weight * system.h
            arrays = ((t.nodes, t.dofs, t.gravity), (t.closure.rows, t.closure.coefficients, t.closure.count))
            scratch = (tuple(system.end), bool(system.redundant[0]))
            momentum_projection(*arrays, (guess.links, guess.screws, guess.external), end[0], raw, *scratch)
            by_p[:, c] += weight * raw
    return by_rows, by_h, by_p
