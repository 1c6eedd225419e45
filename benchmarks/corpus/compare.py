"""`python -m benchmarks.corpus.compare OLD NEW`: two results of one table, before and after, cell by cell.

With NEW alone, the old one is that of `benchmarks/corpus/baseline/`.
"""

import argparse
import itertools
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchmarks import store
from benchmarks.report import Sheet, shown

BASELINE = Path(__file__).parent / "baseline"


def joined(old: Sheet, new: Sheet) -> Sheet:
    """The new table; a cell that changed is "before → after", and rows and columns that are new have no before."""
    before = {key(row): dict(zip(old.columns, map(shown, row), strict=True)) for row in old.rows}
    out = Sheet(new.title, new.columns)
    for row in new.rows:
        known = before.get(key(row), {})
        pairs = [(known.get(column), shown(x)) for column, x in zip(new.columns, row, strict=True)]
        out.rows.append([now if was in (None, now) else f"{was} → {now}" for was, now in pairs])
    return out


def key(row: list) -> tuple[str, ...]:
    """What a row is about: the words that it begins with."""
    return tuple(itertools.takewhile(lambda x: isinstance(x, str), row))


def tables(old: dict[str, Any], new: dict[str, Any]) -> list[Sheet]:
    """All tables of a new result that the old one has, too."""
    if old["name"] != new["name"]:
        raise ValueError(f"results of different benchmarks: {old['name']} and {new['name']}")
    known = {sheet["title"]: Sheet(**sheet) for sheet in old["sheets"]}
    found = [Sheet(**sheet) for sheet in new["sheets"]]
    return [joined(known[sheet.title], sheet) for sheet in found if sheet.title in known]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.corpus.compare", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("results", nargs="+", type=Path, metavar="RESULT", help="OLD and NEW, or NEW alone")
    paths = parser.parse_args(arguments).results
    if len(paths) > 2:
        parser.error("expected one or two results")
    try:
        new = store.read(paths[-1])
        old = store.read(paths[0] if len(paths) > 1 else BASELINE / store.path_of(new["name"]).name)
        sheets = tables(old, new)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    console = Console(width=240)
    before, after = (result["machine"]["package_revision"] for result in (old, new))
    console.print(f"{new['name']}: package {before} → {after}", highlight=False)
    for sheet in sheets:
        table = Table(title=Text(sheet.title), title_justify="left")
        for column in sheet.columns:
            table.add_column(Text(column), justify="left" if column == sheet.columns[0] else "right")
        for row in sheet.rows:
            table.add_row(*(Text(cell, "bold" if "→" in cell else "") for cell in row))
        console.print(table)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
