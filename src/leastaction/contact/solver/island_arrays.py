"""Arrays for the order of cones in which Newton's equations for their impulses have few entries far apart."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


class Islands(NamedTuple):
    """Which impulses move which contacts: those of cones on the same tree of bodies; others know nothing of each other.

    Attributes:
        trees: which tree of joints each body is part of, shape (bodies,); nothing writes it.
        spans: first degree of freedom of each tree, and that after the last, shape (trees, 2); nothing writes it.
        root: the first tree of each tree's island: of trees that cones tie, shape (trees,).
        rank: trees in the order of islands, shape (trees,).
        heads: scratch, shape (trees + 2,).
        order: cones that take part, in the order of the trees, and -1 after the last, shape (cones,).
        one, two: trees of each impulse of `Touch.which`, -1 for none, shape (m,).
        low, high: where the impulses that a cone's impulse moves begin and end in `Touch.which`, shape (m,).
        reach: where impulses on a tree begin and end there, shape (trees, 2).
        place: which of the unknown ones comes next, for each entry of `Touch.which`, shape (m + 1,).
        begins, ends: columns of Newton's equations with entries, shape (m,).
        support, entries: scratch, the degrees of freedom at which a column is not zero, and it there, shape (nv,).
    """

    trees: Integers
    spans: Integers
    root: Integers
    rank: Integers
    heads: Integers
    order: Integers
    one: Integers
    two: Integers
    low: Integers
    high: Integers
    reach: Integers
    place: Integers
    begins: Integers
    ends: Integers
    support: Integers
    entries: NDArray[np.float64]


def island_arrays(nodes: Any, cones: int, m: int) -> Islands:
    """Arrays for so many cones with m impulses in all, on the bodies of `tree.NODE` records."""
    trees = np.cumsum(nodes.parent < 0) - 1  # depth first: each tree begins with its root
    count = int(trees[-1]) + 1
    spans = np.zeros((count, 2), np.int64)
    for t in range(count):
        own = nodes[trees == t]
        spans[t] = own.iv.min(), (own.iv + own.nv).max()
    return islands_of(trees.astype(np.int64), spans, cones, m, int(spans.max()))


def islands_of(trees: Integers, spans: Integers, cones: int, m: int, nv: int) -> Islands:
    """Arrays for so many cones with m impulses in all, on bodies of these trees, with nv entries in a column."""
    count = len(spans)
    return Islands(
        trees=trees,
        spans=spans,
        root=np.zeros(count, np.int64),
        rank=np.zeros(count, np.int64),
        heads=np.zeros(count + 2, np.int64),
        order=np.arange(cones),
        one=np.zeros(m, np.int64),
        two=np.zeros(m, np.int64),
        low=np.zeros(m, np.int64),
        high=np.zeros(m, np.int64),
        reach=np.zeros((count, 2), np.int64),
        place=np.zeros(m + 1, np.int64),
        begins=np.zeros(m, np.int64),
        ends=np.zeros(m, np.int64),
        support=np.zeros(nv, np.int64),
        entries=np.zeros(nv),
    )
