"""The tables of the README and of three pages of docs/how-to, made of published results."""

import math
from collections.abc import Callable
from typing import Any

from benchmarks.report import Report, cell, shown

BEGIN, END = "<!-- {}: made by python -m benchmarks --publish -->\n", "<!-- end -->\n"


def filled(text: str, results: dict[str, dict[str, Any]]) -> str:
    """A page with its tables made anew; a table stays as it is where its result or its marks are missing."""
    for name, table in TABLES.items():
        begin = BEGIN.format(name)
        if name in results and begin in text:
            before, _, rest = text.partition(begin)
            text = before + begin + table(results) + END + rest.partition(END)[2]
    return text


def lined(*rows: list[str]) -> str:
    """A table in Markdown; the first row is its head."""
    head, *others = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([head, "| " + " | ".join("---" for _ in rows[0]) + " |", *others]) + "\n"


def claims(results: dict[str, dict[str, Any]]) -> str:
    """What holds: ours beside MuJoCo's."""
    sheets = [{row[0]: row[1:] for row in sheet.rows} for sheet in Report.of(results["claims"]).sheets]
    energy, gap, cube = sheets
    version = results["claims"]["machine"]["mujoco"]
    kinds = [name.removeprefix("MuJoCo ") for name in energy if name.startswith("MuJoCo ")]

    def text_of(values: list[Any], unit: str = "") -> str:
        return f"{values[0]:.2g}{unit}"

    def timed(name: str, values: list[Any]) -> str:
        return f"{name}, {values[-1]:.2g} µs a step"

    def theirs(sheet: dict[str, list[Any]]) -> list[str]:
        return [f"{text_of(sheet[f'MuJoCo {kind}'])} ({sheet[f'MuJoCo {kind}'][-1]:.2g} µs)" for kind in kinds]

    ours = cube["Maximal"]
    depth = "never below the ground" if max(ours[0], ours[1]) < 1e-9 else f"{max(ours[0], ours[1]):.1e}"
    rows = [
        [
            "energy of a double pendulum, largest error in 60 s [m g l]",
            f"{text_of(energy['Galerkin 4'])} ({timed('`Galerkin(order=4)`', energy['Galerkin 4'])})",
            *theirs(energy),
        ],
        [
            "gap of a four-bar linkage's loop, largest in 60 s [m]",
            f"{text_of(gap['Galerkin'])} ({timed('`Galerkin`', gap['Galerkin'])}); {text_of(gap['Maximal'])} "
            f"({timed('`Maximal`', gap['Maximal'])})",
            *theirs(gap),
        ],
        [
            "a cube lands and rests: deepest corner at any time [m]",
            f"{depth} ({timed('`Maximal`', ours)})",
            *theirs(cube),
        ],
    ]
    if "energy_hour" in results and not results["energy_hour"]["quick"]:
        long = {row[0]: row[1:] for row in Report.of(results["energy_hour"]).sheets[0].rows}
        rows.insert(1, ["the same in an hour", f"{long['Galerkin 4'][2]:.2g}", *("" for _ in kinds)])
    return lined(["steps of 0.01 s", "leastaction", *(f"MuJoCo {version} {kind}" for kind in kinds)], *rows)


def step_speed(results: dict[str, dict[str, Any]]) -> str:
    """What a step costs over whole motions, in forward dynamics."""
    rows = {(row[0], row[1]): row for row in Report.of(results["step_speed"]).sheets[0].rows}

    def text_of(motion: str, method: str) -> str:
        ratio, least, most = rows[motion, method][-3:]
        return f"{ratio:.1f} ({least:.1f} to {most:.1f})"

    def line(text: str, motion: str, *methods: str) -> list[str]:
        return [text, *(text_of(motion, method) for method in methods)]

    bodies, joints = ([f"{rule}, order {order}" for order in (2, 4)] for rule in ("bodies", "joints"))
    return lined(
        ["step / forward dynamics", "order 2", "order 4"],
        line("32 links from ±0.5 rad, `Galerkin(order)`", "32 links", *bodies),
        line('the same, `Galerkin(order, interpolation="joints")`', "32 links", *joints),
        line("the same, MuJoCo's Euler (order 1) and RK4", "32 links", "mj_step, Euler", "mj_step, RK4"),
        line("humanoid with 36 degrees of freedom thrown at 2 rad/s, `Galerkin(order)`", "humanoid", *bodies),
        line("32 slender links on ball joints from ±0.3 rad, `Galerkin(order)`", "32 balls", *bodies),
    )


def measured_on(result: dict[str, Any]) -> str:
    """With what, when and where a result was measured."""
    machine = result["machine"]
    return (
        f"Revision {machine['revision']}, {machine['date'][:10]}, {machine['processor']}, load {machine['load']} on "
        f"{machine['cores']} cores.\n"
    )


def foreign_robots(results: dict[str, dict[str, Any]]) -> str:
    """All files of others, those of one suffix after another, and what was refused."""
    result = results["foreign_robots"]
    runs, refused = Report.of(result).sheets
    parts = [f"{runs.title}; r{measured_on(result)[1:]}"]
    for suffix, format in ((".xml", "MJCF"), (".urdf", "URDF")):
        rows = [[cell(shown_short(x)) for x in row] for row in runs.rows if row[0].endswith(suffix)]
        parts.append(lined([f"{format} file", *runs.columns[1:]], *rows))
    if refused.rows:
        parts.append(lined(["not run", refused.columns[1]], *([cell(x) for x in row] for row in refused.rows)))
    return "\n" + "\n".join(parts) + "\n"


def in_full(name: str) -> Callable[[dict[str, dict[str, Any]]], str]:
    """All rows of all tables of a benchmark, and what it requires."""

    def table(results: dict[str, dict[str, Any]]) -> str:
        result = results[name]
        report = Report.of(result)
        parts = [f"{report.notes}\n", measured_on(result)]
        bounds = [[r.what, shown_short(r.value), shown_short(r.bound)] for r in report.requirements]
        parts += [lined(["", "measured", "wanted, at most"], *bounds)] if bounds else []
        for sheet in report.sheets:
            rows = [[cell(shown_short(x)) for x in row] for row in sheet.rows]
            parts += [f"### {sheet.title}\n", lined(sheet.columns, *rows)] if rows else []
        return "\n" + "\n".join(parts) + "\n"

    return table


def shown_short(x: Any) -> str:
    """A cell of a long table: numbers with two digits, nothing where there is none."""
    if isinstance(x, float):
        return "" if math.isnan(x) else f"{x:.0f}" if 10.0 <= x < 1e6 else f"{x:.2g}"
    return shown(x)


TABLES: dict[str, Callable[[dict[str, dict[str, Any]]], str]] = {
    "claims": claims,
    "step_speed": step_speed,
    "foreign_robots": foreign_robots,
    **{name: in_full(name) for name in ("menagerie", "holding", "manipulation")},
}
"""How each table is made, by the benchmark that it needs."""
