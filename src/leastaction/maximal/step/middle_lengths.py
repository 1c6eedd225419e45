"""Tendons and soft limits of joints that are stiff for the step: they pull from its middle, as springs between points
do (`middle_springs`).

The length in the middle of a step is, of a straight piece, that of the mean of its vectors at both ends; of all else,
such as angles and ways of joints and paths around things, the mean of both values. The tension is the mean of that over
all lengths from half a change before the middle to half a change after it: the tension in the middle where the law is
linear, which makes this the midpoint rule; and where a spring becomes slack or a limit is met within the step, that
which does the work that energies at the ends tell (discrete gradients, Gonzalez 1996). Limits that push at the ends of
steps alone would fling off whatever meets them. It acts along the gradients at the start (a share `halves` of it) and
at the end; across the line of straight pieces as well. The forces at the ends stand among the known ones, so this is
the difference to them. All kernels take these lengths once more: None compiles nothing.
"""

import math

from leastaction._jit import inline, routine
from leastaction.forces.tendon_lengths import measure
from leastaction.forces.tendon_records import SEGMENT
from leastaction.forces.tendons import elastic, look_near, mean_tension
from leastaction.kinematics.closure import frame
from leastaction.maximal.step.block_parts import add_outer, end_row
from leastaction.maximal.step.bodies import exchange_ends
from leastaction.spatial import add3, cross, dot3, load3, load9, mattvec, matvec, scale3, store3, sub3

LENGTH, PULL, MIDDLE, BENT, PULLED, BEFORE, WAS_BENT = range(7)
"""Columns of `MaximalData.lengths`: length at the start [m or rad]; of this step and of the one before the tension [N],
the energy in the middle [J], and 1 where the law is not linear over it."""

VALUE, MEAN = 3, 4
"""Columns of `MaximalData.stretches`: vector of a straight piece at the start (3) or the value of another; from MEAN on
the mean of that vector and the one at the end."""


@inline
def unit(m, r):
    """m / r, or any direction where there is none."""
    return scale3(1.0 / r, m) if r > 0.0 else (1.0, 0.0, 0.0)


@inline
def across(n):
    """Two unit vectors across the unit vector n and each other."""
    x, y = abs(n[0]), abs(n[1])
    axis = (1.0, 0.0, 0.0) if x <= y and x <= abs(n[2]) else ((0.0, 1.0, 0.0) if y <= abs(n[2]) else (0.0, 0.0, 1.0))
    a = cross(n, axis)
    a = scale3(1.0 / math.sqrt(dot3(a, a)), a)
    return a, cross(n, a)


@inline
def _ends(item, links):
    """World positions of the two points of a straight piece."""
    Ra, pa = frame(links, item.other)
    Rb, pb = frame(links, item.node)
    return add3(pa, matvec(Ra, load3(item.pa))), add3(pb, matvec(Rb, load3(item.pb)))


@inline
def _vector(row, first):
    return (row[first], row[first + 1], row[first + 2])


@routine(allocates=False)
def _note(law, items, stretches, states):
    """Length at the start poses; its parts into `stretches`."""
    length = law.offset
    for k in range(law.first, law.first + law.count):
        item = items[k]
        if item.kind == SEGMENT:
            x, y = _ends(item, states)
            d = sub3(y, x)
            store3(stretches[k], d)
            length += item.weight * math.sqrt(dot3(d, d))
        else:
            value, _ = measure(item, states)
            stretches[k, VALUE] = items[k].near = value
            length += item.weight * value
    return length


@routine(allocates=False)
def middle_of(law, items, stretches, states):
    """Length in the middle of the step, one end of which is in `stretches`, and at the other, where the bodies are."""
    length = end = law.offset
    for k in range(law.first, law.first + law.count):
        item, row = items[k], stretches[k]
        if item.kind == SEGMENT:
            x, y = _ends(item, states)
            d = sub3(y, x)
            m = scale3(0.5, add3(_vector(row, 0), d))
            row[MEAN], row[MEAN + 1], row[MEAN + 2] = m
            length += item.weight * math.sqrt(dot3(m, m))
            end += item.weight * math.sqrt(dot3(d, d))
        else:
            value, _ = measure(item, states)
            length += 0.5 * item.weight * (row[VALUE] + value)
            end += item.weight * value
    return length, end


@inline
def _add(out, states, body, x, f, k):
    """Add the impulse k f at the world point x to a row of `out`, in the directions of the start."""
    if body >= 0:
        s = states[body]
        t = mattvec(load9(s.R), cross(sub3(x, load3(s.p)), f))
        for c in range(3):
            out[body, c] += k * t[c]
            out[body, 3 + c] += k * f[c]


@inline
def _add_wrench(out, states, body, W, k):
    """Add k times a world wrench W about the origin to a row of `out`, in the directions of the start."""
    if body >= 0:
        s = states[body]
        t = mattvec(load9(s.R), sub3(W[0], cross(load3(s.p), W[1])))
        for c in range(3):
            out[body, c] += k * t[c]
            out[body, 3 + c] += k * W[1][c]


