"""Named tuples of the arrays of the kernels of `Minimal` and of batches."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction.contact.clearance import Clearance, clearance_arrays
from leastaction.contact.records import CONTACT as CONTACT_RECORD
from leastaction.contact.records import records
from leastaction.contact.solver.cone_kinds import DRY, PLAIN, TURNING
from leastaction.contact.solver.island_arrays import Islands, island_arrays
from leastaction.dynamics.mobility import mobility_at_home
from leastaction.mechanism import Mechanism
from leastaction.mechanism.tree import NODE
from leastaction.minimal.contact.forces.control_wrenches import GEAR, gears
from leastaction.minimal.contact.forces.spring_arrays import equations, pull_arrays, pulling
from leastaction.minimal.contact.robot_records import BALANCE, FOUND, GIVEN, NEVER, ROBOT_CONE, ROBOT_DOF, narrowed
from leastaction.minimal.contact.scratch_arrays import (
    LockedJoints,
    between_arrays,
    impact_arrays,
    locked_joint_arrays,
    momentum_arrays,
)

FloatArray = NDArray[np.floating]

LOGGED = 64
"""Rows of the contact log per contact of capacity."""


class RobotModel(NamedTuple):
    """Constant data of a mechanism for the kernels of one robot.

    Attributes:
        nodes: `tree.NODE` records, called bodies here, depth first.
        dofs: `ROBOT_DOF` records.
        slots: index in `branch_sums` for each body with several children, or whose child is not the next body,
            where the blocks of its children are summed; -1 for others, shape (bodies,).
        drives: `GEAR` records of the controls, then of constant wrenches.
        gravity: [m/s^2], shape (3,).
        branches: number of slots.
        cones: `ROBOT_CONE` records, or None without contacts, limits and dry friction.
        soft: whether joints may have springs, dampers, armatures or servos; None excludes these from compilation.
        limited: whether controls may have limits; likewise.
        driven: whether there are controls that are not zero; likewise.
        branched: whether some body is not the child of the one before it; likewise.
        turning: whether joints may have several axes, such as ball joints; likewise.
        pushed: index of the first drive that acts on a body, or their number; None where there is none, likewise.
        shapes: `RobotShapes`, or None where bodies touch planes alone.
        forces: `ForceModel` of springs, cables and tendons; None where there are neither these nor loops.
        closure: `ClosureModel` of loops and couplings; None where `forces` is.
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
    pushed: int | None = None
    shapes: Any = None
    forces: Any = None
    closure: Any = None


class RobotShapes(NamedTuple):
    """Constant data for contact detection, for pairs other than spheres over planes.

    Attributes:
        shapes: `SHAPE` records, in frames at the bodies' centres of mass.
        pairs: `PAIR` records of those that may touch.
        table: heights and vertices of shapes [m].
        masses: for the compliance of each pair [kg], shape (pairs,).
        softness: compliance [m/N], 0 where rigid, and relaxation time [s] of each pair, shape (pairs, 2).
        reach: radius about the centre of mass of each body that encloses its shapes [m], shape (bodies,).
        skin: how far bodies may move until the list of candidate pairs is rebuilt [m].
        convex: whether cylinders, meshes and ellipsoids may touch more than planes and height fields; None excludes
            this from compilation.
    """

    shapes: Any
    pairs: Any
    table: FloatArray
    masses: FloatArray
    softness: FloatArray
    reach: FloatArray
    skin: float
    convex: bool | None


class DetectedContacts(NamedTuple):
    """Contacts of one robot detected in each step, with a fixed capacity.

    Attributes:
        now: one `FOUND` record.
        cones: `ROBOT_CONE` records: those of the model, then those of the contacts.
        contacts: `CONTACT` records.
        listed: indices of the candidate pairs, shape (pairs,); places: poses of the bodies when these were
            listed, shape (bodies, 12).
        travel: displacement bound of points of each body in the first guess of a step [m], shape (bodies,).
        keys, impulses: keys and impulses of the contacts in the last step, shapes (room,), (room, 3 or 6).
        log: forces of contacts: step, two bodies, point, force, gap; shape (rows, 10).
        clearance: lower bounds of the distances of pairs.
        between: bodies at an intermediate time of the step.
        islands: contact islands.
    """

    now: Any
    cones: Any
    contacts: Any
    listed: NDArray[np.int64]
    places: FloatArray
    travel: FloatArray
    keys: NDArray[np.int64]
    impulses: FloatArray
    log: FloatArray
    clearance: Clearance
    between: Any
    islands: Islands


