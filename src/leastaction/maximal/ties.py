"""What ties bodies in the Newton matrix: springs and cables, damped or stiff for the step; and what hangs together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from leastaction.dynamics.mobility import STIFF, path_mobilities
from leastaction.maximal.records import TIE, records
from leastaction.mechanism import Mechanism


def spring_ties(mechanism: Mechanism, paths: Any, dt: float) -> tuple[Any, float]:
    """(`TIE` records, largest (frequency x step)^2 of the stiff ones) of `PATH` records, for steps of dt [s]."""
    out, swings = records(len(paths), TIE), np.zeros(len(paths))
    for name in paths.dtype.names:
        out[name] = paths[name]
    out.damping[paths.isotropic != 0] = 0.0  # across the line, too: among the forces of `resistance`
    if (paths.stiffness > 0.0).any():
        swings = paths.stiffness * path_mobilities(mechanism) * dt**2
        out.held = np.where(swings > STIFF, paths.stiffness, 0.0)
    return out[(out.damping > 0.0) | (out.held > 0.0)], float(swings[swings > STIFF].max(initial=0.0))


def groups(bodies: int, edges: list[tuple[int, int]]) -> NDArray[np.int64]:
    """Of each of the bodies, the first nodes of a graph, the first body that edges lead to from it, by any way."""
    i, j = np.array(edges, np.int64).reshape(-1, 2).T
    count = max(bodies, int(max(i.max(initial=-1), j.max(initial=-1))) + 1)
    _, label = connected_components(coo_array((np.ones(len(i)), (i, j)), shape=(count, count)), directed=False)
    _, first, own = np.unique(label[:bodies], return_index=True, return_inverse=True)
    return first[own]
