"""Starts with open loops: closed, with a warning, at home and where prescribed motions are tied to others."""

from __future__ import annotations

from leastaction.dynamics.loops import close_loops, open_loops
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray
from leastaction.warn import warn

OPEN = 5
"""Loops that a warning names."""


def closed_start(mechanism: Mechanism, q: FloatArray) -> FloatArray:
    """Joint positions with all loops closed; a warning names those that were open.

    What is tied to prescribed motions starts where these are; what they say is no mistake, and need not fit q. Files
    whose equalities do not hold where their joints are zero are common, too, and nobody chose that start.
    """
    found = open_loops(mechanism, q)
    if not found:
        return q
    joints = {joint.name: joint for joint in mechanism.loops}
    words = []
    for name, gap in list(found.items())[:OPEN]:
        ends = f"{joints[name].parent} and {joints[name].child}, " if name in joints else ""
        words.append(f"{name!r} ({ends}by {gap:.2g})")
    more = f" and {len(found) - OPEN} others" if len(found) > OPEN else ""
    q = close_loops(mechanism, q)
    warn(f"{mechanism.name!r} starts with open loops: {', '.join(words)}{more}; closed before the first step")
    return q
