"""Plots of runs: energy, momentum and coordinates over time. Needs matplotlib, which the extra `view` brings.

Every function takes one `Trajectory` or several, gives back the figure, and writes it to `path` if there is
one (the suffix decides on the format). Without a `path` the figure belongs to pyplot, so that notebooks and
`plt.show()` know it; where there is no display, matplotlib's Agg draws it.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from leastaction._extras import require
from leastaction.errors import LeastActionError
from leastaction.mechanism.joints import Motion
from leastaction.trajectory import Trajectory

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["coordinates", "energy", "momentum"]

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's colours without the pale yellow: colour-blind people can tell them apart, too."""

LINES = ("-", "--", ":", "-.")

Runs = Trajectory | Sequence[Trajectory]
Path = str | PathLike[str]


def energy(runs: Runs, *, labels: Sequence[str] | None = None, path: Path | None = None, error: bool = False) -> Figure:
    """Energy [J] over time [s]: kinetic, potential and total of one run, or the totals of several.

    Args:
        runs: one run, or several to compare.
        labels: a name for each run; default the integrators.
        path: where to write the figure.
        error: show how far the total energy is from that at the start, |E(t) - E(0)|, on a logarithmic axis.
    """
    many, names = _runs(runs, labels)
    figure, (axis,) = _figure(path, 1)
    if error:
        for k, (run, name) in enumerate(zip(many, names, strict=True)):
            E = run.energy
            # Zero cannot be drawn on a logarithmic axis: leave those points out.
            change = np.abs(E - E[0])
            axis.plot(run.t, np.where(change > 0.0, change, np.nan), color=_color(k), lw=1.0, label=name)
        axis.set_yscale("log")
        axis.set_ylabel("energy error |E(t) − E(0)| [J]")
    elif len(many) == 1:
        run = many[0]
        parts = {"kinetic": run.kinetic_energy, "potential": run.potential_energy, "total": run.energy}
        for k, (name, values) in enumerate(parts.items()):
            axis.plot(run.t, values, color=_color(k), label=name)
        axis.set_ylabel("energy [J]")
    else:
        for k, (run, name) in enumerate(zip(many, names, strict=True)):
            axis.plot(run.t, run.energy, color=_color(k), label=name)
        axis.set_ylabel("total energy [J]")
    return _finish(figure, [axis], path)


def momentum(runs: Runs, *, labels: Sequence[str] | None = None, path: Path | None = None) -> Figure:
    """Momentum about the world's origin over time [s]: angular [kg m²/s] above, linear [kg m/s] below.

    Args:
        runs: one run, or several to compare; components differ by colour, runs by line style.
        labels: a name for each run; default the integrators.
        path: where to write the figure.
    """
    many, names = _runs(runs, labels)
    figure, axes = _figure(path, 2)
    for part, (axis, unit) in enumerate(zip(axes, ("angular momentum [kg m²/s]", "momentum [kg m/s]"), strict=True)):
        for r, (run, name) in enumerate(zip(many, names, strict=True)):
            for k, letter in enumerate("xyz"):
                label = letter if len(many) == 1 else f"{letter}, {name}"
                axis.plot(run.t, run.momentum[:, 3 * part + k], LINES[r % 4], color=_color(k), label=label)
        axis.set_ylabel(unit)
    return _finish(figure, axes, path)


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
    many, run_names = _runs(runs, labels)
    robot = many[0].mechanism
    if any(run.mechanism.coordinate_names != robot.coordinate_names for run in many):
        raise LeastActionError("plot.coordinates: the runs are of robots with different coordinates")
    units = _units(robot)
    wanted = range(robot.nq) if names is None else [robot.coordinate_index(name) for name in names]
    panels = {unit: [i for i in wanted if units[i] == unit] for unit in ("rad", "m", "quaternion")}
    panels = {unit: indices for unit, indices in panels.items() if indices}
    if not panels:
        raise LeastActionError("plot.coordinates: there are no coordinates to draw")
    titles = {"rad": "angle [rad]", "m": "length [m]", "quaternion": "quaternion [1]"}
    figure, axes = _figure(path, len(panels))
    for axis, (unit, indices) in zip(axes, panels.items(), strict=True):
        for r, (run, run_name) in enumerate(zip(many, run_names, strict=True)):
            for k, i in enumerate(indices):
                name = robot.coordinate_names[i]
                label = name if len(many) == 1 else f"{name}, {run_name}"
                axis.plot(run.t, run.q[:, i], LINES[r % 4], color=_color(k), label=label)
        axis.set_ylabel(titles[unit])
    return _finish(figure, axes, path)


def _units(robot: Any) -> list[str]:
    """Unit of each entry of q."""
    units: list[str] = []
    for joint in robot.joints:
        for p in joint.primitives:
            if p.motion == Motion.FREE:
                units += ["m"] * 3 + ["quaternion"] * 4
            elif p.motion == Motion.SPHERICAL:
                units += ["quaternion"] * 4
            else:
                units.append("m" if p.motion == Motion.PRISMATIC else "rad")
    return units


def _runs(runs: Runs, labels: Sequence[str] | None) -> tuple[list[Trajectory], list[str]]:
    """Runs as a list, with a name for each."""
    many = [runs] if isinstance(runs, Trajectory) else list(runs)
    if not many or not all(isinstance(run, Trajectory) for run in many):
        raise LeastActionError("plot: expected a Trajectory or several")
    if labels is None:
        return many, [f"run {k + 1}" if run.integrator is None else str(run.integrator) for k, run in enumerate(many)]
    names = [labels] if isinstance(labels, str) else [str(label) for label in labels]
    if len(names) != len(many):
        raise LeastActionError(f"plot: expected {len(many)} labels, one for each run, got {len(names)}")
    return many, names


def _color(k: int) -> str:
    return PALETTE[k % len(PALETTE)]


def _figure(path: Path | None, rows: int) -> tuple[Figure, list[Any]]:
    size = (7.0, 1.2 + 2.4 * rows)
    if path is not None:
        figure = require("matplotlib.figure", "view").Figure(figsize=size, layout="constrained")
    else:
        pyplot = require("matplotlib.pyplot", "view")
        try:
            figure = pyplot.figure(figsize=size, layout="constrained")
        except ImportError:  # a window was asked for where there is no display
            pyplot.switch_backend("Agg")
            figure = pyplot.figure(figsize=size, layout="constrained")
    axes = figure.subplots(rows, 1, sharex=True, squeeze=False)[:, 0]
    return figure, list(axes)


def _finish(figure: Figure, axes: list[Any], path: Path | None) -> Figure:
    axes[-1].set_xlabel("time [s]")
    for axis in axes:
        axis.grid(True, color="#dddddd", linewidth=0.6)
        axis.set_axisbelow(True)
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
        lines = axis.get_lines()
        if 1 < len(lines) <= 24:
            axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize="small")
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure
