"""Prescribed motions of a run: read from what the user gives, and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from leastaction.actuation.controls import check_call
from leastaction.errors import IntegratorError, MechanismError
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import real_array, shown, suggestion
from leastaction.mechanism.arguments import FloatArray
from leastaction.mechanism.pose import Pose


@dataclass(frozen=True, eq=False)
class MotionTable:
    """Prescribed motions at the times of a run.

    Attributes:
        start: time of its first row [s].
        dt: between its rows [s].
        values: for each name in `Mechanism.prescribed` one row per time: the position of a coordinate (rows, 1), or
            the coordinates of a body's free joint (rows, 7). There is one row more than a run has, where the motion
            would go on to.
        resting: names of those that nobody has given: they stay where the run starts.
    """

    start: float
    dt: float
    values: dict[str, FloatArray]
    resting: tuple[str, ...] = ()

    def resting_at(self, mechanism: Mechanism, q: FloatArray) -> MotionTable:
        """The same motions, with what rests where it is at q, shape (nq,)."""
        rows = {name: np.tile(q[places(mechanism, name)[0]], (len(self.values[name]), 1)) for name in self.resting}
        return replace(self, values=self.values | rows)

    def begin(self, mechanism: Mechanism, q: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(q, v) with what the motions say of the start."""
        q, v = q.copy(), v.copy()
        for name, values in self.values.items():
            iq, iv = places(mechanism, name)
            q[iq] = values[0]
            if len(values) > 1:
                v[iv] = joint_rates(values[:3], self.dt)[0]
        return q, v


def places(mechanism: Mechanism, name: str) -> tuple[slice, slice]:
    """Where a prescribed motion stands in q and in v."""
    m = mechanism
    if name in m.velocity_names:
        k, j = m.coordinate_index(name), m.velocity_index(name)
        return slice(k, k + 1), slice(j, j + 1)
    joint = m.joints[m.body_index(name)]
    k, j = m.coordinate_index(joint.coordinate_names()[0]), m.velocity_index(joint.velocity_names()[0])
    return slice(k, k + 7), slice(j, j + 6)


def resting_freedoms(mechanism: Mechanism, motions: MotionTable | None) -> list[int]:
    """Degrees of freedom of what is prescribed, but of which nobody has said where it is: it may start elsewhere."""
    m = mechanism
    names = m.prescribed if motions is None else motions.resting
    return [j for name in names for j in range(m.nv)[places(m, name)[1]]]


def motion_table(
    mechanism: Mechanism, motions: Any, q: FloatArray, start: float, dt: float, steps: int
) -> MotionTable | None:
    """Motions of a run of `steps` steps from `start` [s] on; None where nothing is prescribed.

    Args:
        motions: as for `leastaction.simulate`.
        q: joint positions at the start, where those stay of which `motions` says nothing.
    """
    given = checked_names(mechanism, motions)
    if not mechanism.prescribed:
        return None
    times, values = start + dt * np.arange(steps + 1), {}
    for name in mechanism.prescribed:
        own = given.get(name)
        if own is None:
            rows = np.tile(q[places(mechanism, name)[0]], (steps + 1, 1))
        elif callable(own):
            check_call(own, f"motion of {name!r}", ("t",))
            rows = np.array([motion_at(mechanism, name, _called(name, own, float(t)), float(t)) for t in times])
        else:
            rows = _rows(mechanism, name, own, steps)
        values[name] = _continued(continuous(rows))
    return MotionTable(start, dt, values, tuple(name for name in mechanism.prescribed if given.get(name) is None))


def _called(name: str, motion: Any, t: float) -> Any:
    """What the user's function of a motion gives at the time t [s]; what it raises is said with its name and time."""
    try:
        return motion(t)
    except Exception as error:
        own, kind = getattr(motion, "__qualname__", None) or repr(motion), type(error).__name__
        raise IntegratorError(f"motion of {name!r}: {own}({t:g}) raised {kind}: {error}") from error


def checked_names(mechanism: Mechanism, motions: Any) -> Mapping[str, Any]:
    """`motions` as a mapping whose names all are prescribed."""
    if motions is None:
        return {}
    if not isinstance(motions, Mapping):
        raise IntegratorError(f"motions must be given by name, such as {{'lift': 0.3}}, got {shown(motions)}")
    for name in motions:
        if name not in mechanism.prescribed:
            known = list(mechanism.prescribed)
            hint = suggestion(str(name), known) or "; a builder's prescribe(...) says what is"
            raise IntegratorError(f"motions: {name!r} is not prescribed in {mechanism.name!r}{hint}")
    return motions