class Touch(NamedTuple):
    """Scratch of the constraints of one robot, with m impulses in all.

    Attributes:
        active: whether a constraint is in the active set, shape (cones,).
        side: 1 at a lower limit, -1 at an upper one; of a tie its impulse per unit of its length, shape (cones,).
        compliance: of rigid contacts [m / (N s)], shape (cones,).
        deepest: limit of the penetration of rigid contacts [m], shape (1,).
        impulse_compliance, lag, end_compliance: of compliant contacts, see `laws.soft_contact.soft_law`; zero where
            rigid, shape (cones,).
        soft: additional tangential compliance [m / (N s)], shape (cones,).
        start_gap, least: gap at the start of the step, and required gap at its end [m or rad], shape (cones,).
        lam: impulses [N s or N m s], along normal and tangents of contacts, shape (m,).
        w: gaps (less `least`) and slip after the update [m or rad], shape (m,).
        W: Delassus matrix, derivatives of w, shape (m, m): a row for each impulse.
        columns, rows: of unit impulses and of gaps and slip, eliminated, shape (m, nv).
        col: columns of the factor, shape (nv, 6).
        kick: generalised impulses of all constraints, shape (nv,).
        total: impulses of the whole step, shape (m,).
        M, b: Newton's equations for the impulses, shapes (m, m) and (m, 1); d: changes of the active ones, (m,), of
            which `unknown`, (m,), lists the unknowns.
        best: impulses to which that Newton iteration returns when it fails, shape (m,).
        which: indices of the active impulses, shape (m,).
        balance: one `BALANCE` record.
        q_start, p_start: state at the start of a step, shapes (nq,), (nv,); v: its velocities, shape (nv,).
        rolls: whether contacts may have torsional or rolling friction; None excludes this from compilation.
        joints: `LockedJoints`; None where the contact problem includes all dry friction.
        impacts: `Impacts`, or None where no contact has restitution.
        phase: `MomentumPhase`.
        found: `DetectedContacts`, or None where bodies touch planes alone.
        pulls: `Pulls`, or None where there are no springs, cables and tendons.
    """

    active: NDArray[np.int64]
    side: FloatArray
    compliance: FloatArray
    deepest: FloatArray
    impulse_compliance: FloatArray
    lag: FloatArray
    end_compliance: FloatArray
    soft: FloatArray
    start_gap: FloatArray
    least: FloatArray
    lam: FloatArray
    w: FloatArray
    W: FloatArray
    columns: FloatArray
    rows: FloatArray
    col: FloatArray
    kick: FloatArray
    total: FloatArray
    M: FloatArray
    b: FloatArray
    best: FloatArray
    which: NDArray[np.int64]
    d: FloatArray
    unknown: NDArray[np.int64]
    balance: Any
    q_start: FloatArray
    p_start: FloatArray
    v: FloatArray
    rolls: bool | None = None
    joints: LockedJoints | None = None
    impacts: Any = None
    phase: Any = None
    found: Any = None
    pulls: Any = None


class RobotData(NamedTuple):
    """State and scratch of one robot.

    Attributes:
        q0, q1: joint positions at the start and the end of a step, shape (nq,).
        p, end: momenta at the start and the end of a step, shape (nv,).
        tau: generalised forces of the controls, shape (nv,).
        u: the controls, and a 1 for each constant wrench, shape (drives,).
        v_last, v_older: mean velocities of the last step and the one before, shape (nv,).
        dx: update, shape (nv,).
        displacement: tangent vector from q0 to q1, shape (nv,).
        R: rotations of the bodies at the start and the end of the step, shape (2, bodies, 9); `now` is the index of
            the start, so that nothing is copied from step to step.
        x: their centres of mass [m], shape (2, bodies, 3), from the origin.
        S: world twists of unit joint velocities, shape (2, nv, 6).
        W: for each degree of freedom its row, pivot and right-hand side, shape (nv, 8).
        branch_sums: sums over the children at branches, shape (slots, 48).
        now: index of the start of the step in R, x, S, shape (1,).
        origin: reference point of x and S [m], shape (3,): near the robot, so that moments lose few digits; the world's
            origin where contacts act, and for robots based on joints of one axis.
        touch: `Touch`, or None without contacts.
    """

    q0: FloatArray
    q1: FloatArray
    p: FloatArray
    end: FloatArray
    tau: FloatArray
    u: FloatArray
    v_last: FloatArray
    v_older: FloatArray
    dx: FloatArray
    displacement: FloatArray
    R: FloatArray
    x: FloatArray
    S: FloatArray
    W: FloatArray
    branch_sums: FloatArray
    now: NDArray[np.int64]
    origin: FloatArray
    touch: Any = None


