"""Tendons and soft limits of joints, by a discrete gradient.

The tension over a step is the mean of the tension over all lengths from l0 at its start to l1 at its end: the midpoint
tension where the law is linear; where a spring becomes slack or a limit is met within the step, the one whose work is
the difference of the energies, T (l1 - l0) = V1 - V0 (Gonzalez 1996). For a straight segment between the vectors d0
and d1 it acts along c = (d0 + d1) / (|d0| + |d1|), for which c . (d1 - d0) = |d1| - |d0| (`path_springs`); for all
other items, such as joint coordinates and paths around obstacles, along the gradient at the start (a share `halves` of
the impulse) and at the end. The known forces contain the tension at the ends, so this module adds the difference. All
kernels take these lengths as a further argument: where it is None they compile to nothing.
"""

import math

from leastaction._jit import inline, routine
from leastaction.forces.tendons.cable_paths import direction, size
from leastaction.forces.tendons.tendon_forces import elastic, mean_tension, unwrap_angles
from leastaction.forces.tendons.tendon_lengths import measure
from leastaction.forces.tendons.tendon_records import SEGMENT
from leastaction.kinematics.closure_kernels import frame
from leastaction.maximal.step.block_parts import add_outer, end_row
from leastaction.maximal.step.bodies import end_pose, exchange_ends
from leastaction.spatial import add3, axpy3, cross, dot3, load3, load9, mattvec, matvec, scale3, store3, sub3

LENGTH, PULL, PULLED = range(3)
"""Columns of `MaximalData.lengths`: length at the start [m or rad]; tension of this step and of the one before [N]."""

VALUE, MEAN = 3, 4
"""Columns of `MaximalData.stretches`: vector of a straight segment at the start (3) or the value of another item; from
MEAN on the segment's direction c over the step."""


@inline
def _ends(item, links):
    """World positions of the two points of a straight segment."""
    Ra, pa = frame(links, item.other)
    Rb, pb = frame(links, item.node)
    return add3(pa, matvec(Ra, load3(item.pa))), add3(pb, matvec(Rb, load3(item.pb)))


@inline
def _vector(row, first):
    return (row[first], row[first + 1], row[first + 2])


@routine(allocates=False)
def _store_start_length(law, items, stretches, states):
    """Length at the start poses; stores its parts in `stretches`."""
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
def other_end(law, items, stretches, states):
    """Length at the present poses, the other end of the step than `stretches`; stores the directions of segments."""
    end = law.offset
    for k in range(law.first, law.first + law.count):
        item, row = items[k], stretches[k]
        if item.kind == SEGMENT:
            x, y = _ends(item, states)
            d = sub3(y, x)
            r = size(d)
            row[MEAN], row[MEAN + 1], row[MEAN + 2] = direction(add3(_vector(row, 0), d), r + size(_vector(row, 0)))
            end += item.weight * r
        else:
            value, _ = measure(item, states)
            end += item.weight * value
    return end


@inline
def _add(out, states, body, x, f, k):
    """Add the impulse k f at the world point x to a row of `out`, in the body frame."""
    if body >= 0:
        s = states[body]
        t = mattvec(load9(s.R), cross(sub3(x, load3(s.p)), f))
        for c in range(3):
            out[body, c] += k * t[c]
            out[body, 3 + c] += k * f[c]


@inline
def _add_wrench(out, states, body, W, k):
    """Add k times a world wrench W about the origin to a row of `out`, in the body frame."""
    if body >= 0:
        s = states[body]
        t = mattvec(load9(s.R), sub3(W[0], cross(load3(s.p), W[1])))
        for c in range(3):
            out[body, c] += k * t[c]
            out[body, 3 + c] += k * W[1][c]


