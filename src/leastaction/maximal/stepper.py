"""The stepper of `Maximal`: data of one robot, its graph and near pairs, and the loop around the compiled one."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leastaction._jit.bound import Bound
from leastaction.contact.contact_shapes import collect
from leastaction.contact.penetration.overlapping_starts import overlapping
from leastaction.contact.penetration.penetration_messages import warn_of_overlap
from leastaction.contact.penetration.penetration_resolution import clear_start
from leastaction.contact.penetration.penetration_search import Search
from leastaction.dynamics.legendre import velocity_of_momentum
from leastaction.dynamics.loops import check_closed, is_redundant, momentum_projection, projection
from leastaction.errors import ConvergenceError, MechanismError
from leastaction.initial_state.goal_rows import fill_goals
from leastaction.initial_state.initial_motions import MotionTable
from leastaction.integration.integrators import FloatArray, Stepper
from leastaction.integration.record import Record
from leastaction.kinematics.sweeps import JOINT_SCREW, LINK
from leastaction.linalg.graph.ldu import GraphLDU
from leastaction.maximal.arrays import (
    ContactData,
    ContactModel,
    MaximalModel,
    MaximalRecord,
    contact_data,
    copied,
    maximal_data,
    on_graph,
    plain,
    with_scratch,
    without_scratch,
)
from leastaction.maximal.compilation.compiler import compile_model
from leastaction.maximal.composition import composition
from leastaction.maximal.contact.filtered_pairs import exclude_pairs, starts_apart
from leastaction.maximal.contact_graph import Layout
from leastaction.maximal.coordinates.placement import momenta_of, place, poses_of_bodies
from leastaction.maximal.derivatives.reversal import MaximalReversal
from leastaction.maximal.derivatives.step_linearization import OneStep
from leastaction.maximal.failures import failure_of
from leastaction.maximal.kernel_variants import is_whole, lean_model, lean_settings
from leastaction.maximal.maximal_records import BALL, records
from leastaction.maximal.maximal_settings import settings_of
from leastaction.maximal.prescribed import COLUMNS, exclude_driven_pairs, goal_rates, goal_rows, refuse_compositions
from leastaction.maximal.retry import LOGGED, recover
from leastaction.maximal.single_steps import stride_of
from leastaction.maximal.step import maximal_rollout as entries
from leastaction.mechanism import Mechanism
from leastaction.mechanism.building.graph import WORLD
from leastaction.step_control.substeps import RECORDED

if TYPE_CHECKING:
    from leastaction.maximal.integrators import Maximal

EVERYWHERE = 1e9
"""Margin factor of a broad phase that includes all pairs of bodies that may ever touch."""

ALL_ACT = frozenset({"contacts", "limits", "dry friction", "loops"})


class MaximalStepper(Stepper):
    """Stepper of `Maximal`; its state is the poses and momenta of the bodies, from which q and p are computed.

    Attributes:
        model: the mechanism in maximal coordinates.
        settings: settings of the kernels, from the integrator and dt.
        whole: which variant of the kernels it uses, see `kernel_variants`.
        layout: graph and near pairs of the present steps.
        data: state and scratch of this robot.
        contact: its contacts; None where nothing can touch.
        planned: whether the broad phase was made for the next step; wider: its margin factor.
        age, usual_width: number of steps for which it has been valid, next margin factor, see `retry.width_after`.
        exhausted: whether the last step exceeded `max_work`.
        unread: row of the last stride, whose contacts are not in `log` yet; -1 where all are.
        problem: model, settings and data as plain tuples, as compiled entries take them.
        rollout: the compiled loop with all arguments bound except those of the rows.
    """

    momentum = True
    can = frozenset({"accuracy", "linearize", "parameters", "reverse"})
    carries = ("rigid_poses", "momenta", "velocities")

    def __init__(self, integrator: Maximal, mechanism: Mechanism, dt: float) -> None:
        super().__init__(integrator, mechanism, dt)
        model = compile_model(mechanism)
        self.substeps, self.order = composition(integrator.order), integrator.order
        self.no_goals = np.zeros((1, 0)), np.zeros(1)
        if mechanism.prescribed:
            self.carries = (*self.carries, "goals", "work")
        settings = settings_of(integrator, model, dt, self.substeps)
        self.control_nodes = (0.0,) if integrator.order == 1 else (0.0, *np.cumsum(self.substeps).tolist())
        # Rigid contact does not allow the negative steps of compositions.
        self.acts = ALL_ACT if len(self.substeps) == 1 else frozenset()
        refuse_compositions(integrator, mechanism)
        self.table = exclude_driven_pairs(model, collect(mechanism, model.frames, bodies=integrator.self_collision))
        if self.acts:
            self.table = exclude_pairs(model, self.table)
        self.whole = is_whole(model, self.table, settings)
        self.model = model if self.whole else lean_model(model)
        self.settings = settings if self.whole else lean_settings(settings)
        self.layout = Layout(self.model, self.table, dt, self.whole)
        self.layout.renew(None, None, 1.0)
        self.data = maximal_data(self.arrays, self.ldu.factors, integrator.max_iterations)
        self.redundant = False
        self.room = 64
        self.planned, self.wider, self.exhausted = False, 1.0, False
        self.age, self.usual_width = 0, 1.0
        self.log: list[FloatArray] = []
        self.unread = -1
        self.reached = (0, np.zeros(mechanism.nu))
        self.contact: ContactData | None = None
        self.solver: MaximalStepper | None = None  # solves steps again for derivatives, see `adjoint_sweep.solver_of`
        self._make_room()

    @property
    def arrays(self) -> MaximalModel:
        """The present `MaximalModel`."""
        return self.layout.model

    @property
    def near(self) -> ContactModel:
        """The present `ContactModel`."""
        return self.layout.near

    @property
    def ldu(self) -> GraphLDU:
        """The present graph of the Newton matrix."""
        return self.layout.ldu

    @property
    def halves(self) -> float:
        """Share of the forces' impulses at the start of a step."""
        return self.settings.halves

    @property
    def loops(self) -> bool:
        """Whether there are closed loops."""
        return bool(self.settings.loops)

    def _plan(self, Z: FloatArray | None, wider: float = 1.0) -> None:
        """Update the broad phase at the poses Z; see `Layout.renew`."""
        if self.contact is not None:
            self.layout.note(self.contact.touched)
        if self.layout.renew(Z, self.data.bodies, wider):
            self.data = on_graph(self.data, self.ldu.new_factors())
        self._make_room()

    def _tie(self, more: bool, seldom: bool = False) -> None:
        """Update the graph to the bodies in contact; see `Layout.tie`."""
        assert self.contact is not None
        if self.layout.tie(self.contact.touched, more, seldom):
            self.data = on_graph(self.data, self.ldu.new_factors())
        self._bind()

    def plan_widely(self, Z: FloatArray) -> None:
        """Make a graph and near pairs that include all bodies that may ever touch, so that neither is updated again."""
        self._plan(Z, EVERYWHERE)
        if self.contact is not None:
            self.contact.touched[:] = 1
            self._tie(True, seldom=True)

    @property
    def _log_rows(self) -> int:
        """Number of rows of the contact log: LOGGED substeps, and an impact at the start of one."""
        return (LOGGED + 1) * self.room

    def _make_room(self) -> None:
        """Allocate empty arrays for contacts."""
        self.contact = None
        if self.acts and self.layout.touches():
            m, pairs, size = len(self.model.coordinates), len(self.near.pairs), len(self.data.fixed)
            trees, turning = self.model.bodies.group, self.near.turning
            self.contact = contact_data(trees, pairs, self.room, m, self._log_rows, size, turning)
        self._bind()

    def _bind(self) -> None:
        """Bind model, settings, data and contacts to the compiled loop, as plain tuples."""
        self.problem = problem = plain((self.arrays, self.settings, self.data))
        if self.contact is None:
            self.rollout = Bound(entries.rollout, *problem)
        else:
            self.rollout = Bound(entries.rollout_with_contact, *problem, *plain((self.near, self.contact)))

    # ------------------------------------------------------------------ the interface of steppers

    def record(self, steps: int) -> Record:
        """As `Stepper.record`, with the poses and momenta of bodies, joint forces and contacts."""
        n, m = len(self.model.bodies), len(self.model.rows)
        self.log, self.unread = [], -1
        return (
            super().record(steps)
            | {
                "iterations": np.zeros(steps + 1, np.int64),
                "violation": np.zeros(steps + 1),
                "substeps": np.zeros((steps + 1, len(self.substeps), RECORDED)),
                "multipliers": np.zeros((steps + 1, m)),
                "rigid_poses": np.zeros((steps + 1, n, 7)),
                "momenta": np.zeros((steps + 1, n, 6)),
                "velocities": np.zeros((steps + 1, n, 6)),
            }
            | self._goals(steps + 1)
        )

    def _goals(self, rows: int) -> dict[str, FloatArray]:
        """Record arrays of prescribed motions and their work, where there are any."""
        columns = sum(COLUMNS[int(kind)] for kind in self.model.goals.kind)
        return {"goals": np.zeros((rows, columns)), "work": np.zeros(rows)} if columns else {}

    def goal_rows(self, table: MotionTable, first: int, last: int) -> FloatArray:
        """See `goal_rows.fill_goals`."""
        return goal_rows(self.model, table, first, last)

    @cached_property
    def goal_rates(self) -> NDArray[np.int64]:
        """See `goal_rows.fill_goals`."""
        return goal_rates(self.model)

    def clear_start(self, q: FloatArray, resting: Sequence[int] = ()) -> FloatArray:
        """Resolve penetrations between links of a robot in the initial configuration."""
        return clear_start(self._starts, q, resting) if self.acts and len(self.table.shapes) else q

    def overlapping(self, q: FloatArray) -> NDArray[np.bool_]:
        """See `Stepper.overlapping`."""
        return overlapping(self._starts, q) if self.acts and len(self.table.shapes) else np.zeros(len(q), bool)

    @cached_property
    def _starts(self) -> Search:
        return starts_apart(self.model, self.table)

    def prepare_start(self, q: FloatArray) -> FloatArray:
        """Raise an error where loops are open."""
        if not self.mechanism.is_tree:
            check_closed(self.mechanism, q)
            self.redundant = is_redundant(self.mechanism, q)
        return q

    def prepare_momentum(self, q: FloatArray, p: FloatArray, project: bool) -> FloatArray:
        """Raise an error for (or, with `project`, correct) a momentum whose velocity opens the loops."""
        if self.mechanism.is_tree:
            return p
        t = self.mechanism.tree
        c, out, n = t.closure, p.copy(), len(t.nodes)
        m, nv = c.count, self.mechanism.nv
        arrays = ((t.nodes, t.dofs, t.gravity), (c.rows, c.coefficients, c.count))
        data = (records(n, LINK), records(nv, JOINT_SCREW), np.zeros((n, 6)))
        momentum_projection(*arrays, data, q, out, tuple(projection(nv, m)), self.redundant)
        change, scale = np.abs(out - p).max(initial=0.0), max(1.0, np.abs(p).max(initial=0.0))
        if not project and change > 1e-6 * scale:
            raise MechanismError(
                "v: the initial velocity opens the loops; pass project=True to take the nearest one that does not"
            )
        return out

    def begin(self, record: Record) -> None:
        """Fill row 0 of poses and momenta from q and p."""
        q, p = record["q"][0], record["p"][0]
        # At rest no velocities are computed, so nothing is compiled for them.
        v = velocity_of_momentum(self.mechanism, q[None], p[None])[0] if p.any() else np.zeros(len(p))
        record["rigid_poses"][0], twists, rates = place(self.model, q, v)
        record["momenta"][0] = momenta_of(self.model, record["rigid_poses"][0], twists, rates)
        data = self.data
        data.coordinates.value = 0.0
        self._rewind(record, 0)
        # Initial guess; angular velocities beyond its chart, half a turn in a step, are left to Newton.
        fast = 0.5 * self.dt * np.linalg.norm(twists[:, :3], axis=1, keepdims=True) > 0.9
        data.bodies.w, data.bodies.vc, data.bodies.v = np.where(fast, 0.0, twists[:, :3]), twists[:, 3:], 0.0
        data.bodies.x[:, :3], data.bodies.x[:, 3:] = data.bodies.w, data.bodies.vc
        data.rows.lam = data.rows.mu = data.rows.owed = 0.0
        data.past.known, data.past.dt, data.past.kinetic, data.kicks[:] = 0, 0.0, -1.0, 0.0
        self.planned, self.wider, self.age, self.usual_width = True, 1.0, 0, 1.0
        if self.contact is not None:
            self.contact.touched[:] = 0
        self.layout.forget()
        self._plan(record["rigid_poses"][0])

    def advance(self, record: Record, first: int, last: int, u: FloatArray) -> int:
        """See `Stepper.advance`."""
        self.read_log()
        if first == 0:
            self.begin(record)
        if len(self.model.goals):
            fill_goals(self, record, first, last)
        u = np.array(u, order="C")
        at, self.reached, self.exhausted = first, (0, u[-1, -1]), False
        while at < last:
            done, why, written = self._run(record, at, last, u[at - first :])
            at += done
            self.planned = self.planned and done == 0
            self.age += done
            if why == entries.DONE:
                break
            # The log counts as full once it has no room for a step with the largest number of contacts.
            if not recover(self, record, at, why, written <= self._log_rows - 2 * self.room or done == 0):
                return at
        self.reached = (last, u[-1, -1])
        return last

    def stride(self, record: Record, u: FloatArray) -> Callable[[int], int]:
        """See `Stepper.stride`."""
        return stride_of(self, record, u)

    def read_log(self) -> None:
        """Copy the contacts that the last stride has logged, before the next one overwrites them."""
        if self.unread >= 0:
            assert self.contact is not None
            log = self.contact.log[: int(self.contact.written[0])].copy()
            log[:, 0] += self.unread
            self.log.append(log)
            self.unread = -1

    def memory(self) -> Any:
        """See `Stepper.memory`."""
        plan = copy.copy(self.layout), self.planned, self.wider, self.age, self.usual_width
        last, u = self.reached
        contact = None if self.contact is None else copied(without_scratch(self.contact))
        return plan, copied(self.data), contact, self.room, (last, u.copy())

    def restore_memory(self, memory: Any) -> None:
        """See `Stepper.restore_memory`."""
        self.read_log()
        (layout, self.planned, self.wider, self.age, self.usual_width), data, contact, self.room, self.reached = memory
        log = None if self.contact is None else self.contact.log
        self.layout, self.data, self.contact = copy.copy(layout), copied(data), None
        if contact is not None:
            own = log if log is not None and len(log) == self._log_rows else np.zeros((self._log_rows, 10))
            self.contact = with_scratch(contact, own)
        self._bind()

    def _run(self, record: Record, at: int, last: int, u: FloatArray) -> tuple[int, int, int]:
        """Take the steps from `at` up to `last`: (number done, status, rows of the log)."""
        rows = tuple(self.rows(record, at, last))
        if self.contact is None:
            done, why = self.rollout(rows, u, self.substeps, at > 0)
            return done, why, 0
        self.contact.written[0] = 0
        done, why = self.rollout(rows, u, self.substeps, at > 0)
        written = int(self.contact.written[0])
        log = self.contact.log[:written]
        log = log[log[:, 0] < done].copy()
        log[:, 0] += at
        self.log.append(log)
        return done, why, written

    def rows(self, record: Record, first: int, last: int) -> MaximalRecord:
        """Rows first ... last of a record as a `MaximalRecord` for the kernels."""
        rows = [record[name][first : last + 1] for name in MaximalRecord._fields[:-2]]
        if len(self.model.goals):
            rows += [record["goals"][first : last + 1], record["work"][first : last + 1]]
            return MaximalRecord._make(rows)
        if len(self.no_goals[1]) <= last - first:
            self.no_goals = np.zeros((last - first + 1, 0)), np.zeros(last - first + 1)
        return MaximalRecord._make([*rows, *self.no_goals])

    def _rewind(self, record: Record, at: int) -> None:
        """Restore row `at` of the record: angles from q, velocities from the step before."""
        c = self.model.coordinates
        read = np.flatnonzero((c.iq >= 0) & (c.kind < BALL))
        bodies = self.data.bodies
        self.data.coordinates.value[read] = record["q"][at][c.iq[read]]
        bodies.w, bodies.vc = bodies.x[:, :3], bodies.x[:, 3:]

    def finish(self, record: Record) -> None:
        """Add the poses of all bodies and the contact log, with the index of the first body of each rigid body."""
        self.read_log()
        log = np.concatenate([*self.log, np.zeros((0, 10))])
        names = [*self.mechanism.body_names, WORLD]
        warn_of_overlap(log[log[:, 0] == 0], [names[i] for i in self._first_bodies], self.layout.reach)
        if self.logs_contacts:
            record.poses = poses_of_bodies(self.model, self.mechanism, record["rigid_poses"])
            record["contacts"] = self.logged_contacts()

    def logged_contacts(self) -> FloatArray:
        """See `Stepper.logged_contacts`."""
        self.read_log()
        log = np.concatenate([*self.log, np.zeros((0, 10))])
        log[:, 1:3] = self._first_bodies[log[:, 1:3].astype(int)]
        return log

    def clear_contacts(self) -> None:
        """See `Stepper.clear_contacts`."""
        self.log, self.unread = [], -1

    @cached_property
    def _first_bodies(self) -> NDArray[np.int64]:
        """Index of the first mechanism body of each rigid body; the last entry is the world's, -1."""
        first = np.full(len(self.model.bodies) + 1, -1)
        for i in range(len(self.mechanism.bodies) - 1, -1, -1):
            index = self.model.frames[self.mechanism.body_names[i]][0]
            if index >= 0:
                first[index] = i
        return first

    # ------------------------------------------------------------------ derivatives

    def _start(self, q: FloatArray, p: FloatArray, u: FloatArray, stencils: Sequence[Any] = ()) -> OneStep:
        q = self.prepare_start(q)
        u = np.array(np.broadcast_to(u, (len(self.control_nodes), self.mechanism.nu)))
        return OneStep(self, q, self.prepare_momentum(q, p, False), u, stencils)

    def linearize(self, q: FloatArray, p: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(A, B) of the step from (q, p) with constant controls u (nu,); see `leastaction.linearize`."""
        return self._start(q, p, u).jacobians()

    def pull_back(self, q: FloatArray, p: FloatArray, u: FloatArray, bar: FloatArray) -> FloatArray:
        """Replace the gradient `bar` (2 nv) by (q', p') with that by (q, p), in place; returns that by the controls.

        Args:
            q, p: start of the step.
            u: controls at the control nodes, shape (nodes, nu).
            bar: gradient by (q', p') along the tangent.
        """
        return self.pull_back_all(q, p, u, bar, ())[0]

    def pull_back_all(
        self, q: FloatArray, p: FloatArray, u: FloatArray, bar: FloatArray, stencils: Sequence[Any]
    ) -> tuple[FloatArray, FloatArray]:
        """See `Stepper.pull_back_all`."""
        n, step = self.mechanism.nv, self._start(q, p, u, stencils)
        bar[:n], bar[n:], by_controls, by_parameters = step.backward(bar[:n].copy(), bar[n:].copy())
        return by_controls, by_parameters

    def parameter_jacobian(self, q: FloatArray, p: FloatArray, u: FloatArray, stencils: Any) -> FloatArray:
        """Derivatives of (q', p') by parameters; see `leastaction.derivatives.parameter_jacobian`.

        Args:
            stencils: for each parameter, weights and mechanisms whose weighted sum is the derivative by it.
        """
        return self._start(q, p, u, stencils).by_parameters()

    def smooth_response(self, smoothing: float) -> None:
        """See `Stepper.smooth_response`."""
        self.settings = self.settings._replace(response_smoothing=float(smoothing))
        self.solver = None
        self._bind()

    def reverse(self, names: Sequence[str]) -> MaximalReversal:
        """See `Stepper.reverse`."""
        return MaximalReversal(self, names)

    def failure(self, step: int, record: Record) -> ConvergenceError:
        """See `Stepper.failure`."""
        return failure_of(self, step, record)