class BatchSettings(NamedTuple):
    """Settings of a run.

    Attributes:
        dt: time step [s].
        tolerance: of the Newton updates [rad or m].
        floor: updates below this that no longer shrink the residual are round-off [rad or m].
        max_iterations: before a step is bisected.
        steps: their number.
        every: steps from one recorded state to the next.
        keeps: whether runs continue from the ends of the last ones, and are stored for the next.
        whole: length of the steps that the user asked for [s]; `dt` may be that of a substep.
    """

    dt: float
    tolerance: float
    floor: float
    max_iterations: int
    steps: int
    every: int
    keeps: bool
    whole: float


class GroundRecord(NamedTuple):
    """Rows that a run of one robot writes, and data carried from step to step.

    Attributes:
        q: joint positions, shape (steps + 1, nq).
        p: momenta, shape (steps + 1, nv).
        impulses: of the constraints in the step before, shape (steps + 1, m).
        places: centres of the contact spheres, and their gaps [m], shape (steps + 1, contacts, 4).
        elastic: energy of soft contacts [J], shape (steps + 1, 1), or (steps + 1, 0) where all are rigid.
        iterations: of the step before, shape (steps + 1,).
        divided: its number of substeps, 0 for one, shape (steps + 1,).
        memory: number of substeps of the last step, shape (1,).
        goals: prescribed joint positions and velocities, shape (steps + 1, nq + nv); unused without.
        work: of prescribed motions since the start [J], shape (steps + 1,).
    """

    q: FloatArray
    p: FloatArray
    impulses: FloatArray
    places: FloatArray
    elastic: FloatArray
    iterations: NDArray[np.int64]
    divided: NDArray[np.int64]
    memory: NDArray[np.int64]
    goals: FloatArray
    work: FloatArray


def robot_model(mechanism: Mechanism, dtype: Any, cones: Any = None, shapes: RobotShapes | None = None) -> RobotModel:
    """The `RobotModel` of a mechanism, in the precision of `dtype`, with `ROBOT_CONE` records and shapes if given."""
    tree, single = mechanism.tree, np.dtype(dtype) == np.float32
    parents = tree.nodes.parent
    branching = sorted({int(p) for i, p in enumerate(parents) if p >= 0 and p != i - 1})
    slots = np.full(len(parents), -1)
    slots[branching] = np.arange(len(branching))
    drives, pushed = gears(mechanism)

    def as_records(values: Any, kind: np.dtype[Any]) -> Any:
        kind = narrowed(kind) if single else kind
        out = np.zeros(len(values), kind)
        for name in values.dtype.names or ():
            out[name] = values[name]
        return out.view(np.recarray)

    dofs, forces = as_records(tree.dofs, ROBOT_DOF), None if cones is None else pulling(mechanism)
    capped = cones is not None and tree.dofs.damping.any()
    dofs.holds = 1.0 / mobility_at_home(mechanism) if capped else NEVER
    if cones is not None:
        dofs.servo = dofs.stiffness  # with contacts, all springs use midpoint quadrature

    return RobotModel(
        nodes=as_records(tree.nodes, NODE),
        dofs=dofs,
        slots=slots,
        drives=as_records(drives, GEAR),
        gravity=np.asarray(tree.gravity, dtype),
        branches=len(branching),
        cones=None if cones is None else as_records(cones, ROBOT_CONE),
        pushed=pushed,
        shapes=shapes,
        forces=forces,
        closure=None if forces is None else equations(mechanism),
    )


def pruned(model: RobotModel, driven: bool) -> RobotModel:
    """The same model with None for absent features, or for controls, which excludes them from compilation."""
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


def bounces(model: RobotModel) -> bool:
    """Whether any contact has restitution."""
    pairs = model.shapes is not None and (model.shapes.pairs.restitution > 0.0).any()
    return bool(pairs or (model.cones is not None and (model.cones.restitution > 0.0).any()))


def turns(model: RobotModel) -> bool:
    """Whether any contact has torsional or rolling friction."""
    return bool((model.cones.width == TURNING).any()) or width_of(model.shapes) == TURNING


def width_of(shapes: RobotShapes | None) -> int:
    """Number of impulses allocated for each detected contact."""
    turns = shapes is not None and ((shapes.pairs.spin > 0.0) | (shapes.pairs.roll > 0.0)).any()
    return TURNING if turns else PLAIN


