"""Gradients of long runs in little memory: states are kept at a few times, the steps between them run again.

With c checkpoints and N steps a run keeps c states and N / c steps; c = sqrt(N) makes both alike. Every step is solved
twice, from the same numbers and so to the same result, to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from leastaction._jit.interruptible import interruptible
from leastaction.derivatives.objective_value import Objective, ObjectiveValue, evaluated, state_gradient
from leastaction.derivatives.velocity_reversal import VelocityReversal
from leastaction.errors import IntegratorError
from leastaction.initial_state.start import Start, start_run
from leastaction.integration.integrators import Integrator
from leastaction.integration.record import Record
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import shown
from leastaction.mechanism.arguments import FloatArray
from leastaction.trajectory.trajectory import Trajectory

PieceObjective = Callable[[Trajectory, int, int], Any]


class piecewise:  # noqa: N801 - a decorator
    """An objective that is a sum over states, evaluated for any piece of a run.

    Example:
        >>> @la.derivatives.piecewise
        ... def effort(run, first, steps):
        ...     return (run.v**2).sum(), None, 2.0 * run.v

    The function gets a `Trajectory` of consecutive states, the number of the first of them, and the number of steps of
    the whole run. It gives the piece's value and its gradients by positions (along the tangent) and velocities, each of
    shape (states, nv) or None, as for `adjoint`; a state is in one piece only. Such objectives can be added and scaled:
    `reach(...) + 0.1 * effort`.
    """

    def __init__(self, function: PieceObjective) -> None:
        if not callable(function):
            raise IntegratorError(f"piecewise: expected a function of (run, first, steps), got {shown(function)}")
        self.function = function
        self.__doc__ = function.__doc__ or type(self).__doc__

    def __call__(self, run: Trajectory) -> Any:
        """Of a whole run."""
        return self.function(run, 0, run.steps)

    def __add__(self, other: Any) -> piecewise:
        if not isinstance(other, piecewise):
            return NotImplemented
        return piecewise(lambda *piece: _whole(self.function(*piece)) + _whole(other.function(*piece)))

    def __mul__(self, factor: Any) -> piecewise:
        if not isinstance(factor, int | float | np.number):
            return NotImplemented
        return piecewise(lambda *piece: float(factor) * _whole(self.function(*piece)))

    __rmul__ = __mul__


def _whole(said: Any) -> ObjectiveValue:
    return said if isinstance(said, ObjectiveValue) else ObjectiveValue(*said)


class _Cuts:
    """A run of which only the states at the cuts are kept."""

    def __init__(self, start: Start, checkpoints: int | bool) -> None:
        self.start, self.stepper, self.steps = start, start.stepper, start.steps
        count = _count(checkpoints, self.steps)
        self.cuts = [round(k * self.steps / count) for k in range(count + 1)] if self.steps else [0, 0]
        self.kept: list[tuple[dict[str, Any], Any]] = [(start.first.states(), self.stepper.memory())]

    @property
    def pieces(self) -> int:
        """How many."""
        return len(self.cuts) - 1

    def run(self, k: int) -> tuple[Record, int]:
        """(record of piece k, row of it from which its steps start); keeps the state at its end."""
        first, last = self.cuts[k], self.cuts[k + 1]
        row = int(first > 0)
        record = self.stepper.record(last - first + row)
        states, memory = self.kept[k]
        for name, rows in states.items():
            record[name][: row + 1] = rows[-row - 1 :]
        self.stepper.restore_memory(memory)
        u = self.start.controls[first:last].copy()
        done = interruptible(self.stepper.advance, record, row, last - first + row, u)
        if done < last - first + row:
            step = first + done - row
            error = self.stepper.failure(done, record)
            error.step, error.time = step, float(self.start.times(step, step)[0])
            raise error
        if k == self.pieces - 1:
            self.stepper.finish(record)  # what the last state is may take a look beyond it
        if len(self.kept) == k + 1:
            names = ("q", "p" if self.stepper.momentum else "v", *self.stepper.carries)
            last_rows = {name: record[name][-2:].copy() for name in names if name in record}
            self.kept.append((last_rows, self.stepper.memory()))
        return record, row

    def states(self, k: int, row: int) -> tuple[slice, slice]:
        """(rows of the record, rows of the run) of the states that belong to piece k.

        A piece has the states that it looks back to, so that gradients add up in the order of a whole run.
        """
        first = self.cuts[k] - row
        last = self.steps if k == self.pieces - 1 else self.cuts[k + 1] - 2
        return slice(0, last + 1 - first), slice(first, last + 1)

    def trajectory(self, rows: slice, q: FloatArray, second: FloatArray) -> Trajectory:
        """States of the run as a `Trajectory`."""
        s, name = self.stepper, "p" if self.stepper.momentum else "v"
        times = self.start.times(rows.start, rows.stop - 1)
        return Trajectory(s.mechanism, s.integrator, s.dt, times, q, {name: second})


def _count(checkpoints: int | bool, steps: int) -> int:
    if checkpoints is True:
        return max(1, math.isqrt(steps))
    if not isinstance(checkpoints, int | np.integer) or checkpoints < 1:
        raise IntegratorError(f"checkpoints must be a number of at least 1, or True, got {shown(checkpoints)}")
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
    options = {name: value for name, value in options.items() if name != "progress"}
    begin = start_run(mechanism, integrator, **options)
    if "reverse" not in begin.stepper.can:
        begin.stepper.refuse("reverse")
    run, names = _Cuts(begin, checkpoints), list(parameters)
    in_pieces = isinstance(objective, piecewise)
    nv, states = mechanism.nv, 0 if in_pieces else run.steps + 1
    Q, S = np.zeros((states, mechanism.nq)), np.zeros((states, nv))
    for k in range(run.pieces - in_pieces):  # the last piece is run in the backward pass
        record, row = run.run(k)
        if not in_pieces:
            own, of_run = run.states(k, row)
            Q[of_run], S[of_run] = record.q[own], record.second[own]
    parts: list[ObjectiveValue] = []
    if not in_pieces:
        whole = run.trajectory(slice(0, run.steps + 1), Q, S)
        parts.append(evaluated(objective, whole, names))
        DQ, DV = state_gradient(whole, parts[0].dq, "dq"), state_gradient(whole, parts[0].dv, "dv")
    reversal = VelocityReversal(run.stepper, names, options.get("p") is not None)
    for k in range(run.pieces - 1, -1, -1):
        record, row = run.run(k)
        own, of_run = run.states(k, row)
        bq, bv = np.zeros((len(record.q), nv)), np.zeros((len(record.q), nv))
        if of_run.start == of_run.stop:
            pass
        elif in_pieces:
            piece = run.trajectory(of_run, record.q[own], record.second[own])
            said = evaluated(objective.function, piece, names, of_run.start, run.steps)
            parts.append(ObjectiveValue(said.value, direct=said.direct))
            bq[own], bv[own] = state_gradient(piece, said.dq, "dq"), state_gradient(piece, said.dv, "dv")
        else:
            bq[own], bv[own] = DQ[of_run], DV[of_run]
        reversal.piece(record, row, run.cuts[k], begin.controls[run.cuts[k] : run.cuts[k + 1]], bq, bv)
        run.kept.pop()
    out = reversal.finish(begin.first.q[0], begin.first.second[0], begin.commands, begin.activations)
    for part in parts:
        out = {name: out[name] + part.directly(name) for name in names}
    return float(sum(part.value for part in reversed(parts))), out
