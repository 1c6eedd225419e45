"""Islands: sets of cones that are coupled, and an ordering of cones that makes their Newton equations banded.

Two cones are coupled if both act on bodies of one kinematic tree. In a pile each body is a tree of its own, and a cone
is coupled to few others; in a robot all cones are coupled. Cones are sorted by island, and within an island by tree, so
that the nonzero entries of each row of the equations lie in a contiguous range near the diagonal.
"""

from leastaction._jit import inline, routine


@inline
def impulses(cone):
    """Return the number of impulses of a cone."""
    return cone.width


@inline
def cone_at(found, a):
    """Return cone number a in island order (in storage order if `found` is None), or -1 after the last active one."""
    if found is None:
        return a
    return found.islands.order[a]


@inline
def range_of(found, k, n):
    """Return the range of `which` (n entries) that impulse k is coupled to."""
    if found is None:
        return 0, n
    return found.islands.low[k], found.islands.high[k]


@inline
def trees_of(islands, cone):
    """Return the two different trees that a cone acts on; -1 stands for none, and comes second unless both are."""
    one = islands.trees[cone.node] if cone.node >= 0 else -1
    two = islands.trees[cone.other] if cone.other >= 0 else -1
    if one < 0 or one == two:
        return two, -1
    return one, two


@routine
def tie_trees(cones, active, islands):
    """Compute `root`, the lowest tree of each island, by union-find over the active cones."""
    root = islands.root
    for t in range(root.shape[0]):
        root[t] = t
    for c in range(active.shape[0]):
        if not active[c]:
            continue
        one, two = trees_of(islands, cones[c])
        if two < 0:
            continue
        while root[one] != one:
            one = root[one]
        while root[two] != two:
            two = root[two]
        root[max(one, two)] = min(one, two)
    for t in range(root.shape[0]):  # ascending, so root[root[t]] is already final
        root[t] = root[root[t]]


@routine
def rank_trees(islands):
    """Compute `rank`, the position of each tree in a counting sort by island."""
    root, rank, heads = islands.root, islands.rank, islands.heads
    for t in range(root.shape[0] + 1):
        heads[t] = 0
    for t in range(root.shape[0]):
        heads[root[t] + 1] += 1
    for t in range(root.shape[0]):
        heads[t + 1] += heads[t]
    for t in range(root.shape[0]):
        rank[t] = heads[root[t]]
        heads[root[t]] += 1


@inline
def key_of(islands, cones, c):
    """Return the sort key of a cone: the lower rank of its trees."""
    one, two = trees_of(islands, cones[c])
    if one < 0:
        return 0
    if two < 0:
        return islands.rank[one]
    return min(islands.rank[one], islands.rank[two])


@routine
def arrange(cones, active, islands):
    """Sort the active cones by `key_of` into `order`, followed by -1."""
    tie_trees(cones, active, islands)
    rank_trees(islands)
    heads, order, count = islands.heads, islands.order, 0
    for t in range(heads.shape[0]):
        heads[t] = 0
    for c in range(active.shape[0]):
        if active[c]:
            heads[key_of(islands, cones, c) + 1] += 1
            count += 1
    for t in range(heads.shape[0] - 1):
        heads[t + 1] += heads[t]
    for c in range(active.shape[0]):
        if active[c]:
            k = key_of(islands, cones, c)
            order[heads[k]] = c
            heads[k] += 1
    if count < order.shape[0]:
        order[count] = -1


@inline
def extend(reach, t, i):
    """Extend the range of entries of `which` that act on tree t by entry i."""
    if t >= 0:
        reach[t, 0], reach[t, 1] = min(reach[t, 0], i), max(reach[t, 1], i + 1)


@routine
def find_ranges(cones, touch, islands, n):
    """Compute `one`, `two`, `low` and `high` for the n entries of `which`."""
    reach, which, one, two = islands.reach, touch.which, islands.one, islands.two
    for t in range(reach.shape[0]):
        reach[t, 0], reach[t, 1] = n, 0
    i, a = 0, 0
    while i < n:
        c = islands.order[a]
        s, t = trees_of(islands, cones[c])
        for _ in range(impulses(cones[c])):
            one[i], two[i] = s, t
            i += 1
        a += 1
    for i in range(n):
        extend(reach, one[i], i)
        extend(reach, two[i], i)
    for i in range(n):
        s, t = one[i], two[i]
        low, high = i, i + 1
        if s >= 0:
            low, high = reach[s, 0], reach[s, 1]
        if t >= 0:
            low, high = min(low, reach[t, 0]), max(high, reach[t, 1])
        islands.low[which[i]], islands.high[which[i]] = low, high


@routine
def pack(islands, column):
    """Copy the nonzero entries of a column into `support` and `entries`; returns their number."""
    support, entries, many = islands.support, islands.entries, 0
    for c in range(column.shape[0]):
        if column[c] != 0.0:
            support[many], entries[many] = c, column[c]
            many += 1
    return many


@routine
def multiply_packed(rows, which, low, high, islands, many, out):
    """Compute out[j] = rows[j] . (packed column) for each j of `which` from low to high.

    Four rows at a time: a single sum would be bound by the latency of additions.
    """
    support, entries, a = islands.support, islands.entries, low
    while a + 4 <= high:
        i, j, k, m = which[a], which[a + 1], which[a + 2], which[a + 3]
        si, sj, sk, sm = 0.0, 0.0, 0.0, 0.0
        for s in range(many):
            c, x = support[s], entries[s]
            si += rows[i, c] * x
            sj += rows[j, c] * x
            sk += rows[k, c] * x
            sm += rows[m, c] * x
        out[i], out[j], out[k], out[m] = si, sj, sk, sm
        a += 4
    while a < high:
        i, si = which[a], 0.0
        for s in range(many):
            si += rows[i, support[s]] * entries[s]
        out[i] = si
        a += 1


@routine
def fill_delassus(touch, islands, n):
    """Compute the Delassus matrix W of the n active impulses as products of `rows` and `columns`."""
    which, one, two, spans = touch.which, islands.one, islands.two, islands.spans
    for b in range(n):
        k, s, t = which[b], one[b], two[b]
        low, high, many = islands.low[k], islands.high[k], pack(islands, touch.columns[k])
        multiply_packed(touch.rows, which, low, high, islands, many, touch.W[k])
        for a in range(low, high if spans.shape[0] > 1 else low):
            if not ((s >= 0 and (one[a] == s or two[a] == s)) or (t >= 0 and (one[a] == t or two[a] == t))):
                touch.W[which[a], k] = 0.0  # the range of the other impulse may end before this one
