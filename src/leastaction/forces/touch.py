"""Where a damper meets what it damps: planes, limits and cables that act on one side only, with springs and dampers.

Such a force jumps when it touches, by the damper's share of it, and an implicit step that ends at the jump has no
solution: without the force it goes too deep, with it not deep enough. So the damper fades in over the first `LAYER` of
depth, far below what any other part of a model resolves; deeper than that the law is the plain one. Newton's method
does not see so thin a layer. It therefore says for each force on which piece of the law it is, and changes that between
its iterations: see `redmax.step.one_sided`.
"""

from leastaction._jit import inline

BY_DEPTH, OPEN, TOUCHING, HELD, CLOSED = range(5)
"""Pieces of the law: as the gap says; none; in the layer, continued beyond it; the same, but never less than none nor
more than the whole of the damper, for Newton matrices; deeper than the layer, continued before it."""

LAYER = 1e-8
"""Depth over which dampers fade in [m or rad]."""


@inline
def touch(mode, gap):
    """(whether it acts, the damper's share, slope of the share by the gap)."""
    if mode == OPEN or (mode == BY_DEPTH and gap > 0.0):
        return False, 0.0, 0.0
    if mode == CLOSED or (mode == BY_DEPTH and gap <= -LAYER):
        return True, 1.0, 0.0
    share = -gap / LAYER
    if mode == HELD:
        share = min(1.0, max(0.0, share))
    return True, share, -1.0 / LAYER
