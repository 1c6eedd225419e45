"""Penalty contacts of points with planes: a spring, a damper and friction (Sueda 2021, 1.9.6).

The plane pushes outwards and friction opposes sliding; the signs of Eqs. 1.49 and 1.59 differ.
"""

import math
from typing import Any

import numpy as np

from leastaction._jit import inline, routine
from leastaction.forces.points import (
    Frames,
    add_point_gradients,
    point_slope,
    point_state,
    pull,
    pull_slope,
    virtual_velocity,
    zeroed,
)
from leastaction.forces.touch import change, touch, update_mode
from leastaction.mechanism import Mechanism
from leastaction.spatial import ZERO3, add3, axpy3, cross, dot3, load3, scale3, sub3

PENALTY = np.dtype(
    [
        ("node", "i8"),
        ("at", "f8", 3),  # point in the node's frame [m]
        ("origin", "f8", 3),  # of the plane, in the world [m]
        ("normal", "f8", 3),
        ("stiffness", "f8"),
        ("damping", "f8"),
        ("friction", "f8"),
        ("stiction", "f8"),
    ],
    align=True,
)
"""A point of a node with penalty contact against a plane."""


def compiled(mechanism: Mechanism, frames: Frames) -> Any:
    """Build the `PENALTY` records, one per point."""
    out = zeroed(sum(len(p.points) for p in mechanism.penalties), PENALTY)
    k = 0
    for contact in mechanism.penalties:
        node, X = frames[contact.body]
        for point in contact.points:
            out[k].node, out[k].at = node, X.apply(point)
            for name in ("origin", "normal", "stiffness", "damping", "friction", "stiction"):
                out[k][name] = getattr(contact, name)
            k += 1
    return out


@inline
def force_at(contact, mode, x, v):
    """(whether it acts, force, gap (negative in penetration), sliding velocity, whether it sticks) at a point x with
    velocity v."""
    n = load3(contact.normal)
    d = dot3(n, sub3(x, load3(contact.origin)))
    acts, share, _ = touch(mode, d)
    if not acts:
        return False, ZERO3, d, ZERO3, False
    rate = dot3(n, v)
    f = scale3(-contact.stiffness * d - share * contact.damping * rate, n)
    a = sub3(v, scale3(rate, n))
    size = math.sqrt(dot3(a, a))
    most = -contact.friction * contact.stiffness * min(d, 0.0)
    sticks = most > contact.stiction * size
    if sticks:
        f = sub3(f, scale3(contact.stiction, a))
    elif size > 0.0:
        f = sub3(f, scale3(most / size, a))
    return True, f, d, a, sticks


@inline
def _normal_slopes(contact, mode, d, rate):
    """Negated derivatives of the normal force by gap and rate: stiffness and damping."""
    _, share, slope = touch(mode, d)
    return contact.stiffness + contact.damping * rate * slope, share * contact.damping


@routine
def wrenches(penalties, modes, links, external):
    """Add the world wrenches to `external`, shape (nodes, 6)."""
    for i in range(penalties.shape[0]):
        contact = penalties[i]
        x, v = point_state(contact.node, load3(contact.at), links)
        acts, f, _, _, _ = force_at(contact, modes[i], x, v)
        if acts:
            pull(external, contact.node, x, f)


@routine
def energy(penalties, links):
    """Elastic energy [J]."""
    total = 0.0
    for i in range(penalties.shape[0]):
        contact = penalties[i]
        x, _ = point_state(contact.node, load3(contact.at), links)
        d = min(0.0, dot3(load3(contact.normal), sub3(x, load3(contact.origin))))
        total += 0.5 * contact.stiffness * d * d
    return total


