"""A picture of a solution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from leastaction.plot.style import Path, canvas, color, legend, line, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from leastaction.optimize.solution.solution import Solution


@styled
def picture(solution: Solution, *, path: Path | None = None, size: tuple[float, float] = (7.0, 6.0)) -> Figure:
    """Positions, velocities and controls over time; see `Solution.plot`."""
    m, run = solution.mechanism, solution.trajectory
    figure, axes = canvas(path, rows=3, size=size)
    for values, names, axis, label in (
        (run.q, m.coordinate_names, axes[0], "position [rad, m]"),
        (run.v, m.velocity_names, axes[1], "velocity [rad/s, m/s]"),
    ):
        for k, name in enumerate(names):
            axis.plot(run.t, values[:, k], line(k), color=color(k), label=name)
        axis.set_ylabel(label)
    nodes = np.asarray(run.stored["nodes"])
    for k, name in enumerate(m.control_names):
        if len(nodes) == 1:
            axes[2].stairs(solution.u[:, 0, k], run.t, baseline=None, color=color(k), ls=line(k), label=name)
        else:
            t = (run.t[:-1, None] + nodes * run.dt).ravel()
            axes[2].plot(t, solution.u[:, :, k].ravel(), line(k), color=color(k), label=name)
    axes[2].set_ylabel("control [N m, N]")
    axes[2].set_xlabel("time [s]")
    for axis in axes:
        legend(axis, longest=12)
    return figure
