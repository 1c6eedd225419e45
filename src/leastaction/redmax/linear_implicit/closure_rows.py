"""Equations of loops at the velocity level, the same whichever side of a joint is called its parent.

A row of `mechanism.closure` measures an open joint in the frame of its parent. While loops are closed that is the same
as in the frame of the child; but Baumgarte's stabilisation lives with loops that are a little open. So here each row is
the mean of both: of n . (x_b - x_a) with n fixed in a and with its twin fixed in b, of the axis of b in the frame of a
and the axis of a in that of b. Each half is the rate of its value exactly, and its wrenches on the two bodies cancel.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from leastaction._jit import inline, routine
from leastaction.kinematics.closure_kernels import evaluate, frame, turning, wrap
from leastaction.kinematics.loop_equations import add_row, equations
from leastaction.mechanism import Mechanism
from leastaction.mechanism.closure import DOT, SCREW, SHIFT
from leastaction.mechanism.joints import Joint, Motion
from leastaction.spatial import ZERO3, add3, axpy3, cross, dot3, load3, matvec, scale3, sub3

ALONE, SAME, TURNED, HINGE, LOCKED, THREAD = np.arange(6)
"""What the other half of a row is: none, n itself, n turned with the direction that both sides share, ..."""

TWIN = np.dtype([("kind", "i8"), ("n", "f8", 3), ("w", "f8", 3)], align=True)
"""The other half of a row: its kind, a vector fixed in a and one fixed in b."""


def twins_of(mechanism: Mechanism) -> Any:
    """`TWIN` records of the equations of a mechanism, in the order of its closure."""
    closure = mechanism.tree.closure
    twins: Any = np.zeros(closure.count, TWIN).view(np.recarray)
    row = 0
    for joint in mechanism.loops:
        while row < closure.count and closure.names[row] == joint.name:
            _fill(twins[row], closure.rows[row], joint, closure.frames)
            row += 1
    return twins


def _fill(twin: Any, row: Any, joint: Joint, frames: Any) -> None:
    Xa, Xb = frames[joint.parent][1] * joint.pose, frames[joint.child][1] * joint.child_pose.inverse()
    Ra, Rb = Xa.rotation, Xb.rotation
    slides = [np.array(p.axis) for p in joint.primitives if p.motion in (Motion.PRISMATIC, Motion.SCREW)]
    turns = [np.array(p.axis) for p in joint.primitives if p.motion in (Motion.REVOLUTE, Motion.SCREW)]
    ball = any(p.motion == Motion.SPHERICAL for p in joint.primitives)
    if row.kind == SHIFT and not slides:
        twin.kind = SAME
    elif row.kind == SHIFT:
        shared = slides[0] if len(slides) == 1 else np.cross(slides[0], slides[1])
        shared = shared / np.linalg.norm(shared)
        # A turn about another axis takes the child's frame out of the direction of the sliders.
        if not ball and all(np.linalg.norm(np.cross(axis, shared)) < 1e-12 for axis in turns):
            twin.kind, twin.n, twin.w = TURNED, Ra @ shared, Rb @ shared
    elif row.kind == DOT and len(turns) == 1:
        twin.kind, twin.n = HINGE, Ra @ turns[0]
    elif row.kind == DOT and not turns:
        twin.kind, twin.n, twin.w = LOCKED, Ra @ (Rb.T @ row.w), Rb @ (Ra.T @ row.n)
    elif row.kind == SCREW:
        twin.kind, twin.w = THREAD, Rb @ (Ra.T @ row.n)


@inline
def _turned(a, b, x):
    """x (3) after the smallest turn that takes the unit vector a to b."""
    axis = cross(a, b)
    turn = cross(axis, x)
    return add3(x, axpy3(1.0 / (1.0 + dot3(a, b)), cross(axis, turn), turn))


@routine
def balanced(row, twin, links):
    """(value, wrench on b) of a row between two nodes; links hold their poses. Not for couplings."""
    if twin.kind == ALONE:
        return evaluate(row, links)
    Ra, pa = frame(links, row.a)
    Rb, pb = frame(links, row.b)
    n, na, nb = matvec(Ra, load3(row.n)), matvec(Ra, load3(twin.n)), matvec(Rb, load3(twin.w))
    if twin.kind == HINGE or twin.kind == LOCKED:
        w = matvec(Rb, load3(row.w))
        other = _turned(na, w, n) if twin.kind == HINGE else nb  # across the axis w of b, as n is across na of a
        moment = add3(cross(w, n), cross(na, other))
        return 0.5 * (dot3(n, w) - dot3(other, na)), (scale3(0.5, moment), ZERO3)
    other = n
    if twin.kind == TURNED:
        other = _turned(na, nb, n)
    elif twin.kind == THREAD:
        other = nb
    xa, xb = add3(pa, matvec(Ra, load3(row.pa))), add3(pb, matvec(Rb, load3(row.pb)))
    d = sub3(xb, xa)
    force, moment = scale3(0.5, add3(n, other)), scale3(0.5, add3(cross(xb, n), cross(xa, other)))
    if twin.kind != THREAD or row.pitch == 0.0:
        return dot3(force, d) - row.value, (moment, force)
    first, second = matvec(Ra, load3(row.n2)), matvec(Rb, load3(row.w2))
    sine, cosine = cross(first, second), dot3(first, second)
    value = wrap(dot3(n, d) / row.pitch - math.atan2(dot3(n, sine), cosine))
    value += wrap(dot3(other, d) / row.pitch - math.atan2(dot3(other, sine), cosine))
    turn = add3(turning(n, second), turning(other, first))
    return 0.5 * row.pitch * value, (axpy3(-0.5 * row.pitch, turn, moment), force)


@routine
def balanced_equations(model, data, q):
    """Values data.h (count,) of all equations and their Jacobian data.G (count, nv), with positions in place."""
    nodes, links, screws, G = model.forces.nodes, data.links, data.screws, data.G
    equations(nodes, model.rows, model.coefficients, model.count, links, screws, q, data.h, G)
    for c in range(model.count):
        row = model.rows[c]
        if model.twins[c].kind != ALONE:
            for k in range(G.shape[1]):
                G[c, k] = 0.0
            data.h[c], W = balanced(row, model.twins[c], links)
            add_row(nodes, screws, row.b, W, 1.0, G, c)
            add_row(nodes, screws, row.a, W, -1.0, G, c)
