"""What was wrong with a motion that is no solution, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from leastaction.optimize.transcriptions.chain_rule import Motion, Piece
from leastaction.optimize.transcriptions.sparsity import FloatArray
from leastaction.optimize.transcriptions.transcription import Transcription

if TYPE_CHECKING:
    from leastaction.optimize.solution.solution import Iteration

BOTTOMLESS = 1e3
"""How far below zero, beside 1 and the first cost, a cost has fallen that seems to have no minimum."""


def decided(program: Transcription, c: FloatArray) -> tuple[float, str]:
    """The largest violation among the constraints whose unknowns are all given, by c (m,), and of what; (0, "")."""
    J = program.jacobian_pattern
    moved = np.zeros(program.m, bool)
    columns = np.repeat(np.arange(program.n), np.diff(J.indptr))
    moved[J.indices[(program.lower < program.upper)[columns]]] = True
    excess = np.where(moved, 0.0, np.maximum(program.c_lower - c, c - program.c_upper))
    worst = int(np.argmax(excess)) if len(excess) else 0
    return (float(excess[worst]), program.describe(worst)) if len(excess) and excess[worst] > 1e-6 else (0.0, "")


def explanation(
    program: Transcription,
    motion: Motion,
    status: str,
    reason: str,
    cost: float,
    worst: tuple[float, str],
    iterations: Sequence[Iteration],
    given: str = "",
) -> str:
    """Why a search ended without a solution.

    Args:
        program: what was to be solved.
        motion: where it ended.
        status, reason: how, in the solver's words and in ours.
        cost: there.
        worst: `largest_violation` there.
        iterations: the log.
        given: a constraint that what is given contradicts, `decided`.
    """
    if given:
        return f"what is given contradicts {given}, whatever the motion"
    fell = _no_minimum(program, motion, cost, iterations)
    if fell:
        return f"{reason}: {fell}" if reason else fell
    found = _not_finite(program, motion) if status == "Invalid_Number_Detected" or not np.isfinite(cost) else ""
    if found or not np.isfinite(cost):
        return f"{reason}: {found or 'the cost'} is not finite"
    if worst[0] > 1e-6:
        return f"{reason}: the largest violation, {worst[0]:.2e}, is that of {worst[1]}"
    return reason


def _no_minimum(program: Transcription, motion: Motion, cost: float, iterations: Sequence[Iteration]) -> str:
    """That the cost fell and fell, and which of its terms did; a sum of squares does not."""
    open_below = [c for c in program.costs if not c.cost.squares]
    if not open_below or not iterations:
        return ""
    first, least = iterations[0].cost, min([cost, *(i.cost for i in iterations)])
    if not least < -BOTTOMLESS * (1.0 + abs(first)):
        return ""
    sums = [float((c.shares(motion.dt) * c.terms(c.piece.values(motion))).sum()) for c in open_below]
    name = open_below[int(np.argmin(np.nan_to_num(sums, nan=-np.inf)))].cost.function.name
    return (
        f"the cost seems to have no minimum; it fell to {least:.1e}, by its term {name!r}. Bound the motion or the "
        "controls, or add a cost that grows faster"
    )


def largest_violation(program: Transcription, z: FloatArray, c: FloatArray) -> tuple[float, str]:
    """The largest violation, and of what."""
    rows = np.maximum(np.maximum(program.c_lower - c, c - program.c_upper), 0.0)
    bounds = np.maximum(np.maximum(program.lower - z, z - program.upper), 0.0)
    if not np.isfinite(rows).all():
        return float("inf"), program.describe(int(np.argmax(~np.isfinite(rows))))
    row, bound = rows.max(initial=0.0), bounds.max(initial=0.0)
    if row >= bound:
        return float(row), program.describe(int(np.argmax(rows))) if len(rows) else ""
    return float(bound), "a bound"


def _not_finite(program: Transcription, motion: Motion) -> str:
    """The first cost or constraint of users with a value or a derivative that is not finite."""
    pieces = [("cost", c.piece) for c in program.costs]
    pieces += [("constraint", piece) for piece in program.paths if isinstance(piece, Piece)]
    for kind, piece in pieces:
        value, slopes = piece.slopes(motion)
        for what, values in (("", value), *(("derivative of the ", J.reshape(len(J), -1)) for J in slopes)):
            if not np.isfinite(values).all():
                k = int(np.argmax(~np.isfinite(values).all(axis=1)))
                return f"the {what}{kind} {piece.function.name!r} at {piece.function.where} {piece.index[k]}"
    return ""
