"""Which bodies may touch in the next steps, and the graph of the Newton matrix with an edge for each such pair."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.contact.shapes import ContactTable
from leastaction.linalg.graph.ldu import GraphLDU
from leastaction.maximal.arrays import ContactModel, MaximalModel
from leastaction.maximal.model import Model
from leastaction.mechanism.closure import COUPLING

FloatArray = NDArray[np.float64]

MANY = 100
"""Up to so many shapes, every pair of them is looked at when the graph is laid out."""

MOST_CARRIED = 1e3
"""Bound on `carried_mass`: to start the interior point method from higher up costs an iteration for each 1e2 or so."""


class Layout:
    """The graph and the near pairs of a mechanism, renewed as its bodies move.

    Attributes:
        ldu: the graph.
        model: what kernels read, with that graph.
        near: what contacts read.
    """

    def __init__(self, model: Model, table: ContactTable, dt: float) -> None:
        self.flat, self.table, self.dt = model, table, dt
        self.reach = reach_of_bodies(table.shapes, len(model.bodies))
        self.edges: list[tuple[int, int]] | None = None
        self.ldu: GraphLDU
        self.model: MaximalModel
        self.near: ContactModel

    def renew(self, Z: FloatArray | None, states: Any, wider: float) -> bool:
        """Lay out the graph, with an edge for each pair of bodies that may touch soon at the poses Z (None: none).

        Gives back whether it is another graph.

        Args:
            states: `BODY_STATE` records with the velocities; not used without poses.
            wider: what is soon grows with it: a step that is divided may need another plan before it is over.
        """
        table = self.table
        pairs, most = table.ground, math.inf
        if Z is not None and len(table.movers) > 1:
            bound = table.shapes.bound[table.movers]
            usual = float(np.median(bound[np.isfinite(bound)])) if np.isfinite(bound).any() else 0.0
            margin = wider * max(0.5 * usual, 1e-3)
            near, room = self._near_pairs(Z, states, margin)
            pairs = np.concatenate([table.ground, near]).view(np.recarray)
            # Others stay apart while none moves further than this and, per step, changes its velocity by more.
            most = (room - 0.5 * margin) / 4.0
        edges = list(self.flat.edges)
        index = {pair: k for k, pair in enumerate(edges)}
        pair_edges = np.full(len(pairs), -1, np.int64)
        tied = np.sort([table.shapes.body[pairs.a], table.shapes.body[pairs.b]], axis=0)
        for k in np.flatnonzero((tied[0] >= 0) & (tied[0] != tied[1])):
            i, j = tied[:, k].tolist()
            pair_edges[k] = index.setdefault((i, j), len(edges))
            if pair_edges[k] == len(edges):
                edges.append((i, j))
        other = edges != self.edges  # the order of elimination is the long part of a plan
        if other:
            self._lay_out(edges)
        anchors = np.zeros((len(self.flat.bodies) if math.isfinite(most) else 0, 8))
        if len(anchors):
            assert Z is not None
            anchors[:, :3], anchors[:, 3:6] = Z[:, :3], states.vc
            anchors[:, 6], anchors[:, 7] = np.linalg.norm(states.w, axis=1), self.reach
        most = most if math.isfinite(most) else 1e300
        self.near = ContactModel(
            table.shapes,
            table.data,
            pairs,
            pair_edges,
            anchors,
            most,
            None if table.is_smooth else True,
            None if table.is_plain else True,
            True if table.turns else None,
        )
        return other

    def _lay_out(self, edges: list[tuple[int, int]]) -> None:
        """Make the graph with these edges."""
        nb, joints = len(self.flat.bodies), self.flat.sizes
        self.edges = edges
        marks = [False] * nb + [True] * len(joints)
        self.ldu = GraphLDU([6] * nb + joints, edges, constraint=marks, weak=self._weak_edges())
        self.model = self.flat.arrays(self.ldu.plan)

    def _weak_edges(self) -> set[tuple[int, int]]:
        """Couplings, and bodies that both of their joints hang on: with parallel axes these may feel nothing."""
        rows, coordinates, nb = self.flat.rows, self.flat.coordinates, len(self.flat.bodies)
        weak = set()
        for row in rows[rows["kind"] == COUPLING]:
            leader = coordinates[row["leader"]]
            shared = {int(row["a"]), int(row["b"])} & {int(leader["a"]), int(leader["b"])}
            weak |= {(nb + int(row["node"]), body) for body in shared if body >= 0}
        return weak

    def _near_pairs(self, Z: FloatArray, states: Any, margin: float) -> tuple[Any, float]:
        """Pairs of shapes of bodies that are closer than `margin` and what they cover towards each other in a step.

        With them comes how close the nearest others are, at least `margin`.
        """
        v, turn = states.vc, np.linalg.norm(states.w, axis=1) * self.reach
        ahead = 2.0 * self.dt * float((np.linalg.norm(v, axis=1) + turn).max(initial=0.0))
        X, shapes = as_transforms(Z), self.table.shapes
        many = len(self.table.movers) > MANY
        pairs = self.table.body_pairs(X, margin + ahead) if many else self.table.body_pairs()
        i, j, centres = shapes.body[pairs.a], shapes.body[pairs.b], self.table.centres(X)
        apart = np.linalg.norm(centres[pairs.a] - centres[pairs.b], axis=1)
        apart -= shapes.bound[pairs.a] + shapes.bound[pairs.b]
        apart -= self.dt * (np.linalg.norm(v[i] - v[j], axis=1) + turn[i] + turn[j])
        near = apart < margin
        return pairs[near], margin if many else float(apart[~near].min(initial=1e6 * margin))

    def touches(self) -> bool:
        """Whether contacts, limits or dry friction may ever act."""
        c = self.flat.coordinates
        bounded = (c.friction > 0.0).any() or np.isfinite(c.lower).any() or np.isfinite(c.upper).any()
        return bool(bounded or len(self.near.pairs) or len(self.table.movers) > 1)


def carried_mass(model: Model) -> float:
    """Most mass that joints tie to a body, relative to the body's own: a contact of that body may carry all of it."""
    mass = model.bodies.mass
    root = np.arange(len(mass))
    for i, parent in enumerate(model.bodies.parent):
        if parent >= 0:
            root[i] = root[parent]
    total = np.bincount(root, weights=mass, minlength=len(root))[root]
    heavy = mass > 0.0
    return float(min(MOST_CARRIED, (total[heavy] / mass[heavy]).max(initial=1.0)))


def reach_of_bodies(shapes: Any, count: int) -> FloatArray:
    """Radius [m] about the COM of each body that holds its shapes but planes and fields, shape (count,)."""
    reach = np.zeros(count)
    moving = shapes[(shapes.body >= 0) & np.isfinite(shapes.bound)]
    np.maximum.at(reach, moving.body, np.linalg.norm(moving.centre, axis=1) + moving.bound)
    return reach


def as_transforms(Z: FloatArray) -> FloatArray:
    """Poses (n, 7) as rotation (row by row) and position, shape (n, 12)."""
    w, x, y, z = Z[:, 3:].T
    R = [
        *(1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        *(2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        *(2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    ]
    return np.column_stack([*R, Z[:, :3]])
