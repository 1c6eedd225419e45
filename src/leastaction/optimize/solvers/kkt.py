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
from leastaction.optimize.solvers import fronts
from leastaction.optimize.solvers.arrays import FrontModel, front_data
from leastaction.optimize.transcriptions.sparsity import FloatArray, IntArray, Pattern
from leastaction.optimize.transcriptions.transcription import Transcription

WIDE = 8
"""Stages over which an unknown may reach before it is taken for one of the whole horizon."""

FEW = 8
"""Neighbours of an unknown, itself included, up to which it leaves before others."""

REFINED = 3
"""How often a solution is refined at most."""

ACCURATE = 1e-11
"""Residual beside the right-hand side below which it is not."""


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


class System:
    """Structure and factors of the system.

    Attributes:
        free: unknowns of the program that are not fixed.
        rows: constraints of the program with a bound and a free unknown.
        n, m: how many there are.
        values: nonzeros of H (those of its pattern), of J, then the diagonal (n + m,), views of which are
            `hessian`, `jacobian` and `diagonal`.
    """

    def __init__(self, program: Transcription, pattern: Pattern) -> None:
        J = program.jacobian_pattern
        free = program.lower < program.upper
        rows, columns = J.indices, np.repeat(np.arange(program.n), np.diff(J.indptr))
        bound = np.isfinite(program.c_lower) | np.isfinite(program.c_upper)
        reached = np.zeros(program.m, bool)
        reached[rows[free[columns]]] = True
        self.free, self.rows = np.flatnonzero(free), np.flatnonzero(bound & reached)
        self.unreached = np.flatnonzero(bound & ~reached)
        self.n, self.m = len(self.free), len(self.rows)
        self._scale, self._jacobian_rows = np.ones(program.m), rows
        number, row_number = np.full(program.n, -1), np.full(program.m, -1)
        number[self.free], row_number[self.rows] = np.arange(self.n), np.arange(self.m)

        self.values = np.zeros(pattern.count + J.count + self.n + self.m)
        self.hessian = self.values[: pattern.count]
        self.jacobian = self.values[pattern.count : pattern.count + J.count]
        self.diagonal = self.values[pattern.count + J.count :]

        h_rows, h_columns = pattern.indices, np.repeat(np.arange(program.n), np.diff(pattern.indptr))
        h = np.flatnonzero(free[h_rows] & free[h_columns])
        j = np.flatnonzero(free[columns] & (row_number[rows] >= 0))
        self.j_slots, self.j_rows, self.j_columns = j, row_number[rows[j]], number[columns[j]]
        everyone = np.arange(self.n + self.m)
        a = np.concatenate([number[h_rows[h]], self.n + self.j_rows, everyone])
        b = np.concatenate([number[h_columns[h]], self.j_columns, everyone])
        slots = np.concatenate([h, pattern.count + j, pattern.count + J.count + everyone])
        parts = [Columns(x.indptr, x.indices.astype(np.uint32)) for x in (pattern, J)]
        work = [np.zeros(size) for size in (program.n, program.m, program.n, program.m)]
        self._structure = Structure(*parts, self.free, self.rows, *work)
        self._pull_back = Bound(_pull_back, self._structure)
        self._multiply = Bound(_multiply, self._structure)
        stage = self._stages(program, a, b)
        self.model = _model(stage, a, b, slots, self.n)
        self._make_room(1.0)

    def _stages(self, program: Transcription, a: IntArray, b: IntArray) -> IntArray:
        """Stage at which each unknown enters, shape (n + m,): that of its knot, and of a row the middle of its own ones.

        So rows of three knots meet the first one while it would stay anyway, and fronts are smallest. What reaches over
        many stages enters at the first one.
        """
        n, knots = self.n, program.layout.q[:: program.s, 0]
        stage = np.zeros(n + self.m, np.int64)
        stage[:n] = np.clip(np.searchsorted(knots, self.free, "right") - 1, 0, None)
        wide = self._wide(stage[:n], a, b)
        stage[:n][wide] = 0
        narrow = ~wide[self.j_columns]
        rows, of = self.j_rows[narrow], stage[self.j_columns[narrow]]
        last, first = np.zeros(self.m, np.int64), np.full(self.m, len(knots))
        np.maximum.at(last, rows, of)
        np.minimum.at(first, rows, of)
        stage[n:] = (np.minimum(first, last) + last + 1) // 2
        return stage

    def _wide(self, stage: IntArray, a: IntArray, b: IntArray) -> NDArray[np.bool_]:
        """Unknowns that couple stages far apart: those in most constraints first, until the others do not."""
        n = self.n
        wide, degree = np.zeros(n, bool), np.bincount(self.j_columns, minlength=n)
        low, high, rows = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros((2, self.m), np.int64)
        while True:
            _reaches(stage, wide, self.j_rows, self.j_columns, a, b, rows, low, high)
            far = (high - low > WIDE) & ~wide
            if not far.any():
                return wide
            wide |= far & (degree >= degree[far].max())

    def _make_room(self, more: float) -> None:
        """Memory for the factors: what they take if all pivots are taken when they may, and some more."""
        model, stages = self.model, len(self.model.first) - 1
        left = np.bincount(model.last, minlength=stages)
        size = np.cumsum(np.diff(model.first)) - np.cumsum(left) + left
        room = int((1.2 * size.max(initial=0) + 8) * more)
        self.more, members, factor = more, int(1.2 * more * size.sum()) + 64, int(more * (size @ left)) + 1024
        self.data = front_data(model, min(room, self.n + self.m), members, factor)
        self._factor = Bound(fronts.factor, model, self.data)
        self._solve = Bound(fronts.solve, model, self.data)
        self._product = np.zeros(self.n + self.m)

    def scale_rows(self, scale: FloatArray) -> None:
        """Multiply the rows of the Jacobian."""
        if (scale == 1.0).all():
            return
        self._scale[self.rows] = scale
        self.jacobian *= self._scale[self._jacobian_rows]

    def row_sizes(self) -> FloatArray:
        """Largest entry of each row of the Jacobian, shape (m,)."""
        out = np.zeros(self.m)
        np.maximum.at(out, self.j_rows, np.abs(self.jacobian[self.j_slots]))
        return out

    def pull_back(self, y: FloatArray, out: FloatArray) -> None:
        """J' y into out (n,)."""
        self._pull_back(self.jacobian, y, out)

    def factor(self) -> tuple[int, int, int]:
        """Factor what `values` holds; gives the numbers of positive, negative and vanishing pivots."""
        while self._factor(self.values) == fronts.NO_ROOM:
            self._make_room(2.0 * self.more)
        positive, negative, none, _ = self.data.counts
        return int(positive), int(negative), int(none)

    def solve(self, b: FloatArray) -> FloatArray:
        """The solution of the system with right-hand side b (n + m,), refined; b is kept."""
        x = b.copy()
        self._solve(x)
        size = float(np.abs(b).max(initial=0.0))
        before = np.inf
        for _ in range(REFINED):
            self._multiply(self.values, x, self._product)
            rest = b - self._product
            wrong = float(np.abs(rest).max(initial=0.0))
            if not (ACCURATE * size < wrong < 0.5 * before):
                break
            self._solve(rest)
            x += rest
            before = wrong
        return x


