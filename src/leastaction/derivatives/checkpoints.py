"""Gradients of long runs in little memory: states are kept at a few times, the steps between them run again.

With c checkpoints and N steps a run keeps c states and N / c steps; c = sqrt(N) makes both alike. Every step is solved
twice, from the same numbers and so to the same result, to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from leastaction.derivatives.adjoint import Objective, _bar, evaluated, named_gradients, reversal_for
from leastaction.derivatives.linearize import stepper_that
from leastaction.dynamics.loops import close_loops
from leastaction.errors import IntegratorError
from leastaction.integrators import Integrator
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray, configuration
from leastaction.record import Record
from leastaction.simulate import _control_table, _set_velocity, _steps, _warn_of_ignored
from leastaction.trajectory import Trajectory

PieceObjective = Callable[[Trajectory, int, int], tuple[Any, ...]]

PER_STATE = ("q", "v", "r", "rd", "chart", "multipliers")
"""What a state consists of in the record of a run."""


class piecewise:  # noqa: N801 - a decorator
    """An objective that is a sum over states, told for any piece of a run.

    Example:
        >>> @la.derivatives.piecewise
        ... def effort(run, first, steps):
        ...     return (run.v**2).sum(), None, 2.0 * run.v

    The function gets a `Trajectory` of consecutive states, the number of the first of them, and the number of steps of
    the whole run. It gives the piece's value and its gradients by positions (along the tangent) and velocities, each of
    shape (states, nv) or None, as for `adjoint`; a state is in one piece only.
    """

    def __init__(self, function: PieceObjective) -> None:
        self.function = function
        self.__doc__ = function.__doc__ or type(self).__doc__

    def __call__(self, run: Trajectory) -> tuple[Any, ...]:
        """Of a whole run."""
        return self.function(run, 0, run.steps)


class _Cuts:
    """A run of which only the states at the cuts are kept."""

    def __init__(
        self,
        mechanism: Mechanism,
        integrator: Integrator,
        checkpoints: int | bool,
        *,
        q: Any = None,
        v: Any = None,
        p: Any = None,
        dt: float = 0.01,
        duration: float | None = None,
        steps: int | None = None,
        controls: Any = None,
        start: float = 0.0,
        project: bool = False,
        progress: bool | None = None,
    ) -> None:
        self.mechanism = mechanism
        self.stepper = stepper_that("reverse", mechanism, integrator, dt)
        _warn_of_ignored(self.stepper)
        self.steps = _steps(dt, duration, steps)
        self.start = float(start)
        q0 = mechanism.neutral() if q is None else configuration(mechanism, q)
        self.q = self.stepper.prepare_start(close_loops(mechanism, q0) if project and not mechanism.is_tree else q0)
        # Only controls that are a function are read at times, and then they are a table of all steps anyway.
        times = self.times(slice(0, self.steps + 1)) if callable(controls) else np.broadcast_to(0.0, self.steps + 1)
        self.controls = _control_table(mechanism, self.stepper, controls, times)
        first = self.stepper.record(0)
        first["q"][0] = self.q
        _set_velocity(self.stepper, first, self.q, v, p)
        count = _count(checkpoints, self.steps)
        self.cuts = [round(k * self.steps / count) for k in range(count + 1)] if self.steps else [0, 0]
        self.kept: list[dict[str, Any]] = [first.states()]

    @property
    def pieces(self) -> int:
        """How many."""
        return len(self.cuts) - 1

    def run(self, k: int) -> tuple[Record, int]:
        """(record of piece k, row of it from which its steps start); keeps the state at its end."""
        first, last = self.cuts[k], self.cuts[k + 1]
        row = int(first > 0)
        record = self.stepper.record(last - first + row)
        for name, rows in self.kept[k].items():
            record[name][: row + 1] = rows[-row - 1 :]
        done = self.stepper.advance(record, row, last - first + row, self.controls[first:last].copy())
        if done < last - first + row:
            step = first + done - row
            error = self.stepper.failure(step, record)
            error.time = float(self.times(slice(step, step + 1))[0])
            raise error
        if len(self.kept) == k + 1:
            self.kept.append({name: record[name][-2:].copy() for name in PER_STATE if name in record})
        return record, row

    def states(self, k: int, row: int) -> tuple[slice, slice]:
        """(rows of the record, rows of the run) of the states that belong to piece k.

        A piece has the states that it looks back to, so that gradients add up in the order of a whole run.
        """
        first = self.cuts[k] - row
        last = self.steps if k == self.pieces - 1 else self.cuts[k + 1] - 2
        return slice(0, last + 1 - first), slice(first, last + 1)

    def times(self, rows: slice) -> FloatArray:
        """Times of states [s]."""
        return np.asarray(self.start + self.stepper.dt * np.arange(rows.start, rows.stop), dtype=float)

    def trajectory(self, rows: slice, q: FloatArray, v: FloatArray) -> Trajectory:
        """States of the run as a `Trajectory`."""
        s = self.stepper
        return Trajectory(self.mechanism, s.integrator, s.dt, self.times(rows), q, {"v": v})


def _count(checkpoints: int | bool, steps: int) -> int:
    if checkpoints is True:
        return max(1, math.isqrt(steps))
    if not isinstance(checkpoints, int | np.integer) or checkpoints < 1:
        raise IntegratorError(f"checkpoints must be a number of at least 1, or True, got {checkpoints!r}")
    return max(1, min(int(checkpoints), steps))


def checkpointed_gradient(
    mechanism: Mechanism,
    integrator: Integrator,
    objective: Objective,
    parameters: Iterable[str],
    checkpoints: int | bool,
    options: dict[str, Any],
) -> tuple[float, dict[str, FloatArray]]:
    """Value and gradient as of `adjoint`, with the run kept at a few times only."""
    if "controller" in options:
        raise IntegratorError("checkpoints: a controller cannot be run again; give its controls")
    run, names = _Cuts(mechanism, integrator, checkpoints, **options), list(parameters)
    in_pieces = isinstance(objective, piecewise)
    nv, states = mechanism.nv, 0 if in_pieces else run.steps + 1
    Q, V = np.zeros((states, mechanism.nq)), np.zeros((states, nv))
    for k in range(run.pieces - in_pieces):  # the last piece is run on the way back
        record, row = run.run(k)
        if not in_pieces:
            own, of_run = run.states(k, row)
            Q[of_run], V[of_run] = record["q"][own], record["v"][own]
    parts: list[tuple[Any, ...]] = []
    if not in_pieces:
        whole = run.trajectory(slice(0, run.steps + 1), Q, V)
        value, dq, dv, *direct = evaluated(objective, whole)
        parts.append((value, direct))
        DQ, DV = _bar(whole, dq, "dq"), _bar(whole, dv, "dv")
    reversal = reversal_for(run.stepper, names)
    for k in range(run.pieces - 1, -1, -1):
        record, row = run.run(k)
        own, of_run = run.states(k, row)
        bq, bv = np.zeros((len(record["q"]), nv)), np.zeros((len(record["q"]), nv))
        if of_run.start == of_run.stop:
            pass
        elif in_pieces:
            piece = run.trajectory(of_run, record["q"][own], record["v"][own])
            value, dq, dv, *direct = objective.function(piece, of_run.start, run.steps)
            parts.append((value, direct))
            bq[own], bv[own] = _bar(piece, dq, "dq"), _bar(piece, dv, "dv")
        else:
            bq[own], bv[own] = DQ[of_run], DV[of_run]
        u = run.controls[run.cuts[k] : run.cuts[k + 1]]
        reversal.piece(record, row, run.cuts[k], u, bq, bv)
        run.kept.pop()
    out = named_gradients(reversal, run.q, names)
    for _, direct in parts:
        for explicit in direct:
            out = {name: out[name] + explicit(name) for name in names}
    return float(sum(value for value, _ in reversed(parts))), out
