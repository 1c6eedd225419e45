"""Tunnelling: bodies that pass through each other within a step, in both contact engines.

Contacts are detected at the ends of steps. A body that moves further in one step than it and its obstacle are thick may
have passed through by then. The motion of such pairs is therefore sampled within the step, at intervals shorter than
their thickness; a step with a deep overlap at a sample is divided until no interval remains.
"""

import math

from leastaction._jit import inline
from leastaction.spatial import norm3

STRIDE, DEEP = 0.5, 0.25
"""Distance between samples, and overlap that indicates tunnelling, relative to the thickness of both shapes."""

STRIDES = 4096
"""Largest number of samples of a step."""


@inline
def strides_of(a, b, apart, path):
    """Number of intervals at which the motion of two shapes is sampled; 0 if they cannot pass through each other.

    Args:
        a, b: `SHAPE` records.
        apart: vector from the centre of a to that of b at the start [m].
        path: upper bound on the relative displacement of their points within the step [m].
    """
    thick = a.thickness + b.thickness
    if path < thick or norm3(apart) > a.bound + b.bound + path:
        return 0
    return min(int(math.ceil(path / (STRIDE * thick))), STRIDES)  # noqa: RUF046, on a GPU `ceil` returns a float


@inline
def too_deep(a, b):
    """Overlap of two shapes that indicates tunnelling [m]."""
    return DEEP * (a.thickness + b.thickness)
