"""Dampers in springs and cables, and such as are stiff for the step: a tension along the path by the mean rate of its
length over the step.

The impulse is that of the mean rate, along the path at the start of the step (a share `halves` of it) and at its end:
the same for the step taken backwards, so a symmetric step stays one. Springs and cables may run along any number of
bodies; `tied` of the model holds the edge of each pair of points of a path. All kernels take the damped paths once
more, as an argument: where it is None they do nothing, and nothing of them is compiled.

Springs that are stiff for the step pull from its middle, as those of joints do: the action has V of the mean length
there, which is stable however long the step is. Their tension at the ends stands among the known forces, so this is the
difference to it.
"""

import math

from leastaction._jit import inline, routine
from leastaction.maximal.step.block_parts import add_outer, end_row, push, store_wrench
from leastaction.maximal.step.bodies import END, START, end_pose, start_pose
from leastaction.spatial import add3, cross, dot3, load3, matvec, sub3


@inline
def position(point, states, when):
    """World position of a point, and the COM of its body."""
    R, p = end_pose(states, point.node) if when == END else start_pose(states, point.node)
    return add3(p, matvec(R, load3(point.p))), p


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
def tension(path, length, rate, ahead):
    """(tension beside that at `length` [N], its slope by the rate, what of it the spring gives).

    A cable is slack rather than pushing.

    Args:
        length: at one end of the step [m].
        ahead: time from there to the middle of the step [s].
    """
    known = path.stiffness * (length - path.rest_length)
    spring, gain = known, 0.0
    if path.held > 0.0:
        spring, gain = known + path.held * ahead * rate, path.held * ahead
    force, slope = path.damping * rate, path.damping
    if path.pulls_only != 0:
        known = max(known, 0.0)
        if spring <= 0.0:
            spring = force = slope = gain = 0.0
            known = known if path.held > 0.0 else 0.0
        elif force < -spring and path.clip != 0:
            force, slope = -spring, -gain
    return force + (spring - known), slope + gain, spring - known


@routine(allocates=False)
def start_paths(model, data, damped):
    """Lengths and gradients at the start of the step."""
    if damped is None:
        return
    for i in range(damped.shape[0]):
        data.paths[i].length = measure(damped[i], model.forces.points, data.points, data.bodies, START)


@routine(allocates=False)
def implicit_paths(model, settings, data, dt, fresh, damped):
    """Take the dampers' impulses from the residuals; with `fresh` add their blocks."""
    if damped is None:
        return
    points, pointstates, states = model.forces.points, data.points, data.bodies
    diagonal, offsets, values = model.graph.diagonal, model.graph.offsets, data.factors.values
    for i in range(damped.shape[0]):
        path, s = damped[i], data.paths[i]
        length = measure(path, points, pointstates, states, END)
        s.now = (length - s.length) / dt
        force, slope, own = tension(path, s.length, s.now, 0.5 * dt)
        s.kick = -settings.halves * dt * own
        for k in range(path.count):
            push(states, points[path.first + k].node, pointstates[path.first + k].w, -settings.halves * dt * force)
        if not fresh or slope == 0.0:
            continue
        for k in range(path.count):
            a = points[path.first + k].node
            for j in range(path.count):
                b = points[path.first + j].node
                if a < 0 or b < 0:
                    continue
                edge = model.tied[model.tied_first[i] + k * path.count + j]
                at = diagonal[a] if a == b else offsets[edge, 0 if a < b else 1]
                w, e = pointstates[path.first + k].w, pointstates[path.first + j].e
                add_outer(values, at, w, e, settings.halves * dt * slope)


@routine(allocates=False)
def end_paths(model, settings, data, dt, damped):
    """Momentum that the dampers leave at the end of the step, which has become the start of the next."""
    if damped is None:
        return
    points, pointstates, states = model.forces.points, data.points, data.bodies
    for i in range(damped.shape[0]):
        path, s = damped[i], data.paths[i]
        length = measure(path, points, pointstates, states, START)
        s.rate = (length - s.length) / dt
        force, _, own = tension(path, length, s.rate, -0.5 * dt)
        s.length, s.left = length, -(1.0 - settings.halves) * dt * own
        for k in range(path.first, path.first + path.count):
            body = points[k].node
            if body >= 0:
                for c in range(6):
                    states[body].P[c] -= (1.0 - settings.halves) * dt * force * pointstates[k].w[c]
