"""Links of a robot that overlap at the start of a run, and could be apart: joints are moved until they are.

Contacts that pushed them apart would do work, as much as it takes to lift an arm off its base, say: energy from
nowhere. So the run starts with the joints where the links just touch, as joints beyond their limits start at these.
Every step takes the motion of least kinetic energy that parts the links to first order, within limits, and with loops
and couplings closed: a least distance problem (Lawson and Hanson 1974, Chapter 23).

Where that leads nowhere (the links cross, say, and no joint moves them along their normal) or a long way round,
straight ways along single joints and random ones are tried as well. What is found is drawn back towards the given
start, along the way and then along what touches, as long as it gets nearer in the metric of kinetic energy: so it is
locally least in this metric.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import null_space

from leastaction.contact.by_design import TOUCHING, AtHome, bounded, contacts_at, flying_robots, pairs_of, roots
from leastaction.contact.neighbours import reach_of_bodies
from leastaction.contact.overlap_words import DEEP, REMEDY, ROUNDED
from leastaction.contact.table import ContactTable
from leastaction.dynamics.api import body_jacobian, mass_matrix
from leastaction.dynamics.loops import RANK_TOLERANCE, closed_but_for, loop_jacobian, prescribed_freedoms
from leastaction.errors import ConvergenceError
from leastaction.mechanism import Mechanism
from leastaction.mechanism.graph import WORLD
from leastaction.warn import warn

FloatArray = NDArray[np.float64]

CLEAR = 1e-4
"""Gap that links are moved to, in terms of the size of the smaller one."""

ITERATIONS, LONGEST = 60, 0.2
"""Most steps, and how far a joint moves in one of them [rad, or in terms of the robot's size]."""

AS_GUESSED = 1.25
"""A way that is no longer than this, in terms of the first guess of its length, is not worth a look for another."""

FURTHEST, PACES, RANDOM = 1.6, 16, 4
"""How far joints move at most along straight ways [rad or m], in how many paces, and how many random ways there are."""

DRAWN, HALVINGS = 12, 30
"""Most times that a start is drawn back along what touches, and by halving a way."""

CLOSED, CLOSING = 1e-12, 20
"""Violation of loops that counts as closed [m or rad], and most iterations for it: what takes more cannot be closed."""

LEAST = 1e-9
"""Inertia that every freedom has at least, in terms of the largest: massless links have none of their own."""

SHOWN = 4
"""Pairs and joints that a warning names."""

Limits = Sequence[tuple[int, int, float, float]]
"""For each joint coordinate with limits its indices in q and in v, and these limits [rad or m]."""


def clear_start(search: Search, q: FloatArray, resting: Sequence[int] = ()) -> FloatArray:
    """q with links that overlap moved apart, and a warning that names them; q itself where there is no way.

    Links of one robot and of several, and those with the world that they are tied to. What flies by itself and overlaps
    the world is left to contacts.

    Args:
        search: in the mechanism.
        q: joint positions [rad or m], shape (nq,).
        resting: prescribed degrees of freedom of which nobody said where they are: they may be moved, too.
    """
    model, table = search.model, search.table
    if len(search.own.records) == 0 and search.own.robots is None:
        return q
    first = search.look(q)
    if not first.deep:
        return q
    search = search.with_free(search.loose(first))
    parted = _Ways(search, q, first).shortest()
    if parted is None and len(resting):
        parted = _Ways(search.with_free(resting), q, first).shortest()
    if parted is None:
        return q
    _say(model.mechanism, table, first, np.abs(model.mechanism.difference(q, parted)))
    return parted


def _say(m: Mechanism, table: ContactTable, own: _Found, moved: FloatArray) -> None:
    order = [own.pairs[k] for k in np.argsort(own.gaps) if own.is_deep[k]]
    names = list(dict.fromkeys(" and ".join(repr(table.names[k][0]) for k in pair) for pair in order))
    joints = [m.velocity_names[k] for k in np.argsort(-moved) if moved[k] > min(1e-6, 0.5 * moved.max())]
    more = f" and {len(names) - SHOWN} other pairs" if len(names) > SHOWN else ""
    others = f" and {len(joints) - SHOWN} others" if len(joints) > SHOWN else ""
    told = ", ".join(f"{name!r} by {moved[m.velocity_index(name)]:.2g}" for name in joints[:SHOWN])
    warn(
        f"{'; '.join(names[:SHOWN])}{more} overlap at the start, by {-own.gaps.min():.2g} m; the run starts with them "
        f"apart, so that contacts add no energy: joint {told}{others} [rad or m] moved; {REMEDY}"
    )


class _Pairs:
    """Pairs of shapes that are looked at again and again.

    Attributes:
        records: `PAIR` records.
        reach: how far apart the centres of their bounding spheres are at most where they touch [m].
        robots: for each shape the number of its robot: pairs of two robots are found where they are near each other.
        sizes: of all shapes [m]; that of a point is how far it is from its body's centre of mass.
    """

    def __init__(self, table: ContactTable, pairs: Any, robots: NDArray[np.int64] | None = None) -> None:
        self.table, self.records, bound = table, table.pairs_of(pairs), table.shapes.bound
        self.robots = robots
        self.reach = (1.0 + TOUCHING) * (bound[self.records.a] + bound[self.records.b])
        bodies = table.shapes.body
        reach = np.append(reach_of_bodies(table.shapes, int(bodies.max(initial=-1)) + 1), 0.0)  # the world is the last
        self.sizes = np.maximum(np.where(bound > 0.0, bound, reach[bodies]), ROUNDED / DEEP)

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


class _Found:
    """Contacts at some poses: pairs of shapes, gaps, normals, points, sizes of the smaller ones."""

    def __init__(self, pairs: _Pairs, X: FloatArray) -> None:
        table, met = pairs.table, pairs.meeting(X)
        self.pairs: list[tuple[int, int]] = []
        self.gaps, self.normals, self.points = np.zeros(0), np.zeros((0, 3)), np.zeros((0, 3))
        if len(met):
            contacts, self.gaps, self.normals, self.points = contacts_at(table, met, X)
            self.pairs = pairs_of(met[contacts.pair])
        self.sizes = np.array([min(pairs.sizes[a], pairs.sizes[b]) for a, b in self.pairs]).reshape(-1)
        self.is_deep = self.gaps < -DEEP * self.sizes
        self.deep = bool(self.is_deep.any())


class Search:
    """What a search for a start without overlaps needs to know, whatever the start.

    Args:
        model: the mechanism.
        limits: of its joints.
        table: what may touch what.
    """

    def __init__(self, model: AtHome, limits: Limits, table: ContactTable) -> None:
        self.model, self.table, m = model, table, model.mechanism
        self.limited = limits
        ground, root, flying = pairs_of(table.ground), roots(m), flying_robots(m)
        tied = bounded(model, table, ground)
        self.root, self.flying = root, flying
        self.own = _Pairs(table, [*self._links(), *tied], self._strangers())
        self.others = _Pairs(table, sorted(set(ground) - set(tied)))
        self.free = np.setdiff1d(np.arange(m.nv), [*model.held, *_flying(m)])

    def _links(self) -> list[tuple[int, int]]:
        """Pairs of shapes that may touch: of one robot, and of all that are tied to the world."""
        table, robots = self.table, dict[str, list[int]]()
        for k in table.movers.tolist():
            own = self.root[table.names[k][0]]
            robots.setdefault(own if own in self.flying else WORLD, []).append(k)
        found = [table.that_may_touch(np.array(own)) for own in robots.values()]
        return [pair for pairs in found for pair in pairs]

    def _strangers(self) -> NDArray[np.int64] | None:
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

    def loose(self, found: _Found) -> list[int]:
        """Degrees of freedom of the robots that fly and are deep in others."""
        pairs = [pair for pair, deep in zip(found.pairs, found.is_deep, strict=True) if deep]
        ends = [{self.root[self.table.names[k][0]] for k in pair} for pair in pairs]
        own = {root for pair in ends if len(pair) > 1 and WORLD not in pair for root in pair & self.flying}
        m, held = self.model.mechanism, self.model.held
        return [j for j in _flying(m, own) if j not in held]

    def look(self, q: FloatArray) -> _Found:
        """Contacts of links with their own robot, or with the world that it is tied to."""
        return _Found(self.own, self.model.poses(q))

    def rest(self, q: FloatArray) -> _Found:
        """Contacts of flying robots with the world."""
        return _Found(self.others, self.model.poses(q))

    def metric(self, q: FloatArray) -> FloatArray:
        """Mass matrix of the freedoms that may move."""
        M = mass_matrix(self.model.mechanism, q)[np.ix_(self.free, self.free)]
        M[np.diag_indices_from(M)] += LEAST * max(M.diagonal().max(initial=0.0), 1e-12)
        return M

    def step(self, q: FloatArray, own: _Found, gone: FloatArray | None = None) -> FloatArray | None:
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

    def _rows(self, q: FloatArray, found: _Found) -> tuple[FloatArray, FloatArray]:
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


class _Ways:
    """Ways from a start at which links overlap to where they do not."""

    def __init__(self, search: Search, q: FloatArray, first: _Found) -> None:
        self.search, self.m, self.start, self.first = search, search.model.mechanism, q, first
        self.M = search.metric(q)
        self.held = np.setdiff1d(prescribed_freedoms(self.m), search.free).tolist()
        self.sunk = float(search.rest(q).gaps.min(initial=0.0))
        self.deep = {pair for pair, deep in zip(first.pairs, first.is_deep, strict=True) if deep}
        self.allowed: dict[tuple[int, int], float] = {}  # gaps of what touches at the start, if by a hair too much
        for pair, gap in zip(first.pairs, first.gaps, strict=True):
            self.allowed[pair] = 0.0 if pair in self.deep else min(self.allowed.get(pair, 0.0), float(gap))

    def length(self, q: FloatArray) -> float:
        """Of the way to q, in the metric of kinetic energy at the start [sqrt(kg) m]."""
        return self.norm(self.m.difference(self.start, q))

    def norm(self, v: FloatArray) -> float:
        """Of a motion, shape (nv,)."""
        own = v[self.search.free]
        return float(np.sqrt(own @ self.M @ own))

    def is_clear(self, q: FloatArray) -> bool:
        """Whether nothing overlaps that did not touch at the start, and nothing that was deep."""
        own = self.search.look(q)
        if any(gap < self.allowed.get(pair, 0.0) - 1e-12 for pair, gap in zip(own.pairs, own.gaps, strict=True)):
            return False
        return self.search.rest(q).gaps.min(initial=0.0) >= self.sunk - 1e-12

    def at(self, q: FloatArray, step: FloatArray) -> FloatArray | None:
        """Where a motion leads from q, with loops closed; None where they cannot be."""
        q = self.m.integrate(q, step)
        try:
            # Prescribed bodies that may be moved may be moved by closing, too: an arm of five joints cannot follow one.
            return q if self.m.is_tree else closed_but_for(self.m, q, self.held, CLOSED, CLOSING)
        except ConvergenceError:
            return None

    def shortest(self) -> FloatArray | None:
        """Where links are apart, by the shortest way that is found; None: there is none."""
        parted, guess = self.downhill()
        parted = None if parted is None else self.drawn(parted)
        if parted is None or self.length(parted) > AS_GUESSED * guess:
            parted = self.nearest(parted)
        return parted

    def downhill(self) -> tuple[FloatArray | None, float]:
        """The end of steps that part links to first order; None: it leads nowhere. And a first guess of its length."""
        q, own, guess = self.start, self.first, 0.0
        for k in range(ITERATIONS):
            step = self.search.step(q, own)
            moved = None if step is None else self.at(q, step)
            if step is None or moved is None:
                break
            guess = guess if k else self.norm(step)
            q, deep, own = moved, own.deep, self.search.look(moved)
            if own.gaps.min(initial=0.0) >= 0.0 or not (own.deep or deep):
                return q, guess
        return None, guess

    def nearest(self, best: FloatArray | None) -> FloatArray | None:
        """The nearest of `best` and the ends of straight ways, drawn back as far as they go; None: there is none."""
        axes, random = self._axes(), np.random.default_rng(0)
        ways = [sign * axis for axis in axes for sign in (1.0, -1.0)]
        for _ in range(RANDOM if len(axes) > 1 else 0):
            way = sum(
                x * axis / self.norm(axis) for x, axis in zip(random.standard_normal(len(axes)), axes, strict=True)
            )
            ways += [way, -way]
        for way in ways:
            end = self.along(way, np.inf if best is None else self.length(best))
            if end is not None:
                best = self.drawn(end)
        return best

    def _axes(self) -> FloatArray:
        """Motions that may part links, shape (ways, nv): of single joints; with loops what these leave to joints."""
        m, free = self.m, self.search.free
        if m.is_tree:
            return np.eye(m.nv)[self._between()]
        N = null_space(loop_jacobian(m, self.start)[1][:, free], rcond=RANK_TOLERANCE)
        axes = np.zeros((N.shape[1], m.nv))
        axes[:, free] = N.T
        return axes

    def _between(self) -> list[int]:
        """Degrees of freedom that move one of two links which overlap and not the other."""
        m, free = self.m, self.search.free.tolist()
        joints = {joint.child: joint for joint in m.joints}
        own: set[str] = set()
        for pair in self.deep:
            paths: list[set[str]] = [set(), set()]
            for path, shape in zip(paths, pair, strict=True):
                body = self.search.table.names[shape][0]
                while body != WORLD:
                    path.add(body)
                    body = joints[body].parent
            own |= paths[0] ^ paths[1]
        moving = {m.velocity_index(name) for body in own for name in joints[body].velocity_names()}
        return [j for j in free if j in moving]

    def along(self, way: FloatArray, length: float) -> FloatArray | None:
        """The first place of a straight way that is clear and nearer than `length`; None: there is none."""
        way = way * (FURTHEST / np.abs(way).max())
        way = way * min(1.0, length / max(self.norm(way), 1e-12))
        limits, room = self.search.limits(self.start)
        for k in range(1, PACES):
            step = way * (k / PACES)
            if (limits @ step < room - 1e-12).any():
                return None
            q = self.at(self.start, step)
            if q is not None and self.length(q) < length and self.is_clear(q):
                return q
        return None

    def drawn(self, q: FloatArray) -> FloatArray:
        """A clear place drawn back towards the start: along the straight way, then along what touches there."""
        q = self.back(q)
        for _ in range(DRAWN if self.m.is_tree else 0):
            length, gone = self.length(q), self.m.difference(self.start, q)
            step = self.search.step(q, self.search.look(q), gone)
            nearer = None
            while step is not None and nearer is None and self.norm(step) > 1e-3 * length:
                there = self.m.integrate(q, step)
                nearer = there if self.length(there) < length and self.is_clear(there) else None
                step = 0.5 * step
            if nearer is None:
                break
            q = self.back(nearer)
        return q

    def back(self, q: FloatArray) -> FloatArray:
        """The last clear place on the straight way from q to the start, by halving."""
        way, near, far = self.m.difference(self.start, q), 0.0, 1.0
        for _ in range(HALVINGS):
            if (far - near) * self.norm(way) < 1e-4 * self.norm(far * way):
                break
            middle = 0.5 * (near + far)
            there = self.at(self.start, middle * way)
            if there is not None and self.is_clear(there):
                far, q = middle, there
            else:
                near = middle
        return q


def _flying(m: Mechanism, own: Container[str] | None = None) -> list[int]:
    """Degrees of freedom of free joints with the world; `own`: of these bodies alone."""
    joints = [j for j in m.joints if j.parent == WORLD and j.kind == "free" and (own is None or j.child in own)]
    names = [name for j in joints for name in j.velocity_names()]
    return [m.velocity_index(name) for name in names]
