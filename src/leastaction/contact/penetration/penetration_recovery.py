"""How fast a penetration at the start of a step is resolved."""

import math

from leastaction._jit import inline
from leastaction.contact.laws.compliance import DEEPEST

SLIGHT = 1e-2
"""Largest overlap that counts as none, relative to the distance that gravity moves bodies in a step."""

OVERLAP = 0.8
"""Share of a small overlap at the start of a step that may remain at its end."""

GENTLE = 0.03
"""Share of gravity at which overlapping bodies separate. Once apart, the kinetic energy that they have gained is half
of this share of the work of gravity over the overlap."""


@inline
def slight_overlap(fall, whole):
    """Overlap at the start of a substep that counts as none [m]: it is of the size of the contacts' compliance.

    All substeps use the value of the whole step. Otherwise, in a jam under large forces, each substep would add the
    compliant penetration to the overlap that the previous one has left.

    Args:
        fall: distance that gravity moves bodies in the whole step [m]; whole: length of that step [s].
    """
    return max(SLIGHT * fall, DEEPEST * whole * whole)


@inline
def overlap_left(phi, leave, slight):
    """Lower bound of a gap at the end of a step with the gap phi [m] at its start: 0, or part of it where negative.

    Overlapping bodies separate no faster than by falling through half of the overlap at a small share of gravity, so
    none is ejected. Slight overlaps are resolved at once, so that the step is a smooth function of states that touch.

    Args:
        leave: distance that gravity moves bodies in the substep [m]; slight: see `slight_overlap`.
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
