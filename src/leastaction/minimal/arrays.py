"""The arrays that all variational integrators in joint coordinates share: those of their first guesses."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from leastaction.forces.arrays import ForceModel, ForceModes, compact, force_model, force_modes
from leastaction.kinematics.sweeps import JOINT_SCREW, LINK
from leastaction.mechanism import Mechanism
from leastaction.mechanism.tree import Tree
from leastaction.minimal.rules import FloatArray


class ClosureModel(NamedTuple):
    """Loops, couplings and rolling contacts of a mechanism.

    Attributes:
        rows: `mechanism.closure` records, equations first, then soft ones.
        coefficients: polynomials of the couplings.
        count: number of equations.
    """

    rows: Any
    coefficients: FloatArray
    count: int


class NativeModel(NamedTuple):
    """A mechanism as the classical recursions read it, with its own free joints: for first guesses.

    Attributes:
        nodes, dofs: records of its nodes and degrees of freedom.
        gravity: [m/s^2], shape (3,).
        forces: all forces but gravity.
        closure: loops; None for trees.
    """

    nodes: Any
    dofs: Any
    gravity: FloatArray
    forces: ForceModel
    closure: ClosureModel | None


class GuessData(NamedTuple):
    """Scratch of the classical recursions that make first guesses, see `predict`.

    Attributes:
        links, screws: records of the native nodes and degrees of freedom.
        modes: of one-sided forces, all as their gaps say.
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


def closure_model(tree: Tree) -> ClosureModel | None:
    """Loops, couplings and rolling contacts of a tree; None without any."""
    c = tree.closure
    return ClosureModel(c.rows, c.coefficients, c.count) if len(c.rows) else None


def native_model(tree: Tree) -> NativeModel:
    """A mechanism's own tree, for first guesses."""
    return NativeModel(tree.nodes, tree.dofs, tree.gravity, compact(force_model(tree)), closure_model(tree))


def guess_data(mechanism: Mechanism) -> GuessData:
    """For `predict`."""
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
