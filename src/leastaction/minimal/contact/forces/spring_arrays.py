"""Arrays of springs, cables, tendons and loops for their kernels, and their constraints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from leastaction.dynamics.arrays import ClosureModel
from leastaction.errors import IntegratorError
from leastaction.forces.arrays import ForceModel, ForceModes, force_model, force_modes, tendon_nodes
from leastaction.forces.tendons.tendon_records import HINGE, SLIDE
from leastaction.mechanism import Mechanism
from leastaction.mechanism.closure import COUPLING
from leastaction.minimal.galerkin_bodies.arrays import BODY_AT_NODE
from leastaction.typing import FloatArray


class Pulls(NamedTuple):
    """Forces between bodies of one robot over a step, and scratch for them; see `spring_forces.pull`.

    Attributes:
        links: `BODY_AT_NODE` records of the bodies at the start and at the end of the step, shape (2, bodies).
        modes: states of one-sided forces, one row for each end.
        external: world wrenches on the bodies at both ends, shape (2, bodies, 6).
        tau, unused: scratch for generalised impulses, shape (nv,).
        start, end: generalised impulses at both ends, shape (nv,).
        work: of all of these over the step [J], shape (1,).
        drives: momenta of the armatures of ball and free joints at both ends, shape (2, nv).
        slope: minus the derivative of `start` by the displacement of the joint itself, shape (nv,).
    """

    links: Any
    modes: ForceModes
    external: FloatArray
    tau: FloatArray
    unused: FloatArray
    start: FloatArray
    end: FloatArray
    work: FloatArray
    drives: FloatArray
    slope: FloatArray


def in_joints(mechanism: Mechanism) -> bool:
    """Whether there are compliant limits, or ball and free joints with springs, dampers or armatures."""
    dofs, nodes = mechanism.tree.dofs, mechanism.tree.nodes
    own = [dofs[node.iv : node.iv + node.nv] for node in nodes if node.nv > 1]
    turning = any(x.stiffness.any() or x.damping.any() or x.armature.any() for x in own)
    return bool(dofs.limit_stiffness.any() or turning)


def pulling(mechanism: Mechanism) -> ForceModel | None:
    """The forces between bodies of a mechanism; None where it has neither these nor loops.

    Constant wrenches are among the controls, see `gears`.
    """
    forces = force_model(mechanism.tree)
    pulls = len(forces.paths) + len(forces.tendons) + len(forces.drags) + mechanism.tree.closure.count
    if not pulls and not in_joints(mechanism):
        return None
    return forces._replace(wrenches=forces.wrenches[:0])


def equations(mechanism: Mechanism) -> ClosureModel:
    """Constraint rows of loops and couplings; none in a tree."""
    c = mechanism.tree.closure
    return ClosureModel(c.rows, c.coefficients, c.count)


def pull_arrays(forces: ForceModel | None) -> Pulls | None:
    """Arrays for the forces that `pulling` returns."""
    if forces is None:
        return None
    bodies, nv = len(forces.nodes), len(forces.dofs)
    links = np.zeros((2, bodies), BODY_AT_NODE).view(np.recarray)
    tau, unused, start, end, slope = np.zeros((5, nv))
    external, drives, work = np.zeros((2, bodies, 6)), np.zeros((2, nv)), np.zeros(1)
    return Pulls(links, force_modes(forces, rows=2), external, tau, unused, start, end, work, drives, slope)


def is_along_joint(forces: ForceModel, tendon: Any) -> bool:
    """Whether the length of a tendon is the position of one joint."""
    return tendon.count == 1 and forces.items[tendon.first].kind in (HINGE, SLIDE)


def ties(mechanism: Mechanism) -> Iterator[tuple[int, int, int, int]]:
    """Yields (number, axis, two bodies of the coupled kinematic trees) of the forces on several degrees of freedom that
    depend on the end of the step.

    Numbers count tendons, then springs and cables, then drags, then bodies, for the springs of their ball joints.
    Isotropic springs, drags and ball joints have three axes.
    """
    forces = pulling(mechanism)
    if forces is None:
        return
    for k, t in enumerate(forces.tendons):
        if not is_along_joint(forces, t):
            yield from _along(mechanism, k, 1, tendon_nodes(forces, t))
    first = len(forces.tendons)
    for k, p in enumerate(forces.paths):
        nodes = forces.points.node[p.first : p.first + p.count].tolist()
        yield from _along(mechanism, first + k, 3 if p.isotropic else 1, nodes)
    first += len(forces.paths)
    for k, drag in enumerate(forces.drags):
        yield from _along(mechanism, first + k, 3, [int(drag.node)])
    first += len(forces.drags)
    for i, node in enumerate(forces.nodes):
        if node.nv > 1 and forces.dofs.stiffness[node.iv : node.iv + 3].any():
            yield from _along(mechanism, first + i, 3, [i])


def _along(mechanism: Mechanism, number: int, axes: int, nodes: list[int]) -> Iterator[tuple[int, int, int, int]]:
    """`ties` of one force."""
    one, two = _ends(mechanism, nodes)
    for axis in range(axes):
        yield number, axis, one, two


def loops(mechanism: Mechanism) -> Iterator[tuple[int, int, int, int]]:
    """`ties` of the constraint rows of loops and couplings."""
    tree = mechanism.tree
    for k, row in enumerate(tree.closure.rows[: tree.closure.count]):
        nodes = [int(row.a), int(row.b)]
        if row.kind == COUPLING:
            nodes = [int(np.flatnonzero(tree.nodes.iv == dof)[0]) for dof in (row.follower, row.leader)]
        yield k, 0, *_ends(mechanism, nodes)


def _ends(mechanism: Mechanism, nodes: list[int]) -> tuple[int, int]:
    """One body of each of the at most two kinematic trees that contain the nodes, -1 for none."""
    parents, roots = mechanism.tree.nodes.parent, {}
    for node in nodes:
        root = node
        while root >= 0 and parents[root] >= 0:
            root = int(parents[root])
        if root >= 0:
            roots.setdefault(root, node)
    if len(roots) > 2:
        raise IntegratorError(
            "Minimal knows no springs, dampers and servos along paths over more than two robots, as "
            f"{mechanism.name!r} has; use Maximal"
        )
    one, two = [*roots.values(), -1, -1][:2]
    return one, two
