"""A run as a page: what made it, how well it kept what it should keep, and where each coordinate went."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from leastaction._display.units import coordinate_units
from leastaction._files import _page as page
from leastaction._files._export import sensor_columns
from leastaction.integration import registry

if TYPE_CHECKING:
    from leastaction.trajectory.trajectory import Trajectory

READ = 1001
"""States up to which a page reads sensors that nobody has read yet: that takes a while."""

COLUMNS = ("coordinate", "unit", "#start", "#end", "#least", "#most")


def describe(run: Trajectory) -> page.Page:
    """The page of a run."""
    m = run.mechanism
    facts = [("integrator", registry.title(run.integrator) or "unknown"), ("steps", f"{run.steps} of {run.step_text}")]
    if len(run):
        change = np.abs(run.energy - run.energy[0]).max()
        facts += [
            ("time", f"{run.t[0]:g} s to {run.t[-1]:g} s"),
            ("energy", f"{run.energy[0]:.6g} J at the start, {run.energy[-1]:.6g} J at the end"),
            ("largest change of energy", f"{change:.3g} J{_share(change, run.kinetic_energy.max())}"),
        ]
        if not m.is_tree:
            facts.append(("largest violation of a loop", f"{run.constraint_violation.max():.3g} m or rad"))
        if run.iterations.any():
            its = run.iterations[1:]
            facts.append(("Newton iterations", f"{its.mean():.3g} a step, at most {its.max()}"))
    rows = []
    for k, unit in enumerate(coordinate_units(m) if len(run) else ()):
        rows.append(_row(m.coordinate_names[k], unit, run.q[:, k]))
    if 0 < len(run) <= READ or "sensors" in run.__dict__:
        units = {name: sensor.unit for sensor in m.sensors for name in sensor.columns}
        rows += [_row(name, units[name.removeprefix("sensor.")], x) for name, x in sensor_columns(run).items()]
    elif m.sensors:
        facts.append(("sensors", f"{len(m.sensors)}: run.sensors"))
    return page.Page(f"Run of {m.name}", facts, COLUMNS, rows)


def _row(name: str, unit: str, x: Any) -> tuple[str, ...]:
    """A line of the table: a column of shape (states,) and its name and unit."""
    return (name, unit, *(f"{y:.5g}" for y in (x[0], x[-1], x.min(), x.max())))


def _share(change: float, kinetic: float) -> str:
    """What the change is of the energy that goes back and forth: that of a potential has no zero of its own."""
    if not kinetic > 0.0 or change > 10.0 * kinetic:
        return ""
    return f", {change / kinetic:.1e} of the largest kinetic energy"


def html(run: Trajectory) -> str:
    """For notebooks."""
    return page.html(describe(run))


def panel(run: Trajectory) -> Any:
    """For rich."""
    return page.panel(describe(run))
