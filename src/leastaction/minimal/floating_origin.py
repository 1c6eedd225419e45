"""Robots far from the origin of the world are stepped as if they were near it.

Positions of 1 km are known to 1e-13 m, and twists and inertias about the origin of the world have levers as long, see
`dynamics.origin_shift`: Newton's method does not converge there. Where nothing ties a tree to a place, its mechanics is
the same everywhere, so each step is taken in a world whose origin is a point of a grid near the tree. The point follows
from the state at the start of the step alone, so that a run can be restarted from any of its states, and positions
change by its coordinates, which is exact.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leastaction._jit import routine
from leastaction.dynamics.origin_shift import MOST, free_trees
from leastaction.forces.arrays import force_model
from leastaction.mechanism.tree import Tree


def shiftable_trees(tree: Tree) -> NDArray[np.float64]:
    """Those of `free_trees` whose mechanics is the same everywhere."""
    forces, trees, none = force_model(tree), free_trees(tree), np.zeros((0, 2))
    items = forces.items[forces.items.iq < 0]  # distances; others are along joints
    tied = (forces.points.node < 0).any() or (items.third == -1).any() or (items.node < 0).any()
    if tied or (items.other < 0).any() or len(forces.penalties) or len(tree.closure.rows):
        return none
    if (tree.nodes.parent < 0).sum() > 1 and (len(forces.points) or len(items)):  # which may tie trees to each other
        return none
    first = {int(iq): int(iv) for iq, iv in zip(tree.nodes.iq, tree.nodes.iv, strict=True)}
    sprung = [bool(tree.dofs.stiffness[first[int(at)] :][:6].any()) for at in trees[:, 0]]
    return trees[~np.array(sprung, bool)]


@routine
def move_origin(shiftable, q, origin):
    """Move the origin of the world to a point of the grid near each tree; returns whether it is, or was, far away.

    Then what is known of the state at q has other digits. `origin`: shape (trees, 3) [m]; q is changed.
    """
    far = False
    for k in range(shiftable.shape[0]):
        at, cell = int(shiftable[k, 0]), shiftable[k, 1]
        for c in range(3):
            x = q[at + c]
            far = far or origin[k, c] != 0.0
            origin[k, c] = cell * int(x / cell) if cell < abs(x) < MOST * cell else 0.0
            far = far or origin[k, c] != 0.0
            q[at + c] = x - origin[k, c]
    return far


@routine
def move_back(shiftable, q, origin):
    """Positions q from the origin of the world."""
    for k in range(shiftable.shape[0]):
        for c in range(3):
            q[int(shiftable[k, 0]) + c] += origin[k, c]
