"""Things that overlap at the start of a run, and could be apart: joints are moved until they are.

Contacts that pushed them apart would do work, as much as it takes to lift an arm off its base, say: energy from
nowhere. So the run starts with the joints where the links just touch, as joints beyond their limits start at these; and
what flies and is within the world is moved out of it as a whole, without turning it where that will do.
Every step takes the motion of least kinetic energy that parts the links to first order, within limits, and with loops
and couplings closed: a least distance problem (Lawson and Hanson 1974, Chapter 23).

Where that leads nowhere (the links cross, say, and no joint moves them along their normal) or a long way round,
straight ways along single joints and random ones are tried as well. What is found is drawn back towards the given
start, along the way and then along what touches, as long as it gets nearer in the metric of kinetic energy: so it is
locally least in this metric.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from leastaction.contact.penetration.penetration_messages import DEEP, REMEDY
from leastaction.contact.penetration.penetration_search import Found, Search, flying_freedoms
from leastaction.dynamics.loops import RANK_TOLERANCE, closed_but_for, loop_jacobian, prescribed_freedoms
from leastaction.errors import ConvergenceError
from leastaction.mechanism.building.graph import WORLD
from leastaction.typing import FloatArray
from leastaction.warn import warn

ITERATIONS = 60
"""Most steps that part links to first order."""

AS_GUESSED = 1.25
"""A way that is no longer than this, in terms of the first guess of its length, is not worth a look for another."""

FURTHEST, PACES, RANDOM = 1.6, 16, 4
"""How far joints move at most along straight ways [rad or m], in how many paces, and how many random ways there are."""

DRAWN, HALVINGS = 12, 30
"""Most times that a start is drawn back along what touches, and by halving a way."""

CLOSED, CLOSING = 1e-12, 20
"""Violation of loops that counts as closed [m or rad], and most iterations for it: what takes more cannot be closed."""

SHOWN = 4
"""Pairs and joints that a warning names."""


def clear_start(search: Search, q: FloatArray, resting: Sequence[int] = ()) -> FloatArray:
    """q with things that overlap moved apart, and a warning that names them; q itself where there is no way.

    Links of one robot and of several, and those with the world that they are tied to; then what flies by itself and is
    within the world.

    Args:
        search: in the mechanism.
        q: joint positions [rad or m], shape (nq,).
        resting: prescribed degrees of freedom of which nobody said where they are: they may be moved, too.
    """
    first = search.look(q) if len(search.own.records) or search.own.robots is not None else None
    if first is not None and first.deep:
        ways = search.with_free(search.loose(first))
        parted = _Search(ways, q, first).shortest()
        if parted is None and len(resting):
            parted = _Search(search.with_free(resting), q, first).shortest()
        if parted is not None:
            _say(search, [first], q, parted)
            q = parted
    return _out_of_world(search, q, resting) if len(search.others.records) else q


def _out_of_world(search: Search, q: FloatArray, resting: Sequence[int]) -> FloatArray:
    """q with what flies and is within the world moved out of it, one after the other; q itself where nothing is."""
    start, left = q, []
    for root in search.sunk(q):
        own = flying_freedoms(search.model.mechanism, {root})
        # A free joint turns with the first three; what hangs on others may need theirs.
        for freedoms in (own[3:], own, search.with_free([*own, *resting]).free.tolist()):
            ways = search.of_flying(root, freedoms, q)
            found = ways.look(q)
            parted = _Search(ways, q, found).shortest()
            if parted is not None:
                q = parted
                left.append(found)
                break
    if left:
        _say(search, left, start, q)
    return q


def _say(search: Search, found: Sequence[Found], start: FloatArray, q: FloatArray) -> None:
    m, names = search.model.mechanism, search.table.names
    moved, deepest = np.abs(m.difference(start, q)), -min(own.gaps.min() for own in found)
    order = [own.pairs[k] for own in found for k in np.argsort(own.gaps) if own.is_deep[k]]
    names = list(dict.fromkeys(" and ".join(repr(names[k][0]) for k in pair) for pair in order))
    joints = [m.velocity_names[k] for k in np.argsort(-moved) if moved[k] > min(1e-6, 0.5 * moved.max())]
    more = f" and {len(names) - SHOWN} other pairs" if len(names) > SHOWN else ""
    others = f" and {len(joints) - SHOWN} others" if len(joints) > SHOWN else ""
    listed = ", ".join(f"{name!r} by {moved[m.velocity_index(name)]:.2g}" for name in joints[:SHOWN])
    warn(
        f"{'; '.join(names[:SHOWN])}{more} overlap at the start, by {deepest:.2g} m; the run starts with them "
        f"apart, so that contacts add no energy: joint {listed}{others} [rad or m] moved; {REMEDY}"
    )


class _Search:
    """Ways from a start at which links overlap to where they do not."""

    def __init__(self, search: Search, q: FloatArray, first: Found) -> None:
        self.search, self.m, self.start, self.first = search, search.model.mechanism, q, first
        self.M = search.metric(q)
        self.held = np.setdiff1d(prescribed_freedoms(self.m), search.free).tolist()
        self.deep = {pair for pair, deep in zip(first.pairs, first.is_deep, strict=True) if deep}
        self.allowed: dict[tuple[int, int], float] = {}  # gaps of what overlaps at the start and may go on doing so
        for pair, gap in zip(first.pairs, first.gaps, strict=True):
            self.allowed[pair] = 0.0 if pair in self.deep else min(self.allowed.get(pair, 0.0), float(gap))
        sunk = search.rest(q)
        for pair, gap in zip(sunk.pairs, sunk.gaps, strict=True):
            self.allowed[pair] = min(self.allowed.get(pair, 0.0), float(gap))

    def length(self, q: FloatArray) -> float:
        """Of the way to q, in the metric of kinetic energy at the start [sqrt(kg) m]."""
        return self.norm(self.m.difference(self.start, q))

    def norm(self, v: FloatArray) -> float:
        """Of a motion, shape (nv,)."""
        own = v[self.search.free]
        return float(np.sqrt(own @ self.M @ own))

    def is_clear(self, q: FloatArray) -> bool:
        """Whether nothing overlaps that did not touch at the start, and nothing that was deep."""
        for found in (self.search.look(q), self.search.rest(q)):
            pairs = zip(found.pairs, found.gaps, strict=True)
            if any(gap < self.allowed.get(pair, 0.0) - 1e-12 for pair, gap in pairs):
                return False
        return True

    def sinks(self, q: FloatArray) -> bool:
        """Whether what flies is deeper in the world than at the start, by what counts."""
        found = self.search.rest(q)
        before = np.array([self.allowed.get(pair, 0.0) for pair in found.pairs])
        return bool((found.gaps < before - DEEP * found.sizes).any())

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
                return (None if self.sinks(q) else q), guess
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
        from scipy.linalg import null_space

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
