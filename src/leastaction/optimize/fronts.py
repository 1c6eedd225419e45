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

from leastaction._jit import entry, inline, routine

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

THRESHOLD = 1e-4
"""Smallest pivot beside the largest entry of its row."""

TINY = 1e-300
"""Pivots below are none."""

DONE, SINGULAR, NO_ROOM = 0, 1, 2
"""How a factorisation ended."""


class FrontModel(NamedTuple):
    """Which unknowns and entries belong to which stage.

    Attributes:
        first, ids: unknowns that enter at stage k are ids[first[k] : first[k + 1]].
        entries, rows, columns, slots: entries of stage k, matrix[rows, columns] += values[slots], one triangle alone.
        last: last stage that mentions an unknown.
    """

    first: IntArray
    ids: IntArray
    entries: IntArray
    rows: IntArray
    columns: IntArray
    slots: IntArray
    last: IntArray


class FrontData(NamedTuple):
    """Factors and scratch.

    Attributes:
        F, G: fronts, upper triangles, shape (room, room).
        W: rows of the pivots before they are divided, shape (room, room).
        x: scratch (room,).
        at: place of an unknown in the front, shape (unknowns,).
        front, others: unknowns of the fronts, shape (room,).
        size, pivots: of the front of each stage, and how many unknowns leave it, shape (stages,).
        members, offsets: unknowns of all fronts, those that leave first; where those of a stage begin.
        factor, starts: rows of L' of all stages; where those of a stage begin.
        d, e: entries of D on the diagonal and beside it, in the order of elimination; e != 0 at the first of two rows.
        counts: positive, negative and vanishing pivots, and the largest front.
    """

    F: FloatArray
    G: FloatArray
    W: FloatArray
    x: FloatArray
    at: IntArray
    front: IntArray
    others: IntArray
    size: IntArray
    pivots: IntArray
    members: IntArray
    offsets: IntArray
    factor: FloatArray
    starts: IntArray
    d: FloatArray
    e: FloatArray
    counts: IntArray


def front_data(model: FrontModel, room: int, members: int, factor: int) -> FrontData:
    """Memory for fronts of at most `room` unknowns, `members` in all, and `factor` entries of L."""
    stages, count = len(model.first) - 1, len(model.ids)
    return FrontData(
        F=np.zeros((room, room)),
        G=np.zeros((room, room)),
        W=np.zeros((room, room)),
        x=np.zeros(room),
        at=np.zeros(count, np.int64),
        front=np.zeros(room, np.int64),
        others=np.zeros(room, np.int64),
        size=np.zeros(stages, np.int64),
        pivots=np.zeros(stages, np.int64),
        members=np.zeros(members, np.int64),
        offsets=np.zeros(stages + 1, np.int64),
        factor=np.zeros(factor),
        starts=np.zeros(stages + 1, np.int64),
        d=np.zeros(count),
        e=np.zeros(count),
        counts=np.zeros(4, np.int64),
    )


@routine
def _swap(F, W, front, a, b, f):
    """Exchange places a < b of a symmetric matrix in its upper triangle, and columns of the rows of L' before."""
    if a == b:
        return
    front[a], front[b] = front[b], front[a]
    for c in range(a):
        F[c, a], F[c, b] = F[c, b], F[c, a]
        W[c, a], W[c, b] = W[c, b], W[c, a]
    F[a, a], F[b, b] = F[b, b], F[a, a]
    for c in range(a + 1, b):
        F[a, c], F[c, b] = F[c, b], F[a, c]
    for c in range(b + 1, f):
        F[a, c], F[b, c] = F[b, c], F[a, c]


@inline
def _largest(F, j, skip, i, f):
    """Largest entry of row j of the rest (i, f) of a front beside the diagonal and column `skip`."""
    top = 0.0
    for c in range(i, j):
        if c != skip:
            top = max(top, abs(F[c, j]))
    for c in range(j + 1, f):
        if c != skip:
            top = max(top, abs(F[j, c]))
    return top


@inline
def _partner(F, j, i, ready):
    """The unknown among those that may leave to which j is coupled most."""
    best, top = -1, 0.0
    for c in range(i, ready):
        if c != j:
            x = abs(F[min(c, j), max(c, j)])
            if x > top:
                best, top = c, x
    return best


