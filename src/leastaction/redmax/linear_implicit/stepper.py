"""Linearly implicit steps in reduced coordinates, with equations and inequalities (Sueda 2021, 2.3 to 2.9)."""

from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from leastaction._tuples import plain
from leastaction.contact.qp import QuadraticProgram
from leastaction.dynamics.loops import RANK_TOLERANCE, loop_jacobian
from leastaction.errors import ConvergenceError, IntegratorError
from leastaction.integration.integrators import Stepper
from leastaction.integration.record import Record
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray
from leastaction.mechanism.closure import COUPLING
from leastaction.redmax.linear_implicit.arrays import LinearSettings, linear_data, linear_model
from leastaction.redmax.linear_implicit.contact.contact_impulses import (
    approach_bounds,
    closing_bounds,
    contact_impulses,
    single_qp,
)
from leastaction.redmax.linear_implicit.contact.contact_rows import ContactRows
from leastaction.redmax.linear_implicit.contact.ground_contacts import GroundContacts
from leastaction.redmax.linear_implicit.contact.shape_contacts import ShapeContacts
from leastaction.redmax.linear_implicit.hyper_reduction import HyperReduction
from leastaction.redmax.linear_implicit.projection import Projection
from leastaction.redmax.linear_implicit.system_assembly import assemble, moved
from leastaction.redmax.linear_implicit.velocity_constraints import Constraint, stacked

POST_ITERATIONS = 20


@dataclass
class StepEquations:
    """What one step has to solve, all at its start.

    Attributes:
        q, v, u: positions and velocities at its start, and controls.
        M, A: mass matrix and matrix of the step, shape (nv, nv).
        b: right-hand side, shape (nv,).
        G, c: equations G v1 = c.
        limits: rows of joint limits that may act, and of inequalities of the user, shape (rows, nv).
        least: their right-hand sides.
        contacts: that may act.
        floor: least normal velocities of these contacts.
        basis: J_rR of hyper-reduced coordinates, or None.
        projection: v under the equations alone.
    """

    q: FloatArray
    v: FloatArray
    u: FloatArray
    M: FloatArray
    A: FloatArray
    b: FloatArray
    G: FloatArray
    c: FloatArray
    limits: FloatArray
    least: FloatArray
    contacts: ContactRows
    floor: FloatArray
    basis: FloatArray | None
    projection: Projection

    def reduced(self, rows: FloatArray) -> FloatArray:
        """Rows on v as rows on the hyper-reduced velocities."""
        return rows if self.basis is None else rows @ self.basis

    def full(self, v: FloatArray) -> FloatArray:
        """All velocities from the hyper-reduced ones."""
        return v if self.basis is None else self.basis @ v


@dataclass
class RunMemory:
    """What a run carries from step to step beside its record; `ConstrainedStepper.record` makes a new one.

    Attributes:
        qp: solver of the contact problems, which starts from the solution before.
        contacts: log of contact forces, a table for each step, see `ConstrainedStepper.finish`.
        error: of the step that failed.
    """

    qp: QuadraticProgram
    contacts: list[FloatArray] = field(default_factory=list)
    error: ConvergenceError | None = None


