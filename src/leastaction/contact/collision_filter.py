"""Collision filter: pairs of shapes that overlap by design, or that cannot separate, are excluded from contact.

The decision depends on the robot's home configuration alone, not on where a run starts:

- In many robots, links that are few joints apart overlap as modelled. No motion could separate them, or only a violent
  one. (MoveIt's setup assistant disables such pairs, too.)
- Links that are few joints apart and modelled flush may lock a joint, which could then turn neither way. Or they
  overlap by rounding in the file, at joint limits that only let them penetrate further: no motion resolves that.
- A body that slides over a table cannot move along the normal of their contact: its joints bear the load. The force of
  such a contact would have no effect, and with the slightest overlap the contact has no solution. An arm that reaches
  into a wall at home is not excluded, although no joint moves its tip along the wall's normal in that configuration.

Pairs that the mechanism declares as always touching are never excluded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from leastaction.contact.contact_entries import detect_all, measure_all
from leastaction.contact.contact_table import ContactTable
from leastaction.contact.penetration.penetration_messages import ROUNDED
from leastaction.contact.records import CONTACT, GIVEN, LOCKED, records
from leastaction.dynamics import body_poses
from leastaction.mechanism import Mechanism
from leastaction.mechanism.building.graph import WORLD
from leastaction.mechanism.pose import Pose
from leastaction.typing import FloatArray
from leastaction.warn import warn

NEAR, FAR = 3, 0.2
"""Links at most `NEAR` joints apart overlap by design if they overlap at home at all; other links of one robot if they
overlap by more than `FAR` times the size of the smaller one."""

DEEP = 1e-3
"""Least overlap that counts, relative to the size of the smaller shape."""

TOUCHING = 1e-3
"""Largest gap of shapes that may be meant to touch, relative to the size of the smaller one."""

NO_MOTION, DRAWN = 1e-9, 1e-3
"""Normal velocity of a contact, relative to the speed of its bodies, that counts as zero: with the world, and between
links of one robot, whose axes are rounded in files (1.5707 for a right angle)."""

AROUND, ASIDE, NO_MOTION_ASIDE = 3, 1e-3, 1e-6
"""Number of random configurations near home, and their distance [rad or m], which distinguish a body that can move
nowhere from one that cannot move at home, such as a stretched arm; and the relative velocity that counts as zero there,
where normals differ from those in the file."""

LOCKING = 0.1
"""Penetration rate of two links that locks a joint, per radian, relative to the size of the smaller one."""


class HomePose(NamedTuple):
    """A mechanism and its home configuration, by the indices of a `ContactTable`.

    Attributes:
        mechanism: the mechanism.
        home: its home, shape (nq,).
        links: for each joint, or part of one, the indices of the parent (-1 for the world) and the child, and the first
            index and number of its degrees of freedom.
        held: degrees of freedom that contact forces cannot move: prescribed ones, and those fixed by an equation.
        poses: function from joint positions (nq,) to poses (n, 12): rotation row by row, then position [m].
        twists: function from joint positions and velocities (nv,) to angular velocities and velocities of the origins,
            in the world, (n, 6).
    """

    mechanism: Mechanism
    home: FloatArray
    links: Sequence[tuple[int, int, int, int]]
    held: frozenset[int]
    poses: Carriers
    twists: Callable[[FloatArray, FloatArray], FloatArray]


class Carriers:
    """Poses (count, 12) of the bodies or frames that carry the bodies of a mechanism, from joint positions (nq,).

    Args:
        mechanism: the robot.
        frames: for each body the index of its carrier (-1: the world), and its pose there.
        count: number of carriers; one without bodies stays at the origin.

    Attributes:
        node, pose: of each carrier the index of its tree node (-1: none), and its pose in that node, rotation row by
            row, then position [m]; shapes (count,) and (count, 12).
    """

    def __init__(self, mechanism: Mechanism, frames: Mapping[str, tuple[int, Pose]], count: int) -> None:
        self.mechanism, self.count = mechanism, count
        held = [(k, *frames[name]) for k, name in enumerate(mechanism.body_names) if frames[name][0] >= 0]
        self._body, self._carrier = (np.array([row[c] for row in held], np.int64) for c in (0, 1))
        self._turn = np.array([own.rotation for _, _, own in held]).reshape(-1, 3, 3)
        self._place = np.array([own.position for _, _, own in held]).reshape(-1, 3, 1)
        self.node = np.full(count, -1)
        self.pose = np.tile(np.append(np.eye(3).ravel(), np.zeros(3)), (count, 1))
        for k, carrier, own in held:
            self.node[carrier], X = mechanism.tree.frames[mechanism.body_names[k]]
            X = X * own.inverse()
            self.pose[carrier] = *np.ravel(X.rotation), *X.position

    def __call__(self, q: FloatArray) -> FloatArray:
        """Return poses: rotations row by row, then positions [m]."""
        out = np.tile(np.append(np.eye(3).ravel(), np.zeros(3)), (self.count, 1))
        X = body_poses(self.mechanism, q)[self._body]
        R = X[:, :3, :3] @ self._turn.transpose(0, 2, 1)
        out[self._carrier, :9] = R.reshape(-1, 9)
        out[self._carrier, 9:] = X[:, :3, 3] - (R @ self._place)[:, :, 0]
        return out


def exclude_pairs(model: HomePose, table: ContactTable) -> ContactTable:
    """The table without pairs of bodies that overlap by design or cannot separate; its remarks name them."""
    ground, tied = pairs_of(table.ground), len(table.movers) > 1
    if not (tied or bounded(model, table, ground)):
        return table
    X = model.poses(model.home)
    near, root, flying = _near(model.mechanism), roots(model.mechanism), flying_robots(model.mechanism)
    movers = pairs_of(table.body_pairs(X, 0.0)) if tied else []
    robots = [  # links of one robot, and of two robots whose bases are not free
        (a, b)
        for a, b in movers
        if root[table.names[a][0]] == root[table.names[b][0]] != WORLD
        or not flying & {root[table.names[a][0]], root[table.names[b][0]]}
    ]
    always = set(table.surfaces.always.tolist())
    candidates = meeting(table, [*robots, *bounded(model, table, ground)], X)
    candidates = [pair for pair in candidates if int(table.surfaces.key(*pair)) not in always]
    if not candidates:
        return table
    contacts, gaps, normals, points = contacts_of(table, candidates, X)
    overlap, fixed, touching, locked = [], [], [], []
    for k, contact in enumerate(contacts):
        a, b = pair = candidates[int(contact.pair)]
        names = table.names[a][0], table.names[b][0]
        size = min(table.shapes.bound[a], table.shapes.bound[b])
        share = DEEP if names in near else (FAR if root[names[0]] == root[names[1]] != WORLD else math.inf)
        if size > 0.0 and gaps[k] < -share * size:  # contact points have no size to compare with
            overlap.append(pair)
        elif gaps[k] < TOUCHING * size and not _can_part(model, table, pair, contact, normals[k], points[k]):
            fixed.append(pair)
            touching += [pair] if gaps[k] < -ROUNDED else []
        elif gaps[k] < 0.0 and names in near and not _may_part(model, contact, normals[k], points[k]):
            fixed.append(pair)
            touching.append(pair)
        elif gaps[k] < TOUCHING * size and names in near and pair not in locked and _locks(model, table, pair, size):
            locked.append(pair)
    remarks = (
        *_remarks(table, overlap, "overlap as the robot is made"),
        *_remarks(table, touching, "overlap, but their joints leave no way along the normal of their contact"),
        *_remarks(table, locked, "touch as the robot is made, so that a joint could turn neither way"),
    )
    return replace(without(table, {*overlap, *fixed, *locked}), remarks=remarks)


def pairs_of(pairs: Any) -> list[tuple[int, int]]:
    """Shape indices of `PAIR` records."""
    return list(zip(pairs.a.tolist(), pairs.b.tolist(), strict=True))


def bounded(model: HomePose, table: ContactTable, ground: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Those of the pairs with the world whose bodies have no floating base."""
    flying, bodies = _flying(model), table.shapes.body.tolist()
    return [(a, b) for a, b in ground if bodies[b] not in flying]


