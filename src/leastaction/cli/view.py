"""`leastaction view`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from leastaction.cli._app import verb
from leastaction.cli._model import Floating, Parameters, Positions, complete_run, find_model
from leastaction.errors import LeastActionError


@verb("view double_pendulum", "view run.npz", "view first.npz second.npz --port 9000")
def view(
    what: Annotated[
        list[str],
        typer.Argument(metavar="RUN.npz|MODEL...", help="Saved runs, or a robot.", autocompletion=complete_run),
    ],
    q: Positions = None,
    parameters: Parameters = None,
    floating: Floating = False,
    port: Annotated[int, typer.Option(help="To listen on; the next free one if it is taken.")] = 8080,
    browser: Annotated[bool, typer.Option(help="Open a tab of the browser.")] = True,
) -> None:
    """Show saved runs, or a robot with sliders, in the browser."""
    import leastaction as la
    from leastaction._extras import require

    require("viser", "view")
    runs = [text for text in what if text.endswith(".npz")]
    if (runs and len(runs) < len(what)) or (not runs and len(what) > 1):
        raise LeastActionError("view shows one robot, or runs; save a run of each robot to see several")
    options: dict[str, Any] = {"port": port, "open_browser": browser, "block": True}
    if runs:
        shown = [la.Trajectory.load(text) for text in runs]
        la.view(shown if len(shown) > 1 else shown[0], **options)
    else:
        model = find_model(what[0], parameters, floating, q)
        la.view(model.robot, q=model.q, **options)
