"""Shapes that are made to overlap, or that cannot part: they never touch.

Told from the robot's home alone, so that it is a matter of the robot and not of where a run starts:

- Links that a few joints tie overlap in many robots as they are drawn. Nothing could bring them apart, or only a
  violent motion could. (MoveIt's setup leaves out such pairs, too.)
- A body that slides over a table cannot move along the normal of their contact: its joints bear it. Whatever such a
  contact were to push with would change nothing, and where the two overlap by a hair it has no solution.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.contact.entries import detect_all, measure_all
from leastaction.contact.records import CONTACT, records
from leastaction.contact.shapes import ContactTable
from leastaction.dynamics.loops import prescribed_freedoms
from leastaction.maximal.contact.diagnosis import DEEP
from leastaction.maximal.coordinates.placement import place
from leastaction.maximal.layout import as_transforms
from leastaction.maximal.model import Model
from leastaction.mechanism import Mechanism
from leastaction.mechanism.closure import COUPLING
from leastaction.mechanism.graph import WORLD
from leastaction.warn import warn

FloatArray = NDArray[np.float64]

NEAR, FAR = 3, 0.2
"""Links tied by so many joints or fewer are made to overlap where they do; others of one robot where they do so by this
share of the smaller one's size."""

TOUCHING = 1e-3
"""Gap of things that may be meant to touch, in terms of the size of the smaller one."""

NO_MOTION = 1e-9
"""Normal velocity of a contact, relative to how fast its bodies move, that is none."""


def leave_out(model: Model, table: ContactTable) -> ContactTable:
    """The table without pairs of bodies that are made to overlap or cannot part; a warning names them."""
    home, ground, tied = model.mechanism.home(), pairs_of(table.ground), len(table.movers) > 1
    if not (tied or any(not _flies(model, int(table.shapes.body[b])) for _, b in ground)):
        return table
    Z = place(model, home, np.zeros(model.mechanism.nv))[0]
    near, root = _near(model.mechanism), roots(model.mechanism)
    movers = pairs_of(table.body_pairs(as_transforms(Z), 0.0)) if tied else []
    robot = [(a, b) for a, b in movers if root[table.names[a][0]] == root[table.names[b][0]] != WORLD]
    candidates = meeting(table, [*robot, *bounded(model, table, ground)], Z)
    if not candidates:
        return table
    contacts, gaps, normals, points = contacts_of(table, candidates, Z)
    overlap, fixed, touching = [], [], []
    for k, contact in enumerate(contacts):
        a, b = pair = candidates[int(contact.pair)]
        names = table.names[a][0], table.names[b][0]
        size = min(table.shapes.bound[a], table.shapes.bound[b])
        share = DEEP if names in near else (FAR if root[names[0]] == root[names[1]] != WORLD else math.inf)
        if size > 0.0 and gaps[k] < -share * size:  # points have no size to overlap by
            overlap.append(pair)
        elif gaps[k] < TOUCHING * size and not _can_part(model, home, Z, contact, normals[k], points[k]):
            fixed.append(pair)
            touching += [pair] if gaps[k] < 0.0 else []
    _say(table, overlap, "overlap as the robot is made")
    _say(table, touching, "overlap, but their joints leave no way along the normal of their contact")
    return without(table, {*overlap, *fixed})


def pairs_of(pairs: Any) -> list[tuple[int, int]]:
    """The numbers of both shapes of `PAIR` records."""
    return list(zip(pairs.a.tolist(), pairs.b.tolist(), strict=True))