def _flying(model: HomePose) -> set[int]:
    """Bodies whose supporting joints have six or more degrees of freedom that forces can move."""
    freedoms = {-1: 0}
    for a, b, first, count in model.links:
        freedoms[b] = len(set(range(first, first + count)) - model.held) + freedoms[a]
    return {body for body, number in freedoms.items() if number >= 6}


def roots(m: Mechanism) -> dict[str, str]:
    """For each body, and the world, the root of its tree: its ancestor whose joint connects to the world."""
    root = {WORLD: WORLD}
    for name, joint in zip(m.body_names, m.joints, strict=True):
        root[name] = name if joint.parent == WORLD else root[joint.parent]
    return root


def flying_robots(m: Mechanism) -> set[str]:
    """Roots of the trees with a floating base: six or more degrees of freedom up to their first body with mass."""
    freedoms: dict[str, int] = {WORLD: 0}
    flying, heavy, root = set(), {WORLD: False}, roots(m)
    for body, joint in zip(m.bodies, m.joints, strict=True):
        freedoms[body.name] = freedoms[joint.parent] + joint.nv
        heavy[body.name] = heavy[joint.parent] or body.inertia.mass > 0.0
        if heavy[body.name] and not heavy[joint.parent] and freedoms[body.name] >= 6:
            flying.add(root[body.name])
    return flying