@routine(allocates=False)
def _add_gradients(law, items, stretches, states, out, mean, own):
    """Add to `out` (bodies, 6) `mean` times the gradients of the length in the middle, and `own` those at the start
    poses; of a straight piece the former is along its mean."""
    for k in range(law.first, law.first + law.count):
        item = items[k]
        if item.kind == SEGMENT:
            x, y = _ends(item, states)
            d, m = sub3(y, x), _vector(stretches[k], MEAN)
            f = scale3(mean * item.weight, unit(m, math.sqrt(dot3(m, m))))
            r = math.sqrt(dot3(d, d))
            if r > 0.0:
                f = add3(f, scale3(own * item.weight / r, d))
            _add(out, states, item.other, x, f, -1.0)
            _add(out, states, item.node, y, f, 1.0)
        else:
            _, W = measure(item, states)
            _add_wrench(out, states, item.other, W, -(mean + own) * item.weight)
            _add_wrench(out, states, item.node, W, (mean + own) * item.weight)


@inline
def _add_row(rows, states, body, t, f, k):
    """Add k times a gradient (t about the COM, f) at the end of the step to a row by which (w, v) are multiplied."""
    if body >= 0:
        e = end_row(states, body, t, f, 1.0)
        for c in range(6):
            rows[body, c] += k * e[c]


@routine(allocates=False)
def _end_rows(law, items, stretches, states, rows, mean, own):
    """Add to `rows` the gradients by the poses at the end, where the bodies are: `mean` times those of twice the length
    in the middle, `own` times those of the length there."""
    for k in range(law.first, law.first + law.count):
        item = items[k]
        if item.kind == SEGMENT:
            x, y = _ends(item, states)
            d, m = sub3(y, x), _vector(stretches[k], MEAN)
            f = scale3(mean, unit(m, math.sqrt(dot3(m, m))))
            r = math.sqrt(dot3(d, d))
            if r > 0.0:
                f = add3(f, scale3(own / r, d))
            for body, z, sign in ((item.other, x, -1.0), (item.node, y, 1.0)):
                if body >= 0:
                    _add_row(rows, states, body, cross(sub3(z, load3(states[body].p)), f), f, sign * item.weight)
        else:
            _, W = measure(item, states)
            for body, sign in ((item.other, -1.0), (item.node, 1.0)):
                if body >= 0:
                    t = sub3(W[0], cross(load3(states[body].p), W[1]))
                    _add_row(rows, states, body, t, W[1], sign * (mean + own) * item.weight)


@inline
def _is_bent(by_first, by_last):
    """1 where the law is not linear over a step; that of a spring which pushes as it pulls is, but for round-off."""
    return 1.0 if abs(by_last - by_first) > 1e-9 * (by_last + by_first) else 0.0


@routine(allocates=False)
def start_lengths(model, data, q, sprung):
    """Where a run starts: lengths at joint positions q (nq,); the energy is that of the start."""
    if sprung is None:
        return
    look_near(data.strings, q)
    for i in range(sprung.shape[0]):
        length = _note(sprung[i], data.strings, data.stretches, data.bodies)
        pull, energy = elastic(sprung[i], length)
        row = data.lengths[i]
        row[LENGTH], row[PULLED], row[BEFORE], row[WAS_BENT] = length, pull, energy, 0.0


@routine(allocates=False)
def implicit_lengths(model, settings, data, dt, fresh, sprung):
    """Take the impulses at the start of the step from the residuals; with `fresh` add their blocks."""
    if sprung is None:
        return
    states, share, pushed, rows = data.bodies, settings.halves * dt, data.T, data.dV
    for i in range(sprung.shape[0]):
        law, row = sprung[i], data.lengths[i]
        own = model.sprung_bodies[law.begin : law.begin + law.bodies]
        _clear(own, pushed)
        _clear(own, rows)
        for j in range(own.shape[0]):
            exchange_ends(states[own[j]])
        length, end = middle_of(law, data.strings, data.stretches, states)
        half = 0.5 * (end - row[LENGTH])
        pull, by_first, by_last = mean_tension(law, length - half, length + half)
        if fresh:
            _end_rows(law, data.strings, data.stretches, states, rows, by_last + by_first, by_last - by_first)
        for j in range(own.shape[0]):
            exchange_ends(states[own[j]])
        known = elastic(law, row[LENGTH])[0]
        row[PULL], row[MIDDLE], row[BENT] = pull, elastic(law, length)[1], _is_bent(by_first, by_last)
        if pull == 0.0 and known == 0.0:
            continue
        _add_gradients(law, data.strings, data.stretches, states, pushed, pull, -known)
        for j in range(own.shape[0]):
            for c in range(6):
                states[own[j]].r[c] += share * pushed[own[j], c]
        if fresh and pull != 0.0:
            _clear(own, pushed)
            _add_gradients(law, data.strings, data.stretches, states, pushed, 1.0, 0.0)
            _blocks(model, data, law, own, 0.5 * dt * share)
            _across(model, data, law, own, 0.5 * dt * share * pull)


@inline
def _clear(bodies, rows):
    for j in range(bodies.shape[0]):
        for c in range(6):
            rows[bodies[j], c] = 0.0


