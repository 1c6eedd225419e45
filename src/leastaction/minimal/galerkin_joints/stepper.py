"""The steppers of `Galerkin` and `Midpoint`, for trees and for mechanisms with loops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from leastaction._jit.bound import Bound
from leastaction.errors import ConvergenceError
from leastaction.forces.arrays import moves_with_bodies
from leastaction.integration.integrators import FloatArray
from leastaction.integration.record import Record
from leastaction.integration.step_reversal import StepReversal
from leastaction.mechanism import Mechanism
from leastaction.minimal.action_stepper import ActionStepper
from leastaction.minimal.arrays import Contractions, guess_data
from leastaction.minimal.galerkin_joints import joint_entries, joint_loops
from leastaction.minimal.galerkin_joints.arrays import GalerkinModel, GalerkinSettings, LinearData, StepData, TreeModel
from leastaction.minimal.galerkin_joints.derivatives import joint_horizon, parameter_rows
from leastaction.minimal.galerkin_joints.derivatives import joint_linearization as linear
from leastaction.minimal.galerkin_joints.derivatives import joint_loop_linearization as constrained_linear
from leastaction.minimal.galerkin_joints.derivatives.joint_hessian_derivative import contraction_data
from leastaction.minimal.galerkin_joints.joint_models import (
    galerkin_model,
    linear_data,
    loop_data,
    point_data,
    simplified_data,
    sizes,
    solver_data,
)
from leastaction.minimal.galerkin_joints.newton.joint_newton import turns_too_far
from leastaction.minimal.galerkin_joints.newton.tree_sparse_ldu import depths
from leastaction.minimal.loop_stepper import LoopStepper
from leastaction.minimal.quadrature_rules import Rule
from leastaction.minimal.substep_rollout import substep_data
from leastaction.step_control.bisection import FINEST
from leastaction.step_control.energy_balance import share_of_energy

SWEPT = 3
"""Half the order from which on "auto" means "simplified": there a step of chains and humanoids takes a third to a ninth
of the time; at order 4 steps of fast robots with free joints would take longer."""


def variational_stepper(integrator: Any, mechanism: Mechanism, dt: float) -> VariationalStepper:
    """The stepper for a mechanism, with or without loops. A loop joint without constraints has no equations."""
    closed = not mechanism.is_tree and len(mechanism.split_tree.closure.rows) > 0
    return (ConstrainedStepper if closed else VariationalStepper)(integrator, mechanism, dt)


class VariationalStepper(ActionStepper):
    """Stepper of `Galerkin` and `Midpoint` with the state (q, p); Newton to the integrator's tolerance.

    Attributes:
        model, settings, data: arrays of its kernels, see `arrays`.
        solver: name of the solver of the Newton direction.
    """

    model: GalerkinModel
    data: StepData

    def __init__(self, integrator: Any, mechanism: Mechanism, dt: float) -> None:
        super().__init__(integrator, mechanism, dt)
        rule: Rule = integrator.rule
        self.control_points = tuple(rule.c.tolist())
        self.control_nodes = self.control_points if len(rule.c) == len(rule.w) else (0.5,)
        tolerance, most = float(integrator.tolerance), int(integrator.max_iterations)
        self.settings = GalerkinSettings(rule, dt, tolerance, most, share_of_energy(mechanism), FINEST)
        self.model = self.compiled(mechanism)
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

    def compiled(self, mechanism: Mechanism) -> GalerkinModel:
        """See `ActionStepper.compiled`."""
        return galerkin_model(mechanism)

    def make_rollout(self, settings: GalerkinSettings) -> Bound:
        """See `ActionStepper.make_rollout`."""
        entry = getattr(joint_entries, f"{'swept' if self.data.sweeps else 'rollout'}_{self.solver}")
        return Bound(entry, self.model, settings, self.data._replace(substep=substep_data(self)))

    def linearize_solved(self, record: Record, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """See `BisectingStepper.linearize_solved`."""
        n = self.mechanism.nv
        A, B = np.zeros((2 * n, 2 * n)), np.zeros((2 * n, self.mechanism.nu))
        linear.linearize(*self._solved, record["q"], record["p"], A, B)
        return A, B

    def action_blocks(self, q: FloatArray, p: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(D, C) of the step from (q, p); see `leastaction.derivatives.action_blocks`."""
        self.solve_whole(q, p, self.held(u))
        linear.second_derivatives(*self._solved)
        return self.linear.hessian.D.copy(), self.linear.C.copy()

    def horizon_rows(self, q: FloatArray, u: FloatArray, dt: float, rows: FloatArray) -> None:
        """See `Stepper.horizon_rows`."""
        if "horizon_rows" not in self._kernels:
            self._kernels["horizon_rows"] = Bound(joint_horizon.rows, self.model, self.data.points)
        self._kernels["horizon_rows"](self.settings._replace(dt=dt), q, u, rows)

    def horizon_blocks(
        self, q: FloatArray, u: FloatArray, dt: float, rows: FloatArray, D: FloatArray, C: FloatArray
    ) -> None:
        """See `Stepper.horizon_blocks`."""
        if "horizon_blocks" not in self._kernels:
            self._kernels["horizon_blocks"] = Bound(joint_horizon.blocks, self.model, self.data.points, self.linear)
        self._kernels["horizon_blocks"](self.settings._replace(dt=dt), q, u, rows, D, C)

    def horizon_contractions(
        self, q: FloatArray, u: FloatArray, dt: float, rows: FloatArray, multipliers: FloatArray, out: FloatArray
    ) -> bool:
        """See `Stepper.horizon_contractions`."""
        if not self._is_plain:
            return False
        if "horizon_contractions" not in self._kernels:
            work = contraction_data(self.model.tree, len(self.control_points))
            first = (self.model, self.data.points, self.linear, work)
            self._kernels["horizon_contractions"] = Bound(joint_horizon.contractions, *first)
        self._kernels["horizon_contractions"](self.settings._replace(dt=dt), q, u, Contractions(rows, multipliers, out))
        return True

    @cached_property
    def _is_plain(self) -> bool:
        """Whether `joint_hessian_derivative` supports all forces: none on bodies or balls, balls at midpoints only."""
        tree = self.model.tree
        balls = [slice(int(n.iv), int(n.iv + 3)) for n in tree.nodes if n.nv == 3]
        held = any(tree.dofs.stiffness[k].any() or tree.dofs.armature[k].any() for k in balls)
        known = not balls or len(self.control_nodes) == 1
        return known and not held and tree.closure is None and tree.forces.paths is None

    def pull_back_solved(
        self, record: Record, u: FloatArray, bar: FloatArray, stencils: Sequence[Any]
    ) -> tuple[FloatArray, FloatArray]:
        """See `BisectingStepper.pull_back_solved`."""
        G = np.zeros((len(self.settings.rule.c), self.mechanism.nu))
        linear.pull_back(*self._solved, record["q"], record["p"], bar, G)
        by_controls = G if len(self.control_nodes) > 1 else G.sum(axis=0, keepdims=True)
        return by_controls, parameter_rows.pull_back(self, record["q"][0], u, stencils)

    def parameter_jacobian_solved(self, record: Record, u: FloatArray, stencils: Sequence[Any]) -> FloatArray:
        """See `BisectingStepper.parameter_jacobian_solved`."""
        return parameter_rows.jacobian(self, record, u, stencils)

    def reverse(self, names: Sequence[str]) -> StepReversal:
        """See `Stepper.reverse`."""
        return StepReversal(self, names)

    @property
    def _solved(self) -> tuple[Any, ...]:
        """First arguments of the kernels of `joint_linearization`."""
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
            why = f"a ball or free joint turns by more than half a turn within a part of the step; {self.advice}"
        else:
            why = self.no_solution
        return ConvergenceError(f"{name}: {why}", step=step, residuals=residuals)


