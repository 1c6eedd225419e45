"""Springs and cables: a tension along a chain of points (Sueda 2021, Eqs. 1.64 to 1.83).

A cable has no compression; with `clip` its damper cannot push either. Isotropic springs have a module of their own but
use the same records.
"""

import math
from typing import Any

import numpy as np

from leastaction._jit import inline, routine
from leastaction.forces.points import (
    NODE_POINT,
    Frames,
    add_point_gradients,
    path_point,
    point_slope,
    pull,
    pull_slope,
    virtual_velocity,
    zeroed,
)
from leastaction.forces.tendons.tendon_forces import mean_depth
from leastaction.forces.touch import change, touch, update_mode
from leastaction.mechanism import Mechanism
from leastaction.spatial import ZERO3, axpy3, cross, dot3, neg3, scale3, sub3

PATH = np.dtype(
    [
        ("first", "i8"),  # index of its first point
        ("count", "i8"),
        ("pulls_only", "i8"),
        ("clip", "i8"),  # never pushes, not even by its damper
        ("isotropic", "i8"),  # force proportional to the difference of its two points
        ("stiffness", "f8"),
        ("rest_length", "f8"),
        ("damping", "f8"),
    ],
    align=True,
)
"""A spring or cable: a chain of points with a tension."""


def compiled(mechanism: Mechanism, frames: Frames) -> tuple[Any, Any]:
    """Build the `PATH` records of springs, then cables, and the `NODE_POINT` records of their points."""
    chains = [((s.start, s.end), 0, s) for s in mechanism.springs]
    chains += [(c.via, int(c.pulls_only), c) for c in mechanism.cables]
    paths, points = zeroed(len(chains), PATH), zeroed(sum(len(via) for via, _, _ in chains), NODE_POINT)
    k = 0
    for record, (via, pulls_only, element) in zip(paths, chains, strict=True):
        record.first, record.count, record.pulls_only = k, len(via), pulls_only
        for name in ("stiffness", "rest_length", "damping"):
            record[name] = getattr(element, name)
        record.clip, record.isotropic = getattr(element, "clip", False), getattr(element, "isotropic", False)
        for a in via:
            node, X = frames[a.body]
            points[k].node, points[k].p = node, X.apply(a.point)
            k += 1
    return paths, points


@inline
def length_and_rate(path, points, links):
    """Length of a spring or cable [m] and its rate [m/s]."""
    length = 0.0
    rate = 0.0
    x, xd = path_point(points[path.first], links)
    for k in range(path.first + 1, path.first + path.count):
        y, yd = path_point(points[k], links)
        d = sub3(y, x)
        r = math.sqrt(dot3(d, d))
        length += r
        if r > 0.0:
            rate += dot3(d, sub3(yd, xd)) / r
        x, xd = y, yd
    return length, rate


@inline
def tension(path, mode, length, rate):
    """Tension [N]."""
    if path.pulls_only == 0:
        return path.stiffness * (length - path.rest_length) + path.damping * rate
    acts, share, _ = touch(mode, path.rest_length - length)
    if not acts:
        return 0.0
    force = path.stiffness * (length - path.rest_length) + share * path.damping * rate
    return max(force, 0.0) if path.clip != 0 else force


@inline
def tension_slopes(path, mode, length, rate):
    """Derivatives of `tension` by length, rate and damping; all zero for a slack cable."""
    if path.pulls_only == 0:
        return path.stiffness, path.damping, rate
    acts, share, slope = touch(mode, path.rest_length - length)
    if not acts or (path.clip != 0 and tension(path, mode, length, rate) <= 0.0):
        return 0.0, 0.0, 0.0
    return path.stiffness - path.damping * rate * slope, share * path.damping, share * rate


@inline
def size(d):
    """Length of a vector."""
    return math.sqrt(dot3(d, d))


@inline
def direction(d, r):
    """d / r, or zero for r = 0."""
    return scale3(1.0 / r, d) if r > 0.0 else (0.0, 0.0, 0.0)


