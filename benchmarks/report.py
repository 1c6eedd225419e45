"""What a benchmark shows: tables, plots, claims of papers with a verdict, required figures, repeated measurements."""

import math
import statistics
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

RESULTS = Path(__file__).parent / "results"

REPRODUCED, BETTER, NOT_REPRODUCED = "reproduced", "better", "not reproduced"
KINDS = ("time", "ratio", "count", "error")


@dataclass
class Sheet:
    """A table: one heading per column, rows of numbers or text."""

    title: str
    columns: list[str]
    rows: list[list] = field(default_factory=list)


@dataclass
class Requirement:
    """A figure that must not exceed its bound."""

    what: str
    value: float
    bound: float

    @property
    def met(self) -> bool:
        return self.value <= self.bound


@dataclass
class Claim:
    """What a paper says in one figure or table, what was measured, and whether that is the same.

    `why` shows what differs, and must where the claim is not reproduced.
    """

    where: str
    paper: str
    ours: str
    verdict: str
    why: str = ""

    def __post_init__(self) -> None:
        if self.verdict not in (REPRODUCED, BETTER, NOT_REPRODUCED):
            raise ValueError(f"unknown verdict {self.verdict!r}")
        if self.verdict == NOT_REPRODUCED and not self.why:
            raise ValueError(f"{self.where}: not reproduced, and nothing says why")


def verdict(holds: Any, better: Any = False) -> str:
    """The verdict on a claim that holds or not; `better`: it holds, and ours is beyond it."""
    return (BETTER if better else REPRODUCED) if holds else NOT_REPRODUCED


def judged(where: str, paper: str, ours: str, holds: Any, why: str, *, better: Any = False, note: str = "") -> Claim:
    """A claim with its verdict; `why` it is not reproduced, or a `note` where it is."""
    return Claim(where, paper, ours, verdict(holds, better), note if holds else why)


@dataclass
class Measure:
    """One figure with all its repetitions, for comparisons between versions of the code.

    Kinds: `time` [s] of the processor, `ratio` of two times of one run, `count` (iterations, operations: any change
    matters), `error` (of an answer: factors matter).
    """

    what: str
    kind: str
    values: list[float]

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"unknown kind {self.kind!r}")
        self.values = [float(x) for x in self.values]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    def __str__(self) -> str:
        if len(self.values) == 1:
            return f"{self.median:.3g}"
        return f"{self.median:.3g} ({min(self.values):.3g} to {max(self.values):.3g})"


@dataclass
class Plot:
    """Lines over one axis: {label: (x, y)}. Drawn from the written result, see `benchmarks.draw`."""

    title: str
    x: str
    y: str
    lines: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    log: str = ""
    """Axes with logarithmic scales: "", "x", "y" or "xy"."""
    marks: bool = True


@dataclass
class Report:
    """Result of one benchmark."""

    title: str
    notes: str = ""
    sheets: list[Sheet] = field(default_factory=list)
    requirements: list[Requirement] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    measures: list[Measure] = field(default_factory=list)
    plots: list[Plot] = field(default_factory=list)
    seeds: list[int] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    """Peers that are not installed, and so were not raced."""

    def show(self, console: Console) -> None:
        # As Text everywhere: [rad] is a unit, not markup.
        console.rule(Text(self.title))
        if self.notes:
            console.print(Text(self.notes))
        for sheet in self.sheets:
            table = Table(title=Text(sheet.title), title_justify="left")
            for k, heading in enumerate(sheet.columns):
                table.add_column(Text(heading), justify="left" if k == 0 else "right")
            for row in sheet.rows:
                table.add_row(*(Text(shown(x)) for x in row))
            console.print(table)
        for claim in self.claims:
            mark = Text(claim.verdict, "red" if claim.verdict == NOT_REPRODUCED else "green")
            why = f" ({claim.why})" if claim.why else ""
            console.print(mark + Text(f"  {claim.where}: {claim.paper} | here: {claim.ours}{why}", ""))
        for r in self.requirements:
            mark = Text("met", "green") if r.met else Text("NOT MET", "red")
            console.print(mark + Text(f"  {r.what}: {r.value:.3g} (required: at most {r.bound:g})"))
        for name in self.missing:
            console.print(Text("missing", "yellow") + Text(f"  {name} is not installed and was not raced"))

    def data(self) -> dict[str, Any]:
        """As JSON knows it."""
        found = asdict(self)
        for known, r in zip(found["requirements"], self.requirements, strict=True):
            known["met"] = bool(r.met)
        return plain(found)

    @classmethod
    def of(cls, data: dict[str, Any]) -> "Report":
        """What `data` was made of; keys of others are omitted."""
        requirements = [Requirement(r["what"], number(r["value"]), number(r["bound"])) for r in data["requirements"]]
        return cls(
            title=data["title"],
            notes=data["notes"],
            sheets=[Sheet(**sheet) for sheet in data["sheets"]],
            requirements=requirements,
            claims=[Claim(**claim) for claim in data["claims"]],
            measures=[Measure(m["what"], m["kind"], [number(x) for x in m["values"]]) for m in data["measures"]],
            plots=[Plot(**plot) for plot in data["plots"]],
            seeds=data["seeds"],
            missing=data["missing"],
        )


def shown(x: Any) -> str:
    """A number or text as it stands in tables."""
    if x is None:
        return "–"
    return f"{x:.3g}" if isinstance(x, float) else str(x)


def cell(text: str) -> str:
    """Text that cannot break a table."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def plain(x: Any) -> Any:
    """Dictionaries, lists, numbers and text that strict JSON can hold: what is not a number becomes nothing."""
    if isinstance(x, dict):
        return {str(key): plain(value) for key, value in x.items()}
    if isinstance(x, list | tuple | np.ndarray):
        return [plain(value) for value in x]
    if isinstance(x, np.bool_):
        return bool(x)
    if isinstance(x, np.integer):
        return int(x)
    if isinstance(x, float | np.floating):
        if math.isnan(x):
            return None
        return float(x) if math.isfinite(x) else ("inf" if x > 0 else "-inf")
    return x


def number(x: Any) -> float:
    """A number that was written by `plain`."""
    return math.nan if x is None else float(x)
