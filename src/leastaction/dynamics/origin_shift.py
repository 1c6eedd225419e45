"""Robots far from the origin of the world: their dynamics is worked out as if they were near it.

Twists and inertias about the origin of the world have levers as long as the way there: 1 km away, inertias lose six
digits beside moments of 1e-3 kg m^2. The mass matrix and all that follows from it do not depend on where trees on free
joints are, so these are moved, by points of a grid, which is exact.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from leastaction.kinematics.sweeps import FREE
from leastaction.mechanism.tree import Tree
from leastaction.typing import FloatArray

CELL = 32.0
"""Width of the grid [m]; trees nearer than this to the origin of the world are left where they are."""

SMALL = 64.0
"""The grid of small robots is so many times as wide as all their links together, if that is less."""

MOST = 1e15
"""Cells away from which on positions are too coarse to separate cells."""


def free_trees(tree: Tree) -> FloatArray:
    """Trees on free joints, one row each, shape (trees, 2).

    Columns: where the position of the free joint stands in q, and the width of the grid [m], a power of two.
    """
    if tree not in _trees:
        _trees[tree] = _free_trees(tree)
    return _trees[tree]


_trees: WeakKeyDictionary[Tree, FloatArray] = WeakKeyDictionary()


def _free_trees(tree: Tree) -> FloatArray:
    nodes = tree.nodes
    free = np.flatnonzero((nodes.parent < 0) & (nodes.kind == FREE))
    if not len(free):
        return np.zeros((0, 2))
    reach = float(np.linalg.norm(nodes.pt, axis=1).sum() + np.linalg.norm(nodes.com, axis=1).max())
    cell = min(CELL, 2.0 ** round(np.log2(SMALL * reach))) if reach > 0.0 else CELL
    return np.column_stack([nodes.iq[free], np.full(len(free), cell)])


def near_origin(trees: FloatArray, Q: FloatArray) -> FloatArray:
    """Positions Q (..., nq) with all `free_trees` near the origin; Q itself where they are."""
    out = Q
    for at, cell in trees:
        rows = slice(int(at), int(at) + 3)
        x = Q[..., rows]
        size = np.abs(x)
        if size.max(initial=0.0) > cell:
            out = Q.copy() if out is Q else out
            far = (size > cell) & (size < MOST * cell)
            out[..., rows] = x - np.where(far, cell * np.trunc(x / cell), 0.0)
    return out
