"""Where a damper meets what it damps: planes, limits and cables that act on one side only, with springs and dampers.

Such a force jumps when it touches, by the damper's share of it, and an implicit step that ends at the jump has no
solution: without the force it goes too deep, with it not deep enough. So the damper fades in over the first `LAYER` of
depth, far below what any other part of a model resolves; deeper than that the law is the plain one. Newton's method
does not see so thin a layer. It therefore says for each force on which piece of the law it is, and changes that between
its iterations: see `change`.
"""

from leastaction._jit import inline, routine

BY_DEPTH, OPEN, TOUCHING, HELD, CLOSED, SHUT = range(6)
"""Pieces of the law: as the gap says; none; in the layer, continued beyond it; the same, but never less than none nor
more than the whole of the damper, for Newton matrices; deeper than the layer, continued before it; the same, and not to
be opened again."""

LAYER = 1e-8
"""Depth over which dampers fade in [m or rad]."""


@inline
def touch(mode, gap):
    """(whether it acts, the damper's share, slope of the share by the gap)."""
    if mode == OPEN or (mode == BY_DEPTH and gap > 0.0):
        return False, 0.0, 0.0
    if mode >= CLOSED or (mode == BY_DEPTH and gap <= -LAYER):
        return True, 1.0, 0.0
    share = -gap / LAYER
    if mode == HELD:
        share = min(1.0, max(0.0, share))
    return True, share, -1.0 / LAYER


@inline
def _next_mode(mode, gap, rate, settled):
    """Mode of a force from its gap (negative beyond) and the gap's rate."""
    if mode == CLOSED and rate < 0.0 and gap > -LAYER:
        return TOUCHING
    if mode == TOUCHING and rate < 0.0 and (not settled or -LAYER <= gap <= 0.0):
        return TOUCHING
    return OPEN if gap > 0.0 else CLOSED


@inline
def change(modes, i, gap, rate, settled, may):
    """Bring the mode of one force up to its gap, if it may change; returns (1 if it did, 1 if it touches now).

    What is open and found beyond its surface closes. What is closed and found before it while it approaches touches:
    neither piece holds. What touches opens or closes by the share of the damper that it needs, which only counts once
    Newton's updates are small (`settled`).
    """
    mode = _next_mode(modes[i], gap, rate, settled)
    changed = 0
    if may and mode != modes[i]:
        modes[i] = mode
        changed = 1
    return changed, 1 if modes[i] == TOUCHING else 0


@inline
def update_mode(modes, i, gap):
    """Open or close one force by its gap; returns 1 if that is a change. What closes after it was open stays so.

    For steps that interpolate the motion between several points: where neither piece holds (without the force it goes
    too deep, with it not deep enough) it is as good to let the force act at a point just before its surface as to
    leave it out at one just behind; both miss the instant of the touch by less than the step.
    """
    old = modes[i]
    if old == BY_DEPTH:
        modes[i] = OPEN if gap > 0.0 else CLOSED
        return 0
    if old == CLOSED and gap > 0.0:
        modes[i] = OPEN
        return 1
    if old == OPEN and gap <= 0.0:
        modes[i] = SHUT
        return 1
    return 0


@routine
def exchange(modes, old, new):
    """Set all modes `old` (any if negative) to `new`."""
    for i in range(modes.shape[0]):
        if old == modes[i] or old < 0:
            modes[i] = new
