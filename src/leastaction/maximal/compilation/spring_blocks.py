"""Coupling of bodies in the Newton matrix by springs and cables, and connected groups of bodies."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components


def tying(paths: Any) -> Any:
    """The `PATH` records with a spring, or with a damper along their line.

    Isotropic dampers also act across the line, and are among the forces of `body_damping`.
    """
    out = paths.copy()
    out.damping[paths.isotropic != 0] = 0.0
    return out[(out.damping > 0.0) | (out.stiffness > 0.0)]


def groups(bodies: int, edges: list[tuple[int, int]]) -> NDArray[np.int64]:
    """Smallest index of a body in the connected component of each body; bodies are the first nodes of the graph."""
    i, j = np.array(edges, np.int64).reshape(-1, 2).T
    count = max(bodies, int(max(i.max(initial=-1), j.max(initial=-1))) + 1)
    _, label = connected_components(coo_array((np.ones(len(i)), (i, j)), shape=(count, count)), directed=False)
    _, first, own = np.unique(label[:bodies], return_index=True, return_inverse=True)
    return first[own]
