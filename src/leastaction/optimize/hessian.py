"""Second derivatives of the Lagrangian: exact where a transcription has them, by differences, or Gauss-Newton's.

All give the upper triangle in compressed columns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from leastaction.optimize.pieces import Piece
from leastaction.optimize.sparsity import FloatArray, IntArray, Pattern, scatter
from leastaction.optimize.transcription import Transcription

STEP = 1e-6
"""Of differences [rad, m, N, ...]."""


class Hessian(ABC):
    """Fills the upper triangle of d^2 (weight f + multipliers . c) / dz^2; `pattern` says where its nonzeros are."""

    pattern: Pattern

    @abstractmethod
    def evaluate(self, z: FloatArray, weight: float, multipliers: FloatArray, out: FloatArray) -> None:
        """Nonzeros into out (pattern.count,)."""


def _local(piece: Piece) -> tuple[IntArray, list[IntArray]]:
    """Unknowns that each element of a piece reads (elements, n), and the columns taken of each group."""
    taken = [np.flatnonzero(columns.mask.any(axis=0)) for columns in piece.columns]
    groups = [columns.index[:, t] for columns, t in zip(piece.columns, taken, strict=True)]
    return np.concatenate([np.zeros((len(piece.index), 0), int), *groups], axis=1), taken


def _upper(index: IntArray) -> tuple[IntArray, IntArray]:
    """Rows and columns of the upper triangles of blocks over the unknowns `index` (elements, n)."""
    a, b = index[:, :, None], index[:, None, :]
    return np.where(a <= b, a, -1), np.broadcast_to(b, (*index.shape, index.shape[1]))


class GaussNewton(Hessian):
    """2 J' W J of the costs that are sums of squares; the curvature of constraints and of other costs is left out."""

    def __init__(self, program: Transcription) -> None:
        self.program = program
        self.pattern = Pattern((program.n, program.n))
        self.parts = []
        for c in program.costs:
            if c.cost.squares:
                index, taken = _local(c.piece)
                self.parts.append((c, taken, self.pattern.add(*_upper(index))))
        diagonal = np.arange(program.n)
        self.pattern.add(diagonal, diagonal)
        self.pattern.close()
        self.slots = []
        for *_, ticket in self.parts:
            slots = self.pattern.slots(ticket)
            slots = slots.reshape(len(slots), -1)
            upper = np.flatnonzero((slots < self.pattern.count).any(axis=0))
            self.slots.append((np.ascontiguousarray(slots[:, upper]), upper, np.ones(len(upper))))

    def evaluate(self, z: FloatArray, weight: float, multipliers: FloatArray, out: FloatArray) -> None:
        """See `Hessian.evaluate`."""
        program, motion = self.program, self.program.motion(z)
        values = np.zeros(self.pattern.count + 1)
        for (c, taken, _), slots in zip(self.parts, self.slots, strict=True):
            r, slopes = c.piece.slopes(motion)
            if program.layout.duration >= 0 and c.cost.integral and c.piece.function.where == "steps":
                slopes[-1] = slopes[-1] + 0.5 * r[:, :, None] / program.duration(z)  # of the square root of the share
            J = np.concatenate([J[:, :, t] for J, t in zip(slopes, taken, strict=True)], axis=2)
            scale = 2.0 * weight * c.shares(motion.dt)[:, None] * c.cost.weights
            H = (J * scale[:, :, None]).transpose(0, 2, 1) @ J
            scatter(values, *slots, H.reshape(len(H), -1))
        out[:] = values[:-1]


class Differences(Hessian):
    """Differences of the Lagrangian's analytic gradient, along several unknowns at once that have no row in common."""

    def __init__(self, program: Transcription) -> None:
        self.program, n = program, program.n
        self.pattern = Pattern((n, n))
        self.pattern.add(np.arange(n), np.arange(n))
        for a, b in program.dynamics_couplings():
            self.pattern.add(np.where(a <= b, a, b), np.where(a <= b, b, a))
        for piece in [*(c.piece for c in program.costs), *program.paths]:
            self.pattern.add(*_upper(_local(piece)[0]))
        self.time = program.layout.duration
        if self.time >= 0:
            self.pattern.add(np.arange(n), np.array(self.time))
        self.pattern.close()
        self._colour()

    def _colour(self) -> None:
        """Groups of unknowns that can be moved together; the final time, which touches all, moves alone."""
        from scipy.sparse import csc_matrix

        n, pattern = self.program.n, self.pattern
        columns = np.repeat(np.arange(n), np.diff(pattern.indptr))
        plain = columns != self.time
        rows, cols = pattern.indices[plain], columns[plain]
        A = csc_matrix((np.ones(len(rows), np.int8), (rows, cols)), (n, n))
        A = ((A + A.T) > 0).astype(np.int32)
        near = (A @ A).tocsc()
        colour = np.full(n, -1)
        free = self.program.lower < self.program.upper
        for j in range(n):
            if j == self.time or not free[j]:
                continue
            taken = colour[near.indices[near.indptr[j] : near.indptr[j + 1]]]
            used = np.zeros(len(taken) + 1, bool)
            used[taken[(taken >= 0) & (taken <= len(taken))]] = True
            colour[j] = int(np.argmin(used))
        self.colour, self.columns = colour, columns
        count = int(colour.max(initial=-1)) + 1
        # For each direction: which nonzeros it tells, and in which row of the gradient they stand.
        self.told = []
        for k in range(count):
            upper = np.flatnonzero(plain & (colour[columns] == k))
            self.told.append((colour == k, upper, pattern.indices[upper]))
        if self.time >= 0:
            last = np.flatnonzero(~plain)
            self.told.append((np.arange(n) == self.time, last, pattern.indices[last]))

    def evaluate(self, z: FloatArray, weight: float, multipliers: FloatArray, out: FloatArray) -> None:
        """See `Hessian.evaluate`."""
        gradient = self.program.lagrangian_gradient
        base, moved = np.zeros(len(z)), np.zeros(len(z))
        gradient(z, weight, multipliers, base)
        out[:] = 0.0
        for chosen, slots, rows in self.told:
            gradient(z + STEP * chosen, weight, multipliers, moved)
            out[slots] = (moved[rows] - base[rows]) / STEP


HESSIANS = {"differences": Differences, "gauss-newton": GaussNewton}
