"""Waiting contacts: open at the start of a substep and with restitution, hence inactive in it, see `joint_impacts`."""

import math

from leastaction._jit import inline, routine
from leastaction.contact.laws.restitution import is_closed
from leastaction.spatial import dot3, load3


@inline
def gravity_strength(model):
    """Magnitude of gravity [m/s^2]."""
    g = load3(model.gravity)
    return math.sqrt(dot3(g, g))


@routine
def has_to_wait(model, impacts, cone, c, begun, whole):
    """Whether a contact with the gap `begun` at the start of a substep is inactive in it, because it has restitution
    and is open; stores this in `waiting`."""
    if impacts is None or impacts.waiting.shape[0] == 0:
        return False
    waits = (
        cone.restitution > 0.0
        and impacts.now[0]["plastic"] == 0
        and not is_closed(begun, gravity_strength(model), whole)
    )
    impacts.waiting[c] = 1 if waits else 0
    return waits


@routine
def is_waiting(impacts, c):
    """Whether constraint c waits, see `has_to_wait`."""
    if impacts is None or impacts.waiting.shape[0] == 0:
        return False
    return impacts.waiting[c] != 0
