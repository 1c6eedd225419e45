"""Contacts of initial configurations, and the motion that resolves their penetrations to first order."""

from __future__ import annotations

from collections.abc import Container, Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.contact.broad_phase import reach_of_bodies
from leastaction.contact.collision_filter import (
    TOUCHING,
    HomePose,
    bounded,
    contacts_at,
    flying_robots,
    pairs_of,
    roots,
)
from leastaction.contact.contact_table import ContactTable
from leastaction.contact.penetration.penetration_messages import DEEP, ROUNDED
from leastaction.dynamics.api import body_jacobian, mass_matrix
from leastaction.dynamics.loops import RANK_TOLERANCE, loop_jacobian
from leastaction.mechanism import Mechanism
from leastaction.mechanism.building.graph import WORLD
from leastaction.typing import FloatArray

CLEAR = 1e-4
"""Gap that resolved penetrations end with, relative to the size of the smaller shape."""

SUNK = 0.2
"""Penetration into the world at which floating bodies are moved out, relative to half of their thickness; contact
resolves smaller ones, slowly. Bodies with soft contact may be deeper, up to their middle."""

LONGEST = 0.2
"""Largest motion of a joint in an iteration [rad or m]."""

LEAST = 1e-9
"""Inertia added to each degree of freedom, relative to the largest: massless links have none."""

Limits = Sequence[tuple[int, int, float, float]]
"""For each joint coordinate with limits its indices in q and v, and the limits [rad or m]."""


class Pairs:
    """Pairs of shapes that are tested repeatedly.

    Attributes:
        records: `PAIR` records.
        reach: largest distance of the centres of their bounding spheres at which they may touch [m].
        robots: robot number of each shape; pairs of two robots are added where they are close. None: none are.
        sizes: size of each shape [m]; for a point, its distance from the body's centre of mass.
        thick: half thickness of each shape [m]: less than the size for flat shapes.
    """

    def __init__(self, table: ContactTable, pairs: Any, robots: NDArray[np.int64] | None = None) -> None:
        self.table, self.records, bound = table, table.pairs_of(pairs), table.shapes.bound
        self.robots = robots
        self.reach = (1.0 + TOUCHING) * (bound[self.records.a] + bound[self.records.b])
        bodies = table.shapes.body
        reach = np.append(reach_of_bodies(table.shapes, int(bodies.max(initial=-1)) + 1), 0.0)  # last: the world
        self.sizes = np.maximum(np.where(bound > 0.0, bound, reach[bodies]), ROUNDED / DEEP)
        thickness = table.shapes.thickness
        self.thick = np.where(thickness > 0.0, np.minimum(thickness, self.sizes), self.sizes)

    def meeting(self, X: FloatArray) -> Any:
        """`PAIR` records of those whose bounding spheres overlap at the poses X."""
        met = self.records
        if len(met):
            centres = self.table.centres(X)
            d = centres[met.a] - centres[met.b]
            met = met[np.einsum("ki,ki->k", d, d) <= self.reach**2]
        if self.robots is None:
            return met
        # There may be many robots, so only pairs that are close are generated.
        near = self.table.body_pairs(X, 0.0)
        near = near[self.robots[near.a] != self.robots[near.b]]
        return np.concatenate([met, near]).view(np.recarray) if len(near) else met


class Found:
    """Contacts at given poses: pairs of shapes, gaps [m], normals, points, sizes of the smaller shapes [m]."""

    def __init__(self, pairs: Pairs, X: FloatArray) -> None:
        table, met = pairs.table, pairs.meeting(X)
        self.pairs: list[tuple[int, int]] = []
        soft = np.zeros(0, bool)
        self.gaps, self.normals, self.points = np.zeros(0), np.zeros((0, 3)), np.zeros((0, 3))
        if len(met):
            contacts, self.gaps, self.normals, self.points = contacts_at(table, met, X)
            met = met[contacts.pair]
            self.pairs = pairs_of(met)
            soft = table.surfaces.softness(met.a, met.b)[:, 0] > 0.0
        self.sizes = np.array([min(pairs.sizes[a], pairs.sizes[b]) for a, b in self.pairs]).reshape(-1)
        thick = np.array([min(pairs.thick[a], pairs.thick[b]) for a, b in self.pairs]).reshape(-1)
        self.is_sunk = self.gaps < -np.where(soft, 1.0, SUNK) * thick
        self.is_deep = np.where(soft, self.is_sunk, self.gaps < -DEEP * self.sizes)
        self.deep = bool(self.is_deep.any())


