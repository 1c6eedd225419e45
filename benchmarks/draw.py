"""Plots of written results: what stands in the JSON is all that they need."""

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.ticker import NullFormatter
from PIL import Image

import leastaction as la
from benchmarks.report import Plot, number
from leastaction._files._output import writing

COLUMNS = 3
TICKS = 10
MANY = 6
"""Lines in a plot beyond which one legend serves all plots: in a place that is left over, or beside them."""
MORE = ("#8c564b", "#6a3d9a", "#8a8a00", "#7f7f7f", "#8b0000", "#006d77", "#b5651d", "#3b3bff", "#d0a5ff", "#004d00")
"""Colours after those of the package's plots: no two lines of a picture share one."""
STYLES = ("o-", "s--", "^-.", "d:", "v-", "P--", "X-.", "*:", "<-", ">--")


def draw(plots: list[Plot], path: Path) -> Path:
    """All plots of a benchmark in one picture."""
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    columns = 2 if len(plots) == 4 else min(COLUMNS, len(plots))
    labels = list(dict.fromkeys(label for plot in plots for label in plot.lines))
    rows = -(-len(plots) // columns)
    with la.plot.look():
        width = {1: 6.4, 2: 9.6, 3: 12.6}[columns]
        figure, axes = plt.subplots(rows, columns, figsize=(width, 3.7 * rows), layout="constrained", squeeze=False)
        spare = list(axes.ravel()[len(plots) :])
        together = max((len(plot.lines) for plot in plots), default=0) > MANY
        for ax, plot in zip(axes.ravel(), plots, strict=False):
            lines(ax, plot, labels, legend=not together)
        for ax in spare:
            ax.set_axis_off()
        if together:
            found = {line.get_label(): line for ax in axes.ravel() for line in ax.get_lines()}
            where = {"loc": "center"} if spare else {"loc": "outside right center"}
            (spare[0] if spare else figure).legend(found.values(), found.keys(), fontsize=8, **where)
        with writing(path, (".png",)) as part:
            # Without a date: the same numbers give the same file.
            figure.savefig(part, dpi=100, metadata={"Software": None})
            # With a palette, which is a third of the size.
            Image.open(part).convert("RGB").quantize(255, dither=Image.Dither.NONE).save(part, optimize=True)
        plt.close(figure)
    return path


def lines(ax: Any, plot: Plot, labels: list[str], *, legend: bool) -> None:
    """The lines of one plot; each label looks the same in all."""
    colors = (*mpl.rcParams["axes.prop_cycle"].by_key()["color"], *MORE)
    for label, (x, y) in plot.lines.items():
        k = labels.index(label)
        x, y = (np.array([number(value) for value in values]) for values in (x, y))
        style = STYLES[k % len(STYLES)] if plot.marks else STYLES[k % 4][1:]
        ax.plot(x, y, style, color=colors[k % len(colors)], ms=3.5, lw=1.2, label=label)
    ax.set(xlabel=plot.x, ylabel=plot.y, title=plot.title)
    few = sorted({number(x) for xs, _ in plot.lines.values() for x in xs})
    if "x" not in plot.log and len(few) <= TICKS and all(x == round(x) for x in few):  # iterations, episodes
        ax.set_xticks(few)
    if "x" in plot.log:
        ax.set_xscale("log")
        if len(few) <= TICKS:  # sizes that were tried, rather than powers of ten
            ax.set_xticks(few, [f"{x:g}" for x in few])
        ax.xaxis.set_minor_formatter(NullFormatter())
    if "y" in plot.log:
        ax.set_yscale("log")
    ax.grid(alpha=0.25)
    if legend and plot.lines:
        ax.legend(fontsize=7, frameon=True, framealpha=0.8, edgecolor="none")
