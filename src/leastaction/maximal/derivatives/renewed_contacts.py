"""Contacts of many solved steps with changed shapes, for derivatives by shape parameters.

Features of most contacts are fixed to their bodies, so few differ over many steps: each is detected only once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction.contact.records import SEGMENTS
from leastaction.errors import IntegratorError
from leastaction.integration.integrators import FloatArray
from leastaction.maximal.contact.feature_tracking import found_at, margin_of

Integers = NDArray[np.int64]


class Touching(NamedTuple):
    """The distinct contacts of many steps.

    Attributes:
        contacts: `CONTACT` records, each from its first occurrence; steps: the step of that.
        names: keys that distinguish them.
        which: index of the distinct contact for each contact of each step, shape (steps, most).
        ends: poses at the start and at the end of the steps, (steps, bodies, 7) each.
        margins: largest gaps for detection [m], shape (steps,).
    """

    contacts: Any
    steps: Integers
    names: list[bytes]
    which: Integers
    ends: tuple[FloatArray, FloatArray]
    margins: FloatArray


def touching(table: Any, contacts: Any, cones: Any, counts: Any, ends: Any, speeds: Any, lengths: Any) -> Touching:
    """Distinct contacts of the cones of many steps.

    Args:
        table: of all shapes.
        contacts, cones: `CONTACT` and `CONE` records as the steps were solved with, shapes (steps, most).
        counts: number of cones of each step.
        ends: see `Touching`.
        speeds: largest velocity in each [m/s or rad/s].
        lengths: of the steps [s].
    """
    there = np.arange(cones.shape[1]) < np.asarray(counts)[:, None]
    most = np.where(there, cones.source, -1).max(axis=1, initial=-1) + 1
    gaps = np.abs(np.where(there, cones.gap, 0.0)).max(axis=1, initial=0.0)
    steps, places = np.nonzero(np.arange(contacts.shape[1]) < most[:, None])
    own = contacts[steps, places]
    same = own.copy()
    same["pair"] = 0  # indices of another broad phase
    same["n"][same["kind"] == SEGMENTS] = 0.0  # used only where segments cross
    names, first, kinds = np.unique(np.asarray(same).view(f"V{same.itemsize}"), return_index=True, return_inverse=True)
    which = np.zeros(contacts.shape, np.int64)
    which[steps, places] = kinds
    found = own[first], steps[first], [name.tobytes() for name in names], which
    return Touching(*found, ends, margin_of(table, gaps, speeds, lengths))


def renewed(table: Any, pairs: Any, at: Touching, known: dict[bytes, Any]) -> Any:
    """The distinct contacts with the shapes and coefficients of another table.

    Normals of segments are those of the first occurrence; they are used only where segments cross.

    Args:
        table: of the shapes.
        pairs: `PAIR` records of all that may touch.
        known: cache of contacts of this table by name; new ones are added.
    """
    missing = np.array([name not in known for name in at.names])
    if missing.any():
        found = _looked_for(table, pairs, at.contacts[missing], at.steps[missing], at)
        known |= {at.names[k]: contact for k, contact in zip(np.flatnonzero(missing).tolist(), found, strict=True)}
    out = at.contacts.copy()
    for k, name in enumerate(at.names):
        out[k] = known[name]
    return out


def _looked_for(table: Any, pairs: Any, own: Any, steps: Integers, at: Touching) -> Any:
    """Detect contacts of some steps with the shapes of another table."""
    pairs = pairs[np.isin(pairs.key >> 32, np.unique(own.key >> 32))]
    new, missing = own.copy(), np.ones(len(own), bool)
    for Z in at.ends:  # contacts that a step had missed at its start were found at its end
        if not missing.any():
            break
        looked = np.unique(steps[missing])
        found, of = found_at(table, pairs, Z[looked], at.margins[looked])
        wanted = np.flatnonzero(missing)
        place = _places(steps[wanted], own.key[wanted], looked[of], found.key)
        wanted, place = wanted[place >= 0], place[place >= 0]
        new[wanted] = found[place]
        missing[wanted] = False
    if missing.any():
        raise IntegratorError(
            "Maximal: a contact of this step vanishes when the parameter changes; it has no derivative"
        )
    return new


def _places(steps: Integers, keys: Integers, found_steps: Integers, found_keys: Integers) -> Integers:
    """Index of the first found contact with the step and key of each given one; -1 where there is none."""
    _, ranks = np.unique(np.concatenate([keys, found_keys]), return_inverse=True)
    most = ranks.max(initial=0) + 1
    wanted, there = steps * most + ranks[: len(keys)], found_steps * most + ranks[len(keys) :]
    order = np.argsort(there, kind="stable")
    place = np.append(order, -1)[np.searchsorted(there[order], wanted)]
    return np.where(np.append(there, -1)[place] == wanted, place, -1)
