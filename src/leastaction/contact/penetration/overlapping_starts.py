"""Compiled, parallel test of many initial configurations for penetrations that `clear_start` may resolve."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction._jit import entry, routine
from leastaction.contact.collision_filter import TOUCHING
from leastaction.contact.narrow_phase.detect import detect
from leastaction.contact.narrow_phase.gap import gap
from leastaction.contact.penetration.penetration_messages import DEEP
from leastaction.contact.penetration.penetration_search import SUNK, Search
from leastaction.contact.records import CONTACT, records
from leastaction.dynamics.workspace import Workspace
from leastaction.kinematics.reduced.compiled import has_splines
from leastaction.kinematics.sweeps import positions
from leastaction.spatial import IDENTITY, compose, load3, load9, store3, store9
from leastaction.typing import FloatArray

ROOM = 64
"""Capacity for contacts of a pair: a configuration with more is left to the search."""

NEARLY = 1.0 - 1e-6
"""Share of the overlap limit at which a configuration is marked: poses computed here differ by round-off."""

MOST = 20_000
"""Largest number of pairs of shapes, including those between robots of one scene, for which starts are tested here."""

SHARE = 1024
"""Number of configurations from which on a further core pays off."""


@routine
def placed(poses, k):
    """Return pose k of an array (n, 12) as a tuple; the identity for the world, -1."""
    if k < 0:
        return IDENTITY
    return load9(poses[k, :9]), load3(poses[k, 9:])


@routine
def is_deep(shapes, pairs, limits, poses, data, contacts, margin):
    """Whether any pair overlaps by more than its limit [m], or has more contacts than fit."""
    for k in range(pairs.shape[0]):
        Xa, Xb = placed(poses, shapes[pairs[k].a].body), placed(poses, shapes[pairs[k].b].body)
        count = detect(shapes, pairs, k, (Xa, Xb), data, contacts, np.int64(0), margin, True)
        if count > contacts.shape[0]:
            return True
        for c in range(count):
            phi, _, _ = gap(contacts[c], placed(poses, contacts[c].a), placed(poses, contacts[c].b))
            if not phi >= -limits[k]:
                return True
    return False


@entry(nogil=True)
def mark_overlaps(tree, scratch, carriers, table, own, others, Q, marks):
    """Mark the rows of Q (n, nq) with an overlap that the search would resolve.

    Args:
        tree: nodes.
        scratch: links, screws, poses (carriers, 12), contacts.
        carriers: nodes, and poses in these, of the frames that carry bodies.
        table: shapes, their heights and vertices, margin of detection [m].
        own, others: pairs and limits [m] of links among each other, and of floating bodies with the world.
        marks: output, shape (n,).
    """
    (nodes,), (links, screws, poses, contacts), (node, pose) = tree, scratch, carriers
    (shapes, data, margin), (first, limits), (second, depths) = table, own, others
    for r in range(Q.shape[0]):
        positions(nodes, links, screws, Q[r])
        for k in range(node.shape[0]):
            X = load9(pose[k, :9]), load3(pose[k, 9:])
            if node[k] >= 0:
                X = compose((load9(links[node[k]].R), load3(links[node[k]].p)), X)
            store9(poses[k, :9], X[0])
            store3(poses[k, 9:], X[1])
        deep = is_deep(shapes, first, limits, poses, data, contacts, margin)
        marks[r] = deep or is_deep(shapes, second, depths, poses, data, contacts, margin)


def overlapping(search: Search, q: FloatArray) -> NDArray[np.bool_]:
    """Mark the configurations q, shape (n, nq), in which `clear_start` may find overlaps; returns shape (n,).

    In the others it finds none.
    """
    m, table = search.model.mechanism, search.table
    marks = np.ones(len(q), bool)
    strangers = _pairs_of_robots(search)
    if has_splines(m) or len(strangers) > MOST:
        return marks
    pairs = np.concatenate([search.own.records, strangers]).view(np.recarray)
    own, others = _limited(search, pairs, DEEP, "sizes"), _limited(search, search.others.records, SUNK, "thick")
    carriers = search.model.poses
    finite = table.shapes.bound[np.isfinite(table.shapes.bound)]
    margin = TOUCHING * float(finite.max(initial=0.0))

    def part(rows: Any) -> None:
        w = Workspace(m)
        scratch = w.links, w.screws, np.zeros((carriers.count, 12)), records(ROOM, CONTACT)
        held, shapes = (carriers.node, carriers.pose), (table.shapes, table.data, margin)
        mark_overlaps((w.tree.nodes,), scratch, held, shapes, own, others, q[rows], marks[rows])

    size = -(-len(q) // min(os.cpu_count() or 1, max(1, len(q) // SHARE)))
    with ThreadPoolExecutor() as pool:
        list(pool.map(part, [slice(k, k + size) for k in range(0, len(q), size)]))
    return marks


def _pairs_of_robots(search: Search) -> Any:
    """Pairs of shapes of different robots, which the search finds only where they are close."""
    robots = search.own.robots
    pairs = search.table.body_pairs() if robots is not None else search.own.records[:0]
    return pairs if robots is None else pairs[robots[pairs.a] != robots[pairs.b]]


def _limited(search: Search, pairs: Any, share: float, what: str) -> tuple[Any, FloatArray]:
    """`PAIR` records, and the overlap of each that counts [m]."""
    sizes: FloatArray = getattr(search.own, what)
    return pairs, NEARLY * share * np.minimum(sizes[pairs.a], sizes[pairs.b])
