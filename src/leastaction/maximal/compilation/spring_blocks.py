"""What ties bodies in the Newton matrix: springs and cables; and what hangs together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components


def tying(paths: Any) -> Any:
    """Of `PATH` records those with a spring, or with a damper along their line.

    Isotropic dampers act across the line, too, and stand among the forces of `resistance`.
    """
    out = paths.copy()
    out.damping[paths.isotropic != 0] = 0.0
    return out[(out.damping > 0.0) | (out.stiffness > 0.0)]


def groups(bodies: int, edges: list[tuple[int, int]]) -> NDArray[np.int64]:
    """Of each of the bodies, the first nodes of a graph, the first body that edges lead to from it, by any way."""
    i, j = np.array(edges, np.int64).reshape(-1, 2).T
    count = max(bodies, int(max(i.max(initial=-1), j.max(initial=-1))) + 1)
    _, label = connected_components(coo_array((np.ones(len(i)), (i, j)), shape=(count, count)), directed=False)
    _, first, own = np.unique(label[:bodies], return_index=True, return_inverse=True)
    return first[own]
