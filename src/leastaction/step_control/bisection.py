"""Bisection of steps: a step that is not accepted is solved in two halves, each of which may be bisected again.

A compiled loop over steps keeps three numbers: the current `substep` of `substeps` equal ones, and `halvings`, which
records the decisions so far. It begins with (1, 0, 1), attempts a substep of dt / substeps, and passes the outcome to
`next_substep`, until `substep == substeps`. The bisection of a step depends only on the state at its start and on its
controls, so a run restarted from one of its states continues identically, and derivatives of a step use the same
substeps.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from leastaction._jit import inline, routine
from leastaction.errors import IntegratorError

FINEST = 1024
"""Largest number of substeps of a step, except where contacts need more."""

LAST = 32768
"""Largest number of substeps of a step with contacts: light links between heavy ones snap taut within microseconds."""

MOST = 1 << 20
"""Upper bound on the number of substeps in a valid record."""

LONGEST = 1 << 61
"""Upper bound of the bit code that records how a step was bisected: a leading 1, then in order of time 1 for each
substep that was halved and 0 for each that was accepted; 0 for a step that was accepted whole. Where the code would
reach this bound, -n stands for n equal substeps, and -1 for other bisections."""


def substep_after(substeps, substep, halvings, accepted):  # type: ignore[no-untyped-def]
    """Return (substeps, substep, halvings) after a substep was accepted, or rejected and halved; (1, 1) ends the step.

    Accepting the second half of a longer substep also completes that substep.
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
    """dt / substeps by repeated halving; dividing by an integer would leave single precision."""
    while substeps > 1:
        dt, substeps = 0.5 * dt, substeps // 2
    return dt


@inline
def first_half(substeps, substep, start, end):
    """(substeps, substep, end) of the first half of the remainder of a substep, between these shares of the step.

    It ends near the middle of the remainder, on the coarsest dyadic grid with two intervals in it; for a whole substep
    it equals that of `substep_after`. Dividing by integers would leave single precision.
    """
    width, last, middle = substep_length(1.0, substeps), substep + 1, 0.5 * (start + end)
    while 0.5 * (end - start) < width:
        width, substeps, last = 0.5 * width, 2 * substeps, 2 * last
    while end - middle > 0.5 * width:
        end, last = end - width, last - 1
    return substeps, last - 1, end


@inline
def recorded(halvings):
    """The code that the run stores for a completed step, see `LONGEST`."""
    return 0 if halvings == 2 else halvings


def interpolate_controls(u, nodes, substeps, substep, out):  # type: ignore[no-untyped-def]
    """out (nodes, nu): controls of a substep, interpolated from those of the step at its `nodes` (fractions of dt).

    Controls that are constant over the step are reproduced exactly.
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
    """Matrix W (nodes, nodes) of `interpolate_controls`: the controls of the substep are W u."""
    c, W = np.array(nodes), np.eye(len(nodes))
    if substeps == 1:
        return W
    interpolate_controls(np.eye(len(c)), c, substeps, substep, W)
    return W


def lengths_of(divided: int) -> list[float]:
    """Lengths of the substeps of a step, relative to the step, from its code (`LONGEST`).

    Raises:
        IntegratorError: the code is -1, or it is invalid, as in a damaged file of a run.
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
