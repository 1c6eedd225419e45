"""Pivots of one and of two rows in a dense front, whose upper triangle is kept (Duff and Reid 1983, Section 3).

Rows with few nonzeros, such as those of controls, are eliminated entry by entry; what full ones do to the others is
left for `catch_up`, which takes eight at a time.
"""

from leastaction._jit import inline, routine

TINY = 1e-300
"""Pivots below are none: their reciprocals overflow."""

VECTOR = 8
"""Numbers that a processor takes at once; the room of fronts is a multiple of it."""

SPARSE = 3
"""Rows of pivots with less than one nonzero in so many are eliminated entry by entry."""


@routine
def swap(F, W, front, a, b, f):
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


@inline
def _weigh(row, first, f):
    """How many entries of a row from `first` on are not zero, and the sum of their sizes."""
    count, total = 0, 0.0
    rest = row[first:f]
    for c in range(f - first):
        count += rest[c] != 0.0
        total += abs(rest[c])
    return count, total


@inline
def last_nonzero(row, f):
    """The last place before f at which a row is not zero."""
    c = f - 1
    while c > 0 and row[c] == 0.0:
        c -= 1
    return c


@inline
def _take_eight_twice(F, W, dense, n, j, first, end):
    """Eight pivots, from number n on, for rows j and j + 1, which read them together."""
    p0, p1, p2, p3 = dense[n], dense[n + 1], dense[n + 2], dense[n + 3]
    p4, p5, p6, p7 = dense[n + 4], dense[n + 5], dense[n + 6], dense[n + 7]
    x0, x1, x2, x3 = F[p0, j], F[p1, j], F[p2, j], F[p3, j]
    x4, x5, x6, x7 = F[p4, j], F[p5, j], F[p6, j], F[p7, j]
    y0, y1, y2, y3 = F[p0, j + 1], F[p1, j + 1], F[p2, j + 1], F[p3, j + 1]
    y4, y5, y6, y7 = F[p4, j + 1], F[p5, j + 1], F[p6, j + 1], F[p7, j + 1]
    if x0 == x1 == x2 == x3 == x4 == x5 == x6 == x7 == 0.0 and y0 == y1 == y2 == y3 == y4 == y5 == y6 == y7 == 0.0:
        return
    w0, w1, w2, w3 = W[p0, first:end], W[p1, first:end], W[p2, first:end], W[p3, first:end]
    w4, w5, w6, w7 = W[p4, first:end], W[p5, first:end], W[p6, first:end], W[p7, first:end]
    row, other = F[j, first:end], F[j + 1, first:end]
    for c in range(end - first):
        a0, a1, a2, a3, a4, a5, a6, a7 = w0[c], w1[c], w2[c], w3[c], w4[c], w5[c], w6[c], w7[c]
        row[c] -= x0 * a0 + x1 * a1 + x2 * a2 + x3 * a3 + (x4 * a4 + x5 * a5 + x6 * a6 + x7 * a7)
        other[c] -= y0 * a0 + y1 * a1 + y2 * a2 + y3 * a3 + (y4 * a4 + y5 * a5 + y6 * a6 + y7 * a7)


@inline
def _take_eight(F, W, dense, n, j, first, end):
    """Eight pivots, from number n on, for row j."""
    p0, p1, p2, p3 = dense[n], dense[n + 1], dense[n + 2], dense[n + 3]
    p4, p5, p6, p7 = dense[n + 4], dense[n + 5], dense[n + 6], dense[n + 7]
    x0, x1, x2, x3 = F[p0, j], F[p1, j], F[p2, j], F[p3, j]
    x4, x5, x6, x7 = F[p4, j], F[p5, j], F[p6, j], F[p7, j]
    if x0 == x1 == x2 == x3 == x4 == x5 == x6 == x7 == 0.0:
        return
    w0, w1, w2, w3 = W[p0, first:end], W[p1, first:end], W[p2, first:end], W[p3, first:end]
    w4, w5, w6, w7 = W[p4, first:end], W[p5, first:end], W[p6, first:end], W[p7, first:end]
    row = F[j, first:end]
    for c in range(end - first):
        near = x0 * w0[c] + x1 * w1[c] + x2 * w2[c] + x3 * w3[c]
        row[c] -= near + (x4 * w4[c] + x5 * w5[c] + x6 * w6[c] + x7 * w7[c])