@entry
def _reaches(stage, wide, j_rows, j_columns, a, b, rows, low, high):
    """First and last stage that each unknown meets in a constraint or in the Hessian, less those that are wide.

    j_rows, j_columns: entries of the Jacobian; a, b: of the whole system. rows: scratch (2, constraints).
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
        if i < n and j < n and not wide[i] and not wide[j]:
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


def _partners(stage: IntArray, a: IntArray, b: IntArray, n: int) -> IntArray:
    """Of unknowns with few neighbours the first constraint on them, -1 for all others."""
    degree = np.bincount(a, minlength=len(stage)) + np.bincount(b, minlength=len(stage))
    rows = np.flatnonzero((a >= n) & (b < n) & (degree[b] <= FEW + 2))
    first = np.full(len(stage), len(stage) ** 2)
    np.minimum.at(first, b[rows], stage[a[rows]] * len(stage) + a[rows])
    return np.where(first < len(stage) ** 2, first % len(stage), -1)


class _Thin(NamedTuple):
    """Fields of `FrontModel` on thin unknowns, and the pairs of their neighbours."""

    unknowns: IntArray
    slots: IntArray
    around: IntArray
    near: IntArray
    near_slots: IntArray
    pairs: IntArray
    rows: IntArray
    columns: IntArray


def _thin(a: IntArray, b: IntArray, slots: IntArray, n: int, count: int) -> _Thin:
    """Unknowns of the program with few neighbours, no two of which are neighbours."""
    beside = a != b
    degree = np.bincount(a[beside], minlength=count) + np.bincount(b[beside], minlength=count)
    # On the diagonal are the Hessian's entry and that of the barrier.
    twice = np.bincount(a[~beside], minlength=count) == 2
    few = (degree < FEW) & (degree > 0) & (np.arange(count) < n) & twice
    entries = np.flatnonzero(beside & (few[a] | few[b]))
    ends, others = np.concatenate([a[entries], b[entries]]), np.concatenate([b[entries], a[entries]])
    where = np.tile(slots[entries], 2)
    # Of two neighbours that both have few the later one stays.
    stays = np.zeros(count, bool)
    stays[np.maximum(ends, others)[few[ends] & few[others]]] = True
    chosen = few & ~stays
    unknowns = np.flatnonzero(chosen)
    own = np.flatnonzero(chosen[ends])
    own = own[np.argsort(ends[own], kind="stable")]
    size = degree[unknowns]
    entries = np.flatnonzero(~beside)
    entries = entries[chosen[a[entries]]]
    diagonal = slots[entries[np.argsort(a[entries], kind="stable")]].reshape(-1, 2)
    around = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
    pairs = np.concatenate([[0], np.cumsum(size * (size + 1) // 2)]).astype(np.int64)
    near = others[own]
    rows, columns = np.zeros(pairs[-1], np.int64), np.zeros(pairs[-1], np.int64)
    for m in np.unique(size):
        i, j = np.tril_indices(m)
        of = np.flatnonzero(size == m)
        at, to = around[of][:, None], pairs[of][:, None] + np.arange(len(i))
        rows[to], columns[to] = near[at + i], near[at + j]
    return _Thin(unknowns, diagonal, around, near, where[own], pairs, rows, columns)


def _model(stage: IntArray, a: IntArray, b: IntArray, slots: IntArray, n: int) -> FrontModel:
    used, stage = np.unique(stage, return_inverse=True)
    stages = max(len(used), 1)
    at = np.maximum(stage[a], stage[b])
    early = _thin(a, b, slots, n, len(stage))
    last = stage.copy()
    np.maximum.at(last, a, at)
    np.maximum.at(last, b, at)
    partner = _partners(stage, a, b, n)
    thin = np.flatnonzero(partner >= 0)
    np.maximum.at(last, partner[thin], last[thin])  # they wait for each other, else rows fill up
    # Its neighbours meet where a thin unknown left.
    meet = np.maximum(stage[early.rows], stage[early.columns])
    np.maximum.at(last, early.rows, meet)
    np.maximum.at(last, early.columns, meet)
    short = np.int16 if stages < 2**15 else np.int64  # of few bits numbers are sorted by counting
    order, entry_order, fill_order = (np.argsort(x.astype(short), kind="stable") for x in (stage, at, meet))

    def starts(of: IntArray) -> IntArray:
        return np.concatenate([[0], np.cumsum(np.bincount(of, minlength=stages))]).astype(np.int64)

    return FrontModel(
        first=starts(stage),
        ids=order.astype(np.int64),
        entries=starts(at),
        rows=a[entry_order].astype(np.int32),
        columns=b[entry_order].astype(np.int32),
        slots=slots[entry_order].astype(np.uint32),
        last=last.astype(np.int64),
        partner=partner.astype(np.int64),
        thin=early.unknowns,
        thin_slots=early.slots,
        around=early.around,
        near=early.near,
        near_slots=early.near_slots,
        pairs=early.pairs,
        fills=starts(meet),
        fill_rows=early.rows[fill_order],
        fill_columns=early.columns[fill_order],
        fill_slots=fill_order.astype(np.int64),
    )
