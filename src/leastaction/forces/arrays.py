"""The arrays that forces read (`ForceModel`) and write (`ForceModes`): one type and one order for all formulations."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
    """What one robot's forces remember: on which piece of their law one-sided forces are, see `forces.touch`.

    All zero (`touch.BY_DEPTH`): as their gaps say.

    Attributes:
        limits: of the degrees of freedom, shape (nv,).
        paths: of cables, shape (paths,).
        penalties: shape (penalties,).
        coords: of the limits of reduced coordinates, shape (coords,).
    """

    limits: NDArray[np.int64]
    paths: NDArray[np.int64]
    penalties: NDArray[np.int64]
    coords: NDArray[np.int64]


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


def force_modes(forces: ForceModel | Tree) -> ForceModes:
    """Modes of the forces of one robot, all `BY_DEPTH`."""
    coords = getattr(forces, "coords", None)
    sizes = (len(forces.dofs), len(forces.paths), len(forces.penalties), 0 if coords is None else len(coords))
    return ForceModes(*(np.zeros(n, np.int64) for n in sizes))


def force_arrays(mechanism: Mechanism) -> tuple[Any, ...]:
    """What `full_acceleration` reads of a mechanism."""
    t = mechanism.tree
    return t.nodes, t.dofs, t.gravity, t.rest, t.paths, t.points, t.wrenches, t.drives, t.penalties
