"""The page docs/benchmarks/wins.md: where each formulation leads each peer and where it trails, from the races."""

from dataclasses import dataclass
from typing import Any

from benchmarks.report import Report, Sheet, cell, shown

BESIDE = "Our time over that of each peer's best method"
"""Title of the tables in the results of races that this page is made of."""

EXPLICIT = "RungeKutta"
"""The one of ours that keeps no structure."""

INTRODUCTION = """# Wins and losses

The ratio of the CPU times to reach an accuracy, ours over that of the peer's best integrator, for every race of
[Races](races.md). Below 1 ours is faster. "Alone": the peer does not reach the accuracy with any of the tested steps;
"peer alone": ours does not. Each race defines its error, the tested steps, and how times are measured.
Of the variants of one formulation (orders, solvers), the fastest counts.
"""

TRAILING = f"""## Where peers lead

Robots and accuracies at which all methods of this package except the explicit `{EXPLICIT}` are slower than the peer:
"""

FORMULATIONS = {
    "Galerkin": "The variational integrator in joint coordinates, of any even order, also for trajectory optimisation.",
    "Maximal": "The variational integrator in body coordinates, with loops, rigid contact and friction.",
    "Minimal": "The variational integrator of order 2 on body poses, in joint coordinates, with rigid contact.",
    "RungeKutta": "Explicit Runge-Kutta of order 4 on this package's forward dynamics; not structure-preserving.",
    "Midpoint": "The variational midpoint rule, here for trajectory optimisation.",
    "BDF": "Reduced coordinates, backward differentiation formula, with numerical damping.",
    "SDIRK2": "Reduced coordinates, singly diagonally implicit Runge-Kutta, with numerical damping.",
}


@dataclass(frozen=True)
class Lap:
    """One accuracy of one robot: our formulation beside all peers."""

    race: str
    robot: str
    accuracy: str
    ours: str
    peers: dict[str, Any]


def laps(results: dict[str, dict[str, Any]]) -> list[Lap]:
    """All of them, from results that have such a table."""
    found = []
    for result in results.values():
        report = Report.of(result)
        for sheet in report.sheets:
            if sheet.title == BESIDE:
                found += [lap(report.title, sheet, row) for row in sheet.rows]
    return found


def lap(race: str, sheet: Sheet, row: list) -> Lap:
    """One row of a table."""
    robot, accuracy, ours, *values = row
    unit = sheet.columns[1].partition("[")[2].rstrip("]")
    return Lap(race, robot, f"{accuracy} {unit}", ours, dict(zip(sheet.columns[3:], values, strict=True)))


def summary(values: list[Any]) -> str:
    """In how many of the comparisons ours leads."""
    numbers = [x for x in values if isinstance(x, float | int)]
    faster, slower = sorted(x for x in numbers if x < 1.0), sorted(x for x in numbers if x >= 1.0)
    told = [f"faster in {len(faster)} ({span(faster)} of its time)"] if faster else []
    told += [f"slower in {len(slower)} ({span(slower)} times)"] if slower else []
    told += [f"alone in {values.count('alone')}"] if "alone" in values else []
    told += [f"only the peer in {values.count('peer alone')}"] if "peer alone" in values else []
    told += [f"neither in {values.count('neither')}"] if "neither" in values else []
    raced = len(values) - values.count("not run")
    return f"of {raced}: {', '.join(told)}" if raced else "not raced"


def span(values: list[float]) -> str:
    """From the least to the most."""
    low, high = f"{values[0]:.2g}", f"{values[-1]:.2g}"
    return low if low == high else f"{low} to {high}"


def overview(results: dict[str, dict[str, Any]]) -> list[str]:
    """A table: in how many races each formulation leads each peer (quicker, or alone at that accuracy), of how many."""
    every = laps(results)
    peers = list(dict.fromkeys(peer for x in every for peer in x.peers))
    parts = [f"| leads, of those raced | {' | '.join(peers)} |", f"| --- |{' --- |' * len(peers)}"]
    for ours in dict.fromkeys((*FORMULATIONS, *(x.ours for x in every))):
        mine = [x for x in every if x.ours == ours]
        if mine:
            cells = [leads([x.peers[peer] for x in mine if peer in x.peers]) for peer in peers]
            parts.append(f"| `{ours}` | {' | '.join(cells)} |")
    return [*parts, ""]


def leads(values: list[Any]) -> str:
    """Such as "12 of 40"; where neither gets there, nobody was raced."""
    raced = [x for x in values if x not in ("not run", "neither", None)]
    ahead = sum(x == "alone" or (isinstance(x, float | int) and x < 1.0) for x in raced)
    return f"{ahead} of {len(raced)}" if raced else "–"


def trailing(results: dict[str, dict[str, Any]]) -> list[str]:
    """A line for each peer: where none of our structure-preserving methods leads it."""
    best: dict[str, dict[tuple[str, str, str], list[Any]]] = {}
    for x in laps(results):
        for peer, value in x.peers.items():
            if x.ours != EXPLICIT and value not in ("not run", "neither", None):
                best.setdefault(peer, {}).setdefault((x.race, x.robot, x.accuracy), []).append(value)
    parts = []
    for peer, cells in best.items():
        behind: dict[str, list[str]] = {}
        for (race, robot, accuracy), values in cells.items():
            numbers = [x for x in values if isinstance(x, float | int)]
            if "alone" in values or min(numbers, default=2.0) < 1.0:
                continue
            factor = f"{min(numbers):.2g} times" if numbers else "not reached"
            behind.setdefault(f"{race}, {robot}", []).append(f"{accuracy}: {factor}")
        told = "; ".join(f"{where} ({', '.join(some)})" for where, some in behind.items())
        count = sum(map(len, behind.values()))
        parts.append(f"- **{peer}** leads in {count} of {len(cells)}{': ' + told if told else ''}.")
    return [*parts, ""]


def page(results: dict[str, dict[str, Any]]) -> str:
    """The whole page."""
    every = laps(results)
    parts = [INTRODUCTION, *overview(results), TRAILING, *trailing(results)]
    for ours in dict.fromkeys((*FORMULATIONS, *(x.ours for x in every))):
        mine = [x for x in every if x.ours == ours]
        if not mine:
            continue
        peers = list(dict.fromkeys(peer for x in mine for peer in x.peers))
        parts += [f"## {ours}", "", FORMULATIONS.get(ours, ""), ""]
        parts += [f"- **{peer}**, {summary([x.peers[peer] for x in mine if peer in x.peers])}" for peer in peers]
        parts += ["", f"| race | robot | to | {' | '.join(peers)} |", f"| --- | --- | --- |{' --- |' * len(peers)}"]
        for race, robot in dict.fromkeys((x.race, x.robot) for x in mine):
            some = [x for x in mine if (x.race, x.robot) == (race, robot)]
            cells = [" · ".join(told(x.peers.get(peer)) for x in some) for peer in peers]
            accuracies = " · ".join(x.accuracy for x in some)
            parts.append(f"| {cell(race)} | {cell(robot)} | {accuracies} | {' | '.join(cells)} |")
        parts.append("")
    return "\n".join(parts).rstrip() + "\n"


def told(value: Any) -> str:
    """A cell: a ratio in bold where ours is faster."""
    if value is None or value == "not run":
        return "–"
    if isinstance(value, float | int):
        return f"**{value:.2g}**" if value < 1.0 else f"{value:.2g}"
    return f"**{value}**" if value == "alone" else shown(value)
