"""Second derivatives of the Lagrangian: exact where a transcription has them, by differences, or Gauss-Newton's.

All give the upper triangle in compressed columns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from leastaction.optimize.hessians.hessian_colouring import Coloured
from leastaction.optimize.transcriptions.chain_rule import Piece
from leastaction.optimize.transcriptions.sparsity import (
    NO_BLOCKS,
    NO_ROWS,
    Block,
    FloatArray,
    IntArray,
    Pattern,
    add_squares,
)
from leastaction.optimize.transcriptions.transcription import Transcription


class Hessian(ABC):
    """Fills the upper triangle of d^2 (weight f + multipliers . c) / dz^2; `pattern` says where its nonzeros are."""

    pattern: Pattern

    @abstractmethod
    def evaluate(self, z: FloatArray, weight: float, multipliers: FloatArray, out: FloatArray) -> None:
        """Nonzeros into out (pattern.count,)."""


class Part(ABC):
    """Some terms of the Lagrangian; `pattern` takes their nonzeros, `close` finds where they are."""

    @abstractmethod
    def close(self, pattern: Pattern) -> None:
        """Find the places of the nonzeros."""

    @abstractmethod
    def add(self, z: FloatArray, weight: float, multipliers: FloatArray, values: FloatArray) -> None:
        """Add the second derivatives to the nonzeros; the last entry of `values` takes what is omitted."""


def local(piece: Piece) -> tuple[IntArray, list[IntArray]]:
    """Unknowns that each element of a piece reads (elements, n), and the columns taken of each group."""
    taken = [np.flatnonzero(columns.mask.any(axis=0)) for columns in piece.columns]
    groups = [columns.index[:, t] for columns, t in zip(piece.columns, taken, strict=True)]
    return np.concatenate([np.zeros((len(piece.index), 0), int), *groups], axis=1), taken


def shared(piece: Piece, taken: list[IntArray]) -> NDArray[np.bool_]:
    """Which two of these unknowns some component of the function reads both, and joins, shape (n, n)."""
    masks = [columns.mask[:, t] for columns, t in zip(piece.columns, taken, strict=True)]
    read = np.concatenate([np.zeros((piece.size, 0), bool), *masks], axis=1).astype(int)
    out = read.T @ read > 0
    if piece.couples is None:
        return out
    sizes = [0, *np.cumsum([columns.index.shape[1] for columns in piece.columns])]
    chosen = np.concatenate([at + t for at, t in zip(sizes, taken, strict=False)])
    return out & piece.couples[np.ix_(chosen, chosen)]


class Joined:
    """Derivatives by the unknowns of `local`, shape (elements, size, n); the array is used again by the next call."""

    def __init__(self, taken: list[IntArray]) -> None:
        self.taken, self.n = taken, sum(map(len, taken))
        self._room = np.zeros((0, 0, 0))

    def __call__(self, slopes: list[FloatArray]) -> FloatArray:
        """Of slopes of a piece, in groups."""
        shape = (*slopes[0].shape[:2], self.n)
        if self._room.shape != shape:
            self._room = np.zeros(shape)
        at = 0
        for J, t in zip(slopes, self.taken, strict=True):
            self._room[:, :, at : at + len(t)] = J if len(t) == J.shape[2] else J[:, :, t]
            at += len(t)
        return self._room


def upper(index: IntArray, pairs: NDArray[np.bool_]) -> tuple[IntArray, IntArray, IntArray]:
    """Rows and columns of the entries of symmetric blocks over the unknowns `index` (elements, n), where `pairs` are.

    In the upper triangle of the whole, each entry once, shape (elements, entries); and their places in a block.
    """
    n = index.shape[1]
    ordered = np.sort(index, axis=1)
    if (ordered[:, 1:] == ordered[:, :-1]).any():  # both triangles of a block meet at unknowns that it has twice
        i, j = np.nonzero(pairs)
        a, b = index[:, i], index[:, j]
        return np.where(a <= b, a, -1), b, i * n + j
    i, j = np.nonzero(np.triu(pairs))
    a, b = index[:, i], index[:, j]
    return np.minimum(a, b), np.maximum(a, b), i * n + j


def in_upper(places: IntArray, n: int) -> bool:
    """Whether all of these places in blocks (n, n) are in the upper triangle."""
    return bool((places // max(n, 1) <= places % max(n, 1)).all())


class GaussNewton(Hessian):
    """2 J' W J of the costs that are sums of squares; the curvature of constraints and of other costs is omitted."""

    def __init__(self, program: Transcription) -> None:
        self.program = program
        self.pattern = Pattern((program.n, program.n))
        self.parts = []
        for c in program.costs:
            if c.cost.squares:
                index, taken = local(c.piece)
                *entries, places = upper(index, shared(c.piece, taken))
                work = np.zeros((index.shape[1], index.shape[1]))
                self.parts.append((c, Joined(taken), self.pattern.add(*entries), places, work))
        diagonal = np.arange(program.n)
        self.pattern.add(diagonal, diagonal)
        self.pattern.close()
        self.slots = [self.pattern.slots(ticket) for _, _, ticket, _, _ in self.parts]
        self._values = np.zeros(self.pattern.count + 1)

    def evaluate(self, z: FloatArray, weight: float, multipliers: FloatArray, out: FloatArray) -> None:
        """See `Hessian.evaluate`."""
        program, motion, values = self.program, self.program.motion(z), self._values
        values[:] = 0.0
        for (c, joined, _, places, work), slots in zip(self.parts, self.slots, strict=True):
            r, slopes = c.piece.slopes(motion)
            if program.layout.duration >= 0 and c.cost.integral and c.piece.function.where == "steps":
                slopes[-1] = slopes[-1] + 0.5 * r[:, :, None] / program.duration(z)  # of the square root of the share
            J = joined(slopes)
            shares = weight * c.shares(motion.dt)[:, None] * c.cost.weights
            block = Block(places, in_upper(places, len(work)), np.arange(len(work)), work, work.reshape(work.size))
            add_squares(values, slots, block, NO_BLOCKS, J, shares, NO_ROWS)
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
            self.pattern.add(*upper(index, shared(piece, taken))[:2])
        time = program.layout.duration
        if time >= 0:
            self.pattern.add(np.arange(n), np.array(time))
        self.pattern.close()
        self.coloured = Coloured(self.pattern, program.lower < program.upper, time)

    def evaluate(self, z: FloatArray, weight: float, multipliers: FloatArray, out: FloatArray) -> None:
        """See `Hessian.evaluate`."""
        gradient = self.program.lagrangian_gradient
        self.coloured.evaluate(z, lambda z, g: gradient(z, weight, multipliers, g), out)
