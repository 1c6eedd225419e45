"""The laws of what touches in a solved part of a step, as equations of its ends and impulses.

A contact that pushes has three: its gap is what it must be, and it sticks or slides,

    gap + depth(lam_n) = least,   w + c lam_t = 0   or   lam_t = -mu lam_n w / |w|,

with its depth and compliance c (see `contact.compliance`) and the motion w along its tangents; what slides has one
equation along the impulse and one across it. A limit that pushes has one, dry friction another. Which of them act is
fixed by the solution.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction.dynamics.loops import loop_jacobian
from leastaction.minimal.contact.compliance import (
    COMPLIANCE,
    DEEPEST,
    TANGENTIAL,
    overlap_kept,
    slight_overlap,
)
from leastaction.minimal.contact.derivatives.contact_geometry import Changes, Touching
from leastaction.minimal.contact.derivatives.smooth_equations import (
    Placed,
    Smooth,
    bodies_by_joints,
    turned_axes,
    wrenches,
)
from leastaction.minimal.contact.derivatives.solved_substep import Solved
from leastaction.minimal.contact.derivatives.torsional_rolling_laws import (
    Turning,
    fill_slopes,
    motion_slopes,
    torque_slopes,
    turn_slopes,
    turning,
)
from leastaction.minimal.contact.robot_records import DRY

FloatArray = NDArray[np.float64]

REST, OVERLAP = range(2)
"""What says how large a gap must be: nothing that changes, or the overlap at the start."""


class Laws(NamedTuple):
    """The equations of m contacts and the stops, and what impulses do, at the ends of a step as they are.

    Attributes:
        columns: what unit impulses along normals and tangents do along the joints, shape (m, 3, nv).
        kick: what all impulses do, shape (nv,).
        motion: how far contact points move along the tangents [m], shape (m, 2).
        values: of the equations, three for each contact and for each that resists turning, one for each stop and those
            of loops, shape (3 m + 3 t + stops + equations,).
        loops: gradients of the equations of loops at the start, shape (equations, nv).
        turning: contacts that resist spinning and rolling.
    """

    columns: FloatArray
    kick: FloatArray
    motion: FloatArray
    values: FloatArray
    loops: FloatArray
    turning: Turning


def fall_of(gravity: Any, h: float) -> float:
    """See `contacts.fall_of`."""
    return h * h * float(np.abs(gravity).sum())


def falls_of(gravity: Any, solved: Solved) -> tuple[float, float]:
    """`fall_of` of a part of a step, and the overlap that is slight."""
    return fall_of(gravity, solved.h), slight_overlap(fall_of(gravity, solved.whole), solved.whole)


def sides_of(smooth: Smooth, touch: Touching) -> FloatArray:
    """1 for joints that carry the body which normals point to, -1 for those of the other, shape (m, nv)."""
    carried = np.concatenate([smooth.carried, np.zeros((1, smooth.carried.shape[1]), bool)]).astype(float)
    return carried[touch.node] - carried[touch.other]


def compliances(solved: Solved, cones: Any) -> FloatArray:
    """Of the contacts, with these records: see `compliance.compliance_of`."""
    heavy = cones.mass > 0.0
    return np.where(heavy, COMPLIANCE * solved.whole**2 / (np.where(heavy, cones.mass, 1.0) * solved.h), 0.0)


def depths(solved: Solved, soft: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Of the contacts with these compliances: see `compliance.depth_of`; and how slips change with normal impulses."""
    push, deepest = solved.lam[:, 0], DEEPEST * solved.whole**2
    share = deepest / (deepest + soft * push)
    slip = TANGENTIAL * share * soft
    return share * soft * push, share**2 * soft, slip, -slip * share * soft / deepest


def kinds_of_gaps(solved: Solved, touch: Touching, falls: tuple[float, float]) -> NDArray[np.int64]:
    """What says how large the gap of each contact must be."""
    kinds = np.full(len(solved.least), REST)
    for k, (phi, least) in enumerate(zip(touch.phi, solved.least, strict=True)):
        left = overlap_kept(float(phi), *falls) if phi < 0.0 else 0.0
        if left < 0.0 and abs(least - left) <= 1e-6 * abs(left):
            kinds[k] = OVERLAP
    return kinds