@routine(allocates=False)
def _add_gradients(law, items, stretches, states, out, mean, own):
    """Add to `out` (bodies, 6) `mean` times the discrete gradients of the length plus `own` times those at the start
    poses; the two differ for straight segments."""
    for k in range(law.first, law.first + law.count):
        item = items[k]
        if item.kind == SEGMENT:
            x, y = _ends(item, states)
            d = sub3(y, x)
            f = scale3(item.weight, axpy3(own, direction(d, size(d)), scale3(mean, _vector(stretches[k], MEAN))))
            _add(out, states, item.other, x, f, -1.0)
            _add(out, states, item.node, y, f, 1.0)
        else:
            _, W = measure(item, states)
            _add_wrench(out, states, item.other, W, -(mean + own) * item.weight)
            _add_wrench(out, states, item.node, W, (mean + own) * item.weight)


@inline
def _add_row(rows, states, body, t, f, k):
    """Add k times a gradient (t about the COM, f) at the end of the step to a row by (w, v)."""
    if body >= 0:
        e = end_row(states, body, t, f, 1.0)
        for c in range(6):
            rows[body, c] += k * e[c]


@routine(allocates=False)
def _end_rows(law, items, states, rows, slope):
    """Add to `rows` `slope` times the gradients of the length at the present poses, those of the end."""
    for k in range(law.first, law.first + law.count):
        item = items[k]
        if item.kind == SEGMENT:
            x, y = _ends(item, states)
            d = sub3(y, x)
            f = scale3(slope, direction(d, size(d)))
            for body, z, sign in ((item.other, x, -1.0), (item.node, y, 1.0)):
                if body >= 0:
                    _add_row(rows, states, body, cross(sub3(z, load3(states[body].p)), f), f, sign * item.weight)
        else:
            _, W = measure(item, states)
            for body, sign in ((item.other, -1.0), (item.node, 1.0)):
                if body >= 0:
                    t = sub3(W[0], cross(load3(states[body].p), W[1]))
                    _add_row(rows, states, body, t, W[1], sign * slope * item.weight)


@routine(allocates=False)
def start_lengths(model, data, q, sprung):
    """Initialise a run: lengths at joint positions q (nq,) and their tensions."""
    if sprung is None or sprung.shape[0] == 0:
        return
    unwrap_angles(data.strings, q)
    for i in range(sprung.shape[0]):
        length = _store_start_length(sprung[i], data.strings, data.stretches, data.bodies)
        data.lengths[i, LENGTH], data.lengths[i, PULLED] = length, elastic(sprung[i], length)[0]


@routine(allocates=False)
def implicit_lengths(model, settings, data, dt, fresh, sprung):
    """Subtract the impulses at the start of the step from the residuals; with `fresh` add their blocks."""
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
        end = other_end(law, data.strings, data.stretches, states)
        pull, _, by_last = mean_tension(law, row[LENGTH], end)
        if fresh:
            _end_rows(law, data.strings, states, rows, by_last)
        for j in range(own.shape[0]):
            exchange_ends(states[own[j]])
        known = elastic(law, row[LENGTH])[0]
        row[PULL] = pull
        if pull == 0.0 and known == 0.0:
            continue
        _add_gradients(law, data.strings, data.stretches, states, pushed, pull, -known)
        for j in range(own.shape[0]):
            for c in range(6):
                states[own[j]].r[c] += share * pushed[own[j], c]
        if fresh and pull != 0.0:
            _clear(own, pushed)
            _add_gradients(law, data.strings, data.stretches, states, pushed, 1.0, 0.0)
            _blocks(model, data, law, own, dt * share)
            _direction_blocks(model, data, law, own, dt * share * pull)


@inline
def _clear(bodies, rows):
    for j in range(bodies.shape[0]):
        for c in range(6):
            rows[bodies[j], c] = 0.0


@inline
def _place(model, law, own, i, j):
    """Offset of the block of bodies i and j of a length."""
    if i == j:
        return model.graph.diagonal[own[i]]
    edge = model.sprung_edges[law.edges + i * own.shape[0] + j]
    return model.graph.offsets[edge, 0 if own[i] < own[j] else 1]