def bounded(model: Model, table: ContactTable, ground: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Those of the pairs with the world whose bodies do not fly."""
    return [(a, b) for a, b in ground if not _flies(model, int(table.shapes.body[b]))]


def _flies(model: Model, i: int) -> bool:
    """Whether the joints that carry a body leave it six freedoms or more that may be pushed."""
    held, freedoms = held_freedoms(model), dict[int, int]()
    for piece in model.pieces:
        own = range(piece.iv, piece.iv + sum(p.nv for p in piece.primitives))
        freedoms[piece.b] = len(set(own) - held) + (freedoms[piece.a] if piece.a >= 0 else 0)
    return freedoms[i] >= 6


def roots(m: Mechanism) -> dict[str, str]:
    """For each body, and the world, the one of its tree that hangs on the world."""
    root = {WORLD: WORLD}
    for name, joint in zip(m.body_names, m.joints, strict=True):
        root[name] = name if joint.parent == WORLD else root[joint.parent]
    return root


def _near(m: Mechanism) -> set[tuple[str, str]]:
    """Names of bodies that are tied by at most `NEAR` joints, both ways.

    Joints that are fixed, that follow others, or that carry massless bodies do not count.
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


def meeting(table: ContactTable, pairs: Sequence[tuple[int, int]], Z: FloatArray) -> list[tuple[int, int]]:
    """Those whose bounding spheres meet at the poses Z."""
    centres, bound = table.centres(as_transforms(Z)), table.shapes.bound
    a, b = np.array(pairs, np.int64).reshape(-1, 2).T
    reach = (1.0 + TOUCHING) * (bound[a] + bound[b])
    apart = np.linalg.norm(centres[a] - centres[b], axis=1) > reach
    return [pair for pair, far in zip(pairs, apart, strict=True) if not far]


def contacts_of(table: ContactTable, pairs: Any, Z: FloatArray) -> tuple[Any, FloatArray, FloatArray, FloatArray]:
    """Contacts of pairs of shapes at the poses Z, their gaps, normals and points."""
    X, chosen = as_transforms(Z), table.pairs_of(pairs)
    finite = table.shapes.bound[np.isfinite(table.shapes.bound)]
    margin = TOUCHING * float(finite.max(initial=0.0))
    found: Any = records(64, CONTACT)
    while (count := detect_all(table.shapes, chosen, X, table.data, found, margin)) > len(found):
        found = records(count, CONTACT)
    found = found[:count]
    gaps, normals, points = np.zeros(count), np.zeros((count, 3)), np.zeros((count, 3))
    measure_all(found, X, gaps, normals, points)
    return found, gaps, normals, points


def _can_part(model: Model, q: FloatArray, Z: FloatArray, contact: Any, n: FloatArray, x: FloatArray) -> bool:
    """Whether some joint velocity changes the gap of a contact; one that is neither prescribed nor locked."""
    held = held_freedoms(model)
    path = _path(model, int(contact.a)) ^ _path(model, int(contact.b))
    for piece in model.pieces:
        if piece.b not in path:
            continue
        for j in range(piece.iv, piece.iv + sum(p.nv for p in piece.primitives)):
            if j in held:
                continue
            v = np.zeros(model.mechanism.nv)
            v[j] = 1.0
            twists = place(model, q, v)[1]
            rate, size = 0.0, 0.0
            for body, sign in ((int(contact.a), -1.0), (int(contact.b), 1.0)):
                if body >= 0:
                    R = as_transforms(Z[body : body + 1])[0, :9].reshape(3, 3)
                    at = twists[body, 3:] + np.cross(R @ twists[body, :3], x - Z[body, :3])
                    rate, size = rate + sign * float(n @ at), max(size, float(np.linalg.norm(at)))
            if abs(rate) > NO_MOTION * max(size, 1e-6):
                return True
    return False


def held_freedoms(model: Model) -> set[int]:
    """Degrees of freedom that nothing can push: prescribed ones, and those that an equation holds in place."""
    rows, coordinates = model.rows, model.coordinates
    own = rows[(rows.kind == COUPLING) & (rows.coordinate == rows.leader)]
    return {int(iv) for iv in coordinates.iv[own.coordinate]} | set(prescribed_freedoms(model.mechanism))


def _path(model: Model, i: int) -> set[int]:
    """A body and those that carry it."""
    out = set()
    while i >= 0:
        out.add(i)
        i = int(model.bodies.parent[i])
    return out


def _say(table: ContactTable, pairs: Sequence[tuple[int, int]], why: str) -> None:
    names = list(dict.fromkeys(" and ".join(repr(table.names[k][0]) for k in pair) for pair in pairs))
    if names:
        more = f"; and so do {len(names) - 4} other pairs" if len(names) > 4 else ""
        warn(f"{'; '.join(names[:4])} {why}: they pass through each other{more}; exclude_contact of a builder says so")


def without(table: ContactTable, pairs: set[tuple[int, int]]) -> ContactTable:
    """The table with the owners of these shapes apart."""
    if not pairs:
        return table
    apart = {pair for a, b in pairs for pair in ((table.owner(a), table.owner(b)), (table.owner(b), table.owner(a)))}
    keep = [(table.owner(a), table.owner(b)) not in apart for a, b in pairs_of(table.ground)]
    ground = table.ground[np.array(keep, bool)].view(np.recarray)
    return replace(table, apart=table.apart | apart, ground=ground, surfaces=table.surfaces.without(pairs))