def moved_points(placed: Placed, touch: Touching, h: float) -> FloatArray:
    """How far the surface of each contact moves there within the step, less how far the other does, shape (m, 3)."""
    out = h * (touch.belts[:, 0] - touch.belts[:, 1])
    for side, (body, sign) in enumerate(((touch.node, 1.0), (touch.other, -1.0))):
        k = np.flatnonzero(body >= 0)
        i, c = body[k], touch.fixed[k, side]
        last = placed.x[1, i] + carried(placed, i, c - placed.x[0, i])
        out[k] += sign * (last - c + np.cross(placed.y[i], touch.x[k] - c))
    return out


def carried(placed: Placed, i: Any, arms: FloatArray) -> FloatArray:
    """Arms (n, 3) of bodies i at the start as they are at the end, turned with them."""
    turns = placed.R[1, i] @ np.swapaxes(placed.R[0, i], 1, 2)
    return (turns @ arms[:, :, None])[:, :, 0]


def least_gaps(solved: Solved, touch: Touching, kinds: Any, falls: tuple[float, float]) -> FloatArray:
    """Gap that each contact must have at the end."""
    out = solved.least.copy()
    for k in np.flatnonzero(kinds == OVERLAP):
        out[k] = overlap_kept(float(touch.phi[k]), *falls)
    return out


def across(solved: Solved) -> tuple[FloatArray, FloatArray]:
    """Directions of the impulses of friction, and across them, in the tangents, each shape (m, 2)."""
    lam = solved.lam[:, 1:]
    size = np.linalg.norm(lam, axis=1, keepdims=True)
    along = np.where(size > 0.0, lam / np.where(size > 0.0, size, 1.0), (1.0, 0.0))
    return along, np.stack([-along[:, 1], along[:, 0]], axis=1)


def idle_stops(solved: Solved) -> NDArray[np.bool_]:
    """Stops whose impulses stay, since another one on the same joint holds it: both would say where it ends.

    What rests on its limit, with dry friction, is held by the limit where it presses with more than friction can bear,
    and by friction else.
    """
    idle = np.zeros(len(solved.stops), bool)
    for j, stop in enumerate(solved.stops):
        if stop.kind != DRY or solved.stops_slip[j]:
            continue
        beside = np.flatnonzero((solved.stops.dof == stop.dof) & (solved.stops.kind != DRY))
        for k in beside:
            held = abs(solved.push[j] + solved.side[k] * solved.push[k]) <= solved.bounds[j]
            idle[k if held else j] = True
    return idle


