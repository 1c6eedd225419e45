"""The arrays that forces read (`ForceModel`) and write (`ForceModes`): one type and one order for all formulations."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction._jit import inline, routine
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
"""Spring and damper of a ball joint that is no node of its own."""


class UserForces(NamedTuple):
    """Forces that the user wrote, see `forces.user`.

    Attributes:
        addresses: of the compiled law and slopes of each, shape (forces, 2).
        spans: first point and count of points of each, shape (forces, 2).
        points: records of points.
    """

    addresses: NDArray[np.int64]
    spans: NDArray[np.int64]
    points: Any


class UserScratch(NamedTuple):
    """Where the user's functions read and write: x, xd, f (points, 3), K and D of the force at hand, dense."""

    x: NDArray[np.float64]
    xd: NDArray[np.float64]
    f: NDArray[np.float64]
    K: NDArray[np.float64]
    D: NDArray[np.float64]


class ForceModel(NamedTuple):
    """What forces read; nothing writes it. Gravity is no part of it.

    Attributes:
        nodes: `tree.NODE` records of the joints.
        dofs: `tree.DOF` records: joint springs, dampers and limits.
        rest: rest positions of the joints' springs, shape (nq,).
        paths, points: springs and cables with their points.
        wrenches: constant wrenches.
        penalties: points that planes push back.
        drives: one per control.
        balls: `BALL_SPRING` records; None where every ball joint is a node.
        coords: `tree.DOF` records of reduced coordinates that are no nodes' own; None where there are none.
        user: forces that the user wrote; None where the formulation takes none.

    A field that is None costs no time to compile either: kernels are compiled without it.
    """

    nodes: Any
    dofs: Any
    rest: NDArray[np.float64]
    paths: Any
    points: Any
    wrenches: Any
    penalties: Any
    drives: Any
    balls: Any
    coords: Any
    user: UserForces | None


class ForceModes(NamedTuple):
    """What one robot's forces write: on which piece of their law one-sided forces are, see `forces.touch`.

    All zero (`touch.BY_DEPTH`): as their gaps say.

    Attributes:
        limits: of the degrees of freedom, shape (nv,).
        paths: of cables, shape (paths,).
        penalties: shape (penalties,).
        coords: of the limits of reduced coordinates, shape (coords,).
        user: scratch of the user's forces; None where the formulation takes none.
    """

    limits: NDArray[np.int64]
    paths: NDArray[np.int64]
    penalties: NDArray[np.int64]
    coords: NDArray[np.int64]
    user: UserScratch | None


class ForceGradients(NamedTuple):
    """Gradients by the parameters of body forces, see `total.wrench_cotangents`.

    Attributes:
        paths: by stiffness, rest length and damping, shape (paths, 3).
        points: by the places of the points of springs and cables, shape (points, 3).
        wrenches: shape (wrenches, 6).
        penalties: by stiffness, damping, friction, stiction and the plane's origin, shape (penalties, 7).
        penalty_points: by the places of the points, shape (penalties, 3).
        balls: by stiffness, damping, and turns of the rest and of the joint's frame, shape (balls, 12).
        user: by the places of the points of the user's forces, shape (points, 3).
    """

    paths: NDArray[np.float64]
    points: NDArray[np.float64]
    wrenches: NDArray[np.float64]
    penalties: NDArray[np.float64]
    penalty_points: NDArray[np.float64]
    balls: NDArray[np.float64]
    user: NDArray[np.float64]


def force_model(tree: Tree) -> ForceModel:
    """The forces of a tree; formulations with bodies or coordinates of their own replace fields of it."""
    return ForceModel(
        nodes=tree.nodes,
        dofs=tree.dofs,
        rest=tree.rest,
        paths=tree.paths,
        points=tree.points,
        wrenches=tree.wrenches,
        penalties=tree.penalties,
        drives=tree.drives,
        balls=None,
        coords=None,
        user=None,
    )


def _size(records: Any) -> int:
    return 0 if records is None else len(records)


def force_modes(forces: ForceModel | Tree) -> ForceModes:
    """What the forces of one robot write: modes, all `BY_DEPTH`, and scratch."""
    if isinstance(forces, Tree):
        forces = force_model(forces)
    sizes = (len(forces.dofs), len(forces.paths), len(forces.penalties), _size(forces.coords))
    return ForceModes(*(np.zeros(n, np.int64) for n in sizes), user=_user_scratch(forces.user))


def _user_scratch(user: UserForces | None) -> UserScratch | None:
    if user is None:
        return None
    most = int(user.spans[:, 1].max(initial=0))
    x, xd, f = (np.zeros((most, 3)) for _ in range(3))
    # Square and dense for the force at hand: kernels hand out the first (3 n)^2 entries.
    return UserScratch(x, xd, f, np.zeros(9 * most * most), np.zeros(9 * most * most))


def force_gradients(forces: ForceModel) -> ForceGradients:
    """Zeros to add gradients to."""
    points = 0 if forces.user is None else len(forces.user.points)
    return ForceGradients(
        paths=np.zeros((len(forces.paths), 3)),
        points=np.zeros((len(forces.points), 3)),
        wrenches=np.zeros((len(forces.wrenches), 6)),
        penalties=np.zeros((len(forces.penalties), 7)),
        penalty_points=np.zeros((len(forces.penalties), 3)),
        balls=np.zeros((_size(forces.balls), 12)),
        user=np.zeros((points, 3)),
    )


@inline
def named_forces(forces):
    """`ForceModel` of plain tuples, in entry points."""
    return ForceModel(*(forces[:-1] + (_named_user(forces[-1]),)))


@inline
def named_modes(modes):
    """`ForceModes` of plain tuples, in entry points."""
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


def force_arrays(mechanism: Mechanism) -> tuple[Any, ...]:
    """What `full_acceleration` reads of a mechanism."""
    t = mechanism.tree
    return t.nodes, t.dofs, t.gravity, t.rest, t.paths, t.points, t.wrenches, t.drives, t.penalties
