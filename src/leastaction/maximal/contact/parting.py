"""Links of a robot that overlap at the start of a run, and could be apart: joints are moved until they are.

Contacts that pushed them apart would do work, as much as it takes to lift an arm off its base, say: energy from
nowhere. So the run starts with the joints where the links just touch, as joints beyond their limits start at these.
Every step takes the motion of least kinetic energy that parts the links to first order, within limits, and with loops
and couplings closed: a least distance problem (Lawson and Hanson 1974, Chapter 23).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import null_space

from leastaction.contact.by_design import bounded, contacts_of, meeting, pairs_of, roots
from leastaction.contact.shapes import ContactTable
from leastaction.dynamics.api import body_jacobian, mass_matrix
from leastaction.dynamics.loops import RANK_TOLERANCE, close_loops, loop_jacobian
from leastaction.errors import ConvergenceError
from leastaction.maximal.contact.by_design import at_home, held_freedoms
from leastaction.maximal.contact.diagnosis import DEEP, REMEDY
from leastaction.maximal.coordinates.placement import place
from leastaction.maximal.layout import as_transforms
from leastaction.maximal.model import Model
from leastaction.maximal.records import BALL
from leastaction.mechanism import Mechanism
from leastaction.mechanism.graph import WORLD
from leastaction.warn import warn

FloatArray = NDArray[np.float64]

CLEAR = 1e-4
"""Gap that links are moved to, in terms of the size of the smaller one."""

ITERATIONS, LONGEST = 60, 0.2
"""Most steps, and how far a joint moves in one of them [rad, or in terms of the robot's size]."""

LEAST = 1e-9
"""Inertia that every freedom has at least, in terms of the largest: massless links have none of their own."""

SHOWN = 4
"""Pairs and joints that a warning names."""


def clear_start(model: Model, table: ContactTable, q: FloatArray) -> FloatArray:
    """q with links that overlap moved apart, and a warning that names them; q itself where there is no way.

    Links of one robot, and those with the world that it is tied to. What flies by itself is left to contacts.

    Args:
        model: of the mechanism.
        table: what may touch what.
        q: joint positions [rad or m], shape (nq,).
    """
    search = _Search(model, table)
    first = own = search.look(q)
    if not own.deep:
        return q
    start = q
    for _ in range(ITERATIONS):
        step = search.step(q, own)
        if step is None:
            return start
        q = model.mechanism.integrate(q, step)
        try:
            q = q if model.mechanism.is_tree else close_loops(model.mechanism, q)
        except ConvergenceError:
            return start
        deep, own = own.deep, search.look(q)
        if own.gaps.min(initial=0.0) >= 0.0 or not (own.deep or deep):
            _say(model.mechanism, table, first, np.abs(model.mechanism.difference(start, q)))
            return q
    return start


def _say(m: Mechanism, table: ContactTable, own: _Found, moved: FloatArray) -> None:
    order = [own.pairs[k] for k in np.argsort(own.gaps) if own.is_deep[k]]
    names = list(dict.fromkeys(" and ".join(repr(table.names[k][0]) for k in pair) for pair in order))
    joints = [m.velocity_names[k] for k in np.argsort(-moved) if moved[k] > 1e-6]
    more = f" and {len(names) - SHOWN} other pairs" if len(names) > SHOWN else ""
    others = f" and {len(joints) - SHOWN} others" if len(joints) > SHOWN else ""
    told = ", ".join(f"{name!r} by {moved[m.velocity_index(name)]:.2g}" for name in joints[:SHOWN])
    warn(
        f"{'; '.join(names[:SHOWN])}{more} overlap at the start, by {-own.gaps.min():.2g} m; the run starts with them "
        f"apart, so that contacts add no energy: joint {told}{others} [rad or m] moved; {REMEDY}"
    )


class _Found:
    """Contacts at some poses: pairs of shapes, gaps, normals, points, sizes of the smaller ones."""

    def __init__(self, table: ContactTable, candidates: Any, Z: FloatArray) -> None:
        contacts, self.gaps, self.normals, self.points = contacts_of(table, candidates, as_transforms(Z))
        self.pairs = [candidates[int(c.pair)] for c in contacts]
        bound = table.shapes.bound
        self.sizes = np.array([min(bound[a], bound[b]) for a, b in self.pairs]).reshape(-1)
        self.is_deep = self.gaps < -DEEP * self.sizes
        self.deep = bool(self.is_deep.any())


class _Search:
    """What a search for a start without overlaps needs to know."""

    def __init__(self, model: Model, table: ContactTable) -> None:
        self.model, self.table, m = model, table, model.mechanism
        self.root = roots(m)
        self.ground = pairs_of(table.ground)
        self.tied = bounded(at_home(model), table, self.ground)
        self.free = np.setdiff1d(np.arange(m.nv), [*held_freedoms(model), *_flying(m)])

    def look(self, q: FloatArray) -> _Found:
        """Contacts of links with their own robot, or with the world that it is tied to."""
        Z, table, root = self._poses(q), self.table, self.root
        movers = pairs_of(table.body_pairs(as_transforms(Z), 0.0)) if len(table.movers) > 1 else []
        own = [(a, b) for a, b in movers if root[table.names[a][0]] == root[table.names[b][0]] != WORLD]
        return _Found(table, meeting(table, [*own, *self.tied], as_transforms(Z)), Z)

    def _poses(self, q: FloatArray) -> FloatArray:
        return place(self.model, q, np.zeros(self.model.mechanism.nv))[0]

    def step(self, q: FloatArray, own: _Found) -> FloatArray | None:
        """The motion of least kinetic energy that parts what overlaps, to first order, shape (nv,); None: no way.

        Flying robots do not get deeper into the world by it.
        """
        from scipy.optimize import nnls

        m, Z, tied = self.model.mechanism, self._poses(q), set(self.tied)
        G, c = self._rows(q, own)
        rest = [pair for pair in self.ground if pair not in tied]
        H, d = self._rows(q, _Found(self.table, meeting(self.table, rest, as_transforms(Z)), Z))
        limits, room = self._limits(q)
        G, c = np.concatenate([G, H, limits]), np.concatenate([c, np.minimum(d, 0.0), room])
        M = mass_matrix(m, q)[np.ix_(self.free, self.free)]
        M[np.diag_indices_from(M)] += LEAST * max(M.diagonal().max(initial=0.0), 1e-12)
        N = np.eye(len(self.free))
        if not m.is_tree:
            N = null_space(loop_jacobian(m, q)[1][:, self.free], rcond=RANK_TOLERANCE)
        L = np.linalg.cholesky(N.T @ M @ N)
        E = np.linalg.solve(L, N.T @ G[:, self.free].T)  # least |y| with E^T y >= c
        keep = np.linalg.norm(E, axis=0) > 0.0
        if (c[~keep] > DEEP * own.sizes.min(initial=1.0)).any():
            return None
        E, c = E[:, keep], c[keep]
        for _ in range(6):
            weights = np.concatenate([E, c[None]])
            r = weights @ nnls(weights, np.eye(len(E) + 1)[-1])[0]
            r[-1] -= 1.0
            if abs(r[-1]) > 1e-8:
                out = np.zeros(m.nv)
                out[self.free] = N @ np.linalg.solve(L.T, -r[:-1] / r[-1])
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

    def _limits(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The same of joints: rows of those with limits, and how far these are away (negative, or 0)."""
        rows, room = [], []
        for c in self.model.coordinates:
            if c.iq >= 0 and c.iv >= 0 and c.kind < BALL:
                for sign, limit in ((1.0, float(c.lower)), (-1.0, float(c.upper))):
                    if np.isfinite(limit):
                        row = np.zeros(self.model.mechanism.nv)
                        row[c.iv] = sign
                        rows.append(row)
                        room.append(min(sign * (limit - q[c.iq]), 0.0))
        return np.array(rows).reshape(-1, self.model.mechanism.nv), np.array(room)


def _flying(m: Mechanism) -> list[int]:
    """Degrees of freedom of free joints with the world."""
    names = [name for j in m.joints if j.parent == WORLD and j.kind == "free" for name in j.velocity_names()]
    return [m.velocity_index(name) for name in names]