def motion_at(mechanism: Mechanism, name: str, value: Any, t: float) -> FloatArray:
    """A prescribed position (1,), or the coordinates (7,) of a free joint, at the time t [s]."""
    what = f"motion of {name!r} at t = {t:g} s"
    iq, _ = places(mechanism, name)
    if iq.stop - iq.start == 1:
        number = real_array(value)
        if number is None or number.size != 1 or not np.isfinite(number).all():
            raise IntegratorError(f"{what}: expected a finite number, got {shown(value)}")
        return number.reshape(1)
    try:
        numbers = None if isinstance(value, Pose) else real_array(value)
        if numbers is not None and numbers.shape == (7,):
            pose = Pose(tuple(numbers[:3].tolist()), tuple(numbers[3:].tolist()))
        else:
            pose = Pose.of(value, what)
    except MechanismError as error:
        raise IntegratorError(f"{what}: expected a Pose, or position and quaternion: {error}") from None
    joint = mechanism.joints[mechanism.body_index(name)]
    own = joint.pose.inverse() * pose * joint.child_pose.inverse()
    return np.array([*own.position, *own.quaternion])


def _rows(mechanism: Mechanism, name: str, own: Any, steps: int) -> FloatArray:
    """A motion that is given by numbers: constant, or one row per time."""
    iq, _ = places(mechanism, name)
    wide, numbers = iq.stop - iq.start, None if isinstance(own, Pose) else real_array(own)
    table = (steps + 1,) if wide == 1 else (steps + 1, wide)
    if numbers is not None and numbers.shape == table and (wide > 1 or steps > 0):
        return np.array([motion_at(mechanism, name, x, 0.0) for x in numbers])
    if numbers is not None and numbers.ndim == len(table) and numbers.shape != (1,):
        raise IntegratorError(f"motion of {name!r}: expected shape {table}, one row per time, got {numbers.shape}")
    return np.tile(motion_at(mechanism, name, own, 0.0), (steps + 1, 1))


def continuous(rows: FloatArray) -> FloatArray:
    """The same with quaternions of the sign that is nearest to the one before."""
    if rows.shape[1] == 7 and len(rows) > 1:
        turn = np.where((rows[1:, 3:] * rows[:-1, 3:]).sum(axis=1) < 0.0, -1.0, 1.0)
        rows[1:, 3:] *= np.cumprod(turn)[:, None]
    return rows


def _continued(rows: FloatArray) -> FloatArray:
    """With one row more, as a motion goes on that changes smoothly."""
    last, more = rows[-3:], {1: [1.0], 2: [-1.0, 2.0]}.get(len(rows), [1.0, -3.0, 3.0])
    row = np.array(more) @ last
    if len(row) == 7:
        row[3:] /= np.linalg.norm(row[3:])
    return np.vstack([rows, row])


def rates_of(values: FloatArray, dt: float) -> FloatArray:
    """Rates of rows of values, by differences of second order: of the same shape."""
    if len(values) < 2:
        return np.zeros_like(values)
    return np.asarray(np.gradient(values, dt, axis=0, edge_order=1 if len(values) == 2 else 2))


def joint_rates(values: FloatArray, dt: float) -> FloatArray:
    """Velocities of prescribed coordinates, shape (rows, 1), or of free joints, shape (rows, 6)."""
    if values.shape[1] == 1:
        return rates_of(values, dt)
    turns = [Pose(tuple(row[:3]), tuple(row[3:])).rotation.T for row in values]
    along = [turn @ rate for turn, rate in zip(turns, rates_of(values[:, :3], dt), strict=True)]
    return np.hstack([spins_of(values[:, 3:], dt), np.array(along)])


def spins_of(quaternions: FloatArray, dt: float) -> FloatArray:
    """Angular velocities in the directions of what turns [rad/s], shape (rows, 3)."""
    q, d = quaternions, rates_of(quaternions, dt)
    return 2.0 * (q[:, :1] * d[:, 1:] - d[:, :1] * q[:, 1:] - np.cross(q[:, 1:], d[:, 1:]))
