"""Quantities over time: energy, momentum, constraint violation, coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from leastaction._display.units import coordinate_units
from leastaction.errors import LeastActionError
from leastaction.mechanism._check import flag, instances
from leastaction.plot.style import Path, Runs, alike, canvas, color, legend, line, named_runs, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@styled
def energy(
    runs: Runs,
    *,
    labels: Sequence[str] | None = None,
    path: Path | None = None,
    error: bool = False,
    worst: bool = False,
) -> Figure:
    """Energy [J] over time [s]: kinetic, potential and total of one run, or the totals of several.

    Args:
        runs: one run, or several to compare.
        labels: a name for each run; default the integrators.
        path: where to write the figure.
        error: show how far the total energy is from that at the start, |E(t) - E(0)|, on a logarithmic axis.
        worst: with `error`, show the largest error so far, and the error itself as a thin line: errors that swing are
            then easy to compare, and drift is a line that keeps rising.
    """
    many, names = named_runs(runs, labels)
    flag(error, "plot.energy: error")
    flag(worst, "plot.energy: worst")
    figure, (axis,) = canvas(path)
    if error:
        for k, (run, name) in enumerate(zip(many, names, strict=True)):
            size = np.abs(run.energy - run.energy[0])
            if worst:
                axis.plot(run.t, _positive(size), color=color(k), lw=0.5, alpha=0.35)
                size = np.maximum.accumulate(size)
            axis.plot(run.t, _positive(size), line(k), color=color(k), lw=1.8 if worst else 1.1, label=name)
        axis.set_yscale("log")
        axis.set_ylabel("energy error |E(t) − E(0)| [J]")
    elif len(many) == 1:
        run = many[0]
        parts = {"kinetic": run.kinetic_energy, "potential": run.potential_energy, "total": run.energy}
        for k, (name, values) in enumerate(parts.items()):
            axis.plot(run.t, values, ("--", "-.", "-")[k], color=color(k), label=name)
        axis.set_ylabel("energy [J]")
    else:
        for k, (run, name) in enumerate(zip(many, names, strict=True)):
            axis.plot(run.t, run.energy, line(k), color=color(k), label=name)
        axis.set_ylabel("total energy [J]")
    return _over_time(figure, [axis])


@styled
def momentum(runs: Runs, *, labels: Sequence[str] | None = None, path: Path | None = None) -> Figure:
    """Momentum about the world's origin over time [s]: angular [kg m²/s] above, linear [kg m/s] below.

    Args:
        runs: one run, or several to compare; components differ by colour, runs by line style.
        labels: a name for each run; default the integrators.
        path: where to write the figure.
    """
    many, names = named_runs(runs, labels)
    figure, axes = canvas(path, 2)
    for part, (axis, unit) in enumerate(zip(axes, ("angular momentum [kg m²/s]", "momentum [kg m/s]"), strict=True)):
        for r, (run, name) in enumerate(zip(many, names, strict=True)):
            for k, letter in enumerate("xyz"):
                label, dashes = (letter, line(k)) if len(many) == 1 else (f"{letter}, {name}", line(r))
                axis.plot(run.t, run.momentum[:, 3 * part + k], dashes, color=color(k), label=label)
        axis.set_ylabel(unit)
    return _over_time(figure, axes)


@styled
def constraint_violation(runs: Runs, *, labels: Sequence[str] | None = None, path: Path | None = None) -> Figure:
    """Largest violation of a loop, coupling or joint [m or rad] over time [s], on a logarithmic axis.

    Args:
        runs: one run, or several to compare; of robots with loops, or in body coordinates.
        labels: a name for each run; default the integrators.
        path: where to write the figure.
    """
    many, names = named_runs(runs, labels)
    if not any(run.constraint_violation.any() for run in many):
        raise LeastActionError("plot.constraint_violation: there is none in these runs; has the robot a loop?")
    figure, (axis,) = canvas(path)
    for k, (run, name) in enumerate(zip(many, names, strict=True)):
        axis.plot(run.t, _positive(run.constraint_violation), line(k), color=color(k), lw=1.1, label=name)
    axis.set_yscale("log")
    axis.set_ylabel("constraint violation [m or rad]")
    return _over_time(figure, [axis])


@styled
def coordinates(
    runs: Runs,
    *,
    labels: Sequence[str] | None = None,
    path: Path | None = None,
    names: Sequence[str] | None = None,
) -> Figure:
    """Joint positions over time [s], one panel for each unit: angles [rad], lengths [m], quaternions.

    Args:
        runs: one run, or several of the same robot; coordinates differ by colour, runs by line style.
        labels: a name for each run; default the integrators.
        path: where to write the figure.
        names: which coordinates, as in `Mechanism.coordinate_names`; default all.
    """
    many, run_names = alike(runs, labels, "coordinates")
    robot = many[0].mechanism
    units = coordinate_units(robot)
    asked = robot.coordinate_names if names is None else instances(names, str, "plot.coordinates: names")
    wanted = [robot.coordinate_index(name) for name in asked]
    panels = {unit: [i for i in wanted if units[i] == unit] for unit in ("rad", "m", "1")}
    panels = {unit: indices for unit, indices in panels.items() if indices}
    if not panels:
        raise LeastActionError("plot.coordinates: there are no coordinates to draw")
    titles = {"rad": "angle [rad]", "m": "length [m]", "1": "quaternion [1]"}
    figure, axes = canvas(path, len(panels))
    for axis, (unit, indices) in zip(axes, panels.items(), strict=True):
        for r, (run, run_name) in enumerate(zip(many, run_names, strict=True)):
            for k, i in enumerate(indices):
                name = robot.coordinate_names[i]
                label, dashes = (name, line(k)) if len(many) == 1 else (f"{name}, {run_name}", line(r))
                axis.plot(run.t, run.q[:, i], dashes, color=color(k), label=label)
        axis.set_ylabel(titles[unit])
    return _over_time(figure, axes)


def _positive(values: Any) -> Any:
    """Zero cannot be drawn on a logarithmic axis: leave those points out."""
    return np.where(values > 0.0, values, np.nan)


def _over_time(figure: Any, axes: list[Any]) -> Figure:
    axes[-1].set_xlabel("time [s]")
    for axis in axes:
        legend(axis)
    return figure
