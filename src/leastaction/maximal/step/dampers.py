"""Dampers in springs and cables: a tension along the path by the mean rate of its length over the step.

The impulse is that of the mean rate, along the path at the start of the step (a share `halves` of it) and at its end:
the same for the step taken backwards, so a symmetric step stays one. Springs and cables may run along any number of
bodies; `edges` holds the block of each pair of points of a path.
"""

import math

from leastaction._jit import inline, routine
from leastaction.maximal.step.block_parts import add_outer, end_row, push, store_wrench
from leastaction.maximal.step.bodies import end_pose, start_pose
from leastaction.spatial import add3, cross, dot3, load3, matvec, sub3


@inline
def position(point, states, end):
    """World position of a point, and the COM of its body."""
    R, p = end_pose(states, point.node) if end else start_pose(states, point.node)
    return add3(p, matvec(R, load3(point.p))), p


@routine
def measure(path, points, pointstates, states, end):
    """Length of a path at the start (end = False) or end poses; its gradients into w or e of its points."""
    first, last = path.first, path.first + path.count
    for k in range(first, last):
        for c in range(3):
            pointstates[k].f[c] = 0.0
    length = 0.0
    x, _ = position(points[first], states, end)
    for k in range(first + 1, last):
        y, _ = position(points[k], states, end)
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
        x, p = position(points[k], states, end)
        f = load3(s.f)
        t = cross(sub3(x, p), f)
        if end:
            e = end_row(states, points[k].node, t, f, 1.0)
            for c in range(6):
                s.e[c] = e[c]
        else:
            store_wrench(s.w, states, points[k].node, t, f, 1.0)
    return length


@inline
def tension(path, length, rate):
    """Damping part of the tension [N] and its slope by the rate; a cable is slack rather than pushing."""
    force = path.damping * rate
    if path.pulls_only != 0:
        spring = path.stiffness * (length - path.rest_length)
        if spring <= 0.0:
            return 0.0, 0.0
        if force < -spring:
            return -spring, 0.0
    return force, path.damping


@routine
def start_paths(dampers, states):
    """Lengths and gradients at the start of the step."""
    paths, points, pathstates, pointstates, _ = dampers
    for i in range(paths.shape[0]):
        pathstates[i].length = measure(paths[i], points, pointstates, states, False)


@routine
def implicit_paths(dampers, states, diagonal, offsets, values, dt, halves, fresh):
    """Take the dampers' impulses from the residuals; with `fresh` add their blocks."""
    paths, points, pathstates, pointstates, edges = dampers
    for i in range(paths.shape[0]):
        path, s = paths[i], pathstates[i]
        length = measure(path, points, pointstates, states, True)
        force, slope = tension(path, s.length, (length - s.length) / dt)
        for k in range(path.count):
            push(states, points[path.first + k].node, pointstates[path.first + k].w, -halves * dt * force)
        if not fresh or slope == 0.0:
            continue
        for k in range(path.count):
            a = points[path.first + k].node
            for j in range(path.count):
                b = points[path.first + j].node
                if a < 0 or b < 0:
                    continue
                edge = edges[s.first + k * path.count + j]
                at = diagonal[a] if a == b else offsets[edge, 0 if a < b else 1]
                add_outer(values, at, pointstates[path.first + k].w, pointstates[path.first + j].e, halves * dt * slope)


@routine
def end_paths(dampers, states, dt, halves):
    """Momentum that the dampers leave at the end of the step, which has become the start of the next."""
    paths, points, pathstates, pointstates, _ = dampers
    for i in range(paths.shape[0]):
        path, s = paths[i], pathstates[i]
        length = measure(path, points, pointstates, states, False)
        force, _ = tension(path, length, (length - s.length) / dt)
        s.length = length
        for k in range(path.first, path.first + path.count):
            body = points[k].node
            if body >= 0:
                for c in range(6):
                    states[body].P[c] -= (1.0 - halves) * dt * force * pointstates[k].w[c]
