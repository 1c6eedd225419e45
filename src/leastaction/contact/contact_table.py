"""Collision shapes of a mechanism as records, and the filter that decides which of them may touch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.contact.broad_phase import neighbours
from leastaction.contact.pair_properties import Surfaces
from leastaction.contact.records import BOX, CAPSULE, ELLIPSOID, FIELD, PLANE, SPHERE


@dataclass(frozen=True, eq=False)
class ContactTable:
    """All shapes of one mechanism, and the pairs that may touch.

    Attributes:
        shapes: `SHAPE` records.
        names: names of the body and of the shape or contact point of each shape.
        data: heights and vertices of height fields and meshes, flat [m].
        ground: `PAIR` records of the world's shapes with those of moving bodies.
        movers: indices of the shapes of moving bodies that may touch other moving bodies.
        apart: pairs of owners that never touch because a joint connects them or the mechanism excludes them.
        surfaces: friction and restitution of shapes and of pairs.
        groups, touches: group bits of each shape, see `Shape`.
        remarks: texts for a warning about pairs that were excluded.
    """

    shapes: Any
    names: tuple[tuple[str, str], ...]
    data: NDArray[np.float64]
    ground: Any
    movers: NDArray[np.int64]
    apart: frozenset[tuple[Any, Any]]
    surfaces: Surfaces
    groups: NDArray[np.int64]
    touches: NDArray[np.int64]
    remarks: tuple[str, ...] = ()

    def body_pairs(self, poses: Any = None, margin: float = 0.0) -> Any:
        """`PAIR` records between shapes of moving bodies.

        Args:
            poses: poses by index, shape (n, 12) (rotation row by row, then position [m]); then only pairs whose
                bounding spheres are closer than `margin`. None returns all pairs.
            margin: [m].
        """
        m = self.movers
        if poses is None:
            return self._all_pairs
        near = neighbours(self.centres(poses)[m], self.shapes.bound[m], margin)
        return self._pairs_of(near[:, 0], near[:, 1])

    def pairs_of(self, pairs: Any) -> Any:
        """`PAIR` records of given pairs of shapes."""
        return self.surfaces.pairs(pairs)

    @cached_property
    def turns(self) -> bool:
        """Whether any pair may have torsional or rolling friction."""
        return self.surfaces.turns

    def that_may_touch(self, k: NDArray[np.int64]) -> list[tuple[int, int]]:
        """Pairs among the shapes k of moving bodies that may touch."""
        i, j = np.triu_indices(len(k), 1)
        may = self._may_touch(k[i], k[j])
        return list(zip(k[i][may].tolist(), k[j][may].tolist(), strict=True))

    def owner(self, k: int) -> int | str:
        """Owner of shape k in the sense of `apart`: the index of a moving body, or the name of a fixed one."""
        return int(self.shapes.body[k]) if self.shapes.body[k] >= 0 else self.names[k][0]

    @cached_property
    def _all_pairs(self) -> Any:
        return self._pairs_of(*np.triu_indices(len(self.movers), 1))

    def _pairs_of(self, i: Any, j: Any) -> Any:
        """`PAIR` records of those pairs (movers i, movers j) that may touch."""
        m = self.movers
        may = self._may_touch(m[i], m[j])
        return self.pairs_of(np.column_stack([m[i][may], m[j][may]]))

    @cached_property
    def is_smooth(self) -> bool:
        """Whether the only pairs are planes with boxes and round shapes, and spheres and capsules among each other."""
        kinds = np.sort([self.shapes.kind[self.ground.a], self.shapes.kind[self.ground.b]], axis=0)
        on_plane = (kinds[0] == PLANE) & np.isin(kinds[1], (BOX, SPHERE, CAPSULE, ELLIPSOID))
        round_kinds = np.isin(kinds, (SPHERE, CAPSULE)).all(axis=0)
        movers = np.isin(self.shapes.kind[self.movers], (SPHERE, CAPSULE)).all()
        return bool((on_plane | round_kinds).all() and (movers or len(np.unique(self.shapes.body[self.movers])) < 2))

    @cached_property
    def is_plain(self) -> bool:
        """Whether cylinders and meshes touch only planes and height fields, and ellipsoids only planes."""
        kinds = np.sort([self.shapes.kind[self.ground.a], self.shapes.kind[self.ground.b]], axis=0)
        if ((kinds[0] > FIELD) & (kinds[1] > CAPSULE) | (kinds[0] == FIELD) & (kinds[1] == ELLIPSOID)).any():
            return False
        movers = self.shapes[self.movers]
        return not (movers.kind > CAPSULE).any() or len(np.unique(movers.body)) < 2

    def centres(self, poses: Any) -> NDArray[np.float64]:
        """Centres of the shapes' bounding spheres in the world [m], shape (shapes, 3), at poses (n, 12)."""
        poses = np.asarray(poses, float).reshape(-1, 12)
        moving = self.shapes.body >= 0
        X = poses[self.shapes.body[moving]]
        centres = self.shapes.centre.copy()
        centres[moving] = np.einsum("kij,kj->ki", X[:, :9].reshape(-1, 3, 3), centres[moving]) + X[:, 9:]
        return centres

    @cached_property
    def _joined(self) -> NDArray[np.int64]:
        """Pairs of moving bodies (i, j) in `apart`, encoded as i n + j."""
        n = len(self.shapes.body) and int(self.shapes.body.max()) + 1
        numbers = [i * n + j for i, j in self.apart if isinstance(i, int) and isinstance(j, int) and min(i, j) >= 0]
        return np.array(sorted(numbers), np.int64)

    def _may_touch(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.bool_]:
        """For each pair of shapes a, b of moving bodies whether they may touch."""
        i, j = self.shapes.body[a], self.shapes.body[b]
        n = len(self.shapes.body) and int(self.shapes.body.max()) + 1
        met = self.groups[a] & self.touches[b] | self.groups[b] & self.touches[a]
        known = np.maximum(self.shapes.kind[a], self.shapes.kind[b]) > FIELD
        may = ~np.isin(i * n + j, self._joined) & (met != 0)
        if len(self.surfaces.always):
            may |= np.isin(self.surfaces.key(a, b), self.surfaces.always)
        return (i != j) & known & may
