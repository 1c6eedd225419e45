"""The page docs/why.md, made of published results."""

from typing import Any

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
        "Contact is rigid: an inequality and Coulomb's cone, solved in every step. Nothing sinks in, at any step size.",
    ),
    (
        "Gradients",
        "sueda2021/adjoint",
        0,
        "Every step has exact derivatives, so the gradient of a whole run by thousands of controls or "
        "parameters costs about "
        "as much as the run itself; through contact too.",
    ),
    (
        "Optimisation",
        "villanueva2025/table4",
        0,
        "The same steps are the constraints of trajectory optimisation, with sparse analytic Jacobians and "
        "exact second "
        "derivatives: a humanoid on one foot in about a second.",
    ),
)

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
    return {image_name(s[0]): Report.of(results[s[1]]).plots[s[2]] for s in SECTIONS if s[1] in results}


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
        claims = report.claims if len(report.claims) <= 2 else report.claims[place : place + 1]
        for claim in claims:
            parts += [
                f"*{cell(claim.where)}*: {cell(claim.paper)} Measured here: {cell(claim.ours)} **{claim.verdict}**",
                "",
            ]
    return "\n".join(parts).rstrip() + "\n"
