"""The stepper of `Galerkin` on the poses of bodies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from leastaction._jit.bound import Bound
from leastaction.errors import ConvergenceError
from leastaction.forces.arrays import items_of
from leastaction.integration.integrators import FloatArray
from leastaction.integration.record import Record
from leastaction.integration.step_reversal import StepReversal
from leastaction.mechanism import Mechanism
from leastaction.minimal.action_stepper import ActionStepper
from leastaction.minimal.arrays import Contractions, guess_data
from leastaction.minimal.galerkin_bodies import body_entries
from leastaction.minimal.galerkin_bodies.arrays import (
    GalerkinBodiesModel,
    GalerkinBodiesSettings,
    galerkin_bodies_data,
    galerkin_bodies_model,
)
from leastaction.minimal.galerkin_bodies.derivatives import body_horizon
from leastaction.minimal.galerkin_bodies.derivatives.body_hessian_derivative import contraction_data
from leastaction.minimal.galerkin_bodies.feature_flags import needed_features
from leastaction.minimal.substep_rollout import substep_data
from leastaction.parameters.parameter_differences import Stencil
from leastaction.step_control.bisection import FINEST
from leastaction.step_control.energy_balance import share_of_energy


class GalerkinBodiesStepper(ActionStepper):
    """Stepper of `Galerkin` on body poses with the state (q, p); Newton to the integrator's tolerance.

    Attributes:
        model, settings, data: arrays of its kernels, see `arrays`.
    """

    def __init__(self, integrator: Any, mechanism: Mechanism, dt: float) -> None:
        super().__init__(integrator, mechanism, dt)
        self.model = self.compiled(mechanism)
        tolerance, most = float(integrator.tolerance), int(integrator.max_iterations)
        self.settings = GalerkinBodiesSettings(dt, tolerance, most, share_of_energy(mechanism), FINEST)
        self.data = self._make_data(self.model.tied)
        self.control_nodes = self.control_points = tuple(self.model.rule.c.tolist())

    def compiled(self, mechanism: Mechanism) -> GalerkinBodiesModel:
        """See `ActionStepper.compiled`."""
        return galerkin_bodies_model(mechanism, self.integrator.order // 2)

    def _make_data(self, dense: bool) -> Any:
        return galerkin_bodies_data(self.model, guess_data(self.mechanism), self.settings.max_iterations, dense)

    def make_rollout(self, settings: GalerkinBodiesSettings) -> Bound:
        """See `ActionStepper.make_rollout`."""
        data = self.data._replace(substep=substep_data(self))
        if self.model.tied:
            return Bound(body_entries.rollout_dense, self.model, settings, data)
        ways = needed_features(self.model)
        model = self.model._replace(ways=ways, jumps=ways.soft)  # limits with dampers belong to the springs
        return Bound(body_entries.rollout_recursive, model, settings, data._replace(dense=None))

    # ------------------------------------------------------------------ derivatives

    def _differentiate(self, p: FloatArray, u: FloatArray) -> FloatArray:
        """Compute the derivatives at the current nodes in `data.dense`; returns the rows of the equations there."""
        nodes, n, nu = len(self.control_nodes), self.mechanism.nv, self.mechanism.nu
        rows, D, C = np.zeros((1, nodes, n)), np.zeros((1, nodes, n, nodes, n)), np.zeros((1, nodes, n, nodes, nu))
        self._be_dense()
        self._horizon("blocks")(self.settings, self.data.Q, np.array(u[None], order="C"), False, rows, D, C)
        rows[0, 0] += p
        return rows[0]

    def _horizon(self, what: str) -> Bound:
        """The kernel `what` of `body_horizon`; only its `blocks` need the dense derivatives."""
        if what not in self._kernels:
            data = self.data._replace(pushes=None) if what == "blocks" else self._bare
            scratch = (contraction_data(self.model),) if what == "contractions" else ()
            self._kernels[what] = Bound(getattr(body_horizon, what), self.model, data, *scratch)
        return self._kernels[what]

    @property
    def _bare(self) -> Any:
        """The data without arrays for Newton's directions and dense derivatives, so that fewer kernels are compiled."""
        return self.data._replace(dense=None, pushes=None)

    def _be_dense(self) -> None:
        if self.data.dense is None:
            self.data = self.data._replace(dense=self._make_data(True).dense)

    def linearize_solved(self, record: Record, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """See `BisectingStepper.linearize_solved`."""
        n, nu = self.mechanism.nv, self.mechanism.nu
        self._differentiate(record["p"][0], u)
        A, B = np.zeros((2 * n, 2 * n)), np.zeros((2 * n, nu))
        if "linearize" not in self._kernels:
            self._kernels["linearize"] = Bound(body_entries.linearize, self.data.dense)
        self._kernels["linearize"](A, B)
        return A, B

    def rows_of(self, mechanism: Mechanism, p: FloatArray, u: FloatArray) -> FloatArray:
        """Rows (s + 1, nv) of the equations of another mechanism at the current nodes."""
        model, name = self.other(mechanism), f"rows of {id(mechanism)}"
        if name not in self._kernels:
            self._kernels[name] = Bound(body_horizon.rows, model, self._bare)
        rows = np.zeros((1, len(self.control_nodes), len(p)))
        with items_of(self.data.modes, model.forces):
            self._kernels[name](self.settings, self.data.Q, np.array(u[None], order="C"), False, rows)
        rows[0, 0] += p
        return rows[0]

    def _changes(self, p: FloatArray, u: FloatArray, stencils: Sequence[Stencil]) -> FloatArray:
        """Derivatives of the rows by parameters at the current nodes, shape (s + 1, nv, len(stencils)).

        The derivative by a parameter at fixed nodes is a weighted sum over mechanisms with other values.
        """
        out = np.zeros((len(self.control_nodes), len(p), len(stencils)))
        for k, stencil in enumerate(stencils):
            for weight, mechanism in stencil:
                out[:, :, k] += weight * self.rows_of(mechanism, p, u)
        return out

    def pull_back_solved(
        self, record: Record, u: FloatArray, bar: FloatArray, stencils: Sequence[Stencil]
    ) -> tuple[FloatArray, FloatArray]:
        """See `BisectingStepper.pull_back_solved`."""
        p = record["p"][0]
        self._differentiate(p, u)
        by_momenta, by_controls = bar[self.mechanism.nv :].copy(), np.zeros(u.shape)
        body_entries.pull_back(self.data.dense, bar, by_controls)
        # The transposed solve has stored its multipliers of all rows but the last.
        multipliers = np.concatenate([self.data.dense.rhs[:, 0], by_momenta])
        return by_controls, multipliers @ self._changes(p, u, stencils).reshape(len(multipliers), -1)

    def parameter_jacobian_solved(self, record: Record, u: FloatArray, stencils: Sequence[Stencil]) -> FloatArray:
        """See `BisectingStepper.parameter_jacobian_solved`."""
        p = record["p"][0]
        self._differentiate(p, u)
        s, n, H = self.integrator.order // 2, self.mechanism.nv, self.data.dense.H
        rows = self._changes(p, u, stencils)
        moved = -np.linalg.solve(H[:s, :, 1:].reshape(s * n, s * n), rows[:s].reshape(s * n, -1))
        return np.concatenate([moved[(s - 1) * n :], rows[s] + H[s, :, 1:].reshape(n, s * n) @ moved])

    def horizon_rows(self, q: FloatArray, u: FloatArray, dt: float, rows: FloatArray) -> None:
        """See `Stepper.horizon_rows`."""
        self._horizon("rows")(self.settings._replace(dt=dt), q, u, True, rows)

    def horizon_blocks(
        self, q: FloatArray, u: FloatArray, dt: float, rows: FloatArray, D: FloatArray, C: FloatArray
    ) -> None:
        """See `Stepper.horizon_blocks`."""
        self._be_dense()
        self._horizon("blocks")(self.settings._replace(dt=dt), q, u, True, rows, D, C)

    def horizon_contractions(
        self, q: FloatArray, u: FloatArray, dt: float, rows: FloatArray, multipliers: FloatArray, out: FloatArray
    ) -> bool:
        """See `Stepper.horizon_contractions`."""
        if not self._is_plain:
            return False
        self._horizon("contractions")(self.settings._replace(dt=dt), q, u, Contractions(rows, multipliers, out))
        return True

    @cached_property
    def _is_plain(self) -> bool:
        """Whether `body_hessian_derivative` supports all forces: none on bodies, none in ball and free joints."""
        m, dofs = self.model, self.model.dofs
        several = [slice(int(n.iv), int(n.iv + n.nv)) for n in m.nodes if n.nv > 1]
        held = any(dofs.stiffness[k].any() or dofs.armature[k].any() for k in several)
        return not m.pushed and m.closure is None and not held

    def action_blocks(self, q: FloatArray, p: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """See `Stepper.action_blocks`; displacements of free joints are twists in the child's frame."""
        controls = self.held(u)
        self.solve_whole(q, p, controls)
        self._differentiate(p, controls)
        return self.data.dense.H.copy(), self.data.dense.C.copy()

    def reverse(self, names: Sequence[str]) -> StepReversal:
        """See `Stepper.reverse`."""
        return StepReversal(self, names)

    def failure(self, step: int, record: Record) -> ConvergenceError:
        """See `Stepper.failure`."""
        residuals = [float(x) for x in self.data.history if x > 0.0 or math.isnan(x)]
        why = self.no_solution
        if any(math.isnan(x) for x in residuals):
            why = "the equations became NaN; is there a body without inertia on a joint, or a force without bound?"
        elif self._turn() > math.pi:
            why = f"a body turns by more than half a turn within a part of the step; {self.advice}"
        return ConvergenceError(f"Galerkin: {why}", step=step, residuals=residuals)

    def _turn(self) -> float:
        """Largest rotation [rad] of a body in the finest substep, with the velocities of the last attempt."""
        with np.errstate(over="ignore", invalid="ignore"):
            spins = np.linalg.norm(self.data.guess.links.v[:, :3], axis=1)
        return float(spins.max(initial=0.0)) * self.dt * self.parts / FINEST
