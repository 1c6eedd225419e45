"""One body for each group of bodies that fixed joints hold together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from leastaction.mechanism import (
    Attachment,
    Body,
    BodyActuator,
    ContactPair,
    Inertia,
    Joint,
    Mechanism,
    Pose,
    Shape,
    Wrap,
)
from leastaction.mechanism.building.graph import WORLD


def merge_fixed_bodies(mechanism: Mechanism) -> Mechanism:
    """The same robot with every body on a fixed joint made part of the body that carries it.

    Inertias add up; shapes, joints, contact points and all that acts on a merged body move to its carrier.
    Bodies that are fixed to the world stay: the world has no mass to add theirs to.
    """
    # For every body the one it becomes part of, and its pose there.
    place: dict[str, tuple[str, Pose]] = {WORLD: (WORLD, Pose())}
    parts: dict[str, list[tuple[Body, Pose]]] = {}
    joints: list[Joint] = []
    for body, joint in zip(mechanism.bodies, mechanism.joints, strict=True):
        owner, X = place[joint.parent]
        if joint.kind == "fixed" and owner != WORLD:
            place[body.name] = (owner, X * joint.pose * joint.child_pose)
        else:
            place[body.name] = (body.name, Pose())
            joints.append(replace(joint, parent=owner, pose=X * joint.pose))
        owner, X = place[body.name]
        parts.setdefault(owner, []).append((body, X))
    bodies = [_merged(name, group) for name, group in parts.items()]

    def moved(a: Attachment) -> Attachment:
        return Attachment(place[a.body][0], place[a.body][1].apply(a.point))

    def along(item: Attachment | Wrap | float) -> Attachment | Wrap | float:
        if isinstance(item, Wrap):
            return item.moved(*place[item.body])
        return moved(item) if isinstance(item, Attachment) else item

    loops = []
    for loop in mechanism.loops:
        (parent, X), (child, Y) = place[loop.parent], place[loop.child]
        if parent != child:
            poses = {"pose": X * loop.pose, "child_pose": loop.child_pose * Y.inverse()}
            loops.append(replace(loop, parent=parent, child=child, **poses))
    excluded = [(place[a][0], place[b][0]) for a, b in mechanism.excluded_contacts]
    pairs = [replace(p, first=place[p.first][0], second=place[p.second][0]) for p in _apart(mechanism, place)]
    return mechanism.replace(
        contact_pairs=tuple(pairs),
        excluded_contacts=tuple((a, b) for a, b in dict.fromkeys(excluded) if a != b),
        bodies=tuple(bodies),
        joints=tuple(joints),
        loops=tuple(loops),
        springs=tuple(replace(s, start=moved(s.start), end=moved(s.end)) for s in mechanism.springs),
        cables=tuple(replace(c, via=tuple(moved(a) for a in c.via)) for c in mechanism.cables),
        tendons=tuple(replace(t, via=tuple(map(along, t.via))) for t in mechanism.tendons),
        contacts=tuple(
            replace(c, body=place[c.body][0], point=place[c.body][1].apply(c.point)) for c in mechanism.contacts
        ),
        actuators=tuple(
            replace(a, body=place[a.body][0], wrench=_wrench(a.wrench, place[a.body][1]))
            if isinstance(a, BodyActuator)
            else a
            for a in mechanism.actuators
        ),
        forces=tuple(f.moved(place) for f in mechanism.forces),
        frames=tuple(replace(f, body=place[f.body][0], pose=place[f.body][1] * f.pose) for f in mechanism.frames),
        wrenches=tuple(
            replace(
                w,
                body=place[w.body][0],
                point=place[w.body][1].apply(w.point),
                wrench=_turned(w.wrench, place[w.body][1]) if w.frame == "body" else w.wrench,
            )
            for w in mechanism.wrenches
        ),
    )


def _merged(name: str, group: list[tuple[Body, Pose]]) -> Body:
    if len(group) == 1:
        return group[0][0]
    inertia = Inertia.from_parts([(body.inertia, X) for body, X in group])
    shapes: list[Shape] = [replace(shape, pose=X * shape.pose) for body, X in group for shape in body.shapes]
    return Body(name, inertia, tuple(shapes))


def _turned(wrench: tuple[float, ...], X: Pose) -> tuple[float, ...]:
    """A wrench (torque, force) in the directions of the parent frame of X, about the same point."""
    R = X.rotation
    return tuple((R @ np.array(wrench).reshape(2, 3).T).T.ravel().tolist())


def _wrench(wrench: tuple[float, ...], X: Pose) -> tuple[float, ...]:
    """The same, about the origin of the parent frame."""
    turned = np.array(_turned(wrench, X))
    turned[:3] += np.cross(X.position, turned[3:])
    return tuple(turned.tolist())


def _apart(mechanism: Mechanism, place: dict[str, tuple[str, Pose]]) -> list[ContactPair]:
    """Contact pairs of bodies that are not merged."""
    return [pair for pair in mechanism.contact_pairs if place[pair.first][0] != place[pair.second][0]]
