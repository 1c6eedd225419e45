"""What was identified as a page: in terminals, in notebooks, and as a file with plots."""

from __future__ import annotations

import base64
import io
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from leastaction._extras import require
from leastaction._files._output import check_output, writing
from leastaction._files._page import Page, html
from leastaction.identification.prediction_errors import PredictionErrors
from leastaction.plot.style import color, look

if TYPE_CHECKING:
    from leastaction.identification.identification import Identification

MOST = 6
"""Degrees of freedom that are drawn: those with the largest errors."""

UNITS = {
    "mass": "kg",
    "com": "m",
    "inertia": "kg m²",
    "position": "m",
    "gravity": "m/s²",
    "armature": "kg m² or kg",
    "damping": "N m s/rad or N s/m",
    "delay": "s",
}

STYLE = """body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; margin: 1rem 0 } td, th { padding: 0.15rem 0.8rem 0.15rem 0 }
th { border-bottom: 1px solid #888 } img { max-width: 100% } h2 { margin-top: 2.5rem }"""


def page(result: Identification) -> Page:
    """The values with their intervals, and what was not determined."""
    low_high = result.interval()
    entries = result.chart.entries(result.x)
    first = result.chart.entries(result.chart.start)
    low = np.concatenate([np.ravel(low_high[name][0]) for name in result.chart.names])
    high = np.concatenate([np.ravel(low_high[name][1]) for name in result.chart.names])
    unknown = set(result.undetermined)
    rows = []
    for k, label in enumerate(result.labels):
        kind = label.partition(":")[0]
        between = "not determined" if label in unknown else f"{low[k]:.5g} … {high[k]:.5g}"
        rows.append([label, f"{first[k]:.5g}", f"{entries[k]:.5g}", between, UNITS.get(kind, "")])
    logs = {id(s.log): s.log for s in result.errors.segments}
    condition = result.information.condition
    facts = [
        (
            "logs",
            f"{len(logs)}, {sum(log.steps for log in logs.values())} steps, {len(result.errors.segments)} segments",
        ),
        ("integrator", f"{result.errors.integrator}"),
        ("error in units of the noise", f"{result.rms_before:.4g} → {result.rms:.4g}"),
        ("search", f"{result.reason} ({result.evaluations} evaluations, {result.seconds:.3g} s)"),
        (
            "condition number",
            f"{condition:.3g}" if np.isfinite(condition) else "infinite: some directions are not seen",
        ),
    ]
    remarks = []
    if unknown:
        remarks.append(
            f"{len(unknown)} of {len(rows)} entries are not determined by these logs and stay near their first values."
        )
    if not result.success:
        remarks.append("The search has not converged: the model may lack an effect, or it needs more `evaluations`.")
    for spread, shares in result.directions():
        words = " ".join(f"{c:+.2f} {name}" for name, c in shares.items())
        size = f"{spread:.3g} times its size" if np.isfinite(spread) else "anything"
        remarks += [f"This combination may be {size}: {words}"] * (len(shares) > 1)
    columns = ["parameter", "[before]", "[found]", "#95 %", "unit"]
    return Page(f"Identification of {result.chart.robot.name!r}", facts, columns, rows, remarks)


def write_report(result: Identification, path: str | PathLike[str], title: str | None) -> Path:
    """See `Identification.report`."""
    target = check_output(path, (".html",))
    words = escape(title or f"Identification of {result.chart.robot.name}")
    parts = [f"<h1>{words}</h1>", html(page(result))]
    for heading, text, figure in _figures(result):
        parts.append(f"<h2>{escape(heading)}</h2><p>{escape(text)}</p>{_picture(figure, heading)}")
    body = "\n".join(parts)
    head = f'<meta charset="utf-8"><title>{words}</title><style>{STYLE}</style>'
    with writing(target) as part:
        part.write_text(f'<!doctype html><html lang="en">{head}{body}</html>', encoding="utf-8")
    return target


def _picture(figure: Any, name: str) -> str:
    data = io.BytesIO()
    figure.savefig(data, format="png", dpi=110)
    return f'<img alt="{escape(name)}" src="data:image/png;base64,{base64.b64encode(data.getvalue()).decode()}">'