@inline
def _take_two(F, W, p, q, j, first, end):
    """Two pivots for row j."""
    x, y = F[p, j], F[q, j]
    if x == y == 0.0:
        return
    v, w, row = W[p, first:end], W[q, first:end], F[j, first:end]
    for c in range(end - first):
        row[c] -= x * v[c] + y * w[c]


@inline
def _take_one(F, W, p, j, first, end):
    """One pivot for row j."""
    x = F[p, j]
    if x == 0.0:
        return
    w, row = W[p, first:end], F[j, first:end]
    for c in range(end - first):
        row[c] -= x * w[c]


@routine
def take_eights(F, W, dense, fresh, full, first, last, end):
    """What pivots of full rows, `full` of them, do to rows first to last - 1, as far as there are eight at a time.

    Columns are taken from a multiple of VECTOR to one, so that no loop has a rest: below the diagonal nothing counts,
    and beyond the front neither.
    """
    end = (end + VECTOR - 1) // VECTOR * VECTOR
    j = first
    while j < last:
        n, begin = fresh[j], j // VECTOR * VECTOR
        if j + 1 < last and fresh[j + 1] == n:
            while n + 8 <= full:
                _take_eight_twice(F, W, dense, n, j, begin, end)
                n += 8
            fresh[j] = fresh[j + 1] = n
            j += 2
        else:
            while n + 8 <= full:
                _take_eight(F, W, dense, n, j, begin, end)
                n += 8
            fresh[j] = n
            j += 1


@routine
def catch_up(F, W, dense, fresh, full, first, last, end):
    """What pivots of full rows, `full` of them, do to rows first to last - 1, less what these have seen already."""
    take_eights(F, W, dense, fresh, full, first, last, end)
    end = (end + VECTOR - 1) // VECTOR * VECTOR
    for j in range(first, last):
        n, begin = fresh[j], j // VECTOR * VECTOR
        fresh[j] = full
        while n + 2 <= full:
            _take_two(F, W, dense[n], dense[n + 1], j, begin, end)
            n += 2
        if n < full:
            _take_one(F, W, dense[n], j, begin, end)


@routine
def judge(F, data, full, i, ready, f, end, bar):
    """Whether place i can leave: (i, ...) alone, (r > i, ...) with place r, (-1, ...) where pivots are too small.

    Gives also the numbers of nonzeros of row i, in near[0] unless it is a full row that leaves alone, and of row r, in
    near[1] if r = i + 1, else -1.
    """
    W, dense, fresh, near = data.W, data.dense, data.fresh, data.near
    d = abs(F[i, i])
    count, total = _weigh(F[i], i + 1, f)
    if SPARSE * count >= f - i and d > TINY and d >= bar * total:  # no entry is larger than their sum
        return i, count, -1
    count, g = _scan(F[i], i + 1, f, near[0])
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
    catch_up(F, W, dense, fresh, full, i + 1, r + 1, end)
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
def one(F, W, near, i, f, count):
    """Eliminate place i; its row becomes that of L'. Gives whether the rows that stay are still to learn of it.

    `count`: number of nonzeros of its row, whose places are in near[0] where they are few.
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
    kept, row = W[i, i + 1 : f], F[i, i + 1 : f]
    for c in range(f - i - 1):
        kept[c] = row[c]
        row[c] *= inverse
    return True


@routine
def two(F, W, near, i, f, first, second):
    """Eliminate places i and i + 1 together; of how many, the last ones, the rows that stay are still to learn.

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
    return 1
