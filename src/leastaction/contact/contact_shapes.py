"""Collects a mechanism's collision shapes, contact points and ground as flat records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leastaction.contact.contact_table import ContactTable
from leastaction.contact.narrow_phase.convex_hulls import Polytope, box, hull
from leastaction.contact.pair_properties import surfaces
from leastaction.contact.point_shapes import holds, shapes_of_point
from leastaction.contact.records import (
    BOX,
    CAPSULE,
    CYLINDER,
    ELLIPSOID,
    FIELD,
    MESH,
    PLANE,
    SHAPE,
    SPHERE,
    records,
)
from leastaction.errors import MechanismError
from leastaction.mechanism.building.graph import WORLD
from leastaction.mechanism.pose import Pose
from leastaction.mechanism.shapes import (
    COEFFICIENTS,
    Box,
    Capsule,
    Cylinder,
    Ellipsoid,
    HeightField,
    Mesh,
    Plane,
    Shape,
    Sphere,
)

if TYPE_CHECKING:
    from leastaction.mechanism.elements import ContactPoint
    from leastaction.mechanism.mechanism import Mechanism

ALL = (1 << 32) - 1
"""Group bits of contact points: contact with all groups."""

KINDS: dict[type, int] = {
    Plane: PLANE,
    HeightField: FIELD,
    Box: BOX,
    Sphere: SPHERE,
    Capsule: CAPSULE,
    Cylinder: CYLINDER,
    Mesh: MESH,
    Ellipsoid: ELLIPSOID,
}

Frames = Mapping[str, tuple[int, Pose]]
"""For each body's name its index (-1 for the world), and the pose of its frame in the index's frame."""


@dataclass(frozen=True, eq=False)
class _Item:
    """One shape or contact point before it becomes a record; `owner` is an index, or the name of a fixed body."""

    index: int
    owner: int | str
    body: str
    name: str
    kind: int
    pose: Pose
    friction: float | None
    restitution: float | None
    spinning: float | None
    rolling: float | None
    static_friction: float | None
    compliance: float | None
    relaxation_time: float | None
    half: tuple[float, float, float] = (0.0, 0.0, 0.0)
    radius: float = 0.0
    stood_for: bool = False  # contact points of its body lie in it and replace it
    on_bodies: bool = True
    spacing: float = 0.0
    heights: NDArray[np.float64] | None = None  # (rows, columns)
    hull: Polytope | None = None  # in the index's frame
    groups: int = ALL
    touches: int = ALL
    belt: tuple[float, float, float] = (0.0, 0.0, 0.0)
    condim: int | None = None
    priority: int = 0
    stands_for: tuple[str, ...] = ()  # names of the shapes that a contact point replaces


def collect(
    mechanism: Mechanism, frames: Frames, *, bodies: bool = True, points_on_bodies: bool = False
) -> ContactTable:
    """Collect the shapes of a mechanism that may touch, and the collision filter.

    A body touches the ground with its contact points and its shapes (those with `collision`), except shapes that
    contain a contact point of their body: the points replace them, as corners replace a box. A capsule is replaced on
    planes only, since its ends may hang over both sides of a narrow step. Moving bodies touch each other with their
    shapes, unless a joint connects them or `Mechanism.excluded_contacts` names them. A body fixed to the world belongs
    to the ground; it never touches bodies that a joint connects to it.

    Args:
        mechanism: a mechanism.
        frames: for each body's name its index, -1 for the world, and the pose of the body's frame in the
            index's frame.
        bodies: whether moving bodies may touch each other.
        points_on_bodies: whether contact points may touch other moving bodies, as balls.
    """
    items = list(_items(mechanism, frames, bodies, points_on_bodies))
    shapes = records(len(items), SHAPE)
    flat: list[NDArray[np.float64]] = []
    first, sharp = 0, any(item.kind > CAPSULE for item in items)
    for record, item in zip(shapes, items, strict=True):
        flat.append(_fill(record, item, first, sharp))
        first += len(flat[-1])
    surface = surfaces(items, mechanism.contact_pairs)
    apart = frozenset(_apart(mechanism, frames))
    fixed = [k for k, item in enumerate(items) if item.index < 0]
    free = [k for k, item in enumerate(items) if item.index >= 0]
    grounds = [(a, b) for a in fixed for b in free if not _stood_for(items[b], items[a])]
    always = set(surface.always.tolist())
    grounds = [
        (a, b)
        for a, b in grounds
        if ((items[a].owner, items[b].owner) not in apart and _meet(items[a], items[b]))
        or int(surface.key(a, b)) in always
    ]
    movers = np.array([k for k in free if items[k].on_bodies], np.int64)
    return ContactTable(
        shapes=shapes,
        names=tuple((item.body, item.name) for item in items),
        data=np.concatenate([*flat, np.zeros(1)]),  # never empty, so that kernels have one type
        ground=surface.pairs([(a, b) for a, b in grounds if max(items[a].kind, items[b].kind) > FIELD]),
        movers=movers,
        apart=apart,
        groups=np.array([item.groups for item in items], np.int64),
        touches=np.array([item.touches for item in items], np.int64),
        surfaces=surface,
    )


def _meet(a: _Item, b: _Item) -> bool:
    """Whether one of two shapes touches a collision group of the other."""
    return bool(a.groups & b.touches or b.groups & a.touches)


def _stood_for(item: _Item, ground: _Item) -> bool:
    """Whether contact points replace a shape that contains them on this part of the ground."""
    return item.stood_for and (item.kind != CAPSULE or ground.kind == PLANE)


def _place(frames: Frames, body: str) -> tuple[int, int | str, Pose]:
    """Index, owner and pose of a body."""
    if body == WORLD:
        return -1, WORLD, Pose()
    if body not in frames:
        raise MechanismError(f"body {body!r}: no frame is given for it")
    index, X = frames[body]
    return index, (index if index >= 0 else body), X


def _apart(mechanism: Mechanism, frames: Frames) -> Iterator[tuple[int | str, int | str]]:
    """Owners connected by a joint or excluded by the mechanism, in both orders; joints to the world do not count.

    A chain of joints with massless bodies counts as one joint with more degrees of freedom, so the bodies at its ends
    are connected; and so are bodies fixed to either end.
    """
    carrier = dict(zip(mechanism.body_names, mechanism.joints, strict=True))
    massless = {body.name for body in mechanism.bodies if body.inertia.mass == 0.0}
    joined = []
    for joint in (*mechanism.joints, *mechanism.loops):
        parent = joint.parent
        while parent != WORLD:
            joined.append((parent, joint.child))
            if parent not in massless:
                break
            parent = carrier[parent].parent
    together = _fixed_together(mechanism, frames)
    joined = [(a, b) for first, b in joined for a in together.get(first, (first,))]
    for first, second in (*joined, *mechanism.excluded_contacts):
        a, b = _place(frames, first)[1], _place(frames, second)[1]
        yield a, b
        yield b, a


def _fixed_together(mechanism: Mechanism, frames: Frames) -> dict[str, list[str]]:
    """For each body that is fixed to the world, the bodies that it is fixed to other than through the world."""
    groups: dict[str, list[str]] = {}
    for name, joint in zip(mechanism.body_names, mechanism.joints, strict=True):
        if frames[name][0] < 0:
            groups[name] = groups.get(joint.parent, [])
            groups[name].append(name)
    return groups


def _items(mechanism: Mechanism, frames: Frames, bodies: bool, points_on_bodies: bool) -> Iterator[_Item]:
    for name, shapes in ((WORLD, mechanism.ground), *((body.name, body.shapes) for body in mechanism.bodies)):
        index, owner, X = _place(frames, name)
        points = [point.point for point in mechanism.contacts if point.body == name]
        for shape in shapes:
            if shape.collision:
                stood_for = any(holds(shape, point) for point in points)
                yield _item(index, owner, X, name, shape, stood_for, bodies)
    for point in mechanism.contacts:
        index, owner, X = _place(frames, point.body)
        if index >= 0:
            shapes = mechanism.bodies[mechanism.body_index(point.body)].shapes
            yield _point(index, owner, X, point, shapes_of_point(point, shapes), bodies and points_on_bodies)


def _point(index: int, owner: int | str, X: Pose, point: ContactPoint, held: list[Shape], on_bodies: bool) -> _Item:
    pose = X * Pose(point.point)
    options: dict[str, Any] = {}
    if held:  # it replaces the shapes that contain it
        first = held[0]
        options = {"condim": first.condim, "priority": first.priority}
        options["belt"] = tuple(first.pose.rotation @ np.array(first.surface_velocity or (0.0, 0.0, 0.0)))
        options["stands_for"] = tuple(shape.name for shape in held if shape.name)
    coefficients = (getattr(point, name) for name in COEFFICIENTS)
    return _Item(
        index,
        owner,
        point.body,
        point.name,
        SPHERE,
        pose,
        *coefficients,
        radius=point.radius,
        on_bodies=on_bodies,
        **options,
    )


def _item(index: int, owner: int | str, X: Pose, body: str, shape: Shape, stood_for: bool, on_bodies: bool) -> _Item:
    if type(shape) not in KINDS:
        raise MechanismError(f"body {body!r}: contact of a {shape.kind} is not known; set collision=False")
    pose = X * shape.pose
    options: dict[str, Any] = {}
    if isinstance(shape, Sphere | Capsule | Cylinder):
        options["radius"] = shape.radius
    if isinstance(shape, Capsule | Cylinder):
        options["half"] = (0.0, 0.0, 0.5 * shape.length)
    elif isinstance(shape, Box):
        options["half"] = tuple(0.5 * x for x in shape.size)
    elif isinstance(shape, HeightField):
        options["spacing"], options["heights"] = shape.spacing, shape.heights
    elif isinstance(shape, Ellipsoid):
        options["half"] = shape.radii
    elif isinstance(shape, Mesh):
        options["hull"] = hull(shape).moved(pose.rotation, np.array(pose.position))
    return _Item(
        index,
        owner,
        body,
        shape.name or shape.kind,
        KINDS[type(shape)],
        pose,
        *(getattr(shape, name) for name in COEFFICIENTS),
        groups=shape.groups,
        touches=shape.touches,
        stood_for=stood_for,
        on_bodies=on_bodies,
        belt=shape.surface_velocity or (0.0, 0.0, 0.0),
        condim=shape.condim,
        priority=shape.priority,
        **options,
    )


def _fill(record: Any, item: _Item, first: int, sharp: bool) -> NDArray[np.float64]:
    """Fill in the record of a shape; returns its numbers, which are stored from `first` on in the flat array.

    Args:
        sharp: whether boxes need corners, edges and faces.
    """
    record.kind, record.body = item.kind, item.index
    record.R[:], record.p[:] = item.pose.rotation.ravel(), item.pose.position
    record.half[:], record.radius, record.spacing = item.half, item.radius, item.spacing
    record.centre[:] = item.pose.position
    record.first = first
    record.belt[:] = item.pose.rotation @ np.array(item.belt)
    numbers = np.zeros(0)
    own = item.hull
    if item.kind == BOX and sharp:
        own = box(item.half).moved(item.pose.rotation, np.array(item.pose.position))
    if own is not None:
        numbers, fields = own.numbers(first)
        for name, value in fields.items():
            record[name] = value
    elif item.heights is not None:
        record.rows, record.columns = item.heights.shape
        numbers = np.ravel(item.heights)
    if item.kind in (PLANE, FIELD):
        record.bound = record.thickness = np.inf
    elif item.kind == MESH:
        assert own is not None
        record.centre[:] = 0.5 * (own.vertices.min(axis=0) + own.vertices.max(axis=0))
        record.bound = np.linalg.norm(own.vertices - record.centre, axis=1).max()
        record.thickness = (own.faces[:, 3] - own.faces[:, :3] @ own.vertices.mean(axis=0)).min()
    elif item.kind == CYLINDER:
        record.bound, record.thickness = np.hypot(item.radius, item.half[2]), min(item.radius, item.half[2])
    elif item.kind == ELLIPSOID:
        record.bound, record.thickness = max(item.half), min(item.half)
    else:
        record.bound = np.linalg.norm(item.half) + item.radius
        record.thickness = min(item.half) if item.kind == BOX else item.radius
    return numbers
