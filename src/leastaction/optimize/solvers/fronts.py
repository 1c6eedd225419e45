"""Symmetric indefinite systems along a horizon: a frontal LDL' with threshold pivoting, and the count of its signs.

Unknowns enter a dense front stage by stage and leave it as soon as no later stage mentions them (Irons 1970), by pivots
of one or two rows (Duff and Reid 1983, Section 3). A pivot that would let entries grow beyond 1 / THRESHOLD waits for a
later stage. Work and memory are linear in the number of stages. What couples all stages, such as the final time, stays
in the front until the end, which is the same as a Schur complement on it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction._jit import entry, routine
from leastaction.optimize.solvers.pivots import judge, one, rest, swap, two

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

THRESHOLD = 1e-6
"""Smallest pivot beside the largest entry of its row."""

LEFT = -2
"""In place of a stage, for unknowns that left."""

DONE, SINGULAR, NO_ROOM = 0, 1, 2
"""How a factorisation ended."""


class FrontModel(NamedTuple):
    """Which unknowns and entries belong to which stage.

    Attributes:
        first, ids: unknowns that enter at stage k are ids[first[k] : first[k + 1]].
        entries, rows, columns, slots: entries of stage k, matrix[rows, columns] += values[slots], one triangle alone.
        last: last stage that mentions an unknown.
        partner: unknown with which one that has few neighbours leaves best, such as a control with the dynamics that it
            drives; -1 for those with many.
    """

    first: IntArray
    ids: IntArray
    entries: IntArray
    rows: NDArray[np.int32]
    columns: NDArray[np.int32]
    slots: NDArray[np.int32]
    last: IntArray
    partner: IntArray


class FrontData(NamedTuple):
    """Factors and scratch.

    Attributes:
        F, G: fronts, upper triangles, shape (room, room).
        W: rows of the pivots before they are divided, shape (room, room).
        x: scratch (room,).
        near: places of nonzeros, shape (3, room).
        dense: pivots of a stage whose rows are full, shape (room,).
        at: place of an unknown in the front, shape (unknowns,).
        listed: stage at which an unknown was taken up last, or LEFT, shape (unknowns,).
        front, others: unknowns of the fronts, shape (room,).
        size, pivots: of the front of each stage, and how many unknowns leave it, shape (stages,).
        members, offsets: unknowns of all fronts, those that leave first; where those of a stage begin.
        factor, places, starts: nonzeros of the rows of L', their places in the front, where those of a pivot begin.
        d, e: entries of D on the diagonal and beside it, in the order of elimination; e != 0 at the first of two rows.
        counts: positive, negative and vanishing pivots, and the largest front.
    """

    F: FloatArray
    G: FloatArray
    W: FloatArray
    x: FloatArray
    near: IntArray
    dense: IntArray
    at: IntArray
    listed: IntArray
    front: IntArray
    others: IntArray
    size: IntArray
    pivots: IntArray
    members: IntArray
    offsets: IntArray
    factor: FloatArray
    places: NDArray[np.int32]
    starts: IntArray
    d: FloatArray
    e: FloatArray
    counts: IntArray


def front_data(model: FrontModel, room: int, members: int, factor: int) -> FrontData:
    """Memory for fronts of at most `room` unknowns, `members` in all, and `factor` nonzeros of L."""
    stages, count = len(model.first) - 1, len(model.ids)
    return FrontData(
        F=np.zeros((room, room)),
        G=np.zeros((room, room)),
        W=np.zeros((room, room)),
        x=np.zeros(room),
        near=np.zeros((3, room), np.int64),
        dense=np.zeros(room, np.int64),
        at=np.zeros(count, np.int64),
        listed=np.zeros(count, np.int64),
        front=np.zeros(room, np.int64),
        others=np.zeros(room, np.int64),
        size=np.zeros(stages, np.int64),
        pivots=np.zeros(stages, np.int64),
        members=np.zeros(members, np.int64),
        offsets=np.zeros(stages + 1, np.int64),
        factor=np.zeros(factor),
        places=np.zeros(factor, np.int32),
        starts=np.zeros(count + 1, np.int64),
        d=np.zeros(count),
        e=np.zeros(count),
        counts=np.zeros(4, np.int64),
    )


@routine
def _list(model, data, k, done, size):
    """Unknowns of the front of stage k: those that may leave, with partners first, and those that stay, with them last.

    Gives the number that may leave, and that of all.
    """
    front, others, listed, at = data.front, data.others, data.listed, data.at
    ids, last, partner = model.ids, model.last, model.partner
    first, end = model.first[k], model.first[k + 1]
    count = end - first + size - done
    for n in range(first, end):
        at[ids[n]] = -1
        listed[ids[n]] = -1
    f, ready = 0, 0
    for turn in range(4):
        for n in range(count):
            a = front[done + n] if n < size - done else ids[first + n - (size - done)]
            b = partner[a]
            if listed[a] == k or (turn < 2) != (last[a] <= k) or (turn % 3 == 0) != (b >= 0):
                continue
            others[f], listed[a] = a, k
            f += 1
            if turn == 0 and listed[b] != k and listed[b] != LEFT and last[b] <= k:
                others[f], listed[b] = b, k
                f += 1
        if turn == 1:
            ready = f
    return ready, f


@routine
def _enter(model, data, k, F, G, f, values):
    """The front of stage k in G, from that of the stage before in F and from the entries of the matrix."""
    at, others, old, new = data.at, data.others, data.near[0], data.near[1]
    count = 0
    for a in range(f):
        for b in range(a, f):
            G[a, b] = 0.0
        i = at[others[a]]
        if i >= 0:  # those without a place in the old front are new
            old[count], new[count] = i, a
            count += 1
        data.front[a] = others[a]
        at[others[a]] = a
    for m in range(count):
        i, a = old[m], new[m]
        for n in range(m, count):
            j = old[n]
            G[a, new[n]] = F[min(i, j), max(i, j)]
    for n in range(model.entries[k], model.entries[k + 1]):
        i, j = at[model.rows[n]], at[model.columns[n]]
        G[min(i, j), max(i, j)] += values[model.slots[n]]


@routine
def _count(data, a, b, c):
    """Signs of a pivot of two rows."""
    if a * c - b * b < 0.0:
        data.counts[0] += 1
        data.counts[1] += 1
    elif a + c > 0.0:
        data.counts[0] += 2
    else:
        data.counts[1] += 2


@routine
def _eliminate(data, F, ready, f, pivot, at_the_end):
    """Let unknowns leave the front as long as there are pivots; gives how many did."""
    W, near, front, counts = data.W, data.near, data.front, data.counts
    i, full, bar = 0, 0, THRESHOLD
    limit, left = ready, False  # from `limit` on wait those that were refused; `left` tells that others left since
    while i < ready:
        r, first, second = -1, 0, -1
        if i < limit:
            r, first, second = judge(F, near, i, ready, f, bar)
            if r < 0:
                limit -= 1
                swap(F, W, front, i, limit, f)
                continue
        elif left:
            limit, left = ready, False
            continue
        elif not at_the_end:
            break
        elif bar > 0.0:  # nothing comes after: take what there is
            limit, bar = ready, 0.0
            continue
        else:
            counts[2] += 1
            r = i
            F[i, i] = 1.0
            for c in range(i + 1, f):
                F[i, c] = 0.0
        left = True
        if r == i:
            d = F[i, i]
            data.d[pivot + i], data.e[pivot + i] = d, 0.0
            counts[0 if d > 0.0 else 1] += 1
            if one(F, W, near, i, ready, f, first):
                data.dense[full] = i
                full += 1
            i += 1
        else:
            swap(F, W, front, i + 1, r, f)
            a, b, c = F[i, i], F[i, i + 1], F[i + 1, i + 1]
            data.d[pivot + i], data.d[pivot + i + 1] = a, c
            data.e[pivot + i], data.e[pivot + i + 1] = b, 0.0
            _count(data, a, b, c)
            for p in range(i + 2 - two(F, W, near, i, ready, f, first, second), i + 2):
                data.dense[full] = p
                full += 1
            i += 2
    rest(F, W, data.dense, full, ready, f)
    return i


@routine
def _keep(data, F, k, done, f, pivot):
    """Keep the rows of L' of stage k; gives whether there was room."""
    o, s = data.offsets[k], data.starts[pivot]
    if o + f > data.members.shape[0] or s + done * f > data.factor.shape[0]:
        return False
    for a in range(f):
        data.members[o + a] = data.front[a]
        data.at[data.front[a]] = a
    for a in range(done):
        data.listed[data.front[a]] = LEFT
        for b in range(a + 1, f):
            if F[a, b] != 0.0:
                data.factor[s] = F[a, b]
                data.places[s] = b
                s += 1
        data.starts[pivot + a + 1] = s
    data.size[k], data.pivots[k], data.offsets[k + 1] = f, done, o + f
    return True


