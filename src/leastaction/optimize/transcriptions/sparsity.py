"""Sparse matrices whose pattern is found once and whose values are filled again and again."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from leastaction._jit import entry
from leastaction.typing import FloatArray

Made = TypeVar("Made")

IntArray = NDArray[np.int64]

NO_BLOCKS, NO_ROWS = np.zeros((0, 0, 0)), np.zeros((0, 0))
"""For `add_squares`, in place of what is not there."""


class Memory(Generic[Made]):
    """What was made of the same arrays before, of the last few: problems are solved again with other numbers.

    What is kept is shared, and not to be written to.
    """

    def __init__(self, most: int = 4, largest: int = 4_000_000) -> None:
        self._most, self._largest = most, largest
        self._kept: list[tuple[tuple[NDArray, ...], Made]] = []

    def find(self, arrays: tuple[NDArray, ...]) -> Made | None:
        """What was made of arrays of these numbers."""
        for key, made in self._kept:
            if all(a is b or (a.shape == b.shape and bool((a == b).all())) for a, b in zip(key, arrays, strict=True)):
                return made
        return None

    def keep(self, arrays: tuple[NDArray, ...], made: Made) -> Made:
        """Remember it, unless the arrays are large."""
        if sum(a.size for a in arrays) <= self._largest:
            self._kept = [(arrays, made), *self._kept[: self._most - 1]]
        return made


class Pattern:
    """Places of the structural nonzeros of a matrix, column by column, and for each contribution its place.

    Attributes:
        shape: rows and columns.
        indptr, indices: of the compressed columns.
    """

    def __init__(self, shape: tuple[int, int]) -> None:
        self.shape = shape
        self._rows: list[IntArray] = []
        self._columns: list[IntArray] = []
        self._shapes: list[tuple[int, ...]] = []

    def add(self, rows: IntArray, columns: IntArray) -> int:
        """Register contributions, arrays that broadcast; negative ones are omitted. Gives a ticket for `slots`."""
        rows, columns = np.broadcast_arrays(rows, columns)
        self._rows.append(rows.ravel())
        self._columns.append(columns.ravel())
        self._shapes.append(rows.shape)
        return len(self._rows) - 1

    def close(self) -> None:
        """Find the pattern of all that was added."""
        rows, columns = (np.concatenate([np.zeros(0, np.int64), *x]) for x in (self._rows, self._columns))
        key = (rows, columns, np.array(self.shape))
        self.indptr, self.indices, slots = _PATTERNS.find(key) or _PATTERNS.keep(key, _compressed(*key))
        ends = np.cumsum([len(x) for x in self._rows]).tolist()
        self._slots = np.split(slots, ends[:-1]) if ends else []
        self._rows, self._columns = [], []

    @property
    def count(self) -> int:
        """Number of nonzeros."""
        return len(self.indices)

    def slots(self, ticket: int) -> IntArray:
        """For each contribution its place among the values; `count` for those omitted."""
        return self._slots[ticket].reshape(self._shapes[ticket])

    def dense(self, values: FloatArray) -> FloatArray:
        """The matrix as a plain array."""
        out = np.zeros(self.shape)
        columns = np.repeat(np.arange(self.shape[1]), np.diff(self.indptr))
        out[self.indices, columns] = values[: self.count]
        return out


_PATTERNS: Memory[tuple[IntArray, IntArray, IntArray]] = Memory()


def _compressed(rows: IntArray, columns: IntArray, shape: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """`indptr` and `indices` of a pattern, and the slot of each contribution."""
    (m, n), size = shape.tolist(), len(rows)
    starts, by_rows, by_columns = np.zeros(m + 1, int), np.empty((size, 2), np.int32), np.empty((size, 2), np.int32)
    indices, indptr, slots = np.empty(size, int), np.zeros(n + 1, int), np.empty(size, int)
    count = _compress(rows, columns, starts, by_rows, by_columns, indices, indptr, slots)
    return indptr, indices[:count].copy(), slots


@entry
def _compress(rows, columns, starts, by_rows, by_columns, indices, indptr, slots):
    """Sort contributions by columns, then by rows, and number those that differ; gives how many do.

    Two sorts by counting, the second of which keeps the order of the first. starts, indptr: zeros (rows + 1,) and
    (columns + 1,); by_rows, by_columns: scratch (contributions, 2). Negative ones are omitted, after all others.
    """
    for k in range(rows.shape[0]):
        if rows[k] >= 0 and columns[k] >= 0:
            starts[rows[k] + 1] += 1
            indptr[columns[k] + 1] += 1
    for n in range(1, starts.shape[0]):
        starts[n] += starts[n - 1]
    for n in range(1, indptr.shape[0]):
        indptr[n] += indptr[n - 1]
    for k in range(rows.shape[0]):
        if rows[k] >= 0 and columns[k] >= 0:
            place = starts[rows[k]]
            starts[rows[k]] += 1
            by_rows[place, 0], by_rows[place, 1] = k, columns[k]
    first = 0
    for row in range(starts.shape[0] - 1):
        for n in range(first, starts[row]):
            column = by_rows[n, 1]
            place = indptr[column]
            indptr[column] += 1
            by_columns[place, 0], by_columns[place, 1] = by_rows[n, 0], row
        first = starts[row]
    # Now `indptr` says where columns end.
    count, first = 0, 0
    for column in range(indptr.shape[0] - 1):
        end, row = indptr[column], -1
        indptr[column] = count
        for n in range(first, end):
            if by_columns[n, 1] != row:
                row = by_columns[n, 1]
                indices[count] = row
                count += 1
            slots[by_columns[n, 0]] = count - 1
        first = end
    indptr[indptr.shape[0] - 1] = count
    for k in range(rows.shape[0]):
        if rows[k] < 0 or columns[k] < 0:
            slots[k] = count
    return count


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


class Block(NamedTuple):
    """How the block of an element of second derivatives is made.

    Attributes:
        source: its entries that count, by their places in one row.
        upper: whether these are of the upper triangle alone.
        chosen: its rows and columns among all unknowns that the element reads, shape (n,).
        work, flat: scratch, as large as a block, and the same memory in one row.
    """

    source: IntArray
    upper: bool
    chosen: IntArray
    work: FloatArray
    flat: FloatArray


@entry
def add_squares(values, slots, block, curvature, J, shares, by_time):
    """values[slots[k, a]] += (sum of 2 shares J'J, of curvature and of by_time)[source[a]] for all elements k.

    curvature (elements, all, all) counts at rows and columns `chosen` (n,); J (elements, size, n), shares (elements,
    size); by_time (elements, n) are the entries of the last unknown with the others. What is not there has no elements.
    """
    source, upper, chosen, work, flat = block.source, block.upper, block.chosen, block.work, block.flat
    n = chosen.shape[0]
    for k in range(slots.shape[0]):
        flat[:] = 0.0
        m = 0
        while m + 3 <= J.shape[1]:  # three at a time
            p, q, r = 2.0 * shares[k, m], 2.0 * shares[k, m + 1], 2.0 * shares[k, m + 2]
            for i in range(n):
                x, y, z = p * J[k, m, i], q * J[k, m + 1, i], r * J[k, m + 2, i]
                if x != 0.0 or y != 0.0 or z != 0.0:
                    first = i if upper else 0
                    a, b, c = J[k, m, first:n], J[k, m + 1, first:n], J[k, m + 2, first:n]
                    out = work[i, first:n]
                    for j in range(n - first):
                        out[j] += x * a[j] + y * b[j] + z * c[j]
            m += 3
        while m < J.shape[1]:
            p = 2.0 * shares[k, m]
            for i in range(n):
                x = p * J[k, m, i]
                if x != 0.0:
                    first = i if upper else 0
                    a, out = J[k, m, first:n], work[i, first:n]
                    for j in range(n - first):
                        out[j] += x * a[j]
            m += 1
        if curvature.shape[0] > 0:
            for i in range(n):
                row, out = curvature[k, chosen[i]], work[i, :n]
                for j in range(i if upper else 0, n):
                    out[j] += row[chosen[j]]
        if by_time.shape[0] > 0:
            for i in range(n):
                work[i, n] += by_time[k, i]
                work[n, i] += by_time[k, i]
        for a in range(slots.shape[1]):
            values[slots[k, a]] += flat[source[a]]


@entry
def add_slopes(index, bar, J, out):
    """out[index[k, j]] += bar[k] . J[k, :, j] for all elements k: gradients of sums of functions."""
    for k in range(index.shape[0]):
        for m in range(J.shape[1]):
            x = bar[k, m]
            if x != 0.0:
                for j in range(J.shape[2]):
                    out[index[k, j]] += x * J[k, m, j]


@entry
def add_products(indptr, indices, values, y, out):
    """out += A' y for a matrix in compressed columns."""
    for j in range(out.shape[0]):
        x = 0.0
        for a in range(indptr[j], indptr[j + 1]):
            x += values[a] * y[indices[a]]
        out[j] += x
