"""Springs and cables that are stiff for the step: they pull from its middle.

The action has V of a path through the means of the vectors between its points at both ends of the step. So the force of
the middle, T m / |m| along each of these means m, acts on the points at the start (a share `halves` of it) and at the
end, across the line as well as along it: a spring much longer than at rest holds its ends across with T / |m|, and one
that passes its own point turns around without a kick. Of a spring without rest length that is the midpoint rule, which
conserves its energy however long the step is. The forces at the ends stand among the known ones, so this is the
difference to them.
"""

import math

from leastaction._jit import inline, routine
from leastaction.maximal.step.block_parts import add_outer, end_row, work
from leastaction.maximal.step.bodies import END, START, end_pose, start_pose
from leastaction.spatial import add3, cross, dot3, load3, load9, mattvec, matvec, scale3, store3, sub3


@inline
def position(point, states, when):
    """World position of a point, and the COM of its body."""
    R, p = end_pose(states, point.node) if when == END else start_pose(states, point.node)
    return add3(p, matvec(R, load3(point.p))), p


@inline
def _pull(path, length):
    """Tension [N]: a cable is slack rather than pushing."""
    pull = path.held * (length - path.rest_length)
    return max(pull, 0.0) if path.pulls_only != 0 else pull


@inline
def _density(path, pull, r):
    """Tension over length of a part that is r long: a spring without rest length has one at no length, too."""
    if path.rest_length == 0.0 and path.count == 2:
        return path.held
    return pull / r if r > 0.0 else 0.0


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
def _gradient(points, states, k, f):
    """Wrench of a force f at point k at the start, and the row of its place along f at the end."""
    x, p = position(points[k], states, START)
    t = cross(sub3(x, p), f)
    if points[k].node >= 0:
        t = mattvec(load9(states[points[k].node].R), t)
    y, q = position(points[k], states, END)
    return (t[0], t[1], t[2], f[0], f[1], f[2]), end_row(states, points[k].node, cross(sub3(y, q), f), f, 1.0)


@inline
def _moment(s, point, f):
    """Moment of a force at a point about the centre of mass of its body, both in the directions of the start."""
    return mattvec(load9(s.R), cross(matvec(load9(s.R), load3(point.p)), f))


@inline
def _take(states, point, f, share):
    """Take the impulse share f at a point from the residual of its body, in the directions of the start."""
    if point.node >= 0:
        s = states[point.node]
        t = _moment(s, point, f)
        for c in range(3):
            s.r[c] -= share * t[c]
            s.r[3 + c] -= share * f[c]


@inline
def _give(states, point, f, share):
    """Add that impulse to the momentum of its body."""
    if point.node >= 0:
        s = states[point.node]
        t = _moment(s, point, f)
        for c in range(3):
            s.P[c] += share * t[c]
            s.P[3 + c] += share * f[c]


@routine(allocates=False)
def keep_vectors(path, s, points, pointstates, states):
    """Where a run starts: vectors between the points, into d of the second ones; the energy is that of the start."""
    x, _ = position(points[path.first], states, START)
    for k in range(path.first + 1, path.first + path.count):
        y, _ = position(points[k], states, START)
        store3(pointstates[k].d, sub3(y, x))
        x = y
    if path.held > 0.0:
        s.before = 0.5 * _pull(path, s.length) ** 2 / path.held


@routine(allocates=False)
def middle_length(path, points, pointstates, states, when):
    """Length of a path in the middle of the step whose other end is at hand; the tension there [m, N]."""
    length = 0.0
    x, _ = position(points[path.first], states, when)
    for k in range(path.first + 1, path.first + path.count):
        y, _ = position(points[k], states, when)
        m = scale3(0.5, add3(load3(pointstates[k].d), sub3(y, x)))
        length += math.sqrt(dot3(m, m))
        x = y
    return length, _pull(path, length)


@inline
def _difference(path, m, pull, d, known):
    """Force on the first point of a part: with the mean m and its tension, less that with the vector d at an end."""
    f = scale3(_density(path, pull, math.sqrt(dot3(m, m))), m)
    return sub3(f, scale3(_density(path, known, math.sqrt(dot3(d, d))), d))


