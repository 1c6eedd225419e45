"""Second derivatives of the Lagrangian: exact where a transcription has them, by differences, or Gauss-Newton's.

All give the upper triangle in compressed columns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from leastaction.optimize.hessians.colouring import Coloured
from leastaction.optimize.transcriptions.pieces import Piece
from leastaction.optimize.transcriptions.sparsity import FloatArray, IntArray, Pattern, scatter
from leastaction.optimize.transcriptions.transcription import Transcription


class Hessian(ABC):
    """Fills the upper triangle of d^2 (weight f + multipliers . c) / dz^2; `pattern` says where its nonzeros are."""

    pattern: Pattern

    @abstractmethod
    def evaluate(self, z: FloatArray, weight: float, multipliers: FloatArray, out: FloatArray) -> None:
        """Nonzeros into out (pattern.count,)."""


def local(piece: Piece) -> tuple[IntArray, list[IntArray]]:
    """Unknowns that each element of a piece reads (elements, n), and the columns taken of each group."""
    taken = [np.flatnonzero(columns.mask.any(axis=0)) for columns in piece.columns]
    groups = [columns.index[:, t] for columns, t in zip(piece.columns, taken, strict=True)]
    return np.concatenate([np.zeros((len(piece.index), 0), int), *groups], axis=1), taken


def shared(piece: Piece, taken: list[IntArray]) -> NDArray[np.bool_]:
    """Which two of these unknowns some component of the function reads both, shape (n, n)."""
    masks = [columns.mask[:, t] for columns, t in zip(piece.columns, taken, strict=True)]
    read = np.concatenate([np.zeros((piece.size, 0), bool), *masks], axis=1).astype(int)
    return read.T @ read > 0


def upper(index: IntArray, pairs: NDArray[np.bool_]) -> tuple[IntArray, IntArray]:
    """Rows and columns of the upper triangles of blocks over the unknowns `index` (elements, n), where `pairs` are."""
    a, b = index[:, :, None], index[:, None, :]
    return np.where((a <= b) & pairs, a, -1), np.broadcast_to(b, (*index.shape, index.shape[1]))


class GaussNewton(Hessian):
    """2 J' W J of the costs that are sums of squares; the curvature of constraints and of other costs is left out."""

    def __init__(self, program: Transcription) -> None:
        self.program = program
        self.pattern = Pattern((program.n, program.n))
        self.parts = []
        for c in program.costs:
            if c.cost.squares:
                index, taken = local(c.piece)
                self.parts.append((c, taken, self.pattern.add(*upper(index, shared(c.piece, taken)))))
        diagonal = np.arange(program.n)
        self.pattern.add(diagonal, diagonal)
        self.pattern.close()
        self.slots = []
        for *_, ticket in self.parts:
            slots = self.pattern.slots(ticket)
            slots = slots.reshape(len(slots), -1)
            kept = np.flatnonzero((slots < self.pattern.count).any(axis=0))
            self.slots.append((np.ascontiguousarray(slots[:, kept]), kept, np.ones(len(kept))))

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
            index, taken = local(piece)
            self.pattern.add(*upper(index, shared(piece, taken)))
        time = program.layout.duration
        if time >= 0:
            self.pattern.add(np.arange(n), np.array(time))
        self.pattern.close()
        self.coloured = Coloured(self.pattern, program.lower < program.upper, time)

    def evaluate(self, z: FloatArray, weight: float, multipliers: FloatArray, out: FloatArray) -> None:
        """See `Hessian.evaluate`."""
        gradient = self.program.lagrangian_gradient
        self.coloured.evaluate(z, lambda z, g: gradient(z, weight, multipliers, g), out)
