"""The arrays of `Maximal` by name: those that kernels read (model, settings) and those that they write (data).

A kernel is f(model, settings, data, …), with the arrays of contacts after those of the bodies. One compiled model
serves any number of robots at once; data belong to one robot and may be copied.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction._jit import inline, routine
from leastaction.contact.clearance import clearance_arrays
from leastaction.contact.laws.cones import CONE, CONES, KEPT
from leastaction.contact.records import CONTACT
from leastaction.contact.solver.arrays import ConeProblem, cone_problem, named_problem
from leastaction.contact.solver.cone_kinds import PLAIN, TURNING
from leastaction.forces.arrays import ForceModel, ForceModes, force_modes, named_forces, named_modes
from leastaction.linalg.graph.arrays import GraphFactors, GraphPlan, like
from leastaction.maximal.maximal_records import (
    BODY_STATE,
    CONTACT_STATE,
    COORDINATE_STATE,
    FRAME,
    PATH_STATE,
    POINT_STATE,
    ROW_STATE,
    STEP_HISTORY,
    VALUE,
    records,
)
from leastaction.step_control.substeps import ENDS

SIZES = {VALUE: 2, FRAME: 18}
"""Number of values of a prescribed motion in `MaximalData.goals`."""

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class MaximalModel(NamedTuple):
    """A mechanism as the kernels read it.

    Attributes:
        bodies: `BODY` records of the moving bodies.
        rows: `JOINT_ROW` records, grouped by node.
        coordinates: `COORDINATE` records.
        coefficients: polynomials of the couplings.
        sizes: number of rows of each node.
        goals: `GOAL` records of prescribed motions.
        augment: factors by which the equations of a node are added to those of its bodies a and b where these have no
            inertia, shape (nodes, 2).
        gravity: [m/s^2], shape (3,).
        paths: `PATH` records of the springs and cables, see `path_springs`; their points are those of `forces`, which
            has no paths of its own. None: their code is not compiled, see `kernel_variants`.
        tied: edges of the graph between the points of each path, one for each pair of its points.
        tied_first: index of the first of these for each path.
        springs: `DOF` records of the joints with their springs, which are zero in `forces`: see `joint_spring_momenta`.
        sprung: `SPRUNG` records of tendons and soft limits, see `tendon_springs`; None as for paths.
        sprung_bodies: the moving bodies of each such length.
        sprung_edges: edges of the graph between these, one for each pair of a length.
        strings: `ITEM` records of these lengths.
        resisting_edges: edges of the graph between the n bodies that `resisting` acts on, -1 where there is none, shape
            (n, n). Each further row is a set of bodies, no two of which act on the same one: which member acts on each.
        resisting: forces that depend on velocities, see `body_damping`; None as for paths.
        forces: force model.
        graph: of the Newton matrix: bodies first, then groups of rows.
    """

    bodies: Any
    rows: Any
    coordinates: Any
    coefficients: Floats
    sizes: Integers
    goals: Any
    augment: Floats
    gravity: Floats
    paths: Any
    tied: Integers
    tied_first: Integers
    springs: Any
    sprung: Any
    sprung_bodies: Integers
    sprung_edges: Integers
    strings: Any
    resisting_edges: Integers
    resisting: ForceModel | None
    forces: ForceModel
    graph: GraphPlan


class MaximalSettings(NamedTuple):
    """Settings chosen by the user or derived from the mechanism and dt.

    Attributes:
        dt: length of a step [s].
        halves: share of the forces' impulses at the start of a step: 1 for order 1, 1/2 else.
        loops: whether there are closed loops; None: their code is not compiled.
        tolerance: bound on the last Newton update [m/s].
        max_iterations: Newton iterations of a step, or of each of its substeps.
        max_work: Newton iterations of a step in all its substeps and attempts.
        kappa: final central-path parameter [J].
        directions: number of directions of the linearised friction cone, 0 for the exact one.
        smoothing: central-path parameter [J] of smoothed contact, 0 for rigid contact.
        response_smoothing: the same for derivatives of rigid contact alone.
        warm_start: whether contacts may start from the impulses of the step before.
        gravity: magnitude of gravity [m/s^2], or 1 without gravity.
        carried: largest mass attached to a body by joints, relative to its own.
        whole: length of the step that a substep belongs to [s].
        compliance, angular_compliance: of contacts, limits and dry friction [m/N], and of those that are torques
            [rad/(N m)].
        balanced: whether substeps must keep the energy balance, see `energy_terms.keeps_balance`.
        floating: whether no joint connects a body to the world.
        rounds: number of repeated solves with missed contacts after which a solution is accepted as it is, for
            derivatives; `LAST_ROUND` for the one that misses none.
    """

    dt: float
    halves: float
    loops: bool | None
    tolerance: float
    max_iterations: int
    max_work: int
    kappa: float
    directions: int
    smoothing: float
    response_smoothing: float
    warm_start: bool
    gravity: float
    carried: float
    whole: float
    compliance: float
    angular_compliance: float
    balanced: bool
    floating: bool
    rounds: int


class PartStart(NamedTuple):
    """State at the start of a substep that its end overwrites, for the rollback of rejected substeps.

    Attributes:
        bodies, rows, coordinates, paths, points, lengths, stretches, strings, minus, past: as in `MaximalData`.
        kicks: impulses of springs at the end of the substep before, shape (bodies, 6).
        goals: prescribed motions at the start, shape (numbers,).
        q: joint positions, shape (nq,).
    """

    bodies: Any
    rows: Any
    coordinates: Any
    paths: Any
    points: Any
    lengths: Floats
    stretches: Floats
    strings: Any
    minus: Floats
    past: Any
    kicks: Floats
    goals: Floats
    q: Floats


class MaximalData(NamedTuple):
    """State and scratch of one robot.

    Attributes:
        bodies, rows, coordinates: `BODY_STATE`, `ROW_STATE` and `COORDINATE_STATE` records.
        paths, points: `PATH_STATE` and `POINT_STATE` records of springs and cables, with room for all of them, so that
            variants of the robot with more of them fit (`derivatives.parameter_gradients`).
        kicks: impulses of springs on the bodies at the start of the present step, and at the end of the one
            before, shape (2, bodies, 6).
        stretched: sum over springs of their impulse at the start of the step times their displacement in it, shape
            (1,): see `energy_terms.end_work`.
        lengths: of tendons and soft limits, shape (lengths, 3), and stretches: of their items, shape (items, 7): see
            `tendon_springs`; there is room for those of all variants of the robot.
        strings: their items, with full turns of angles.
        past: one `STEP_HISTORY` record.
        start_past, start_guess: `past`, and velocities and slopes (bodies, 12), when the present step began: a bisected
            step that stops halfway is restarted from these.
        minus: momenta without the impulses of forces at the end of a step, shape (bodies, 6).
        subtrees: momenta of subtrees, scratch, shape (bodies, 6).
        external, tau: wrenches on bodies (bodies, 6) and joint forces (nv,); still: joint velocities, all zero.
        T, dV, dF: displacements and twist changes of bodies, and changes of wrenches, scratch, shape (bodies, 6).
        fixed, dx: right-hand side and solution, in the order of the graph.
        left_out: 1 for redundant unknowns, 0 else; same order.
        motion_a, motion_b: rows of a cone's block, scratch, shape (6,) each.
        goals: prescribed motions at the start and end of the present step, shape (2, numbers): of a VALUE it and its
            rate; of a FRAME rotation, position, and twist (angular in the body frame, linear).
        history: size of the Newton updates of the present step [m/s].
        ends: fractions of the step at which its substeps are to end, the next one last, see `substeps`.
        start: state for the rollback of the present substep, see `acceptance.checkpoint`.
        modes: state of one-sided forces.
        factors: Newton matrix and its factors.
        held: matrix of the second phase of a step and its factors, see `step.velocity_equations`.
    """

    bodies: Any
    rows: Any
    coordinates: Any
    paths: Any
    points: Any
    kicks: Floats
    stretched: Floats
    lengths: Floats
    stretches: Floats
    strings: Any
    past: Any
    start_past: Any
    start_guess: Floats
    minus: Floats
    subtrees: Floats
    external: Floats
    tau: Floats
    still: Floats
    T: Floats
    dV: Floats
    dF: Floats
    fixed: Floats
    dx: Floats
    left_out: Floats
    motion_a: Floats
    motion_b: Floats
    goals: Floats
    history: Floats
    ends: Floats
    start: PartStart
    modes: ForceModes
    factors: GraphFactors
    held: GraphFactors


class ContactModel(NamedTuple):
    """Near pairs of shapes, for contact detection in the next steps.

    Attributes:
        shapes: `SHAPE` records.
        table: heights and vertices of shapes [m].
        pairs: `PAIR` records of shapes that are near each other.
        edges: edge of the graph between the bodies of each pair, -1 with the world, LOOSE where there is none.
        reach: radius about the COM of each body that contains its shapes [m].
        skin: distance that bodies may move until the list of the mid phase is rebuilt [m], see `contact.mid_phase`.
        anchors: position, velocity, angular speed and reach of each body at the broad phase, shape (bodies, 8); no rows
            where `pairs` contains all pairs.
        most: distance that a body may move until the broad phase is repeated [m].
        features: whether edges, faces or bumpy ground may touch (`ContactTable.is_smooth`); None where they cannot, so
            that their code is not compiled, or false.
        convex: whether cylinders, meshes and ellipsoids may touch more than planes and height fields; None likewise.
        turning: whether torsional or rolling friction may act; None likewise.
    """

    shapes: Any
    table: Floats
    pairs: Any
    edges: Integers
    reach: Floats
    skin: float
    anchors: Floats
    most: float
    features: bool | None
    convex: bool | None
    turning: bool | None


class ContactData(NamedTuple):
    """The contacts of one robot.

    Attributes:
        now: one `CONTACT_STATE` record.
        cones: `CONE` records of contacts, limits and dry friction in the present step.
        contacts: `CONTACT` records that cones refer to.
        speeds: bound on the speed of each body [m/s], scratch.
        listed: indices of the near pairs in the mid phase; places: poses of the bodies when these were chosen.
        least, axes, poses, ways, ends: lower bounds on the distances of near pairs, see `contact.clearance`.
        touched: marks of near pairs that had a contact since the graph was made, see `contact.contact_setup`.
        keys, impulses: of the cones of the step before: their keys, and their impulses along n, t1, t2.
        saved: their blocks of a Newton matrix that is reused (`KEPT` records).
        second: blocks of a reused matrix of the second phase.
        first: cones of the first phase on the central path, while the second is solved: for smoothed contact and
            linearised cones.
        start_keys, start_impulses: keys and impulses when the present step began, `now.start` of them: a bisected step
            that stops halfway is restarted from these.
        log: forces of contacts: step, two bodies, point, force, gap; written: number of rows in it.
        problem: scratch of the contact problem over a dense matrix, see `step.solver.delassus_newton`.
    """

    now: Any
    cones: Any
    contacts: Any
    speeds: Floats
    listed: Integers
    places: Floats
    least: Floats
    axes: Floats
    poses: Floats
    ways: Floats
    ends: Floats
    touched: Integers
    keys: Integers
    impulses: Floats
    saved: Any
    second: Any
    first: Any
    start_keys: Integers
    start_impulses: Floats
    log: Floats
    written: Integers
    problem: ConeProblem


class MaximalRecord(NamedTuple):
    """Results of a run, one row per time: row 0 is the start.

    Attributes:
        rigid_poses, momenta: of the bodies, shapes (rows, bodies, 7) and (rows, bodies, 6).
        velocities: of the bodies in the step, or last substep, that ends there, shape (rows, bodies, 6).
        q, p: joint positions and momenta.
        iterations: Newton iterations of the step that ends there.
        violation: largest one of a joint equation [m or rad].
        multipliers: joint forces.
        substeps: ends of the substeps of each step of the composition, see `substeps`.
        goals: prescribed motions: for a VALUE itself and its rate; for a FRAME pose (7) and twist (6).
        work: work of prescribed motions up to there [J].
    """

    rigid_poses: Floats
    momenta: Floats
    velocities: Floats
    q: Floats
    p: Floats
    iterations: Integers
    violation: Floats
    multipliers: Floats
    substeps: Floats
    goals: Floats
    work: Floats


def plain(arrays: Any) -> Any:
    """Named tuples as plain ones, which are faster to pass to a compiled entry point; it restores the names."""
    return tuple(plain(x) for x in arrays) if isinstance(arrays, tuple) else arrays


@inline
def named_model(model):
    """`MaximalModel` from its plain tuple."""
    return MaximalModel(*(model[:-3] + (_named_resisting(model[-3]), named_forces(model[-2]), GraphPlan(*model[-1]))))


@routine
def _named_resisting(resisting):
    if resisting is None:
        return None
    return named_forces(resisting)


@inline
def named_data(data):
    """`MaximalData` from its plain tuple."""
    last = (PartStart(*data[-4]), named_modes(data[-3]), GraphFactors(*data[-2]), GraphFactors(*data[-1]))
    return MaximalData(*(data[:-4] + last))


@inline
def named_contact(contact):
    """`ContactData` from its plain tuple."""
    return ContactData(*(contact[:-1] + (named_problem(contact[-1]),)))


PROBLEM_SCRATCH = ("W", "M", "columns", "rows")
"""Matrices of `ConeProblem` that each solve writes before it reads them."""


def copied(arrays: Any) -> Any:
    """Copy of a named tuple and of its arrays: another robot in the same state."""
    if isinstance(arrays, tuple):
        return type(arrays)(*(copied(x) for x in arrays))
    return arrays.copy() if isinstance(arrays, np.ndarray) else arrays


def without_scratch(contact: ContactData) -> ContactData:
    """Copy without the log and the matrices of the contact problem, which take most memory; keeps their shapes."""
    sizes = {name: np.array(getattr(contact.problem, name).shape) for name in PROBLEM_SCRATCH}
    return contact._replace(log=np.zeros((0, 10)), problem=contact.problem._replace(**sizes))


def with_scratch(contact: ContactData, log: Floats) -> ContactData:
    """Restore a result of `without_scratch`, with new arrays and this log."""
    own: ContactData = copied(contact)
    matrices = {name: np.zeros(tuple(getattr(own.problem, name))) for name in PROBLEM_SCRATCH}
    return own._replace(log=log, problem=own.problem._replace(**matrices))


def maximal_data(model: MaximalModel, factors: GraphFactors, max_iterations: int) -> MaximalData:
    """State and scratch of one robot, all zero."""
    n, nv, size = len(model.bodies), len(model.forces.dofs), int(model.graph.first[-1])
    goals = sum(SIZES[int(kind)] for kind in model.goals.kind)
    own: dict[str, Any] = {
        "bodies": records(n, BODY_STATE),
        "rows": records(len(model.rows), ROW_STATE),
        "coordinates": records(len(model.coordinates), COORDINATE_STATE),
        "paths": records(len(model.forces.points), PATH_STATE),
        "points": records(len(model.forces.points), POINT_STATE),
        "lengths": np.zeros((nv + len(model.forces.tendons), 3)),
        "stretches": np.zeros((nv + len(model.forces.items), 7)),
        "strings": model.strings.copy(),
        "minus": np.zeros((n, 6)),
        "past": records(1, STEP_HISTORY),
    }
    kept = {name: values.copy() for name, values in own.items()}
    return MaximalData(
        **own,
        kicks=np.zeros((2, n, 6)),
        stretched=np.zeros(1),
        start_past=records(1, STEP_HISTORY),
        start_guess=np.zeros((n, 12)),
        subtrees=np.zeros((n, 6)),
        external=np.zeros((n, 6)),
        tau=np.zeros(nv),
        still=np.zeros(nv),
        T=np.zeros((n, 6)),
        dV=np.zeros((n, 6)),
        dF=np.zeros((n, 6)),
        fixed=np.zeros(size),
        dx=np.zeros(size),
        left_out=np.zeros(size),
        motion_a=np.zeros(6),
        motion_b=np.zeros(6),
        goals=np.zeros((2, goals)),
        history=np.zeros(max_iterations),
        ends=np.zeros(ENDS),
        start=PartStart(**kept, kicks=np.zeros((n, 6)), goals=np.zeros(goals), q=np.zeros(len(model.forces.rest))),
        modes=force_modes(model.forces),
        factors=factors,
        held=like(factors),
    )


def on_graph(data: MaximalData, factors: GraphFactors) -> MaximalData:
    """The data with the Newton matrix of another graph."""
    size = len(factors.scale)
    held = like(factors)
    fixed, dx, left_out = np.zeros((3, size))
    return data._replace(factors=factors, held=held, fixed=fixed, dx=dx, left_out=left_out)


def contact_data(
    trees: Integers, pairs: int, contacts: int, coordinates: int, logged: int, size: int, turning: bool | None = None
) -> ContactData:
    """Allocate arrays for so many near pairs, contacts and rows of the log, and for three cones of each coordinate.

    Args:
        trees: connected group of each body, see `BODY.group`, shape (bodies,).
        size: unknowns of the Newton matrix.
        turning: see `ContactModel`; where set, each contact may have three cones, too.
    """
    bodies, own = len(trees), 3 * coordinates
    cones = (CONES if turning else 1) * contacts + own
    now = records(1, CONTACT_STATE)
    now.listed = -1
    return ContactData(
        now=now,
        cones=records(cones, CONE),
        contacts=records(contacts, CONTACT),
        speeds=np.zeros(bodies),
        listed=np.zeros(pairs, np.int64),
        places=np.zeros((bodies, 12)),
        **clearance_arrays(pairs, bodies)._asdict(),
        touched=np.zeros(pairs, np.int64),
        keys=np.zeros(cones, np.int64),
        impulses=np.zeros((cones, 3)),
        saved=records(cones, KEPT),
        second=records(cones, KEPT),
        first=records(cones, CONE),
        start_keys=np.zeros(cones, np.int64),
        start_impulses=np.zeros((cones, 3)),
        log=np.zeros((logged, 10)),
        written=np.zeros(1, np.int64),
        problem=cone_problem(trees, contacts + own, (TURNING if turning else PLAIN) * contacts + own, size, turning),
    )