def laws(
    solved: Solved,
    smooth: Smooth,
    placed: Placed,
    touch: Touching,
    kinds: Any,
    cones: Any,
    stops: Any,
) -> Laws:
    """The equations.

    Args:
        solved: the step.
        smooth, placed: its mechanism, or one with another value of a parameter, and bodies there.
        touch: its contacts there, with gaps as `kinds` says.
        cones, stops: records with its coefficients, in the order of those of `solved`.
    """
    nv, S = len(solved.p), placed.S[0]
    sides = sides_of(smooth, touch)
    frames = np.stack([touch.n, touch.t, touch.s], axis=1)
    columns = wrenches(frames, touch.x[:, None]) @ S.T * sides[:, None]
    kick = np.einsum("mi,min->n", solved.lam, columns) if len(columns) else np.zeros(nv)
    moved = moved_points(placed, touch, solved.h)
    motion = np.einsum("mic,mc->mi", frames[:, 1:], moved)
    falls, (depth, _, slip, _) = falls_of(smooth.model.gravity, solved), depths(solved, compliances(solved, cones))
    values = np.zeros((len(touch.phi), 3))
    values[:, 0] = touch.end - least_gaps(solved, touch, kinds, falls) + depth
    lam, (along, beside) = solved.lam, across(solved)
    values[:, 1:] = motion + (slip + solved.soft)[:, None] * lam[:, 1:]
    slide = solved.slides
    values[slide, 2] = (beside * values[:, 1:]).sum(axis=1)[slide]
    values[slide, 1] = ((along * lam[:, 1:]).sum(axis=1) - cones.friction * lam[:, 0])[slide]
    smooth_ones = cones.friction == 0.0
    values[smooth_ones, 1:] = lam[smooth_ones, 1:]
    turns = turning(solved, placed, touch, sides, cones)
    kick += np.einsum("ti,tin->n", solved.torques[turns.which], turns.columns)
    stopped, idle = np.zeros(len(stops)), idle_stops(solved)
    for k, stop in enumerate(stops):
        kick[stop.dof] += solved.push[k] * (1.0 if stop.kind == DRY else solved.side[k])
        if idle[k]:
            continue
        if stop.kind == DRY:
            bound = 0.5 * solved.h * stop.friction
            stopped[k] = solved.q1[stop.iq] - solved.q0[stop.iq]
            if solved.stops_slip[k]:
                stopped[k] = solved.push[k] - np.copysign(bound, solved.push[k])
            continue
        first, last = (
            q[stop.iq] - stop.lower if solved.side[k] > 0.0 else stop.upper - q[stop.iq] for q in (solved.q0, solved.q1)
        )
        stopped[k] = last - min(0.0, first + 0.5 * falls[0])
    (_, loops), (ends, _) = (loop_jacobian(smooth.mechanism, q) for q in (solved.q0, solved.q1))
    kick += solved.loops @ loops
    found = np.concatenate([values.ravel(), turns.values.ravel(), stopped, ends])
    return Laws(columns, kick, motion, found, loops, turns)


class LawSlopes(NamedTuple):
    """Derivatives of the equations and of `kick`, with n joints, m contacts and all e equations.

    Attributes:
        by_end: by the joints at the end, shape (e, n).
        by_start: by those at the start, shape (e, n).
        by_impulses: shape (e, e): unknown impulses are those of contacts, then of stops, then of loops.
        columns: what unit impulses do along the joints, shape (e, n).
        kick: of what impulses do by the joints at the start, shape (n, n).
    """

    by_end: FloatArray
    by_start: FloatArray
    by_impulses: FloatArray
    columns: FloatArray
    kick: FloatArray


def slopes(
    solved: Solved,
    smooth: Smooth,
    placed: Placed,
    touch: Touching,
    kinds: Any,
    found: Laws,
    change: Changes,
) -> LawSlopes:
    """Derivatives of `laws` at a solved step; `change`: of its contacts, see `contact_geometry.changes`."""
    m, nv = len(touch.phi), len(solved.p)
    e = len(found.values)
    shapes = (e, nv), (e, nv), (e, e), (e, nv), (nv, nv)
    out = LawSlopes._make(np.zeros(shape) for shape in shapes)
    out.columns[: 3 * m] = found.columns.reshape(3 * m, nv)
    turns = found.turning
    last = 3 * m + 3 * len(turns.which)
    if m:
        _contact_slopes(out, solved, smooth, placed, touch, kinds, found, change)
    if len(turns.which):
        turned, sides = frame_changes(touch, change), sides_of(smooth, touch)
        out.columns[3 * m : last] = turns.columns.reshape(-1, nv)
        fill_slopes(out, 3 * m, solved, turns, motion_slopes(smooth, placed, touch, turns, turned), solved.cones)
        out.kick[:] += torque_slopes(smooth, placed, touch, sides, turned, solved.torques)
    if len(solved.loops):
        own = slice(e - len(solved.loops), e)
        out.columns[own], out.by_end[own] = found.loops, loop_jacobian(smooth.mechanism, solved.q1)[1]
        out.kick[:] += np.einsum("k,kab->ab", solved.loops, smooth.bends(solved.q0))
    fall, idle = fall_of(smooth.model.gravity, solved.h), idle_stops(solved)
    for j, stop in enumerate(solved.stops):
        k, dof = last + j, stop.dof
        sign = 1.0 if stop.kind == DRY else solved.side[j]
        out.columns[k, dof] = sign
        if idle[j]:
            out.by_impulses[k, k] = 1.0
            continue
        if stop.kind == DRY:
            if solved.stops_slip[j]:
                out.by_impulses[k, k] = 1.0
            else:
                out.by_end[k, dof], out.by_start[k, dof] = 1.0, -1.0
            continue
        out.by_end[k, dof] = sign
        q = solved.q0[stop.iq]
        first = q - stop.lower if sign > 0.0 else stop.upper - q
        if first + 0.5 * fall < 0.0:
            out.by_start[k, dof] = -sign
    return out


