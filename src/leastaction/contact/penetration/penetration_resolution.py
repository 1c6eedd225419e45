"""Resolution of initial penetration: joints are moved to the closest configuration without overlap.

Contacts that pushed the links apart would do work, such as that of lifting an arm off its base: a spurious energy gain.
So the run starts with the joints where the links just touch, as joints beyond their limits start at these; and floating
bodies that are inside the world are moved out of it as a whole, by translation alone if possible.
Each iteration takes the motion of least kinetic energy that separates the links to first order, within joint limits and
with loops and couplings closed: a least distance problem (Lawson and Hanson 1974, Chapter 23).

If this fails (the links cross, say, and no joint moves them along their normal) or takes a long way, straight paths
along single joints and in random directions are tried as well. The result is pulled back towards the given start, along
the path and then along the contacts, while its distance in the kinetic-energy metric decreases: so it is a local
minimum in this metric.
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
"""Largest number of iterations that separate links to first order."""

AS_GUESSED = 1.25
"""If the solution's distance is at most this multiple of the first estimate, no other is searched for."""

FURTHEST, PACES, RANDOM = 1.6, 16, 4
"""Length of straight paths [rad or m], number of their steps, and number of random directions."""

DRAWN, HALVINGS = 12, 30
"""Most iterations of pulling back along contacts, and of bisection on a path."""

CLOSED, CLOSING = 1e-12, 20
"""Violation of loops that counts as closed [m or rad], and most iterations to close them."""

SHOWN = 4
"""Largest number of pairs and of joints named in a warning."""


def clear_start(search: Search, q: FloatArray, resting: Sequence[int] = ()) -> FloatArray:
    """Return q with penetrations resolved, and warn of the bodies; q itself if there is no solution.

    First the links of one robot or of several, and links against the world that their robot is mounted on; then
    floating bodies that are inside the world.

    Args:
        search: search for the mechanism.
        q: joint positions [rad or m], shape (nq,).
        resting: prescribed degrees of freedom without a given initial position: these may be moved, too.
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
    """q with floating bodies moved out of the world, one after the other; q itself if none is inside."""
    start, left = q, []
    for root in search.sunk(q):
        own = flying_freedoms(search.model.mechanism, {root})
        # Translations of the free joint, then also its rotations (the first three), then other joints.
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
    """Search for the closest configuration without overlap, from a start with overlapping links."""

    def __init__(self, search: Search, q: FloatArray, first: Found) -> None:
        self.search, self.m, self.start, self.first = search, search.model.mechanism, q, first
        self.M = search.metric(q)
        self.held = np.setdiff1d(prescribed_freedoms(self.m), search.free).tolist()
        self.deep = {pair for pair, deep in zip(first.pairs, first.is_deep, strict=True) if deep}
        self.allowed: dict[tuple[int, int], float] = {}  # gaps of shallow overlaps at the start, which may remain
        for pair, gap in zip(first.pairs, first.gaps, strict=True):
            self.allowed[pair] = 0.0 if pair in self.deep else min(self.allowed.get(pair, 0.0), float(gap))
        sunk = search.rest(q)
        for pair, gap in zip(sunk.pairs, sunk.gaps, strict=True):
            self.allowed[pair] = min(self.allowed.get(pair, 0.0), float(gap))

    def length(self, q: FloatArray) -> float:
        """Distance from the start to q, in the metric of kinetic energy at the start [sqrt(kg) m]."""
        return self.norm(self.m.difference(self.start, q))

    def norm(self, v: FloatArray) -> float:
        """Norm of a joint motion, shape (nv,), in the metric of kinetic energy at the start."""
        own = v[self.search.free]
        return float(np.sqrt(own @ self.M @ own))

    def is_clear(self, q: FloatArray) -> bool:
        """Whether no pair overlaps, except shallow overlaps no deeper than at the start."""
        for found in (self.search.look(q), self.search.rest(q)):
            pairs = zip(found.pairs, found.gaps, strict=True)
            if any(gap < self.allowed.get(pair, 0.0) - 1e-12 for pair, gap in pairs):
                return False
        return True

    def sinks(self, q: FloatArray) -> bool:
        """Whether floating bodies are noticeably deeper in the world than at the start."""
        found = self.search.rest(q)
        before = np.array([self.allowed.get(pair, 0.0) for pair in found.pairs])
        return bool((found.gaps < before - DEEP * found.sizes).any())

    def at(self, q: FloatArray, step: FloatArray) -> FloatArray | None:
        """Configuration after a motion from q, with loops closed; None if they cannot be closed."""
        q = self.m.integrate(q, step)
        try:
            # Prescribed bodies in `free` take part in closing loops: an arm of five joints cannot follow a given pose.
            return q if self.m.is_tree else closed_but_for(self.m, q, self.held, CLOSED, CLOSING)
        except ConvergenceError:
            return None

    def shortest(self) -> FloatArray | None:
        """Closest configuration found without overlap; None if none was found."""
        parted, guess = self.downhill()
        parted = None if parted is None else self.drawn(parted)
        if parted is None or self.length(parted) > AS_GUESSED * guess:
            parted = self.nearest(parted)
        return parted

    def downhill(self) -> tuple[FloatArray | None, float]:
        """Result of iterations that separate links to first order (None: failed), and an estimate of its distance."""
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
        """The closest of `best` and the ends of straight paths, pulled back; None if there is none."""
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
        """Directions that may separate links, shape (ways, nv): single joints; with loops, a null space basis."""
        m, free = self.m, self.search.free
        if m.is_tree:
            return np.eye(m.nv)[self._between()]
        from scipy.linalg import null_space

        N = null_space(loop_jacobian(m, self.start)[1][:, free], rcond=RANK_TOLERANCE)
        axes = np.zeros((N.shape[1], m.nv))
        axes[:, free] = N.T
        return axes

    def _between(self) -> list[int]:
        """Degrees of freedom that move one of two overlapping links and not the other."""
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
        """First configuration on a straight path that is clear and nearer than `length`; None if there is none."""
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
        """Pull a clear configuration back towards the start: along the straight path, then along the contacts."""
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
        """Nearest clear configuration on the straight path from q to the start, by bisection."""
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
