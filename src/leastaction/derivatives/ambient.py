"""Gradients by the entries of q, for libraries that know nothing of tangents."""

from __future__ import annotations

import numpy as np

from leastaction.mechanism import Mechanism, Motion
from leastaction.mechanism.arguments import FloatArray
from leastaction.mechanism.pose import rotation_matrix


def _turns(q: FloatArray) -> FloatArray:
    """Derivative (4, 3) of a quaternion by a turn in the child's frame: q * (0, turn) / 2."""
    w, x, y, z = q
    return 0.5 * np.array([[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]])


def to_tangent(mechanism: Mechanism, Q: FloatArray, G: FloatArray) -> FloatArray:
    """Gradients along the tangent (rows, nv) from those by the entries of q (rows, nq)."""
    out = np.zeros((len(Q), mechanism.nv))
    for g in mechanism.coordinate_groups:
        i, k = g.iq, g.iv
        if g.nv == 1:
            out[:, k] = G[:, i]
            continue
        j = i + 3 if g.kind == Motion.FREE else i
        for row in range(len(Q)):
            out[row, k : k + 3] = _turns(Q[row, j : j + 4]).T @ G[row, j : j + 4]
            if g.kind == Motion.FREE:
                out[row, k + 3 : k + 6] = rotation_matrix(Q[row, j : j + 4]).T @ G[row, i : i + 3]
    return out


def from_tangent(mechanism: Mechanism, q: FloatArray, g: FloatArray) -> FloatArray:
    """The gradient by the entries of q (nq,) that stays on the manifold, from that along the tangent (nv,)."""
    out = np.zeros(mechanism.nq)
    for group in mechanism.coordinate_groups:
        i, k = group.iq, group.iv
        if group.nv == 1:
            out[i] = g[k]
            continue
        j = i + 3 if group.kind == Motion.FREE else i
        out[j : j + 4] = 4.0 * _turns(q[j : j + 4]) @ g[k : k + 3]
        if group.kind == Motion.FREE:
            out[i : i + 3] = rotation_matrix(q[j : j + 4]) @ g[k + 3 : k + 6]
    return out
