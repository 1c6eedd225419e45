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

THRESHOLD = 1e-6
"""Smallest pivot beside the largest entry of its row."""

TINY = 1e-300
"""Pivots below are none."""

SPARSE = 3
"""Rows of pivots with less than one nonzero in so many are eliminated entry by entry."""

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
    row = F[j]
    t0 = t1 = t2 = t3 = kept = 0.0
    c = j + 1
    if j < skip < f:
        kept, row[skip] = row[skip], 0.0
    while c + 4 <= f:  # four at a time: a maximum waits for the one before
        t0, t1 = max(t0, abs(row[c])), max(t1, abs(row[c + 1]))
        t2, t3 = max(t2, abs(row[c + 2])), max(t3, abs(row[c + 3]))
        c += 4
    while c < f:
        top = max(top, abs(row[c]))
        c += 1
    if j < skip < f:
        row[skip] = kept
    return max(max(top, t0), max(max(t1, t2), t3))


@inline
def _scan(row, first, f, near):
    """Places from `first` on at which a row is not zero, into `near`; gives their number and the largest entry."""
    n, top = 0, 0.0
    for c in range(first, f):
        x = abs(row[c])
        if x != 0.0:
            near[n] = c
            n += 1
            top = max(top, x)
    return n, top


@routine
def _judge(F, near, i, ready, f, bar):
    """Whether place i can leave: (i, ...) alone, (r > i, ...) with place r, (-1, ...) where pivots are too small.

    Gives also the numbers of nonzeros of row i, in near[0], and of row r, in near[1] if r = i + 1, else -1.
    """
    count, g = _scan(F[i], i + 1, f, near[0])
    d = abs(F[i, i])
    if d > TINY and d >= bar * g:
        return i, count, -1
    r, top = -1, 0.0
    g = 0.0
    for n in range(count):
        c = near[0, n]
        x = abs(F[i, c])
        if c < ready and x > top:
            g, r, top = max(g, top), c, x
        else:
            g = max(g, x)
    if r < 0:
        return -1, count, -1
    a, b, c = F[i, i], F[i, r], F[r, r]
    det = abs(a * c - b * b)
    if not det > TINY:
        return -1, count, -1
    second = -1
    if r == i + 1:
        second, h = _scan(F[r], r + 1, f, near[1])
    else:
        h = _largest(F, r, i, i, f)
    if bar * (abs(c) * g + abs(b) * h) <= det and bar * (abs(b) * g + abs(a) * h) <= det:
        return r, count, second
    return -1, count, second


@inline
def _union(near, first, second):
    """Sorted places near[2] that are in near[0] or in near[1]; gives their number."""
    a, b, n = 0, 0, 0
    while a < first or b < second:
        x = near[0, a] if a < first else near[1, b]
        y = near[1, b] if b < second else x
        near[2, n] = min(x, y)
        a += x <= y and a < first
        b += y <= x and b < second
        n += 1
    return n


@inline
def _subtract(F, i, w, near, count, rows, many):
    """F -= x w' in the upper triangle: x is row i of F at the places `rows`, w a row at the places `near`."""
    k = 0
    for n in range(many):
        j = rows[n]
        while k < count and near[k] < j:
            k += 1
        x = F[i, j]
        if x != 0.0:
            for c in range(k, count):
                F[j, near[c]] -= x * w[near[c]]


@routine
def _one(F, W, near, i, ready, f, count):
    """Eliminate place i; its row becomes that of L'. Gives whether the rows from `ready` on are still to come.

    `count`: number of nonzeros of its row, whose places are in near[0].
    """
    inverse = 1.0 / F[i, i]
    w = W[i]
    if SPARSE * count < f - i:
        for n in range(count):
            c = near[0, n]
            w[c] = F[i, c]
            F[i, c] *= inverse
        _subtract(F, i, w, near[0], count, near[0], count)
        return False
    for c in range(i + 1, f):
        w[c] = F[i, c]
        F[i, c] *= inverse
    end = near[0, count - 1] + 1
    for j in range(i + 1, ready):
        x = F[i, j]
        if x != 0.0:
            for c in range(j, end):
                F[j, c] -= x * w[c]
    return True


