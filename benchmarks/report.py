"""What a benchmark tells: tables for people, the same numbers as JSON, and required figures."""

import json
import os
import platform
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

RESULTS = Path(__file__).parent / "results"


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
class Report:
    """Result of one benchmark."""

    title: str
    notes: str = ""
    sheets: list[Sheet] = field(default_factory=list)
    requirements: list[Requirement] = field(default_factory=list)

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
                table.add_row(*(Text(f"{x:.3g}" if isinstance(x, float) else str(x)) for x in row))
            console.print(table)
        for r in self.requirements:
            mark = Text("met", "green") if r.met else Text("NOT MET", "red")
            console.print(mark + Text(f"  {r.what}: {r.value:.3g} (required: at most {r.bound:g})"))

    def save(self, name: str) -> Path:
        """Write to results/<name>.json, with the machine and versions that made it."""
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / f"{name}.json"
        path.write_text(json.dumps({"machine": machine()} | asdict(self), indent=1))
        return path


def machine() -> dict[str, str | int | None]:
    """Where and with what the numbers were made."""

    def version(package: str) -> str:
        try:
            return metadata.version(package)
        except metadata.PackageNotFoundError:
            return "not installed"

    packages = {name: version(name) for name in ("leastaction", "numpy", "numba", "pin", "mujoco")}
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
    } | packages


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor()
