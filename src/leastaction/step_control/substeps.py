"""Substeps of a step: the stack of their ends while the step is solved, and the record of it.

A rejected step is bisected, and a step in which a contact with restitution closes first ends at the impact
(`laws.restitution`). Ends are shares of the step. Those of bisections lie on a dyadic grid of the step, and so do not
depend on times of impact.
"""

import math

import numpy as np
from numpy.typing import NDArray

from leastaction._jit import inline, routine

ENDS = 64
"""Capacity of the stack: ends of bisections, and one time of impact each."""

RECORDED = 32
"""Largest number of substeps in a step's record."""

UNKNOWN = -2.0
"""First entry of a record that is incomplete: more substeps than it holds, or one that cannot be repeated."""


@inline
def middle(start, end):
    """A point near the middle of two shares of a step, on the coarsest dyadic grid with two intervals between them."""
    width = 1.0
    while width > 0.5 * (end - start):
        width *= 0.5
    return width * math.floor(0.5 * (start + end) / width + 0.5)


@routine(allocates=False)
def record_substep(ends, count, end, plastic, known):
    """Record the end of substep `count` of a step, as a share of the step; returns the new count.

    Args:
        ends: the record, shape (RECORDED,): zeros if the step was solved as a whole.
        plastic: 1 if the substep was solved without restitution, which is stored as a negative end.
        known: whether the substep can be solved again from the record.
    """
    if count >= ends.shape[0] or not known:
        ends[0] = UNKNOWN
    elif ends[0] != UNKNOWN and (count > 0 or end < 1.0 or plastic == 1):
        ends[count] = -end if plastic == 1 else end
    return count + 1


def last_share(ends: NDArray[np.float64]) -> float:
    """Length of a step's last substep relative to the step, from its record (`record_substep`); NaN if unknown."""
    if ends[0] == UNKNOWN:
        return np.nan
    ends = np.abs(ends[ends != 0.0])
    return 1.0 if len(ends) < 2 else float(ends[-1] - ends[-2])


def ends_of(ends: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Ends of the substeps of a step, relative to the step, and which are without restitution (1, else 0).

    Args:
        ends: a complete record, see `record_substep`.
    """
    own = ends[ends != 0.0]
    return (np.abs(own), (own < 0.0).astype(np.int64)) if len(own) else (np.ones(1), np.zeros(1, np.int64))
