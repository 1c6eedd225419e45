"""Bisection of steps: a step that is not accepted is solved in two halves, each of which may be halved again.

A compiled loop over steps holds three numbers: `substep` of `substeps` equal ones is at hand, and `halvings` records
what was done so far. It begins with (1, 0, 1), attempts a substep of dt / substeps, and hands the outcome to
`next_substep`, until `substep == substeps`. How a step is bisected depends on the state at its start and on its
controls alone, so a run that is taken up at one of its states goes on as before, and derivatives of a step find the
same substeps again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from leastaction._jit import inline, routine
from leastaction.errors import IntegratorError

FINEST = 1024
"""Most substeps of a step, but for those in which contacts need more."""

LAST = 32768
"""Most substeps of a step in which things touch: light links between heavy ones snap taut within microseconds."""

MOST = 1 << 20
"""Substeps that no step has."""

LONGEST = 1 << 61
"""How a step was bisected is recorded by a number: after a leading 1, bit by bit, 1 for a substep that was halved and 0
for one that was accepted, in order of time; 0 for a step that was accepted whole. Where the number would not be smaller
than this, -n for n equal substeps and -1 for others."""


def substep_after(substeps, substep, halvings, accepted):  # type: ignore[no-untyped-def]
    """(substeps, substep, halvings) after one was accepted, or was not and is halved; the step ends with (1, 1).

    What was the second half of a longer substep has ended that, too.
    """
    halvings = 2 * halvings + (0 if accepted else 1) if halvings > 0 else -1
    halvings = halvings if halvings < LONGEST else -1
    if not accepted:
        return 2 * substeps, 2 * substep, halvings
    substep += 1
    while substeps > 1 and substep % 2 == 0:
        substeps, substep = substeps // 2, substep // 2
    return substeps, substep, halvings


next_substep = inline(substep_after)
"""`substep_after` for kernels."""


@inline
def substep_length(dt, substeps):
    """dt / substeps; a quotient by a whole number would not stay in single precision."""
    while substeps > 1:
        dt, substeps = 0.5 * dt, substeps // 2
    return dt


@inline
def first_half(substeps, substep, start, end):
    """(substeps, substep, end) of the first half of what is left of a substep, between these shares of the step.

    It ends near the middle, on the coarsest grid of equal substeps that has two of them there: of a whole substep it is
    that of `substep_after`. Quotients by whole numbers would not stay in single precision.
    """
    width, last, middle = substep_length(1.0, substeps), substep + 1, 0.5 * (start + end)
    while 0.5 * (end - start) < width:
        width, substeps, last = 0.5 * width, 2 * substeps, 2 * last
    while end - middle > 0.5 * width:
        end, last = end - width, last - 1
    return substeps, last - 1, end


@inline
def recorded(halvings):
    """What the run stores of a step that has ended, see `LONGEST`."""
    return 0 if halvings == 2 else halvings


def interpolate_controls(u, nodes, substeps, substep, out):  # type: ignore[no-untyped-def]
    """out (nodes, nu): controls of a substep, by interpolation of those of the step at its `nodes` (fractions of dt).

    Those that are held over the step stay the same to the last bit.
    """
    count = nodes.shape[0]
    for a in range(count):
        t = (substep + nodes[a]) / substeps
        for c in range(u.shape[1]):
            out[a, c] = u[0, c] if substeps > 1 else u[a, c]
        if substeps == 1:
            continue
        for b in range(1, count):
            weight = 1.0
            for k in range(count):
                if k != b:
                    weight *= (t - nodes[k]) / (nodes[b] - nodes[k])
            for c in range(u.shape[1]):
                out[a, c] += weight * (u[b, c] - u[0, c])


controls_of_substep = routine(interpolate_controls)
"""`interpolate_controls` for kernels."""


def control_weights(nodes: Sequence[float], substeps: int, substep: int) -> NDArray[np.float64]:
    """Weights W (nodes, nodes) of `interpolate_controls`, which gives W u."""
    c, W = np.array(nodes), np.eye(len(nodes))
    if substeps == 1:
        return W
    interpolate_controls(np.eye(len(c)), c, substeps, substep, W)
    return W


def lengths_of(divided: int) -> list[float]:
    """Lengths of the substeps of a step, relative to it, that a number as in `LONGEST` records.

    Raises:
        IntegratorError: the number is -1, or no step is bisected like that: it comes from a damaged run.
    """
    if divided == -1:
        raise IntegratorError("a step was divided so finely that the run does not record its parts")
    if divided < -MOST:
        raise _invalid_division(divided)
    if divided < -1:
        return [-1.0 / divided] * -divided
    ahead, lengths = [1.0], []
    for bit in f"{divided:b}"[1:]:
        if not ahead:
            raise _invalid_division(divided)
        length = ahead.pop()
        if bit == "1":
            ahead += [length / 2, length / 2]
        else:
            lengths.append(length)
    return lengths + ahead


def _invalid_division(divided: int) -> IntegratorError:
    return IntegratorError(f"the run's 'divided' holds {divided}, by which no step is divided")
