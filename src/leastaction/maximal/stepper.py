"""The stepper of `Maximal`: keeps the graph, the near pairs and the work space that the compiled loops run on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leastaction.contact.cones import CONE
from leastaction.contact.records import CONTACT
from leastaction.contact.shapes import collect
from leastaction.dynamics.legendre import velocity_of_momentum
from leastaction.dynamics.loops import check_closed, is_redundant, momentum_projection
from leastaction.errors import ConvergenceError, MechanismError
from leastaction.integrators import FloatArray, Stepper
from leastaction.kinematics.sweeps import JOINT_SCREW, LINK
from leastaction.linalg.graph.ldu import GraphLDU
from leastaction.maximal.contact.diagnosis import (
    REMEDY,
    deepest_overlap,
    spinning_without_inertia,
    warn_of_ignored_pairs,
    warn_of_overlap,
)
from leastaction.maximal.coordinates.placement import momenta_of, place
from leastaction.maximal.derivatives.linearize import OneStep, Parts, backpropagate
from leastaction.maximal.derivatives.parameters import by_parameter
from leastaction.maximal.model import Model
from leastaction.maximal.records import BALL, records
from leastaction.maximal.step import rollout as entries
from leastaction.maximal.step.assembly import COORDINATE_STATE, ROW_STATE
from leastaction.maximal.step.bodies import STATE
from leastaction.mechanism import Mechanism, Pose
from leastaction.mechanism.graph import WORLD
from leastaction.mechanism.pose_arrays import carried
from leastaction.record import Record

if TYPE_CHECKING:
    from leastaction.maximal.integrators import Maximal

LOGGED = 256
"""Steps, each with as many contacts as there is room for, whose forces one call of the compiled loop may log."""


MOST_CARRIED = 1e3
"""Bound on `carried_mass`: to start the interior point method from higher up costs an iteration for each 1e2 or so."""


MANY = 100
"""Up to so many shapes, every pair of them is looked at when the graph is laid out."""

INDEPENDENT = 1e-13
"""Share of a loop's equations that must be left beside stiff contacts for them to count as independent."""


ALL_ACT = frozenset({"contacts", "limits", "dry friction"})


