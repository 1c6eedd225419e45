"""When Newton's method on the control points of a step is at its end."""

from typing import Any

import numpy as np

from leastaction._jit import inline

ROUND_OFF = 1e-10
"""Updates below this [rad or m] that no longer shrink are round-off of a long chain ..."""

SHARPEST = 1e-13
"""... unless the tolerance asked for less than this."""

AHEAD, CHORD = 0.1, 0.01
"""Shares of the tolerance that an update must be below if it is only predicted, by the residuals after a Newton step or
otherwise: what Newton steps leave is mostly far smaller than residuals suggest."""

UNSEEN = 2e-17
"""Updates of a chain with n degrees of freedom below this times n^2 [rad or m] are a part of their round-off: steps of
32 and 512 links, solved in two ways, differ by 2e-14 and 2e-12 rad."""


@inline
def round_off_updates(tolerance, n):
    """Updates [rad or m] that are round-off with n degrees of freedom; none where the tolerance is below SHARPEST."""
    return 0.0 if tolerance < SHARPEST else UNSEEN * n * n


def round_off(nodes: Any) -> float:
    """Newton updates [rad or m] of these tree nodes that are round-off.

    Slender bodies turn about their long axes in ball joints by round-off of all that hangs on them: chains of 32 rods
    by 1e-11 to 3e-11 rad, where chains of hinges do so by 2e-14 rad, as their moments of inertia about the joints are
    to each other.
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
            # A NaN must win: it fails every comparison from here on.
            if not abs(dx[a, k]) <= size:
                size = abs(dx[a, k])
    return size


@inline
def share_left(size, before, kept):
    """Share of the error that the last update has left, by its size and that of the one before it.

    A chord step shrinks errors by a fixed share, at most twice that of its own update to the one before, see
    `chords_suffice`. Newton's method leaves c e^2 of an error e, so its shares are squared from one to the next.
    """
    share = size / before
    return 2.0 * share if kept else share * share


@inline
def rate_of(size, before, new, norm, kept):
    """Share of the error that the last update has left: the lesser one of what residuals and updates suggest."""
    rate = new / norm
    return min(rate, share_left(size, before, kept)) if before > 0.0 else rate


@inline
def is_solved(size, before, new, norm, kept, tolerance, noise):
    """Whether the last update, or the one that would come next, is below the tolerance, or all of it is round-off.

    The next one is predicted by how much the last one shrank the residual. Residuals of heavy coordinates soon are
    round-off, far above those that matter of light ones; sizes of updates say more there, see `share_left`. Of Newton
    steps they show only that chord steps will do: by chance, one may leave more than the square of the last share.

    Args:
        size: of the last update [rad or m].
        before: of the one before it; zero where that was shortened.
        new: largest residual after the last update.
        norm: before it.
        kept: whether it was a chord step.
        tolerance: of updates [rad or m].
        noise: updates that are round-off, see `round_off_updates`: none that is predicted need be smaller.
    """
    if size <= max(tolerance, noise) or size * new <= max((CHORD if kept else AHEAD) * tolerance, noise) * norm:
        return True
    if kept and before > 0.0 and size * share_left(size, before, kept) <= max(CHORD * tolerance, noise):
        return True
    # Long chains reach round-off first: updates that are tiny and shrink no more.
    return size <= ROUND_OFF and new > 0.25 * norm and tolerance >= SHARPEST


@inline
def chords_suffice(size, rate, kept, count, tolerance, noise):
    """Whether `count` chord steps from here, with the derivatives as they are, would end below the tolerance.

    Where the error was e before a Newton step, that leaves c e^2 of it, and chord steps with its derivatives leave the
    share 2 c e each.

    Args:
        size: of the last update.
        rate: by which it shrank the residual.
        kept: whether it was a chord step itself.
        count: of chord steps.
        tolerance: of which the update that would come after them may be the share CHORD ...
        noise: ... or, if that is more, this.
    """
    ahead, share = size * rate, rate if kept else 2.0 * rate
    for _ in range(count):
        ahead *= share
    return ahead <= max(CHORD * tolerance, noise)
