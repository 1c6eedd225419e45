"""Arrays that forces read (`ForceModel`) and write (`ForceModes`), with the same types for all formulations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from leastaction._jit import inline, routine
from leastaction.forces import drags, drives, penalty_contacts, wrenches
from leastaction.forces.points import Frames, zeroed
from leastaction.forces.tendons import cable_paths, tendon_records
from leastaction.mechanism import Mechanism
from leastaction.mechanism.tree import Tree

BALL_SPRING = np.dtype(
    [
        ("child", "i8"),  # node that carries the child
        ("other", "i8"),  # node that carries the joint, -1 for the world
        ("frame", "f8", 9),  # placement of the joint's frame in `other`
        ("stiffness", "f8", 3),  # about the axes of the child [N m/rad]
        ("damping", "f8", 3),
        ("rest", "f8", 4),
    ],
    align=True,
)
"""Spring and damper of a spherical joint that is not a node of its own."""


class UserForces(NamedTuple):
    """User-defined forces, see `forces.user`.

    Attributes:
        addresses: of the compiled functions `law` and `slopes` of each force, shape (forces, 2).
        spans: index of the first point and number of points of each force, shape (forces, 2).
        points: `NODE_POINT` records.
    """

    addresses: NDArray[np.int64]
    spans: NDArray[np.int64]
    points: Any


class UserScratch(NamedTuple):
    """Scratch of the user's functions: x, xd, f (points, 3), and dense K and D of the force being evaluated."""

    x: NDArray[np.float64]
    xd: NDArray[np.float64]
    f: NDArray[np.float64]
    K: NDArray[np.float64]
    D: NDArray[np.float64]


class ForceModel(NamedTuple):
    """Parameters of all forces except gravity; read only.

    Attributes:
        nodes: `tree.NODE` records of the joints.
        dofs: `tree.DOF` records: joint springs, dampers and limits.
        rest: rest positions of the joints' springs, shape (nq,).
        paths, points: springs and cables, and their points.
        wrenches: constant wrenches.
        penalties: points with penalty contact against planes.
        drags: points with drag.
        tendons, items: tendons and servos with force ranges, and the items of their lengths.
        drives: one per control.
        balls: `BALL_SPRING` records; None if every spherical joint is a node.
        coords: `tree.DOF` records of reduced coordinates that are no node's own; None if there are none.
        touched: nodes on which body forces other than drives act, ascending.
        user: user-defined forces; None if the formulation does not support them.

    Kernels are compiled without fields that are None, which saves compile time. Of the records from `paths` to `items`
    either none or all are None, see `compact`.
    """

    nodes: Any
    dofs: Any
    rest: NDArray[np.float64]
    paths: Any
    points: Any
    wrenches: Any
    penalties: Any
    drags: Any
    tendons: Any
    items: Any
    drives: Any
    balls: Any
    coords: Any
    touched: NDArray[np.int64]
    user: UserForces | None


class ForceModes(NamedTuple):
    """State that the forces of one robot write: the active piece of each one-sided force, see `forces.touch`.

    Zero (`touch.BY_DEPTH`): the gap determines the piece. With rows: one row per point of a step, see `modes_at`.

    Attributes:
        limits: modes of the joint limits, shape (nv,).
        paths: modes of cables, shape (paths,).
        penalties: modes of penalty contacts, shape (penalties,).
        coords: modes of the limits of reduced coordinates, shape (coords,).
        tendons: modes of the limits of tendons, shape (tendons,).
        pull: force of the drives [N], time by which their feedback extrapolates the length from the given pose [s], and
            an offset added to it; shape (tendons, 3), zero by default.
        items: `ITEM` records of tendons: those of the model, with the number of turns of angles.
        user: scratch of the user-defined forces; None if the formulation does not support them.
    """

    limits: NDArray[np.int64]
    paths: NDArray[np.int64]
    penalties: NDArray[np.int64]
    coords: NDArray[np.int64]
    tendons: NDArray[np.int64]
    pull: NDArray[np.float64]
    items: Any
    user: UserScratch | None


