"""Accuracy of integrators: convergence with the step, and work against precision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from leastaction.errors import LeastActionError
from leastaction.plot.style import Path, canvas, color, legend, line, marker, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def slope(dt: Any, errors: Any) -> float:
    """Measured order of convergence: slope of log error over log dt.

    Fitted from the largest step on, until errors shrink clearly slower than before: smaller steps are at round-off.
    NaN where they do not shrink at all.

    Args:
        dt: steps [s], shape (n,).
        errors: positive, shape (n,).
    """
    order = np.argsort(dt)[::-1]
    x, y = np.asarray(dt, float)[order], np.asarray(errors, float)[order]
    with np.errstate(all="ignore"):
        local = np.diff(np.log(y)) / np.diff(np.log(x))
    count = 0
    while count < len(local) and local[count] > max(0.4, 0.85 * local[:count].max(initial=0.0)):
        count += 1
    return float(np.polyfit(np.log(x[: count + 1]), np.log(y[: count + 1]), 1)[0]) if count else float("nan")


@styled
def convergence(
    dt: Any, errors: Mapping[str, Any], *, path: Path | None = None, ylabel: str = "error [rad or m]"
) -> Figure:
    """Error over the time step, both axes logarithmic; the legend tells each measured slope.

    Args:
        dt: steps [s], shape (n,).
        errors: for each method's name its errors, shape (n,).
        path: where to write the figure.
        ylabel: what the errors are, with their unit.
    """
    steps = np.asarray(dt, float)
    _check(errors, len(steps))
    figure, (axis,) = canvas(path)
    for k, (name, values) in enumerate(errors.items()):
        order = slope(steps, values)
        label = name if np.isnan(order) else f"{name} (slope {order:.2f})"
        axis.loglog(steps, values, line(k) + marker(k), color=color(k), label=label)
    if len(steps) <= 8:  # else matplotlib's own ticks do better
        axis.set_xticks(steps, [f"{x:g}" for x in steps])
        axis.minorticks_off()
    axis.set_xlabel("time step [s]")
    axis.set_ylabel(ylabel)
    if len(errors) == 1:
        axis.legend()
    legend(axis)
    return figure


@styled
def work_precision(
    results: Mapping[str, tuple[Any, Any]],
    *,
    path: Path | None = None,
    xlabel: str = "error [rad or m]",
    ylabel: str = "computing time [s]",
) -> Figure:
    """Work over precision, both axes logarithmic: the lower left is best.

    Args:
        results: for each method's name (errors, times [s]), each of shape (n,).
        path: where to write the figure.
        xlabel, ylabel: what the axes are, with units.
    """
    for name, pair in results.items():
        if len(pair) != 2:
            raise LeastActionError(f"plot.work_precision: {name!r} needs (errors, times)")
        _check({name: pair[0]}, len(pair[1]))
    if not results:
        raise LeastActionError("plot.work_precision: there is nothing to draw")
    figure, (axis,) = canvas(path)
    for k, (name, (values, times)) in enumerate(results.items()):
        axis.loglog(values, times, line(k) + marker(k), color=color(k), label=name)
    axis.set_xlabel(xlabel)
    axis.set_ylabel(ylabel)
    legend(axis)
    return figure


def _check(errors: Mapping[str, Any], count: int) -> None:
    if not errors:
        raise LeastActionError("plot: there are no errors to draw")
    for name, values in errors.items():
        if np.shape(values) != (count,):
            raise LeastActionError(f"plot: {name!r}: expected {count} errors, got shape {np.shape(values)}")
