"""A picture of a solution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from leastaction._extras import require

if TYPE_CHECKING:
    from leastaction.optimize.solution.solution import Solution


def picture(solution: Solution, *, size: tuple[float, float] = (7.0, 6.0)) -> Any:
    """Positions, velocities and controls over time; see `Solution.plot`."""
    plt = require("matplotlib.pyplot", "view")
    m, run = solution.mechanism, solution.trajectory
    figure, axes = plt.subplots(3, 1, sharex=True, figsize=size, constrained_layout=True)
    for values, names, ax, label in (
        (run.q, m.coordinate_names, axes[0], "position [rad, m]"),
        (run.v, m.velocity_names, axes[1], "velocity [rad/s, m/s]"),
    ):
        for k, name in enumerate(names):
            ax.plot(run.t, values[:, k], label=name)
        ax.set_ylabel(label)
    nodes = np.asarray(run.stored["nodes"])
    for k, name in enumerate(m.control_names):
        if len(nodes) == 1:
            axes[2].stairs(solution.u[:, 0, k], run.t, baseline=None, label=name)
        else:
            t = (run.t[:-1, None] + nodes * run.dt).ravel()
            axes[2].plot(t, solution.u[:, :, k].ravel(), label=name)
    axes[2].set_ylabel("control [N m, N]")
    axes[2].set_xlabel("time [s]")
    for ax in axes:
        if len(ax.lines) + len(ax.patches) <= 8:
            ax.legend(loc="best", fontsize="small")
        ax.grid(alpha=0.3)
    return figure
