"""Sparse matrices whose pattern is found once and whose values are filled again and again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leastaction._jit import entry

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Pattern:
    """Places of the structural nonzeros of a matrix, column by column, and for each contribution its place.

    Attributes:
        shape: rows and columns.
        indptr, indices: of the compressed columns.
    """

    def __init__(self, shape: tuple[int, int]) -> None:
        self.shape = shape
        self._keys: list[IntArray] = []
        self._shapes: list[tuple[int, ...]] = []
        self._all: IntArray = np.zeros(0, int)

    def add(self, rows: IntArray, columns: IntArray) -> int:
        """Register contributions, arrays that broadcast, without negative rows; gives back a ticket for `slots`."""
        rows, columns = np.broadcast_arrays(rows, columns)
        keys = np.where((rows < 0) | (columns < 0), -1, columns * self.shape[0] + rows)
        self._keys.append(keys.ravel())
        self._shapes.append(keys.shape)
        return len(self._keys) - 1

    def close(self) -> None:
        """Find the pattern of all that was added."""
        keys = np.sort(np.concatenate([np.zeros(0, int), *self._keys]), kind="stable")  # of runs that are sorted
        first = np.ones(len(keys), bool)
        first[1:] = keys[1:] != keys[:-1]
        self._all = keys[first & (keys >= 0)]
        self.indices = (self._all % max(self.shape[0], 1)).astype(np.int64)
        columns = self._all // max(self.shape[0], 1)
        self.indptr = np.concatenate([[0], np.cumsum(np.bincount(columns, minlength=self.shape[1]))]).astype(np.int64)

    @property
    def count(self) -> int:
        """Number of nonzeros."""
        return len(self._all)

    def slots(self, ticket: int) -> IntArray:
        """For each contribution its place among the values; `count` for those left out."""
        keys = self._keys[ticket]
        found = np.searchsorted(self._all, keys)
        return np.where(keys < 0, self.count, found).reshape(self._shapes[ticket])

    def dense(self, values: FloatArray) -> FloatArray:
        """The matrix as a plain array."""
        out = np.zeros(self.shape)
        columns = np.repeat(np.arange(self.shape[1]), np.diff(self.indptr))
        out[self.indices, columns] = values[: self.count]
        return out


@entry
def scatter(values, slots, source, weights, blocks):
    """values[slots[k, a]] += weights[a] blocks[k, source[a]] for all steps k: block entries to nonzeros."""
    for k in range(slots.shape[0]):
        for a in range(slots.shape[1]):
            values[slots[k, a]] += weights[a] * blocks[k, source[a]]


@entry
def add_at(values, slots, source, blocks):
    """`scatter` with all weights one."""
    for k in range(slots.shape[0]):
        for a in range(slots.shape[1]):
            values[slots[k, a]] += blocks[k, source[a]]


@entry
def add_squares(values, slots, source, bends, chosen, J, shares, by_time, work, flat):
    """values[slots[k, a]] += (sum of 2 shares J'J, of bends and of by_time)[source[a]] for all elements k.

    bends (elements, all, all) counts at the rows and columns `chosen` (n,); J (elements, size, n), shares (elements,
    size); by_time (elements, n) are the entries of the last unknown with the others. What is not there has no elements.
    work, flat: scratch, as large as a block, and the same memory in one row.
    """
    n = chosen.shape[0]
    for k in range(slots.shape[0]):
        flat[:] = 0.0
        for m in range(J.shape[1]):
            row = J[k, m, :n]
            for i in range(row.shape[0]):
                x = 2.0 * shares[k, m] * row[i]
                if x != 0.0:
                    out = work[i, :n]
                    for j in range(row.shape[0]):
                        out[j] += x * row[j]
        if bends.shape[0] > 0:
            for i in range(n):
                row, out = bends[k, chosen[i]], work[i, :n]
                for j in range(n):
                    out[j] += row[chosen[j]]
        if by_time.shape[0] > 0:
            for i in range(n):
                work[i, n] += by_time[k, i]
                work[n, i] += by_time[k, i]
        for a in range(slots.shape[1]):
            values[slots[k, a]] += flat[source[a]]


@entry
def add_products(indptr, indices, values, y, out):
    """out += A' y for a matrix in compressed columns."""
    for j in range(out.shape[0]):
        x = 0.0
        for a in range(indptr[j], indptr[j + 1]):
            x += values[a] * y[indices[a]]
        out[j] += x