class ForceGradients(NamedTuple):
    """Gradients with respect to the parameters of body forces, see `total.wrench_cotangents`.

    Attributes:
        paths: by stiffness, rest length and damping, shape (paths, 3).
        points: by the positions of the points of springs and cables, shape (points, 3).
        wrenches: shape (wrenches, 6).
        penalties: by stiffness, damping, friction, stiction and the plane's origin, shape (penalties, 7).
        penalty_points: by the positions of the points, shape (penalties, 3).
        drags: by the linear and quadratic coefficients and the positions of the points, shape (drags, 5).
        tendons: by stiffness, damping, feedback gains of the drives (length with target zero, rate) and drive force,
            shape (tendons, 5); for muscles the third column is by the logarithm of the peak force.
        balls: by stiffness, damping, and rotations of the rest orientation and of the joint's frame, shape (balls, 12).
        user: by the positions of the points of user-defined forces, shape (points, 3).
    """

    paths: NDArray[np.float64]
    points: NDArray[np.float64]
    wrenches: NDArray[np.float64]
    penalties: NDArray[np.float64]
    penalty_points: NDArray[np.float64]
    drags: NDArray[np.float64]
    tendons: NDArray[np.float64]
    balls: NDArray[np.float64]
    user: NDArray[np.float64]


ELEMENTS = ("paths", "points", "wrenches", "penalties", "drags", "tendons", "items")
"""Fields of `ForceModel` with the records of a mechanism's elements."""


_MODELS: WeakKeyDictionary[Tree, ForceModel] = WeakKeyDictionary()
"""Cache of models: they are read only, and shared by all steppers of a mechanism."""


def force_model(tree: Tree) -> ForceModel:
    """Return the forces of a tree; formulations with bodies or coordinates of their own replace some fields."""
    if (known := _MODELS.get(tree)) is None:
        known = _MODELS[tree] = _compile(tree)
    return known


def _compile(tree: Tree) -> ForceModel:
    split = [(int(iv), int(np.flatnonzero(tree.nodes.ball == ball)[0])) for _, iv, ball in tree.free]
    return ForceModel(
        nodes=tree.nodes,
        dofs=tree.dofs,
        rest=tree.rest,
        **force_records(tree.mechanism, tree.frames, tendon_records.tree_axes(tree), split),
        balls=None,
        coords=None,
        user=None,
    )


def force_records(
    mechanism: Mechanism, frames: Frames, axes: tendon_records.Axes, split: Sequence[tuple[int, int]] = ()
) -> dict[str, Any]:
    """Records of a mechanism's force elements and controls, for nodes of any kind; `split`: see `drives.compiled`."""
    chains, points = cable_paths.compiled(mechanism, frames)
    tendons, items = tendon_records.compiled(mechanism, frames, axes)
    body = {
        "paths": chains,
        "points": points,
        "wrenches": wrenches.compiled(mechanism, frames),
        "penalties": penalty_contacts.compiled(mechanism, frames),
        "drags": drags.compiled(mechanism, frames),
        "tendons": tendons,
        "items": items,
    }
    return body | {"drives": drives.compiled(mechanism, frames, split), "touched": _touched(*body.values())}


def _size(records: Any) -> int:
    return 0 if records is None else len(records)


def _touched(*records: Any) -> NDArray[np.int64]:
    """Nodes that appear in the records of body forces, ascending."""
    fields = [r[name] for r in records if r is not None for name in ("node", "child", "other") if name in r.dtype.names]
    nodes = np.unique(np.concatenate([np.zeros(0, np.int64), *fields]))
    return nodes[nodes >= 0]


