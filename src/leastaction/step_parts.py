"""How a step was halved, as runs tell it, and how long its parts are."""

from __future__ import annotations

from leastaction.errors import IntegratorError

MOST = 1 << 20
"""Parts that no step is divided into."""
LONGEST = 1 << 61
"""How a step was halved is told by a number: after a leading 1, bit by bit, 1 for a part that was halved and 0 for one
that was solved, in order of time; 0 for a step that was not halved. Where the number would be larger than this, -n for
n equal parts and -1 for others."""


def lengths_of(divided: int) -> list[float]:
    """Lengths of the parts of a step, relative to it, that a number as in `LONGEST` tells.

    Raises:
        IntegratorError: the number is -1, or no step is divided like that: it comes from a damaged run.
    """
    if divided == -1:
        raise IntegratorError("a step was divided so finely that the run does not tell its parts")
    if divided < -MOST:
        raise _nonsense(divided)
    if divided < -1:
        return [-1.0 / divided] * -divided
    ahead, lengths = [1.0], []
    for bit in f"{divided:b}"[1:]:
        if not ahead:
            raise _nonsense(divided)
        length = ahead.pop()
        if bit == "1":
            ahead += [length / 2, length / 2]
        else:
            lengths.append(length)
    return lengths + ahead


def _nonsense(divided: int) -> IntegratorError:
    return IntegratorError(f"the run's 'divided' holds {divided}, by which no step is divided")
