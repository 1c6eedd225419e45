"""`leastaction simulate`."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from leastaction.cli import _outputs
from leastaction.cli._app import verb
from leastaction.cli._controls import Controls, read_controls
from leastaction.cli._model import (
    Floating,
    Ground,
    ModelArgument,
    Parameters,
    Positions,
    Velocities,
    add_ground,
    find_model,
)
from leastaction.cli._show import AsJson, compiling, console, print_json, stopwatch
from leastaction.errors import LeastActionError


def complete_integrator(incomplete: str) -> list[str]:
    """Names of integrators."""
    from leastaction.integration import registry

    return [name for name in registry.names() if name.startswith(incomplete)]


IntegratorName = Annotated[
    str,
    typer.Option(
        "--integrator",
        "-i",
        metavar="NAME",
        help="`leastaction integrators` lists them.",
        autocompletion=complete_integrator,
    ),
]
ChosenIntegrator = Annotated[
    str | None,
    typer.Option(
        "--integrator",
        "-i",
        metavar="NAME",
        help="`leastaction integrators` lists them. By default what the robot needs: maximal for contacts, joint "
        "limits and dry friction, else galerkin of order 4.",
        autocompletion=complete_integrator,
    ),
]
Order = Annotated[int | None, typer.Option("--order", help="Order of the integrator, where it has a choice.")]
Options = Annotated[
    list[str] | None,
    typer.Option("--option", "-o", metavar="NAME=VALUE", help="Option of the integrator, such as solver=dense."),
]
Step = Annotated[float, typer.Option("--dt", metavar="SECONDS", help="Time step.")]
Duration = Annotated[float, typer.Option("--duration", "-t", metavar="SECONDS", help="Length of the run.")]
Project = Annotated[bool, typer.Option("--project", help="Close loops that the start leaves open.")]


@verb(
    "simulate double_pendulum",
    "simulate double_pendulum --integrator galerkin --order 4 --dt 0.01 --duration 10 --plot energy,q",
    "simulate pendulum --set links=5 --q joint1=pi/2 --save run.npz",
    "simulate my_robot.urdf --floating --duration 1 --json",
    "simulate my_robot.urdf --floating --ground --integrator maximal --plot contacts",
    "simulate four_bar --v 1,-1,1 --project --view",
    "simulate cart_pole --u motor=2.5 --duration 1",
)
def simulate(
    model: ModelArgument,
    integrator: ChosenIntegrator = None,
    order: Order = None,
    options: Options = None,
    dt: Step = 0.01,
    duration: Duration = 10.0,
    q: Positions = None,
    v: Velocities = None,
    u: Controls = None,
    project: Project = False,
    parameters: Parameters = None,
    floating: Floating = False,
    ground: Ground = False,
    save: Annotated[Path | None, typer.Option(help="Write the run to this .npz file.")] = None,
    plots: _outputs.Plots = None,
    folder: _outputs.Folder = Path(),
    plot_format: _outputs.Format = "png",
    view: Annotated[bool, typer.Option("--view", help="Show the run in the browser.")] = False,
    as_json: AsJson = False,
) -> None:
    """Simulate a robot, and report its energy."""
    import leastaction as la
    from leastaction._files._output import check_output
    from leastaction.trajectory.trajectory import archive_path

    start = find_model(model, parameters, floating, q, v)
    if ground:
        add_ground(start, project)
    method, why = chosen_integrator(start.robot, integrator, order, options)
    controls = read_controls(u, start.robot)
    if save is not None:
        check_output(archive_path(save))
    plan = _outputs.plan(plots, folder, plot_format, start.robot.name)
    if view:
        from leastaction._extras import require

        require("viser", "view")
    with compiling():
        call = {"dt": dt, "duration": duration, "project": project, "controls": controls}
        run, seconds = timed_run(start, method, call, not as_json)
        summary = summarize(run, seconds)
        files = [run.save(save)] if save is not None else []
        files += _outputs.draw(plan, [run])
    if as_json:
        print_json(summary | {"files": [str(file) for file in files]})
    else:
        screen = console()
        screen.print(run)
        screen.print(
            f"computed in {seconds:.3g} s: {run.steps / seconds:,.0f} steps a second" if run.steps else "no steps"
        )
        for file in files:
            screen.print(f"wrote {file}", soft_wrap=True)
    if why:
        console(stderr=True).print(why, style="dim", soft_wrap=True)
    if view:
        la.view(run, block=True)


def timed_run(start: Any, method: Any, options: dict[str, Any], progress: bool) -> tuple[Any, float]:
    """(run, seconds); a single step goes before it, so that compiling and loading kernels is not on the clock."""
    import leastaction as la

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the run itself gives them
        la.simulate(start.robot, start.q, start.v, integrator=method, progress=False, **_short(options))
    with stopwatch() as spent:
        run = la.simulate(
            start.robot, start.q, start.v, integrator=method, progress=None if progress else False, **options
        )
    return run, spent[0]


def _short(options: dict[str, Any]) -> dict[str, Any]:
    """The same with at most one step."""
    if not options["duration"] > options["dt"] > 0.0:
        return options
    controls: Any = options.get("controls")
    one = controls[:1] if getattr(controls, "ndim", 1) == 2 else controls
    return options | {"duration": options["dt"], "controls": one}


def chosen_integrator(robot: Any, name: str | None, order: int | None, options: list[str] | None) -> tuple[Any, str]:
    """(the integrator of that name, nothing); without a name (what the robot needs, why in a line)."""
    from leastaction.integration import registry
    from leastaction.integration.default import choose

    if name is not None:
        return make_integrator(name, order, options), ""
    found, why = choose(robot)
    if order is not None or options:
        own = registry.to_json(found)
        if order is not None and own["name"] == "minimal":  # which has one order
            own["name"] = "maximal"
        found = make_integrator(own["name"], own["options"].get("order") if order is None else order, options)
    return found, f"{registry.title(found)} for {robot.name!r}: {why} (--integrator takes another)"


def make_integrator(name: str, order: int | None = None, options: list[str] | None = None) -> Any:
    """The integrator of that name; `name` may carry options as `registry.parse` reads them."""
    from leastaction.integration import registry

    settings: dict[str, str] = {}
    for text in options or ():
        key, equals, value = text.partition("=")
        if not equals:
            raise LeastActionError(f"--option {text}: expected NAME=VALUE, such as solver=dense")
        settings[key] = value
    if order is not None:
        settings["order"] = str(order)
    if ":" not in name:
        return registry.make(name, settings)
    if settings:
        raise LeastActionError(f"give options either within {name!r} or by --order and --option")
    return registry.parse(name)


def summarize(run: Any, seconds: float) -> dict[str, Any]:
    """The figures of a run: what it kept and where it ended."""
    import numpy as np

    from leastaction.cli._laws import keeps_energy, momentum_drift
    from leastaction.integration import registry

    energy = run.energy
    tenth = max(1, len(energy) // 10)
    return {
        "robot": run.mechanism.name,
        "integrator": registry.label(run.integrator),
        "dt": run.dt,
        "steps": run.steps,
        "seconds": seconds,
        "steps_per_second": run.steps / max(seconds, 1e-9),
        "energy_start": energy[0],
        "energy_end": energy[-1],
        "energy_error": np.abs(energy - energy[0]).max(),
        "energy_drift": energy[-tenth:].mean() - energy[:tenth].mean(),
        "energy_is_kept": keeps_energy(run.mechanism),
        "momentum_drift": momentum_drift(run),
        "constraint_violation": run.constraint_violation.max(),
        "iterations": run.iterations[1:].mean() if run.steps else 0.0,
        "q": dict(zip(run.mechanism.coordinate_names, run.q[-1], strict=True)),
        "v": dict(zip(run.mechanism.velocity_names, run.v[-1], strict=True)),
    }
