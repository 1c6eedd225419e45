"""Solver of the matrix F_z of the implicit function theorem, a block triangle of phases.

Its blocks are factorised (LU with partial pivoting), not inverted. For redundant contacts, a tiny compliance alone
determines how they share their load. The entries of an inverse that belong to this share are large, and so is their
round-off; solutions by factors satisfy the equations to round-off, whatever the share.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from scipy.linalg import get_lapack_funcs

from leastaction.typing import FloatArray

_factor, _substitute = get_lapack_funcs(("getrf", "getrs"), dtype=np.float64)

HOLD = 1e-10
"""Regularisation of impulses without compliance, relative to their diagonal of the Delassus matrix."""


class Solver(Protocol):
    """Solver of A x = b and A' x = b."""

    def solve(self, b: FloatArray) -> FloatArray:
        """Solution x of A x = b, shapes (size,) or (size, columns)."""
        ...

    def solve_transposed(self, b: FloatArray) -> FloatArray:
        """Solution x of A' x = b."""
        ...


class Block:
    """LU factors of a matrix whose rows and columns from n on are those of e impulses.

    Args:
        G: the matrix.
        n, e: number of displacements or velocities, and of impulses.
        rest: rows of impulses without compliance.
        loops: how many of these belong to loops, the last ones.
    """

    def __init__(self, G: FloatArray, n: int, e: int = 0, rest: Any = (), loops: int = 0) -> None:
        G, self.unit = G.copy(), np.ones(len(G))
        if e > 0:
            rest = np.asarray(rest, np.int64)
            free = np.linalg.solve(G[:n, :n], G[:n, n : n + e])
            compliance = -np.einsum("en,ne->e", G[n : n + e, :n], free)
            scale = np.abs(compliance) + np.abs(np.diag(G)[n : n + e])
            at = n + np.arange(e)
            idle = at[scale == 0.0]  # impulses without effect, such as friction between bodies on rails
            G[idle, idle] = 1.0
            G[rest, rest] += HOLD * np.abs(compliance[rest - n])
            own = at[e - loops :]
            if len(own):  # rows may be linearly dependent
                least = HOLD * np.abs(compliance[own - n]).max()
                G[own, own] += least
                scale[own - n] += least
            # Scale impulses to the magnitude of displacements.
            self.unit[at] = 1.0 / np.where(scale > 0.0, scale, 1.0)
            G *= self.unit
        self.rows = np.abs(G).max(axis=1)
        self.lu, self.pivots, info = _factor(G / self.rows[:, None])
        if info != 0:
            raise np.linalg.LinAlgError("Singular matrix")

    def solve(self, b: FloatArray) -> FloatArray:
        """See `Solver.solve`."""
        x = _substitute(self.lu, self.pivots, (b.T / self.rows).T)[0]
        return np.asarray((x.T * self.unit).T, np.float64)

    def solve_transposed(self, b: FloatArray) -> FloatArray:
        """See `Solver.solve_transposed`."""
        x = _substitute(self.lu, self.pivots, (b.T * self.unit).T, trans=1)[0]
        return np.asarray((x.T / self.rows).T, np.float64)


class BlockTriangle:
    """Block lower triangle: the matrix, and the factors of its diagonal blocks, from the first to the last row."""

    def __init__(self, matrix: FloatArray, blocks: Sequence[tuple[slice, Block]]) -> None:
        self.matrix, self.blocks = matrix, blocks

    def solve(self, b: FloatArray) -> FloatArray:
        """See `Solver.solve`."""
        x = np.empty_like(b)
        for at, block in self.blocks:
            x[at] = block.solve(b[at] - self.matrix[at, : at.start] @ x[: at.start])
        return x

    def solve_transposed(self, b: FloatArray) -> FloatArray:
        """See `Solver.solve_transposed`."""
        x = np.empty_like(b)
        for at, block in reversed(self.blocks):
            x[at] = block.solve_transposed(b[at] - self.matrix[at.stop :, at].T @ x[at.stop :])
        return x


class Bordered:
    """Bordered matrix [[A, column], [row, corner]] with a given solver of A.

    Attributes:
        pivot: corner - row A^-1 column.
    """

    def __init__(self, inner: Solver, column: FloatArray, row: FloatArray, corner: float) -> None:
        self.inner, self.row, self.by_column = inner, row, inner.solve(column)
        self.column, self.pivot = column, corner - row @ self.by_column

    def solve(self, b: FloatArray) -> FloatArray:
        """See `Solver.solve`."""
        x = self.inner.solve(b[:-1])
        last = (b[-1] - self.row @ x) / self.pivot
        return np.concatenate([x - np.multiply.outer(self.by_column, last), np.atleast_1d(last).reshape(b[-1:].shape)])

    def solve_transposed(self, b: FloatArray) -> FloatArray:
        """See `Solver.solve_transposed`."""
        last = (b[-1] - self.by_column @ b[:-1]) / self.pivot
        x = self.inner.solve_transposed(b[:-1] - np.multiply.outer(self.row, last))
        return np.concatenate([x, np.atleast_1d(last).reshape(b[-1:].shape)])
