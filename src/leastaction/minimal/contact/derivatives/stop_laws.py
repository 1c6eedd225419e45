"""Equations of limits and dry friction in both phases of a solved substep, and their derivatives.

A loaded limit is closed at the end of the substep, dry friction sticks or slips, a prescribed joint follows its motion;
in the momentum phase the joint is at rest at the end (or has its prescribed velocity), or the impulse is zero or that
of slipping friction. The modes are those of the solution.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.contact.solver.cone_kinds import DRY
from leastaction.minimal.contact.derivatives.contact_laws import Places
from leastaction.minimal.contact.derivatives.smooth_equations import Smooth
from leastaction.minimal.contact.derivatives.solved_substep import Solved
from leastaction.minimal.contact.robot_records import GIVEN
from leastaction.typing import FloatArray


def gravity_drop(gravity: Any, h: float) -> float:
    """See `robot_contacts.gravity_drop`."""
    return h * h * float(np.abs(gravity).sum())


def is_prescribed(stop: Any) -> bool:
    """Whether a stop is a prescribed motion, whose equations have constant right-hand sides."""
    return bool(stop.kind == DRY and stop.friction == GIVEN)


def stop_rows(solved: Solved, n: int) -> FloatArray:
    """Generalised impulses of unit impulses of stops, shape (stops, n)."""
    out = np.zeros((len(solved.stops), n))
    out[np.arange(len(out)), solved.stops.dof] = np.where(solved.stops.kind == DRY, 1.0, solved.side)
    return out


def idle_stops(solved: Solved) -> NDArray[np.bool_]:
    """Stops whose impulses are constant, because another stop fixes the same joint; both equations would be redundant.

    Of a limit and dry friction at the same joint, the limit is active where the load exceeds the friction bound, else
    the friction.
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


def stop_values(solved: Solved, smooth: Smooth, stops: Any, v: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Residuals of limits and dry friction in both phases, with these records and the velocities v at the end."""
    s, idle, fall = solved, idle_stops(solved), gravity_drop(smooth.model.gravity, solved.h)
    out, end = np.zeros((2, len(stops)))
    for k, stop in enumerate(stops):
        dry = stop.kind == DRY
        if is_prescribed(stop):
            within, first, faster = s.drive[k]
            out[k], end[k] = -s.h * within, s.h * (v[stop.dof] - first - faster * s.h)
            continue
        bound = s.h * stop.friction if dry else 0.0
        end[k] = s.h * v[stop.dof] * (1.0 if dry else s.side[k])
        if not s.stops_stick[k]:
            end[k] = s.push_end[k] - np.copysign(bound, s.push_end[k])
        if idle[k]:
            continue
        if dry:
            out[k] = s.q1[stop.iq] - s.q0[stop.iq]
            if s.stops_slip[k]:
                out[k] = s.push[k] - np.copysign(0.5 * bound, s.push[k])
            continue
        first, last = (gap_of(stop, s.side[k], q) for q in (s.q0, s.q1))
        out[k] = last
        if s.stop_least[k] < 0.0:  # part of an initial overlap remains
            out[k] -= first + 0.5 * fall
    return out, end


def gap_of(stop: Any, side: float, q: FloatArray) -> float:
    """Distance of a joint from its lower limit (side 1) or its upper one (-1) [rad or m]."""
    return float(q[stop.iq] - stop.lower if side > 0.0 else stop.upper - q[stop.iq])


def driven_rows(solved: Solved, n: int) -> FloatArray:
    """Generalised impulses of unit impulses of the drives of prescribed motions, shape (drives, n)."""
    return (
        stop_rows(solved, n)[[is_prescribed(stop) for stop in solved.stops]] if len(solved.stops) else np.zeros((0, n))
    )


def rate_slopes(solved: Solved) -> FloatArray:
    """Derivatives of the equations of stops in the momentum phase by the start time of a substep, shape (stops,)."""
    return -solved.h * solved.drive[:, 2]


def stop_slopes(solved: Solved, F: FloatArray, places: Places, positions: bool = True) -> None:
    """Fill the rows of `stop_values` in the matrix of a substep; `positions`: with those of the position phase."""
    own = 3 * (len(solved.lam) + int(solved.turning.sum()))
    s, idle = solved, idle_stops(solved)
    for j, stop in enumerate(s.stops):
        row, end, dof, dry = places.n + own + j, places.impulses + own + j, stop.dof, stop.kind == DRY
        sign = 1.0 if dry else s.side[j]
        if s.stops_stick[j]:
            F[end, places.velocities + dof] = s.h * sign
        else:
            F[end, end] = 1.0
        if not positions:
            continue
        if idle[j] or (dry and s.stops_slip[j]):
            F[row, row] = 1.0
            continue
        F[row, dof] = sign
        if dry or s.stop_least[j] < 0.0:
            F[row, places.start + dof] = -sign
