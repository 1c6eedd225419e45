"""The pages docs/benchmarks/: claims, figures and verdicts, made of written results and of nothing else."""

import importlib.util
import inspect
import math
import shutil
from pathlib import Path
from typing import Any

from benchmarks import coverage, draw, front_page, opponents, store, why, wins
from benchmarks.catalogue import HERE, Entry, available
from benchmarks.machine import ROOT
from benchmarks.report import BETTER, NOT_REPRODUCED, REPRODUCED, Report, Sheet, cell, shown
from leastaction._files._output import writing

PAGES = ROOT / "docs" / "benchmarks"
FILLED = (
    ROOT / "README.md",
    *(PAGES.parent / "how-to" / name for name in ("foreign.md", "beside-mujoco.md", "speed.md")),
)
"""Pages that are written by hand, with tables in them that are not."""
RACES = "studies"
"""The page of benchmarks that belong to no paper."""
ROWS = 24
"""Longer tables stand in the JSON file alone."""

INTRODUCTION = """# Benchmarks

Every figure and table of the papers that this package builds on: the paper's claim, this package's measurement, and a
verdict. "Reproduced" means the same trend, "better" that the result exceeds the paper's own figure or its peer's.
`python -m benchmarks --publish` writes these pages from the JSON files in `docs/benchmarks/data/`, which
`python -m benchmarks NAME` (or `leastaction bench NAME`) produces; `make bench` runs all benchmarks. Peers are extras
(`pip install -e ".[bench]"`); results name peers that were not installed. Results marked "short
version" are from `--quick` runs, with fewer starts and sizes. Times are CPU times; ratios are of times of one run.

[Wins and losses](wins.md) compares each formulation with each peer, where it is faster and where slower;
[Comparison with all engines](opponents.md) lists every test with every engine, and figures published by others.
"""


def publish(entries: list[Entry]) -> list[Path]:
    """Copy results into the documentation and write its pages; those of `entries`, or all that are there.

    Of all, one that says less than what is published (a short run, or one without a peer) does not replace it.
    """
    for entry in entries or available().values():
        found = next((p for p in (store.path_of(entry.name, q) for q in (False, True)) if p.exists()), None)
        if found is None:
            continue
        (PAGES / "data").mkdir(parents=True, exist_ok=True)
        target = PAGES / "data" / store.path_of(entry.name).name
        lacks = "" if entries or not target.exists() else poorer(store.read(found), store.read(target))
        if lacks:
            print(f"kept the published {entry.name}: the new one {lacks}; by its name it is taken all the same")
        else:
            shutil.copyfile(found, target)
    results = published()
    (PAGES / "images").mkdir(parents=True, exist_ok=True)
    written = []
    for name, result in results.items():
        report = Report.of(result)
        if report.plots:
            written.append(draw.draw(report.plots, PAGES / "images" / image_name(name)))
    written += [draw.draw([plot], PAGES / "images" / name) for name, plot in why.pictures(results).items()]
    for path, text in texts(results).items():
        with writing(path, (".md",)) as part:
            part.write_text(text, encoding="utf-8")
        written.append(path)
    return written


def poorer(new: dict[str, Any], old: dict[str, Any]) -> str:
    """What a new result lacks beside an old one; empty if nothing."""
    if new["quick"] and not old["quick"]:
        return "is of a short run"
    gone = [peer for peer in new["missing"] if peer not in old["missing"]]
    return f"is without {', '.join(gone)}" if gone else ""


def texts(results: dict[str, dict[str, Any]]) -> dict[Path, str]:
    """All that is written of these results by its file: the pages, docs/why.md, tables within other pages."""
    return {
        **{PAGES / name: text for name, text in pages(results).items()},
        PAGES.parent / "why.md": why.page(results),
        **{path: front_page.filled(path.read_text(encoding="utf-8"), results) for path in FILLED},
    }


def published(folder: Path = PAGES / "data") -> dict[str, dict[str, Any]]:
    """Results of the documentation by name, in the order of the catalogue."""
    found = {result["name"]: result for result in map(store.read, sorted(folder.glob("*.json")))}
    return {name: found[name] for name in available() if name in found}


def pages(results: dict[str, dict[str, Any]]) -> dict[str, str]:
    """The text of each page by its file name."""
    groups: dict[str, dict[str, dict[str, Any]]] = {}
    for name, result in results.items():
        groups.setdefault(name.rpartition("/")[0] or RACES, {})[name] = result
    texts = {f"{group}.md": page(group, members, results) for group, members in groups.items()}
    return {
        "index.md": index(groups, results),
        "wins.md": wins.page(results),
        "opponents.md": opponents.page(results),
    } | texts


