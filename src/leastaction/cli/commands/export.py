"""`leastaction export`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from leastaction.cli._app import verb
from leastaction.cli._model import complete_run
from leastaction.cli._show import AsJson, compiling, console, print_json, progress
from leastaction.errors import LeastActionError


@verb(
    "export run.npz --csv",
    "export run.npz scene.html",
    "export run.npz --mp4 --html",
)
def export(
    run: Annotated[str, typer.Argument(metavar="RUN.npz", help="A saved run.", autocompletion=complete_run)],
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="File to write; its ending says what. Default: --output.")
    ] = None,
    html: Annotated[bool, typer.Option("--html", help="A page that plays in any browser, without Python.")] = False,
    mp4: Annotated[bool, typer.Option("--mp4", help="A film.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="A table of numbers.")] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File to write; default: the name of the run with a new ending."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Turn a saved run into a page, a film or a table."""
    import leastaction as la
    from leastaction._files._output import check_output
    from leastaction.trajectory.trajectory import archive_path

    if file is not None and output is not None:
        raise LeastActionError(f"give one file to write, {file} or --output {output}")
    output = file if output is None else output
    kinds = [kind for kind, wanted in (("html", html), ("mp4", mp4), ("csv", csv)) if wanted]
    if not kinds and output is not None:
        kinds = [kind for kind in ("html", "mp4", "csv") if output.suffix.lower() == f".{kind}"]
    if not kinds:
        raise LeastActionError("say what to write: --html, --mp4, --csv, or a file that ends in one of these")
    if output is not None and len(kinds) > 1:
        raise LeastActionError(f"{output} is one file; leave it out to write several kinds")
    trajectory = la.Trajectory.load(run)
    files = {kind: output or archive_path(run).with_suffix(f".{kind}") for kind in kinds}
    for kind, path in files.items():
        check_output(path, (f".{kind}",))
    with progress(not as_json) as bar, compiling(bar):
        for kind, path in files.items():
            task = bar.add_task(f"writing {path.name}", total=None)
            if kind == "csv":
                trajectory.to_csv(path)
            elif kind == "html":
                la.view.export_html(trajectory, path)
            else:
                report = partial(_report, bar, task)
                la.view.export_mp4(trajectory, path, progress=report)
            bar.remove_task(task)
    if as_json:
        print_json({"files": [str(path) for path in files.values()]})
        return
    for path in files.values():
        console().print(f"wrote {path} ({path.stat().st_size / 1e6:.2g} MB)", soft_wrap=True)


def _report(bar: Any, task: Any, done: int, frames: int) -> None:
    bar.update(task, completed=done, total=frames)
