"""Small blocks of bodies, six rows each, and sparse Jacobians by them, for derivatives.

Changes of bodies have the shape (bodies, 6), or (bodies, 6, m) for m of them at once. A row of zeros is put after the
last body where indices may be those of the world, -1.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.linalg.graph.ldu import GraphLDU
from leastaction.maximal.derivatives.colours import Sparsity
from leastaction.maximal.model import Model
from leastaction.maximal.records import BALL, FREE

FloatArray = NDArray[np.float64]

IDENTITY = np.eye(3)


class Entries:
    """Jacobian of outputs by bodies, entry by entry.

    Args:
        sparsity: which output each entry is of, and which body it is by.
        J: the entries, shape (entries, 6).
        size: number of outputs.
    """

    def __init__(self, sparsity: Sparsity, J: FloatArray, size: int) -> None:
        self.sparsity, self.J, self.size = sparsity, J, size

    def times(self, dz: FloatArray) -> FloatArray:
        """Changes of the outputs, shape (size, m), by those of the bodies, shape (bodies, 6, m)."""
        out = np.zeros((self.size, dz.shape[2]))
        np.add.at(out, self.sparsity.outputs, np.einsum("ec,ecm->em", self.J, dz[self.sparsity.owner]))
        return out

    def transposed(self, w: FloatArray) -> FloatArray:
        """Gradients by the bodies, shape (bodies, 6), of what has the gradient w (size,) by the outputs."""
        return np.add.reduceat(self.J * w[self.sparsity.outputs][:, None], self.sparsity.starts)


class Pushes:
    """Unit wrenches on pairs of bodies: what impulses do to the bodies, and velocities of bodies to gaps.

    Args:
        n: number of bodies.
        bodies: the two of each pair, -1 for the world, shape (pairs, 2).
        wrenches: shape (pairs, 2, k, 6).
    """

    def __init__(self, n: int, bodies: NDArray[np.int64], wrenches: FloatArray) -> None:
        self.n, self.bodies, self.wrenches = n, bodies, wrenches

    def on_bodies(self, impulses: FloatArray) -> FloatArray:
        """Sums on the bodies, shape (bodies, 6, ...), of impulses of shape (pairs, k, ...)."""
        out = np.zeros((self.n + 1, 6, *impulses.shape[2:]))
        np.add.at(out, self.bodies, np.einsum("psji,pj...->psi...", self.wrenches, impulses))
        return out[: self.n]

    def of_bodies(self, x: FloatArray) -> FloatArray:
        """Transpose of `on_bodies`: shape (pairs, k, ...) from (bodies, 6, ...)."""
        return np.einsum("psji,psi...->pj...", self.wrenches, padded(x)[self.bodies])


def padded(x: FloatArray) -> FloatArray:
    """With a row of zeros after the last."""
    out = np.zeros((len(x) + 1, *x.shape[1:]))
    out[:-1] = x
    return out


def applied(B: FloatArray, x: FloatArray) -> FloatArray:
    """Blocks B (bodies, i, j) times x of shape (bodies, j) or (bodies, j, m)."""
    return np.matmul(B, x) if x.ndim == 3 else np.matmul(B, x[:, :, None])[:, :, 0]


def skew(v: FloatArray) -> FloatArray:
    """Matrices of the cross product with v (n, 3)."""
    out = np.zeros((len(v), 3, 3))
    out[:, 0, 1], out[:, 0, 2], out[:, 1, 2] = -v[:, 2], v[:, 1], -v[:, 0]
    return out - out.transpose(0, 2, 1)


def rotations(Z: FloatArray) -> FloatArray:
    """Rotation matrices (n, 3, 3) of poses (n, 7)."""
    w, v = Z[:, 3, None, None], Z[:, 4:]
    K = skew(v)
    return IDENTITY + 2.0 * w * K + 2.0 * K @ K


def momenta_within(bodies: Any, V: FloatArray, dt: float) -> FloatArray:
    """Momenta (n, 6) at the start of a step with velocities V; with -dt those at its end (`bodies.momenta`)."""
    J, h, w = bodies.J.reshape(-1, 3, 3), 0.5 * dt, V[:, :3]
    Jw = np.einsum("nij,nj->ni", J, w)
    s = np.sqrt(np.maximum(1.0 - h * h * (w * w).sum(axis=1), 0.0))[:, None]
    return np.hstack([s * Jw + h * np.cross(w, Jw), bodies.mass[:, None] * V[:, 3:]])


def node_velocities(bodies: Any, V: FloatArray, dt: float) -> tuple[FloatArray, FloatArray]:
    """Velocities (n, 6) of the momenta at the start of a step with velocities V, with -dt at its end; and their slopes.

    Slopes (n, 3, 3) are those of the angular velocities by those within the step. Bodies without inertia keep theirs.
    """
    J, h, w = bodies.J.reshape(-1, 3, 3), 0.5 * dt, V[:, :3]
    heavy = np.linalg.det(J) > 0.0
    inverse = np.linalg.inv(np.where(heavy[:, None, None], J, np.eye(3)))
    Jw = np.einsum("nij,nj->ni", J, w)
    s = np.sqrt(np.maximum(1.0 - h * h * (w * w).sum(axis=1), 1e-12))[:, None, None]
    slope = s * J - h * h / s * Jw[:, :, None] * w[:, None, :] + h * (skew(w) @ J - skew(Jw))
    out = V.copy()
    out[heavy, :3] = np.einsum("nij,nj->ni", inverse, momenta_within(bodies, V, dt)[:, :3])[heavy]
    return out, np.where(heavy[:, None, None], inverse @ slope, np.eye(3))


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
