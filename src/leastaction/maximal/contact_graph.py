"""Near pairs of bodies (broad phase), and the graph of the Newton matrix, with an edge for each two in contact."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.contact.broad_phase import reach_of_bodies
from leastaction.contact.contact_table import ContactTable
from leastaction.linalg.graph.ldu import GraphLDU
from leastaction.maximal.arrays import ContactModel, MaximalModel
from leastaction.maximal.contact.contact_setup import LOOSE, PUSHED
from leastaction.maximal.kernel_variants import flag
from leastaction.maximal.model import Model
from leastaction.mechanism.closure import COUPLING
from leastaction.typing import FloatArray

MANY = 150
"""Up to this number of shapes, every pair of them counts as near."""

GRAPHS = 12
"""Edges are removed between bodies that have not touched while this number of graphs was in use."""

KEPT = 64
"""Number of graphs that are kept for reuse when the same bodies touch again."""

Edges = frozenset[tuple[int, int]]

NONE: Edges = frozenset()

MOST_CARRIED = 1e3
"""Bound on `carried_mass`: a higher start of the interior point method costs about one iteration per factor of 1e2."""


class Layout:
    """The graph and the near pairs of a mechanism, updated as its bodies move.

    Attributes:
        tied: bodies in contact, as pairs (i, j), i < j: the graph has an edge for each.
        met, met_before: pairs that have touched since the graph was made, and during each of the graphs before.
        pushed: pairs that have exerted forces on each other since then.
        ldu: the graph.
        model: arrays of the kernels, with that graph.
        near: contact arrays of the kernels.
        whole: see `kernel_variants`.
    """

    def __init__(self, model: Model, table: ContactTable, dt: float, whole: bool) -> None:
        self.flat, self.table, self.dt, self.whole = model, table, dt, whole
        self.reach = reach_of_bodies(table.shapes, len(model.bodies))
        self.edges: list[tuple[int, int]] | None = None
        self.graphs: dict[tuple[tuple[tuple[int, int], ...], Edges], tuple[GraphLDU, MaximalModel]] = {}
        self.forget()
        self.ldu: GraphLDU
        self.model: MaximalModel
        self.near: ContactModel

    def renew(self, Z: FloatArray | None, states: Any, wider: float) -> bool:
        """Broad phase: find pairs of shapes that may touch soon at the poses Z (None: none); whether the graph changed.

        Args:
            states: `BODY_STATE` records with the velocities; not used without poses.
            wider: factor on the margin; a step that is bisected may need another broad phase before it ends.
        """
        table = self.table
        pairs, most, skin = table.ground, math.inf, 1e-3
        if Z is not None and len(table.movers) > 1:
            bound = table.shapes.bound[table.movers]
            usual = float(np.median(bound[np.isfinite(bound)])) if np.isfinite(bound).any() else 0.0
            skin = max(0.5 * usual, 1e-3)
            if len(table.movers) > MANY:
                margin = 2.0 * wider * skin
                near = self._near_pairs(Z, states, margin)
                # The result is valid while no body moves, or changes its velocity per step, by more than this.
                most = margin / 8.0
            else:
                near = table.body_pairs()
            pairs = np.concatenate([table.ground, near]).view(np.recarray)
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
            np.zeros(0, np.int64),
            self.reach,
            skin,
            anchors,
            most,
            flag(not table.is_smooth, self.whole),
            flag(not table.is_plain, self.whole),
            flag(table.turns, self.whole),
        )
        return self._lay_out()

    def forget(self) -> None:
        """Forget all contacts."""
        self.tied, self.met, self.pushed, self.met_before = NONE, NONE, NONE, (NONE,) * GRAPHS

    def note(self, touched: NDArray[np.int64]) -> None:
        """Record which bodies have touched, from the marks of the near pairs, and clear the marks."""
        self.met = self.met | self._bodies_of(touched != 0)
        self.pushed = self.pushed | self._bodies_of(touched == PUSHED)
        touched[:] = 0

    def _bodies_of(self, chosen: NDArray[np.bool_]) -> Edges:
        """Bodies (i, j), i < j, of the near pairs that are chosen."""
        pairs, body = self.near.pairs[chosen], self.table.shapes.body
        bodies = np.sort([body[pairs.a], body[pairs.b]], axis=0).T.tolist()
        return frozenset((i, j) for i, j in bodies if i >= 0 and i != j)

    def tie(self, touched: NDArray[np.int64], more: bool, seldom: bool = False) -> bool:
        """Make the graph with an edge for each two bodies that have touched recently; whether it changed.

        Args:
            touched: marks of near pairs.
            more: whether to keep the present edges.
            seldom: whether to assume that newly connected bodies rarely exert forces on each other.
        """
        self.note(touched)
        before = self.tied
        self.tied = self.met.union(*self.met_before, self.tied if more else NONE)
        rare = (self.tied if seldom else self.tied & before) - self.pushed
        if not more:
            self.met_before, self.met, self.pushed = (self.met, *self.met_before[:-1]), NONE, NONE
        return self._lay_out(rare)

    def _lay_out(self, rare: Edges = NONE) -> bool:
        """Make the graph and set the edges of near pairs; whether it is another graph.

        Args:
            rare: connected bodies that rarely exert forces; the elimination order is optimised for the others.
        """
        nb, joints, near = len(self.flat.bodies), self.flat.sizes, self.near
        edges = [*self.flat.edges, *sorted(self.tied.difference(self.flat.edges))]
        other = edges != self.edges
        if other:
            rare, slack = rare.difference(self.flat.edges), self.flat.slack - self.tied
            self.edges, name = edges, (tuple(edges), rare)
            if name not in self.graphs:  # the elimination order takes most of the time
                if len(self.graphs) >= KEPT:
                    self.graphs.pop(next(iter(self.graphs)))
                marks = [False] * nb + [True] * len(joints)
                # With contacts, use an elimination order that is quick to compute, as it is soon out of date.
                ldu = GraphLDU(
                    [6] * nb + joints,
                    edges,
                    constraint=marks,
                    weak=self._weak_edges(),
                    quick=bool(self.tied),
                    loose=self.tied.difference(self.flat.edges) | slack,
                    rare=rare | slack,
                )
                self.graphs[name] = ldu, self.flat.arrays(ldu.plan)
            self.ldu, self.model = self.graphs[name]
        between = np.full((nb + 1, nb + 1), LOOSE, np.int64)
        between[-1, :] = between[:, -1] = -1  # the world
        np.fill_diagonal(between, -1)
        for k, (i, j) in enumerate(edges):
            if i < nb and j < nb:
                between[i, j] = between[j, i] = k
        body = self.table.shapes.body
        self.near = near._replace(edges=between[body[near.pairs.a], body[near.pairs.b]])
        return other

    def _weak_edges(self) -> set[tuple[int, int]]:
        """Edges that may vanish: of couplings to a body that both of their joints share, as with parallel axes."""
        rows, coordinates, nb = self.flat.rows, self.flat.coordinates, len(self.flat.bodies)
        weak = set()
        for row in rows[rows["kind"] == COUPLING]:
            leader = coordinates[row["leader"]]
            shared = {int(row["a"]), int(row["b"])} & {int(leader["a"]), int(leader["b"])}
            weak |= {(nb + int(row["node"]), body) for body in shared if body >= 0}
        return weak

    def _near_pairs(self, Z: FloatArray, states: Any, margin: float) -> Any:
        """Pairs of shapes closer than `margin` plus the distance that their bodies may approach in a step."""
        v, turn = states.vc, np.linalg.norm(states.w, axis=1) * self.reach
        ahead = 2.0 * self.dt * float((np.linalg.norm(v, axis=1) + turn).max(initial=0.0))
        X, shapes = as_transforms(Z), self.table.shapes
        pairs = self.table.body_pairs(X, margin + ahead)
        i, j, centres = shapes.body[pairs.a], shapes.body[pairs.b], self.table.centres(X)
        apart = np.linalg.norm(centres[pairs.a] - centres[pairs.b], axis=1)
        apart -= shapes.bound[pairs.a] + shapes.bound[pairs.b]
        apart -= self.dt * (np.linalg.norm(v[i] - v[j], axis=1) + turn[i] + turn[j])
        return pairs[apart < margin]

    def touches(self) -> bool:
        """Whether contacts, limits or dry friction may ever act."""
        c = self.flat.coordinates
        bounded = (c.friction > 0.0).any() or np.isfinite(c.lower).any() or np.isfinite(c.upper).any()
        return bool(bounded or len(self.near.pairs) or len(self.table.movers) > 1)


def carried_mass(model: Model) -> float:
    """Largest total mass of the tree of a body over the body's own: a contact of that body may carry all of it."""
    mass = model.bodies.mass
    root = np.arange(len(mass))
    for i, parent in enumerate(model.bodies.parent):
        if parent >= 0:
            root[i] = root[parent]
    total = np.bincount(root, weights=mass, minlength=len(root))[root]
    heavy = mass > 0.0
    return float(min(MOST_CARRIED, (total[heavy] / mass[heavy]).max(initial=1.0)))


def as_transforms(Z: FloatArray) -> FloatArray:
    """Poses (n, 7) as row-major rotation and position, shape (n, 12)."""
    w, x, y, z = Z[:, 3:].T
    R = [
        *(1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        *(2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        *(2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    ]
    return np.column_stack([*R, Z[:, :3]])