@inline
def mean_tension(path, first, last, dt):
    """Tension [N] over a step of dt [s] between two lengths [m], and its derivatives by these.

    For the spring it is the mean over the lengths in between, whose work is the difference of the energies (Gonzalez
    1996, discrete gradients); the damper of a cable acts while it is taut."""
    k, rate = path.stiffness, path.damping / dt
    if path.pulls_only == 0:
        pull = k * (0.5 * (first + last) - path.rest_length) + rate * (last - first)
        return pull, 0.5 * k - rate, 0.5 * k + rate
    a, b = first - path.rest_length, last - path.rest_length
    depth, by_a, by_b = mean_depth(a, b)
    pull = k * depth + rate * (max(b, 0.0) - max(a, 0.0))
    if path.clip != 0 and pull <= 0.0:
        return 0.0, 0.0, 0.0
    return pull, k * by_a - (rate if a > 0.0 else 0.0), k * by_b + (rate if b > 0.0 else 0.0)


@routine
def push(path, points, links, force, out):
    """Add the wrenches of a tension `force` to `out`, shape (nodes, 6)."""
    x, _ = path_point(points[path.first], links)
    for k in range(path.first + 1, path.first + path.count):
        y, _ = path_point(points[k], links)
        d = sub3(y, x)
        r = math.sqrt(dot3(d, d))
        if r > 0.0:
            f = scale3(force / r, d)
            pull(out, points[k - 1].node, x, f)
            pull(out, points[k].node, y, neg3(f))
        x = y


@routine
def wrenches(paths, points, modes, links, external):
    """Add the world wrenches to `external`, shape (nodes, 6)."""
    for i in range(paths.shape[0]):
        path = paths[i]
        if path.isotropic != 0:
            continue
        length, rate = length_and_rate(path, points, links)
        push(path, points, links, tension(path, modes[i], length, rate), external)


@routine
def energy(paths, points, links):
    """Elastic energy [J]."""
    total = 0.0
    for i in range(paths.shape[0]):
        path = paths[i]
        if path.isotropic == 0:
            length, _ = length_and_rate(path, points, links)
            d = length - path.rest_length
            if path.pulls_only == 0 or d > 0.0:
                total += 0.5 * path.stiffness * d * d
    return total


@inline
def moves(path, points, T, dV):
    """Whether any of the points moves."""
    for k in range(path.first, path.first + path.count):
        n = points[k].node
        if n >= 0:
            for c in range(6):
                if T[n, c] != 0.0 or dV[n, c] != 0.0:
                    return True
    return False


@inline
def _direction(x, y, dx, dy):
    """Unit direction from x to y, its change, and the distance."""
    d, dd = sub3(y, x), sub3(dy, dx)
    r = math.sqrt(dot3(d, d))
    if r == 0.0:
        return ZERO3, ZERO3, 0.0
    e = scale3(1.0 / r, d)
    return e, scale3(1.0 / r, axpy3(-dot3(e, dd), e, dd)), r


@routine
def slopes(paths, points, modes, links, T, dV, out):
    """Add the directional derivatives of the wrenches (JVP): by length and rate, and by the directions of the path."""
    for i in range(paths.shape[0]):
        path = paths[i]
        if path.isotropic != 0 or not moves(path, points, T, dV):
            continue
        length, rate = length_and_rate(path, points, links)
        force = tension(path, modes[i], length, rate)
        stiffness, damping, _ = tension_slopes(path, modes[i], length, rate)
        if force == 0.0 and stiffness == 0.0 and damping == 0.0:
            continue
        dl = 0.0
        dr = 0.0
        x, xd = path_point(points[path.first], links)
        dx, dxd = point_slope(points[path.first].node, x, links, T, dV)
        for k in range(path.first + 1, path.first + path.count):
            y, yd = path_point(points[k], links)
            dy, dyd = point_slope(points[k].node, y, links, T, dV)
            e, de, _ = _direction(x, y, dx, dy)
            dl += dot3(e, sub3(dy, dx))
            dr += dot3(de, sub3(yd, xd)) + dot3(e, sub3(dyd, dxd))
            x, xd, dx, dxd = y, yd, dy, dyd
        changed = stiffness * dl + damping * dr
        x, _ = path_point(points[path.first], links)
        dx, _ = point_slope(points[path.first].node, x, links, T, dV)
        for k in range(path.first + 1, path.first + path.count):
            y, _ = path_point(points[k], links)
            dy, _ = point_slope(points[k].node, y, links, T, dV)
            e, de, r = _direction(x, y, dx, dy)
            if r > 0.0:
                f = scale3(force, e)
                df = axpy3(changed, e, scale3(force, de))
                pull_slope(out, points[k - 1].node, x, dx, f, df)
                pull_slope(out, points[k].node, y, dy, neg3(f), neg3(df))
            x, dx = y, dy


