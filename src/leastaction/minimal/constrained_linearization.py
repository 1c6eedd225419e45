"""Linearization of a Galerkin step with closed loops.

Differentiates the equations of `constrained`: first the control points and multipliers, then the projection that makes
the new momentum fit the loops, p^ = p + A^T nu with A M^-1 p^ = 0. Both by the implicit function theorem, with exact
second derivatives; redundant equations are met in the least-squares sense. The derivatives hold along motions that keep
the loops closed. Those of rolling contacts, equations of velocities, depend on the start of the step too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction._jit import entry
from leastaction.dynamics import entries as classical
from leastaction.dynamics.derivatives import RATES
from leastaction.integrators import FloatArray
from leastaction.kinematics.sweeps import JOINT_SCREW, LINK
from leastaction.minimal import linearization as linear
from leastaction.minimal.constrained import loop_rows
from leastaction.minimal.newton import to_split
from leastaction.minimal.residual import residual
from leastaction.minimal.workspace import records
from leastaction.record import Record
from leastaction.spatial import exponential as ex


@entry
def evaluate(model, rule, work, full, D, C, count, h, G, H, H_start, p, u, dt):
    """Residual, second derivatives and loop rows at the control points and multipliers in work."""
    residual(model, rule, work, p, u, dt)
    linear.blocks(model, rule, work, full, D, C, dt)
    loop_rows(model, rule, work, full, count, h, G, H, H_start, dt)


@entry
def convert(model, free, X, q, p, q_next, p_next, W):
    """W (2 nv, 2 nv + nu) from split coordinates to the joints' own ones, in place."""
    linear.end_turns(model, X, W[: p.shape[0]])
    linear.user_columns(free, q, p, W)
    linear.user_rows(free, q_next, p_next, W)


@entry
def split_momentum(free, q, p, out):
    """See `newton.to_split`."""
    to_split(free, q, p, out)


@entry
def end_jacobian(model, X, out):
    """out (nv, nv): turns of the end per change of the last control point's coordinates; 1 for joints with one axis."""
    nodes = model[0]
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


def linearize(stepper: Any, record: Record, u: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(A, B) of the step in `record` (two rows), which `stepper` has just solved; u: controls (nodes, nu)."""
    w, m = stepper.work, stepper.mechanism
    s, n, nu, count = w.s, w.nv, m.nu, stepper.mechanism.tree.closure.count
    full, D, C, _ = stepper._linear
    h, G, H, H_start, _ = stepper.kkt
    lam = w.work[11]
    (q, q_next), (p, p_next) = record["q"], record["p"]
    start = np.zeros(n)
    split_momentum(w.tree.free, q, p, start)

    def second() -> FloatArray:
        evaluate(w.model, stepper.rule, w.work, full, D, C, count, h, G, H, H_start, start, u, stepper.dt)
        return D.copy()

    blocks = second()
    control, G0, H0, last = C.copy(), G.copy(), H.copy(), w.g[s].copy()
    J = blocks[:s, :, 1:, :].reshape(s * n, s * n)
    right = np.zeros((s * (n + count), 2 * n + nu))
    right[: s * n, :n] = -blocks[:s, :, 0, :].reshape(s * n, n)
    right[:n, n : 2 * n] = -np.eye(n)
    right[s * n :, :n] = -H_start
    right[: s * n, 2 * n :] = -control[:s].reshape(s * n, nu)
    kkt = np.block([[J, G0], [H0, np.zeros((s * count, s * count))]])
    dx = np.linalg.lstsq(kkt, right, rcond=1e-13)[0][: s * n]
    dp = blocks[s, :, 1:, :].reshape(n, s * n) @ dx
    dp[:, :n] += blocks[s, :, 0, :]
    dp[:, 2 * n :] += control[s]
    turn = np.zeros((n, n))
    end_jacobian(w.model, w.X, turn)
    dq = turn @ dx[(s - 1) * n :]
    # With a unit multiplier at the end, the last row is that of the equation's Jacobian, and row s of D its derivative.
    end = np.zeros(n)
    split_momentum(w.tree.free, q_next, p_next, end)
    A, curvature = np.zeros((count, n)), np.zeros((count, n, n))
    for c in range(count):
        lam[s, c] = 1.0
        curvature[c] = np.linalg.solve(turn.T, (second() - blocks)[s, :, s, :].T).T
        A[c] = np.linalg.solve(turn.T, w.g[s] - last)
        lam[s, c] = 0.0
    second()
    M, slope = _mass_and_slope(stepper, q_next, end)
    v = np.linalg.solve(M, end)
    raw = _end_momentum(stepper, start)
    nu_end = np.linalg.lstsq(A.T, end - raw, rcond=1e-9)[0]
    K2 = np.einsum("k,ckj->cj", v, curvature)
    K3 = np.einsum("c,ckj->kj", nu_end, curvature)
    loose = dp + (K3 - slope) @ dq
    Mi_At = np.linalg.solve(M, A.T)
    dnu = np.linalg.lstsq(A @ Mi_At, -Mi_At.T @ loose - K2 @ dq, rcond=1e-9)[0]
    W = np.concatenate([dx[(s - 1) * n :], dp + A.T @ dnu + K3 @ dq])
    convert(w.model, w.tree.free, w.X, q, p, q_next, p_next, W)
    return np.asarray(W[:, : 2 * n], float), np.asarray(W[:, 2 * n :], float)


def _end_momentum(stepper: Any, start: FloatArray) -> FloatArray:
    """Momentum of Eq. 6c in split coordinates, before the loops' impulse is added."""
    from leastaction.minimal.residual import next_momentum

    w, out = stepper.work, start.copy()
    next_momentum(w.model, stepper.rule, w.tree.free, w.work, out, stepper.dt)
    return out


def _mass_and_slope(stepper: Any, q: FloatArray, p: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mass matrix at q in split coordinates, and the derivative of M(q) v along q with v = M^-1 p held."""
    t = stepper.work.tree
    n = t.nv
    links, screws = records(len(t.nodes), LINK), records(n, JOINT_SCREW)
    M = np.zeros((n, n))
    classical.mass_matrix(t.nodes, t.dofs, links, screws, q, M)
    v = np.linalg.solve(M, p)
    rates, B = records(n, RATES), np.zeros((len(t.nodes), 6, 6))
    tau, dq, dv, zero = np.zeros(n), np.zeros((n, n)), np.zeros((n, n)), np.zeros(n)
    external = np.zeros((len(t.nodes), 6))
    classical.inverse_dynamics_derivatives(
        t.nodes, t.dofs, np.zeros(3), links, screws, rates, B, q, zero, v, external, tau, dq, dv
    )
    return M, dq
