"""What a `Simulator` has done, as a `Trajectory`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.integration.record import Record
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray
from leastaction.trajectory.trajectory import Trajectory
from leastaction.trajectory.trajectory_pieces import CUTS


class Recording:
    """States, controls and contacts since a reset, kept piece by piece: a simulator has room for some steps only.

    Args:
        record: of the simulator.
        controls: that act over its steps, shape (steps, nodes, nu).
        steps: done since the reset of the simulator, at the first state.
        row: of the first state in the record.
        activation: of the actuators there, shape (nu,).
    """

    def __init__(self, record: Record, controls: FloatArray, steps: int, row: int, activation: FloatArray) -> None:
        self._record, self._source, self._before = record, controls, steps
        self._first = self._row = row
        self._states: list[dict[str, NDArray[Any]]] = []
        self._controls: list[FloatArray] = []
        self._contacts: list[FloatArray] = []
        self._activations = [activation.copy()]

    def note(self, contacts: FloatArray, activation: FloatArray) -> None:
        """Add a step, with its contacts and the activations at its end."""
        if len(contacts):
            contacts[:, 0] = len(self._activations) - 1
            self._contacts.append(contacts)
        self._activations.append(activation.copy())
        self._row += 1

    def keep(self, row: int) -> None:
        """Copy what the record holds, whose last state moves to a row in front of the others."""
        states, controls = self._held()
        self._states.append(states)
        self._controls.append(controls)
        self._first = self._row = row

    def _held(self) -> tuple[dict[str, NDArray[Any]], FloatArray]:
        """Rows of the record that were not kept yet, with what has no rows for states as it is, and controls."""
        own, count = self._record.states(), len(self._record.q)
        new = slice(self._first + (1 if self._states else 0), self._row + 1)
        states = {name: (x[new] if len(x) == count else x).copy() for name, x in own.items()}
        return states, self._source[self._first : self._row].copy()

    def trajectory(self, mechanism: Mechanism, stepper: Any, start: float) -> Trajectory:
        """The run of a mechanism, which the stepper made from this time on [s]."""
        states, controls = self._held()
        pieces, count = [*self._states, states], len(self._record.q)
        stored: dict[str, Any] = dict(states)
        for name in (name for name, x in self._record.states().items() if len(x) == count):
            stored[name] = np.concatenate([rows[name] for rows in pieces])
        stored["u"] = np.concatenate([*self._controls, controls])
        if "contacts" in stepper.acts:
            stored["contacts"] = np.concatenate([np.zeros((0, 10)), *self._contacts])
        if any(a.activation is not None for a in mechanism.actuators):
            stored["activation"] = np.array(self._activations)
        if self._before:
            stored[CUTS] = np.zeros(1, np.int64)
        t = start + stepper.dt * np.arange(self._before, self._before + len(self._activations))
        return Trajectory(mechanism, stepper.integrator, stepper.dt, t, stored.pop("q"), stored)
