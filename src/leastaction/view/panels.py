"""Curves beside the scene: energy, momentum, violation of loops, sensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leastaction.typing import FloatArray
from leastaction.view import body_colours

PLOTS = ("energy", "error", "momentum", "violation", "sensors")


@dataclass(frozen=True, eq=False)
class Panel:
    """One plot over time.

    Attributes:
        title: with the unit.
        labels, colors: of the curves.
        values: shape (frames, curves).
    """

    title: str
    labels: tuple[str, ...]
    colors: tuple[body_colours.Color, ...]
    values: FloatArray

    def range(self) -> tuple[float, float]:
        """Lowest and highest value to be drawn, with a margin; never empty."""
        finite = self.values[np.isfinite(self.values)]
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
        margin = 0.05 * (high - low) if high > low else 0.5 * abs(high) or 0.5
        return low - margin, high + margin


def panels(runs: Sequence[Any], names: Sequence[str], states: Sequence[Any], plots: Sequence[str]) -> list[Panel]:
    """The plots of that name; what a run cannot have (the violation of a tree) is omitted."""
    out = []
    for plot in plots:
        if plot == "energy" and len(runs) == 1:
            run, rows = runs[0], states[0]
            parts = [run.kinetic_energy, run.potential_energy, run.energy]
            out.append(_panel("energy [J]", ("kinetic", "potential", "total"), [part[rows] for part in parts]))
        elif plot == "energy":
            values = [run.energy[rows] for run, rows in zip(runs, states, strict=True)]
            out.append(_panel("total energy [J]", names, values))
        elif plot == "error":
            values = [(run.energy - run.energy[0])[rows] for run, rows in zip(runs, states, strict=True)]
            out.append(_panel("energy gained E(t) − E(0) [J]", names, values))
        elif plot == "momentum":
            for part, unit in enumerate(("angular momentum [kg m²/s]", "linear momentum [kg m/s]")):
                pairs = [
                    (run, rows, name, k) for run, rows, name in zip(runs, states, names, strict=True) for k in range(3)
                ]
                labels = ["xyz"[k] if len(runs) == 1 else f"{'xyz'[k]}, {name}" for _, _, name, k in pairs]
                out.append(_panel(unit, labels, [run.momentum[rows, 3 * part + k] for run, rows, _, k in pairs]))
        elif plot == "violation" and not all(run.mechanism.is_tree for run in runs):
            values = [run.constraint_violation[rows] for run, rows in zip(runs, states, strict=True)]
            out.append(_panel("loop violation [m or rad]", names, values))
        elif plot == "sensors":
            out += [panel for sensor in runs[0].mechanism.sensors if (panel := _sensor(sensor, runs, names, states))]
    return out


def _sensor(sensor: Any, runs: Sequence[Any], names: Sequence[str], states: Sequence[Any]) -> Panel | None:
    """Readings of a sensor in all runs; None where one of these has another of that name, or none."""
    labels, values = [], []
    for run, rows, name in zip(runs, states, names, strict=True):
        if sensor not in run.mechanism.sensors:
            return None
        own = [column if len(runs) == 1 else f"{column}, {name}" for column in sensor.columns]
        labels += own
        values += [run.sensors[sensor.name][rows, k] for k in range(len(own))]
    return _panel(f"{sensor.name} [{sensor.unit}]", labels, values)


def _panel(title: str, labels: Sequence[str], values: Sequence[Any]) -> Panel:
    colors = tuple(body_colours.RUNS[k % len(body_colours.RUNS)] for k in range(len(labels)))
    return Panel(title, tuple(labels), colors, np.stack([np.asarray(v, float) for v in values], axis=1))
