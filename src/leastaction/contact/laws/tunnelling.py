"""Things that pass through each other within a step (tunnelling), in both contact engines.

Whether things overlap is looked at where a step ends. What moves further in one step than it and its obstacle are thick
may be on the other side by then. So the motion of such pairs is looked at in between, in strides shorter than they are
thick; a step in which they are in each other halfway is divided until no stride is longer.
"""

import math

from leastaction._jit import inline
from leastaction.spatial import norm3

STRIDE, DEEP = 0.5, 0.25
"""Length of a stride, and overlap that shows that things pass through each other, in terms of how thick they are."""

STRIDES = 4096
"""Most strides of a step."""


@inline
def strides_of(a, b, apart, path):
    """In how many strides the motion of two shapes is looked at; 0 where they cannot pass through each other.

    Args:
        a, b: `SHAPE` records.
        apart: from the centre of the one to that of the other at the start [m].
        path: how far points of theirs move relative to each other within the step [m].
    """
    thick = a.thickness + b.thickness
    if path < thick or norm3(apart) > a.bound + b.bound + path:
        return 0
    return min(int(math.ceil(path / (STRIDE * thick))), STRIDES)  # noqa: RUF046, on a GPU `ceil` gives a float


@inline
def too_deep(a, b):
    """Overlap of two shapes that shows that they pass through each other [m]."""
    return DEEP * (a.thickness + b.thickness)
