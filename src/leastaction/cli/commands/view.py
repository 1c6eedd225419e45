"""`leastaction view`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from leastaction.cli._app import verb
from leastaction.cli._model import Floating, Ground, Parameters, Positions, add_ground, complete_run, find_model
from leastaction.cli.commands.simulate import ChosenIntegrator, Step, chosen_integrator
from leastaction.errors import LeastActionError


@verb("view double_pendulum", "view unitree_a1 --live --ground", "view first.npz second.npz --port 9000")
def view(
    what: Annotated[
        list[str],
        typer.Argument(metavar="RUN.npz|MODEL...", help="Saved runs, or a robot.", autocompletion=complete_run),
    ],
    q: Positions = None,
    parameters: Parameters = None,
    floating: Floating = False,
    live: Annotated[
        bool, typer.Option("--live", help="Let the robot go on in real time; the mouse pulls on its bodies.")
    ] = False,
    ground: Ground = False,
    integrator: ChosenIntegrator = None,
    dt: Step = 0.005,
    port: Annotated[int, typer.Option(help="To listen on; the next free one if it is taken.")] = 8080,
    browser: Annotated[bool, typer.Option(help="Open a tab of the browser.")] = True,
) -> None:
    """Show saved runs, a robot with sliders, or a simulation of it, in the browser."""
    import leastaction as la
    from leastaction._extras import require

    require("viser", "view")
    runs = [text for text in what if text.endswith(".npz")]
    if (runs and len(runs) < len(what)) or (not runs and len(what) > 1):
        raise LeastActionError("view shows one robot, or runs; save a run of each robot to see several")
    if live and runs:
        raise LeastActionError("--live is for robots; a saved run is played as it is")
    options: dict[str, Any] = {"port": port, "open_browser": browser, "block": True}
    if runs:
        shown = [la.Trajectory.load(text) for text in runs]
        la.view(shown if len(shown) > 1 else shown[0], **options)
    else:
        model = find_model(what[0], parameters, floating, q)
        if ground:
            add_ground(model, False)
        if not live:
            la.view(model.robot, q=model.q, **options)
            return
        sim = la.Simulator(model.robot, chosen_integrator(model.robot, integrator, None, None)[0], dt)
        sim.reset(model.q)
        la.view(sim, **options)
