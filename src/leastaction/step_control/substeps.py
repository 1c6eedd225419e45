"""The substeps of a step: where they end, on a stack while it is solved, and in its record.

A step that is not accepted is bisected, and one in which a contact with restitution closes ends there first
(`laws.restitution`). Ends are shares of the step. Those of bisections lie on its dyadic grid, so that they do not
depend on times of impact: these are the only ends that the state decides.
"""

import math

import numpy as np
from numpy.typing import NDArray

from leastaction._jit import inline, routine

ENDS = 64
"""Most ends that wait for their substeps: bisections, and one time of impact each."""

RECORDED = 32
"""Substeps of a step that its record has room for."""

UNKNOWN = -2.0
"""In the record, in place of the first end: the step has more substeps than that, or one that is not to be repeated."""


@inline
def middle(start, end):
    """A point near the middle of two shares of a step, on the coarsest dyadic grid with two widths in between."""
    width = 1.0
    while width > 0.5 * (end - start):
        width *= 0.5
    return width * math.floor(0.5 * (start + end) / width + 0.5)


@routine(allocates=False)
def record_substep(ends, count, end, plastic, known):
    """Note that substep `count` of a step ended at a share of it; how many have.

    Args:
        ends: of the record, shape (RECORDED,): zeros where the whole step was solved at once.
        plastic: 1 where restitution did not act, which a negative end marks.
        known: whether it can be solved again from its record.
    """
    if count >= ends.shape[0] or not known:
        ends[0] = UNKNOWN
    elif ends[0] != UNKNOWN and (count > 0 or end < 1.0 or plastic == 1):
        ends[count] = -end if plastic == 1 else end
    return count + 1


def last_share(ends: NDArray[np.float64]) -> float:
    """Share of a step that its last substep has, of a row of the record (`record_substep`); not a number: unknown."""
    if ends[0] == UNKNOWN:
        return np.nan
    ends = np.abs(ends[ends != 0.0])
    return 1.0 if len(ends) < 2 else float(ends[-1] - ends[-2])


def ends_of(ends: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Where the substeps of a step end, relative to it, and which are without restitution (1, else 0).

    Args:
        ends: of a record, see `record_substep`; of a step whose substeps are known.
    """
    own = ends[ends != 0.0]
    return (np.abs(own), (own < 0.0).astype(np.int64)) if len(own) else (np.ones(1), np.zeros(1, np.int64))
