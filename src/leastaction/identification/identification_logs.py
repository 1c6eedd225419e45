"""Logs of a robot: what was measured, checked, and cut into segments."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.signal import savgol_filter

from leastaction.errors import IdentificationError
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import shown
from leastaction.mechanism.arguments import FloatArray
from leastaction.trajectory.trajectory import Trajectory

FEWEST = 4
"""Steps of the shortest log of which anything can be said."""

SAME = 1e-9
"""Difference between controls within a step, relative to the largest, that is round-off."""

WINDOW, DEGREE = 9, 3
"""States and degree of the local polynomials of Savitzky and Golay, which separate motion from noise."""


@dataclass(frozen=True, eq=False)
class Log:
    """One log with controls held over its steps.

    Attributes:
        number: which of the logs it is, from 0.
        t: times [s], shape (steps + 1,).
        q, v: measured positions and velocities, shape (steps + 1, nq) and (steps + 1, nv).
        u: controls as they were given, shape (steps, nu).
        dt: time between states [s].
    """

    number: int
    t: FloatArray
    q: FloatArray
    v: FloatArray
    u: FloatArray
    dt: float

    @property
    def steps(self) -> int:
        """Number of steps."""
        return len(self.u)


@dataclass(frozen=True)
class Segment:
    """States `first` to `last` of a log; the motion between them is simulated from an estimate of the first.

    Attributes:
        log, first, last: see above.
        joined: whether another segment begins with the last state.
    """

    log: Log
    first: int
    last: int
    joined: bool = False

    @property
    def rows(self) -> slice:
        """Its states in the log."""
        return slice(self.first, self.last + 1)


def checked_logs(robot: Mechanism, logs: Any) -> list[Log]:
    """The logs, or what is wrong with them.

    Args:
        robot: whose logs they are.
        logs: a `Trajectory`, or several.
    """
    several = [logs] if isinstance(logs, Trajectory) else logs
    if isinstance(several, str | dict) or not isinstance(several, Iterable):
        raise IdentificationError(f"logs: expected a Trajectory or several, got {shown(logs)}")
    several = list(several)
    if not several:
        raise IdentificationError("logs: expected one or more, got none")
    return [_checked(robot, log, k) for k, log in enumerate(several)]


def _checked(robot: Mechanism, log: Any, k: int) -> Log:
    what = f"log {k}"
    if not isinstance(log, Trajectory):
        raise IdentificationError(
            f"{what}: expected a Trajectory, see Trajectory.from_states(robot, q, v, dt=dt, u=u); got {shown(log)}"
        )
    if log.mechanism.coordinate_names != robot.coordinate_names:
        mine, other = ", ".join(robot.coordinate_names), ", ".join(log.mechanism.coordinate_names)
        raise IdentificationError(f"{what} is of another robot: its coordinates are {other:.200}, expected {mine:.200}")
    if not log.uniform:
        raise IdentificationError(f"{what}: its states are not equally far apart in time; see Trajectory.resample")
    if log.steps < FEWEST:
        raise IdentificationError(f"{what}: expected {FEWEST} steps or more, got {log.steps}")
    q, v = np.ascontiguousarray(log.q), np.ascontiguousarray(log.v)
    for name, values in (("positions", q), ("velocities", v)):
        if not np.isfinite(values).all():
            raise IdentificationError(f"{what}: its {name} are not all finite")
    if not np.ptp(q, axis=0).any():
        raise IdentificationError(f"{what}: the robot does not move in it, so it says nothing of parameters")
    return Log(k, log.t, robot.normalize(q), v, _controls(robot, log, what), log.dt)


def _controls(robot: Mechanism, log: Trajectory, what: str) -> FloatArray:
    """Held over each step, shape (steps, nu)."""
    given = log.stored.get("commands", log.stored.get("u"))
    if given is None:
        if robot.actuators:
            count = len(robot.actuators)
            raise IdentificationError(
                f"{what} has no controls, and {robot.name!r} has {count} actuator{'s'[: count != 1]}: give u, which is "
                "zero where they were off"
            )
        return np.zeros((log.steps, robot.nu))
    if given.ndim != 3 or given.shape[0] != log.steps or given.shape[2] != robot.nu:
        raise IdentificationError(f"{what}: expected controls of shape ({log.steps}, {robot.nu}), got {given.shape}")
    if not np.isfinite(given).all():
        raise IdentificationError(f"{what}: its controls are not all finite")
    held = given.mean(axis=1)
    if np.abs(given - held[:, None]).max(initial=0.0) > SAME * max(1.0, float(np.abs(given).max(initial=0.0))):
        raise IdentificationError(f"{what}: its controls change within steps; log those that are held over each step")
    return held


def segments_of(logs: list[Log], steps: int | None, skipped: list[int]) -> list[Segment]:
    """Pieces of about so many steps, one after the other; None: each log in one piece.

    Args:
        logs: all of them.
        steps: of a segment.
        skipped: states at the start of each log that are in no segment.
    """
    out = []
    for log, first in zip(logs, skipped, strict=True):
        if log.steps - first < FEWEST:
            raise IdentificationError(f"log {log.number}: {log.steps} steps are too few for delays of {first} steps")
        count = 1 if steps is None else max(1, round((log.steps - first) / steps))
        ends = np.linspace(first, log.steps, count + 1).round().astype(int)
        out += [Segment(log, int(a), int(b), int(b) < log.steps) for a, b in pairwise(ends)]
    return out


def delayed(u: FloatArray, dt: float, delays: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Means over each step of controls that act later, and their derivatives by the delays, shape (steps, nu).

    Args:
        u: as given, held over each step, shape (steps, nu); before, the first is held.
        dt: [s].
        delays: of each control [s], at least zero, shape (nu,).
    """
    whole = np.floor(delays / dt).astype(int)
    share = delays / dt - whole
    rows, columns = np.arange(len(u))[:, None], np.arange(u.shape[1])
    late = u[np.maximum(rows - whole, 0), columns]
    later = u[np.maximum(rows - whole - 1, 0), columns]
    return (1.0 - share) * late + share * later, (later - late) / dt


