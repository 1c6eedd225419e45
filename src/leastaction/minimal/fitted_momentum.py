"""Derivatives of the projection of a momentum onto closed loops: p^ = p + A^T nu with A M^-1 p^ = 0."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.dynamics import entries as classical
from leastaction.dynamics.derivatives import RATES
from leastaction.integration.integrators import FloatArray
from leastaction.kinematics.sweeps import JOINT_SCREW, LINK
from leastaction.minimal.arrays import records


def fitted_slope(
    tree: Any,
    q: FloatArray,
    ends: tuple[FloatArray, FloatArray],
    loops: tuple[FloatArray, FloatArray],
    changes: tuple[FloatArray, FloatArray],
) -> FloatArray:
    """Derivatives of p^ by the implicit function theorem; dependent equations are solved in the least-squares sense.

    Args:
        tree: with the records `nodes` and `dofs` whose coordinates are used.
        q: configuration, shape (nq,).
        ends: p before its projection and after it.
        loops: Jacobian A of the equations, shape (m, nv), and its derivative along the tangent of q, (m, nv, nv).
        changes: derivatives of q along the tangent and of p, shape (nv, columns).
    """
    (raw, end), (A, curvature), (dq, dp) = ends, loops, changes
    M, slope = _mass_and_slope(tree, q, end)
    v = np.linalg.solve(M, end)
    nu = np.linalg.lstsq(A.T, end - raw, rcond=1e-9)[0]
    K2 = np.einsum("k,ckj->cj", v, curvature)
    K3 = np.einsum("c,ckj->kj", nu, curvature)
    loose = dp + (K3 - slope) @ dq
    Mi_At = np.linalg.solve(M, A.T)
    dnu = np.linalg.lstsq(A @ Mi_At, -Mi_At.T @ loose - K2 @ dq, rcond=1e-9)[0]
    return np.asarray(dp + A.T @ dnu + K3 @ dq, float)


def _mass_and_slope(tree: Any, q: FloatArray, p: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mass matrix at q, and the derivative of M(q) v by q at constant v = M^-1 p."""
    nodes, n = len(tree.nodes), len(tree.dofs)
    links, screws = records(nodes, LINK), records(n, JOINT_SCREW)
    M = np.zeros((n, n))
    model, data = (tree.nodes, tree.dofs, np.zeros(3)), (links, screws, np.zeros((nodes, 6)))
    classical.mass_matrix(model, data, q, M)
    v = np.linalg.solve(M, p)
    dq, zero = np.zeros((n, n)), np.zeros(n)
    slopes = (records(n, RATES), np.zeros((nodes, 6, 6)), dq, np.zeros((n, n)))
    classical.inverse_dynamics_derivatives(model, data, slopes, q, zero, v, np.zeros(n))
    return M, dq
