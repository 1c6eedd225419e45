"""What a `Simulator` goes on from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MethodType
from typing import Any

from numpy.typing import NDArray

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
    """

    steps: int
    start: float
    rows: dict[str, NDArray[Any]]
    memory: Any
    activation: NDArray[Any] | None = None
    dt: float | None = None

    def __repr__(self) -> str:
        return f"<SimulatorState after {shown(self.steps)} steps from t = {shown(self.start)} s on>"


class Told:
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
