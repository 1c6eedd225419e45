"""Accuracy of integrators: convergence with the step, and work against precision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from leastaction.errors import LeastActionError
from leastaction.mechanism._check import pair, real_array, shown, text
from leastaction.plot.style import Path, canvas, color, legend, line, marker, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def slope(dt: ArrayLike, errors: ArrayLike) -> float:
    """Measured order of convergence: slope of log error over log dt.

    Fitted from the largest step on, until errors shrink clearly slower than before: smaller steps are at round-off.
    NaN where they do not shrink at all.

    Args:
        dt: steps [s], shape (n,).
        errors: positive, shape (n,).
    """
    x = _steps(dt)
    y = _values(errors, len(x), "errors")
    order = np.argsort(x)[::-1]
    x, y = x[order], y[order]
    with np.errstate(all="ignore"):
        local = np.diff(np.log(y)) / np.diff(np.log(x))
    count = 0
    while count < len(local) and local[count] > max(0.4, 0.85 * local[:count].max(initial=0.0)):
        count += 1
    return float(np.polyfit(np.log(x[: count + 1]), np.log(y[: count + 1]), 1)[0]) if count else float("nan")


@styled
def convergence(
    dt: ArrayLike, errors: Mapping[str, ArrayLike], *, path: Path | None = None, ylabel: str = "error [rad or m]"
) -> Figure:
    """Error over the time step, both axes logarithmic; the legend shows each measured slope.

    Args:
        dt: steps [s], shape (n,).
        errors: for each method's name its errors, shape (n,).
        path: where to write the figure.
        ylabel: what the errors are, with their unit.
    """
    steps = _steps(dt)
    _check(errors, len(steps))
    text(ylabel, "plot: ylabel")
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
    results: Mapping[str, tuple[ArrayLike, ArrayLike]],
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
    if not isinstance(results, Mapping):
        raise LeastActionError(f"plot.work_precision: results must be (errors, times) by name, got {shown(results)}")
    for name, words in (("xlabel", xlabel), ("ylabel", ylabel)):
        text(words, f"plot.work_precision: {name}")
    for name, two in results.items():
        errors, times = pair(two, f"plot.work_precision: {name!r}: (errors, times)")
        _values(errors, len(_steps(times, f"{name!r}: times")), f"{name!r}: errors")
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
    if not isinstance(errors, Mapping):
        raise LeastActionError(f"plot: errors must be arrays by names of methods, got {shown(errors)}")
    if not errors:
        raise LeastActionError("plot: there are no errors to draw")
    for name, values in errors.items():
        _values(values, count, repr(name))


def _steps(values: Any, what: str = "dt") -> Any:
    """Numbers above zero, shape (n,)."""
    a = real_array(values)
    if a is None or a.ndim != 1 or len(a) < 1 or not (np.isfinite(a) & (a > 0.0)).all():
        raise LeastActionError(f"plot: {what}: expected positive numbers, shape (n,), got {shown(values)}")
    return a


def _values(values: Any, count: int, what: str) -> Any:
    """Numbers, shape (count,); those of runs that failed may be NaN."""
    a = real_array(values)
    if a is None or a.shape != (count,):
        got = shown(values) if a is None else f"shape {a.shape}"
        raise LeastActionError(f"plot: {what}: expected {count} errors, got {got}")
    return a
