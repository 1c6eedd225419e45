"""Two versions of the code beside each other: what changed by more than its repetitions differ."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchmarks import store
from benchmarks.catalogue import Entry
from benchmarks.report import NOT_REPRODUCED, Measure, Report

LEAST = 0.03
"""Changes of times below this are never given: a code that is moved in memory does that much."""
ONCE = 0.15
"""Noise of a time that was measured fewer than three times, and so shows none itself."""
FACTOR = 2.0
"""By which errors must grow or shrink; those of round-off differ by less from one library to the next."""
MEMORY, COMPILING = 0.1, 0.3
"""Changes of the memory and of the time to compile that are given; neither is repeated."""


@dataclass
class Change:
    """A figure that changed."""

    benchmark: str
    what: str
    before: str
    after: str
    worse: bool


def collect(path: Path) -> dict[str, dict[str, Any]]:
    """Results by name: of one file, or of all in a folder."""
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    results = [store.read(file) for file in files]
    if not results:
        raise ValueError(f"{path}: no results here")
    return {result["name"]: result for result in results}


def noise(measure: Measure) -> float:
    """Half the range of the repetitions, relative to their median; of few a guess."""
    if len(measure.values) < 3:
        return ONCE
    middle = abs(measure.median)
    return 0.5 * (max(measure.values) - min(measure.values)) / middle if middle else 0.0


def measured(old: Measure, new: Measure) -> bool | None:
    """Whether a figure became worse (True) or better (False) beyond its noise; None: neither."""
    if old.kind == "count":
        return None if old.values == new.values else new.median > old.median
    if not old.median > 0.0 or not new.median > 0.0:
        return None
    ratio = new.median / old.median
    bound = FACTOR if old.kind == "error" else 1.0 + max(LEAST, noise(old) + noise(new))
    if ratio > bound:
        return True
    return False if ratio < 1.0 / bound else None


def changes(old: dict[str, Any], new: dict[str, Any]) -> list[Change]:
    """What changed between two results of one benchmark."""
    name, before, after = new["name"], Report.of(old), Report.of(new)
    same_machine = old["machine"]["processor"] == new["machine"]["processor"]
    found = []
    known = {m.what: m for m in before.measures}
    for m in after.measures:
        if m.what not in known or known[m.what].kind != m.kind or (m.kind == "time" and not same_machine):
            continue
        worse = measured(known[m.what], m)
        if worse is not None:
            found.append(Change(name, m.what, str(known[m.what]), str(m), worse))
    required = {r.what: r for r in before.requirements}
    for r in after.requirements:
        if r.what in required and required[r.what].met != r.met:
            found.append(Change(name, r.what, f"{required[r.what].value:.3g}", f"{r.value:.3g}", not r.met))
    claimed = {c.where: c for c in before.claims}
    for c in after.claims:
        if c.where in claimed and claimed[c.where].verdict != c.verdict:
            found.append(Change(name, c.where, claimed[c.where].verdict, c.verdict, c.verdict == NOT_REPRODUCED))
    for key, what, bound in (
        ("peak_memory_mb", "memory [MB]", MEMORY),
        ("compile_seconds", "compiling [s]", COMPILING),
    ):
        a, b = old.get(key), new.get(key)
        # Kernels that were in the cache say nothing about the time to compile them: as many must have been compiled.
        if key == "compile_seconds" and old.get("kernels_compiled") != new.get("kernels_compiled"):
            continue
        if a and b and same_machine and max(a, b) > (1.0 + bound) * min(a, b):
            found.append(Change(name, what, f"{a:.3g}", f"{b:.3g}", b > a))
    return found


def gone(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Figures that only the old result has: of a method that was renamed, or of a peer that is not installed now."""
    kept = {m["what"] for m in new["measures"]}
    return [m["what"] for m in old["measures"] if m["what"] not in kept]


def show(console: Console, old: dict[str, dict[str, Any]], entries: list[Entry], quick: bool) -> int:
    """Print what changed; 1 if anything became worse."""
    found, compared = [], 0
    for entry in entries:
        path = store.path_of(entry.name, quick)
        if entry.name not in old:
            continue
        if not path.exists():
            console.print(f"{entry.name}: not compared, for it has no new result", style="yellow")
            continue
        new = store.read(path)
        if new["quick"] != old[entry.name]["quick"]:
            console.print(f"{entry.name}: not compared, for one run is short and the other is not", style="yellow")
            continue
        compared += 1
        found += changes(old[entry.name], new)
        lost = gone(old[entry.name], new)
        if lost:
            console.print(
                f"{entry.name}: {len(lost)} figures are not in the new result, such as {lost[0]}", style="yellow"
            )
    if not found:
        console.print(f"{compared} compared: nothing changed beyond the noise")
        return 0 if compared else 1
    table = Table("benchmark", "figure", "before", "after", "")
    for c in found:
        mark = Text("worse", "red") if c.worse else Text("better", "green")
        table.add_row(c.benchmark, Text(c.what), Text(c.before), Text(c.after), mark)
    console.print(table)
    return 1 if any(c.worse for c in found) else 0
