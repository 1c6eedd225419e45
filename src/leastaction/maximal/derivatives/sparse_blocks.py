"""Small sparse matrices and blocks of bodies, six rows each, for derivatives."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import bsr_array, coo_array

from leastaction.linalg.graph.ldu import GraphLDU
from leastaction.maximal.derivatives.colours import Sparsity
from leastaction.maximal.model import Model
from leastaction.maximal.records import BALL, FREE

FloatArray = NDArray[np.float64]


def blocks(B: FloatArray) -> Any:
    """Block-diagonal sparse matrix of B, shape (n, 6, 6)."""
    n = len(B)
    return bsr_array((B, np.arange(n), np.arange(n + 1)), shape=(6 * n, 6 * n)).tocsr()


def skew(v: FloatArray) -> FloatArray:
    """Matrices of the cross product with v (n, 3)."""
    out = np.zeros((len(v), 3, 3))
    out[:, 0, 1], out[:, 0, 2], out[:, 1, 2] = -v[:, 2], v[:, 1], -v[:, 0]
    return out - out.transpose(0, 2, 1)


def rotations(Z: FloatArray) -> FloatArray:
    """Rotation matrices (n, 3, 3) of poses (n, 7)."""
    w, v = Z[:, 3, None, None], Z[:, 4:]
    K = skew(v)
    return np.eye(3) + 2.0 * w * K + 2.0 * K @ K


def momenta_within(bodies: Any, V: FloatArray, dt: float) -> FloatArray:
    """Momenta (n, 6) at the start of a step with velocities V; with -dt those at its end (`bodies.momenta`)."""
    J, h, w = bodies.J.reshape(-1, 3, 3), 0.5 * dt, V[:, :3]
    Jw = np.einsum("nij,nj->ni", J, w)
    s = np.sqrt(np.maximum(1.0 - h * h * (w * w).sum(axis=1), 0.0))[:, None]
    return np.hstack([s * Jw + h * np.cross(w, Jw), bodies.mass[:, None] * V[:, 3:]])


def sparse(entries: Sparsity, J: FloatArray, shape: tuple[int, int]) -> Any:
    """Jacobian (outputs, 6 bodies) of the entries J (entries, 6)."""
    rows = np.repeat(entries.outputs, 6)
    columns = (6 * entries.owner[:, None] + np.arange(6)).ravel()
    return coo_array((J.ravel(), (rows, columns)), shape=shape).tocsr()


def factored(ldu: GraphLDU, values: FloatArray, tolerance: float) -> GraphLDU:
    """Factorisation of other values on the same graph, with arrays of its own."""
    twin = copy.copy(ldu)
    twin.tolerance = float(tolerance)
    twin.factors = ldu.new_factors()
    twin._original = np.zeros_like(values)
    return twin.factor(values)


def places_of(model: Model, nv: int) -> NDArray[np.int64]:
    """Coordinate of each degree of freedom and its number there, shape (nv, 2)."""
    out = np.zeros((nv, 2), np.int64)
    for k, c in enumerate(model.coordinates):
        if c.iv >= 0:
            for j in range(6 if c.kind == FREE else 3 if c.kind == BALL else 1):
                out[c.iv + j] = k, j
    return out
