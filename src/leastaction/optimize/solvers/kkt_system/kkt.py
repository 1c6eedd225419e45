"""The linear system of an interior-point iteration, ordered along the horizon.

    [ H + diag   J'   ] [dx]
    [ J         -diag ] [dy]

over the unknowns that are free and the constraints that bind them; slacks are eliminated.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction._jit import entry
from leastaction._jit.bound import Bound
from leastaction.optimize.solvers.kkt_system import multifrontal_ldlt
from leastaction.optimize.solvers.kkt_system.elimination_order import front_model
from leastaction.optimize.solvers.kkt_system.front_arrays import FrontModel, front_data
from leastaction.optimize.transcriptions.sparsity import FloatArray, IntArray, Memory, Pattern
from leastaction.optimize.transcriptions.transcription import Transcription

WIDE = 8
"""Stages over which an unknown may reach before it is taken for one of the whole horizon."""

REFINED = 3
"""How often a solution is refined at most."""

ACCURATE = 1e-11
"""Residual beside the right-hand side below which it is not."""

ROUNDING = float(np.finfo(np.float64).eps)
"""Residual beside matrix and solution that no refinement gets below. Solutions grow as steps get shorter; without this
residuals were refined the more often in vain."""


class Columns(NamedTuple):
    """Places of nonzeros, column by column."""

    starts: IntArray
    rows: NDArray[np.uint32]


class Structure(NamedTuple):
    """What products with the system read, and their scratch.

    Attributes:
        hessian, jacobian: of the program, upper triangle of the one.
        free, rows: see `System`.
        x, y: of a vector, the part of each unknown and of each constraint of the program; zero for all others.
        by_x, by_y: the same of the product.
    """

    hessian: Columns
    jacobian: Columns
    free: IntArray
    rows: IntArray
    x: FloatArray
    y: FloatArray
    by_x: FloatArray
    by_y: FloatArray


class Order(NamedTuple):
    """What of a system does not depend on its values.

    Attributes:
        free: unknowns of the program that are not fixed.
        rows: constraints of the program with a bound and a free unknown.
        unreached: those with a bound but no free unknown.
        hessian, jacobian: places of the nonzeros of the program.
        j_slots, j_rows: entries of the Jacobian in the system: places among its nonzeros, and rows there.
        model: of the factorisation.
    """

    free: IntArray
    rows: IntArray
    unreached: IntArray
    hessian: Columns
    jacobian: Columns
    j_slots: IntArray
    j_rows: IntArray
    model: FrontModel


_ORDERS: Memory[Order] = Memory()


def ordered(
    h_starts: IntArray,
    h_rows: IntArray,
    j_starts: IntArray,
    j_rows: IntArray,
    is_free: NDArray[np.bool_],
    is_bound: NDArray[np.bool_],
    knots: IntArray,
) -> Order:
    """Order the system along the horizon.

    h_starts, h_rows, j_starts, j_rows: compressed columns of Hessian and Jacobian; is_free, is_bound: which unknowns
    are, and which constraints; knots: first unknown of each knot.
    """
    reached = np.zeros(len(is_bound), bool)
    _reach(j_starts, j_rows, is_free, reached)
    free, rows = np.flatnonzero(is_free), np.flatnonzero(is_bound & reached)
    n, m = len(free), len(rows)
    number, row_number = np.full(len(is_free), -1), np.full(len(is_bound), -1)
    number[free], row_number[rows] = np.arange(n), np.arange(m)
    hessian, jacobian = Columns(h_starts, h_rows.astype(np.uint32)), Columns(j_starts, j_rows.astype(np.uint32))
    count = len(h_rows) + len(j_rows) + n + m
    a, b, slots = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64)
    h, j = _list_entries(hessian, jacobian, free, number, row_number, m, a, b, slots)
    a, b, slots = a[: j + n + m], b[: j + n + m], slots[: j + n + m]
    own_rows, own_columns = a[h:j] - n, b[h:j]
    stage = np.zeros(n + m, np.int64)
    stage[:n] = np.clip(np.searchsorted(knots, free, "right") - 1, 0, None)
    wide, (first, last) = _wide(stage[:n], own_rows, own_columns, m, a[:h], b[:h])
    # The stage at which an unknown enters is that of its knot, and of a row the middle of its own. So rows of three
    # knots meet the first one while it would stay anyway, and fronts are smallest. What reaches over many stages enters
    # at the first one.
    stage[:n][wide] = 0
    stage[n:] = np.where(last < 0, 0, (first + last + 1) // 2)
    unreached = np.flatnonzero(is_bound & ~reached)
    model = front_model(stage, a, b, slots, n)
    return Order(free, rows, unreached, hessian, jacobian, slots[h:j] - len(h_rows), own_rows, model)


def _wide(
    stage: IntArray, j_rows: IntArray, j_columns: IntArray, m: int, a: IntArray, b: IntArray
) -> tuple[NDArray[np.bool_], IntArray]:
    """Unknowns that couple stages far apart: those in most constraints first, until the others do not.

    With the first and the last stage of each constraint without them, -1 where it has none, shape (2, m).
    """
    n = len(stage)
    wide, degree = np.zeros(n, bool), np.bincount(j_columns, minlength=n)
    low, high, rows = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros((2, m), np.int64)
    while True:
        _reaches(stage, wide, j_rows, j_columns, a, b, rows, low, high)
        far = (high - low > WIDE) & ~wide
        if not far.any():
            return wide, rows
        wide |= far & (degree >= degree[far].max())


class System:
    """Structure and factors of the system.

    Attributes:
        order: see `Order`; `free`, `rows`, `unreached` and `model` are its.
        n, m: how many unknowns are free, and how many constraints bind them.
        values: nonzeros of H (those of its pattern), of J, then the diagonal (n + m,), views of which are
            `hessian`, `jacobian` and `diagonal`.
    """

    def __init__(self, program: Transcription, pattern: Pattern) -> None:
        J = program.jacobian_pattern
        free = program.lower < program.upper
        bound = np.isfinite(program.c_lower) | np.isfinite(program.c_upper)
        key = (pattern.indptr, pattern.indices, J.indptr, J.indices, free, bound, program.layout.q[:: program.s, 0])
        self.order = _ORDERS.find(key) or _ORDERS.keep(key, ordered(*key))
        self.free, self.rows, self.unreached = self.order.free, self.order.rows, self.order.unreached
        self.n, self.m, self.model = len(self.free), len(self.rows), self.order.model
        self._scale, self._jacobian_rows = np.ones(program.m), J.indices

        self.values = np.zeros(pattern.count + J.count + self.n + self.m)
        self.hessian = self.values[: pattern.count]
        self.jacobian = self.values[pattern.count : pattern.count + J.count]
        self.diagonal = self.values[pattern.count + J.count :]
        work = (np.zeros(size) for size in (program.n, program.m, program.n, program.m))
        structure = Structure(self.order.hessian, self.order.jacobian, self.free, self.rows, *work)
        self._pull_back = Bound(_pull_back, structure)
        self._multiply = Bound(_multiply, structure)
        self._make_room(1.0)

    def _make_room(self, more: float) -> None:
        """Memory for the factors: what they take if all pivots are taken when they may, and some more."""
        model, stages = self.model, len(self.model.first) - 1
        left = np.bincount(model.last, minlength=stages)
        size = np.cumsum(np.diff(model.first)) - np.cumsum(left) + left
        room = int((1.2 * size.max(initial=0) + 8) * more)
        self.more, members, factor = more, int(1.2 * more * size.sum()) + 64, int(more * (size @ left)) + 1024
        self.data = front_data(model, min(room, self.n + self.m), members, factor)
        self._factor = Bound(multifrontal_ldlt.factor, model, self.data)
        self._solve = Bound(multifrontal_ldlt.solve, model, self.data)
        self._product, self._proven = np.zeros(self.n + self.m), False

    def scale_rows(self, scale: FloatArray) -> None:
        """Multiply the rows of the Jacobian."""
        if (scale == 1.0).all():
            return
        self._scale[self.rows] = scale
        self.jacobian *= self._scale[self._jacobian_rows]

    def row_sizes(self) -> FloatArray:
        """Largest entry of each row of the Jacobian, shape (m,)."""
        out = np.zeros(self.m)
        np.maximum.at(out, self.order.j_rows, np.abs(self.jacobian[self.order.j_slots]))
        return out

    def pull_back(self, y: FloatArray, out: FloatArray) -> None:
        """J' y into out (n,)."""
        self._pull_back(self.jacobian, y, out)

    def factor(self) -> tuple[int, int, int]:
        """Factor what `values` holds; gives the numbers of positive, negative and vanishing pivots."""
        self._proven = False
        while self._factor(self.values) == multifrontal_ldlt.NO_ROOM:
            self._make_room(2.0 * self.more)
        positive, negative, none, _ = self.data.counts
        return int(positive), int(negative), int(none)

    def _size(self) -> float:
        """Largest entry of the matrix."""
        return max(float(self.values.max()), -float(self.values.min()))

    def solve(self, b: FloatArray) -> FloatArray:
        """The solution of the system with right-hand side b (n + m,), refined; b is kept.

        Factors that gave an accurate solution at once are believed the next time.
        """
        x = b.copy()
        self._solve(x)
        if self._proven:
            return x
        size = float(np.abs(b).max(initial=0.0))
        before = np.inf
        for _ in range(REFINED):
            self._multiply(self.values, x, self._product)
            rest = b - self._product
            wrong = float(np.abs(rest).max(initial=0.0))
            if not (ACCURATE * size < wrong < 0.5 * before):
                self._proven = before == np.inf and wrong <= ACCURATE * size
                break
            if before < np.inf and wrong <= ROUNDING * self._size() * float(np.abs(x).max()):
                break
            self._solve(rest)
            x += rest
            before = wrong
        return x


