"""Linearly implicit Euler steps in reduced coordinates, with equations and inequalities (Sueda 2021, 2.3 to 2.9)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from leastaction.contact.qp import SOLVERS, QuadraticProgram
from leastaction.dynamics.loops import RANK_TOLERANCE, loop_jacobian
from leastaction.dynamics.workspace import Workspace
from leastaction.errors import ConvergenceError, IntegratorError
from leastaction.forces.arrays import force_arrays
from leastaction.integrators import PENALTIES, Integrator, Stepper
from leastaction.linear_implicit import linear_step as implicit
from leastaction.linear_implicit.constraints import Constraint, stacked
from leastaction.linear_implicit.contact_qp import (
    GroundContacts,
    Touching,
    approach_bounds,
    contact_impulses,
    single_qp,
)
from leastaction.linear_implicit.hyper_reduced import HyperReduction
from leastaction.linear_implicit.projection import Projection
from leastaction.linear_implicit.shape_contacts import ShapeContacts
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray
from leastaction.mechanism.closure import COUPLING
from leastaction.record import Record

POST_ITERATIONS = 20


@dataclass
class StepEquations:
    """What one step has to solve, all at its start.

    Attributes:
        M, A: mass matrix and matrix of the step, shape (nv, nv).
        b: right-hand side, shape (nv,).
        G, c: equations G v1 = c.
        limits: rows of joint limits that may act, and of inequalities of the user, shape (rows, nv).
        least: their right-hand sides.
        touching: contacts that may act.
        floor: least normal velocities of these contacts.
        basis: J_rR of hyper-reduced coordinates, or None.
        projection: v under the equations alone.
    """

    M: FloatArray
    A: FloatArray
    b: FloatArray
    G: FloatArray
    c: FloatArray
    limits: FloatArray
    least: FloatArray
    touching: Touching
    floor: FloatArray
    basis: FloatArray | None
    projection: Projection

    def reduced(self, rows: FloatArray) -> FloatArray:
        """Rows on v as rows on the hyper-reduced velocities."""
        return rows if self.basis is None else rows @ self.basis

    def full(self, v: FloatArray) -> FloatArray:
        """All velocities from the hyper-reduced ones."""
        return v if self.basis is None else self.basis @ v


class ConstrainedStepper(Stepper):
    """Assembles the equations of a step; subclasses decide how impulses of contacts are found."""

    acts = frozenset({"contacts", "limits"})
    control_nodes = (1.0,)

    def __init__(self, integrator: Any, mechanism: Mechanism, dt: float) -> None:
        super().__init__(integrator, mechanism, dt)
        self.work = Workspace(mechanism)
        closure = mechanism.tree.closure
        self.arrays = force_arrays(mechanism)
        self.closure = (closure.rows, closure.coefficients, closure.count)
        n, m = mechanism.nv, closure.count
        self.tau, self.zero = np.zeros(n), np.zeros(n)
        self.M, self.A, self.b, self.h, self.G = (
            np.zeros((n, n)),
            np.zeros((n, n)),
            np.zeros(n),
            np.zeros(m),
            np.zeros((m, n)),
        )
        wide = (len(mechanism.tree.nodes), 6)
        self.scratch = (np.zeros((n, n)), *(np.zeros(wide) for _ in range(4)), np.zeros((1, n)))
        for constraint in integrator.constraints:
            if not isinstance(constraint, Constraint):
                raise IntegratorError(f"constraints: expected one such as PrescribedMotion(...), got {constraint!r}")
            constraint.check(mechanism)
        self.equalities = tuple(c for c in integrator.constraints if not c.inequality)
        self.inequalities = tuple(c for c in integrator.constraints if c.inequality)
        self.gamma = min(integrator.baumgarte, 1.0 / dt) if integrator.stabilization != "none" else 0.0
        self.hyper = HyperReduction(mechanism) if integrator.couplings == "eliminate" and mechanism.couplings else None
        kept = np.ones(m, bool) if self.hyper is None else closure.rows.kind[:m] != COUPLING
        self.kept = np.flatnonzero(kept)
        self.ground = GroundContacts(mechanism)
        self.shapes = ShapeContacts(mechanism, self.ground.moves, integrator.self_collision)
        self.fall = dt * float(np.linalg.norm(mechanism.gravity))
        self.log: list[FloatArray] = []
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
        self.qp = QuadraticProgram(integrator.qp)
        self.error: ConvergenceError | None = None

    # ------------------------------------------------------------------ interface

    def record(self, steps: int) -> Record:
        """q, v, the forces of the equations and of contacts (normal, tangential), and iterations."""
        record = super().record(steps)
        rows = len(self.kept) + len(
            stacked(self.equalities, self.mechanism, self.start_time, self.mechanism.neutral()).g
        )
        record["multipliers"] = np.zeros((steps + 1, rows))
        record["iterations"] = np.zeros(steps + 1, np.int64)
        if len(self.ground):
            record["normal_forces"] = np.zeros((steps + 1, len(self.ground)))
            record["friction_forces"] = np.zeros((steps + 1, len(self.ground), 2))
        self.log = []
        return record

    def finish(self, record: Record) -> None:
        """Put the log of contact forces into the record, as `Maximal` does."""
        if len(self.ground) or self.shapes.any:
            record["contacts"] = np.concatenate([*self.log, np.zeros((0, 10))])

    def prepare_start(self, q: FloatArray) -> FloatArray:
        """Followers of eliminated couplings are put where they belong."""
        return q if self.hyper is None else self.hyper.complete(q)

    def advance(self, record: Record, first: int, last: int, u: FloatArray) -> int:
        """See `Stepper.advance`."""
        for k in range(first, last):
            try:
                self.step(record, k, u[k - first, 0])
            except ConvergenceError as error:
                self.error = error
                return k
            if not np.isfinite(record["v"][k + 1]).all():
                return k
        return last

    def failure(self, step: int, record: Record) -> ConvergenceError:
        """The error of the step that failed."""
        if self.error is not None:
            self.error.step = step
            return self.error
        name = type(self.integrator).__name__
        return ConvergenceError(f"{name}: the motion became infinite; take a smaller dt", step=step)

    # ------------------------------------------------------------------ one step

    def step(self, record: Record, k: int, u: FloatArray) -> None:
        """Fill row k + 1 of the record."""
        q, v = record["q"][k], record["v"][k]
        equations = self.equations(self.start_time + (k + 1) * self.dt, q, v, u)
        v1 = self.velocities(equations, record, k, q, v, u)
        q1 = np.empty_like(q)
        implicit.moved(self.arrays[0], q, self.dt * v1, q1)
        if self.hyper is not None:
            q1 = self.hyper.complete(q1)
            v1 = self.hyper.jacobian(q1, v1)[0] @ v1[self.hyper.leaders]
        if self.integrator.stabilization == "post":
            q1 = self.stabilized(q1, self.start_time + (k + 1) * self.dt, equations.M)
        record["q"][k + 1], record["v"][k + 1] = q1, v1

    def equations(self, t: float, q: FloatArray, v: FloatArray, u: FloatArray) -> StepEquations:
        """Everything that a step from (q, v) to time t has to obey."""
        m, dt, w = self.mechanism, self.dt, self.work
        matrices = (self.M, self.A, self.b, self.h, self.G)
        implicit.assemble(
            self.arrays,
            self.closure,
            w.links,
            w.screws,
            w.external,
            self.tau,
            self.zero,
            q,
            v,
            u,
            dt,
            *matrices,
            self.scratch,
        )
        own = stacked(self.equalities, m, t, q)
        gamma = self.gamma if self.integrator.stabilization == "baumgarte" else 0.0
        G = np.concatenate([self.G[self.kept], own.G])
        c = np.concatenate([-gamma * self.h[self.kept], -own.rate - gamma * own.g])
        limits, least = self._inequalities(t, q)
        reach = 2.0 * dt * max(float(np.abs(v).max(initial=0.0)), 1.0)
        touching = self.ground.touching(w, math.inf if len(self.ground) <= 16 else reach)
        if self.shapes.any:
            touching = touching + self.shapes.touching(w, dt, self.fall)
        floor = approach_bounds(touching.gap, touching.N @ v, touching.restitution, dt, self.gamma)
        A, b, rows, basis = self.A, self.b, G, None
        if self.hyper is not None:
            basis, bias = self.hyper.jacobian(q, v)
            A, b, rows = basis.T @ A @ basis, basis.T @ (b - dt * self.M @ bias), G @ basis
        projection = Projection(A, b, rows, c)
        return StepEquations(self.M, self.A, self.b, G, c, limits, least, touching, floor, basis, projection)

    def _inequalities(self, t: float, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Rows of joint limits and of the user's inequalities: rows v1 >= least."""
        own = stacked(self.inequalities, self.mechanism, t, q)
        G, least = [own.G], [approach_bounds(own.g, own.rate, np.zeros(len(own.g)), self.dt, self.gamma) - own.rate]
        for side, bound in ((1.0, self.lower), (-1.0, self.upper)):
            gap = side * (q[self.limit_entries] - bound[self.limited])
            near = np.flatnonzero(np.isfinite(gap))
            rows = np.zeros((len(near), self.mechanism.nv))
            rows[np.arange(len(near)), self.limited[near]] = side
            G.append(rows)
            least.append(np.where(gap[near] > 0.0, -gap[near] / self.dt, -self.gamma * gap[near]))
        return np.concatenate(G), np.concatenate(least)

    def velocities(
        self, e: StepEquations, record: Record, k: int, q: FloatArray, v: FloatArray, u: FloatArray
    ) -> FloatArray:
        """v1, with the multipliers noted in row k + 1 of the record."""
        raise NotImplementedError

    def note(self, e: StepEquations, record: Any, k: int, impulse: Any, alpha: FloatArray, beta: FloatArray) -> None:
        """Write down the forces of equations and contacts; `impulse` is the generalised one of all inequalities."""
        record["multipliers"][k + 1] = e.projection.multipliers(impulse) / self.dt
        t = e.touching
        if len(self.ground):
            on_plane = np.flatnonzero(t.index >= 0)
            record["normal_forces"][k + 1, t.index[on_plane]] = alpha[on_plane] / self.dt
            record["friction_forces"][k + 1, t.index[on_plane]] = beta.reshape(-1, 2)[on_plane] / self.dt
        push = np.flatnonzero(alpha > 0.0)
        forces = t.forces(alpha, beta) / self.dt
        columns = (np.full((len(alpha), 1), float(k)), t.bodies, t.point, forces, t.gap[:, None])
        self.log.append(np.concatenate(columns, axis=1)[push])

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


