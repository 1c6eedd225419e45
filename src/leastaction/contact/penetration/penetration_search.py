"""What a search for a start without overlaps looks at: contacts, and the motion that parts things to first order."""

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
"""Gap that links are moved to, in terms of the size of the smaller one."""

SUNK = 0.2
"""Overlap with the world that what flies is moved out of, in terms of half of its thickness; contacts push out of less,
slowly. What touches softly may be deeper, up to its middle."""

LONGEST = 0.2
"""How far a joint moves in a step at most [rad or m]."""

LEAST = 1e-9
"""Inertia that every freedom has at least, in terms of the largest: massless links have none of their own."""

Limits = Sequence[tuple[int, int, float, float]]
"""For each joint coordinate with limits its indices in q and in v, and these limits [rad or m]."""


class Pairs:
    """Pairs of shapes that are looked at again and again.

    Attributes:
        records: `PAIR` records.
        reach: how far apart the centres of their bounding spheres are at most where they touch [m].
        robots: for each shape the number of its robot: pairs of two robots are found where they are near each other.
        sizes: of all shapes [m]; that of a point is how far it is from its body's centre of mass.
        thick: how thick they are [m], half of it: less than the size of what is flat.
    """

    def __init__(self, table: ContactTable, pairs: Any, robots: NDArray[np.int64] | None = None) -> None:
        self.table, self.records, bound = table, table.pairs_of(pairs), table.shapes.bound
        self.robots = robots
        self.reach = (1.0 + TOUCHING) * (bound[self.records.a] + bound[self.records.b])
        bodies = table.shapes.body
        reach = np.append(reach_of_bodies(table.shapes, int(bodies.max(initial=-1)) + 1), 0.0)  # the world is the last
        self.sizes = np.maximum(np.where(bound > 0.0, bound, reach[bodies]), ROUNDED / DEEP)
        thickness = table.shapes.thickness
        self.thick = np.where(thickness > 0.0, np.minimum(thickness, self.sizes), self.sizes)

    def meeting(self, X: FloatArray) -> Any:
        """Records of those whose bounding spheres meet at the poses X."""
        met = self.records
        if len(met):
            centres = self.table.centres(X)
            d = centres[met.a] - centres[met.b]
            met = met[np.einsum("ki,ki->k", d, d) <= self.reach**2]
        if self.robots is None:
            return met
        # There may be many robots, so only those are looked at that are near each other.
        near = self.table.body_pairs(X, 0.0)
        near = near[self.robots[near.a] != self.robots[near.b]]
        return np.concatenate([met, near]).view(np.recarray) if len(near) else met