@inline
def _force_slope(contact, stiffness, damping, d, a, sticks, dx, dv):
    """Change of the force at a point with gap d and sliding velocity a (Eqs. 1.52 to 1.61)."""
    n = load3(contact.normal)
    dd, rate = dot3(n, dx), dot3(n, dv)
    df = scale3(-stiffness * dd - damping * rate, n)
    da = sub3(dv, scale3(rate, n))
    if sticks:
        return sub3(df, scale3(contact.stiction, da))
    size = math.sqrt(dot3(a, a))
    if size == 0.0 or d >= 0.0:
        return df
    t = scale3(1.0 / size, a)
    dt = scale3(1.0 / size, axpy3(-dot3(t, da), t, da))
    most = contact.friction * contact.stiffness
    return add3(df, add3(scale3(most * dd, t), scale3(most * d, dt)))


@routine
def slopes(penalties, modes, links, T, dV, out):
    """Add the directional derivatives of the wrenches (JVP)."""
    for i in range(penalties.shape[0]):
        contact = penalties[i]
        x, v = point_state(contact.node, load3(contact.at), links)
        acts, f, d, a, sticks = force_at(contact, modes[i], x, v)
        if acts and contact.node >= 0:
            dx, dv = point_slope(contact.node, x, links, T, dV)
            stiffness, damping = _normal_slopes(contact, modes[i], d, dot3(load3(contact.normal), v))
            df = _force_slope(contact, stiffness, damping, d, a, sticks, dx, dv)
            pull_slope(out, contact.node, x, dx, f, df)


@routine
def cotangents(penalties, modes, links, cot, GT, GV, out, at):
    """Reverse mode, the transpose of `slopes`.

    out (penalties, 7): by stiffness, damping, friction, stiction and the plane's origin; at (penalties, 3): by the
    position of the point.
    """
    for i in range(penalties.shape[0]):
        contact = penalties[i]
        x, v = point_state(contact.node, load3(contact.at), links)
        acts, f, d, a, sticks = force_at(contact, modes[i], x, v)
        if not acts or contact.node < 0:
            continue
        n = load3(contact.normal)
        W, w = virtual_velocity(contact.node, cot, x)
        along, rate = dot3(n, w), dot3(n, v)
        stiffness, damping = _normal_slopes(contact, modes[i], d, rate)
        gx, gxd = scale3(-stiffness * along, n), scale3(-damping * along, n)
        out[i, 0] -= d * along
        out[i, 1] -= touch(modes[i], d)[1] * rate * along
        sideways = axpy3(-along, n, w)
        size = math.sqrt(dot3(a, a))
        if sticks:
            gxd = axpy3(-contact.stiction, sideways, gxd)
            out[i, 3] -= dot3(a, w)
        elif size > 0.0:
            t = scale3(1.0 / size, a)
            slip, most = dot3(t, w), contact.friction * contact.stiffness
            gx = axpy3(most * slip, n, gx)
            gxd = axpy3(most * d / size, axpy3(-slip, t, sideways), gxd)
            out[i, 0] += contact.friction * d * slip
            out[i, 2] += contact.stiffness * d * slip
        for c in range(3):
            out[i, 4 + c] -= gx[c]
        add_point_gradients(contact.node, x, add3(gx, cross(f, W)), gxd, links, GT, GV, at[i])


@routine
def change_modes(penalties, modes, links, settled, most):
    """Update the modes by the gaps, at most `most` of them; see `touch.change`."""
    changed, touching = 0, 0
    for i in range(penalties.shape[0]):
        contact = penalties[i]
        if contact.damping > 0.0:
            x, xd = point_state(contact.node, load3(contact.at), links)
            n = load3(contact.normal)
            gap, rate = dot3(n, sub3(x, load3(contact.origin))), dot3(n, xd)
            c, t = change(modes, i, gap, rate, settled, changed < most)
            changed, touching = changed + c, touching + t
    return changed, touching


@routine
def update_modes(penalties, modes, links):
    """Open or close contacts by their gaps, see `touch.update_mode`; returns the number of changes."""
    changed = 0
    for i in range(penalties.shape[0]):
        contact = penalties[i]
        if contact.damping > 0.0:
            x, _ = point_state(contact.node, load3(contact.at), links)
            changed += update_mode(modes, i, dot3(load3(contact.normal), sub3(x, load3(contact.origin))))
    return changed