@routine(allocates=False)
def _blocks(model, data, law, own, gain):
    """Add the blocks of the tension: its wrenches (data.T) times the gradients of the length (data.dV)."""
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
def _direction_blocks(model, data, law, own, gain):
    """Add the blocks of the directions c of straight segments, (1 - c n') / (|d0| + |d1|), n = d1 / |d1|; overwrites
    data.T and data.dV."""
    states, pushed, rows = data.bodies, data.T, data.dV
    for k in range(law.first, law.first + law.count):
        item = data.strings[k]
        if item.kind != SEGMENT or item.node == item.other:
            continue
        Ra, xa = end_pose(states, item.other)
        Rb, xb = end_pose(states, item.node)
        d0 = _vector(data.stretches[k], 0)
        d1 = sub3(add3(xb, matvec(Rb, load3(item.pb))), add3(xa, matvec(Ra, load3(item.pa))))
        r = size(d1)
        both = size(d0) + r
        if both == 0.0:
            continue
        x, y = _ends(item, states)
        for axis in range(4):
            f = (1.0 if axis == 0 else 0.0, 1.0 if axis == 1 else 0.0, 1.0 if axis == 2 else 0.0)
            g, factor = f, gain * item.weight / both
            if axis == 3:
                f, g, factor = _vector(data.stretches[k], MEAN), direction(d1, r), -factor
            for i in (item.other, item.node):
                if i >= 0:
                    for c in range(6):
                        pushed[i, c] = rows[i, c] = 0.0
            _add(pushed, states, item.other, x, f, -1.0)
            _add(pushed, states, item.node, y, f, 1.0)
            for i, p, sign in ((item.other, load3(item.pa), -1.0), (item.node, load3(item.pb), 1.0)):
                if i >= 0:
                    _add_row(rows, states, i, cross(matvec(load9(states[i].R1), p), g), g, sign)
            for i in (item.other, item.node):
                for j in (item.other, item.node):
                    if i >= 0 and j >= 0:
                        at = _place(model, law, own, _find(own, i), _find(own, j))
                        add_outer(data.factors.values, at, pushed[i], rows[j], factor)


@routine(allocates=False)
def end_lengths(model, settings, data, dt, sprung):
    """Add the impulses of these lengths at the end of the step to the momenta; `data` is at the next start."""
    if sprung is None:
        return
    states, share, pushed = data.bodies, (1.0 - settings.halves) * dt, data.T
    for i in range(sprung.shape[0]):
        law, row = sprung[i], data.lengths[i]
        own = model.sprung_bodies[law.begin : law.begin + law.bodies]
        pull, _, _ = mean_tension(law, row[LENGTH], other_end(law, data.strings, data.stretches, states))
        row[PULLED] = pull
        row[LENGTH] = _store_start_length(law, data.strings, data.stretches, states)
        _clear(own, pushed)
        _add_gradients(law, data.strings, data.stretches, states, pushed, pull, -elastic(law, row[LENGTH])[0])
        for j in range(own.shape[0]):
            for c in range(6):
                states[own[j]].P[c] -= share * pushed[own[j], c]


@routine(allocates=False)
def length_defect(model, settings, data, dt, sprung):
    """Energy that lengths lose in a substep minus the work of their impulses [J]; `data` is at its end.

    That work uses the velocities (v, s w), see `energy_terms`.
    """
    defect = 0.0
    if sprung is None:
        return defect
    states, pushed, share = data.bodies, data.T, settings.halves * dt
    for i in range(sprung.shape[0]):
        law, pull = sprung[i], data.lengths[i, PULLED]
        if pull == 0.0:
            continue
        own = model.sprung_bodies[law.begin : law.begin + law.bodies]
        _clear(own, pushed)
        _add_gradients(law, data.strings, data.stretches, data.start.bodies, pushed, share, 0.0)
        _add_gradients(law, data.strings, data.stretches, states, pushed, dt - share, 0.0)
        work = 0.0
        for j in range(own.shape[0]):
            s, k = states[own[j]], pushed[own[j]]
            turn = 0.25 * dt * dt * (s.w[0] ** 2 + s.w[1] ** 2 + s.w[2] ** 2)
            cos = math.sqrt(max(1.0 - turn, 0.0))
            for c in range(3):
                work += cos * k[c] * s.w[c] + k[3 + c] * s.vc[c]
        defect += pull * (work - data.lengths[i, LENGTH] + data.start.lengths[i, LENGTH])
    return defect
