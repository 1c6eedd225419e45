"""Dampers in springs and cables, and such as are stiff for the step: a tension along the path by the mean rate of its
length over the step.

The impulse is that of the mean rate, along the path at the start of the step (a share `halves` of it) and at its end:
the same for the step taken backwards, so a symmetric step stays one. Springs and cables may run along any number of
bodies; `tied` of the model holds the edge of each pair of points of a path. All kernels take the damped paths once
more, as an argument: where it is None they do nothing, and nothing of them is compiled.

Springs that are stiff for the step pull from its middle (`middle_springs`).
"""

import math

from leastaction._jit import inline, routine
from leastaction.maximal.step.block_parts import add_outer, end_row, push, store_wrench
from leastaction.maximal.step.bodies import END, START
from leastaction.maximal.step.middle_springs import (
    add_across,
    keep_vectors,
    middle_gradients,
    middle_length,
    position,
    pull_at_end,
    pull_at_start,
)
from leastaction.spatial import cross, dot3, load3, sub3


@routine(allocates=False)
def measure(path, points, pointstates, states, when):
    """Length of a path at the START or END of the step; its gradients into w or e of its points."""
    first, last = path.first, path.first + path.count
    for k in range(first, last):
        for c in range(3):
            pointstates[k].f[c] = 0.0
    length = 0.0
    x, _ = position(points[first], states, when)
    for k in range(first + 1, last):
        y, _ = position(points[k], states, when)
        d = sub3(y, x)
        r = math.sqrt(dot3(d, d))
        length += r
        if r > 0.0:
            for c in range(3):
                pointstates[k].f[c] += d[c] / r
                pointstates[k - 1].f[c] -= d[c] / r
        x = y
    for k in range(first, last):
        s = pointstates[k]
        x, p = position(points[k], states, when)
        f = load3(s.f)
        t = cross(sub3(x, p), f)
        if when == END:
            e = end_row(states, points[k].node, t, f, 1.0)
            for c in range(6):
                s.e[c] = e[c]
        else:
            store_wrench(s.w, states, points[k].node, t, f, 1.0)
    return length


@inline
def tension(path, length, rate, pull):
    """(tension of the damper beside that of the spring at `length` [N], its slopes by the rate and by `pull`).

    pull is the tension of a spring that is stiff for the step, in its middle. A cable is slack rather than pushing.
    """
    force, slope = path.damping * rate, path.damping
    if path.pulls_only != 0:
        spring = pull if path.held > 0.0 else path.stiffness * (length - path.rest_length)
        if spring <= 0.0:
            return 0.0, 0.0, 0.0
        if force < -spring and path.clip != 0:
            return -spring, 0.0, -1.0 if path.held > 0.0 else 0.0
    return force, slope, 0.0


@routine(allocates=False)
def start_paths(model, data, damped):
    """Lengths and gradients at the start of the step."""
    if damped is None:
        return
    for i in range(damped.shape[0]):
        data.paths[i].length = measure(damped[i], model.forces.points, data.points, data.bodies, START)
        keep_vectors(damped[i], data.paths[i], model.forces.points, data.points, data.bodies)


@routine(allocates=False)
def implicit_paths(model, settings, data, dt, fresh, damped):
    """Take the impulses of dampers and stiff springs from the residuals; with `fresh` add their blocks."""
    if damped is None:
        return
    points, pointstates, states, share = model.forces.points, data.points, data.bodies, settings.halves * dt
    for i in range(damped.shape[0]):
        path, s = damped[i], data.paths[i]
        length, pull = measure(path, points, pointstates, states, END), 0.0
        if path.held > 0.0:
            _, pull = middle_length(path, points, pointstates, states, END)
            pull_at_start(path, s, points, pointstates, states, pull, share)
        force, slope, by_pull = tension(path, s.length, (length - s.length) / dt, pull)
        for k in range(path.count):
            push(states, points[path.first + k].node, pointstates[path.first + k].w, -share * force)
        if fresh:
            _blocks(model, data, i, path, share * slope, 0.5 * dt * share, by_pull, pull)


@routine(allocates=False)
def _blocks(model, data, i, path, slope, gain, by_pull, pull):
    """Blocks of path i: `slope` of a damper, and of a stiff spring in the middle, `gain` times its own."""
    points, pointstates, states = model.forces.points, data.points, data.bodies
    diagonal, offsets, values = model.graph.diagonal, model.graph.offsets, data.factors.values
    acts = path.held > 0.0 and (path.pulls_only == 0 or pull > 0.0)
    if acts:
        middle_gradients(path, points, pointstates, states)
        add_across(model, data, path, model.tied_first[i], pull, gain)
    elif slope == 0.0:
        return
    for k in range(path.count):
        a = points[path.first + k].node
        for j in range(path.count):
            b = points[path.first + j].node
            if a < 0 or b < 0:
                continue
            edge = model.tied[model.tied_first[i] + k * path.count + j]
            at = diagonal[a] if a == b else offsets[edge, 0 if a < b else 1]
            one, other = pointstates[path.first + k], pointstates[path.first + j]
            if slope != 0.0:
                add_outer(values, at, one.w, other.e, slope)
            if acts:
                add_outer(values, at, one.m, other.g, gain * path.held)
                if by_pull != 0.0:
                    add_outer(values, at, one.w, other.g, by_pull * gain * path.held)


@routine(allocates=False)
def end_paths(model, settings, data, dt, damped):
    """Momentum that dampers and stiff springs leave at the end of the step, the start of the next by now."""
    if damped is None:
        return
    points, pointstates, states, share = model.forces.points, data.points, data.bodies, (1.0 - settings.halves) * dt
    for i in range(damped.shape[0]):
        path, s = damped[i], data.paths[i]
        length, pull = measure(path, points, pointstates, states, START), 0.0
        rate, s.length = (length - s.length) / dt, length
        if path.held > 0.0:
            _, pull = middle_length(path, points, pointstates, states, START)
            pull_at_end(path, s, points, pointstates, states, pull, share)
        force, _, _ = tension(path, length, rate, pull)
        for k in range(path.first, path.first + path.count):
            body = points[k].node
            if body >= 0:
                for c in range(6):
                    states[body].P[c] -= share * force * pointstates[k].w[c]