def compact(forces: ForceModel) -> ForceModel:
    """The same forces with None for the records of body forces if there are none, and with `touched` updated."""
    user = None if forces.user is None else forces.user.points
    body = {name: getattr(forces, name) for name in ELEMENTS}
    touched = _touched(*body.values(), forces.balls, user)
    empty = not any(map(_size, body.values()))
    return forces._replace(touched=touched, **({name: None for name in body} if empty else {}))


def moves_with_bodies(forces: ForceModel) -> bool:
    """Whether every wrench on a body moves rigidly with it, so that no force couples two bodies."""
    addresses = None if forces.user is None else forces.user.addresses
    fixed = forces.wrenches is None or bool(forces.wrenches.local.all())
    return fixed and not any(
        map(_size, (forces.paths, forces.penalties, forces.drags, forces.tendons, forces.balls, addresses))
    )


def resisting(forces: ForceModel) -> ForceModel | None:
    """The body forces that depend on velocity, without dampers of springs and cables; None if there are none."""
    springs = forces.paths[(forces.paths.isotropic != 0) & (forces.paths.damping > 0.0)]
    rough = forces.penalties[(forces.penalties.damping > 0.0) | (forces.penalties.friction > 0.0)]
    ends = [forces.points[p.first : p.first + p.count] for p in springs]
    ends += [forces.items[t.first : t.first + t.count] for t in forces.tendons if _resists(t)]
    touched = _touched(rough, forces.drags, *ends)
    # All contacts and tendons are kept, so that their modes keep their indices.
    return forces._replace(paths=springs, wrenches=forces.wrenches[:0], touched=touched) if len(touched) else None


def forceless(forces: ForceModel) -> ForceModel:
    """The same forces without springs, cables and constant wrenches, for robots whose other elements act on no body."""
    none = {"paths": forces.paths[:0].copy(), "touched": forces.touched[:0].copy()}
    return forces._replace(wrenches=forces.wrenches[:0], **none)


def _resists(tendon: Any) -> bool:
    """Whether the force of a tendon depends on velocity, or is evaluated in the middle of a step."""
    return bool(tendon.damping or tendon.limit_damping or tendon.held or tendon.brake or tendon.muscle)


def together(forces: ForceModel) -> set[tuple[int, int]]:
    """Pairs of nodes (lower one first) that are coupled by one force."""
    ends = [forces.points.node[p.first : p.first + p.count].tolist() for p in forces.paths]
    ends += [tendon_nodes(forces, t) for t in forces.tendons]
    return {(min(i, j), max(i, j)) for group in ends for i in group for j in group if i != j and min(i, j) >= 0}


def without_limits(forces: ForceModel) -> ForceModel:
    """The forces with only those tendons that have a damper, feedback of drives or a muscle."""
    t = forces.tendons
    return forces._replace(tendons=t[(t.damping != 0.0) | (t.held != 0.0) | (t.brake != 0.0) | (t.muscle != 0)])


def tendon_nodes(forces: ForceModel, tendon: Any) -> list[int]:
    """Nodes of a tendon's items."""
    own = forces.items[tendon.first : tendon.first + tendon.count]
    return [*own.node.tolist(), *own.other.tolist()]


def ties_bodies(forces: ForceModel) -> bool:
    """Whether some force may couple two bodies: springs, cables or user-defined forces, or drives with a reaction."""
    own = None if forces.user is None else forces.user.addresses
    # Steps evaluate the feedback of drives on tendons at several poses at once, which the block of one body excludes.
    paths = forces.paths is not None and (bool(together(forces)) or bool(forces.tendons.driven.any()))
    return paths or bool((forces.drives.other >= 0).any()) or _size(forces.balls) + _size(own) > 0


def slows_bodies(forces: ForceModel) -> bool:
    """Whether some body force depends on velocity."""
    own = None if forces.user is None else forces.user.addresses
    damped = forces.paths is not None and bool(forces.paths.damping.any() or any(map(_resists, forces.tendons)))
    return damped or any(map(_size, (forces.penalties, forces.drags, forces.balls, own)))