@entry
def _reach(starts, rows, free, reached):
    """Find which constraints have a free unknown."""
    for j in range(free.shape[0]):
        if free[j]:
            for a in range(starts[j], starts[j + 1]):
                reached[rows[a]] = True


@entry
def _list_entries(hessian, jacobian, free, number, row_number, m, a, b, slots):
    """Rows a, columns b and slots of the system with m constraints: of the Hessian, of the Jacobian, then its diagonal.

    number, row_number: of the unknowns and constraints of the program, -1 for those omitted. Gives where the entries
    of the Jacobian begin and end.
    """
    h_starts, h_rows = hessian.starts, hessian.rows
    j_starts, j_rows = jacobian.starts, jacobian.rows
    k, first, n = 0, h_rows.shape[0], free.shape[0]
    for c in range(n):
        for s in range(h_starts[free[c]], h_starts[free[c] + 1]):
            i = number[h_rows[s]]
            if i >= 0:
                a[k], b[k], slots[k] = i, c, s
                k += 1
    begin = k
    for c in range(n):
        for s in range(j_starts[free[c]], j_starts[free[c] + 1]):
            i = row_number[j_rows[s]]
            if i >= 0:
                a[k], b[k], slots[k] = n + i, c, first + s
                k += 1
    for c in range(n + m):
        a[k + c], b[k + c], slots[k + c] = c, c, first + j_rows.shape[0] + c
    return begin, k


