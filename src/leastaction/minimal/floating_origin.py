"""Floating origin: steps of robots far from the origin of the world are computed near it.

The round-off of positions of 1 km is 1e-13 m, and twists and inertias about the origin of the world have levers as
long, see `dynamics.origin_shift`: Newton's method does not converge there. Where nothing connects a tree to a place,
its equations are invariant under translations, so each step uses a grid point near the tree as origin. The point
depends on the state at the start of the step alone, so that a run can be restarted from any of its states, and
positions change by its coordinates, which is exact.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leastaction._jit import routine
from leastaction.dynamics.origin_shift import MOST, free_trees
from leastaction.forces.arrays import force_model
from leastaction.mechanism.tree import Tree


def shiftable_trees(tree: Tree) -> NDArray[np.float64]:
    """Those of `free_trees` whose equations are invariant under translations."""
    forces, trees, none = force_model(tree), free_trees(tree), np.zeros((0, 2))
    items = forces.items[forces.items.iq < 0]  # distances; others are along joints
    tied = (forces.points.node < 0).any() or (items.third == -1).any() or (items.node < 0).any()
    if tied or (items.other < 0).any() or len(forces.penalties) or len(tree.closure.rows):
        return none
    if (tree.nodes.parent < 0).sum() > 1 and (len(forces.points) or len(items)):  # which may connect trees
        return none
    first = {int(iq): int(iv) for iq, iv in zip(tree.nodes.iq, tree.nodes.iv, strict=True)}
    sprung = [bool(tree.dofs.stiffness[first[int(at)] :][:6].any()) for at in trees[:, 0]]
    return trees[~np.array(sprung, bool)]


@routine
def move_origin(shiftable, q, origin):
    """Move the origin to a grid point near each tree; returns whether it is, or was, away from the world's.

    Then quantities computed at q must be computed anew. `origin`: shape (trees, 3) [m]; q is changed.
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
    """Convert positions q to the origin of the world."""
    for k in range(shiftable.shape[0]):
        for c in range(3):
            q[int(shiftable[k, 0]) + c] += origin[k, c]