def has_jumps(forces: ForceModel) -> bool:
    """Whether any one-sided force has a damper, so that it is discontinuous at contact."""
    cables = () if forces.paths is None else forces.paths.damping[forces.paths.pulls_only != 0]
    others = [x.limit_damping for x in (forces.dofs, forces.coords) if x is not None]
    contacts = () if forces.penalties is None else forces.penalties.damping
    tendons = () if forces.tendons is None else forces.tendons.limit_damping
    return any(np.any(damping) for damping in (cables, contacts, tendons, *others))


def force_modes(forces: ForceModel | Tree, rows: int | None = None) -> ForceModes:
    """Allocate the `ForceModes` of one robot, all `BY_DEPTH`; with rows, modes have shape (rows, ...)."""
    if isinstance(forces, Tree):
        forces = force_model(forces)
    many = () if rows is None else (rows,)
    sizes = (_size(x) for x in (forces.dofs, forces.paths, forces.penalties, forces.coords, forces.tendons))
    pull = np.zeros((*many, _size(forces.tendons), 3))
    items = zeroed(0, tendon_records.ITEM) if forces.items is None else forces.items.copy()
    modes = (np.zeros((*many, n), np.int64) for n in sizes)
    return ForceModes(*modes, pull=pull, items=items, user=_user_scratch(forces.user))


@contextmanager
def items_of(modes: ForceModes, forces: ForceModel) -> Iterator[None]:
    """Context in which modes hold the tendon items of another mechanism, which differs in a parameter.

    Kernels read the items there, since lengths depend on the positions of joints and points; turn counts are kept.
    """
    if not len(modes.items):
        yield
        return
    own, other = modes.items.copy(), forces.items
    if other is not None and len(other) == len(own):
        modes.items[:] = other
        modes.items.near = own.near
    try:
        yield
    finally:
        modes.items[:] = own


@inline
def modes_at(modes, row):
    """One row of modes, for one point of a step."""
    own = modes.limits[row], modes.paths[row], modes.penalties[row], modes.coords[row]
    return ForceModes(own[0], own[1], own[2], own[3], modes.tendons[row], modes.pull[row], modes.items, modes.user)


def _user_scratch(user: UserForces | None) -> UserScratch | None:
    if user is None:
        return None
    most = int(user.spans[:, 1].max(initial=0))
    x, xd, f = (np.zeros((most, 3)) for _ in range(3))
    # Square and dense for the force being evaluated: kernels use the first (3 n)^2 entries.
    return UserScratch(x, xd, f, np.zeros(9 * most * most), np.zeros(9 * most * most))


def force_gradients(forces: ForceModel) -> ForceGradients:
    """Allocate gradients, initialised to zero."""
    points = 0 if forces.user is None else len(forces.user.points)
    return ForceGradients(
        paths=np.zeros((_size(forces.paths), 3)),
        points=np.zeros((_size(forces.points), 3)),
        wrenches=np.zeros((_size(forces.wrenches), 6)),
        penalties=np.zeros((_size(forces.penalties), 7)),
        penalty_points=np.zeros((_size(forces.penalties), 3)),
        drags=np.zeros((_size(forces.drags), 5)),
        tendons=np.zeros((_size(forces.tendons), 5)),
        balls=np.zeros((_size(forces.balls), 12)),
        user=np.zeros((points, 3)),
    )


@inline
def named_forces(forces):
    """Restore a `ForceModel` from plain tuples, in entry points."""
    return ForceModel(*(forces[:-1] + (_named_user(forces[-1]),)))


@inline
def named_modes(modes):
    """Restore `ForceModes` from plain tuples, in entry points."""
    return ForceModes(*(modes[:-1] + (_named_scratch(modes[-1]),)))


@routine
def _named_user(user):
    if user is None:
        return None
    return UserForces(*user)


@routine
def _named_scratch(scratch):
    if scratch is None:
        return None
    return UserScratch(*scratch)
