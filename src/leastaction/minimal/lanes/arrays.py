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
        cones: `LANE_CONE` records, or None where contacts, limits and dry friction do not act.
        soft: whether joints may have springs, dampers, armatures or servos; None where not, so that nothing about them
            is compiled.
        limited: whether controls may have limits; likewise.
        driven: whether there are controls that are not zero; likewise.
        branched: whether some body is not carried by the one before it; likewise.
        turning: whether joints may have several axes, as balls have; likewise.
    """

    nodes: Any
    dofs: Any
    slots: NDArray[np.int64]
    drives: Any
    gravity: FloatArray
    branches: int
    cones: Any = None
    soft: bool | None = True
    limited: bool | None = True
    driven: bool | None = True
    branched: bool | None = True
    turning: bool | None = True


class Touch(NamedTuple):
    """Scratch of the cones of one robot, with m impulses in all.

    Attributes:
        active: whether a cone takes part in the step, shape (cones,).
        side: 1 at a lower limit, -1 at an upper one, shape (cones,).
        soft: by how much a contact creeps for each unit of friction [m / (N s)], shape (cones,).
        least: gap that a cone must have at the end of the step [m or rad], shape (cones,).
        lam: impulses [N s or N m s], along normal and tangents of contacts, shape (m,).
        w: gaps (less `least`) and sliding after the update [m or rad], shape (m,).
        W: their derivatives by the impulses, shape (m, m).
        columns, rows: of unit impulses and of gaps and sliding, eliminated, shape (m, nv).
        col: columns of the factor, shape (nv, 6).
        kick: what the impulses do along the joints, shape (nv,).
        first: the same at the start of the whole step, where it is divided, shape (nv,).
        total: impulses of the whole step, shape (m,).
        before: length of the step before [s], 0 at the start of a run: impulses at a time are those of half of the step
            before it and half of the one after, shape (1,).
        M, b, which: Newton's equations for the impulses, shapes (m, m) and (m, 1), and which impulses they are, (m,).
    """

    active: NDArray[np.int64]
    side: FloatArray
    soft: FloatArray
    least: FloatArray
    lam: FloatArray
    w: FloatArray
    W: FloatArray
    columns: FloatArray
    rows: FloatArray
    col: FloatArray
    kick: FloatArray
    first: FloatArray
    total: FloatArray
    before: FloatArray
    M: FloatArray
    b: FloatArray
    which: NDArray[np.int64]


class Lane(NamedTuple):
    """State and scratch of one robot.

    Attributes:
        q0, q1: joint positions at the start and the end of a step, shape (nq,).
        p, end: momenta at the start and the end of a step, shape (nv,).
        tau: generalised forces of the controls, shape (nv,).
        u: the controls, shape (nu,).
        near, far: mean velocities of the last step and the one before, shape (nv,).
        dx: update, shape (nv,).
        moved: sum of the updates, shape (nv,).
        R: rotations of the bodies at the start and the end of the step, shape (2, bodies, 9); which is which, `now`
            tells, so that nothing is copied from step to step.
        x: their centres of mass [m], shape (2, bodies, 3).
        S: world twists of unit joint velocities, shape (2, nv, 6).
        W: for each degree of freedom its row, pivot and right-hand side, shape (nv, 8).
        wait: what waits at branches, shape (slots, 48).
        now: which of R, x, S is of the start of the step, shape (1,).
        touch: `Touch`, or None where contacts do not act.
    """

    q0: FloatArray
    q1: FloatArray
    p: FloatArray
    end: FloatArray
    tau: FloatArray
    u: FloatArray
    near: FloatArray
    far: FloatArray
    dx: FloatArray
    moved: FloatArray
    R: FloatArray
    x: FloatArray
    S: FloatArray
    W: FloatArray
    wait: FloatArray
    now: NDArray[np.int64]
    touch: Any = None


class BatchSettings(NamedTuple):
    """What the user chose.

    Attributes:
        dt: time step [s].
        tolerance: of the Newton updates [rad or m].
        floor: updates below this that no longer shrink the residual are round-off [rad or m].
        max_iterations: before a step is divided.
        steps: how many.
        every: how many of them from one recorded state to the next.
        keeps: whether runs go on from where the last ones ended, and are kept for the next.
    """

    dt: float
    tolerance: float
    floor: float
    max_iterations: int
    steps: int
    every: int
    keeps: bool


class GroundRecord(NamedTuple):
    """Rows that a run of one robot writes, and what goes on from step to step.

    Attributes:
        q: joint positions, shape (steps + 1, nq).
        p: momenta with half of the impulses at their time, shape (steps + 1, nv).
        before: momenta without, shape (steps + 1, nv).
        impulses: of the cones in the step before, shape (steps + 1, m).
        places: where the balls of the contacts are [m], and their gaps, shape (steps + 1, contacts, 4).
        iterations: of the step before, shape (steps + 1,).
        divided: its parts, 0 where it was not divided, shape (steps + 1,).
        memory: parts of the last step, shape (1,).
    """

    q: FloatArray
    p: FloatArray
    before: FloatArray
    impulses: FloatArray
    places: FloatArray
    iterations: NDArray[np.int64]
    divided: NDArray[np.int64]
    memory: NDArray[np.int64]


GEAR = np.dtype([("dof", "i8"), ("gear", "f8"), ("lower", "f8"), ("upper", "f8")], align=True)
"""One control of a batch, with its limits."""


LANE_CONE = np.dtype(
    [
        ("kind", "i8"),  # `CONTACT`, `LIMIT` or `DRY`
        ("row", "i8"),  # of its first impulse; a contact has three, others one
        ("node", "i8"),
        ("dof", "i8"),  # of a limit or dry friction
        ("iq", "i8"),
        ("lower", "f8"),  # limits [rad or m]
        ("upper", "f8"),
        ("arm", "f8", 3),  # of the ball's centre from the node's centre of mass, in the node's frame [m]
        ("radius", "f8"),
        ("friction", "f8"),  # coefficient, or force of dry friction [N m or N]
        ("offset", "f8"),  # of the plane along its normal, with the radius [m]
        ("normal", "f8", 3),
        ("first", "f8", 3),  # tangents
        ("second", "f8", 3),
        ("shape", "i8"),  # which of the shapes of `contact.shapes.collect`
    ],
    align=True,
)
"""What gives one-sided impulses: a ball on a body over a plane, the limits of a joint, its dry friction."""

CONTACT, LIMIT, DRY = range(3)


def narrowed(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """A record type with numbers of 32 bits in place of those of 64."""
    fields = []
    for name in dtype.names or ():
        kind = dtype[name]
        fields.append((name, "f4" if kind.base == np.dtype("f8") else kind.base, kind.shape))
    return np.dtype(fields, align=True)


def lane_model(mechanism: Mechanism, dtype: Any, cones: Any = None) -> LaneModel:
    """The arrays of a mechanism, with numbers of `dtype`, and with `LANE_CONE` records where these act."""
    from leastaction.forces.drives import compiled

    tree, single = mechanism.tree, np.dtype(dtype) == np.float32
    parents = tree.nodes.parent
    branching = sorted({int(p) for i, p in enumerate(parents) if p >= 0 and p != i - 1})
    slots = np.full(len(parents), -1)
    slots[branching] = np.arange(len(branching))
    drives = np.zeros(mechanism.nu, GEAR)
    given = compiled(mechanism, tree.frames)
    drives["dof"], drives["gear"], drives["lower"], drives["upper"] = given.dof, given.gear, -np.inf, np.inf
    for drive, actuator in zip(drives, mechanism.actuators, strict=False):
        drive["lower"], drive["upper"] = actuator.lower, actuator.upper

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
        cones=None if cones is None else as_records(cones, LANE_CONE),
    )


def pruned(model: LaneModel, driven: bool) -> LaneModel:
    """The same mechanism, whose kernels are compiled without what it does not have, or without controls."""
    drives, dofs = model.drives, model.dofs
    soft = any(dofs[name].any() for name in ("stiffness", "damping", "armature", "servo"))
    limited = np.isfinite(drives.lower).any() or np.isfinite(drives.upper).any()
    parents = model.nodes.parent
    there = {
        "soft": soft,
        "limited": limited,
        "driven": driven,
        "branched": (parents != np.arange(len(parents)) - 1).any(),
        "turning": (model.nodes.nv != 1).any(),
    }
    return model._replace(**{name: True if has else None for name, has in there.items()})


def lane_shapes(model: LaneModel, nq: int) -> Any:
    """Shapes of the arrays of one robot, as a `Lane`."""
    n, nv = len(model.nodes), len(model.dofs)
    shapes: dict[str, Any] = dict.fromkeys(("p", "end", "tau", "near", "far", "dx", "moved"), (nv,))
    shapes |= dict.fromkeys(("q0", "q1"), (nq,)) | {"R": (2, n, 9), "x": (2, n, 3), "S": (2, nv, 6)}
    shapes |= {"u": (max(1, len(model.drives)),), "W": (nv, 8), "wait": (max(1, model.branches), 48), "now": (1,)}
    if model.cones is not None:
        count = len(model.cones)
        m = 2 * int((model.cones.kind == CONTACT).sum()) + count
        own: dict[str, Any] = dict.fromkeys(("active", "side", "soft", "least"), (count,))
        own |= dict.fromkeys(("lam", "w", "total", "which"), (m,)) | dict.fromkeys(("W", "M"), (m, m))
        own |= dict.fromkeys(("columns", "rows"), (m, nv)) | dict.fromkeys(("kick", "first"), (nv,))
        shapes["touch"] = Touch(**own | {"col": (nv, 6), "before": (1,), "b": (m, 1)})
    return Lane(**shapes)


def memory_size(shapes: Any) -> int:
    """Numbers that `memory.keep` keeps of one robot with arrays of these shapes.

    Steps done and parts of the last one; q, p, and the rates of the last two steps; with contacts the length of the
    last part, the impulses along the joints and those at the start of the step, and the impulses.
    """
    size = 2 + shapes.q0[0] + 3 * shapes.p[0]
    return size if shapes.touch is None else size + 1 + 2 * shapes.p[0] + shapes.touch.lam[0]


def lane_arrays(model: LaneModel, nq: int) -> Lane:
    """The arrays of one robot, of 64 bits."""
    *shapes, touch = lane_shapes(model, nq)
    own: dict[str, Any] = dict(zip(Lane._fields, map(np.zeros, shapes), strict=False))
    own["now"] = np.zeros(1, np.int64)
    if touch is not None:
        kinds = {"active": np.int64, "which": np.int64}
        arrays: dict[str, Any] = {
            name: np.zeros(shape, kinds.get(name, np.float64)) for name, shape in touch._asdict().items()
        }
        own["touch"] = Touch(**arrays)
    return Lane(**own)