@routine
def _two(F, W, near, i, ready, f, first, second):
    """Eliminate places i and i + 1 together; of how many, the last ones, the rows from `ready` on are to come.

    `first`, `second`: numbers of nonzeros of their rows; those of the first include the second one.
    """
    a, b, c = F[i, i], F[i, i + 1], F[i + 1, i + 1]
    det = a * c - b * b
    a, b, c = a / det, b / det, c / det
    v, w = W[i], W[i + 1]
    F[i, i + 1] = v[i + 1] = 0.0
    if second < 0:  # they were not neighbours
        first, _ = _scan(F[i], i + 2, f, near[0])
        second, _ = _scan(F[i + 1], i + 2, f, near[1])
    else:
        first -= 1
        for n in range(first):
            near[0, n] = near[0, n + 1]
    if SPARSE * first >= f - i:
        for k in range(i + 2, f):
            v[k], w[k] = F[i, k], F[i + 1, k]
            F[i, k] = c * v[k] - b * w[k]
            F[i + 1, k] = a * w[k] - b * v[k]
        for j in range(i + 2, ready):
            x, y = F[i, j], F[i + 1, j]
            if x != 0.0 or y != 0.0:
                for k in range(j, f):
                    F[j, k] -= x * v[k] + y * w[k]
        return 2
    many = _union(near, first, second)
    for k in range(i + 2, f):
        w[k] = F[i + 1, k]
    for n in range(many):
        k = near[2, n]
        v[k] = F[i, k]
        F[i, k] = c * v[k] - b * w[k]
        F[i + 1, k] = a * w[k] - b * v[k]
    _subtract(F, i, v, near[0], first, near[2], many)
    if a == 0.0 or SPARSE * second < f - i:
        _subtract(F, i + 1, w, near[1], second, near[2], many)
        return 0
    for n in range(many):
        j = near[2, n]
        x = F[i + 1, j]
        if j >= ready:
            break
        for k in range(j, near[1, second - 1] + 1):
            F[j, k] -= x * w[k]
    return 1


@routine
def _rest(F, W, dense, count, ready, f):
    """What the pivots of full rows do to the rows that stay, four at a time."""
    end = ready
    for n in range(count):  # unknowns with few neighbours stand last: what no pivot reaches is left out
        for c in range(f - 1, end - 1, -1):
            if F[dense[n], c] != 0.0:
                end = c + 1
                break
    for j in range(ready, end):
        row = F[j]
        n = 0
        while n + 4 <= count:
            p, q, r, s = dense[n], dense[n + 1], dense[n + 2], dense[n + 3]
            x0, x1, x2, x3 = F[p, j], F[q, j], F[r, j], F[s, j]
            if x0 != 0.0 or x1 != 0.0 or x2 != 0.0 or x3 != 0.0:
                w0, w1, w2, w3 = W[p], W[q], W[r], W[s]
                for c in range(j, end):
                    row[c] -= x0 * w0[c] + x1 * w1[c] + x2 * w2[c] + x3 * w3[c]
            n += 4
        while n < count:
            x, w = F[dense[n], j], W[dense[n]]
            if x != 0.0:
                for c in range(j, end):
                    row[c] -= x * w[c]
            n += 1


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
            r, first, second = _judge(F, near, i, ready, f, bar)
            if r < 0:
                limit -= 1
                _swap(F, W, front, i, limit, f)
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
            if _one(F, W, near, i, ready, f, first):
                data.dense[full] = i
                full += 1
            i += 1
        else:
            _swap(F, W, front, i + 1, r, f)
            a, b, c = F[i, i], F[i, i + 1], F[i + 1, i + 1]
            data.d[pivot + i], data.d[pivot + i + 1] = a, c
            data.e[pivot + i], data.e[pivot + i + 1] = b, 0.0
            _count(data, a, b, c)
            for p in range(i + 2 - _two(F, W, near, i, ready, f, first, second), i + 2):
                data.dense[full] = p
                full += 1
            i += 2
    _rest(F, W, data.dense, full, ready, f)
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