@routine(allocates=False)
def pull_at_start(path, s, points, pointstates, states, pull, share):
    """Take the impulse of a stiff spring at the start of the step from the residuals; note its energy in the middle."""
    known = _pull(path, s.length)
    x, _ = position(points[path.first], states, END)
    for k in range(path.first + 1, path.first + path.count):
        y, _ = position(points[k], states, END)
        d0 = load3(pointstates[k].d)
        f = _difference(path, scale3(0.5, add3(d0, sub3(y, x))), pull, d0, known)
        _take(states, points[k - 1], f, share)
        _take(states, points[k], f, -share)
        x = y
    s.energy = 0.5 * pull * pull / path.held


@routine(allocates=False)
def pull_at_end(path, s, points, pointstates, states, pull, share):
    """Momentum that a stiff spring leaves at the end of the step, which has become the start of the next.

    s.length is that of this end already; its vectors become those of the start.
    """
    known = _pull(path, s.length)
    x, _ = position(points[path.first], states, START)
    for k in range(path.first + 1, path.first + path.count):
        y, _ = position(points[k], states, START)
        d1 = sub3(y, x)
        f = _difference(path, scale3(0.5, add3(load3(pointstates[k].d), d1)), pull, d1, known)
        _give(states, points[k - 1], f, share)
        _give(states, points[k], f, -share)
        store3(pointstates[k].d, d1)
        x = y
    s.before = 0.5 * pull * pull / path.held


@routine(allocates=False)
def middle_work(model, data, damped, early, late):
    """What stiff springs give, twice [J], up to the start of the step and from there on, beside their known impulses.

    What is conserved is their energy in the middle of steps. In its place the work of the known impulses is taken off.

    Args:
        damped: that of the model; where it is None nothing is compiled.
        early, late: times [s] of which these impulses count with the velocities before, and with those now.
    """
    before = after = 0.0
    if damped is None:
        return before, after
    for i in range(damped.shape[0]):
        path, s = damped[i], data.paths[i]
        if path.held == 0.0:
            continue
        pull, was, now = _pull(path, s.length), 0.0, 0.0
        for k in range(path.first, path.first + path.count):
            body = model.forces.points[k].node
            if body >= 0:
                now += work(data.bodies, data.points[k].w, body)
                for c in range(6):
                    was += data.points[k].w[c] * data.bodies[body].x[c]
        there = pull * pull / path.held
        before += early * pull * was + 2.0 * s.before - there
        after += late * pull * now + there - 2.0 * s.energy
    return before, after


@routine(allocates=False)
def middle_gradients(path, points, pointstates, states):
    """Gradients of the length in the middle by the points, twice: on their bodies at the start (m), as rows (g)."""
    for k in range(path.first, path.first + path.count):
        f = (0.0, 0.0, 0.0)
        for j in (k, k + 1):  # the parts before and after it
            if path.first < j < path.first + path.count:
                x, _ = position(points[j - 1], states, END)
                y, _ = position(points[j], states, END)
                m = scale3(0.5, add3(load3(pointstates[j].d), sub3(y, x)))
                n = unit(m, math.sqrt(dot3(m, m)))
                f = add3(f, n) if j == k else sub3(f, n)
        w, e = _gradient(points, states, k, f)
        for c in range(6):
            pointstates[k].m[c], pointstates[k].g[c] = w[c], e[c]


@routine(allocates=False)
def add_across(model, data, path, first, pull, gain):
    """Blocks of what holds the ends of each part across its line; first: of its edges in `tied`."""
    points, pointstates, states = model.forces.points, data.points, data.bodies
    graph, values, tied = model.graph, data.factors.values, model.tied
    for k in range(path.first + 1, path.first + path.count):
        x, _ = position(points[k - 1], states, END)
        y, _ = position(points[k], states, END)
        m = scale3(0.5, add3(load3(pointstates[k].d), sub3(y, x)))
        r = math.sqrt(dot3(m, m))
        density = gain * _density(path, pull, r)
        if density == 0.0:
            continue
        one, other = across(unit(m, r))
        for which in range(2):
            f = one if which == 0 else other
            for i in (k - 1, k):
                w, _ = _gradient(points, states, i, f)
                for j in (k - 1, k):
                    a, b = points[i].node, points[j].node
                    if a < 0 or b < 0:
                        continue
                    _, e = _gradient(points, states, j, f)
                    edge = tied[first + (i - path.first) * path.count + j - path.first]
                    at = graph.diagonal[a] if a == b else graph.offsets[edge, 0 if a < b else 1]
                    add_outer(values, at, w, e, density if i == j else -density)