def heading(group: str) -> tuple[str, str]:
    """Title and introduction of a page: what the folder's __init__.py says."""
    file = HERE / group / "__init__.py"
    if not file.exists():
        return "Studies", "Benchmarks beyond the papers: speed of steps, robustness, third-party models."
    spec = importlib.util.spec_from_file_location(f"benchmarks.{group}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    title, _, rest = inspect.cleandoc(module.__doc__ or group).partition("\n")
    return title.rstrip("."), rest.strip()


def index(groups: dict[str, dict[str, dict[str, Any]]], results: dict[str, dict[str, Any]]) -> str:
    """How many claims stand, which do not, and all of them."""
    parts = [INTRODUCTION, "| page | reproduced | better | not reproduced |", "| --- | --- | --- | --- |"]
    missed = []
    for group, members in groups.items():
        if not any(result["claims"] for result in members.values()):
            continue
        claims = [claim for result in members.values() for claim in Report.of(result).claims]
        counts = [sum(claim.verdict == v for claim in claims) for v in (REPRODUCED, BETTER, NOT_REPRODUCED)]
        parts.append(f"| [{heading(group)[0]}]({group}.md) | {' | '.join(map(str, counts))} |")
        missed += [claim for claim in claims if claim.verdict == NOT_REPRODUCED]
    parts += ["", "## Not reproduced", ""]
    parts += [f"- **{cell(c.where)}**: {cell(c.paper)} Here: {cell(c.ours)} {cell(c.why)}" for c in missed]
    parts += [] if missed else ["All claims that were run are reproduced."]
    parts += ["", *coverage.table(results, lambda paper: heading(paper)[0])]
    return "\n".join(parts).rstrip() + "\n"


def page(group: str, members: dict[str, dict[str, Any]], results: dict[str, dict[str, Any]]) -> str:
    """The page of a paper."""
    title, text = heading(group)
    parts = [f"# {title}", "", text, "", *coverage.elsewhere(group, results)]
    for name, result in members.items():
        parts += section(name, result)
    return "\n".join(parts).rstrip() + "\n"


def section(name: str, result: dict[str, Any]) -> list[str]:
    """One benchmark: command, claims, plots, tables."""
    report = Report.of(result)
    parts = [f"## {report.title}", "", "```", f"python -m benchmarks {name}{' --quick' * result['quick']}", "```", ""]
    if report.claims:
        parts += ["| where | the paper | here | verdict |", "| --- | --- | --- | --- |"]
        for c in report.claims:
            told = f"**{c.verdict}**{': ' if c.why else ''}{cell(c.why)}"
            parts.append(f"| {cell(c.where)} | {cell(c.paper)} | {cell(c.ours)} | {told} |")
        parts.append("")
    if report.plots:
        described = "; ".join(plot.title for plot in report.plots).replace("[", "(").replace("]", ")")
        parts += [f"![{described}](images/{image_name(name)})", ""]
    for sheet in report.sheets:
        parts += table(sheet)
    if report.requirements:
        parts += ["| required | found | at most | |", "| --- | --- | --- | --- |"]
        for r in report.requirements:
            met = "met" if r.met else "**not met**"
            parts.append(f"| {cell(r.what)} | {r.value:.3g} | {r.bound:g} | {met} |")
        parts.append("")
    if report.notes:
        parts += [cell(report.notes).replace("\\|", "|"), ""]
    return [*parts, footer(name, result, report), ""]


def table(sheet: Sheet) -> list[str]:
    """A table, its beginning if it is long."""
    parts = [f"**{cell(sheet.title)}**", "", f"| {' | '.join(map(cell, sheet.columns))} |"]
    parts.append(f"| {' | '.join(['---'] * len(sheet.columns))} |")
    parts += [f"| {' | '.join(cell(shown(x)) for x in row)} |" for row in sheet.rows[:ROWS]]
    if len(sheet.rows) > ROWS:
        parts += ["", f"({len(sheet.rows) - ROWS} more rows are in the JSON file.)"]
    return [*parts, ""]


def footer(name: str, result: dict[str, Any], report: Report) -> str:
    """What made it."""
    m = result["machine"]
    told = [
        f"[JSON](data/{store.path_of(name).name})",
        *(["short version"] if result["quick"] else []),
        f"revision {m['revision']}",
        m["date"][:10],
        f"{m['processor']}, load {m['load']} on {m['cores']} cores",
        f"{result['seconds']:.0f} s, {result['peak_memory_mb'] or math.nan:.0f} MB",
        *([f"seeds {', '.join(map(str, report.seeds))}"] if report.seeds else []),
        *(f"{peer} not installed" for peer in report.missing),
    ]
    return f"*{' · '.join(told)}*"


def image_name(name: str) -> str:
    """Of the picture of a benchmark."""
    return store.path_of(name).with_suffix(".png").name