class MaximalStepper(Stepper):
    """Runs `Maximal`: state (poses, momenta) of the bodies; q and p are read off them."""

    momentum = True
    can = frozenset({"linearize", "parameters"})
    carries = ("rigid_poses", "momenta", "divided")

    def __init__(self, integrator: Maximal, mechanism: Mechanism, dt: float) -> None:
        super().__init__(integrator, mechanism, dt)
        self.model = model = Model.compile(mechanism)
        self.substeps = composition(integrator.order)
        self.halves = 1.0 if integrator.order == 1 else 0.5
        self.control_nodes = (0.0,) if integrator.order == 1 else (0.0, *np.cumsum(self.substeps).tolist())
        # Rigid contact cannot go backwards, as some of the steps of a composition do.
        self.acts = ALL_ACT if len(self.substeps) == 1 else frozenset()
        self.loops = not mechanism.is_tree
        self.states = records(len(model.bodies), STATE)
        self.rowstates = records(len(model.rows), ROW_STATE)
        self.cstates = records(len(model.coordinates), COORDINATE_STATE)
        self.history = np.zeros(integrator.max_iterations)
        self.clock = np.zeros(2)
        self.kept = (np.zeros((len(model.bodies), 12)), np.zeros(2))
        self.whole = dt  # length of the step that a step is part of
        self.settings = (float(integrator.tolerance), int(integrator.max_iterations), float(self._kappa()))
        self.forces = model.forces()
        self.table = collect(mechanism, model.frames, bodies=integrator.self_collision)
        if self.table.ignored and self.acts:
            warn_of_ignored_pairs(self.table)
        self.reach = reach_of_bodies(self.table.shapes, len(model.bodies))
        self.minus = np.zeros((len(model.bodies), 6))
        self.redundant = False
        self.room = 64
        self.log: list[FloatArray] = []
        self.reached = (0, np.zeros(mechanism.nu))
        self.contact: Any = None
        self.edges: list[tuple[int, int]] | None = None
        self.parts: Parts | None = None
        self._plan(None)

    def _kappa(self) -> float:
        """Least central-path parameter [J]: the user's, or small beside the work of gravity in a step."""
        if self.integrator.smoothing > 0.0:
            return self.integrator.smoothing
        m = self.mechanism
        g = float(np.linalg.norm(m.gravity)) or 1.0
        return 1e-12 * (m.total_mass or 1.0) * (g * self.dt) ** 2

    # ------------------------------------------------------------------ the graph and its near pairs

    def _plan(self, Z: FloatArray | None, wider: float = 1.0) -> None:
        """Lay out the graph, with an edge for each pair of bodies that may touch soon at the poses Z (None: none).

        What is soon grows with `wider`: a step that is divided may need another plan before it is over.
        """
        model, table = self.model, self.table
        nb = len(model.bodies)
        pairs, most = table.ground, math.inf
        if Z is not None and len(table.movers) > 1:
            bound = table.shapes.bound[table.movers]
            usual = float(np.median(bound[np.isfinite(bound)])) if np.isfinite(bound).any() else 0.0
            margin = wider * max(0.5 * usual, 1e-3)
            near, room = self._near_pairs(Z, margin)
            pairs = np.concatenate([table.ground, near]).view(np.recarray)
            # Others stay apart while none moves further than this and, per step, changes its velocity by more.
            most = (room - 0.5 * margin) / 4.0
        edges = list(model.edges)
        index = {pair: k for k, pair in enumerate(edges)}
        pair_edges = np.full(len(pairs), -1, np.int64)
        tied = np.sort([table.shapes.body[pairs.a], table.shapes.body[pairs.b]], axis=0)
        for k in np.flatnonzero((tied[0] >= 0) & (tied[0] != tied[1])):
            i, j = tied[:, k].tolist()
            pair_edges[k] = index.setdefault((i, j), len(edges))
            if pair_edges[k] == len(edges):
                edges.append((i, j))
        if edges != self.edges:  # the order of elimination is the long part of a plan
            self._lay_out(edges)
        self.arrays = model.arrays
        anchors = np.zeros((nb if math.isfinite(most) else 0, 8))
        if len(anchors):
            assert Z is not None
            anchors[:, :3], anchors[:, 3:6] = Z[:, :3], self.states.vc
            anchors[:, 6], anchors[:, 7] = np.linalg.norm(self.states.w, axis=1), self.reach
        g = float(np.linalg.norm(self.mechanism.gravity)) or 1.0
        most = most if math.isfinite(most) else 1e300
        # Beside a stiff contact little is left of a joint's equations; without loops they are independent all the same.
        dependent = INDEPENDENT if self.loops else 0.0
        warm = float(self.integrator.warm_start and self.integrator.smoothing == 0.0)
        # Directions of the cone, gravity, how far bodies may move until the next plan, typical energy, carried mass,
        # when equations are dependent, share of a step in which dry friction acts, share of the carried mass, cones of
        # the step before, whether to start from their impulses, whether a step did, smoothing, length of a whole step.
        directions, smoothing = self.integrator.directions, self.integrator.smoothing
        numbers = [directions, g, most, 0, carried_mass(model), dependent, 0, 1, 0, warm, 0, smoothing, self.whole]
        numbers = np.array(numbers, float)
        self.near = (pairs, pair_edges, anchors, numbers)
        self._make_room()

    def _lay_out(self, edges: list[tuple[int, int]]) -> None:
        """Make the graph with these edges, and its work space."""
        nb, joints = len(self.model.bodies), self.model.sizes
        self.edges = edges
        self.ldu = ldu = GraphLDU([6] * nb + joints, edges, constraint=[False] * nb + [True] * len(joints))
        self.graph = (*ldu.plan, ldu.diagonal, ldu.edge_offset, ldu.rows)
        n = int(ldu.rows[-1])
        self.work = (ldu.values, ldu.pivots, ldu.scale, np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(6), np.zeros(6))

    def _near_pairs(self, Z: FloatArray, margin: float) -> tuple[Any, float]:
        """Pairs of shapes of bodies that are closer than `margin` and what they cover towards each other in a step.

        With them comes how close the nearest others are, at least `margin`.
        """
        v, turn = self.states.vc, np.linalg.norm(self.states.w, axis=1) * self.reach
        ahead = 2.0 * self.dt * float((np.linalg.norm(v, axis=1) + turn).max(initial=0.0))
        X, shapes = _as_transforms(Z), self.table.shapes
        many = len(self.table.movers) > MANY
        pairs = self.table.body_pairs(X, margin + ahead) if many else self.table.body_pairs()
        i, j, centres = shapes.body[pairs.a], shapes.body[pairs.b], self.table.centres(X)
        apart = np.linalg.norm(centres[pairs.a] - centres[pairs.b], axis=1)
        apart -= shapes.bound[pairs.a] + shapes.bound[pairs.b]
        apart -= self.dt * (np.linalg.norm(v[i] - v[j], axis=1) + turn[i] + turn[j])
        near = apart < margin
        return pairs[near], margin if many else float(apart[~near].min(initial=1e6 * margin))

    def _make_room(self) -> None:
        pairs, pair_edges, anchors, numbers = self.near
        room = self.room + 3 * len(self.model.coordinates)
        c = self.model.coordinates
        inequalities = (c.friction > 0.0).any() or np.isfinite(c.lower).any() or np.isfinite(c.upper).any()
        if not self.acts or not (inequalities or len(pairs) or len(self.table.movers) > 1):
            self.contact = None
            return
        self.contact = (
            records(room, CONE),
            records(self.room, CONTACT),
            self.table.shapes,
            pairs,
            pair_edges,
            self.table.data,
            anchors,
            numbers,
            np.zeros((LOGGED * self.room, 10)),
            np.zeros(1, np.int64),
            np.zeros(len(self.model.bodies)),
            np.zeros(room, np.int64),
            np.zeros((room, 3)),
        )

    # ------------------------------------------------------------------ the interface of steppers

    def record(self, steps: int) -> Record:
        """As `Stepper.record`, with the poses and momenta of bodies, joint forces and contacts."""
        n, m = len(self.model.bodies), len(self.model.rows)
        self.log = []
        return super().record(steps) | {
            "iterations": np.zeros(steps + 1, np.int64),
            "violation": np.zeros(steps + 1),
            "divided": np.zeros((steps + 1, len(self.substeps)), np.int64),
            "multipliers": np.zeros((steps + 1, m)),
            "rigid_poses": np.zeros((steps + 1, n, 7)),
            "momenta": np.zeros((steps + 1, n, 6)),
        }

    def prepare_start(self, q: FloatArray) -> FloatArray:
        """Refuse open loops."""
        if self.loops:
            check_closed(self.mechanism, q)
            self.redundant = is_redundant(self.mechanism, q)
        return q

    def prepare_momentum(self, q: FloatArray, p: FloatArray, project: bool) -> FloatArray:
        """Refuse (or, with `project`, mend) a momentum whose velocity opens the loops."""
        if not self.loops:
            return p
        t = self.mechanism.tree
        c, out, n = t.closure, p.copy(), len(t.nodes)
        m, nv = c.count, self.mechanism.nv
        arrays = (t.nodes, t.dofs, c.rows, c.coefficients, c.count, records(n, LINK), records(nv, JOINT_SCREW))
        momentum_projection(*arrays, q, out, np.zeros(m), np.zeros((m, nv)), np.zeros((nv, nv)), self.redundant)
        change, scale = np.abs(out - p).max(initial=0.0), max(1.0, np.abs(p).max(initial=0.0))
        if not project and change > 1e-6 * scale:
            raise MechanismError(
                "v: the initial velocity opens the loops; pass project=True to take the nearest one that does not"
            )
        return out

    def begin(self, record: Record) -> None:
        """Fill row 0 of poses and momenta from q and p."""
        q, p = record["q"][0], record["p"][0]
        v = velocity_of_momentum(self.mechanism, q[None], p[None])[0]
        record["rigid_poses"][0], twists, rates = place(self.model, q, v)
        record["momenta"][0] = momenta_of(self.model, record["rigid_poses"][0], twists, rates)
        self.cstates.value = 0.0
        self._rewind(record, 0)
        # The first guess; spins beyond its chart, half a turn in a step, are left to Newton.
        fast = 0.5 * self.dt * np.linalg.norm(twists[:, :3], axis=1, keepdims=True) > 0.9
        self.states.w, self.states.vc, self.states.v = np.where(fast, 0.0, twists[:, :3]), twists[:, 3:], 0.0
        self.states.x[:, :3], self.states.x[:, 3:] = self.states.w, self.states.vc
        self.rowstates.lam = self.rowstates.mu = 0.0
        self.clock[:] = 0.0
        self._plan(record["rigid_poses"][0])

    def advance(self, record: Record, first: int, last: int, u: FloatArray) -> int:
        """See `Stepper.advance`."""
        if first == 0:
            self.begin(record)
        u = np.array(u, order="C")
        at, wider, self.reached = first, 1.0, (0, u[-1, -1])
        while at < last:
            rows = slice(at, last + 1)
            names = ("rigid_poses", "momenta", "q", "p", "iterations", "violation", "multipliers", "divided")
            arrays = tuple(record[name][rows] for name in names)
            arrays += (
                self.minus,
                np.zeros((len(self.states), 6)),
                self.history,
                self.loops,
                at > 0,
                self.clock,
                *self.kept,
            )
            if self.contact is not None:
                self.contact[9][0] = 0
            problem = (self.arrays, self.states, self.rowstates, self.cstates, self.graph, self.work, self.forces)
            done, why = entries.rollout(
                *problem, self.contact, u[at - first :], self.dt, self.substeps, self.halves, self.settings, arrays
            )
            written = self._note(at, done)
            at += done
            if why == 0:
                break
            if why == entries.FAILED:
                return at
            self.states.x, self.states.slope = self.kept[0][:, :6], self.kept[0][:, 6:]
            self.clock[:] = self.kept[1]
            self._rewind(record, at)
            if why == entries.FULL:
                if written < LOGGED * self.room // 2:
                    self.room *= 2
                    self._make_room()
            else:
                wider = 1.0 if done else 2.0 * wider
                self._plan(record["rigid_poses"][at], wider)
        self.reached = (last, u[-1, -1])
        return last

    def _note(self, at: int, done: int) -> int:
        """Keep the log of contact forces of `done` steps from step `at` on; how many rows it had."""
        if self.contact is None:
            return 0
        written = int(self.contact[9][0])
        log = self.contact[8][:written]
        log = log[log[:, 0] < done].copy()
        log[:, 0] += at
        self.log.append(log)
        return written

    def _rewind(self, record: Record, at: int) -> None:
        """Back to a state of the record; angles are read off q, and velocities are those of the step before."""
        c = self.model.coordinates
        read = np.flatnonzero((c.iq >= 0) & (c.kind < BALL))
        self.cstates.value[read] = record["q"][at][c.iq[read]]
        self.states.w, self.states.vc = self.states.x[:, :3], self.states.x[:, 3:]

    def finish(self, record: Record) -> None:
        """Add the poses of all bodies and the log of contact forces, rigid bodies by the index of the first in each."""
        record.poses = poses_of_bodies(self.model, self.mechanism, record["rigid_poses"])
        log, first = np.concatenate([*self.log, np.zeros((0, 10))]), self._first_bodies()
        names = [*self.mechanism.body_names, WORLD]
        warn_of_overlap(log[log[:, 0] == 0], [names[i] for i in first], self.reach)
        log[:, 1:3] = first[log[:, 1:3].astype(int)]
        record["contacts"] = log
        self._look_ahead(record)

    def _look_ahead(self, record: Record) -> None:
        """Joint momenta at the end of a run of order 2 with contacts.

        Half of the impulses that contacts give at that time belong to them (`entries.read_contact_momenta`), and these
        are of the step after. So that step is done, with the last controls held, and forgotten.
        """
        last, u = self.reached
        if self.contact is not None and self.halves < 1.0 and 0 < last == len(record["p"]) - 1:
            ahead = self.record(2)
            for name in ("rigid_poses", "momenta", "q", "p"):
                ahead[name][1] = record[name][last]
            if self.advance(ahead, 1, 2, np.tile(u, (1, 2, 1))) == 2:
                record["p"][last] = ahead["p"][1]

    def _first_bodies(self) -> NDArray[np.int64]:
        """For each rigid body the index of the first body of the mechanism that is part of it; last the world's, -1."""
        first = np.full(len(self.model.bodies) + 1, -1)
        for i in range(len(self.mechanism.bodies) - 1, -1, -1):
            index = self.model.frames[self.mechanism.body_names[i]][0]
            if index >= 0:
                first[index] = i
        return first

    # ------------------------------------------------------------------ derivatives

    def _start(self, q: FloatArray, p: FloatArray, u: FloatArray) -> OneStep:
        q = self.prepare_start(q)
        self.parts = self.parts or Parts(self)
        return OneStep(self.parts, q, self.prepare_momentum(q, p, False), u)

    def linearize(self, q: FloatArray, p: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(A, B) of the step from (q, p) with the controls u (nu,) held; see `leastaction.linearize`."""
        u = np.array(np.broadcast_to(u, (len(self.control_nodes), self.mechanism.nu)))
        return self._start(q, p, u).jacobians()

    def pull_back(self, q: FloatArray, p: FloatArray, u: FloatArray, bar: FloatArray) -> FloatArray:
        """Turn the gradient `bar` (2 nv) by (q', p') into that by (q, p), in place; gives back that by the controls.

        Args:
            q, p: start of the step.
            u: controls at the control nodes, shape (nodes, nu).
            bar: gradient by (q', p') along the tangent.
        """
        n = self.mechanism.nv
        bar[:n], bar[n:], by_controls = self._start(q, p, u).backward(bar[:n].copy(), bar[n:].copy())
        return by_controls

    def parameter_jacobian(self, q: FloatArray, p: FloatArray, u: FloatArray, stencils: Any) -> FloatArray:
        """Derivatives of (q', p') by parameters; see `leastaction.derivatives.parameter_jacobian`.

        Args:
            stencils: for each parameter, weights and mechanisms whose weighted sum is the derivative by it.
        """
        u = np.array(np.broadcast_to(u, (len(self.control_nodes), self.mechanism.nu)))
        step = self._start(q, p, u)
        columns = [np.concatenate(by_parameter(step, stencil)) for stencil in stencils]
        return np.column_stack([np.zeros((2 * self.mechanism.nv, 0)), *columns])

    def backpropagate(self, run: Any, dq: FloatArray, dp: FloatArray, u: FloatArray) -> tuple[FloatArray, ...]:
        """Gradient of an objective of a whole run; see `leastaction.derivatives.backpropagate`."""
        return backpropagate(self, run, dq, dp, u)

    def failure(self, step: int, record: Record) -> ConvergenceError:
        """See `Stepper.failure`."""
        residuals = [float(x) for x in self.history if x > 0.0 or math.isnan(x)]
        if any(math.isnan(x) for x in residuals):
            why = f"the Newton matrix is singular{self._reason(step, record)}"
        else:
            why = (
                f"the Newton updates did not fall below {self.integrator.tolerance:g} m/s within "
                f"{self.integrator.max_iterations} iterations; take a smaller dt or a larger tolerance"
                f"{self._overlap(record) if step == 0 else ''}"
            )
        return ConvergenceError(f"Maximal: {why}", step=step, residuals=residuals)

    def _reason(self, step: int, record: Record) -> str:
        """What may be the matter with a step that has no solution, as the end of a sentence."""
        if light := spinning_without_inertia(self.mechanism):
            return f"; body {light!r} has no moments of inertia, but may spin freely: give it some"
        overlap = self._overlap(record) if step == 0 else ""
        return overlap or ("; is a loop in a singular configuration?" if self.loops else "")

    def _overlap(self, record: Record) -> str:
        """What overlaps most at the start, as the end of a sentence; empty where nothing does."""
        overlap = (
            deepest_overlap(self.table, _as_transforms(record["rigid_poses"][0])) if self.contact is not None else ""
        )
        return f"; {overlap} at the start: {REMEDY}" if overlap else ""


def poses_of_bodies(model: Model, mechanism: Mechanism, Z: FloatArray) -> FloatArray:
    """COM frames of all bodies, shape (times, bodies, 7), from those of rigid ones, with what is welded to them."""
    if [model.frames[name][0] for name in mechanism.body_names] == list(range(len(model.bodies))):
        return Z  # nothing is welded
    world = np.tile([0.0, 0, 0, 1, 0, 0, 0], (len(Z), 1))
    out = np.zeros((len(Z), len(mechanism.bodies), 7))
    for i, body in enumerate(mechanism.bodies):
        index, X = model.frames[body.name]
        out[:, i] = carried(Z[:, index] if index >= 0 else world, X * Pose(body.inertia.com))
    return out


def carried_mass(model: Model) -> float:
    """Most mass that joints tie to a body, relative to the body's own: a contact of that body may carry all of it."""
    mass = model.bodies.mass
    root = np.arange(len(mass))
    for i, parent in enumerate(model.bodies.parent):
        if parent >= 0:
            root[i] = root[parent]
    total = np.bincount(root, weights=mass, minlength=len(root))[root]
    heavy = mass > 0.0
    return float(min(MOST_CARRIED, (total[heavy] / mass[heavy]).max(initial=1.0)))


def reach_of_bodies(shapes: Any, count: int) -> FloatArray:
    """Radius [m] about the COM of each body that holds its shapes but planes and fields, shape (count,)."""
    reach = np.zeros(count)
    moving = shapes[(shapes.body >= 0) & np.isfinite(shapes.bound)]
    np.maximum.at(reach, moving.body, np.linalg.norm(moving.centre, axis=1) + moving.bound)
    return reach


def _as_transforms(Z: FloatArray) -> FloatArray:
    """Poses (n, 7) as rotation (row by row) and position, shape (n, 12)."""
    w, x, y, z = Z[:, 3:].T
    R = [
        *(1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        *(2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        *(2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    ]
    return np.column_stack([*R, Z[:, :3]])


def composition(order: int) -> FloatArray:
    """Fractions of the steps of order 2 that make one step of a higher order.

    Order 4 after Suzuki (1990), order 6 after Yoshida (1990), solution A: both symmetric, so the composed step keeps
    momenta and constraints as its parts do.
    """
    if order <= 2:
        return np.ones(1)
    if order == 4:
        a = 1.0 / (4.0 - 4.0 ** (1.0 / 3.0))
        return np.array([a, a, 1.0 - 4.0 * a, a, a])
    w = (0.784513610477560, 0.235573213359357, -1.17767998417887)
    return np.array([*w, 1.0 - 2.0 * sum(w), *reversed(w)])
