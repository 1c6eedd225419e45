"""Controls as they are typed: numbers that are held, or a file with a row for each step."""

from __future__ import annotations

import csv
from os.path import isfile
from pathlib import Path
from typing import Annotated, Any

import typer

from leastaction.cli._model import read_vector
from leastaction.errors import LeastActionError

MAX_BYTES = 2**28
"""Largest file that is read."""

Controls = Annotated[
    str | None,
    typer.Option(
        "--u",
        metavar="NUMBERS|FILE",
        help="Controls: 0.5,0 or motor=2 (the others 0), held throughout; or a .csv file with a row for each step, "
        "headed by names of actuators, such as `leastaction export --csv` writes. Default: zero.",
    ),
]


def read_controls(text: str | None, robot: Any) -> Any:
    """Controls for `leastaction.simulate`, shape (nu,) or (steps, nu); None where none were given."""
    if text is None:
        return None
    names = robot.control_names
    if text.strip().lower().endswith(".csv"):
        return _table(Path(text.strip()), names)
    return read_vector(text, names, [0.0] * len(names), "u")


def _table(path: Path, names: tuple[str, ...]) -> Any:
    """A row of controls for each row of a file; columns that are not there are zero, NaN in the last row ends it."""
    import numpy as np

    from leastaction.mechanism._check import suggestion

    if not isfile(path):
        raise LeastActionError(f"--u: {path}: there is no such file")
    if path.stat().st_size > MAX_BYTES:
        raise LeastActionError(f"--u: {path} has more than {MAX_BYTES // 2**20} MiB")
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = [[cell.strip() for cell in row] for row in csv.reader(file) if row]
    except (UnicodeDecodeError, csv.Error):
        raise LeastActionError(f"--u: {path} is no CSV file") from None
    if not rows:
        raise LeastActionError(f"--u: {path} is empty")
    heading = rows[0]
    exported = any(cell.startswith("u.") for cell in heading)  # beside other columns of the run
    columns = {cell.removeprefix("u."): k for k, cell in enumerate(heading) if cell.startswith("u.") or not exported}
    for name in columns:
        if name not in names:
            hint = f"{suggestion(name, names)}; its first row has to name controls"
            raise LeastActionError(f"--u: {path}: unknown name {name!r}{hint}")
    out = np.zeros((len(rows) - 1, len(names)))
    for line, row in enumerate(rows[1:]):
        for name, k in columns.items():
            try:
                out[line, names.index(name)] = float(row[k])
            except (IndexError, ValueError):
                raise LeastActionError(f"--u: {path}, row {line + 2}: no number for {name!r}") from None
    if len(out) and np.isnan(out[-1]).any():
        out = out[:-1]  # the end of a run, where no step begins
    bad = np.argwhere(~np.isfinite(out))
    if len(bad):
        raise LeastActionError(f"--u: {path}, row {bad[0, 0] + 2}: {names[bad[0, 1]]!r} is not finite")
    return out
