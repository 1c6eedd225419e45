"""Messages about bodies that overlap at the start of a run, or touch in a step that fails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from leastaction.contact.contact_entries import detect_all, measure_all
from leastaction.contact.contact_table import ContactTable
from leastaction.contact.records import CONTACT, records
from leastaction.typing import FloatArray
from leastaction.warn import warn

DEEP = 1e-3
"""Least overlap at the start that is reported, relative to the size of a body."""

ROUNDED = 1e-9
"""Overlap that may be round-off [m], for any size; contact points have no size."""

NEAR = 1e-4
"""Largest gap of shapes that the message of a failed step reports as touching [m]."""

SHOWN = 5
"""Largest number of pairs in a message."""

REMEDY = "start them apart, or let them pass through each other by exclude_contact of a builder"


def warn_of_overlap(log: FloatArray, names: Sequence[str], reach: FloatArray) -> None:
    """Warn of overlaps at the start.

    Args:
        log: the contacts of the first step: step, two bodies, point, force, gap; shape (n, 10).
        names: names of the bodies, then of the world.
        reach: sizes of the bodies [m].
    """
    if len(log) == 0:
        return
    deep = log[log[:, 9] < -np.maximum(DEEP * reach[log[:, 2].astype(int)], ROUNDED)]
    pairs = [f"{names[int(b)]!r} and {names[int(a)]!r}" for a, b in deep[deep[:, 9].argsort(), 1:3]]
    pairs = list(dict.fromkeys(pairs))  # deepest first, without repetitions
    if pairs:
        text = (
            f"{pairs[0]} overlap at the start, by {-deep[:, 9].min():.2g} m after the first step, and are pushed apart"
        )
        if len(pairs) > 1:
            more = f" and {len(pairs) - SHOWN} other pairs" if len(pairs) > SHOWN else ""
            text += f"; so do {'; '.join(pairs[1:SHOWN])}{more}"
        warn(f"{text}; {REMEDY}")


def contacts_of_failed_step(table: ContactTable, X: FloatArray, step: int) -> str:
    """Name the shapes that overlap most, or otherwise are closest, at the start of a step that has no solution.

    Args:
        table: the shapes.
        X: poses by body index, shape (n, 12).
        step: number of the step.

    Returns:
        The end of a sentence; empty if no shapes are close.
    """
    pairs = np.concatenate([table.ground, table.body_pairs()]).view(np.recarray)
    found: Any = records(1 << 12, CONTACT)
    found = found[: detect_all(table.shapes, pairs, X, table.data, found, NEAR)]
    gaps, other = np.zeros(len(found)), np.zeros((2, len(found), 3))
    measure_all(found, X, gaps, other[0], other[1])
    near = [k for k in gaps.argsort() if gaps[k] < NEAR]
    sides = [["/".join(table.names[shape]) for shape in (pairs.a[k], pairs.b[k])] for k in found.pair[near]]
    names = list(dict.fromkeys(f"{a!r} and {b!r}" for a, b in sides))
    if not names:
        return ""
    if step == 0 and gaps[near[0]] < -ROUNDED:
        return f"; {names[0]} overlap by {-gaps[near[0]]:.2g} m at the start: {REMEDY}"
    more = f" and {len(names) - SHOWN} other pairs" if len(names) > SHOWN else ""
    return f"; in touch there: {', '.join(names[:SHOWN])}{more}"
