"""Contacts of a solved step detected again with other shapes, for derivatives by parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.contact.contact_entries import detect_all, measure_all
from leastaction.contact.records import CONTACT, records
from leastaction.minimal.contact.arrays import RobotShapes
from leastaction.typing import FloatArray


def gaps_at(contacts: Any, poses: FloatArray) -> FloatArray:
    """Gap of each `CONTACT` record at the poses (bodies, 12) [m]."""
    phi, n, x = np.zeros(len(contacts)), np.zeros((len(contacts), 3)), np.zeros((len(contacts), 3))
    measure_all(contacts, poses, phi, n, x)
    return phi


def detected_at(contacts: Any, shapes: RobotShapes, poses: FloatArray) -> tuple[Any, NDArray[np.bool_]]:
    """The same contacts detected at other poses (bodies, 12), or of other shapes; and which were found."""
    out, there = contacts.copy(), np.zeros(len(contacts), bool)
    pairs = shapes.pairs[np.unique(contacts.pair)]
    # Detect within a margin larger than the gaps; contacts other than the wanted ones are ignored.
    margin = 2.0 * float(np.abs(gaps_at(contacts, poses)).max(initial=0.0)) + 1e-3
    found = records(8 * len(contacts) + 16, CONTACT)
    while (count := detect_all(shapes.shapes, pairs, poses, shapes.table, found, margin)) > len(found):
        found = records(count, CONTACT)
    keys = {int(key): k for k, key in enumerate(found.key[:count])}
    for k, key in enumerate(contacts.key):
        if int(key) in keys:
            out[k], there[k] = found[keys[int(key)]], True
    for name in ("pair", "belt", "belt_a", "belt_b"):
        out[name] = contacts[name]
    return out, there