class ConstrainedStepper(Stepper):
    """Assembles the equations of a step; subclasses decide how impulses of contacts are found."""

    acts = frozenset({"contacts", "limits"})
    control_nodes = (1.0,)

    def __init__(self, integrator: Any, mechanism: Mechanism, dt: float) -> None:
        super().__init__(integrator, mechanism, dt)
        self.model, self.data = linear_model(mechanism), linear_data(mechanism)
        self._arrays = (plain(self.model), plain(LinearSettings(dt, 0.0)), plain(self.data))
        for constraint in integrator.constraints:
            if not isinstance(constraint, Constraint):
                raise IntegratorError(f"constraints: expected one such as PrescribedMotion(...), got {constraint!r}")
            constraint.check(mechanism)
        self.equalities = tuple(c for c in integrator.constraints if not c.inequality)
        self.inequalities = tuple(c for c in integrator.constraints if c.inequality)
        self.gamma = min(integrator.baumgarte, 1.0 / dt) if integrator.stabilization != "none" else 0.0
        self.hyper = HyperReduction(mechanism) if integrator.couplings == "eliminate" and mechanism.couplings else None
        count = self.model.count
        kept = np.ones(count, bool) if self.hyper is None else self.model.rows.kind[:count] != COUPLING
        self.kept = np.flatnonzero(kept)
        self.ground = GroundContacts(mechanism)
        self.shapes = ShapeContacts(mechanism, self.ground.moves, integrator.self_collision)
        self.fall = dt * float(np.linalg.norm(mechanism.gravity))
        lower, upper = (np.array([x for j in mechanism.joints for x in getattr(j, e)]) for e in ("lower", "upper"))
        soft = np.array([x > 0.0 for j in mechanism.joints for x in j.limit_stiffness], bool)
        hard = (np.isfinite(lower) | np.isfinite(upper)) & ~soft & bool(integrator.limits)
        self.limited = np.flatnonzero(hard)
        self.lower, self.upper = lower, upper
        names = mechanism.velocity_names
        self.limit_entries = [
            mechanism.coordinate_index(names[k]) for k in self.limited if names[k] in mechanism.coordinate_names
        ]
        if len(self.limit_entries) < len(self.limited):
            bad = next(names[k] for k in self.limited if names[k] not in mechanism.coordinate_names)
            raise IntegratorError(f"limits of {bad!r}: limits act on joints with axes, not on ball or free joints")

    # ------------------------------------------------------------------ interface

    def record(self, steps: int) -> Record:
        """q, v, the forces of the equations and of contacts (normal, tangential), and iterations."""
        record = super().record(steps)
        rows = len(self.kept) + self.own_equations
        record["multipliers"] = np.zeros((steps + 1, rows))
        record["iterations"] = np.zeros(steps + 1, np.int64)
        if len(self.ground):
            record["normal_forces"] = np.zeros((steps + 1, len(self.ground)))
            record["friction_forces"] = np.zeros((steps + 1, len(self.ground), 2))
        self.carried = self.new_memory()
        return record

    @cached_property
    def own_equations(self) -> int:
        """How many equations the user's constraints have."""
        return len(stacked(self.equalities, self.mechanism, self.start_time, self.mechanism.neutral()).g)

    @cached_property
    def carried(self) -> Any:
        """What the run carries from step to step."""
        return self.new_memory()

    def new_memory(self) -> RunMemory:
        """What a run starts with."""
        return RunMemory(QuadraticProgram(self.integrator.qp))

    def memory(self) -> RunMemory:
        """See `Stepper.memory`."""
        return deepcopy(self.carried)

    def restore_memory(self, memory: RunMemory) -> None:
        """See `Stepper.restore_memory`."""
        self.carried = deepcopy(memory)

    def finish(self, record: Record) -> None:
        """Put the log of contact forces into the record, as `Maximal` does."""
        if len(self.ground) or self.shapes.any:
            record["contacts"] = self.logged_contacts()

    def logged_contacts(self) -> FloatArray:
        """See `Stepper.logged_contacts`."""
        return np.concatenate([*self.carried.contacts, np.zeros((0, 10))])

    def clear_contacts(self) -> None:
        """See `Stepper.clear_contacts`."""
        self.carried.contacts = []

    def prepare_start(self, q: FloatArray) -> FloatArray:
        """Followers of eliminated couplings are put where they belong."""
        return q if self.hyper is None else self.hyper.complete(q)

    def advance(self, record: Record, first: int, last: int, u: FloatArray) -> int:
        """See `Stepper.advance`."""
        for k in range(first, last):
            try:
                self.step(record, k, u[k - first, 0])
            except ConvergenceError as error:
                self.carried.error = error
                return k
            if not np.isfinite(record["v"][k + 1]).all():
                return k
        return last

    def failure(self, step: int, record: Record) -> ConvergenceError:
        """The error of the step that failed."""
        error = self.carried.error
        if error is not None:
            error.step = step
            return error
        name = type(self.integrator).__name__
        return ConvergenceError(f"{name}: the motion became infinite; take a smaller dt", step=step)

    # ------------------------------------------------------------------ one step

    def step(self, record: Record, k: int, u: FloatArray) -> None:
        """Fill row k + 1 of the record."""
        q, v = record["q"][k], record["v"][k]
        equations = self.equations(self.start_time + (k + 1) * self.dt, q, v, u)
        v1 = self.velocities(equations, record, k)
        q1 = np.empty_like(q)
        moved(self.model.forces.nodes, q, self.dt * v1, q1)
        if self.hyper is not None:
            q1 = self.hyper.complete(q1)
            v1 = self.hyper.jacobian(q1, v1)[0] @ v1[self.hyper.leaders]
        if self.integrator.stabilization == "post":
            q1 = self.stabilized(q1, self.start_time + (k + 1) * self.dt, equations.M)
        record["q"][k + 1], record["v"][k + 1] = q1, v1

    def equations(self, t: float, q: FloatArray, v: FloatArray, u: FloatArray) -> StepEquations:
        """Everything that a step from (q, v) to time t has to obey."""
        dt, data = self.dt, self.data
        assemble(*self._arrays, q, v, u)
        own = stacked(self.equalities, self.mechanism, t, q)
        if len(own.g) != self.own_equations:
            raise IntegratorError(
                f"constraints: the equations of a run must stay as many as they were, {self.own_equations}; at "
                f"t = {t:g} there are {len(own.g)}"
            )
        gamma = self.gamma if self.integrator.stabilization == "baumgarte" else 0.0
        G = np.concatenate([data.G[self.kept], own.G])
        c = np.concatenate([-gamma * data.h[self.kept], -own.rate - gamma * own.g])
        limits, least = self._inequalities(t, q)
        reach = 2.0 * dt * max(float(np.abs(v).max(initial=0.0)), 1.0)
        contacts = self.ground.rows(data, math.inf if len(self.ground) <= 16 else reach)
        if self.shapes.any:
            contacts = contacts + self.shapes.rows(data, dt, self.fall)
        floor = approach_bounds(contacts.gap, contacts.N @ v, contacts.restitution, dt, self.gamma)
        A, b, rows, basis = data.A, data.b, G, None
        if self.hyper is not None:
            basis, bias = self.hyper.jacobian(q, v)
            A, b, rows = basis.T @ A @ basis, basis.T @ (b - dt * data.M @ bias), G @ basis
        projection = Projection(A, b, rows, c)
        return StepEquations(
            q=q,
            v=v,
            u=u,
            M=data.M,
            A=data.A,
            b=data.b,
            G=G,
            c=c,
            limits=limits,
            least=least,
            contacts=contacts,
            floor=floor,
            basis=basis,
            projection=projection,
        )

    def _inequalities(self, t: float, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Rows of joint limits and of the user's inequalities: rows v1 >= least."""
        own = stacked(self.inequalities, self.mechanism, t, q)
        # g is that of the end of the step: without the way that its other side goes, it is that of the start.
        G, least = [own.G], [closing_bounds(own.g - self.dt * own.rate, self.dt, self.gamma) - own.rate]
        for side, bound in ((1.0, self.lower), (-1.0, self.upper)):
            gap = side * (q[self.limit_entries] - bound[self.limited])
            near = np.flatnonzero(np.isfinite(gap))
            rows = np.zeros((len(near), self.mechanism.nv))
            rows[np.arange(len(near)), self.limited[near]] = side
            G.append(rows)
            least.append(closing_bounds(gap[near], self.dt, self.gamma))
        return np.concatenate(G), np.concatenate(least)

    def velocities(self, e: StepEquations, record: Record, k: int) -> FloatArray:
        """v1, with the multipliers noted in row k + 1 of the record."""
        raise NotImplementedError

    def note(self, e: StepEquations, record: Record, k: int, impulse: Any, alpha: FloatArray, beta: FloatArray) -> None:
        """Write down the forces of equations and contacts; `impulse` is the generalised one of all inequalities."""
        record["multipliers"][k + 1] = e.projection.multipliers(impulse) / self.dt
        t = e.contacts
        if len(self.ground):
            on_plane = np.flatnonzero(t.index >= 0)
            record["normal_forces"][k + 1, t.index[on_plane]] = alpha[on_plane] / self.dt
            record["friction_forces"][k + 1, t.index[on_plane]] = beta.reshape(-1, 2)[on_plane] / self.dt
        push = np.flatnonzero(alpha > 0.0)
        forces = t.forces(alpha, beta) / self.dt
        columns = (np.full((len(alpha), 1), float(k)), t.bodies, t.point, forces, t.gap[:, None])
        self.carried.contacts.append(np.concatenate(columns, axis=1)[push])

    def stabilized(self, q: FloatArray, t: float, M: FloatArray) -> FloatArray:
        """Post-stabilisation: the nearest closed configuration in the metric of the masses (Cline and Pai 2003)."""
        for _ in range(POST_ITERATIONS):
            h, G = loop_jacobian(self.mechanism, q)
            own = stacked(self.equalities, self.mechanism, t, q)
            h, G = np.concatenate([h, own.g]), np.concatenate([G, own.G])
            if np.abs(h).max(initial=0.0) < 1e-12:
                break
            X = np.linalg.solve(M, G.T)
            q = self.mechanism.integrate(q, -X @ np.linalg.lstsq(G @ X, h, rcond=RANK_TOLERANCE)[0])
        return q


class ContactStepper(ConstrainedStepper):
    """Contacts without friction, or with friction in a single quadratic program."""

    def velocities(self, e: StepEquations, record: Record, k: int) -> FloatArray:
        """See `ConstrainedStepper.velocities`."""
        N = e.reduced(np.concatenate([e.contacts.N, e.limits]))
        least = np.concatenate([e.floor, e.least])
        count = len(e.contacts.N)
        beta = np.zeros(2 * count)
        active = N @ e.projection.v < least + 1e-12
        if not active.any():
            alpha, v1 = np.zeros(len(N)), e.projection.v
        elif self.integrator.friction == "single_qp":
            T = e.reduced(e.contacts.T)
            alpha, beta, v1 = single_qp(e.projection, N, least, T, e.contacts.friction, self.carried.qp)
        else:
            alpha, v1 = contact_impulses(e.projection, N, least, self.carried.qp)
        impulse = N.T @ alpha + e.reduced(e.contacts.T).T @ beta
        self.note(e, record, k, impulse, alpha[:count], beta)
        return e.full(v1)