def smoothed(robot: Mechanism, log: Log) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Positions, velocities and accelerations by local polynomials, at the states but for half a window at the ends.

    Positions of ball and free joints are taken as they are.
    """
    window = window_of(log)
    v: Any = savgol_filter(log.v, window, DEGREE, axis=0)
    a: Any = savgol_filter(log.v, window, DEGREE, deriv=1, delta=log.dt, axis=0)
    q = log.q.copy()
    for i in (int(node.iq) for node in robot.coordinate_groups if node.nv == 1):
        q[:, i] = savgol_filter(log.q[:, i], window, DEGREE)
    inner = slice(window // 2, len(log.t) - window // 2)
    return q[inner], v[inner], a[inner]


def window_of(log: Log) -> int:
    """States of a local polynomial: an odd number of at least five."""
    return min(WINDOW, len(log.t) - (len(log.t) + 1) % 2)


def smoothed_controls(log: Log, u: FloatArray) -> FloatArray:
    """Controls at the same states as `smoothed`, by the same polynomials, so that both sides miss the same.

    Args:
        log: whose steps they are held over.
        u: controls, shape (steps, nu).
    """
    at = np.concatenate([u[:1], 0.5 * (u[1:] + u[:-1]), u[-1:]])
    window = window_of(log)
    inner = slice(window // 2, len(log.t) - window // 2)
    smooth: Any = savgol_filter(at, window, DEGREE, axis=0) if u.shape[1] else at
    return smooth[inner]


def noise_of(robot: Mechanism, logs: list[Log]) -> tuple[FloatArray, FloatArray]:
    """Standard deviations of the measured positions (along the tangent) and velocities, each shape (nv,).

    From what third differences leave of smooth motions; an impact spoils few of them, so their median counts.
    """
    out = []
    for name in ("q", "v"):
        sizes = []
        for log in logs:
            steps = robot.difference(log.q[:-1], log.q[1:]) if name == "q" else np.diff(log.v, axis=0)
            third = np.diff(steps, n=2, axis=0)
            sizes.append(third)
        third = np.concatenate(sizes)
        # Third differences of white noise are sqrt(20) as large; the median of a normal variable's size is 0.6745.
        spread = np.median(np.abs(third), axis=0) / 0.6745 / np.sqrt(20.0)
        reach = max(float(np.abs(log.v).max(initial=0.0)) * (log.dt if name == "q" else 1.0) for log in logs)
        out.append(np.maximum(spread, 1e-9 + 1e-6 * reach))
    return out[0], out[1]
