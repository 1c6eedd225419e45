"""When Newton's method on the control points of a step is at its end."""

from leastaction._jit import inline

ROUND_OFF = 1e-10
"""Updates below this [rad or m] that no longer shrink are round-off of a long chain ..."""

SHARPEST = 1e-13
"""... unless the tolerance asked for less than this."""

AHEAD, CHORD = 0.1, 0.01
"""Shares of the tolerance that an update must be below which is only foretold, after Newton and after chord steps: what
the first leave is mostly far smaller than foretold."""


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
def is_solved(size, before, new, norm, kept, tolerance):
    """Whether the last update, or the one that would come next, is below the tolerance, or all of it is round-off.

    The next one is foretold by how much the last one shrank the residual. Residuals of heavy coordinates soon are
    round-off, far above those that matter of light ones; sizes of updates tell more there. A chord step shrinks
    errors by a fixed share, which is at most twice that of its own update to the one before, see `chords_suffice`.

    Args:
        size: of the last update [rad or m].
        before: of the one before it; zero where that was shortened.
        new: largest residual after the last update.
        norm: before it.
        kept: whether it was a chord step.
        tolerance: of updates [rad or m].
    """
    if size <= tolerance or size * new <= (CHORD if kept else AHEAD) * tolerance * norm:
        return True
    if kept and 2.0 * size * size <= CHORD * tolerance * before:
        return True
    # Long chains reach round-off first: updates that are tiny and shrink no more.
    return size <= ROUND_OFF and new > 0.25 * norm and tolerance >= SHARPEST


@inline
def chords_suffice(size, rate, kept, count, tolerance):
    """Whether `count` chord steps from here, with the derivatives as they are, would end below the tolerance.

    Where the error was e before a Newton step, that leaves c e^2 of it, and chord steps with its derivatives leave the
    share 2 c e each.

    Args:
        size: of the last update.
        rate: by which it shrank the residual.
        kept: whether it was a chord step itself.
        count: of chord steps.
        tolerance: of which the update that would come after them may be the share CHORD.
    """
    ahead, share = size * rate, rate if kept else 2.0 * rate
    for _ in range(count):
        ahead *= share
    return ahead <= CHORD * tolerance
