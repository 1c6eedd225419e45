"""Plots that `simulate` and `compare` can write."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from leastaction._files._output import check_output
from leastaction.errors import LeastActionError

KINDS = ("energy", "energy-error", "momentum", "q", "phase", "violation", "contacts")
FORMATS = ("png", "pdf", "svg")

Plots = Annotated[
    str | None, typer.Option("--plot", metavar="KINDS", help=f"Plots to draw, with commas: {', '.join(KINDS)}.")
]
Folder = Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where plots are written.")]
Format = Annotated[str, typer.Option("--format", help=f"Of the plots: {', '.join(FORMATS)}.")]


def plan(kinds: str | None, folder: Path, suffix: str, name: str, several: bool = False) -> dict[str, Path]:
    """The file of each plot, checked before the work; refuses what cannot be drawn or written."""
    if kinds is None:
        return {}
    from leastaction._extras import require
    from leastaction.mechanism._check import suggestion

    require("matplotlib", "view")
    if suffix not in FORMATS:
        raise LeastActionError(f"--format: expected one of {', '.join(FORMATS)}, got {suffix!r}")
    files = {}
    for kind in filter(None, (kind.strip() for kind in kinds.split(","))):
        if kind not in KINDS:
            raise LeastActionError(f"--plot: unknown kind {kind!r}{suggestion(kind, KINDS)}")
        if several and kind == "contacts":
            raise LeastActionError("--plot: contacts are drawn for one run only")
        files[kind] = check_output(folder / f"{name}_{kind}.{suffix}")
    return files


def draw(files: dict[str, Path], runs: Sequence[Any], labels: Sequence[str] | None = None) -> list[Path]:
    """Draw the planned plots; returns the files."""
    from leastaction import plot

    for kind, path in files.items():
        if kind == "contacts":
            plot.contacts(runs[0], path=path)
            continue
        function = {"q": plot.coordinates, "phase": plot.phase, "momentum": plot.momentum}.get(kind, plot.energy)
        function = plot.constraint_violation if kind == "violation" else function
        options = {"error": True} if kind == "energy-error" else {}
        function(list(runs), labels=labels, path=path, **options)
    return list(files.values())