@inline
def _place(model, law, own, i, j):
    """Where the block of bodies i and j of a length lies."""
    if i == j:
        return model.graph.diagonal[own[i]]
    edge = model.sprung_edges[law.edges + i * own.shape[0] + j]
    return model.graph.offsets[edge, 0 if own[i] < own[j] else 1]


@routine(allocates=False)
def _blocks(model, data, law, own, gain):
    """Blocks of the tension: what it pushes with (data.T) times the gradients of the length (data.dV)."""
    for i in range(own.shape[0]):
        for j in range(own.shape[0]):
            at = _place(model, law, own, i, j)
            add_outer(data.factors.values, at, data.T[own[i]], data.dV[own[j]], gain)


@inline
def _find(own, body):
    found = -1
    for i in range(own.shape[0]):
        if own[i] == body:
            found = i
    return found


@routine(allocates=False)
def _across(model, data, law, own, gain):
    """Blocks of what holds the ends of each straight piece across its line; uses up data.T and data.dV."""
    states, pushed, rows = data.bodies, data.T, data.dV
    for k in range(law.first, law.first + law.count):
        item = data.strings[k]
        m = _vector(data.stretches[k], MEAN)
        r = math.sqrt(dot3(m, m))
        if item.kind != SEGMENT or r == 0.0 or item.node == item.other:
            continue
        one, other = across(unit(m, r))
        for which in range(2):
            f = one if which == 0 else other
            for i in (item.other, item.node):
                if i >= 0:
                    for c in range(6):
                        pushed[i, c] = rows[i, c] = 0.0
            x, y = _ends(item, states)
            _add(pushed, states, item.other, x, f, -1.0)
            _add(pushed, states, item.node, y, f, 1.0)
            for i, p, sign in ((item.other, load3(item.pa), -1.0), (item.node, load3(item.pb), 1.0)):
                if i >= 0:
                    _add_row(rows, states, i, cross(matvec(load9(states[i].R1), p), f), f, sign)
            for i in (item.other, item.node):
                for j in (item.other, item.node):
                    if i >= 0 and j >= 0:
                        at = _place(model, law, own, _find(own, i), _find(own, j))
                        add_outer(data.factors.values, at, pushed[i], rows[j], gain * item.weight / r)


@routine(allocates=False)
def end_lengths(model, settings, data, dt, sprung):
    """Momentum that stiff lengths leave at the end of the step, which has become the start of the next."""
    if sprung is None:
        return
    states, share, pushed = data.bodies, (1.0 - settings.halves) * dt, data.T
    for i in range(sprung.shape[0]):
        law, row = sprung[i], data.lengths[i]
        own = model.sprung_bodies[law.begin : law.begin + law.bodies]
        length, end = middle_of(law, data.strings, data.stretches, states)
        half = 0.5 * (end - row[LENGTH])
        pull, by_first, by_last = mean_tension(law, length - half, length + half)
        row[PULLED], row[BEFORE], row[WAS_BENT] = pull, elastic(law, length)[1], _is_bent(by_first, by_last)
        row[LENGTH] = _note(law, data.strings, data.stretches, states)
        _clear(own, pushed)
        _add_gradients(law, data.strings, data.stretches, states, pushed, pull, -elastic(law, row[LENGTH])[0])
        for j in range(own.shape[0]):
            for c in range(6):
                states[own[j]].P[c] -= share * pushed[own[j], c]


@routine(allocates=False)
def length_work(model, data, sprung, own_share, start, end):
    """As `middle_springs.middle_work`, of stiff lengths.

    Where the law is not linear over one of the two steps their impulses count as they are: they do the work that
    energies at the ends tell.

    Args:
        own_share: how much more of an impulse counts with the velocities of its own step than with those of the other.
        start, end: times [s] of the impulses of this step, and of the one before, at the start of this one.
    """
    before = after = 0.0
    if sprung is None:
        return before, after
    states, pushed = data.bodies, data.T
    early, late = (2.0 - own_share) * start + own_share * end, own_share * start + (2.0 - own_share) * end
    for i in range(sprung.shape[0]):
        law, row = sprung[i], data.lengths[i]
        bent = row[BENT] + row[WAS_BENT] > 0.0
        known, there = elastic(law, row[LENGTH])
        was = now = 0.0
        if known != 0.0 or bent:
            own = model.sprung_bodies[law.begin : law.begin + law.bodies]
            _clear(own, pushed)
            _add_gradients(law, data.strings, data.stretches, states, pushed, 0.0, 1.0)
            for j in range(own.shape[0]):
                s = states[own[j]]
                for c in range(3):
                    now += pushed[own[j], c] * s.w[c] + pushed[own[j], 3 + c] * s.vc[c]
                for c in range(6):
                    was += pushed[own[j], c] * s.x[c]
        before += early * known * was
        after += late * known * now
        if bent:
            impulse = start * row[PULL] + end * row[PULLED]
            before -= impulse * was
            after -= impulse * now
        else:
            before += 2.0 * (row[BEFORE] - there)
            after += 2.0 * (there - row[MIDDLE])
    return before, after