class _ContactStepper(ConstrainedStepper):
    """Contacts without friction, or with friction in a single quadratic program."""

    def velocities(
        self, e: StepEquations, record: Record, k: int, q: FloatArray, v: FloatArray, u: FloatArray
    ) -> FloatArray:
        """See `ConstrainedStepper.velocities`."""
        N = e.reduced(np.concatenate([e.touching.N, e.limits]))
        least = np.concatenate([e.floor, e.least])
        count = len(e.touching.N)
        beta = np.zeros(2 * count)
        active = N @ e.projection.v < least + 1e-12
        if not active.any():
            alpha, v1 = np.zeros(len(N)), e.projection.v
        elif self.integrator.friction == "single_qp":
            T = e.reduced(e.touching.T)
            alpha, beta, v1 = single_qp(e.projection, N, least, T, e.touching.friction, self.qp)
        else:
            alpha, v1 = contact_impulses(e.projection, N, least, self.qp)
        impulse = N.T @ alpha + e.reduced(e.touching.T).T @ beta
        self.note(e, record, k, impulse, alpha[:count], beta)
        return e.full(v1)


class _PreconditionedStepper(Stepper):
    """Large systems of springs by conjugate gradients with the O(n) inverse inertia as preconditioner."""

    control_nodes = (1.0,)

    def __init__(self, integrator: Any, mechanism: Mechanism, dt: float) -> None:
        super().__init__(integrator, mechanism, dt)
        limited = any(np.isfinite((*j.lower, *j.upper)).any() for j in mechanism.joints)
        shapes = any(shape.collision for body in mechanism.bodies for shape in body.shapes)
        touching = ((mechanism.contacts or shapes) and mechanism.ground) or mechanism.penalties
        if not mechanism.is_tree or integrator.constraints or limited or touching:
            raise IntegratorError(
                f"solver='pcg' runs trees without loops, couplings, limits, constraints and contacts, which "
                f"{mechanism.name!r} has; use solver='dense'"
            )
        self.work = Workspace(mechanism)
        closure = mechanism.tree.closure
        self.arrays = force_arrays(mechanism)
        self.closure = (closure.rows, closure.coefficients, closure.count)
        n = mechanism.nv
        self.tau, self.zero, self.x = np.zeros(n), np.zeros(n), np.zeros(n)
        self.blocks, self.own = np.zeros((len(mechanism.tree.nodes), 21)), np.zeros((len(mechanism.tree.nodes), 6))
        self.scratch = np.zeros((6, n))

    def record(self, steps: int) -> Record:
        """q, v and the iterations of conjugate gradients."""
        record = super().record(steps)
        record["iterations"] = np.zeros(steps + 1, np.int64)
        return record

    def advance(self, record: Record, first: int, last: int, u: FloatArray) -> int:
        """See `Stepper.advance`."""
        w, rows = self.work, slice(first, last + 1)
        done = implicit.preconditioned_rollout(
            self.arrays,
            self.closure,
            (w.links, w.screws, w.external, self.own, self.tau, self.zero),
            self.dt,
            u,
            record["q"][rows],
            record["v"][rows],
            record["iterations"][rows],
            self.blocks,
            self.scratch,
            self.integrator.tolerance,
        )
        return first + int(done)

    def failure(self, step: int, record: Record) -> ConvergenceError:
        """The error of the step that failed."""
        return ConvergenceError("conjugate gradients did not converge; take a smaller dt, or solver='dense'", step=step)