@routine
def cotangents(paths, points, modes, links, cot, GT, GV, out, of_points):
    """Reverse mode (VJP) of E = - tension * stretch, the rate of the length for virtual velocities.

    out (paths, 3): by stiffness, rest length and damping; of_points (points, 3): by the positions of the points.
    """
    for i in range(paths.shape[0]):
        if paths[i].isotropic == 0:
            _path_cotangents(paths[i], points, modes[i], links, cot, GT, GV, out[i], of_points)


@routine
def _path_cotangents(path, points, mode, links, cot, GT, GV, out, of_points):
    length, rate = length_and_rate(path, points, links)
    force = tension(path, mode, length, rate)
    stiffness, damping, damped = tension_slopes(path, mode, length, rate)
    if force == 0.0 and stiffness == 0.0 and damping == 0.0:
        return
    stretch = 0.0
    for sweep in range(2):
        x, xd = path_point(points[path.first], links)
        W, w = virtual_velocity(points[path.first].node, cot, x)
        for k in range(path.first + 1, path.first + path.count):
            y, yd = path_point(points[k], links)
            U, u = virtual_velocity(points[k].node, cot, y)
            d = sub3(y, x)
            r = math.sqrt(dot3(d, d))
            if r > 0.0:
                e = scale3(1.0 / r, d)
                dw, dd = sub3(u, w), sub3(yd, xd)
                if sweep == 0:
                    stretch += dot3(e, dw)
                else:
                    across = axpy3(-dot3(e, dw), e, dw)
                    turning = axpy3(-dot3(e, dd), e, dd)
                    g = scale3(-stretch * stiffness, e)
                    g = axpy3(-stretch * damping / r, turning, axpy3(-force / r, across, g))
                    gd = scale3(-stretch * damping, e)
                    gx, gy = axpy3(force, cross(e, W), neg3(g)), axpy3(-force, cross(e, U), g)
                    add_point_gradients(points[k - 1].node, x, gx, neg3(gd), links, GT, GV, of_points[k - 1])
                    add_point_gradients(points[k].node, y, gy, gd, links, GT, GV, of_points[k])
            x, xd, W, w = y, yd, U, u
    out[0] -= stretch * (length - path.rest_length)
    out[1] += stretch * stiffness
    out[2] -= stretch * damped


@inline
def jumps(path):
    """Whether the tension is discontinuous where the path becomes taut."""
    return path.pulls_only != 0 and path.damping > 0.0


@routine
def change_modes(paths, points, modes, links, settled, most):
    """Update the modes of cables by their lengths, at most `most` of them; see `touch.change`."""
    changed, touching = 0, 0
    for i in range(paths.shape[0]):
        if jumps(paths[i]):
            length, rate = length_and_rate(paths[i], points, links)
            c, t = change(modes, i, paths[i].rest_length - length, -rate, settled, changed < most)
            changed, touching = changed + c, touching + t
    return changed, touching


@routine
def update_modes(paths, points, modes, links):
    """Open or close cables by their lengths, see `touch.update_mode`; returns the number of changes."""
    changed = 0
    for i in range(paths.shape[0]):
        if jumps(paths[i]):
            length, _ = length_and_rate(paths[i], points, links)
            changed += update_mode(modes, i, paths[i].rest_length - length)
    return changed
