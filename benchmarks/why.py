"""The page docs/why.md, made of published results."""

from typing import Any

from benchmarks import wins
from benchmarks.report import Plot, Report, cell

SECTIONS = (
    (
        "Energy",
        "energy_hour",
        0,
        "A variational integrator does not discretise the equations of motion but the action, and derives "
        "the step from it. "
        "The energy of a double pendulum then swings about its value and does not drift, for an hour as for a minute.",
    ),
    (
        "Loops",
        "bruedigam2023/fig7",
        0,
        "Loops are equations of positions that every step solves. Equations of accelerations, the usual "
        "way, drift apart and "
        "need springs against it.",
    ),
    (
        "Contact",
        "bruedigam2023/fig7",
        3,
        "Contact is rigid: an inequality and Coulomb's cone, solved in every step. A resting body does not sink in. "
        "Peers that model contact as a spring can be made stiffer, for smaller steps.",
    ),
    (
        "Gradients",
        "sueda2021/adjoint",
        0,
        "Steps are differentiated by the implicit function theorem, so the gradient of a whole run by thousands of "
        "controls or parameters costs about as much as the run itself; through contact too.",
    ),
    (
        "Optimisation",
        "villanueva2025/table4",
        0,
        "The same steps are the constraints of trajectory optimisation, with sparse analytic Jacobians and "
        "exact second "
        "derivatives: a humanoid that lifts a leg on one foot in a fraction of a second. The paper's times are those "
        "of its own machine.",
    ),
)

LEFT_OUT = {"Galerkin 4, loose", "MuJoCo Euler"}
"""Lines that a picture of this page does without: they lie upon others."""

HEAD = """# Why variational integrators

Five pictures, each with the command that makes its numbers. They are drawn from the same JSON files as the
[benchmarks](benchmarks/index.md), which have the figures and tables of the papers, with a verdict. When *not* to use
this package has [a page of its own](when-not.md).
"""


def image_name(title: str) -> str:
    """Of the picture of a section."""
    return f"why_{title.lower()}.png"


def pictures(results: dict[str, dict[str, Any]]) -> dict[str, Plot]:
    """The plot of each section by the name of its file, of those whose results are there."""
    found = {image_name(s[0]): Report.of(results[s[1]]).plots[s[2]] for s in SECTIONS if s[1] in results}
    for plot in found.values():
        plot.lines = {label: line for label, line in plot.lines.items() if label not in LEFT_OUT}
    return found


def energies(report: Report) -> list[str]:
    """What the first picture shows, in numbers."""
    rows = {row[0]: row[1:] for row in report.sheets[0].rows}
    told = [f"`Galerkin(order={order})` {rows[f'Galerkin {order}'][0]:.1g}" for order in (2, 4, 6)]
    told += [f"MuJoCo's {kind} {rows[f'MuJoCo {kind}'][0]:.1g}" for kind in ("implicitfast", "RK4", "discrete")]
    hour = rows["Galerkin 4"][2]
    later = f" After an hour `Galerkin(order=4)` is at {hour:.1g}." if isinstance(hour, float) else ""
    return [f"Largest error in a minute, of m g l: {', '.join(told)}.{later}", ""]


COSTS = """## What it costs, and who is quicker

A step solves nonlinear equations, so a single one costs more than one of MuJoCo's defaults. What counts is the time to
an accuracy. In how many of the [races](benchmarks/races.md) (robot and accuracy) each formulation leads each peer's
best method; [Wins and losses](benchmarks/wins.md) has all ratios, and names [where peers
lead](benchmarks/wins.md#where-peers-lead):
"""

COMMAND = """```
python -m benchmarks races
```
"""


def page(results: dict[str, dict[str, Any]]) -> str:
    """docs/why.md."""
    parts = [HEAD]
    for title, name, place, text in SECTIONS:
        if name not in results:
            continue
        report = Report.of(results[name])
        parts += [f"## {title}", "", text, ""]
        parts += [f"![{report.plots[place].title}](benchmarks/images/{image_name(title)})", ""]
        parts += ["```", f"python -m benchmarks {name}{' --quick' * results[name]['quick']}", "```", ""]
        parts += energies(report) if name == "energy_hour" else []
        claims = report.claims if len(report.claims) <= 2 else report.claims[place : place + 1]
        for claim in claims:
            parts += [
                f"*{cell(claim.where)}*: {cell(claim.paper)} Measured here: {cell(claim.ours)} **{claim.verdict}**",
                "",
            ]
    if any(name.startswith("races/") for name in results):
        parts += [COSTS, *wins.overview(results), COMMAND]
    return "\n".join(parts).rstrip() + "\n"
