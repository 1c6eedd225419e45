"""Bodies that overlap at the start of a run, or touch where a step fails, in words that name them."""

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
"""Overlap at the start that is worth a warning, in terms of the size of a body."""

ROUNDED = 1e-9
"""Overlap that may be a rounding error [m], whatever the size; points have none."""

NEAR = 1e-4
"""Gap of shapes that the message of a failed step calls in touch [m]."""

SHOWN = 5
"""Pairs that a message names."""

REMEDY = "start them apart, or let them pass through each other by exclude_contact of a builder"


def warn_of_overlap(log: FloatArray, names: Sequence[str], reach: FloatArray) -> None:
    """Say what overlaps at the start.

    Args:
        log: the contacts of the first step: step, two bodies, point, force, gap; shape (n, 10).
        names: of the bodies, and last of the world.
        reach: their sizes [m].
    """
    if len(log) == 0:
        return
    deep = log[log[:, 9] < -np.maximum(DEEP * reach[log[:, 2].astype(int)], ROUNDED)]
    pairs = [f"{names[int(b)]!r} and {names[int(a)]!r}" for a, b in deep[deep[:, 9].argsort(), 1:3]]
    pairs = list(dict.fromkeys(pairs))  # the deepest first, each once
    if pairs:
        text = (
            f"{pairs[0]} overlap at the start, by {-deep[:, 9].min():.2g} m after the first step, and are pushed apart"
        )
        if len(pairs) > 1:
            more = f" and {len(pairs) - SHOWN} other pairs" if len(pairs) > SHOWN else ""
            text += f"; so do {'; '.join(pairs[1:SHOWN])}{more}"
        warn(f"{text}; {REMEDY}")


def contacts_of_failed_step(table: ContactTable, X: FloatArray, step: int) -> str:
    """The shapes that overlap most, or else are nearest, where a step begins that has no solution.

    Args:
        table: of the shapes.
        X: poses of what they are on, shape (n, 12).
        step: its number.

    Returns:
        The end of a sentence; empty where nothing is near.
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
