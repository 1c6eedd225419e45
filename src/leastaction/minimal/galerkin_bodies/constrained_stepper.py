"""Stepper of `Galerkin` on the poses of bodies for mechanisms with loops, and the choice between both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from leastaction._jit.bound import Bound
from leastaction.integration.integrators import FloatArray
from leastaction.integration.record import Record
from leastaction.mechanism import Mechanism
from leastaction.minimal.elimination import loop_system
from leastaction.minimal.galerkin_bodies import body_loops
from leastaction.minimal.galerkin_bodies.arrays import GalerkinBodiesSettings
from leastaction.minimal.galerkin_bodies.derivatives import body_loop_linearization as linear
from leastaction.minimal.galerkin_bodies.stepper import GalerkinBodiesStepper
from leastaction.minimal.loop_stepper import LoopStepper
from leastaction.minimal.substep_rollout import substep_data


def galerkin_bodies_stepper(integrator: Any, mechanism: Mechanism, dt: float) -> GalerkinBodiesStepper:
    """The stepper for a mechanism, with or without loops. A loop joint without constraints has no equations."""
    closed = not mechanism.is_tree and len(mechanism.tree.closure.rows) > 0
    return (GalerkinBodiesLoopStepper if closed else GalerkinBodiesStepper)(integrator, mechanism, dt)


class GalerkinBodiesLoopStepper(LoopStepper, GalerkinBodiesStepper):
    """`GalerkinBodiesStepper` for mechanisms with loops, couplings or rolling contacts."""

    def __init__(self, integrator: Any, mechanism: Mechanism, dt: float) -> None:
        super().__init__(integrator, mechanism, dt)
        self.data = self._make_data(True)
        self.lam = self.data.lam
        self.system = loop_system(integrator.order // 2, mechanism.nv, self.lam.shape[1])

    def make_rollout(self, settings: GalerkinBodiesSettings) -> Bound:
        """See `ActionStepper.make_rollout`."""
        data = self.data._replace(substep=substep_data(self), loops=self.system)
        return Bound(body_loops.rollout, self.model, settings, data)

    def differentiate(self, p: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Rows of the action at the current nodes, and copies of their derivatives by nodes and controls."""
        rows = self._differentiate(p, u)
        return rows, self.data.dense.H.copy(), self.data.dense.C.copy()

    def step_derivatives(
        self, record: Record, u: FloatArray, stencils: Sequence[Any]
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """See `body_loop_linearization`."""
        return linear.linearize(self, record, u, stencils)