def _near(m: Mechanism) -> set[tuple[str, str]]:
    """Ordered pairs of names of bodies that are at most `NEAR` joints apart.

    Fixed joints, coupled (follower) joints and joints that carry massless bodies do not count.
    """
    around: dict[str, list[tuple[str, int]]] = {name: [] for name in m.body_names}
    followers = {coupling.follower for coupling in m.couplings}
    for body, joint in zip(m.bodies, m.joints, strict=True):
        if joint.parent != WORLD:
            free = joint.primitives and not followers.issuperset(joint.coordinate_names())
            far = int(bool(free) and body.inertia.mass > 0.0)
            around[joint.parent].append((body.name, far))
            around[body.name].append((joint.parent, far))
    out = set()
    for start in m.body_names:
        reached, edge = {start: 0}, [start]
        while edge:
            name = edge.pop()
            for other, far in around[name]:
                if reached[name] + far < reached.get(other, NEAR + 1):
                    reached[other] = reached[name] + far
                    edge.append(other)
        out |= {(start, x) for x in reached if x != start}
    return out


def meeting(table: ContactTable, pairs: Sequence[tuple[int, int]], X: FloatArray) -> list[tuple[int, int]]:
    """Those of the pairs whose bounding spheres overlap at the poses X."""
    centres, bound = table.centres(X), table.shapes.bound
    a, b = np.array(pairs, np.int64).reshape(-1, 2).T
    reach = (1.0 + TOUCHING) * (bound[a] + bound[b])
    apart = np.linalg.norm(centres[a] - centres[b], axis=1) > reach
    return [pair for pair, far in zip(pairs, apart, strict=True) if not far]


def contacts_of(table: ContactTable, pairs: Any, X: FloatArray) -> tuple[Any, FloatArray, FloatArray, FloatArray]:
    """Contacts of pairs of shapes at the poses X, with gaps [m], normals and points."""
    return contacts_at(table, table.pairs_of(pairs), X)