@entry
def factor(model, data, values):
    """Factor the matrix with these values; gives DONE, SINGULAR or NO_ROOM; `data.counts` has the signs."""
    stages, room = model.first.shape[0] - 1, data.F.shape[0]
    data.counts[:] = 0
    done, size, pivot = 0, 0, 0
    for k in range(stages):
        if size - done + model.first[k + 1] - model.first[k] > room:
            return NO_ROOM
        ready, f = _list(model, data, k, done, size)
        data.counts[3] = max(data.counts[3], f)
        if k % 2:
            _enter(model, data, k, data.G, data.F, f, values)
            done = _eliminate(data, data.F, ready, f, pivot, k == stages - 1)
            kept = _keep(data, data.F, k, done, f, pivot)
        else:
            _enter(model, data, k, data.F, data.G, f, values)
            done = _eliminate(data, data.G, ready, f, pivot, k == stages - 1)
            kept = _keep(data, data.G, k, done, f, pivot)
        if not kept:
            return NO_ROOM
        size, pivot = f, pivot + done
    return SINGULAR if data.counts[2] else DONE


@entry
def solve(data, b):
    """Solve with the factors, b (unknowns,) in place."""
    x, d, e, starts, places, factor = data.x, data.d, data.e, data.starts, data.places, data.factor
    stages = data.size.shape[0]
    pivot = 0
    for k in range(stages):
        f, n, o = data.size[k], data.pivots[k], data.offsets[k]
        for a in range(f):
            x[a] = b[data.members[o + a]]
        for a in range(n):
            y = x[a]
            for c in range(starts[pivot + a], starts[pivot + a + 1]):
                x[places[c]] -= factor[c] * y
        a = 0
        while a < n:
            if e[pivot + a] != 0.0:
                p, q, r = d[pivot + a], e[pivot + a], d[pivot + a + 1]
                det = p * r - q * q
                x[a], x[a + 1] = (r * x[a] - q * x[a + 1]) / det, (p * x[a + 1] - q * x[a]) / det
                a += 2
            else:
                x[a] /= d[pivot + a]
                a += 1
        pivot += n
        for a in range(f):
            b[data.members[o + a]] = x[a]
    for k in range(stages - 1, -1, -1):
        f, n, o = data.size[k], data.pivots[k], data.offsets[k]
        pivot -= n
        for a in range(f):
            x[a] = b[data.members[o + a]]
        for a in range(n - 1, -1, -1):
            y = x[a]
            for c in range(starts[pivot + a], starts[pivot + a + 1]):
                y -= factor[c] * x[places[c]]
            x[a] = y
        for a in range(n):
            b[data.members[o + a]] = x[a]


@entry
def multiply(model, values, x, out):
    """out = matrix x."""
    out[:] = 0.0
    for n in range(model.rows.shape[0]):
        i, j, v = model.rows[n], model.columns[n], values[model.slots[n]]
        out[i] += v * x[j]
        if i != j:
            out[j] += v * x[i]
