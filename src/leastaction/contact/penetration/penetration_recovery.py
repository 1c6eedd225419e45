"""How things that overlap at the start of a step get out of each other."""

import math

from leastaction._jit import inline
from leastaction.contact.laws.compliance import DEEPEST

SLIGHT = 1e-2
"""An overlap so small beside how far gravity moves things in a step is none."""

OVERLAP = 0.8
"""Share of a small overlap at the start of a step that may be left at its end."""

GENTLE = 0.03
"""Share of gravity by which things that overlap get out of each other. When they are apart, what they have gained in
kinetic energy is half of this share of the work that gravity does over the overlap."""


@inline
def slight_overlap(fall, whole):
    """Overlap at the start of a substep that is none [m]: contacts give way by as much.

    That of a whole step, in all of its substeps: else each of them, in a jam that presses with any force, would add as
    much as contacts give way by to the overlap that the one before has left.

    Args:
        fall: how far gravity moves things in the whole step [m]; whole: its length [s].
    """
    return max(SLIGHT * fall, DEEPEST * whole * whole)


@inline
def overlap_left(phi, leave, slight):
    """What may be left at the end of a step of a gap phi [m] at its start: 0, but some of it where it is negative.

    Things get out of each other no faster than they would fall through half of the overlap by a small share of gravity:
    none is shot away. Slight overlaps are left at once, so that the step is a smooth function where things just touch.

    Args:
        leave: how far gravity moves things in the substep [m]; slight: see `slight_overlap`.
    """
    phi += slight
    if phi >= 0.0:
        return 0.0
    return phi + min((OVERLAP - 1.0) * phi, math.sqrt(-GENTLE * leave * phi))


@inline
def overlap_slope(phi, leave, slight):
    """Derivative of `overlap_left` by the gap."""
    phi += slight
    if phi >= 0.0:
        return 0.0
    quick = math.sqrt(-GENTLE * leave * phi)
    return OVERLAP if (OVERLAP - 1.0) * phi < quick else 1.0 - 0.5 * GENTLE * leave / quick