@entry
def _reaches(stage, wide, j_rows, j_columns, a, b, rows, low, high):
    """First and last stage that each unknown meets in a constraint or in the Hessian, less those that are wide.

    j_rows, j_columns: entries of the Jacobian; a, b: of the Hessian. rows: the same of the constraints, shape (2, m).
    """
    n = stage.shape[0]
    rows[0], rows[1] = n, -1
    for i in range(n):
        low[i] = high[i] = stage[i]
    for k in range(j_rows.shape[0]):
        r, c = j_rows[k], j_columns[k]
        if not wide[c]:
            rows[0, r], rows[1, r] = min(rows[0, r], stage[c]), max(rows[1, r], stage[c])
    for k in range(j_rows.shape[0]):
        r, c = j_rows[k], j_columns[k]
        if not wide[c]:
            low[c], high[c] = min(low[c], rows[0, r]), max(high[c], rows[1, r])
    for k in range(a.shape[0]):
        i, j = a[k], b[k]
        if not wide[i] and not wide[j]:
            low[i], high[i] = min(low[i], stage[j]), max(high[i], stage[j])
            low[j], high[j] = min(low[j], stage[i]), max(high[j], stage[i])


@entry
def _pull_back(structure, jacobian, y, out):
    """out = J' y."""
    starts, rows = structure.jacobian.starts, structure.jacobian.rows
    free, kept, full = structure.free, structure.rows, structure.y
    for k in range(kept.shape[0]):
        full[kept[k]] = y[k]
    for k in range(free.shape[0]):
        total = 0.0
        for a in range(starts[free[k]], starts[free[k] + 1]):
            total += jacobian[a] * full[rows[a]]
        out[k] = total


@entry
def _multiply(structure, values, v, out):
    """out = matrix v; values: those of `System`."""
    h_starts, h_rows = structure.hessian.starts, structure.hessian.rows
    j_starts, j_rows = structure.jacobian.starts, structure.jacobian.rows
    free, kept = structure.free, structure.rows
    x, y, by_x, by_y = structure.x, structure.y, structure.by_x, structure.by_y
    n, m, first = free.shape[0], kept.shape[0], h_rows.shape[0]
    diagonal = first + j_rows.shape[0]
    for k in range(n):
        x[free[k]], by_x[free[k]] = v[k], 0.0
    for k in range(m):
        y[kept[k]], by_y[kept[k]] = v[n + k], 0.0
    for k in range(n):
        j, own, total = free[k], v[k], 0.0
        for a in range(h_starts[j], h_starts[j + 1]):
            i = h_rows[a]
            by_x[i] += values[a] * own
            if i != j:
                total += values[a] * x[i]
        for a in range(j_starts[j], j_starts[j + 1]):
            i = j_rows[a]
            by_y[i] += values[first + a] * own
            total += values[first + a] * y[i]
        by_x[j] += total
    for k in range(n):
        out[k] = by_x[free[k]] + values[diagonal + k] * v[k]
    for k in range(m):
        out[n + k] = by_y[kept[k]] + values[diagonal + n + k] * v[n + k]
