"""Arrays for the ordering of cones by islands, which keeps Newton's matrix for the impulses banded."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


class Islands(NamedTuple):
    """Sparsity of the contact problem: two impulses are coupled if their cones act on the same kinematic tree.

    Attributes:
        trees: index of the kinematic tree of each body, shape (bodies,); constant.
        spans: first degree of freedom of each tree, and one past its last, shape (trees, 2); constant.
        root: lowest tree index in the island of each tree (trees connected by cones), shape (trees,).
        rank: position of each tree when trees are sorted by island, shape (trees,).
        heads: scratch, shape (trees + 2,).
        order: active cones sorted by tree, then -1, shape (cones,).
        one, two: trees of each entry of `Touch.which`, -1 for none, shape (m,).
        low, high: for each impulse, the range of entries of `Touch.which` that it is coupled to, shape (m,).
        reach: range of entries of `Touch.which` that act on each tree, shape (trees, 2).
        place: number of unknowns before each entry of `Touch.which`, shape (m + 1,).
        begins, ends: range of columns with entries in each row of Newton's equations, shape (m,).
        support, entries: scratch, indices and values of the nonzero entries of a column, shape (nv,).
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
    """Allocate `Islands` for `cones` cones with m impulses in total, on the bodies of `tree.NODE` records."""
    trees = np.cumsum(nodes.parent < 0) - 1  # nodes are in depth-first order: each tree begins with its root
    count = int(trees[-1]) + 1
    spans = np.zeros((count, 2), np.int64)
    for t in range(count):
        own = nodes[trees == t]
        spans[t] = own.iv.min(), (own.iv + own.nv).max()
    return islands_of(trees.astype(np.int64), spans, cones, m, int(spans.max()))


def islands_of(trees: Integers, spans: Integers, cones: int, m: int, nv: int) -> Islands:
    """Allocate `Islands` for `cones` cones with m impulses in total, on bodies of these trees; nv: column length."""
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
