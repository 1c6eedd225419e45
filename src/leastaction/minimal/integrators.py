"""`Galerkin` and `Midpoint`: variational integrators in joint coordinates."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from leastaction.dynamics.loops import check_closed, is_redundant, momentum_projection
from leastaction.errors import ConvergenceError, IntegratorError, LeastActionWarning, MechanismError
from leastaction.forces.arrays import force_arrays
from leastaction.integrators import FloatArray, Integrator, Stepper, refuse_loops
from leastaction.kinematics.sweeps import JOINT_SCREW, LINK
from leastaction.mechanism import Mechanism
from leastaction.minimal import (
    constrained,
    entries,
)
from leastaction.minimal import (
    constrained_linearization as constrained_linear,
)
from leastaction.minimal import (
    linearization as linear,
)
from leastaction.minimal.newton import turns_too_far
from leastaction.minimal.rules import MIDPOINT, Rule, lobatto
from leastaction.minimal.sparse import depths
from leastaction.minimal.workspace import Workspace, records
from leastaction.record import Record
from leastaction.step_reversal import StepReversal

SOLVERS = ("auto", "simplified", "sparse", "recursive", "dense", "quasi")

SWEPT = 3
"""Half the order from which on "auto" means "simplified": there a step of chains and humanoids takes a third to a ninth
of the time; at order 4 those of fast robots with free joints would take longer."""


class VariationalStepper(Stepper):
    """Runs `Galerkin` and `Midpoint`: state (q, p), Newton to the integrator's tolerance."""

    momentum = True
    can = frozenset({"linearize", "residual", "reverse"})

    def __init__(self, integrator: Any, mechanism: Mechanism, dt: float) -> None:
        super().__init__(integrator, mechanism, dt)
        rule = integrator.rule
        self.rule = rule
        self.control_nodes = tuple(rule[0].tolist()) if len(rule[0]) == len(rule[1]) else (0.5,)
        w = Workspace(mechanism, rule)
        self.work = w
        n, nv = len(mechanism.tree.nodes), mechanism.nv
        self.classical = (
            records(n, LINK),
            records(nv, JOINT_SCREW),
            np.zeros((n, 6)),
            np.zeros(nv),
            np.zeros(nv),
            np.zeros(nv),
            np.zeros(3),
            np.zeros(nv),
            np.zeros(nv),
            np.zeros(nv),
            np.zeros(mechanism.nq),
            np.zeros(nv),
            np.zeros(nv),
        )
        self.warned = False
        self.history = np.zeros(integrator.max_iterations + 1)
        self.settings = (float(integrator.tolerance), int(integrator.max_iterations))
        self.solver_name = choose_solver(integrator.solver, w)
        self.solver = solver_arrays(self.solver_name, w)
        swept = integrator.solver == "simplified" or (integrator.solver == "auto" and w.s >= SWEPT)
        self.simple = w.simplified_arrays(swept)
        self.rollout = getattr(entries, f"rollout_{self.solver_name}")

    def record(self, steps: int) -> Record:
        """As `Stepper.record`, with the Newton iterations of each step."""
        return super().record(steps) | {"iterations": np.zeros(steps + 1, np.int64)}

    def advance(self, record: Record, first: int, last: int, u: FloatArray) -> int:
        """See `Stepper.advance`."""
        w, rows = self.work, slice(first, last + 1)
        # A fresh array always has the same type; views with other strides would be compiled anew.
        u = np.array(u, order="C")
        problem = (w.model, force_arrays(self.mechanism), w.tree.free, self.rule, w.work, w.var)
        doubts = np.zeros((last - first, 4))
        problem += (self.solver, self.simple, self.classical, np.zeros(w.nv), w.dx, self.history, doubts)
        states = (record["q"][rows], record["p"][rows], record["iterations"][rows])
        done = self.rollout(problem, u, self.dt, self.settings, *states)
        if doubts.any():
            self._warn(first, doubts)
        return first + done

    def _warn(self, first: int, doubts: FloatArray) -> None:
        """Tell, once a run, of steps so large that only an implausible solution was found; see `newton.step`."""
        if self.warned:
            return
        self.warned = True
        k = int(np.flatnonzero(doubts[:, 0])[0])
        _, before, after, work = doubts[k]
        warnings.warn(
            f"{type(self.integrator).__name__}: dt = {self.dt:g} s is too large for step {first + k}, "
            f"{(first + k) * self.dt:g} s from the start: the only solution found takes the kinetic energy from "
            f"{before:.4g} J to {after:.4g} J while the forces do {work:.4g} J of work; take a smaller dt",
            LeastActionWarning,
            stacklevel=5,
        )

    def linearize(self, q: FloatArray, p: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(A, B) of the step from (q, p) with the controls u (nu,) held; see `leastaction.linearize`."""
        w, m = self.work, self.mechanism
        record = self._solve(q, p, np.broadcast_to(u, (1, len(self.control_nodes), m.nu)))
        A, B = np.zeros((2 * w.nv, 2 * w.nv)), np.zeros((2 * w.nv, m.nu))
        ends = (record["q"][0], record["p"][0], record["q"][1], record["p"][1])
        linear.linearize(w.model, w.tree.free, self.rule, w.work, *self._linear, *ends, self.dt, A, B)
        return A, B

    def action_blocks(self, q: FloatArray, p: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(D, C) of the step from (q, p); see `leastaction.derivatives.action_blocks`."""
        w, m = self.work, self.mechanism
        self._solve(q, p, np.broadcast_to(u, (1, len(self.control_nodes), m.nu)))
        full, D, C, _ = self._linear
        linear.second_derivatives(w.model, self.rule, w.work, full, D, C, self.dt)
        return D.copy(), C.copy()

    def pull_back(self, q: FloatArray, p: FloatArray, u: FloatArray, bar: FloatArray) -> FloatArray:
        """Turn the gradient `bar` (2 nv) at the end of a step into that at its start, in place.

        Args:
            q, p: start of the step.
            u: controls at the control nodes, shape (nodes, nu).
            bar: gradient by (q', p') along the tangent.

        Returns:
            Gradient by the controls, shape (nodes, nu).
        """
        w, m = self.work, self.mechanism
        record = self._solve(q, p, u[None])
        G = np.zeros((w.s + 1, m.nu))
        ends = (record["q"][0], record["p"][0], record["q"][1], record["p"][1])
        linear.pull_back(w.model, w.tree.free, self.rule, w.work, *self._linear, *ends, self.dt, bar, G)
        return G if len(self.control_nodes) > 1 else G.sum(axis=0, keepdims=True)

    def reverse(self, names: Sequence[str]) -> StepReversal:
        """See `Stepper.reverse`."""
        return StepReversal(self, names)

    def _solve(self, q: FloatArray, p: FloatArray, u: FloatArray) -> Record:
        """One step; leaves its control points in the work space."""
        record = self.record(1)
        record["q"][0], record["p"][0] = q, p
        if self.advance(record, 0, 1, u) < 1:
            raise self.failure(0, record)
        return record

    @cached_property
    def _linear(self) -> tuple[Any, ...]:
        w = self.work
        return *w.hessian_arrays(), np.zeros((w.s + 1, w.nv, self.mechanism.nu)), np.zeros((w.s * w.nv,) * 2)

    def failure(self, step: int, record: Record) -> ConvergenceError:
        """See `Stepper.failure`."""
        name = type(self.integrator).__name__
        residuals = [float(x) for x in self.history if x > 0.0 or math.isnan(x)]
        if any(math.isnan(x) for x in residuals):
            why = "the equations became NaN; is there a body without inertia on a joint, or a force without bound?"
        elif turns_too_far(self.work.model[0], self.work.X):
            why = "a ball or free joint turns by more than half a turn within the step; take a smaller dt"
        else:
            why = (
                f"the Newton updates did not fall below {self.integrator.tolerance:g} within "
                f"{self.integrator.max_iterations} iterations; take a smaller dt or a larger tolerance"
            )
        return ConvergenceError(f"{name}: {why}", step=step, residuals=residuals)


def choose_solver(name: str, w: Workspace) -> str:
    """The solver for the Newton direction; "auto" counts the work of the two exact ones."""
    if name not in ("auto", "simplified"):
        return name
    if len(w.tree.paths) or (w.tree.wrenches.local == 0).any():
        return "dense"
    if w.s == w.Q or w.s <= 2:
        return "recursive"  # midpoint rule and orders 2 and 4: faster at every size, and one kernel serves them all
    # Microseconds on one core, fitted to pendulums of 8 to 128 links and the humanoid at orders 2 and 4.
    depth = depths(w.tree).astype(float)
    s = w.s
    scalar = (s * depth[:, None] + np.arange(s)).ravel()
    factor = 4.2e-4 * float((scalar**2).sum())
    assemble = 0.155 * w.nv * s * w.Q + 1.1e-3 * s * s * w.Q * float(depth.sum())
    recursive = 0.85 * w.nv * w.mz * w.mf * (1.4e-3 + 2.6e-4 * s)
    return "sparse" if factor + assemble < recursive else "recursive"


def solver_arrays(name: str, w: Workspace) -> tuple[Any, ...]:
    """Arrays of a solver for the Newton direction."""
    size = w.s * w.nv
    if name == "recursive":
        return w.recursion_arrays()
    if name == "quasi":
        return (
            records(w.n, LINK),
            records(w.nv, JOINT_SCREW),
            np.zeros((w.n, 6)),
            np.zeros(3),
            np.zeros(w.nv),
        )
    if name == "sparse":
        return *w.sparse_arrays(), np.zeros(size)
    return *w.hessian_arrays(), np.zeros((size, size)), np.zeros((size, 1))


def _check(integrator: Any) -> None:
    name = type(integrator).__name__
    if not (isinstance(integrator.tolerance, float | int) and 0.0 < integrator.tolerance < 1.0):
        raise IntegratorError(f"{name}: tolerance must be between 0 and 1, got {integrator.tolerance!r}")
    if not isinstance(integrator.max_iterations, int) or integrator.max_iterations < 1:
        raise IntegratorError(f"{name}: max_iterations must be at least 1, got {integrator.max_iterations!r}")
    if integrator.solver not in SOLVERS:
        raise IntegratorError(f"{name}: solver must be one of {', '.join(SOLVERS)}, got {integrator.solver!r}")


class ConstrainedStepper(VariationalStepper):
    """Runs `Galerkin` on mechanisms with loops or couplings; multipliers are part of the record."""

    def __init__(self, integrator: Any, mechanism: Mechanism, dt: float) -> None:
        super().__init__(integrator, mechanism, dt)
        w = self.work
        closure = mechanism.tree.closure
        m, s = closure.count, w.s
        self.solver = solver_arrays("dense", w)
        H, H_start = np.zeros((s * m, s * w.nv)), np.zeros((s * m, w.nv))
        self.kkt = (np.zeros(s * m), np.zeros((s * w.nv, s * m)), H, H_start, w.dx)
        self.redundant = False
        self.loops = (np.zeros(m), np.zeros((m, w.nv)), np.zeros((w.nv, w.nv)))

    def prepare_start(self, q: FloatArray) -> FloatArray:
        """Refuse open loops; find out whether their equations depend on each other."""
        check_closed(self.mechanism, q)
        self.redundant = is_redundant(self.mechanism, q)
        return q

    def prepare_momentum(self, q: FloatArray, p: FloatArray, project: bool) -> FloatArray:
        """Refuse (or, with `project`, mend) a momentum whose velocity opens the loops."""
        t = self.mechanism.tree
        c, out = t.closure, p.copy()
        links, screws = self.classical[0], self.classical[1]
        arrays = (t.nodes, t.dofs, c.rows, c.coefficients, c.count, links, screws)
        momentum_projection(*arrays, q, out, *self.loops, self.redundant)
        change, scale = np.abs(out - p).max(initial=0.0), max(1.0, np.abs(p).max(initial=0.0))
        if change <= 1e-10 * scale:
            return p  # it fits already: a restarted run must go on with the very same numbers
        if not project and change > 1e-6 * scale:
            raise MechanismError(
                "the initial velocity opens the loops (v, or that of p); pass project=True to simulate, to take the "
                "nearest one that does not"
            )
        return out

    def record(self, steps: int) -> Record:
        """As `Stepper.record`, with the forces [N or N m] in the loop equations, one per equation."""
        return super().record(steps) | {"multipliers": np.zeros((steps + 1, self.mechanism.tree.closure.count))}

    def advance(self, record: Record, first: int, last: int, u: FloatArray) -> int:
        """See `Stepper.advance`."""
        w, rows, t = self.work, slice(first, last + 1), self.mechanism.tree
        c = t.closure
        done = constrained.rollout(
            w.model,
            force_arrays(self.mechanism),
            w.tree.free,
            self.rule,
            w.work,
            self.solver,
            self.kkt,
            self.classical,
            (c.rows, c.coefficients, c.count, *self.loops, self.redundant),
            np.array(u, order="C"),
            self.dt,
            self.settings,
            np.zeros(w.nv),
            self.history,
            record["q"][rows],
            record["p"][rows],
            record["iterations"][rows],
            record["multipliers"][rows],
        )
        return first + done

    def linearize(self, q: FloatArray, p: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(A, B) of a step with loops; see `constrained_linear`."""
        q = self.prepare_start(q)
        controls = np.array(np.broadcast_to(u, (len(self.control_nodes), self.mechanism.nu)))
        record = self._solve(q, self.prepare_momentum(q, p, False), controls[None])
        return constrained_linear.linearize(self, record, controls)

    def action_blocks(self, q: FloatArray, p: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(D, C) of a step with loops, the work of their multipliers included."""
        q = self.prepare_start(q)
        return super().action_blocks(q, self.prepare_momentum(q, p, False), u)

    def pull_back(self, q: FloatArray, p: FloatArray, u: FloatArray, bar: FloatArray) -> FloatArray:
        """As for trees, by the full linearization; the gradient by held controls stands in its first row."""
        if np.ptp(u, axis=0).any():
            raise IntegratorError("with loops, gradients need controls that are held over each step")
        A, B = self.linearize(q, p, u[0])
        gradient = np.zeros((len(self.control_nodes), self.mechanism.nu))
        gradient[0] = B.T @ bar
        bar[:] = A.T @ bar
        return gradient


def variational_stepper(integrator: Any, mechanism: Mechanism, dt: float) -> VariationalStepper:
    """The stepper for a mechanism: with loops or without."""
    if mechanism.is_tree:
        return VariationalStepper(integrator, mechanism, dt)
    if not isinstance(integrator, Galerkin):
        refuse_loops(integrator, mechanism)
    return ConstrainedStepper(integrator, mechanism, dt)


@dataclass(frozen=True)
class Galerkin(Integrator):
    """Galerkin variational integrator of any even order (Fan 2018): symplectic, keeps momenta, no energy drift.

    Interpolation and quadrature at order/2 + 1 Lobatto points: order 2 is the trapezoidal, order 4 the Simpson
    variational integrator. Ball and free joints have no singular orientation.

    Attributes:
        order: 2, 4, 6, ...
        tolerance: size of the Newton update [rad or m] at which a step counts as solved.
        max_iterations: Newton iterations allowed from each first guess.
        solver: "auto", "sparse" (tree-sparse LDU), "recursive" (O(n)) or "dense" (the whole matrix); or "quasi", the
            quasi-Newton method of Lee et al. 2016, for comparison and of order 2 only. "simplified": cheap sweeps
            first, Newton where they converge too slowly; `iterations` counts both. "auto" does so from order 6 on.
    """

    order: int = 2
    tolerance: float = 1e-12
    max_iterations: int = 200
    solver: str = "auto"
    stepper_class: ClassVar[Any] = staticmethod(variational_stepper)

    def __post_init__(self) -> None:
        if not isinstance(self.order, int) or self.order < 2 or self.order % 2 or self.order > 24:
            raise IntegratorError(f"Galerkin: order must be 2, 4, 6, ... up to 24, got {self.order!r}")
        if self.solver == "quasi" and self.order != 2:
            raise IntegratorError(f"Galerkin: solver 'quasi' is of order 2 only, got order {self.order}")
        _check(self)

    @property
    def rule(self) -> Rule:
        """Control points, weights and differentiation matrix."""
        return lobatto(self.order // 2)


@dataclass(frozen=True)
class Midpoint(Integrator):
    """Variational integrator of the midpoint rule, order 2 (the rule of DMOC, Villanueva 2025).

    Attributes:
        tolerance: size of the Newton update [rad or m] at which a step counts as solved.
        max_iterations: Newton iterations allowed from each first guess.
        solver: "auto", "sparse" (tree-sparse LDU), "recursive" (O(n)) or "dense" (the whole matrix); or "quasi", the
            quasi-Newton method of Lee et al. 2016, for comparison; or "simplified", cheap sweeps before Newton.
    """

    tolerance: float = 1e-12
    max_iterations: int = 200
    solver: str = "auto"
    stepper_class: ClassVar[Any] = staticmethod(variational_stepper)

    def __post_init__(self) -> None:
        _check(self)

    @property
    def rule(self) -> Rule:
        """Control points, weights and differentiation matrix."""
        return MIDPOINT
