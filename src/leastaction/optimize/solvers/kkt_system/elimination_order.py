"""Elimination order of a system along the horizon: when an unknown leaves its fronts, and which before all stages."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction._jit import entry
from leastaction.optimize.solvers.kkt_system.front_arrays import FrontModel
from leastaction.optimize.transcriptions.sparsity import IntArray

FEW = 8
"""Neighbours of an unknown, itself included, up to which it leaves before others."""


@entry
def _sort_entries(stage, a, b, slots, starts, rows, columns, sorted_slots, last):
    """Entries sorted by the later stage of their two unknowns, and the last stage that mentions each unknown."""
    for n in range(a.shape[0]):
        k = max(stage[a[n]], stage[b[n]])
        starts[k + 1] += 1
        last[a[n]], last[b[n]] = max(last[a[n]], k), max(last[b[n]], k)
    for k in range(1, starts.shape[0]):
        starts[k] += starts[k - 1]
    for n in range(a.shape[0]):
        k = max(stage[a[n]], stage[b[n]])
        at = starts[k]
        starts[k] += 1
        rows[at], columns[at], sorted_slots[at] = a[n], b[n], slots[n]
    for k in range(starts.shape[0] - 1, 0, -1):
        starts[k] = starts[k - 1]
    starts[0] = 0


@entry
def _count_entries(a, b, beside, diagonal):
    """Of each unknown the number of entries beside the diagonal and on it."""
    for n in range(a.shape[0]):
        if a[n] == b[n]:
            diagonal[a[n]] += 1
        else:
            beside[a[n]] += 1
            beside[b[n]] += 1


@entry
def _find_entries(a, b, few, found):
    """Numbers of the entries beside the diagonal of unknowns that have few; gives how many there are."""
    count = 0
    for n in range(a.shape[0]):
        if a[n] != b[n] and (few[a[n]] or few[b[n]]):
            found[count] = n
            count += 1
    return count


def _entries_of(few: NDArray[np.bool_], a: IntArray, b: IntArray) -> IntArray:
    found = np.empty(len(a), np.int64)
    return found[: _find_entries(a, b, few, found)]


def _partners(stage: IntArray, a: IntArray, b: IntArray, n: int, degree: IntArray) -> IntArray:
    """Of unknowns with few neighbours the first constraint on them, -1 for all others."""
    few = degree <= FEW + 2
    few[n:] = False
    rows = _entries_of(few, a, b)
    rows = rows[(a[rows] >= n) & (b[rows] < n)]
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


def _thin(a: IntArray, b: IntArray, slots: IntArray, n: int, degree: IntArray, diagonal: IntArray) -> _Thin:
    """Unknowns of the program with few neighbours, no two of which are neighbours."""
    count = len(degree)
    # On the diagonal are the Hessian's entry and that of the barrier.
    few = (degree < FEW) & (degree > 0) & (np.arange(count) < n) & (diagonal == 2)
    entries = _entries_of(few, a, b)
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
    entries = np.flatnonzero(a == b)
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


def front_model(stage: IntArray, a: IntArray, b: IntArray, slots: IntArray, n: int) -> FrontModel:
    """What leaves when, for unknowns that enter at these stages.

    a, b, slots: entries of the matrix, one triangle alone, and where their values stand; n: number of unknowns of the
    program, before all constraints.
    """
    used, stage = np.unique(stage, return_inverse=True)
    stages = max(len(used), 1)
    degree, diagonal = np.zeros(len(stage), np.int64), np.zeros(len(stage), np.int64)
    _count_entries(a, b, degree, diagonal)
    early = _thin(a, b, slots, n, degree, diagonal)
    last, entries = stage.astype(np.int64), np.zeros(stages + 1, np.int64)
    rows, columns = np.empty(len(a), np.int32), np.empty(len(a), np.int32)
    sorted_slots = np.empty(len(a), np.uint32)
    _sort_entries(stage, a, b, slots, entries, rows, columns, sorted_slots, last)
    partner = _partners(stage, a, b, n, degree + 2 * diagonal)
    thin = np.flatnonzero(partner >= 0)
    np.maximum.at(last, partner[thin], last[thin])  # they wait for each other, else rows fill up
    # Its neighbours meet where a thin unknown left.
    meet = np.maximum(stage[early.rows], stage[early.columns])
    np.maximum.at(last, early.rows, meet)
    np.maximum.at(last, early.columns, meet)
    short = np.int16 if stages < 2**15 else np.int64  # of few bits numbers are sorted by counting
    order, fill_order = (np.argsort(x.astype(short), kind="stable") for x in (stage, meet))

    def starts(of: IntArray) -> IntArray:
        return np.concatenate([[0], np.cumsum(np.bincount(of, minlength=stages))]).astype(np.int64)

    return FrontModel(
        first=starts(stage),
        ids=order.astype(np.int64),
        entries=entries,
        rows=rows,
        columns=columns,
        slots=sorted_slots,
        last=last,
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
