"""Convergence criteria of Newton's method on the control points of a step."""

from typing import Any

import numpy as np

from leastaction._jit import inline

ROUND_OFF = 1e-10
"""Updates below this [rad or m] that do not shrink any more are round-off of a long chain ..."""

SHARPEST = 1e-13
"""... unless the requested tolerance is below this."""

AHEAD, CHORD = 0.1, 0.01
"""Bounds relative to the tolerance of a predicted update, after a Newton step and after a chord step: errors after
Newton steps are mostly far smaller than residuals suggest."""

UNSEEN = 2e-17
"""Updates of a chain with n degrees of freedom below this times n^2 [rad or m] are round-off: steps of
32 and 512 links, solved in two ways, differ by 2e-14 and 2e-12 rad."""


@inline
def round_off_updates(tolerance, n):
    """Largest update [rad or m] that is round-off with n degrees of freedom; 0 for tolerances below SHARPEST."""
    return 0.0 if tolerance < SHARPEST else UNSEEN * n * n


def round_off(nodes: Any) -> float:
    """Largest Newton update [rad or m] of these tree nodes that is round-off.

    Slender bodies on ball joints rotate about their long axes by the round-off of all moments on them: chains of 32
    rods by 1e-11 to 3e-11 rad, chains of hinges by 2e-14 rad; the ratio is that of their moments of inertia about the
    joints.
    """
    balls = nodes[nodes.nv == 3]
    xx, xy, xz, yy, yz, zz = balls.Ic.T
    moments = np.linalg.eigvalsh(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]).T)
    most = moments[:, 2] + balls.mass * (balls.com**2).sum(axis=1)
    slender = (most / np.maximum(moments[:, 0], 1e-9 * most + 1e-300)).max(initial=0.0)
    return float(min(UNSEEN * max(nodes.nv.sum() ** 2, len(nodes) ** 2 * slender), 0.25 * ROUND_OFF))


@inline
def largest(dx):
    """Largest entry of an update; NaN if there is one."""
    size = 0.0
    for a in range(dx.shape[0]):
        for k in range(dx.shape[1]):
            # Propagate NaN, which fails every later comparison.
            if not abs(dx[a, k]) <= size:
                size = abs(dx[a, k])
    return size


@inline
def share_left(size, before, kept):
    """Ratio of the errors after and before the last update, estimated by its size and that of the one before it.

    A chord step multiplies errors by a constant, at most twice the ratio of its update to the one before, see
    `chords_suffice`. Newton's method turns an error e into c e^2, so its ratios are squared from one to the next.
    """
    share = size / before
    return 2.0 * share if kept else share * share


@inline
def rate_of(size, before, new, norm, kept):
    """Ratio of the errors after and before the last update: the lower of the estimates by residuals and by updates."""
    rate = new / norm
    return min(rate, share_left(size, before, kept)) if before > 0.0 else rate


@inline
def is_solved(size, before, new, norm, kept, tolerance, noise):
    """Whether the last or the predicted next update is below the tolerance, or updates are round-off.

    The next one is predicted from the decrease of the residual. Residuals of heavy coordinates soon are round-off, far
    above the relevant ones of light coordinates; sizes of updates are more reliable there, see `share_left`. For Newton
    steps these only decide on chord steps: by chance, a step may leave more than the square of the last ratio.

    Args:
        size: of the last update [rad or m].
        before: of the one before it; zero where that was shortened.
        new: largest residual after the last update.
        norm: before it.
        kept: whether it was a chord step.
        tolerance: of updates [rad or m].
        noise: updates that are round-off, see `round_off_updates`: no predicted one need be smaller.
    """
    if size <= max(tolerance, noise) or size * new <= max((CHORD if kept else AHEAD) * tolerance, noise) * norm:
        return True
    if kept and before > 0.0 and size * share_left(size, before, kept) <= max(CHORD * tolerance, noise):
        return True
    # Long chains reach round-off first: tiny updates that do not shrink any more.
    return size <= ROUND_OFF and new > 0.25 * norm and tolerance >= SHARPEST


@inline
def chords_suffice(size, rate, kept, count, tolerance, noise):
    """Whether `count` chord steps with the current derivatives would converge to the tolerance.

    A Newton step turns an error e into c e^2, and each chord step with its derivatives multiplies the error by
    2 c e.

    Args:
        size: of the last update.
        rate: ratio of residuals after and before it.
        kept: whether it was a chord step itself.
        count: of chord steps.
        tolerance: of updates; the one after these steps must be below CHORD times this ...
        noise: ... or below this, if it is larger.
    """
    ahead, share = size * rate, rate if kept else 2.0 * rate
    for _ in range(count):
        ahead *= share
    return ahead <= max(CHORD * tolerance, noise)
