"""`leastaction view`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from leastaction.cli._app import verb
from leastaction.cli._model import Floating, Parameters, complete_run, find_model


@verb("view double_pendulum", "view run.npz", "view first.npz second.npz")
def view(
    what: Annotated[
        list[str],
        typer.Argument(metavar="RUN.npz|MODEL...", help="Saved runs, or a robot.", autocompletion=complete_run),
    ],
    parameters: Parameters = None,
    floating: Floating = False,
) -> None:
    """Show saved runs, or a robot at its home, in the browser."""
    import leastaction as la
    from leastaction._extras import require

    require("viser", "view")
    shown: list[Any] = []
    for text in what:
        if text.endswith(".npz"):
            shown.append(la.Trajectory.load(text))
        else:
            model = find_model(text, parameters, floating)
            # A run without steps: the robot where it starts.
            shown.append(la.simulate(model.robot, model.q, steps=0, project=True))
    la.view(shown if len(shown) > 1 else shown[0])  # type: ignore[attr-defined]
