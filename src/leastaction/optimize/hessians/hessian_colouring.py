"""Second derivatives by differences of an analytic gradient, along several unknowns at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from leastaction.optimize.functions.manifold_derivatives import CENTRAL_STEP
from leastaction.optimize.transcriptions.sparsity import Pattern
from leastaction.typing import FloatArray

Gradient = Callable[[FloatArray, FloatArray], None]
"""gradient(z, out): into out (n,)."""

STEP = 1e-7
"""Of differences [rad, m, N, ...]: what they leave out and round-off are both below 1e-6 of the largest entry."""


class Coloured:
    """Upper triangle of a sparse Hessian: unknowns that have no row in common are moved together.

    Attributes:
        pattern: of the upper triangle.
        directions: for each the unknowns that move, which nonzeros it determines, and in which rows of the gradient
            they stand.
    """

    def __init__(self, pattern: Pattern, free: NDArray[np.bool_], alone: int = -1, central: bool = False) -> None:
        """With unknowns `free` (n,) that are not given, and one, `alone`, that touches all others and moves by itself.

        central: differences of both sides, of second order.
        """
        from scipy.sparse import csc_matrix

        self.pattern, self.central, n = pattern, central, pattern.shape[0]
        columns = np.repeat(np.arange(n), np.diff(pattern.indptr))
        plain = columns != alone
        rows, cols = pattern.indices[plain], columns[plain]
        A = csc_matrix((np.ones(len(rows), np.int8), (rows, cols)), (n, n))
        A = ((A + A.T) > 0).astype(np.int32)
        near = (A @ A).tocsc()
        colour = np.full(n, -1)
        for j in np.unique(np.concatenate([rows, cols])):
            if j == alone or not free[j]:
                continue
            taken = colour[near.indices[near.indptr[j] : near.indptr[j + 1]]]
            used = np.zeros(len(taken) + 1, bool)
            used[taken[(taken >= 0) & (taken <= len(taken))]] = True
            colour[j] = int(np.argmin(used))
        self.directions = []
        for k in range(int(colour.max(initial=-1)) + 1):
            upper = np.flatnonzero(plain & (colour[columns] == k))
            self.directions.append((colour == k, upper, pattern.indices[upper]))
        if not plain.all():
            last = np.flatnonzero(~plain)
            self.directions.append((np.arange(n) == alone, last, pattern.indices[last]))
        self._base, self._moved = np.zeros(n), np.zeros(n)

    def evaluate(self, z: FloatArray, gradient: Gradient, out: FloatArray) -> None:
        """Nonzeros into out (pattern.count,)."""
        less, more = self._base, self._moved
        out[:] = 0.0
        if not self.central:
            gradient(z, less)
        h = CENTRAL_STEP if self.central else STEP
        for chosen, slots, rows in self.directions:
            gradient(z + h * chosen, more)
            if self.central:
                gradient(z - h * chosen, less)
            out[slots] = (more[rows] - less[rows]) / (2.0 * h if self.central else h)
