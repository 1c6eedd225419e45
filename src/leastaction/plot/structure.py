"""Sparsity patterns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from leastaction.errors import LeastActionError
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import real_array, shown, text
from leastaction.plot.style import Path, canvas, color, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from scipy.sparse import sparray, spmatrix

NAMED = 40
"""Rows up to which a mechanism's degrees of freedom are named."""


@styled
def sparsity(
    what: Mechanism | ArrayLike | sparray | spmatrix, *, path: Path | None = None, title: str | None = None
) -> Figure:
    """Which entries of a matrix are not zero; of a robot those of its mass matrix, which branches keep apart.

    Args:
        what: a `Mechanism`, or a matrix (dense, or sparse of SciPy).
        path: where to write the figure.
        title: default: size and how much of it is filled.
    """
    if title is not None:
        text(title, "plot.sparsity: title")
    names: tuple[str, ...] = ()
    if isinstance(what, Mechanism):
        pattern = mass_matrix_pattern(what)
        names = what.velocity_names if what.nv <= NAMED else ()
    else:
        dense = getattr(what, "toarray", lambda: what)()
        numbers = real_array(dense)
        if numbers is None:
            raise LeastActionError(f"plot.sparsity: expected a Mechanism or a matrix, got {shown(what)}")
        pattern = numbers != 0.0
    if pattern.ndim != 2 or 0 in pattern.shape:
        raise LeastActionError(f"plot.sparsity: expected a matrix, got shape {pattern.shape}")
    rows, columns = pattern.shape
    wide = 4.5 + (1.0 if names else 0.0)
    figure, (axis,) = canvas(path, size=(wide, wide * min(max(rows / columns, 0.3), 3.0)))
    axis.grid(False)
    axis.imshow(np.where(pattern, 1.0, np.nan), cmap=_one_colour(), interpolation="nearest")
    axis.set_title(title or f"{rows} × {columns}, {100.0 * pattern.mean():.1f} % filled")
    for side in ("top", "right"):
        axis.spines[side].set_visible(True)
    if names:
        axis.set_xticks(range(columns), names, rotation=90, fontsize=7)
        axis.set_yticks(range(rows), names, fontsize=7)
    return figure


def mass_matrix_pattern(robot: Mechanism) -> Any:
    """Which entries of the mass matrix can differ from zero, shape (nv, nv): one joint carries the other."""
    body = np.repeat(np.arange(len(robot.joints)), [joint.nv for joint in robot.joints])
    carries = np.eye(len(robot.joints), dtype=bool)
    for i, ancestors in enumerate(robot.ancestors):
        carries[i, list(ancestors)] = True
    carries |= carries.T
    return carries[np.ix_(body, body)]


def _one_colour() -> Any:
    from matplotlib.colors import ListedColormap

    return ListedColormap([color(0)])
