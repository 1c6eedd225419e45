"""Steps for controllers that look ahead, with a few iterations a tick and no time for a search.

A filter that refuses Newton's step makes a line search try ever shorter ones, tens of them, and a robot that was pushed
keeps its old plan. So few lengths are tried, and one of them is taken (`stride`): the next tick corrects it (real-time
iterations, Diehl 2005).

A line search also shortens the whole step for the one unknown that would cross its bound first. With contacts there is
always one: forces near zero, of feet that are not to touch. There every unknown goes as far as its own bound lets it
(`leap`): the motion takes the whole step of Newton's method, and forces that are cut off leave the equations of motion
a little wrong, until the next iteration.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from leastaction.optimize.solvers.primal_dual import NEAR, Interior
from leastaction.optimize.transcriptions.sparsity import FloatArray

KEPT = 0.1
"""Share of its distance from a bound that an unknown keeps."""
SHARES = (1.0, 0.5, 0.25, 0.1)
"""Of Newton's step, tried until the violation does not grow; else the one of least violation is taken."""
LOST = 1e3
"""Times the violation before, beyond which no step is taken."""


def stride(ip: Interior) -> bool:
    """One step of Newton's method, as far as bounds let all unknowns go together; False where it leads nowhere."""
    dx, dy = ip.direction(ip.rows)
    if not (np.isfinite(dx).all() and np.isfinite(dy).all()):
        return False
    longest = ip.longest_step(dx, max(0.99, 1.0 - ip.mu))
    found = _tried(ip, lambda share: ip.x + share * longest * dx)
    if found is None:
        return False
    share, x, f, rows = found
    ip.y = ip.y + share * longest * dy
    ip.move(x, f, rows, dx, share * longest)
    return True


def _tried(ip: Interior, along: Callable[[float], FloatArray]) -> tuple[float, FloatArray, float, FloatArray] | None:
    """(share, x, f, rows): the first of `SHARES` of a way whose violation does not grow, or that of least violation."""
    before, least, found = float(np.abs(ip.rows).sum()), math.inf, None
    for share in SHARES:
        x = along(share)
        f, rows = ip.cost_and_rows(x)
        theta = float(np.abs(rows).sum())
        if math.isfinite(f) and theta < least:
            least, found = theta, (share, x, f, rows)
        if theta <= before:
            break
    return None if least > LOST * max(1.0, before) else found


def leap(ip: Interior) -> bool:
    """One step of Newton's method, cut off at each bound by itself; False where it leads nowhere."""
    dx, dy = ip.direction(ip.rows)
    if not (np.isfinite(dx).all() and np.isfinite(dy).all()):
        return False
    below, above = ip.distances(ip.x)
    found = _tried(ip, lambda share: ip.x + np.clip(share * dx, (KEPT - 1.0) * below, (1.0 - KEPT) * above))
    if found is None:
        return False
    share, ip.x, ip.f, ip.rows = found
    ip.y = ip.y + share * dy
    # Multipliers of bounds along the whole step (Waechter and Biegler 2006, Eq. 12), each kept positive by itself.
    d_low = ip.mu / below - ip.low - ip.low / below * dx
    d_high = ip.mu / above - ip.high + ip.high / above * dx
    low = ip.low + np.maximum(share * d_low, (KEPT - 1.0) * ip.low)
    high = ip.high + np.maximum(share * d_high, (KEPT - 1.0) * ip.high)
    below, above = ip.distances(ip.x)
    ip.low = np.clip(low, ip.mu / (NEAR * below), NEAR * ip.mu / below)
    ip.high = np.clip(high, ip.mu / (NEAR * above), NEAR * ip.mu / above)
    return True