def _contact_slopes(
    out: LawSlopes,
    solved: Solved,
    smooth: Smooth,
    placed: Placed,
    touch: Touching,
    kinds: Any,
    found: Laws,
    change: Changes,
) -> None:
    """Fill in the rows of contacts, and the derivatives of what impulses do by the joints at the start."""
    m, lam = len(touch.phi), solved.lam
    sides, turned = sides_of(smooth, touch), frame_changes(touch, change)
    out.kick[:] += impulse_slopes(smooth, placed, touch, change, lam)
    # Gaps at the end, less what they must be.
    normal_start = change.end.copy()
    by_end = wrenches(touch.n1, touch.x1) @ placed.S[1].T * sides
    falls = falls_of(smooth.model.gravity, solved)
    _, deeper, slip, less = depths(solved, compliances(solved, solved.cones))
    soft = slip + solved.soft
    for k in np.flatnonzero(kinds == OVERLAP):
        phi, d = float(touch.phi[k]), 1e-4 * abs(float(touch.phi[k]))
        slope = (overlap_kept(phi + d, *falls) - overlap_kept(phi - d, *falls)) / (2.0 * d)
        normal_start[k] -= slope * change.phi[k]
    # Motions along the tangents.
    moved = moved_points(placed, touch, solved.h)
    first, last = _motions(smooth, placed, touch, change, solved.h)
    slide_end = np.einsum("mic,mcn->min", np.stack([touch.t, touch.s], axis=1), last)
    slide_start = np.einsum("mic,mcn->min", np.stack([touch.t, touch.s], axis=1), first)
    slide_start += np.einsum("micn,mc->min", turned[:, 1:], moved)
    along, beside = across(solved)
    for k in range(m):
        at = slice(3 * k + 1, 3 * k + 3)
        out.by_end[3 * k], out.by_start[3 * k] = by_end[k], normal_start[k]
        out.by_impulses[3 * k, 3 * k] = deeper[k]
        mu = solved.cones.friction[k]
        if mu == 0.0:
            out.by_impulses[at, at] = np.eye(2)
        elif not solved.slides[k]:
            out.by_end[at], out.by_start[at] = slide_end[k], slide_start[k]
            out.by_impulses[at, at], out.by_impulses[at, 3 * k] = soft[k] * np.eye(2), less[k] * lam[k, 1:]
        else:
            w = found.motion[k] + soft[k] * lam[k, 1:]
            out.by_impulses[3 * k + 1, 3 * k] = -mu
            out.by_impulses[3 * k + 1, at] = along[k]
            out.by_end[3 * k + 2], out.by_start[3 * k + 2] = beside[k] @ slide_end[k], beside[k] @ slide_start[k]
            out.by_impulses[3 * k + 2, at] = (np.linalg.norm(w) / (mu * lam[k, 0]) + soft[k]) * beside[k]


def frame_changes(touch: Touching, change: Changes) -> FloatArray:
    """How normals and tangents of contacts change with the joints at the start, shape (m, 3, 3, nv).

    Tangents follow the normal the shortest way, but for `Changes.twist`.
    """
    dt, ds = (
        -np.einsum("mc,mcn->mn", tangent, change.n)[:, None] * touch.n[:, :, None] for tangent in (touch.t, touch.s)
    )
    dt, ds = (
        dt + change.twist[:, None] * touch.s[:, :, None],
        ds - change.twist[:, None] * touch.t[:, :, None],
    )
    return np.stack([change.n, dt, ds], axis=1)


