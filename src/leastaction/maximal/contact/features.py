"""Contacts found again at other poses or with other shapes, and points of contact that move over both bodies.

Most contacts are of features that are fixed to their bodies: a corner over a plane, two edges, a ball's centre. But
faces touch where their outlines cross, and those points depend on the poses at which they are looked for: at
the start of a step, or at the end of its first solution where that had missed them (`missed_contacts`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.contact.entries import detect_all
from leastaction.contact.features import are_moving
from leastaction.contact.records import CONTACT
from leastaction.integrators import FloatArray
from leastaction.maximal.derivatives.sparse_blocks import rotations
from leastaction.maximal.records import records

CENTRAL = ((-2.0, 1.0 / 12.0), (-1.0, -2.0 / 3.0), (1.0, 2.0 / 3.0), (2.0, -1.0 / 12.0))
"""Offsets and weights of a central difference of order 4."""

STEP = 1e-6
"""Displacement [rad; lengths relative to the radius of gyration]: small, for faces of boxes switch easily."""


def margin_of(table: Any, gap: Any, speed: Any, dt: Any) -> Any:
    """Gap up to which contacts are looked for [m]: what is found beyond those wanted is left aside.

    Args:
        gap: largest at the start of the step [m].
        speed: largest velocity [m/s or rad/s].
    """
    reach = 1.0 + float(np.where(table.shapes.bound < 1e30, table.shapes.bound, 0.0).max())
    return 2.0 * gap + 8.0 * dt * reach * speed + 1e-3


def found_at(table: Any, pairs: Any, Z: FloatArray, margins: FloatArray) -> tuple[Any, NDArray[np.int64]]:
    """(contacts of the shapes of a table at many poses Z (m, bodies, 7), of which of these each is)."""
    turns = rotations(Z.reshape(-1, 7)).reshape(*Z.shape[:2], 9)
    transforms = np.concatenate([turns, Z[:, :, :3]], axis=2)
    room, parts = records(64, CONTACT), []
    for X, margin in zip(transforms, margins.tolist(), strict=True):
        while (count := detect_all(table.shapes, pairs, X, table.data, room, margin)) > len(room):
            room = records(count, CONTACT)
        parts.append(room[:count].copy())
    found = np.concatenate(parts).view(np.recarray)
    pair, shapes = found.pair, table.shapes
    found.spin, found.roll = pairs.spin[pair], pairs.roll[pair]
    sides = shapes.belt[pairs.a[pair]], shapes.belt[pairs.b[pair]]
    found.belt_a, found.belt_b = sides
    found.belt = np.any(sides, axis=(0, 2))
    return found, np.repeat(np.arange(len(Z)), [len(part) for part in parts])


def find_again(solved: Any, table: Any, pairs: Any, Z: FloatArray, missing: dict[int, int], out: Any) -> None:
    """Put contacts of the shapes of a table at poses Z in the places that `missing` has for their keys, out of it."""
    margin = margin_of(table, np.abs(solved.cones.gap).max(), np.abs(solved.V).max(), solved.stepper.dt)
    for c in found_at(table, pairs, Z[None], np.array([margin]))[0]:
        k = missing.pop(int(c.key), None)
        if k is not None:
            out[k] = c


def moving_of(solved: Any) -> NDArray[np.int64]:
    """Numbers of the contacts of a `Solved` step whose points move over both bodies."""
    pair, pairs, kinds = solved.contacts.pair, solved.stepper.near.pairs, solved.stepper.table.shapes.kind
    return np.flatnonzero(are_moving([kinds[pairs.a[pair]], kinds[pairs.b[pair]]]))


def by_moving_features(solved: Any, moving: NDArray[np.int64], Z: FloatArray, entries: Any, none: Any) -> FloatArray:
    """Derivatives (entries, 6) of outputs by the poses at which some contacts were found, where these move as well.

    Args:
        solved: a `Solved` step.
        moving: numbers of its contacts.
        Z: poses at which they were found, shape (bodies, 7).
        entries: a `Sparsity` of its outputs.
        none: colours of no body at all.
    """
    s, contacts = solved.stepper, solved.contacts
    pairs, J = s.near.pairs, np.zeros((len(entries.owner), 6))
    own = pairs[np.unique(contacts.pair[moving])]
    touched = set(contacts.a[moving].tolist()) | set(contacts.b[moving].tolist())
    members, begins, pointer, index = entries.colours
    for colour in range(len(begins) - 1):
        bodies = [i for i in members[begins[colour] : begins[colour + 1]].tolist() if i in touched]
        for c in range(6 if bodies else 0):
            sizes = STEP * (s.model.bodies.radius[bodies] if c >= 3 else np.ones(len(bodies)))
            found, lost = [], set()
            for offset, _ in CENTRAL:
                missing = {int(contacts.key[k]): int(k) for k in moving}
                found.append(contacts.copy())
                find_again(solved, s.table, own, displaced(Z, bodies, c, offset * sizes), missing, found[-1])
                lost |= set(missing.values())
            for (_, weight), other in zip(CENTRAL, found, strict=True):
                other[list(lost)] = contacts[list(lost)]  # as if fixed, not half of a difference
                result, _ = solved.outputs(none, np.zeros((0, 12)), solved.model, other)
                for i, size in zip(bodies, sizes, strict=True):
                    at = slice(pointer[i], pointer[i + 1])
                    J[at, c] += weight / size * result.out[index[at]]
    return J


def moved_features(solved: Any, moving: NDArray[np.int64], Z: FloatArray) -> list[tuple[int, int, float, Any]]:
    """Contacts of a `Solved` step with some of them found again at displaced poses: (body, axis, weight, contacts).

    Weights are those of central differences by the poses Z (bodies, 7) at which these were found.
    """
    s, contacts, out = solved.stepper, solved.contacts, []
    own = s.near.pairs[np.unique(contacts.pair[moving])]
    touched = sorted(({*contacts.a[moving].tolist()} | {*contacts.b[moving].tolist()}) - {-1})
    for body in touched:
        for c in range(6):
            size = STEP * (float(s.model.bodies.radius[body]) if c >= 3 else 1.0)
            found, lost = [], set()
            for offset, _ in CENTRAL:
                missing = {int(contacts.key[k]): int(k) for k in moving}
                found.append(contacts.copy())
                find_again(solved, s.table, own, displaced(Z, [body], c, np.array([offset * size])), missing, found[-1])
                lost |= set(missing.values())
            for (_, weight), other in zip(CENTRAL, found, strict=True):
                other[list(lost)] = contacts[list(lost)]
                out.append((body, c, weight / size, other))
    return out


def displaced(Z: FloatArray, bodies: list[int], c: int, d: FloatArray) -> FloatArray:
    """Poses (n, 7) with some bodies turned about (c = 0, 1, 2) or shifted along (3, 4, 5) an axis by d."""
    Z = Z.copy()
    if c >= 3:
        Z[bodies, c - 3] += d
        return Z
    w, v, sin = Z[bodies, 3], Z[bodies, 4:], np.sin(0.5 * d)[:, None] * np.eye(3)[c]
    cos = np.cos(0.5 * d)
    Z[bodies, 3] = w * cos - (v * sin).sum(axis=1)
    Z[bodies, 4:] = w[:, None] * sin + cos[:, None] * v + np.cross(v, sin)
    return Z
