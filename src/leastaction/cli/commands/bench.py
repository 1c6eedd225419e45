"""`leastaction bench`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from leastaction.cli._app import fail, verb


@verb(
    "bench --list",
    "bench fan2018/fig1 --quick",
    "bench bruedigam2020 step_speed",
    "bench step_speed --compare old.json",
)
def bench(
    names: Annotated[
        list[str] | None, typer.Argument(help="Of benchmarks or their folders; without one all run.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Shorter runs: all take some minutes.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Also those that have a result of the same code.")] = False,
    compare: Annotated[
        Path | None,
        typer.Option(metavar="OLD", help="An older result, or a folder of them: shows what changed beyond the noise."),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List them, and what they are about.")] = False,
) -> None:
    """Run the benchmarks: figures and tables of papers, races against peers.

    They are part of a checkout, not of the installed package. Results are JSON files in benchmarks/results; what has
    one is not run again. Exit code 1 means that a benchmark did not run, that a required figure was not met, or that
    something became worse.
    """
    root = checkout()
    if root is None:
        fail(
            "the benchmarks are not part of the installed package: get a checkout of the repository and run "
            "`leastaction bench` in it"
        )
    if compare is not None and not compare.exists():
        fail(f"--compare: {compare} does not exist")
    options = (
        ["--help"] if listed else [*(names or []), *(["--quick"] if quick else []), *(["--again"] if again else [])]
    )
    if compare is not None:
        options += ["--compare", str(compare.resolve())]
    path = os.pathsep.join(filter(None, (str(root / "src"), str(root), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", *options], cwd=root, env=os.environ | {"PYTHONPATH": path}
    )
    if done.returncode:
        raise typer.Exit(done.returncode)


def checkout() -> Path | None:
    """The folder that holds benchmarks/: that of this package's sources, or the one where the command was given."""
    for folder in (Path(__file__).parents[4], Path.cwd()):
        if (folder / "benchmarks" / "__main__.py").is_file() and (folder / "src" / "leastaction").is_dir():
            return folder
    return None
