"""When Newton's method on the control points of a step is at its end."""

from leastaction._jit import inline

ROUND_OFF = 1e-10
"""Updates below this [rad or m] that no longer shrink are round-off of a long chain ..."""

SHARPEST = 1e-13
"""... unless the tolerance asked for less than this."""


@inline
def largest(dx):
    """Largest entry of an update; NaN if there is one."""
    size = 0.0
    for a in range(dx.shape[0]):
        for k in range(dx.shape[1]):
            # A NaN must win: it fails every comparison from here on.
            if not abs(dx[a, k]) <= size:
                size = abs(dx[a, k])
    return size
