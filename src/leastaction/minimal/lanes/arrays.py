"""What the kernels of lanes read and write, by name."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction.mechanism import Mechanism
from leastaction.mechanism.tree import DOF, NODE

FloatArray = NDArray[np.floating]


class LaneModel(NamedTuple):
    """What one robot's kernels read of the mechanism; nothing writes it.

    Attributes:
        nodes: `tree.NODE` records, called bodies here, depth first.
        dofs: `tree.DOF` records.
        slots: for each body that several carry on from, or one that is not the next, where its children's blocks wait;
            -1 for others, shape (bodies,).
        drives: for each control its degree of freedom and gear.
        gravity: [m/s^2], shape (3,).
        branches: number of slots.
    """

    nodes: Any
    dofs: Any
    slots: NDArray[np.int64]
    drives: Any
    gravity: FloatArray
    branches: int


class Lane(NamedTuple):
    """State and scratch of one robot.

    Attributes:
        q0, q1: joint positions at the start and the end of a step, shape (nq,).
        p, end: momenta at the start and the end of a step, shape (nv,).
        tau: generalised forces of the controls, shape (nv,).
        near, far: mean velocities of the last step and the one before, shape (nv,).
        dx: update, shape (nv,).
        moved: sum of the updates, shape (nv,).
        R0, R1: rotations of the bodies at the start and the end, shape (bodies, 9).
        x0, x1: their centres of mass [m], shape (bodies, 3).
        S0, S1: world twists of unit joint velocities, shape (nv, 6).
        W: for each degree of freedom its row, pivot and right-hand side, shape (nv, 8).
        wait: what waits at branches, shape (slots, 48).
    """

    q0: FloatArray
    q1: FloatArray
    p: FloatArray
    end: FloatArray
    tau: FloatArray
    near: FloatArray
    far: FloatArray
    dx: FloatArray
    moved: FloatArray
    R0: FloatArray
    R1: FloatArray
    x0: FloatArray
    x1: FloatArray
    S0: FloatArray
    S1: FloatArray
    W: FloatArray
    wait: FloatArray


GEAR = np.dtype([("dof", "i8"), ("gear", "f8")], align=True)
"""One control of a batch."""


def narrowed(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """A record type with numbers of 32 bits in place of those of 64."""
    fields = []
    for name in dtype.names or ():
        kind = dtype[name]
        fields.append((name, "f4" if kind.base == np.dtype("f8") else kind.base, kind.shape))
    return np.dtype(fields, align=True)


def lane_model(mechanism: Mechanism, dtype: Any) -> LaneModel:
    """The arrays of a mechanism, with numbers of `dtype`."""
    from leastaction.forces.drives import compiled

    tree, single = mechanism.tree, np.dtype(dtype) == np.float32
    parents = tree.nodes.parent
    branching = sorted({int(p) for i, p in enumerate(parents) if p >= 0 and p != i - 1})
    slots = np.full(len(parents), -1)
    slots[branching] = np.arange(len(branching))
    drives = np.zeros(mechanism.nu, GEAR)
    given = compiled(mechanism, tree.frames)
    drives["dof"], drives["gear"] = given.dof, given.gear

    def as_records(values: Any, kind: np.dtype[Any]) -> Any:
        kind = narrowed(kind) if single else kind
        out = np.zeros(len(values), kind)
        for name in kind.names or ():
            out[name] = values[name]
        return out.view(np.recarray)

    return LaneModel(
        nodes=as_records(tree.nodes, NODE),
        dofs=as_records(tree.dofs, DOF),
        slots=slots,
        drives=as_records(drives, GEAR),
        gravity=np.asarray(tree.gravity, dtype),
        branches=len(branching),
    )


def lane_shapes(model: LaneModel, nq: int) -> Any:
    """Shapes of the arrays of one robot, as a `Lane`."""
    n, nv = len(model.nodes), len(model.dofs)
    shapes: dict[str, Any] = dict.fromkeys(("p", "end", "tau", "near", "far", "dx", "moved"), (nv,))
    shapes |= dict.fromkeys(("q0", "q1"), (nq,)) | dict.fromkeys(("R0", "R1"), (n, 9))
    shapes |= dict.fromkeys(("x0", "x1"), (n, 3)) | dict.fromkeys(("S0", "S1"), (nv, 6))
    shapes |= {"W": (nv, 8), "wait": (max(1, model.branches), 48)}
    return Lane(**shapes)