def robot_array_shapes(model: RobotModel, nq: int, room: int = 0) -> Any:
    """Shapes of the arrays of one robot, as a `RobotData`, with a capacity of `room` detected contacts."""
    n, nv = len(model.nodes), len(model.dofs)
    shapes: dict[str, Any] = dict.fromkeys(("p", "end", "tau", "v_last", "v_older", "dx", "displacement"), (nv,))
    shapes |= dict.fromkeys(("q0", "q1"), (nq,)) | {"R": (2, n, 9), "x": (2, n, 3), "S": (2, nv, 6)}
    shapes |= {"u": (max(1, len(model.drives)),), "W": (nv, 8), "branch_sums": (max(1, model.branches), 48)}
    shapes |= {"now": (1,), "origin": (3,)}
    if model.cones is not None:
        count = len(model.cones) + room
        m = int(model.cones.width.sum()) + width_of(model.shapes) * room
        each = (
            "active",
            "side",
            "compliance",
            "impulse_compliance",
            "lag",
            "end_compliance",
            "soft",
            "start_gap",
            "least",
        )
        own: dict[str, Any] = dict.fromkeys(each, (count,))
        own |= dict.fromkeys(("lam", "w", "total", "best", "which", "d", "unknown"), (m,)) | dict.fromkeys(
            ("W", "M"), (m, m)
        )
        own |= dict.fromkeys(("columns", "rows"), (m, nv)) | dict.fromkeys(("kick",), (nv,))
        own |= {"col": (nv, 6), "b": (m, 1), "deepest": (1,), "balance": (1,)}
        own |= {"q_start": (nq,), "p_start": (nv,), "v": (nv,)}
        shapes["touch"] = Touch(**own)
    return RobotData(**shapes)


def memory_size(shapes: Any) -> int:
    """Length of the column of `saved_state.keep` for one robot with arrays of these shapes.

    It contains steps done and substeps of the last one; q, p, and the velocities of the last two steps; with contacts
    the generalised constraint impulses, and the impulses.
    """
    size = 2 + shapes.q0[0] + 3 * shapes.p[0]
    return size if shapes.touch is None else size + shapes.p[0] + shapes.touch.lam[0]


def robot_arrays(model: RobotModel, nq: int, room: int = 0, whole: bool = False) -> RobotData:
    """The arrays of one robot, of 64 bits, with a capacity of `room` detected contacts.

    Args:
        whole: for kernels with all features, see `robot_variants`.
    """
    *shapes, touch = robot_array_shapes(model, nq, room if model.shapes is not None else 0)
    own: dict[str, Any] = dict(zip(RobotData._fields, map(np.zeros, shapes), strict=False))
    own["now"] = np.zeros(1, np.int64)
    own["u"][: len(model.drives)][model.drives.held > 0] = 1.0
    if touch is not None:
        kinds: dict[str, Any] = dict.fromkeys(("active", "which", "unknown"), np.int64)
        arrays: dict[str, Any] = {
            name: np.zeros(shape, kinds.get(name, np.float64))
            for name, shape in touch._asdict().items()
            if name not in ("balance", "rolls", "joints", "impacts", "phase", "found", "pulls")
        }
        arrays["balance"] = records(1, BALANCE)
        rolls = turns(model)
        found = None if model.shapes is None else _detected_arrays(model, nq, room)
        sizes = len(arrays["active"]), len(model.dofs), len(arrays["lam"])
        own["touch"] = Touch(
            **arrays,
            rolls=rolls if whole else (rolls or None),
            joints=locked_joint_arrays(
                len(model.dofs), len(model.nodes), model.cones.dof[is_prescribed(model.cones)], whole
            ),
            impacts=impact_arrays(*(sizes if bounces(model) else (0, 0, 0))) if bounces(model) or whole else None,
            phase=momentum_arrays(*sizes),
            found=found,
            pulls=pull_arrays(model.forces),
        )
    return RobotData(**own)


def is_prescribed(cones: Any) -> NDArray[np.bool_]:
    """Mask of the constraints that lock prescribed joints, see `locked_joints.is_prescribed`."""
    return np.asarray((cones.kind == DRY) & (cones.friction == GIVEN), bool)


def _detected_arrays(model: RobotModel, nq: int, room: int) -> DetectedContacts:
    """Empty arrays for detected contacts."""
    pairs, bodies, own = len(model.shapes.pairs), len(model.nodes), len(model.cones)
    width = width_of(model.shapes)
    m = int(model.cones.width.sum()) + width * room
    now, cones = records(1, FOUND), records(own + room, ROBOT_CONE)
    cones[:own] = model.cones
    now.listed = -1
    return DetectedContacts(
        now=now,
        cones=cones,
        contacts=records(room, CONTACT_RECORD),
        listed=np.zeros(pairs, np.int64),
        places=np.zeros((bodies, 12)),
        clearance=clearance_arrays(pairs, bodies),
        travel=np.zeros(bodies),
        keys=np.zeros(room, np.int64),
        impulses=np.zeros((room, width)),
        log=np.zeros((LOGGED * room, 10)),
        between=between_arrays(bodies, nq, len(model.dofs)),
        islands=island_arrays(model.nodes, own + room, m),
    )