def contacts_at(table: ContactTable, chosen: Any, X: FloatArray) -> tuple[Any, FloatArray, FloatArray, FloatArray]:
    """`contacts_of` for `PAIR` records."""
    finite = table.shapes.bound[np.isfinite(table.shapes.bound)]
    margin = TOUCHING * float(finite.max(initial=0.0))
    found: Any = records(64, CONTACT)
    while (count := detect_all(table.shapes, chosen, X, table.data, found, margin)) > len(found):
        found = records(count, CONTACT)
    found = found[:count]
    gaps, normals, points = np.zeros(count), np.zeros((count, 3)), np.zeros((count, 3))
    measure_all(found, X, gaps, normals, points)
    return found, gaps, normals, points


def _can_part(
    model: HomePose, table: ContactTable, pair: tuple[int, int], contact: Any, n: FloatArray, x: FloatArray
) -> bool:
    """Whether some joint velocity changes the gap of a contact at home, or near home if it involves the world.

    Links of one robot that touch at home and cannot move along the normal there are modelled so: no force separates
    them at home, and a step from there would have no solution.
    """
    free = _between(model, int(contact.a), int(contact.b))
    world = min(contact.a, contact.b) < 0
    if _parts(model, free, model.home, contact, n, x, NO_MOTION if world else DRAWN):
        return True
    root = roots(model.mechanism)
    strangers = world or root[table.names[pair[0]][0]] != root[table.names[pair[1]][0]]
    random = np.random.default_rng(0)
    for _ in range(AROUND if free and strangers else 0):
        aside = np.zeros(model.mechanism.nv)
        aside[free] = random.uniform(-ASIDE, ASIDE, len(free))
        q = model.mechanism.integrate(model.home, aside)
        contacts, _, normals, points = contacts_of(table, [pair], model.poses(q))
        for k, other in enumerate(contacts):
            if _parts(model, free, q, other, normals[k], points[k], NO_MOTION_ASIDE):
                return True
    return False


def _parts(
    model: HomePose, free: list[int], q: FloatArray, contact: Any, n: FloatArray, x: FloatArray, none: float
) -> bool:
    """Whether one of these degrees of freedom changes the gap of a contact at q; none: relative rate that is zero."""
    return any(abs(rate) > none * max(size, 1e-6) for rate, size in _rates(model, free, q, contact, n, x))


def _may_part(model: HomePose, contact: Any, n: FloatArray, x: FloatArray) -> bool:
    """Whether a degree of freedom opens the gap of a contact at home in a direction that its joint limits allow."""
    free, m = _between(model, int(contact.a), int(contact.b)), model.mechanism
    stopped, iq, iv = {}, 0, 0
    for joint in m.joints:
        if joint.nv == joint.nq == 1:
            at = model.home[iq]
            stopped[iv] = at <= joint.lower[0] + ROUNDED, at >= joint.upper[0] - ROUNDED
        iq, iv = iq + joint.nq, iv + joint.nv
    for j, (rate, size) in zip(free, _rates(model, free, model.home, contact, n, x), strict=True):
        back, on = stopped.get(j, (False, False))
        if (rate > DRAWN * max(size, 1e-6) and not on) or (rate < -DRAWN * max(size, 1e-6) and not back):
            return True
    return False


def _rates(
    model: HomePose, free: list[int], q: FloatArray, contact: Any, n: FloatArray, x: FloatArray
) -> Iterator[tuple[float, float]]:
    """For each of these degrees of freedom at q, the rate of a contact's gap and the speed of the faster body there."""
    X = model.poses(q)
    for j in free:
        v = np.zeros(model.mechanism.nv)
        v[j] = 1.0
        twists = model.twists(q, v)
        rate, size = 0.0, 0.0
        for body, sign in ((int(contact.a), -1.0), (int(contact.b), 1.0)):
            if body >= 0:
                at = twists[body, 3:] + np.cross(twists[body, :3], x - X[body, 9:])
                rate, size = rate + sign * float(n @ at), max(size, float(np.linalg.norm(at)))
        yield rate, size


