"""Arrays shared by all variational integrators in joint coordinates: those of their first guesses."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction.dynamics.arrays import ClosureModel
from leastaction.forces.arrays import ForceModel, ForceModes, compact, force_model, force_modes
from leastaction.kinematics.sweeps import FREE, JOINT_SCREW, LINK
from leastaction.mechanism import Mechanism
from leastaction.mechanism.tree import Tree
from leastaction.minimal.floating_origin import shiftable_trees
from leastaction.minimal.quadrature_rules import FloatArray


class NativeModel(NamedTuple):
    """A mechanism for the classical recursions, with its own free joints: for first guesses.

    Attributes:
        nodes, dofs: records of its nodes and degrees of freedom.
        gravity: [m/s^2], shape (3,).
        forces: all forces but gravity.
        closure: loops; None for trees.
        floating: see `floating_trees`.
        shiftable: see `shiftable_trees`.
    """

    nodes: Any
    dofs: Any
    gravity: FloatArray
    forces: ForceModel
    closure: ClosureModel | None
    floating: FloatArray
    shiftable: FloatArray


class Contractions(NamedTuple):
    """Arguments and results of `joint_horizon.contractions` of all steps of a motion.

    Attributes:
        rows: of the equations, shape (steps, s + 1, nv).
        multipliers: of these rows, the same shape.
        change: of their derivatives along the multipliers, shape (steps, s + 1, nv, s + 1, nv).
    """

    rows: FloatArray
    multipliers: FloatArray
    change: FloatArray


class GuessData(NamedTuple):
    """Scratch of the classical recursions for first guesses, see `initial_guesses`.

    Attributes:
        links, screws: records of the native nodes and degrees of freedom.
        modes: of one-sided forces, all as of their gaps.
        external: world wrenches, shape (nodes, 6).
        tau: generalised forces, shape (nv,).
        v, a: velocity and acceleration at the start.
        x, y: exponential coordinates from the start, and a velocity.
        z: configuration, shape (nq,).
        middle, end: accelerations at dt/2 and dt.
        zero, zero3: zeros, shapes (nv,) and (3,).
    """

    links: Any
    screws: Any
    modes: ForceModes
    external: FloatArray
    tau: FloatArray
    v: FloatArray
    a: FloatArray
    x: FloatArray
    y: FloatArray
    z: FloatArray
    middle: FloatArray
    end: FloatArray
    zero: FloatArray
    zero3: FloatArray


def records(shape: Any, dtype: np.dtype) -> Any:
    """Zeroed record array."""
    return np.zeros(shape, dtype).view(np.recarray)


def block_slots(parents: NDArray[np.int64]) -> NDArray[np.int64]:
    """Index of the block that each node uses in a recursion from leaves to root, shape (nodes,).

    A block is reused once its node has been added to its parent, so that few blocks stay in the fastest memory.
    """
    slots, free, count = np.full(len(parents), -1), [], 0
    for i in range(len(parents) - 1, -1, -1):
        for node in (i, parents[i]):
            if node >= 0 and slots[node] < 0:
                if not free:
                    free, count = [count], count + 1
                slots[node] = free.pop()
        free.append(slots[i])
    return slots


def inherited_slots(parents: NDArray[np.int64]) -> NDArray[np.int64]:
    """`block_slots` where a node takes over the block of its child that comes first in the recursion."""
    slots, free, count = np.full(len(parents), -1), [], 0
    for i in range(len(parents) - 1, -1, -1):
        if slots[i] < 0:  # a leaf
            if not free:
                free, count = [count], count + 1
            slots[i] = free.pop()
        parent = parents[i]
        if parent >= 0 and slots[parent] < 0:
            slots[parent] = slots[i]
        else:
            free.append(slots[i])
    return slots


def closure_model(tree: Tree) -> ClosureModel | None:
    """Loops, couplings and rolling contacts of a tree; None without any."""
    c = tree.closure
    return ClosureModel(c.rows, c.coefficients, c.count) if len(c.rows) else None


def native_model(tree: Tree) -> NativeModel:
    """A mechanism's own tree, for first guesses."""
    forces, closure = compact(force_model(tree)), closure_model(tree)
    trees = floating_trees(tree), shiftable_trees(tree)
    return NativeModel(tree.nodes, tree.dofs, tree.gravity, forces, closure, *trees)


def floating_trees(tree: Tree) -> FloatArray:
    """Trees on free joints with no external forces but gravity and their drives, one row each, shape (trees, 2).

    Columns: first velocity of the free joint, and mass [kg].
    """
    forces = compact(force_model(tree))
    rows, drives = tree.closure.rows, forces.drives
    # No force on bodies is known to conserve the momentum; couplings are between joints, with a = 0.
    if forces.paths is not None or ((drives.dof < 0) & (drives.other < 0)).any() or ((rows.a < 0) | (rows.b < 0)).any():
        return np.zeros((0, 2))
    root = np.arange(len(tree.nodes))
    for i, parent in enumerate(tree.nodes.parent):
        root[i] = i if parent < 0 else root[parent]
    # An armature of a free joint adds inertia without weight, and its momentum rotates.
    free = [
        i
        for i, node in enumerate(tree.nodes)
        if node.parent < 0 and node.kind == FREE and not tree.dofs.armature[node.iv : node.iv + 6].any()
    ]
    out = [(tree.nodes.iv[i], tree.nodes.mass[root == i].sum()) for i in free]
    return np.array(out, float).reshape(-1, 2)


def guess_data(mechanism: Mechanism) -> GuessData:
    """Arrays for `initial_guesses`."""
    n, nv = len(mechanism.tree.nodes), mechanism.nv
    return GuessData(
        links=records(n, LINK),
        screws=records(nv, JOINT_SCREW),
        modes=force_modes(mechanism.tree),
        external=np.zeros((n, 6)),
        tau=np.zeros(nv),
        v=np.zeros(nv),
        a=np.zeros(nv),
        x=np.zeros(nv),
        y=np.zeros(nv),
        z=np.zeros(mechanism.nq),
        middle=np.zeros(nv),
        end=np.zeros(nv),
        zero=np.zeros(nv),
        zero3=np.zeros(3),
    )
