"""Broad phase for contacts between moving bodies: pairs of bounding spheres that are close."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FEW = 50
"""Up to this number of spheres, all pairs are tested."""


def neighbours(centres: Any, radii: Any, margin: float) -> NDArray[np.int64]:
    """Pairs (i, j), i < j, of spheres whose surfaces are closer than `margin`, in ascending order; shape (m, 2).

    Args:
        centres: [m], shape (n, 3).
        radii: [m], shape (n,), finite.
        margin: [m].
    """
    centres, radii = np.asarray(centres, float).reshape(-1, 3), np.asarray(radii, float)
    if len(centres) <= FEW:
        i, j = np.triu_indices(len(centres), 1)
    else:
        i, j = _candidates(centres, radii, margin)
    near = np.linalg.norm(centres[i] - centres[j], axis=1) < radii[i] + radii[j] + margin
    return np.column_stack([i[near], j[near]]).astype(np.int64)


def reach_of_bodies(shapes: Any, count: int) -> NDArray[np.float64]:
    """Radius [m] about the COM of each body around its shapes other than planes and fields, shape (count,)."""
    reach = np.zeros(count)
    moving = shapes[(shapes.body >= 0) & np.isfinite(shapes.bound)]
    np.maximum.at(reach, moving.body, np.linalg.norm(moving.centre, axis=1) + moving.bound)
    return reach


def _candidates(centres: NDArray[np.float64], radii: NDArray[np.float64], margin: float) -> Any:
    """Pairs that may be close: spheres of similar size by a k-d tree, each larger sphere against all others.

    A tree over spheres of very different sizes would need the largest radius for every query.
    """
    from scipy.spatial import KDTree

    usual = 2.0 * np.median(radii)
    small, large = np.flatnonzero(radii <= usual), np.flatnonzero(radii > usual)
    tree = KDTree(centres[small])
    pairs = [small[tree.query_pairs(2.0 * float(radii[small].max()) + margin, output_type="ndarray")].reshape(-1, 2)]
    i, j = np.triu_indices(len(large), 1)
    pairs.append(np.column_stack([np.repeat(large, len(small)), np.tile(small, len(large))]))
    pairs.append(np.column_stack([large[i], large[j]]))
    table = np.sort(np.concatenate(pairs), axis=1)
    table = table[np.lexsort((table[:, 1], table[:, 0]))]
    return table[:, 0], table[:, 1]
