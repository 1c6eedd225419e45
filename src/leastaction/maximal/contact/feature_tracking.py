"""Contact detection for shapes of any kind at many poses."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.contact.contact_entries import detect_all
from leastaction.contact.records import CONTACT
from leastaction.integration.integrators import FloatArray
from leastaction.maximal.maximal_records import records


def rotations(Z: FloatArray) -> FloatArray:
    """Rotation matrices (n, 3, 3) of poses Z (n, 7)."""
    w, x, y, z = Z[:, 3:].T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), 2, 0)


def margin_of(table: Any, gap: Any, speed: Any, dt: Any) -> Any:
    """Gap up to which contacts are detected [m]: a bound for those of interest; the rest is ignored.

    Args:
        gap: largest at the start of the step [m].
        speed: largest velocity [m/s or rad/s].
    """
    reach = 1.0 + float(np.where(table.shapes.bound < 1e30, table.shapes.bound, 0.0).max())
    return 2.0 * gap + 8.0 * dt * reach * speed + 1e-3


def found_at(table: Any, pairs: Any, Z: FloatArray, margins: FloatArray) -> tuple[Any, NDArray[np.int64]]:
    """(Contacts of the shapes of a table at many poses Z (m, bodies, 7), index in Z of each contact)."""
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
