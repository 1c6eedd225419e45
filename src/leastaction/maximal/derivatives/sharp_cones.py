"""Cones of rigid contact as they are at the end of the central path, for derivatives.

The interior point method stops a little above that end (`scales.SHARPEST`), so what slides slowly, or has just opened,
is half-way to sticking, or to being closed, and so would be its derivatives: wrong by a few percent. Runs mostly find
the end itself, by modes (`step.active`). What sticks or is closed stays as it is: it would only become stiffer, up to
where the Newton matrix loses the bodies' inertia. But of a limit and dry friction on one joint only one holds it.
"""

import math

from leastaction._jit import routine
from leastaction.contact import cones as ip
from leastaction.maximal.contact.behaviour import across, is_open, slides

LEFT = 1e-9
"""Share of impulses of what is open, and of the bound of what slides, that is left: cones stay inside."""


@routine(allocates=False)
def sharpen(bodies, settings, contact):
    """Bring open and sliding cones of a solved step of rigid contact to the end of the central path."""
    if settings.smoothing > 0.0 or contact.now[0].soft == 1:
        return
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        if c.kind == ip.LINEAR:
            continue
        if is_open(bodies, c):
            c.gam *= LEFT
            c.beta[0] *= LEFT
            c.beta[1] *= LEFT
        y = math.sqrt(c.y[0] ** 2 + c.y[1] ** 2)
        if c.kind != ip.LIMIT and y > 0.0 and slides(bodies, c):
            share = (1.0 - LEFT) * ip.friction_bound(c) / y
            c.psi, c.beta[0], c.beta[1] = (1.0 + LEFT) * y, -share * c.y[0], -share * c.y[1]
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        if c.kind != ip.DRY or slides(bodies, c):
            continue
        for j in range(contact.now[0].count):
            limit = contact.cones[j]
            if limit.kind == ip.LIMIT and limit.source == c.source and not is_open(bodies, limit):
                hold_one(bodies, limit, c)


@routine(allocates=False)
def hold_one(bodies, limit, dry):
    """Let one of a limit and the dry friction of the same joint hold it, with the impulses of both.

    Both say where the joint ends. It is the limit that does where the joint presses on it with more than friction can
    bear, and else friction; as they were solved, each would have a say, by how stiff the central path has left them.
    """
    total = limit.side * limit.gam + dry.beta[0]
    if abs(total) <= dry.bound:
        dry.beta[0] = min(max(total, (LEFT - 1.0) * dry.bound), (1.0 - LEFT) * dry.bound)
        dry.y[0] = -dry.psi * dry.beta[0] / dry.bound
        limit.gam *= LEFT
        return
    limit.gam = limit.side * total
    light = across(bodies, dry)
    dry.beta[0] = dry.y[0] = 0.0
    dry.psi = dry.bound * (light if light > 0.0 else 1.0) / LEFT