class Search:
    """Data of the search for an initial configuration without overlap that do not depend on the start.

    Args:
        model: the mechanism and its home.
        limits: joint limits.
        table: shapes and pairs that may touch.
    """

    def __init__(self, model: HomePose, limits: Limits, table: ContactTable) -> None:
        self.model, self.table, m = model, table, model.mechanism
        self.limited = limits
        ground, root, flying = pairs_of(table.ground), roots(m), flying_robots(m)
        tied = bounded(model, table, ground)
        self.root, self.flying = root, flying
        self.own = Pairs(table, [*self._links(), *tied], self._robot_of_shapes())
        self.others = Pairs(table, sorted(set(ground) - set(tied)))
        self.free = np.setdiff1d(np.arange(m.nv), [*model.held, *flying_freedoms(m)])
        self._posed = np.zeros(0), np.zeros((0, 12))

    def _links(self) -> list[tuple[int, int]]:
        """Pairs of shapes that may touch: within each floating robot, and among all links mounted on the world."""
        table, robots = self.table, dict[str, list[int]]()
        for k in table.movers.tolist():
            own = self.root[table.names[k][0]]
            robots.setdefault(own if own in self.flying else WORLD, []).append(k)
        found = [table.that_may_touch(np.array(own)) for own in robots.values()]
        return [pair for pairs in found for pair in pairs]

    def _robot_of_shapes(self) -> NDArray[np.int64] | None:
        """Robot number of each shape, 0 for all robots mounted on the world; None if there is only one robot."""
        numbers = {name: k + 1 for k, name in enumerate(sorted(self.flying))}
        out = np.array([numbers.get(self.root[body], 0) for body, *_ in self.table.names], np.int64)
        return out if len(np.unique(out[self.table.movers])) > 1 else None

    def with_free(self, freedoms: Sequence[int]) -> Search:
        """The same search with these degrees of freedom added to those that may move."""
        if not len(freedoms):
            return self
        out = copy(self)
        out.free = np.union1d(self.free, np.array(freedoms, np.int64))
        return out

    def loose(self, found: Found) -> list[int]:
        """Degrees of freedom of the floating bases of robots that penetrate other robots deeply."""
        pairs = [pair for pair, deep in zip(found.pairs, found.is_deep, strict=True) if deep]
        ends = [{self.root[self.table.names[k][0]] for k in pair} for pair in pairs]
        own = {root for pair in ends if len(pair) > 1 and WORLD not in pair for root in pair & self.flying}
        m, held = self.model.mechanism, self.model.held
        return [j for j in flying_freedoms(m, own) if j not in held]

    def look(self, q: FloatArray) -> Found:
        """Contacts of links with other links, or with the world that their robot is mounted on."""
        return Found(self.own, self._poses(q))

    def rest(self, q: FloatArray) -> Found:
        """Contacts of floating robots with the world."""
        return Found(self.others, self._poses(q))

    def _poses(self, q: FloatArray) -> FloatArray:
        """`HomePose.poses`, cached, since `look` and `rest` are called in turn with the same q."""
        last, X = self._posed
        if not np.array_equal(last, q):
            X = self.model.poses(q)
            self._posed = q.copy(), X
        return X

    def sunk(self, q: FloatArray) -> list[str]:
        """Names of the bodies on free joints of their own that are inside the world, or carry a body that is."""
        found = self.rest(q)
        deep = {self._ends(pair) for pair, deep in zip(found.pairs, found.is_sunk, strict=True) if deep}
        m = self.model.mechanism
        return [j.child for j in m.joints if frozenset((WORLD, j.child)) in deep and self._may_move(j.child)]

    def of_flying(self, root: str, freedoms: Sequence[int], q: FloatArray) -> Search:
        """The search that moves the tree of the floating body `root` out of the world, with these degrees of freedom.

        Other deep overlaps at q are ignored.
        """
        left = self.look(q) if len(self.own.records) or self.own.robots is not None else None
        kept = set() if left is None else {p for p, deep in zip(left.pairs, left.is_deep, strict=True) if deep}
        ends = frozenset((WORLD, root))
        ground = [pair for pair in pairs_of(self.others.records) if self._ends(pair) == ends]
        others = [pair for pair in pairs_of(self.others.records) if self._ends(pair) != ends]
        own = [pair for pair in pairs_of(self.own.records) if pair not in kept]
        out = copy(self)
        out.own = Pairs(self.table, [*own, *ground], None if kept else self.own.robots)
        out.others = Pairs(self.table, others)
        out.free = np.array(freedoms, np.int64)
        return out

    def _ends(self, pair: tuple[int, int]) -> frozenset[str]:
        """Roots of the trees that two shapes belong to; the world for shapes fixed to it."""
        names, bodies = self.table.names, self.table.shapes.body
        return frozenset(self.root[names[k][0]] if bodies[k] >= 0 else WORLD for k in pair)

    def _may_move(self, root: str) -> bool:
        """Whether a body has a free joint with the world that is not prescribed."""
        own = flying_freedoms(self.model.mechanism, {root})
        return len(own) > 0 and not self.model.held.intersection(own)

    def metric(self, q: FloatArray) -> FloatArray:
        """Regularised mass matrix of the degrees of freedom that may move."""
        M = mass_matrix(self.model.mechanism, q)[np.ix_(self.free, self.free)]
        M[np.diag_indices_from(M)] += LEAST * max(M.diagonal().max(initial=0.0), 1e-12)
        return M

    def step(self, q: FloatArray, own: Found, gone: FloatArray | None = None) -> FloatArray | None:
        """Motion of least kinetic energy that resolves overlaps to first order, shape (nv,); None: there is none.

        It does not move floating robots deeper into the world.

        Args:
            q: joint positions, shape (nq,).
            own: contacts at q.
            gone: motion from the start to q, shape (nv,): if given, the energy of the total motion is minimised.
        """
        from scipy.optimize import nnls

        m, M = self.model.mechanism, self.metric(q)
        G, c = self._rows(q, own)
        H, d = self._rows(q, self.rest(q))
        limits, room = self.limits(q)
        G, c = np.concatenate([G, H, limits]), np.concatenate([c, np.minimum(d, 0.0), room])
        gone = np.zeros(m.nv) if gone is None else gone
        c = c + G @ gone
        N = np.eye(len(self.free))
        if not m.is_tree:
            from scipy.linalg import null_space

            N = null_space(loop_jacobian(m, q)[1][:, self.free], rcond=RANK_TOLERANCE)
        L = np.linalg.cholesky(N.T @ M @ N)
        E = np.linalg.solve(L, N.T @ G[:, self.free].T)  # minimise |y| subject to E^T y >= c
        keep = np.linalg.norm(E, axis=0) > 0.0
        if (c[~keep] > DEEP * own.sizes.min(initial=1.0)).any():
            return None
        E, c = E[:, keep], c[keep]
        if len(c) == 0:  # no constraints; SciPy's nnls crashes on an empty problem
            return -gone
        for _ in range(6):
            weights = np.concatenate([E, c[None]])
            r = weights @ nnls(weights, np.eye(len(E) + 1)[-1])[0]
            r[-1] -= 1.0
            if abs(r[-1]) > 1e-8:
                out = np.zeros(m.nv)
                out[self.free] = N @ np.linalg.solve(L.T, -r[:-1] / r[-1])
                out -= gone
                return out * min(1.0, LONGEST / max(float(np.abs(out).max(initial=0.0)), 1e-12))
            c = np.where(c > 0.0, 0.5 * c, c)  # infeasible: demand half of the separation
        return None

    def _rows(self, q: FloatArray, found: Found) -> tuple[FloatArray, FloatArray]:
        """Jacobian of gaps by joint velocities, shape (contacts, nv), and the required changes of gaps [m]."""
        m, G = self.model.mechanism, np.zeros((len(found.gaps), self.model.mechanism.nv))
        jacobians: dict[str, FloatArray] = {}
        for k, (n, x) in enumerate(zip(found.normals, found.points, strict=True)):
            for shape, sign in zip(found.pairs[k], (-1.0, 1.0), strict=True):
                body = self.table.names[shape][0]
                if body == WORLD:
                    continue
                if body not in jacobians:
                    jacobians[body] = body_jacobian(m, q, body, frame="origin")
                J = jacobians[body]
                G[k] += sign * (n @ (J[3:] + np.cross(J[:3].T, x).T))
        return G, CLEAR * found.sizes - found.gaps

    def limits(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The same rows for joint limits, and the required changes (negative distances to the limits, at most 0)."""
        rows, room = [], []
        for iq, iv, lower, upper in self.limited:
            for sign, limit in ((1.0, lower), (-1.0, upper)):
                if np.isfinite(limit):
                    row = np.zeros(self.model.mechanism.nv)
                    row[iv] = sign
                    rows.append(row)
                    room.append(min(sign * (limit - q[iq]), 0.0))
        return np.array(rows).reshape(-1, self.model.mechanism.nv), np.array(room)


def flying_freedoms(m: Mechanism, own: Container[str] | None = None) -> list[int]:
    """Degrees of freedom of the free joints with the world; `own`: only of these bodies."""
    joints = [j for j in m.joints if j.parent == WORLD and j.kind == "free" and (own is None or j.child in own)]
    names = [name for j in joints for name in j.velocity_names()]
    return [m.velocity_index(name) for name in names]
