"""The steppers of `Galerkin` and `Midpoint`, for trees and for mechanisms with loops."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from leastaction._jit.bound import Bound
from leastaction.errors import ConvergenceError, LeastActionWarning
from leastaction.forces.arrays import moves_with_bodies
from leastaction.integrators import FloatArray, Stepper
from leastaction.mechanism import Mechanism
from leastaction.minimal.arrays import guess_data
from leastaction.minimal.jointwise import constrained, entries, horizon, parameter_rows
from leastaction.minimal.jointwise import constrained_linearization as constrained_linear
from leastaction.minimal.jointwise import linearization as linear
from leastaction.minimal.jointwise.arrays import GalerkinModel, GalerkinSettings, LinearData, StepData, TreeModel
from leastaction.minimal.jointwise.data import (
    galerkin_model,
    linear_data,
    loop_data,
    point_data,
    simplified_data,
    sizes,
    solver_data,
)
from leastaction.minimal.jointwise.newton import turns_too_far
from leastaction.minimal.jointwise.sparse import depths
from leastaction.minimal.loop_stepper import LoopStepper
from leastaction.minimal.rules import Rule
from leastaction.record import Record
from leastaction.step_reversal import StepReversal

SWEPT = 3
"""Half the order from which on "auto" means "simplified": there a step of chains and humanoids takes a third to a ninth
of the time; at order 4 those of fast robots with free joints would take longer."""


def variational_stepper(integrator: Any, mechanism: Mechanism, dt: float) -> VariationalStepper:
    """The stepper for a mechanism: with loops or without. A loop joint that leaves all free has no equations."""
    closed = not mechanism.is_tree and len(mechanism.split_tree.closure.rows) > 0
    return (ConstrainedStepper if closed else VariationalStepper)(integrator, mechanism, dt)


class VariationalStepper(Stepper):
    """Runs `Galerkin` and `Midpoint`: state (q, p), Newton to the integrator's tolerance.

    Attributes:
        model, settings, data: what its kernels read and write, see `arrays`.
        solver: name of the way to solve for the Newton direction.
    """

    momentum = True
    can = frozenset({"linearize", "parameters", "residual", "reverse"})
    model: GalerkinModel
    data: StepData

    def __init__(self, integrator: Any, mechanism: Mechanism, dt: float) -> None:
        super().__init__(integrator, mechanism, dt)
        rule: Rule = integrator.rule
        self.control_points = tuple(rule.c.tolist())
        self.control_nodes = self.control_points if len(rule.c) == len(rule.w) else (0.5,)
        self.settings = GalerkinSettings(rule, dt, float(integrator.tolerance), int(integrator.max_iterations))
        self.model = galerkin_model(mechanism)
        tree = self.model.tree
        size = sizes(tree, rule)
        self.solver = choose_solver(integrator.solver, tree, rule) if mechanism.is_tree else "dense"
        swept = integrator.solver == "simplified" or (integrator.solver == "auto" and size.s >= SWEPT)
        self.data = StepData(
            points=point_data(tree, rule),
            guess=guess_data(mechanism),
            solver=solver_data(self.solver, tree, rule),
            sweeps=simplified_data(size, rule) if swept else None,
            p=np.zeros(size.nv),
            dx=np.zeros((size.s, size.nv)),
            history=np.zeros(integrator.max_iterations + 1),
        )
        self.warned = False
        self._kernels: dict[str, Bound] = {}

    def record(self, steps: int) -> Record:
        """As `Stepper.record`, with the Newton iterations of each step."""
        return super().record(steps) | {"iterations": np.zeros(steps + 1, np.int64)}

    def advance(self, record: Record, first: int, last: int, u: FloatArray) -> int:
        """See `Stepper.advance`."""
        # A fresh array always has the same type; views with other strides would be compiled anew.
        u = np.array(u, order="C")
        rollout = self._bound("swept" if self.data.sweeps else "rollout")
        q, p, iterations = record["q"], record["p"], record["iterations"]
        done = first
        while done < last:
            rows = slice(done, last + 1)
            done += rollout(u[done - first :], q[rows], p[rows], iterations[rows])
            if done < last:
                if not self.rescue(record, done, u[done - first]):
                    break
                done += 1
        return done

    def _bound(self, what: str) -> Bound:
        """The kernel `what` of `entries` for this stepper's solver."""
        if what not in self._kernels:
            entry = getattr(entries, f"{what}_{self.solver}")
            self._kernels[what] = Bound(entry, self.model, self.settings, self.data)
        return self._kernels[what]

    def rescue(self, record: Record, step: int, u: FloatArray) -> bool:
        """Solve a step that does not converge from its first guess, with the controls u (nodes, nu); False: in vain."""
        if self.solver == "quasi":
            return False
        rows, doubt = slice(step, step + 2), np.zeros(4)
        more, converged = self._bound("rescue")(u, record["q"][rows], record["p"][rows], doubt)
        record["iterations"][step + 1] += more
        if doubt.any():
            self._warn(step, doubt)
        return converged

    def _warn(self, step: int, doubt: FloatArray) -> None:
        """Tell, once a run, of a step so large that only an implausible solution was found; see `rescue`."""
        if self.warned:
            return
        self.warned = True
        _, before, after, work = doubt
        warnings.warn(
            f"{type(self.integrator).__name__}: dt = {self.dt:g} s is too large for step {step}, "
            f"{step * self.dt:g} s from the start: the only solution found takes the kinetic energy from "
            f"{before:.4g} J to {after:.4g} J while the forces do {work:.4g} J of work; take a smaller dt",
            LeastActionWarning,
            stacklevel=6,
        )

    def linearize(self, q: FloatArray, p: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(A, B) of the step from (q, p) with the controls u (nu,) held; see `leastaction.linearize`."""
        m, n = self.mechanism, self.mechanism.nv
        record = self._solve(q, p, np.broadcast_to(u, (1, len(self.control_nodes), m.nu)))
        A, B = np.zeros((2 * n, 2 * n)), np.zeros((2 * n, m.nu))
        linear.linearize(*self._solved, record["q"], record["p"], A, B)
        return A, B

    def action_blocks(self, q: FloatArray, p: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(D, C) of the step from (q, p); see `leastaction.derivatives.action_blocks`."""
        self._solve(q, p, np.broadcast_to(u, (1, len(self.control_nodes), self.mechanism.nu)))
        linear.second_derivatives(*self._solved)
        return self.linear.hessian.D.copy(), self.linear.C.copy()

    def residual(self, q: FloatArray, p: FloatArray, u: FloatArray, x: FloatArray) -> FloatArray:
        """See `Stepper.residual`; rows along the tangents of the control points."""
        rows = np.zeros((1, len(x) + 1, self.mechanism.nv))
        self.horizon_rows(self._control_points(q, x), self._at_points(u)[None], self.dt, rows)
        rows[0, 0] += p
        return rows[0]

    def residual_blocks(
        self, q: FloatArray, p: FloatArray, u: FloatArray, x: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """See `Stepper.residual_blocks`."""
        points, n = len(x) + 1, self.mechanism.nv
        rows, D = np.zeros((1, points, n)), np.zeros((1, points, n, points, n))
        C = np.zeros((1, points, n, len(self.control_nodes), self.mechanism.nu))
        self.horizon_blocks(self._control_points(q, x), self._at_points(u)[None], self.dt, rows, D, C)
        rows[0, 0] += p
        return rows[0], D[0], C[0]

    def _control_points(self, q: FloatArray, x: FloatArray) -> FloatArray:
        """Configurations displaced from q by 0 and x, shape (s + 1, nq)."""
        return np.concatenate([q[None], self.mechanism.integrate(q, x)])

    def horizon_rows(self, q: FloatArray, u: FloatArray, dt: float, rows: FloatArray) -> None:
        """See `Stepper.horizon_rows`."""
        if "horizon_rows" not in self._kernels:
            self._kernels["horizon_rows"] = Bound(horizon.rows, self.model, self.data.points)
        self._kernels["horizon_rows"](self.settings._replace(dt=dt), q, u, rows)

    def horizon_blocks(
        self, q: FloatArray, u: FloatArray, dt: float, rows: FloatArray, D: FloatArray, C: FloatArray
    ) -> None:
        """See `Stepper.horizon_blocks`."""
        if "horizon_blocks" not in self._kernels:
            self._kernels["horizon_blocks"] = Bound(horizon.blocks, self.model, self.data.points, self.linear)
        self._kernels["horizon_blocks"](self.settings._replace(dt=dt), q, u, rows, D, C)

    def _at_points(self, u: FloatArray) -> FloatArray:
        """Controls as kernels take them, shape (nodes, nu)."""
        return np.array(np.broadcast_to(u, (len(self.control_nodes), self.mechanism.nu)), order="C")

    def pull_back(self, q: FloatArray, p: FloatArray, u: FloatArray, bar: FloatArray) -> FloatArray:
        """Turn the gradient `bar` (2 nv) at the end of a step into that at its start, in place.

        Args:
            q, p: start of the step.
            u: controls at the control nodes, shape (nodes, nu).
            bar: gradient by (q', p') along the tangent.

        Returns:
            Gradient by the controls, shape (nodes, nu).
        """
        record = self._solve(q, p, u[None])
        G = np.zeros((len(self.settings.rule.c), self.mechanism.nu))
        linear.pull_back(*self._solved, record["q"], record["p"], bar, G)
        return G if len(self.control_nodes) > 1 else G.sum(axis=0, keepdims=True)

    def pull_back_all(
        self, q: FloatArray, p: FloatArray, u: FloatArray, bar: FloatArray, stencils: Sequence[Any]
    ) -> tuple[FloatArray, FloatArray]:
        """See `Stepper.pull_back_all`."""
        by_controls = self.pull_back(q, p, u, bar)
        return by_controls, parameter_rows.pull_back(self, q, self._at_points(u), stencils)

    def parameter_jacobian(self, q: FloatArray, p: FloatArray, u: FloatArray, stencils: Sequence[Any]) -> FloatArray:
        """See `Stepper.parameter_jacobian`."""
        record = self._solve(q, p, self._at_points(u)[None])
        return parameter_rows.jacobian(self, record, self._at_points(u), stencils)

    def reverse(self, names: Sequence[str]) -> StepReversal:
        """See `Stepper.reverse`."""
        return StepReversal(self, names)

    def _solve(self, q: FloatArray, p: FloatArray, u: FloatArray) -> Record:
        """One step; leaves its control points in the data."""
        record = self.record(1)
        record["q"][0], record["p"][0] = q, p
        if self.advance(record, 0, 1, u) < 1:
            raise self.failure(0, record)
        return record

    @property
    def _solved(self) -> tuple[Any, ...]:
        """What kernels of `linearization` take first."""
        return self.model.tree, self.settings, self.data.points, self.linear

    @cached_property
    def linear(self) -> LinearData:
        """Scratch of linearizations."""
        return linear_data(self.model.tree, self.settings.rule, self.mechanism.nu)

    def failure(self, step: int, record: Record) -> ConvergenceError:
        """See `Stepper.failure`."""
        name = type(self.integrator).__name__
        residuals = [float(x) for x in self.data.history if x > 0.0 or math.isnan(x)]
        if any(math.isnan(x) for x in residuals):
            why = "the equations became NaN; is there a body without inertia on a joint, or a force without bound?"
        elif turns_too_far(self.model.tree.nodes, self.data.points.X):
            why = "a ball or free joint turns by more than half a turn within the step; take a smaller dt"
        else:
            why = (
                f"the Newton updates did not fall below {self.integrator.tolerance:g} within "
                f"{self.integrator.max_iterations} iterations; take a smaller dt or a larger tolerance"
            )
        return ConvergenceError(f"{name}: {why}", step=step, residuals=residuals)


def choose_solver(name: str, model: TreeModel, rule: Rule) -> str:
    """The solver for the Newton direction; "auto" counts the work of the two exact ones."""
    if name not in ("auto", "simplified"):
        return name
    if not moves_with_bodies(model.forces):
        return "dense"
    _, nv, s, Q, mz, mf = sizes(model, rule)
    if s == Q or s <= 2:
        return "recursive"  # midpoint rule and orders 2 and 4: faster at every size, and one kernel serves them all
    # Microseconds on one core, fitted to pendulums of 8 to 128 links and the humanoid at orders 2 and 4.
    depth = depths(model.nodes, nv).astype(float)
    scalar = (s * depth[:, None] + np.arange(s)).ravel()
    factor = 4.2e-4 * float((scalar**2).sum())
    assemble = 0.155 * nv * s * Q + 1.1e-3 * s * s * Q * float(depth.sum())
    recursive = 0.85 * nv * mz * mf * (1.4e-3 + 2.6e-4 * s)
    return "sparse" if factor + assemble < recursive else "recursive"


class ConstrainedStepper(LoopStepper, VariationalStepper):
    """Runs them on mechanisms with loops or couplings."""

    def __init__(self, integrator: Any, mechanism: Mechanism, dt: float) -> None:
        super().__init__(integrator, mechanism, dt)
        self.loops = loop_data(self.model.tree, self.settings, self.data.points, self.data.solver.hessian)
        self.system, self.lam = self.loops.system, self.data.points.lam
        self._loop_kernel = Bound(constrained.rollout, self.model, self.settings, self.data, self.loops)

    def advance(self, record: Record, first: int, last: int, u: FloatArray) -> int:
        """See `Stepper.advance`."""
        rows = slice(first, last + 1)
        states = (record[name][rows] for name in ("q", "p", "iterations", "multipliers"))
        return first + self._loop_kernel(np.array(u, order="C"), *states)

    def step_derivatives(
        self, q: FloatArray, p: FloatArray, u: FloatArray, stencils: Sequence[Any]
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """See `constrained_linearization`."""
        return constrained_linear.linearize(self, self._solve(q, p, u[None]), u, stencils)

    @cached_property
    def linear(self) -> LinearData:
        """Scratch of linearizations; its second derivatives are those that the loops read."""
        return super().linear._replace(hessian=self.data.solver.hessian)

    @cached_property
    def linear_ends(self) -> LinearData:
        """The same for the rule through the control points; for Galerkin that of the step."""
        if self.loops.points is self.data.points:
            return self.linear
        data = linear_data(self.model.tree, self.loops.settings.rule, self.mechanism.nu)
        return data._replace(hessian=self.loops.hessian)
