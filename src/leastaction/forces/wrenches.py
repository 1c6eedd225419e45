"""Constant wrenches at points of bodies, constant either in the world's or in the body's axes."""

from typing import Any

import numpy as np

from leastaction._jit import inline, routine
from leastaction.forces.points import Frames, virtual_velocity, zeroed
from leastaction.kinematics.sweeps import add_to
from leastaction.mechanism import Mechanism
from leastaction.spatial import ZERO3, add3, cross, load3, load6, load9, mattvec, matvec

WRENCH = np.dtype([("node", "i8"), ("local", "i8"), ("point", "f8", 3), ("wrench", "f8", 6)], align=True)
"""A constant wrench at a point of a node; local: in the node's axes, else in the world's."""


def compiled(mechanism: Mechanism, frames: Frames) -> Any:
    """Build the `WRENCH` records."""
    out = zeroed(len(mechanism.wrenches), WRENCH)
    for record, w in zip(out, mechanism.wrenches, strict=True):
        node, X = frames[w.body]
        record.node, record.local, record.point = node, w.frame == "body", X.apply(w.point)
        turn = X.rotation if w.frame == "body" else np.eye(3)
        record.wrench = np.concatenate([turn @ w.wrench[:3], turn @ w.wrench[3:]])
    return out


@inline
def _state(w, links):
    """(rotation of the node, position of the point, torque, force), in the world."""
    R = load9(links[w.node].R)
    x = add3(load3(links[w.node].p), matvec(R, load3(w.point)))
    F = load6(w.wrench)
    if w.local != 0:
        F = (matvec(R, F[0]), matvec(R, F[1]))
    return R, x, F


@routine
def wrenches(records, links, external):
    """Add the world wrenches to `external`, shape (nodes, 6)."""
    for i in range(records.shape[0]):
        w = records[i]
        if w.node >= 0:
            _, x, F = _state(w, links)
            add_to(external[w.node], (add3(F[0], cross(x, F[1])), F[1]))


@routine
def slopes(records, links, T, out):
    """Add the directional derivatives of the wrenches (JVP; Sueda 2021, Eq. 1.32)."""
    for i in range(records.shape[0]):
        w = records[i]
        if w.node < 0:
            continue
        t = load6(T[w.node])
        _, x, F = _state(w, links)
        dx = add3(t[1], cross(t[0], x))
        dtorque, dforce = ZERO3, ZERO3
        if w.local != 0:
            dtorque, dforce = cross(t[0], F[0]), cross(t[0], F[1])
        moment = add3(cross(dx, F[1]), cross(x, dforce))
        add_to(out[w.node], (add3(dtorque, moment), dforce))


@routine
def cotangents(records, links, cot, GT, out):
    """Reverse mode (VJP); out (wrenches, 6): by the entries of the wrenches."""
    for i in range(records.shape[0]):
        w = records[i]
        if w.node < 0:
            continue
        R, x, F = _state(w, links)
        turn, speed = virtual_velocity(w.node, cot, x)
        a, b = turn, speed
        if w.local != 0:
            a, b = mattvec(R, turn), mattvec(R, speed)
            add_to(GT[w.node], (add3(cross(F[0], turn), cross(F[1], speed)), ZERO3))
        g = cross(F[1], turn)
        add_to(GT[w.node], (cross(x, g), g))
        for c in range(3):
            out[i, c] += a[c]
            out[i, 3 + c] += b[c]