def _locks(model: HomePose, table: ContactTable, pair: tuple[int, int], size: float) -> bool:
    """Whether some degree of freedom increases the penetration of a pair in both directions, and so is locked."""

    def gap(j: int, by: float) -> float:
        aside = np.zeros(model.mechanism.nv)
        aside[j] = by
        q = model.mechanism.integrate(model.home, aside)
        return float(contacts_of(table, [pair], model.poses(q))[1].min(initial=math.inf))

    free = _between(model, *(int(table.shapes.body[k]) for k in pair))
    here = gap(0, 0.0)
    return any(max(gap(j, ASIDE), gap(j, -ASIDE)) < here - LOCKING * ASIDE * size for j in free)


def _between(model: HomePose, a: int, b: int) -> list[int]:
    """Degrees of freedom that move one of two bodies and not the other, and that forces can move."""
    path = _path(model, a) ^ _path(model, b)
    freedoms = [j for _, link, first, count in model.links if link in path for j in range(first, first + count)]
    return [j for j in freedoms if j not in model.held]


def _path(model: HomePose, i: int) -> set[int]:
    """Indices of a body and its ancestors."""
    parents, out = {b: a for a, b, _, _ in model.links}, set()
    while i >= 0:
        out.add(i)
        i = parents[i]
    return out


def _remarks(table: ContactTable, pairs: Sequence[tuple[int, int]], why: str) -> Iterator[str]:
    names = list(dict.fromkeys(" and ".join(repr(table.names[k][0]) for k in pair) for pair in pairs))
    if names:
        more = f"; and so do {len(names) - 4} other pairs" if len(names) > 4 else ""
        yield f"{'; '.join(names[:4])} {why}: they pass through each other{more}; exclude_contact of a builder says so"


def warn_of_remarks(table: ContactTable) -> None:
    """Warn of the pairs that were excluded, by the table's remarks."""
    for remark in table.remarks:
        warn(remark)


def exclude_prescribed_pairs(table: ContactTable, given: Collection[int], locked: Collection[int] = ()) -> ContactTable:
    """The table without pairs of shapes whose motions are both prescribed, which may overlap.

    Shapes that contact forces cannot move are marked in the field `given`: `GIVEN` (prescribed motion) or `LOCKED`
    (by equations). Steps look for contacts between two `LOCKED` shapes only where they have come to overlap.

    Args:
        table: shapes by body index.
        given, locked: indices of bodies whose motion is fully prescribed, and of those that equations hold in place.
    """
    if not given and not locked:
        return table
    shapes = table.shapes.copy()
    shapes.given[np.isin(shapes.body, sorted(locked))] = LOCKED
    shapes.given[np.isin(shapes.body, sorted(given))] = GIVEN
    table = replace(table, shapes=shapes)
    pairs = {
        (int(a), int(b)) for a, b in zip(table.ground.a, table.ground.b, strict=True) if table.shapes.body[b] in given
    }
    movers = [int(k) for k in table.movers if table.shapes.body[k] in given]
    return without(table, pairs | {(a, b) for a in movers for b in movers if a < b})


def without(table: ContactTable, pairs: set[tuple[int, int]]) -> ContactTable:
    """The table without contact between the owners of these shapes, except shapes of theirs that always touch."""
    if not pairs:
        return table
    apart = {pair for a, b in pairs for pair in ((table.owner(a), table.owner(b)), (table.owner(b), table.owner(a)))}
    surfaces = table.surfaces.without(pairs)
    always = set(surfaces.always.tolist())
    keep = [
        (table.owner(a), table.owner(b)) not in apart or int(surfaces.key(a, b)) in always
        for a, b in pairs_of(table.ground)
    ]
    ground = table.ground[np.array(keep, bool)].view(np.recarray)
    return replace(table, apart=table.apart | apart, ground=ground, surfaces=surfaces)
