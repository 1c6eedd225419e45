"""Friction against spinning and rolling in a solved part of a step: its equations, and what its torques do.

A contact that pushes and resists turning has three equations beside those of `laws`, about its normal and its tangents:

    w = 0  or  lam = +-spin lam_n  about the normal,    w = 0  or  lam = -roll lam_n w / |w|  about tangents,

with the turn w of its bodies against each other. What rolls is told along the torque and across it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction.minimal.contact.derivatives.contact_geometry import Touching
from leastaction.minimal.contact.derivatives.smooth_equations import Placed, Smooth, bodies_by_joints, turned_axes
from leastaction.minimal.contact.derivatives.solved_substep import Solved

FloatArray = NDArray[np.float64]


class Turning(NamedTuple):
    """The t contacts that resist turning.

    Attributes:
        which: of all contacts, shape (t,).
        columns: what unit torques about normals and tangents do along the joints, shape (t, 3, nv).
        motion: how far bodies turn against each other about these, shape (t, 3).
        values: of the equations, shape (t, 3).
    """

    which: NDArray[np.int64]
    columns: FloatArray
    motion: FloatArray
    values: FloatArray


def frames_of(touch: Touching, which: Any) -> FloatArray:
    """Normals and tangents of some contacts, shape (t, 3, 3)."""
    return np.stack([touch.n, touch.t, touch.s], axis=1)[which]


def along_torques(solved: Solved, which: Any) -> tuple[FloatArray, FloatArray]:
    """Directions of the torques against rolling, and across them, in the tangents, each shape (t, 2)."""
    lam = solved.torques[which, 1:]
    size = np.linalg.norm(lam, axis=1, keepdims=True)
    along = np.where(size > 0.0, lam / np.where(size > 0.0, size, 1.0), (1.0, 0.0))
    return along, np.stack([-along[:, 1], along[:, 0]], axis=1)


def turning(solved: Solved, placed: Placed, touch: Touching, sides: FloatArray, cones: Any) -> Turning:
    """The equations, and columns; arguments as of `contact_laws.laws`, with `contact_laws.sides_of`."""
    which = np.flatnonzero(solved.turning)
    frames = frames_of(touch, which)
    columns = np.einsum("tic,nc->tin", frames, placed.S[0][:, :3]) * sides[which][:, None]
    turns = np.concatenate([placed.y, np.zeros((1, 3))])  # the world's is the last
    motion = np.einsum("tic,tc->ti", frames, turns[touch.node[which]] - turns[touch.other[which]])
    lam, push, values = solved.torques[which], solved.lam[which, 0], motion.copy()
    spins, rolls = solved.spins[which], solved.rolls[which]
    along, beside = along_torques(solved, which)
    values[spins, 0] = (lam[:, 0] - np.copysign(cones.spin[which] * push, lam[:, 0]))[spins]
    values[rolls, 2] = (beside * motion[:, 1:]).sum(axis=1)[rolls]
    values[rolls, 1] = ((along * lam[:, 1:]).sum(axis=1) - cones.roll[which] * push)[rolls]
    free, loose = cones.spin[which] == 0.0, cones.roll[which] == 0.0
    values[free, 0], values[loose, 1:] = lam[free, 0], lam[loose, 1:]
    return Turning(which, columns, motion, values)


def turn_slopes(placed: Placed, i: int) -> tuple[FloatArray, FloatArray]:
    """Derivatives of the turn of a body by turns at the start and at the end of the step, each shape (3, 3)."""
    y, e = placed.y[i], placed.e[i]
    hat = np.array([[0.0, -y[2], y[1]], [y[2], 0.0, -y[0]], [-y[1], y[0], 0.0]])
    square = e * hat @ hat
    return -(np.eye(3) + 0.5 * hat + square), np.eye(3) - 0.5 * hat + square


def motion_slopes(
    smooth: Smooth, placed: Placed, touch: Touching, found: Turning, turned: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Derivatives of `motion` by the joints at the start and at the end, each shape (t, 3, nv).

    Args:
        turned: how normals and tangents of all contacts change, see `contact_laws.frame_changes`.
    """
    frames = frames_of(touch, found.which)
    J = bodies_by_joints(smooth, placed, 0), bodies_by_joints(smooth, placed, 1)
    out = np.zeros(found.columns.shape), np.zeros(found.columns.shape)
    for t, k in enumerate(found.which):
        for i, sign in ((int(touch.node[k]), 1.0), (int(touch.other[k]), -1.0)):
            if i >= 0:
                for end, slope in enumerate(turn_slopes(placed, i)):
                    out[end][t] += sign * frames[t] @ slope @ J[end][i, :3]
                out[0][t] += sign * np.einsum("icn,c->in", turned[k], placed.y[i])
    return out


def fill_slopes(
    out: Any, first: int, solved: Solved, found: Turning, motions: tuple[FloatArray, FloatArray], cones: Any
) -> None:
    """Fill in the rows of a `LawSlopes` from row `first` on; `motions`: see `motion_slopes`."""
    start, end = motions
    along, beside = along_torques(solved, found.which)
    for t, k in enumerate(found.which):
        at, lam, push = first + 3 * t, solved.torques[k], solved.lam[k, 0]
        spin, roll = float(cones.spin[k]), float(cones.roll[k])
        if spin == 0.0 or solved.spins[k]:
            out.by_impulses[at, at] = 1.0
            out.by_impulses[at, 3 * k] = -np.copysign(spin, lam[0])
        else:
            out.by_end[at], out.by_start[at] = end[t, 0], start[t, 0]
        both = slice(at + 1, at + 3)
        if roll == 0.0:
            out.by_impulses[both, both] = np.eye(2)
        elif not solved.rolls[k]:
            out.by_end[both], out.by_start[both] = end[t, 1:], start[t, 1:]
        else:
            out.by_impulses[at + 1, 3 * k] = -roll
            out.by_impulses[at + 1, both] = along[t]
            out.by_end[at + 2], out.by_start[at + 2] = beside[t] @ end[t, 1:], beside[t] @ start[t, 1:]
            out.by_impulses[at + 2, both] = np.linalg.norm(found.motion[t, 1:]) / (roll * push) * beside[t]


def torque_slopes(
    smooth: Smooth, placed: Placed, touch: Touching, sides: FloatArray, turned: FloatArray, lam: FloatArray
) -> FloatArray:
    """How what torques lam (m, 3) about normals and tangents do changes with the joints at the start, (nv, nv)."""
    frames = np.stack([touch.n, touch.t, touch.s], axis=1)
    torque, change = np.einsum("mi,mic->mc", lam, frames), np.einsum("mi,micn->mcn", lam, turned)
    out = np.einsum("mk,bkc,mc->kb", sides, turned_axes(smooth, placed)[:, :, :3], torque)
    return out + np.einsum("mk,kc,mcb->kb", sides, placed.S[0][:, :3], change)


def turn_rates(
    smooth: Smooth, placed: Placed, touch: Touching, sides: FloatArray, turned: FloatArray, v: FloatArray
) -> FloatArray:
    """How rates about normals and tangents change with the joints at the start at fixed v, shape (m, 3, nv)."""
    frames, moved = np.stack([touch.n, touch.t, touch.s], axis=1), sides * v
    out = np.einsum("mk,bkc,mic->mib", moved, turned_axes(smooth, placed)[:, :, :3], frames)
    return out + np.einsum("mc,micb->mib", moved @ placed.S[0][:, :3], turned)
