"""Symmetric indefinite systems along a horizon: a frontal LDL' with threshold pivoting, and the count of its signs.

Unknowns enter a dense front stage by stage and leave it as soon as no later stage mentions them (Irons 1970), by pivots
of one or two rows (Duff and Reid 1983, Section 3). A pivot that would let entries grow beyond 1 / THRESHOLD waits for a
later stage. Work and memory are linear in the number of stages. What couples all stages, such as the final time, stays
in the front until the end, which is the same as a Schur complement on it. Unknowns with few neighbours, such as
controls, are eliminated before they enter a front where their pivots allow it (`control_elimination`).
"""

from __future__ import annotations

from leastaction._jit import entry, routine
from leastaction.optimize.solvers.kkt_system.bunch_kaufman import (
    SPARSE,
    catch_up,
    judge,
    last_nonzero,
    one,
    swap,
    take_eights,
    two,
)
from leastaction.optimize.solvers.kkt_system.control_elimination import GONE, back, eliminate, forth

THRESHOLD = 1e-6
"""Smallest pivot beside the largest entry of its row."""

AHEAD = 8
"""Rows that learn of full pivots together."""

LEFT = -2
"""In place of a stage, for unknowns that left."""

DONE, SINGULAR, NO_ROOM = 0, 1, 2
"""How a factorisation ended."""


@routine
def _list(model, data, k, done, size):
    """Unknowns of the front of stage k: those that may leave, with partners first, and those that stay, with them last.

    First are also those that a thin unknown left behind. Gives the number that may leave, and that of all.
    """
    front, others, listed, at, early = data.front, data.others, data.listed, data.at, data.early
    ids, last, partner = model.ids, model.last, model.partner
    first, end = model.first[k], model.first[k + 1]
    count = end - first + size - done
    for n in range(first, end):
        a = ids[n]
        if at[a] == GONE:
            listed[a] = k
        else:
            at[a] = listed[a] = -1
    f, ready = 0, 0
    for turn in range(4):
        for n in range(count):
            a = front[done + n] if n < size - done else ids[first + n - (size - done)]
            b = partner[a]
            begins = b >= 0 or (turn < 2 and early[a])
            if listed[a] == k or (turn < 2) != (last[a] <= k) or (turn % 3 == 0) != begins:
                continue
            others[f], listed[a] = a, k
            f += 1
            if turn == 0 and b >= 0 and listed[b] != k and listed[b] != LEFT and last[b] <= k:
                others[f], listed[b] = b, k
                f += 1
        if turn == 1:
            ready = f
    return ready, f


@routine
def _arrange(model, data, k, done, size, anew):
    """`_list`, into `front`, with the places of the entries in it; both are kept for the next factorisation.

    They hold again if the same unknowns stayed in the front before, in the same order, unless all is `anew`.
    """
    front, carried, listing, plan, listed = data.front, data.carried[k], data.listing[k], data.plan[k], data.listed
    count = size - done
    known = not anew and plan[0] == count
    if known:
        for n in range(count):
            if carried[n] != front[done + n]:
                known = False
                break
    if known:
        ready, f = plan[1], plan[2]
        for a in range(f):
            front[a] = listing[a]
            listed[listing[a]] = k
        return ready, f
    at, others, goes_to = data.at, data.others, data.goes_to[k]
    for n in range(count):
        carried[n] = front[done + n]
    ready, f = _list(model, data, k, done, size)
    plan[0], plan[1], plan[2] = count, ready, f
    for a in range(f):
        listing[a] = front[a] = others[a]
        at[others[a]] = a
    for n in range(count):
        goes_to[n] = at[carried[n]]
    room = data.F.shape[0]
    nowhere = room * room
    for n in range(model.entries[k], model.entries[k + 1]):
        i, j = at[model.rows[n]], at[model.columns[n]]
        data.entry_places[n] = min(i, j) * room + max(i, j) if i >= 0 and j >= 0 else nowhere
    for n in range(model.fills[k], model.fills[k + 1]):
        i, j = at[model.fill_rows[n]], at[model.fill_columns[n]]
        data.fill_places[n] = min(i, j) * room + max(i, j)
    return ready, f