def _figures(result: Identification) -> list[tuple[str, str, Any]]:
    with look():
        return [
            (
                "Measured and simulated",
                "Dots: measured. Lines: segments, simulated with the values found.",
                _motion(result),
            ),
            (
                "Errors",
                "Of positions and velocities in units of the noise: a normal distribution where the model is right.",
                _residuals(result),
            ),
            (
                "Uncertainty",
                "Standard deviations in units of each entry's size; beyond the line an entry is not determined.",
                _uncertainty(result),
            ),
            ("Correlation", "Between entries: near ±1 only a combination of two is known.", _correlation(result)),
        ]


def _figure(*size: float) -> Any:
    return require("matplotlib.figure", "view").Figure(figsize=size, layout="constrained")


def _motion(result: Identification) -> Any:
    e, n = result.errors, result.errors.nv
    rows = e.residuals(result.z).reshape(-1, 2 * n)
    worst = np.sort(np.argsort(-np.square(rows[:, :n]).mean(axis=0))[:MOST])
    figure = _figure(10, 1.0 + 1.8 * len(worst))
    axes = figure.subplots(len(worst), 1, sharex=True, squeeze=False).ravel()
    log = e.segments[0].log
    names = e.chart.robot.velocity_names
    for axis, k in zip(axes, worst, strict=True):
        measured, reference = _along(e, log.q, k)
        axis.plot(log.t, measured, ".", color="#999999", ms=3, label="measured")
        for segment, run in zip(e.segments, result.runs(), strict=True):
            if segment.log is log:
                line = _along(e, run.q[:: e.substeps], k, reference)[0]
                axis.plot(log.t[segment.rows], line, "-", color=color(0))
        axis.set_ylabel(names[k])
    axes[-1].set_xlabel("time [s]")
    return figure


def _along(e: PredictionErrors, Q: Any, k: int, reference: Any = None) -> tuple[Any, Any]:
    """Displacements along degree of freedom k from the first position, or from a reference, shape (states,)."""
    reference = Q[0] if reference is None else reference
    return e.chart.robot.difference(reference, Q)[:, k], reference


def _residuals(result: Identification) -> Any:
    e, n = result.errors, result.errors.nv
    rows = e.residuals(result.z).reshape(-1, 2 * n) / np.sqrt(result.information.variance)
    figure = _figure(10, 3.2)
    reach = np.linspace(-4.0, 4.0, 41)
    for axis, part, name in zip(
        figure.subplots(1, 2), (rows[:, :n], rows[:, n:]), ("positions", "velocities"), strict=True
    ):
        axis.hist(np.clip(part.ravel(), -4.0, 4.0), reach, density=True, color=color(6))
        axis.plot(reach, np.exp(-0.5 * reach**2) / np.sqrt(2.0 * np.pi), color=color(1))
        axis.set(xlabel=f"error of {name} / noise", ylabel="density")
    return figure


def _uncertainty(result: Identification) -> Any:
    spread = result.relative_deviations
    figure = _figure(10, 1.2 + 0.24 * len(spread))
    axis = figure.subplots()
    at = np.arange(len(spread))[::-1]
    axis.barh(at, spread, color=[color(1) if x > 1.0 else color(0) for x in spread])
    axis.axvline(1.0, color="0.4", lw=1.0)
    axis.set_xscale("log")
    axis.set_yticks(at, result.labels)
    axis.set_xlabel("standard deviation / size")
    return figure


def _correlation(result: Identification) -> Any:
    n = len(result.labels)
    figure = _figure(3.5 + 0.22 * n, 3.0 + 0.2 * n)
    axis = figure.subplots()
    shown = axis.imshow(result.correlation, vmin=-1.0, vmax=1.0, cmap="RdBu_r")
    axis.set_xticks(np.arange(n), result.labels, rotation=90)
    axis.set_yticks(np.arange(n), result.labels)
    axis.grid(False)
    figure.colorbar(shown)
    return figure