class Found:
    """Contacts at some poses: pairs of shapes, gaps, normals, points, sizes of the smaller ones."""

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
    """What a search for a start without overlaps needs to know, whatever the start.

    Args:
        model: the mechanism.
        limits: of its joints.
        table: what may touch what.
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
        """Pairs of shapes that may touch: of one robot, and of all that are tied to the world."""
        table, robots = self.table, dict[str, list[int]]()
        for k in table.movers.tolist():
            own = self.root[table.names[k][0]]
            robots.setdefault(own if own in self.flying else WORLD, []).append(k)
        found = [table.that_may_touch(np.array(own)) for own in robots.values()]
        return [pair for pairs in found for pair in pairs]

    def _robot_of_shapes(self) -> NDArray[np.int64] | None:
        """For each shape the number of its robot, 0 of all that do not fly; None where there is but one robot."""
        numbers = {name: k + 1 for k, name in enumerate(sorted(self.flying))}
        out = np.array([numbers.get(self.root[body], 0) for body, *_ in self.table.names], np.int64)
        return out if len(np.unique(out[self.table.movers])) > 1 else None

    def with_free(self, freedoms: Sequence[int]) -> Search:
        """The same search with these degrees of freedom among those that may move."""
        if not len(freedoms):
            return self
        out = copy(self)
        out.free = np.union1d(self.free, np.array(freedoms, np.int64))
        return out

    def loose(self, found: Found) -> list[int]:
        """Degrees of freedom of the robots that fly and are deep in others."""
        pairs = [pair for pair, deep in zip(found.pairs, found.is_deep, strict=True) if deep]
        ends = [{self.root[self.table.names[k][0]] for k in pair} for pair in pairs]
        own = {root for pair in ends if len(pair) > 1 and WORLD not in pair for root in pair & self.flying}
        m, held = self.model.mechanism, self.model.held
        return [j for j in flying_freedoms(m, own) if j not in held]

    def look(self, q: FloatArray) -> Found:
        """Contacts of links with their own robot, or with the world that it is tied to."""
        return Found(self.own, self._poses(q))

    def rest(self, q: FloatArray) -> Found:
        """Contacts of flying robots with the world."""
        return Found(self.others, self._poses(q))

    def _poses(self, q: FloatArray) -> FloatArray:
        """`AtHome.poses`; both kinds of contacts are looked at in turn."""
        last, X = self._posed
        if not np.array_equal(last, q):
            X = self.model.poses(q)
            self._posed = q.copy(), X
        return X

    def sunk(self, q: FloatArray) -> list[str]:
        """Names of the bodies on free joints of their own that are within the world, or carry what is."""
        found = self.rest(q)
        deep = {self._ends(pair) for pair, deep in zip(found.pairs, found.is_sunk, strict=True) if deep}
        m = self.model.mechanism
        return [j.child for j in m.joints if frozenset((WORLD, j.child)) in deep and self._may_move(j.child)]

    def of_flying(self, root: str, freedoms: Sequence[int], q: FloatArray) -> Search:
        """The same search for a way of what flies with `root` out of the world, with these freedoms.

        What overlaps beside that is not looked at.
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
        """The robots, or the world with all that is fixed to it, that two shapes belong to."""
        names, bodies = self.table.names, self.table.shapes.body
        return frozenset(self.root[names[k][0]] if bodies[k] >= 0 else WORLD for k in pair)

    def _may_move(self, root: str) -> bool:
        """Whether a body hangs on a free joint that nothing prescribes."""
        own = flying_freedoms(self.model.mechanism, {root})
        return len(own) > 0 and not self.model.held.intersection(own)

    def metric(self, q: FloatArray) -> FloatArray:
        """Mass matrix of the freedoms that may move."""
        M = mass_matrix(self.model.mechanism, q)[np.ix_(self.free, self.free)]
        M[np.diag_indices_from(M)] += LEAST * max(M.diagonal().max(initial=0.0), 1e-12)
        return M

    def step(self, q: FloatArray, own: Found, gone: FloatArray | None = None) -> FloatArray | None:
        """The motion of least kinetic energy that parts what overlaps, to first order, shape (nv,); None: no way.

        Flying robots do not get deeper into the world by it.

        Args:
            q: where links are.
            own: what touches there.
            gone: how far q is from the start, shape (nv,): then it is the whole way that is to be least.
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
        E = np.linalg.solve(L, N.T @ G[:, self.free].T)  # least |y| with E^T y >= c
        keep = np.linalg.norm(E, axis=0) > 0.0
        if (c[~keep] > DEEP * own.sizes.min(initial=1.0)).any():
            return None
        E, c = E[:, keep], c[keep]
        if len(c) == 0:  # nothing is in the way; SciPy's nnls crashes on it
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
            c = np.where(c > 0.0, 0.5 * c, c)  # not at once, then
        return None

    def _rows(self, q: FloatArray, found: Found) -> tuple[FloatArray, FloatArray]:
        """How gaps change with joint velocities, shape (contacts, nv), and by how much they have to."""
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
        """The same of joints: rows of those with limits, and how far these are away (negative, or 0)."""
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
    """Degrees of freedom of free joints with the world; `own`: of these bodies alone."""
    joints = [j for j in m.joints if j.parent == WORLD and j.kind == "free" and (own is None or j.child in own)]
    names = [name for j in joints for name in j.velocity_names()]
    return [m.velocity_index(name) for name in names]
