"""The stepper of `Galerkin(interpolation="bodies")`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from leastaction._jit.bound import Bound
from leastaction.division import HalvingStepper
from leastaction.errors import ConvergenceError
from leastaction.forces.touch import BY_DEPTH
from leastaction.integrators import FloatArray
from leastaction.mechanism import Mechanism
from leastaction.minimal.arrays import guess_data
from leastaction.minimal.bodywise import entries, horizon
from leastaction.minimal.bodywise.arrays import BodywiseSettings, bodywise_data, bodywise_model
from leastaction.minimal.bodywise.contraction import contraction_data
from leastaction.minimal.judgement import plausible_share
from leastaction.parameter_stencils import Stencil
from leastaction.record import Record
from leastaction.step_reversal import StepReversal


class BodywiseStepper(HalvingStepper):
    """State (q, p); Newton to the integrator's tolerance.

    Attributes:
        model, settings, data: what its kernels read and write, see `arrays`.
    """

    def __init__(self, integrator: Any, mechanism: Mechanism, dt: float) -> None:
        super().__init__(integrator, mechanism, dt)
        self.model = bodywise_model(mechanism, integrator.order // 2)
        tolerance, most = float(integrator.tolerance), int(integrator.max_iterations)
        self.settings = BodywiseSettings(dt, tolerance, most, plausible_share(mechanism))
        # Body forces may join any two bodies, which the recursion from leaves to root cannot see.
        self.data = self._make_data(self.model.pushed)
        self.control_nodes = self.control_points = tuple(self.model.rule.c.tolist())
        self._kernels: dict[str, Bound] = {}

    def _make_data(self, dense: bool) -> Any:
        return bodywise_data(self.model, guess_data(self.mechanism), self.settings.max_iterations, dense)

    def run(self, record: Record, first: int, last: int, u: FloatArray) -> int:
        """See `HalvingStepper.run`."""
        rows = slice(first, last + 1)
        states = (record["q"][rows], record["p"][rows], record["iterations"][rows])
        rollout = entries.rollout_dense if self.model.pushed else entries.rollout_recursive
        data = self.data if self.model.pushed else self.data._replace(dense=None)
        return first + rollout(self.model, self.settings, data, u, *states)

    def shorten(self) -> None:
        """See `HalvingStepper.shorten`."""
        self.settings = self.settings._replace(dt=self.dt)

    # ------------------------------------------------------------------ derivatives

    def _differentiate(self, p: FloatArray, u: FloatArray) -> FloatArray:
        """Derivatives at the nodes as they are; gives back the rows of the equations there."""
        self._be_dense()
        u = np.array(u, order="C")
        rows = np.zeros((len(self.control_nodes), self.mechanism.nv))
        entries.rows(self.model, self.settings, self.data, p, u, rows)
        entries.derivatives(self.model, self.settings, self.data, u)
        return rows

    def _be_dense(self) -> None:
        if self.data.dense is None:
            self.data = self.data._replace(dense=self._make_data(True).dense)

    def linearize_solved(self, record: Record, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """See `HalvingStepper.linearize_solved`."""
        n, nu = self.mechanism.nv, self.mechanism.nu
        self._differentiate(record["p"][0], u)
        A, B = np.zeros((2 * n, 2 * n)), np.zeros((2 * n, nu))
        entries.linearize(self.data.dense, A, B)
        return A, B

    def _changes(self, p: FloatArray, u: FloatArray, stencils: Sequence[Stencil]) -> FloatArray:
        """Derivatives of the rows by parameters at the nodes as they are, shape (s + 1, nv, len(stencils)).

        What a parameter changes in the equations at fixed nodes is a weighted sum over mechanisms with other values.
        """
        u = np.array(u, order="C")
        rows = np.zeros((len(self.control_nodes), self.mechanism.nv))
        out = np.zeros((*rows.shape, len(stencils)))
        for k, stencil in enumerate(stencils):
            for weight, mechanism in stencil:
                model = bodywise_model(mechanism, self.integrator.order // 2)
                entries.rows(model, self.settings, self.data, p, u, rows)
                out[:, :, k] += weight * rows
        return out

    def pull_back_solved(
        self, record: Record, u: FloatArray, bar: FloatArray, stencils: Sequence[Stencil]
    ) -> tuple[FloatArray, FloatArray]:
        """See `HalvingStepper.pull_back_solved`."""
        p = record["p"][0]
        self._differentiate(p, u)
        by_momenta, by_controls = bar[self.mechanism.nv :].copy(), np.zeros(u.shape)
        entries.pull_back(self.data.dense, bar, by_controls)
        # The transposed solve has left its multipliers of all rows but the last.
        multipliers = np.concatenate([self.data.dense.rhs[:, 0], by_momenta])
        return by_controls, multipliers @ self._changes(p, u, stencils).reshape(len(multipliers), -1)

    def parameter_jacobian_solved(self, record: Record, u: FloatArray, stencils: Sequence[Stencil]) -> FloatArray:
        """See `HalvingStepper.parameter_jacobian_solved`."""
        p = record["p"][0]
        self._differentiate(p, u)
        s, n, H = self.integrator.order // 2, self.mechanism.nv, self.data.dense.H
        rows = self._changes(p, u, stencils)
        moved = -np.linalg.solve(H[:s, :, 1:].reshape(s * n, s * n), rows[:s].reshape(s * n, -1))
        return np.concatenate([moved[(s - 1) * n :], rows[s] + H[s, :, 1:].reshape(n, s * n) @ moved])

    def residual(self, q: FloatArray, p: FloatArray, u: FloatArray, x: FloatArray) -> FloatArray:
        """See `Stepper.residual`."""
        return self.residual_blocks(q, p, u, x)[0]

    def residual_blocks(
        self, q: FloatArray, p: FloatArray, u: FloatArray, x: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """See `Stepper.residual_blocks`."""
        for modes in self.data.modes[:-1]:
            modes[:] = BY_DEPTH  # not as in the last step
        self.data.Q[0] = q
        for j in range(len(x)):
            self.data.Q[j + 1] = self.mechanism.integrate(q, x[j])
        rows = self._differentiate(p, u)
        nodes, (nv, nu) = len(rows), self.data.dense.C.shape[1:]
        C = np.zeros((nodes, nv, nodes, nu))
        C[np.arange(nodes), :, np.arange(nodes)] = self.data.dense.C
        return rows, self.data.dense.H.copy(), C

    def horizon_rows(self, q: FloatArray, u: FloatArray, dt: float, rows: FloatArray) -> None:
        """See `Stepper.horizon_rows`."""
        self._horizon("rows")(self.settings._replace(dt=dt), q, u, rows)

    def horizon_blocks(
        self, q: FloatArray, u: FloatArray, dt: float, rows: FloatArray, D: FloatArray, C: FloatArray
    ) -> None:
        """See `Stepper.horizon_blocks`."""
        self._horizon("blocks")(self.settings._replace(dt=dt), q, u, rows, D, C)

    def horizon_contractions(
        self, q: FloatArray, u: FloatArray, dt: float, rows: FloatArray, multipliers: FloatArray, out: FloatArray
    ) -> bool:
        """See `Stepper.horizon_contractions`."""
        if not self._is_plain:
            return False
        self._horizon("contractions")(self.settings._replace(dt=dt), q, u, rows, multipliers, out)
        return True

    @cached_property
    def _is_plain(self) -> bool:
        """Whether `contraction` knows all that acts: nothing on bodies, nothing in ball and free joints."""
        m, dofs = self.model, self.model.dofs
        several = [slice(int(n.iv), int(n.iv + n.nv)) for n in m.nodes if n.nv > 1]
        held = any(dofs.stiffness[k].any() or dofs.armature[k].any() for k in several)
        return not m.pushed and m.closure is None and not held

    def _horizon(self, what: str) -> Bound:
        """The kernel `what` of `horizon`."""
        if what not in self._kernels:
            self._be_dense()
            scratch = (contraction_data(self.model),) if what == "contractions" else ()
            self._kernels[what] = Bound(getattr(horizon, what), self.model, self.data, *scratch)
        return self._kernels[what]

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
        return ConvergenceError(f"Galerkin: {why}", step=step, residuals=residuals)