def _stepper(integrator: Any, mechanism: Mechanism, dt: float) -> Stepper:
    kind = _PreconditionedStepper if integrator.solver == "pcg" else _ContactStepper
    return kind(integrator, mechanism, dt)


@dataclass(frozen=True)
class ConstrainedEuler(Integrator):
    """Linearly implicit Euler with constraints on the new velocity, order 1 (Sueda 2021, 2.86, 2.106, 2.112, 2.114).

    The step of `LinearlyImplicitEuler`, with prescribed motions, joint limits and contacts beside loops and couplings.
    Contact points and shapes touch the ground by the rules of `Maximal`, which also has the layout of the forces in
    `run.stored["contacts"]`. Springs and dampers may be as stiff as they like. Ball and free joints move by the
    exponential map; spline joints and forces of the user's own are for `LinearlyImplicitEuler`. Controls and prescribed
    motions are those at the end of a step.

    Attributes:
        constraints: prescribed motions and other constraints, see `leastaction.redmax`.
        stabilization: what brings drifted constraints back: "baumgarte" (1.97), "post" (a projection after each
            step, 1.12) or "none".
        baumgarte: rate gamma at which violations are taken back [1/s]; 1/dt at most.
        couplings: "constrain" keeps couplings by equations, "eliminate" by hyper-reduced coordinates (2.6).
        limits: whether joint limits act.
        friction: "none", or "single_qp" for friction of contacts in a single quadratic program (1.13).
        solver: "dense"; or "pcg", conjugate gradients preconditioned by Algorithm 10, for large trees with springs.
        tolerance: relative residual of "pcg".
        qp: solver of quadratic programs: "auto", "daqp" or "piqp"; used only where inequalities act.
        self_collision: whether shapes of bodies touch each other too, not only the ground.
    """

    constraints: tuple[Any, ...] = ()
    stabilization: str = "baumgarte"
    baumgarte: float = 5.0
    couplings: str = "constrain"
    limits: bool = True
    friction: str = "none"
    solver: str = "dense"
    tolerance: float = 1e-10
    qp: str = "auto"
    self_collision: bool = False
    handles: ClassVar[frozenset[str]] = PENALTIES
    stepper_class: ClassVar[Any] = staticmethod(_stepper)

    def __post_init__(self) -> None:
        check_settings(self)
        _one_of(self, "friction", ("none", "single_qp"))
        _one_of(self, "solver", ("dense", "pcg"))


def check_settings(integrator: Any) -> None:
    """Settings that all steppers in reduced coordinates share."""
    object.__setattr__(integrator, "constraints", tuple(integrator.constraints))
    _one_of(integrator, "stabilization", ("baumgarte", "post", "none"))
    _one_of(integrator, "couplings", ("constrain", "eliminate"))
    _one_of(integrator, "qp", SOLVERS)
    if not integrator.baumgarte >= 0.0:
        raise IntegratorError(f"baumgarte must be a rate [1/s] that is not negative, got {integrator.baumgarte!r}")


def _one_of(integrator: Any, name: str, options: tuple[str, ...]) -> None:
    value = getattr(integrator, name)
    if value not in options:
        words = ", ".join(map(repr, options))
        raise IntegratorError(f"{type(integrator).__name__}: {name} must be one of {words}; got {value!r}")
