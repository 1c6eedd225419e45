"""The substeps of the steps of a run, in sequence, in the order of the compiled backward pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.integration.integrators import FloatArray
from leastaction.step_control.substeps import UNKNOWN, ends_of


class PartedSteps:
    """Substeps of all steps: those of a composition, each of which may have been bisected.

    Args:
        lengths: of the composition [s].
        substeps: ends of the substeps of each of these in each step, as runs store them (`substeps`), shape (steps,
            composition, ends).
        before: length of the substep before the first [s].

    Attributes:
        begins: first substep of each step, and the number of substeps, shape (steps + 1,); a step with unrecorded
            substeps has none.
        lengths, before: of each substep and of the one before it [s], shape (parts,).
        nodes: control node at the start of each substep; that at its end is the next one, at order 1 the same.
        shares: fraction of its step of the composition at both ends of each substep, shape (parts, 2).
        plastic: 1 for substeps without restitution.
        most: largest number of substeps of a step.
    """

    def __init__(self, lengths: Sequence[float], substeps: FloatArray, before: float) -> None:
        kinds: dict[bytes, tuple[Any, ...]] = {}
        own = []
        for row in substeps:
            key = row.tobytes()
            if key not in kinds:
                kinds[key] = _parts_of(lengths, row)
            own.append(kinds[key])
        self.begins = np.cumsum([0, *(len(parts[0]) for parts in own)], dtype=np.int64)
        self.lengths, self.nodes, self.shares, self.plastic = (
            np.concatenate([parts[i] for parts in own]) for i in range(4)
        )
        self.before = np.concatenate([[before], self.lengths[:-1]]) if len(self.lengths) else self.lengths
        self.most = int(np.diff(self.begins).max(initial=1))

    def since(self, last: int, room: int) -> int:
        """The first step such that the substeps from it up to step `last` fit in `room`."""
        return min(int(np.searchsorted(self.begins, self.begins[last + 1] - room)), last)

    def newest_first(self, first: int, last: int) -> NDArray[np.int64]:
        """Substeps of the steps from `last` down to `first`, those of a step in order of time: the order of slots."""
        ranges = [np.arange(self.begins[k], self.begins[k + 1]) for k in range(last, first - 1, -1)]
        return np.concatenate([np.zeros(0, np.int64), *ranges])


def _parts_of(lengths: Sequence[float], substeps: FloatArray) -> tuple[Any, ...]:
    """(lengths, nodes, shares, plastic) of the substeps of a step."""
    if (substeps[:, 0] == UNKNOWN).any():
        return np.zeros(0), np.zeros(0, np.int64), np.zeros((0, 2)), np.zeros(0, np.int64)
    ends, plastic = zip(*(ends_of(own) for own in substeps), strict=True)
    nodes = np.repeat(np.arange(len(lengths)), [len(own) for own in ends])
    shares = np.concatenate([np.stack([np.append(0.0, own[:-1]), own], axis=1) for own in ends])
    return np.asarray(lengths)[nodes] * np.diff(shares)[:, 0], nodes, shares, np.concatenate(plastic)
