"""What all plots share: one look, figures for files or for pyplot, names of runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from os import PathLike
from typing import TYPE_CHECKING, Any, ParamSpec

from leastaction._display.labels import run_names
from leastaction._extras import require
from leastaction._files._output import check_output, writing
from leastaction.errors import LeastActionError
from leastaction.mechanism._check import shown
from leastaction.trajectory.trajectory import Trajectory

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9")
"""Okabe and Ito's colours without the pale yellow: colour-blind people can distinguish them, too."""

LINES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

LOOK: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.labelsize": 10.0,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10.0,
    "figure.facecolor": "white",
    "font.size": 10.0,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.fontsize": 9.0,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "lines.linewidth": 1.3,
    "lines.markersize": 4.5,
    "pdf.fonttype": 42,
    "savefig.dpi": 150,
    "svg.fonttype": "none",
}
"""matplotlib's settings: light grid, no box, text that stays text in PDF and SVG."""

Runs = Trajectory | Sequence[Trajectory]
Path = str | PathLike[str]
Arguments = ParamSpec("Arguments")


def styled(function: Callable[Arguments, Figure]) -> Callable[Arguments, Figure]:
    """Draw with `LOOK`; refuse a `path` that cannot be written before drawing, then write the file."""

    @wraps(function)
    def draw(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Figure:
        matplotlib: Any = require("matplotlib", "view")
        path: Any = kwargs.get("path")
        if path is not None:
            formats = require("matplotlib.backend_bases", "view").FigureCanvasBase.get_supported_filetypes()
            suffixes = [f".{name}" for name in sorted(formats)]
            check_output(path, suffixes)
        with matplotlib.rc_context(LOOK):
            figure = function(*args, **kwargs)
            if path is not None:
                with writing(path) as part:
                    figure.savefig(part)
        return figure

    return draw


@contextmanager
def look() -> Iterator[None]:
    """Figures drawn inside look like those of the package: `with la.plot.look(): plt.plot(...)`.

    Lines get their colours and dashes one after the other.
    """
    matplotlib: Any = require("matplotlib", "view")
    lines = [LINES[k % len(LINES)] for k in range(len(PALETTE))]
    cycle = matplotlib.cycler(color=PALETTE, linestyle=lines)
    with matplotlib.rc_context({**LOOK, "axes.prop_cycle": cycle}):
        yield


def canvas(path: Path | None, rows: int = 1, columns: int = 1, *, share: bool = True, size: Any = None) -> Any:
    """(figure, list of its axes, row by row); one that is for a file is not known to pyplot."""
    size = size or (3.5 * columns + 3.5, 1.2 + 2.4 * rows)
    if path is not None:
        figure = require("matplotlib.figure", "view").Figure(figsize=size, layout="constrained")
    else:
        pyplot = require("matplotlib.pyplot", "view")
        try:
            figure = pyplot.figure(figsize=size, layout="constrained")
        except ImportError:  # a window was asked for where there is no display
            pyplot.switch_backend("Agg")
            figure = pyplot.figure(figsize=size, layout="constrained")
    axes = figure.subplots(rows, columns, sharex=share, squeeze=False)
    return figure, list(axes.ravel())


def legend(axis: Any, longest: int = 24) -> None:
    """A legend at the right of the axis, where it hides nothing; none for a single line or too many."""
    if 1 < len(axis.get_legend_handles_labels()[0]) <= longest:
        axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


def color(k: int) -> str:
    """Colour of the k-th thing."""
    return PALETTE[k % len(PALETTE)]


def line(k: int) -> str:
    """Dashes of the k-th thing."""
    return LINES[k % len(LINES)]


def marker(k: int) -> str:
    """Marker of the k-th thing."""
    return MARKERS[k % len(MARKERS)]


def named_runs(runs: Runs, labels: Sequence[str] | None) -> tuple[list[Trajectory], list[str]]:
    """Runs as a list, with a name for each: its label, or its integrator."""
    if not isinstance(runs, Trajectory | Sequence):
        raise LeastActionError(f"plot: expected a Trajectory or several, got {shown(runs)}")
    many = [runs] if isinstance(runs, Trajectory) else list(runs)
    if not many or not all(isinstance(run, Trajectory) for run in many):
        raise LeastActionError("plot: expected a Trajectory or several")
    return many, run_names(many, labels, "plot")


def alike(runs: Runs, labels: Sequence[str] | None, what: str) -> tuple[list[Trajectory], list[str]]:
    """`named_runs` of robots with the same coordinates; others are refused in the name of `what`."""
    many, names = named_runs(runs, labels)
    if any(run.mechanism.coordinate_names != many[0].mechanism.coordinate_names for run in many):
        raise LeastActionError(f"plot.{what}: the runs are of robots with different coordinates")
    return many, names