@routine
def _choose(F, i, ready, f, bar):
    """A pivot among places i to ready: (place, place of its partner or -1), or (-1, -1) where none is large enough."""
    for j in range(i, ready):
        d = abs(F[j, j])
        if d > TINY and d >= bar * _largest(F, j, -1, i, f):
            return j, -1
        r = _partner(F, j, i, ready)
        if r < 0:
            continue
        a, b, c = F[j, j], F[min(j, r), max(j, r)], F[r, r]
        det = abs(a * c - b * b)
        if not det > TINY:
            continue
        g, h = _largest(F, j, r, i, f), _largest(F, r, j, i, f)
        if bar * (abs(c) * g + abs(b) * h) <= det and bar * (abs(b) * g + abs(a) * h) <= det:
            return j, r
    return -1, -1


@routine
def _one(F, W, i, ready, f):
    """Eliminate place i from the rows up to `ready`; its row becomes that of L'."""
    d = F[i, i]
    w = W[i]
    for c in range(i + 1, f):
        w[c] = F[i, c]
        F[i, c] /= d
    for j in range(i + 1, ready):
        x = F[i, j]
        if x != 0.0:
            for c in range(j, f):
                F[j, c] -= x * w[c]


@routine
def _two(F, W, i, ready, f):
    """Eliminate places i and i + 1 together."""
    a, b, c = F[i, i], F[i, i + 1], F[i + 1, i + 1]
    det = a * c - b * b
    v, w = W[i], W[i + 1]
    v[i + 1] = 0.0
    for k in range(i + 2, f):
        v[k], w[k] = F[i, k], F[i + 1, k]
        F[i, k] = (c * v[k] - b * w[k]) / det
        F[i + 1, k] = (a * w[k] - b * v[k]) / det
    for j in range(i + 2, ready):
        x, y = F[i, j], F[i + 1, j]
        if x != 0.0 or y != 0.0:
            for k in range(j, f):
                F[j, k] -= x * v[k] + y * w[k]


@routine
def _rest(F, W, done, ready, f):
    """What the pivots up to `done` do to the rows that stay, four at a time."""
    for j in range(ready, f):
        row = F[j]
        p = 0
        while p + 4 <= done:
            x0, x1, x2, x3 = F[p, j], F[p + 1, j], F[p + 2, j], F[p + 3, j]
            if x0 != 0.0 or x1 != 0.0 or x2 != 0.0 or x3 != 0.0:
                w0, w1, w2, w3 = W[p], W[p + 1], W[p + 2], W[p + 3]
                for c in range(j, f):
                    row[c] -= x0 * w0[c] + x1 * w1[c] + x2 * w2[c] + x3 * w3[c]
            p += 4
        while p < done:
            x = F[p, j]
            if x != 0.0:
                w = W[p]
                for c in range(j, f):
                    row[c] -= x * w[c]
            p += 1


@routine
def _enter(model, data, k, done, size, values):
    """The front of stage k in G and `others`: what is ready to leave, then what stays; gives (ready, size)."""
    F, G, at, front, others = data.F, data.G, data.at, data.front, data.others
    ids, last = model.ids, model.last
    first, end = model.first[k], model.first[k + 1]
    f = 0
    for leaving in (True, False):
        for a in range(done, size):
            if (last[front[a]] <= k) == leaving:
                others[f] = front[a]
                f += 1
        for a in range(first, end):
            if (last[ids[a]] <= k) == leaving:
                others[f] = ids[a]
                at[ids[a]] = -1
                f += 1
        if leaving:
            ready = f
    for a in range(f):
        for b in range(a, f):
            G[a, b] = 0.0
    for a in range(f):  # those without a place in the old front are new
        i = at[others[a]]
        if i >= 0:
            for b in range(a, f):
                j = at[others[b]]
                if j >= 0:
                    G[a, b] = F[min(i, j), max(i, j)]
    for a in range(f):
        at[others[a]] = a
    for n in range(model.entries[k], model.entries[k + 1]):
        i, j = at[model.rows[n]], at[model.columns[n]]
        G[min(i, j), max(i, j)] += values[model.slots[n]]
    return ready, f


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


