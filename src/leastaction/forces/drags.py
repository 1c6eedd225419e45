"""Linear and quadratic drag of air or water on points of bodies."""

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
from leastaction.mechanism import Mechanism
from leastaction.mechanism.elements import Drag
from leastaction.spatial import ZERO3, axpy3, cross, dot3, load3, scale3

DRAG = np.dtype([("node", "i8"), ("at", "f8", 3), ("linear", "f8"), ("quadratic", "f8")], align=True)
"""A point of a node, and its drag coefficients."""


def compiled(mechanism: Mechanism, frames: Frames) -> Any:
    """Build the `DRAG` records."""
    drags = [force for force in mechanism.forces if isinstance(force, Drag)]
    out = zeroed(len(drags), DRAG)
    for record, drag in zip(out, drags, strict=True):
        node, X = frames[drag.body]
        record.node, record.at = node, X.apply(drag.point)
        record.linear, record.quadratic = drag.linear, drag.quadratic
    return out


@inline
def _resistance(drag, v):
    """(speed, k) with the force -k v."""
    speed = math.sqrt(dot3(v, v))
    return speed, drag.linear + drag.quadratic * speed


@inline
def _slope(drag, speed, k, v, d):
    """D d with the symmetric D = df/dv = -k - quadratic v v^T / |v|."""
    df = scale3(-k, d)
    return axpy3(-drag.quadratic * dot3(v, d) / speed, v, df) if speed > 0.0 else df


@inline
def relative_motion_frame(drag, links, axis):
    """One of three unit vectors: along the velocity of the point, and two orthogonal to it."""
    _, v = point_state(drag.node, load3(drag.at), links)
    speed = math.sqrt(dot3(v, v))
    n = scale3(1.0 / speed, v) if speed > 0.0 else (0.0, 0.0, 1.0)
    s = (-n[1], n[0], 0.0) if abs(n[2]) < 0.9 else (0.0, -n[2], n[1])
    s = scale3(1.0 / math.sqrt(dot3(s, s)), s)
    return n if axis == 0 else (s if axis == 1 else cross(n, s))


@inline
def slope_along(drag, links, axis):
    """Damping along such a unit vector, -df/dv [N s/m]."""
    _, v = point_state(drag.node, load3(drag.at), links)
    speed, k = _resistance(drag, v)
    return k + drag.quadratic * speed if axis == 0 else k


@routine
def push_along(drag, links, f, external):
    """Add the wrench of a force f at the point to `external`."""
    x, _ = point_state(drag.node, load3(drag.at), links)
    pull(external, drag.node, x, f)


@inline
def power(drag, links):
    """Power of the force [W]."""
    _, v = point_state(drag.node, load3(drag.at), links)
    return -_resistance(drag, v)[1] * dot3(v, v)


@routine
def wrenches(drags, links, external):
    """Add the world wrenches to `external`, shape (nodes, 6)."""
    for i in range(drags.shape[0]):
        drag = drags[i]
        x, v = point_state(drag.node, load3(drag.at), links)
        pull(external, drag.node, x, scale3(-_resistance(drag, v)[1], v))


@routine
def slopes(drags, links, T, dV, out):
    """Add the directional derivatives of the wrenches (JVP)."""
    for i in range(drags.shape[0]):
        drag = drags[i]
        x, v = point_state(drag.node, load3(drag.at), links)
        speed, k = _resistance(drag, v)
        dx, dv = point_slope(drag.node, x, links, T, dV)
        pull_slope(out, drag.node, x, dx, scale3(-k, v), _slope(drag, speed, k, v, dv))


@routine
def cotangents(drags, links, cot, GT, GV, out):
    """Reverse mode (VJP); out (drags, 5): by the linear and quadratic coefficients and the point's position."""
    for i in range(drags.shape[0]):
        drag = drags[i]
        x, v = point_state(drag.node, load3(drag.at), links)
        speed, k = _resistance(drag, v)
        W, w = virtual_velocity(drag.node, cot, x)
        out[i, 0] -= dot3(v, w)
        out[i, 1] -= speed * dot3(v, w)
        gx = cross(scale3(-k, v), W) if drag.node >= 0 else ZERO3
        add_point_gradients(drag.node, x, gx, _slope(drag, speed, k, v, w), links, GT, GV, out[i, 2:])
