"""What the kernels of lanes read and write, by name."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction.mechanism import Mechanism, Plane
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
        contacts: `CONTACT` records, or None where contacts do not act.
    """

    nodes: Any
    dofs: Any
    slots: NDArray[np.int64]
    drives: Any
    gravity: FloatArray
    branches: int
    contacts: Any = None


class Touch(NamedTuple):
    """Scratch of the contacts of one robot; n of them.

    Attributes:
        active: whether a contact takes part in the step, shape (n,).
        lam: impulses along normal and tangents [N s], shape (3 n,).
        w: gaps and sliding after the update [m], shape (3 n,).
        W: their derivatives by the impulses, shape (3 n, 3 n).
        columns, rows: of unit impulses and of gaps and sliding, eliminated, shape (3 n, nv).
        col: columns of the factor, shape (nv, 6).
        kick: what the impulses do along the joints, shape (nv,).
        first: the same at the start of the whole step, where it is divided, shape (nv,).
    """

    active: NDArray[np.int64]
    lam: FloatArray
    w: FloatArray
    W: FloatArray
    columns: FloatArray
    rows: FloatArray
    col: FloatArray
    kick: FloatArray
    first: FloatArray


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
        touch: `Touch`, or None where contacts do not act.
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
    touch: Any = None


GEAR = np.dtype([("dof", "i8"), ("gear", "f8")], align=True)
"""One control of a batch."""


CONTACT = np.dtype(
    [
        ("node", "i8"),
        ("arm", "f8", 3),  # of the ball's centre from the node's centre of mass, in the node's frame
        ("radius", "f8"),
        ("friction", "f8"),
        ("offset", "f8"),  # of the plane along its normal, with the radius
        ("normal", "f8", 3),
        ("first", "f8", 3),  # tangents
        ("second", "f8", 3),
    ],
    align=True,
)
"""A ball on a body over a plane."""


def narrowed(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """A record type with numbers of 32 bits in place of those of 64."""
    fields = []
    for name in dtype.names or ():
        kind = dtype[name]
        fields.append((name, "f4" if kind.base == np.dtype("f8") else kind.base, kind.shape))
    return np.dtype(fields, align=True)


def contact_records(mechanism: Mechanism) -> Any:
    """`CONTACT` records of a mechanism: each contact point over each plane of the ground."""
    planes = [shape for shape in mechanism.ground if shape.collision and isinstance(shape, Plane)]
    tree, pairs = mechanism.tree, [(c, plane) for c in mechanism.contacts for plane in planes]
    out = np.zeros(len(pairs), CONTACT).view(np.recarray)
    for record, (c, plane) in zip(out, pairs, strict=True):
        node, pose = tree.frames[c.body]
        record.node = node
        record.arm = pose.position + pose.rotation @ np.array(c.point) - tree.nodes[node].com
        frame = np.array(plane.pose.rotation)
        record.first, record.second, record.normal = frame.T
        record.radius = c.radius
        record.offset = record.normal @ np.array(plane.pose.position) + c.radius
        record.friction = max(c.friction, plane.friction or 0.0)
    return out[out.node >= 0]


def lane_model(mechanism: Mechanism, dtype: Any, touching: bool = False) -> LaneModel:
    """The arrays of a mechanism, with numbers of `dtype`, and with its contacts where they act (`touching`)."""
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
        contacts=as_records(contact_records(mechanism), CONTACT) if touching else None,
    )


def lane_shapes(model: LaneModel, nq: int) -> Any:
    """Shapes of the arrays of one robot, as a `Lane`."""
    n, nv = len(model.nodes), len(model.dofs)
    shapes: dict[str, Any] = dict.fromkeys(("p", "end", "tau", "near", "far", "dx", "moved"), (nv,))
    shapes |= dict.fromkeys(("q0", "q1"), (nq,)) | dict.fromkeys(("R0", "R1"), (n, 9))
    shapes |= dict.fromkeys(("x0", "x1"), (n, 3)) | dict.fromkeys(("S0", "S1"), (nv, 6))
    shapes |= {"W": (nv, 8), "wait": (max(1, model.branches), 48)}
    if model.contacts is not None:
        count, three = len(model.contacts), 3 * len(model.contacts)
        touch = Touch((count,), (three,), (three,), (three, three), (three, nv), (three, nv), (nv, 6), (nv,), (nv,))
        shapes["touch"] = touch
    return Lane(**shapes)


def lane_arrays(model: LaneModel, nq: int) -> Lane:
    """The arrays of one robot, of 64 bits."""
    shapes = lane_shapes(model, nq)
    touch = shapes.touch and Touch(np.zeros(shapes.touch.active, np.int64), *map(np.zeros, shapes.touch[1:]))
    return Lane(*map(np.zeros, shapes[:-1]), touch)