def choose_solver(name: str, model: TreeModel, rule: Rule) -> str:
    """The solver for the Newton direction; "auto" compares the estimated times of the two exact ones."""
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
    """`VariationalStepper` for mechanisms with loops or couplings."""

    def __init__(self, integrator: Any, mechanism: Mechanism, dt: float) -> None:
        super().__init__(integrator, mechanism, dt)
        self.loops = loop_data(self.model.tree, self.settings, self.data.points, self.data.solver.hessian)
        self.system, self.lam = self.loops.system, self.data.points.lam

    def make_rollout(self, settings: GalerkinSettings) -> Bound:
        """See `ActionStepper.make_rollout`."""
        data = self.data._replace(substep=substep_data(self), loops=self.loops)
        return Bound(joint_loops.rollout, self.model, settings, data)

    def shorten(self) -> None:
        """See `BisectingStepper.shorten`."""
        super().shorten()
        self.loops = self.loops._replace(settings=self.loops.settings._replace(dt=self.dt))

    def step_derivatives(
        self, record: Record, u: FloatArray, stencils: Sequence[Any]
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """See `joint_loop_linearization`."""
        return constrained_linear.linearize(self, record, u, stencils)

    @cached_property
    def linear(self) -> LinearData:
        """Scratch of linearizations, which shares its second derivatives with the loops."""
        return super().linear._replace(hessian=self.data.solver.hessian)

    @cached_property
    def linear_ends(self) -> LinearData:
        """`linear` for the rule through the control points; for Galerkin that of the step."""
        if self.loops.points is self.data.points:
            return self.linear
        data = linear_data(self.model.tree, self.loops.settings.rule, self.mechanism.nu)
        return data._replace(hessian=self.loops.hessian)