def impulse_slopes(
    smooth: Smooth, placed: Placed, touch: Touching, change: Changes, lam: FloatArray, turn: bool = True
) -> FloatArray:
    """How what impulses lam (m, 3) of contacts do along the joints changes with the joints at the start, (nv, nv).

    Without `turn` axes of joints stay as they are.
    """
    sides = sides_of(smooth, touch)
    f = np.einsum("mi,mic->mc", lam, np.stack([touch.n, touch.t, touch.s], axis=1))
    df = np.einsum("mi,micn->mcn", lam, frame_changes(touch, change))
    out = np.einsum("mk,kc,mcb->kb", sides, placed.S[0], _wrench_changes(f, df, touch.x, change.x))
    if turn:
        out += np.einsum("mk,bkc,mc->kb", sides, turned_axes(smooth, placed), wrenches(f, touch.x))
    return out


def rate_slopes(
    smooth: Smooth, placed: Placed, touch: Touching, change: Changes, v: FloatArray, turn: bool = True
) -> FloatArray:
    """How velocities along normals and tangents change with the joints at the start at fixed v, shape (m, 3, nv).

    Without `turn` axes of joints stay as they are.
    """
    sides, frames = sides_of(smooth, touch) * v, (touch.n, touch.t, touch.s)
    twist, turned = sides @ placed.S[0], frame_changes(touch, change)
    out = np.zeros((len(touch.phi), 3, len(v)))
    for i, f in enumerate(frames):
        if turn:
            out[:, i] = np.einsum("mk,bkc,mc->mb", sides, turned_axes(smooth, placed), wrenches(f, touch.x))
        out[:, i] += np.einsum("mc,mcb->mb", twist, _wrench_changes(f, turned[:, i], touch.x, change.x))
    return out


def _wrench_changes(f: FloatArray, df: FloatArray, x: FloatArray, dx: FloatArray) -> FloatArray:
    """How wrenches of forces f (m, 3) at x (m, 3) change, shape (m, 6, n), where these change by df, dx (m, 3, n)."""
    torque = np.cross(dx, f[:, :, None], axis=1) + np.cross(x[:, :, None], df, axis=1)
    return np.concatenate([torque, df], axis=1)


def _motions(
    smooth: Smooth, placed: Placed, touch: Touching, change: Changes, h: float
) -> tuple[FloatArray, FloatArray]:
    """Derivatives of `moved_points` by the joints at the start and at the end, each shape (m, 3, nv)."""
    J0, J1 = bodies_by_joints(smooth, placed, 0), bodies_by_joints(smooth, placed, 1)
    first, last = np.zeros_like(change.x), np.zeros_like(change.x)
    for side, (body, sign) in enumerate(((touch.node, 1.0), (touch.other, -1.0))):
        for k in np.flatnonzero(body >= 0):
            i, c, dc = body[k], touch.fixed[k, side], change.fixed[k, side]
            y, o, turn = placed.y[i], touch.x[k] - c, placed.R[1, i] @ placed.R[0, i].T
            r = c - placed.x[0, i]
            by_start, by_end = turn_slopes(placed, i)
            last[k] += sign * (J1[i, 3:] + np.cross(J1[i, :3], (turn @ r)[:, None], axis=0))
            last[k] += sign * np.cross(by_end @ J1[i, :3], o[:, None], axis=0)
            # A point that goes with the body does not move within it: dc = J0 linear + J0 angular x r.
            within = dc - J0[i, 3:] - np.cross(J0[i, :3], r[:, None], axis=0)
            rolled = np.cross(by_start @ J0[i, :3], o[:, None], axis=0) + np.cross(y[:, None], change.x[k] - dc, axis=0)
            belt = np.cross(J0[i, :3], h * touch.belts[k, side][:, None], axis=0)
            first[k] += sign * (turn @ within - dc + rolled + belt)
    return first, last
