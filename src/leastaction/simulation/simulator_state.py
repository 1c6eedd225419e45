"""What a `Simulator` goes on from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MethodType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.errors import IntegratorError
from leastaction.integration.record import Record
from leastaction.integration.settings import is_number
from leastaction.mechanism._check import shown


@dataclass(frozen=True, eq=False, repr=False)
class SimulatorState:
    """All that a `Simulator` goes on from, as `Simulator.state` gives it: plain arrays that can be pickled.

    Attributes:
        steps: done since the reset.
        start: time of the reset [s].
        rows: the last states by name, one or two rows of each array of the record.
        memory: what the integrator carries from step to step beside them.
        activation: of the actuators, shape (nu,).
        dt: time step [s]; guesses that the integrator carries belong to it.
        u: controls that acted over the last step, at its nodes, shape (nodes, nu), pushes behind them; sensors measure
            them.
        contacts: of the last step, shape (n, 10), as `Stepper.logged_contacts` has them.
    """

    steps: int
    start: float
    rows: dict[str, NDArray[Any]]
    memory: Any
    activation: NDArray[Any] | None = None
    dt: float | None = None
    u: NDArray[Any] | None = None
    contacts: NDArray[Any] | None = None

    def __repr__(self) -> str:
        return f"<SimulatorState after {shown(self.steps)} steps from t = {shown(self.start)} s on>"


class ReadOnlyMethod:
    """A method in whose place nothing can be put: `sim.state = state` would hide it and restore nothing."""

    def __init__(self, method: Callable[[Any], SimulatorState]) -> None:
        self._method, self.__doc__ = method, method.__doc__

    def __get__(self, instance: Any, owner: Any = None) -> Callable[..., SimulatorState]:
        return self._method if instance is None else MethodType(self._method, instance)

    def __set__(self, instance: Any, value: Any) -> None:
        raise not_set(self._method.__name__, keeps=True)


def not_set(name: str, keeps: bool = False) -> AttributeError:
    """What `sim.q = ...` gets; `keeps`: the simulator has `state` and `set_state`."""
    kept = ", state() gives and set_state(state) brings back a state" if keeps else ""
    return AttributeError(f"{name} of a Simulator cannot be set: reset(q, v) puts the robot somewhere{kept}")


def check_state(state: SimulatorState, record: Record, room: int, nodes: int, nu: int) -> None:
    """Refuse a state that is none of a run with this record: it may come from a file.

    Args:
        state: to look at.
        record: of the simulator, for `room` steps.
        room: see there.
        nodes, nu: of the controls over a step.
    """
    if not is_number(state.steps) or int(state.steps) != state.steps or state.steps < 0 or not is_number(state.start):
        got = f"steps {shown(state.steps)}, start {shown(state.start)}"
        raise IntegratorError(f"set_state: steps must be a whole number and start a finite time [s], got {got}")
    rows = state.rows if isinstance(state.rows, dict) else {}
    own, count = record.states(), 1 + min(1, int(state.steps))
    for name, x in own.items():
        given, length = rows.get(name), count if len(x) == room + 1 else len(x)
        fits = isinstance(given, np.ndarray) and given.shape == (length, *x.shape[1:]) and given.dtype == x.dtype
        if given is None or not fits:
            raise IntegratorError("set_state: this state is of another robot or integrator")
        if not np.isfinite(given).all():
            raise IntegratorError(f"set_state: {name!r} holds numbers that are not finite")
    if len(rows) != len(own):
        raise IntegratorError("set_state: this state is of another robot or integrator")
    u, log = state.u, state.contacts
    if u is not None and not (_plain(u) and u.ndim == 2 and len(u) == nodes and u.shape[1] >= nu):
        raise IntegratorError(f"set_state: u must be finite numbers, shape ({nodes}, {nu}), got {shown(u)}")
    if log is not None and not (_plain(log) and log.ndim == 2 and log.shape[1] == 10):
        raise IntegratorError(f"set_state: contacts must be finite numbers, shape (n, 10), got {shown(log)}")


def _plain(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype == float and bool(np.isfinite(x).all())