@entry
def factor(model, data, values):
    """Factor the matrix with these values; gives DONE, SINGULAR or NO_ROOM; `data.counts` has the signs."""
    F, W, front, counts = data.F, data.W, data.front, data.counts
    stages, room = model.first.shape[0] - 1, F.shape[0]
    counts[:] = 0
    done, size, pivot = 0, 0, 0
    status = DONE
    for k in range(stages):
        if size - done + model.first[k + 1] - model.first[k] > room:
            return NO_ROOM
        ready, f = _enter(model, data, k, done, size, values)
        counts[3] = max(counts[3], f)
        for a in range(f):
            front[a] = data.others[a]
            for b in range(a, f):
                F[a, b] = data.G[a, b]
        i, bar = 0, THRESHOLD
        while i < ready:
            j, r = _choose(F, i, ready, f, bar)
            if j < 0:
                if k < stages - 1:
                    break
                if bar > 0.0:  # nothing comes after: take what there is
                    bar = 0.0
                    continue
                counts[2] += 1
                status = SINGULAR
                F[i, i] = 1.0
                j, r = i, -1
                for c in range(i + 1, f):
                    F[i, c] = 0.0
            _swap(F, W, front, i, j, f)
            if r < 0:
                d = F[i, i]
                data.d[pivot], data.e[pivot] = d, 0.0
                if d > 0.0:
                    counts[0] += 1
                else:
                    counts[1] += 1
                _one(F, W, i, ready, f)
                i, pivot = i + 1, pivot + 1
            else:
                _swap(F, W, front, i + 1, j if r == i else r, f)
                a, b, c = F[i, i], F[i, i + 1], F[i + 1, i + 1]
                data.d[pivot], data.d[pivot + 1] = a, c
                data.e[pivot], data.e[pivot + 1] = b, 0.0
                _count(data, a, b, c)
                _two(F, W, i, ready, f)
                F[i, i + 1] = 0.0
                i, pivot = i + 2, pivot + 2
        _rest(F, W, i, ready, f)
        o, s = data.offsets[k], data.starts[k]
        if o + f > data.members.shape[0] or s + i * f > data.factor.shape[0]:
            return NO_ROOM
        for a in range(f):
            data.members[o + a] = front[a]
            data.at[front[a]] = a
        for a in range(i):
            for b in range(a + 1, f):
                data.factor[s + a * f + b] = F[a, b]
        data.size[k], data.pivots[k] = f, i
        data.offsets[k + 1], data.starts[k + 1] = o + f, s + i * f
        done, size = i, f
    return status


@entry
def solve(data, b):
    """Solve with the factors, b (unknowns,) in place."""
    x, d, e = data.x, data.d, data.e
    stages = data.size.shape[0]
    pivot = 0
    for k in range(stages):
        f, n, o, s = data.size[k], data.pivots[k], data.offsets[k], data.starts[k]
        for a in range(f):
            x[a] = b[data.members[o + a]]
        for a in range(n):
            y, row = x[a], s + a * f
            if y != 0.0:
                for c in range(a + 1, f):
                    x[c] -= data.factor[row + c] * y
        a = 0
        while a < n:
            if e[pivot] != 0.0:
                p, q, r = d[pivot], e[pivot], d[pivot + 1]
                det = p * r - q * q
                x[a], x[a + 1] = (r * x[a] - q * x[a + 1]) / det, (p * x[a + 1] - q * x[a]) / det
                a, pivot = a + 2, pivot + 2
            else:
                x[a] /= d[pivot]
                a, pivot = a + 1, pivot + 1
        for a in range(f):
            b[data.members[o + a]] = x[a]
    for k in range(stages - 1, -1, -1):
        f, n, o, s = data.size[k], data.pivots[k], data.offsets[k], data.starts[k]
        for a in range(f):
            x[a] = b[data.members[o + a]]
        for a in range(n - 1, -1, -1):
            y, row = x[a], s + a * f
            for c in range(a + 1, f):
                y -= data.factor[row + c] * x[c]
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
