"""What a `Simulator` goes on from."""

from __future__ import annotations

from dataclasses import dataclass
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
