"""Onset of dampers in one-sided forces: planes, joint limits and cables with springs and dampers.

Such a force is discontinuous at contact, by the damper's part of it, and an implicit step that ends at the jump has no
solution: without the force it goes too deep, with it not deep enough. Therefore the damper's share rises from 0 to 1
over the first `LAYER` of depth, far below any other length of a model; beyond it the plain law holds. Newton's method
cannot resolve such a thin layer. It therefore stores for each force the active piece of the law (its mode), and changes
it between iterations: see `change`.
"""

from leastaction._jit import inline, routine

BY_DEPTH, OPEN, TOUCHING, HELD, CLOSED, SHUT = range(6)
"""Modes (pieces of the law): by the gap; no force; the layer's law, extrapolated; the same with the damper's share
clamped to [0, 1], for Newton matrices; the law beyond the layer, extrapolated; the same, not to be opened again."""

LAYER = 1e-8
"""Depth over which a damper sets in [m or rad]."""


@inline
def touch(mode, gap):
    """(whether the force acts, the damper's share, derivative of the share by the gap)."""
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
    """Next mode of a force from its gap (negative in penetration) and the gap's rate."""
    if mode == CLOSED and rate < 0.0 and gap > -LAYER:
        return TOUCHING
    if mode == TOUCHING and rate < 0.0 and (not settled or -LAYER <= gap <= 0.0):
        return TOUCHING
    return OPEN if gap > 0.0 else CLOSED


@inline
def change(modes, i, gap, rate, settled, may):
    """Update the mode of one force by its gap, if `may`; returns (1 if it changed, 1 if it is TOUCHING now).

    An OPEN force with a negative gap becomes CLOSED. A CLOSED one with a positive gap while approaching becomes
    TOUCHING: neither of the other pieces has a solution. TOUCHING ends according to the damper's share that it needs,
    which is meaningful only once Newton's updates are small (`settled`).
    """
    mode = _next_mode(modes[i], gap, rate, settled)
    changed = 0
    if may and mode != modes[i]:
        modes[i] = mode
        changed = 1
    return changed, 1 if modes[i] == TOUCHING else 0


@inline
def update_mode(modes, i, gap):
    """Open or close one force by its gap; returns 1 if the mode changes. One that closes after it was open stays so.

    For steps that interpolate the motion between several points. If neither piece has a solution (without the force the
    gap is negative, with it positive), the force may as well act at a point just before contact as be left out just
    after it: both miss the time of contact by less than the step.
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
    """Replace all modes `old` (any mode if negative) by `new`."""
    for i in range(modes.shape[0]):
        if old == modes[i] or old < 0:
            modes[i] = new
