"""`leastaction compare`."""

from __future__ import annotations

from itertools import compress
from pathlib import Path
from typing import Annotated, Any

import typer

from leastaction.cli import _outputs
from leastaction.cli._app import fail, verb
from leastaction.cli._model import Floating, ModelArgument, Parameters, Positions, Velocities, find_model
from leastaction.cli._show import AsJson, compiling, console, print_json, progress
from leastaction.cli.commands.simulate import Duration, Project, Step, complete_integrator, summarize, timed_run
from leastaction.errors import LeastActionError

FOR_TREES = "galerkin:2,galerkin:4,runge-kutta:4,semi-implicit-euler"
FOR_LOOPS = "galerkin:2,galerkin:4"
NONE = "–"
"""In place of what a robot has not; a column of nothing else is omitted."""


@verb(
    "compare double_pendulum",
    "compare double_pendulum --integrators galerkin:2,galerkin:6,runge-kutta,heun --plot energy-error",
    "compare free_body --dt 0.05 --duration 60",
    "compare four_bar --v 1,-1,1 --project --plot violation",
    "compare acrobot --json",
)
def compare(
    model: ModelArgument,
    names: Annotated[
        str | None,
        typer.Option(
            "--integrators",
            "-i",
            metavar="NAMES",
            help="With commas; options after colons: galerkin:4, galerkin:order=4:solver=dense.",
            autocompletion=complete_integrator,
        ),
    ] = None,
    dt: Step = 0.01,
    duration: Duration = 10.0,
    q: Positions = None,
    v: Velocities = None,
    project: Project = False,
    parameters: Parameters = None,
    floating: Floating = False,
    plots: _outputs.Plots = None,
    folder: _outputs.Folder = Path(),
    plot_format: _outputs.Format = "png",
    as_json: AsJson = False,
) -> None:
    """Compare integrators on one motion.

    Energy, momentum, constraint violation and computing time side by side. Times are those
    of a second run, without compiling and loading kernels.
    """
    from leastaction.integration import registry

    start = find_model(model, parameters, floating, q, v)
    text = names or (FOR_TREES if start.robot.is_tree else FOR_LOOPS)
    methods = [registry.parse(name) for name in filter(None, (name.strip() for name in text.split(",")))]
    if not methods:
        raise LeastActionError("--integrators: name at least one")
    plan = _outputs.plan(plots, folder, plot_format, f"{start.robot.name}_compare", several=True)
    options = {"dt": dt, "duration": duration, "project": project}
    runs, rows = _run_all(start, methods, options, not as_json)
    files = _outputs.draw(plan, runs, [r["integrator"] for r in rows if "error" not in r]) if runs else []
    if as_json:
        print_json({"results": rows, "files": [str(file) for file in files]})
    else:
        _show(start.robot, rows, dt, duration)
        for file in files:
            console().print(f"wrote {file}", soft_wrap=True)
    if not runs:
        fail(rows[0]["error"])


def _run_all(start: Any, methods: list[Any], options: dict[str, Any], show: bool) -> tuple[list[Any], list[Any]]:
    """(runs that succeeded, a row of figures or an error for each method)."""
    import leastaction as la
    from leastaction.integration import registry

    runs, rows = [], []
    with progress(show) as bar, compiling(bar):
        task = bar.add_task("", total=len(methods))
        for method in methods:
            label = registry.label(method)
            bar.update(task, description=label)
            try:
                run, seconds = timed_run(start, method, options, progress=False)
                runs.append(run)
                rows.append(summarize(run, seconds))
            except la.IntegratorError as error:
                rows.append({"integrator": label, "error": str(error)})
            bar.advance(task)
    return runs, rows


def _show(robot: Any, rows: list[dict[str, Any]], dt: float, duration: float) -> None:
    from rich.table import Table
    from rich.text import Text

    from leastaction.cli._laws import keeps_energy

    kept = keeps_energy(robot)
    table = Table(title=Text(f"{robot.name}: {duration:g} s in steps of {dt:g} s"), title_justify="left")
    table.add_column("integrator", no_wrap=True)
    energy = ("largest energy error [J]", "energy drift [J]") if kept else ("largest energy change [J]", "trend [J]")
    headings = (*energy, "momentum drift", "constraint violation", "iterations", "time [s]")
    cells = [None if "error" in row else _cells(row, robot.is_tree) for row in rows]
    filled = [any(row is not None and row[k] != NONE for row in cells) for k in range(len(headings))]
    for heading in compress(headings, filled):
        table.add_column(Text(heading), justify="right")
    for row, texts in zip(rows, cells, strict=True):
        table.add_row(row["integrator"], *(compress(texts, filled) if texts else [Text("refused", "red")]))
    screen = console()
    screen.print(table)
    for row in rows:
        if "error" in row:
            screen.print(f"{row['integrator']}: {row['error']}", style="red")
    if not kept:
        screen.print("Energy is not to be kept here: damping, friction, contact or wrenches act on this robot.")


def _cells(row: dict[str, Any], is_tree: bool) -> list[str]:
    """Figures of a run as text."""
    momentum = row["momentum_drift"]
    return [
        f"{row['energy_error']:.2e}",
        f"{row['energy_drift']:+.2e}",
        NONE if momentum is None else f"{momentum:.2e}",
        NONE if is_tree and not row["constraint_violation"] else f"{row['constraint_violation']:.2e}",
        f"{row['iterations']:.1f}" if row["iterations"] else NONE,
        f"{row['seconds']:.3g}",
    ]