@routine
def _enter(model, data, k, done, size, F, G, flat, values):
    """The front of stage k in G, from that of the stage before in F and from the entries of the matrix.

    flat: the memory of G in one row.
    """
    goes_to, entry_places, fill_places = data.goes_to[k], data.entry_places, data.fill_places
    f = data.plan[k, 2]
    for a in range(f):
        G[a, a:f] = 0.0
    for m in range(size - done):
        a, row = goes_to[m], F[done + m, done:size]
        for n in range(m, size - done):
            b = goes_to[n]
            G[min(a, b), max(a, b)] = row[n]
    for n in range(model.entries[k], model.entries[k + 1]):
        flat[entry_places[n]] += values[model.slots[n]]
    for n in range(model.fills[k], model.fills[k + 1]):
        flat[fill_places[n]] += data.fill[model.fill_slots[n]]


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
    """Let unknowns leave the front as long as there are pivots; gives how many did.

    Of pivots with full rows the rows that stay learn late: a row when it is judged, all rows between two that are
    exchanged, and those that stay in the front at the end.
    """
    W, near, front, counts, dense, fresh = data.W, data.near, data.front, data.counts, data.dense, data.fresh
    i, full, bar, end = 0, 0, THRESHOLD, ready
    limit, left = ready, False  # from `limit` on wait those that were refused; `left` says that others left since
    for j in range(f):
        fresh[j] = 0
    while i < ready:
        r, first, second = -1, 0, -1
        if i < limit:
            if full - fresh[i] >= AHEAD:
                take_eights(F, W, dense, fresh, full, i, min(i + AHEAD, ready), end)
            catch_up(F, W, dense, fresh, full, i, i + 1, end)
            r, first, second = judge(F, data, full, i, ready, f, end, bar)
            if r < 0:
                limit -= 1
                if limit > i:
                    catch_up(F, W, dense, fresh, full, i, limit + 1, end)
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
            catch_up(F, W, dense, fresh, full, i, i + 1, end)
            F[i, i] = 1.0
            for c in range(i + 1, f):
                F[i, c] = 0.0
        left = True
        if r == i:
            d = F[i, i]
            data.d[pivot + i], data.e[pivot + i] = d, 0.0
            counts[0 if d > 0.0 else 1] += 1
            if one(F, W, near, i, f, first):
                end = max(end, last_nonzero(F[i], f) + 1)
                dense[full] = i
                full += 1
            i += 1
        else:
            if r > i + 1:
                catch_up(F, W, dense, fresh, full, i + 1, r + 1, end)
                swap(F, W, front, i + 1, r, f)
            a, b, c = F[i, i], F[i, i + 1], F[i + 1, i + 1]
            data.d[pivot + i], data.d[pivot + i + 1] = a, c
            data.e[pivot + i], data.e[pivot + i + 1] = b, 0.0
            _count(data, a, b, c)
            for p in range(i + 2 - two(F, W, near, i, f, first, second), i + 2):
                dense[full] = p
                full += 1
                end = f
            i += 2
    catch_up(F, W, dense, fresh, full, i, f, end)
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
        row, count, size = F[a, a + 1 : f], 0, f - a - 1
        for b in range(size):
            count += row[b] != 0.0
        while size > 0 and row[size - 1] == 0.0:
            size -= 1
        data.whole[pivot + a] = SPARSE * count >= size
        if SPARSE * count >= size:
            kept = data.factor[s : s + size]
            for b in range(size):
                kept[b] = row[b]
            s += size
        else:
            for b in range(size):
                if row[b] != 0.0:
                    data.factor[s], data.places[s] = row[b], a + 1 + b
                    s += 1
        data.starts[pivot + a + 1] = s
    data.size[k], data.pivots[k], data.offsets[k + 1] = f, done, o + f
    return True


@entry
def factor(model, data, values):
    """Factor the matrix with these values; gives DONE, SINGULAR or NO_ROOM; `data.counts` has the signs."""
    return _factor(model, data, values)  # from here on bundles are passed by their addresses


@routine
def _factor(model, data, values):
    stages, room = model.first.shape[0] - 1, data.F.shape[0]
    data.counts[:] = 0
    anew = eliminate(model, data, values)
    done, size, pivot = 0, 0, 0
    for k in range(stages):
        if size - done + model.first[k + 1] - model.first[k] > room:
            return NO_ROOM
        ready, f = _arrange(model, data, k, done, size, anew)
        data.counts[3] = max(data.counts[3], f)
        if k % 2:
            _enter(model, data, k, done, size, data.G, data.F, data.F_flat, values)
            done = _eliminate(data, data.F, ready, f, pivot, k == stages - 1)
            kept = _keep(data, data.F, k, done, f, pivot)
        else:
            _enter(model, data, k, done, size, data.F, data.G, data.G_flat, values)
            done = _eliminate(data, data.G, ready, f, pivot, k == stages - 1)
            kept = _keep(data, data.G, k, done, f, pivot)
        if not kept:
            return NO_ROOM
        size, pivot = f, pivot + done
    return SINGULAR if data.counts[2] else DONE


@entry
def solve(model, data, b):
    """Solve with the factors, b (unknowns,) in place."""
    forth(model, data, b)
    x, d, e, starts, whole = data.x, data.d, data.e, data.starts, data.whole
    places, factor = data.places, data.factor
    stages = data.size.shape[0]
    pivot = 0
    for k in range(stages):
        f, n, o = data.size[k], data.pivots[k], data.offsets[k]
        for a in range(f):
            x[a] = b[data.members[o + a]]
        for a in range(n):
            y, first, last = x[a], starts[pivot + a], starts[pivot + a + 1]
            if whole[pivot + a]:
                row, rest = factor[first:last], x[a + 1 : a + 1 + last - first]
                for c in range(last - first):
                    rest[c] -= row[c] * y
            else:
                for c in range(first, last):
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
            y, first, last = 0.0, starts[pivot + a], starts[pivot + a + 1]
            if whole[pivot + a]:
                row, rest = factor[first:last], x[a + 1 : a + 1 + last - first]
                for c in range(last - first):
                    y += row[c] * rest[c]
            else:
                for c in range(first, last):
                    y += factor[c] * x[places[c]]
            x[a] -= y
        for a in range(n):
            b[data.members[o + a]] = x[a]
    back(model, data, b)
