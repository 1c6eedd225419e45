"""Phase portraits: velocity over position."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from leastaction.errors import LeastActionError
from leastaction.mechanism._check import instances
from leastaction.plot.style import Path, Runs, alike, canvas, color, line, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 12
"""Panels that are drawn when no coordinates are named."""


@styled
def phase(
    runs: Runs,
    *,
    labels: Sequence[str] | None = None,
    path: Path | None = None,
    names: Sequence[str] | None = None,
) -> Figure:
    """Phase portraits, one panel per degree of freedom: velocity [rad/s or m/s] over position [rad or m].

    Args:
        runs: one run, or several of the same robot; runs differ by colour and line style.
        labels: a name for each run; default the integrators.
        path: where to write the figure.
        names: which degrees of freedom, as in `Mechanism.velocity_names`; ball and free joints have no such portrait.
            Default: all others, at most 12.
    """
    many, run_names = alike(runs, labels, "phase")
    robot = many[0].mechanism
    plain = [name for name in robot.velocity_names if name in robot.coordinate_names]
    asked = plain[:MOST] if names is None else instances(names, str, "plot.phase: names")
    wanted = [robot.velocity_names[robot.velocity_index(name)] for name in asked]
    for name in wanted:
        if name not in plain:
            raise LeastActionError(f"plot.phase: {name!r} belongs to a ball or free joint, which has no phase portrait")
    if not wanted:
        raise LeastActionError("plot.phase: every joint is a ball or free joint; these have no phase portraits")
    columns = min(len(wanted), 3)
    rows = math.ceil(len(wanted) / columns)
    figure, axes = canvas(path, rows, columns, share=False, size=(0.6 + 3.2 * columns, 0.6 + 2.8 * rows))
    for axis, name in zip(axes, wanted, strict=False):
        i, k = robot.coordinate_index(name), robot.velocity_index(name)
        for r, (run, run_name) in enumerate(zip(many, run_names, strict=True)):
            axis.plot(run.q[:, i], run.v[:, k], line(r), color=color(r), lw=0.9, label=run_name)
            axis.plot(run.q[:1, i], run.v[:1, k], "o", color=color(r), ms=4.0)  # where it starts
        axis.set_title(name)
    for axis in axes[len(wanted) :]:
        axis.set_visible(False)
    figure.supxlabel("position [rad or m]", fontsize=10.0)
    figure.supylabel("velocity [rad/s or m/s]", fontsize=10.0)
    if len(many) > 1:
        handles, texts = axes[0].get_legend_handles_labels()
        figure.legend(handles, texts, loc="outside upper center", ncols=min(len(many), 2))
    return figure
