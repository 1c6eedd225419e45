"""Which outputs of a step depend on which bodies, and bodies that no output knows two of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.forces.arrays import tendon_nodes
from leastaction.maximal.derivatives.arrays import Colours
from leastaction.maximal.model import Model
from leastaction.maximal.records import BALL, FREE
from leastaction.mechanism.closure import COUPLING


@dataclass(frozen=True, eq=False)
class Sparsity:
    """Entries of a Jacobian by bodies.

    Attributes:
        colours: for the kernels.
        owner: body of each entry.
    """

    colours: Colours
    owner: NDArray[np.int64]

    @property
    def outputs(self) -> NDArray[np.int64]:
        """Output of each entry."""
        return self.colours.outputs

    @property
    def starts(self) -> NDArray[np.int64]:
        """First entry of each body, all of which have some."""
        return self.colours.pointer[:-1]


class Neighbours:
    """Bodies that stand in common equations of one mechanism, its cones included."""

    def __init__(self, model: Model, first: NDArray[np.int64], cones: Iterable[tuple[int, int]]) -> None:
        n = len(model.bodies)
        self.first, self.size, self.n = first, int(first[-1]), n
        self.rows = [[int(x) for x in _row_bodies(model, row)] for row in model.rows]
        self.row_outputs = first[n + model.rows.node] + model.rows.local
        self.pairs = [(int(c.a), int(c.b)) for c in model.coordinates]
        self.freedoms = [
            range(int(c.iv), int(c.iv) + (6 if c.kind == FREE else 3 if c.kind == BALL else 1)) if c.iv >= 0 else ()
            for c in model.coordinates
        ]
        self.cones = [(int(a), int(b)) for a, b in cones]
        own = [] if model.paths is None else [*model.paths]
        own += [] if model.resisting is None else [*model.resisting.paths]
        paths = [model.forces.points.node[p.first : p.first + p.count].tolist() for p in own]
        paths += [tendon_nodes(model.forces, t) for t in model.forces.tendons]
        near: list[set[int]] = [{i} for i in range(n)]
        for group in (*self.rows, *self.pairs, *self.cones, *paths):
            bodies = {i for i in group if i >= 0}
            for i in bodies:
                near[i] |= bodies
        self.near = [sorted(x) for x in near]
        self.members, self.begins = self._colour()

    def _colour(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Greedy colouring: bodies of one colour have no common neighbour."""
        colour: list[int] = []
        for i in range(self.n):
            taken = {colour[k] for j in self.near[i] for k in self.near[j] if k < i}
            colour.append(next(c for c in range(len(taken) + 1) if c not in taken))
        order = np.argsort(colour, kind="stable").astype(np.int64)
        begins = np.searchsorted(np.array(colour)[order], np.arange(max(colour, default=-1) + 2)).astype(np.int64)
        return order, begins

    @cached_property
    def step(self) -> Sparsity:
        """Of `sensitivity_kernels.outputs`."""
        end = self.size + 3 * len(self.cones)
        found = self._equations()
        for i, near in enumerate(self.near):
            found[i] += [end + 6 * (k * self.n + j) + c for k in range(2) for j in near for c in range(6)]
        for k, pair in enumerate(self.cones):
            for i in {i for i in pair if i >= 0}:
                found[i] += [self.size + 3 * k + c for c in range(3)]
        return self._pack(found)

    @cached_property
    def pose(self) -> Sparsity:
        """Of `sensitivity_kernels.pose_outputs`."""
        found = self._equations()
        for pair, freedoms in zip(self.pairs, self.freedoms, strict=True):
            for i in {i for i in pair if i >= 0}:
                found[i] += [self.size + k for k in freedoms]
        return self._pack(found)

    @cached_property
    def none(self) -> Colours:
        """No body at all: for the outputs alone."""
        return Colours(self.members, np.zeros(1, np.int64), np.zeros(self.n + 1, np.int64), np.zeros(0, np.int64))

    def _equations(self) -> list[list[int]]:
        """Numbers of the equations that each body stands in."""
        found = [[int(self.first[j]) + c for j in near for c in range(6)] for near in self.near]
        for output, bodies in zip(self.row_outputs.tolist(), self.rows, strict=True):
            for i in {i for i in bodies if i >= 0}:
                found[i].append(output)
        return found

    def _pack(self, found: list[list[int]]) -> Sparsity:
        counts = [len(x) for x in found]
        pointer = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        index = np.array([k for x in found for k in x], np.int64)
        return Sparsity(Colours(self.members, self.begins, pointer, index), np.repeat(np.arange(self.n), counts))


def _row_bodies(model: Model, row: Any) -> tuple[int, ...]:
    if row.kind != COUPLING:
        return row.a, row.b
    leader = model.coordinates[row.leader]
    return row.a, row.b, leader.a, leader.b
