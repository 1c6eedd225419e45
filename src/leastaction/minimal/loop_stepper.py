"""Common base of the steppers of mechanisms with loops: starts, records, derivatives by whole linearizations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from leastaction.dynamics.loops import check_closed, fitting_momentum, is_redundant, momentum_projection
from leastaction.errors import IntegratorError
from leastaction.integration.integrators import FloatArray, Stepper
from leastaction.integration.record import Record
from leastaction.minimal.action_stepper import ActionStepper
from leastaction.minimal.elimination import LoopSystem


class LoopStepper(ActionStepper):
    """Mixin for a stepper for trees; multipliers are part of the record.

    Attributes:
        system: loop equations of a step.
        lam: loop impulses in the rows of the action, shape (points, equations).
        data: with the scratch `guess` of the classical recursions.
    """

    written = (*ActionStepper.written, "multipliers")
    system: LoopSystem
    lam: FloatArray
    data: Any

    chunk_runner = Stepper.chunk_runner  # a start with loops needs more preparation

    def prepare_start(self, q: FloatArray) -> FloatArray:
        """Raise where loops are open at q; store whether their equations are linearly dependent."""
        check_closed(self.mechanism, q)
        self.system.redundant[0] = is_redundant(self.mechanism, q)
        return q

    def prepare_momentum(self, q: FloatArray, p: FloatArray, project: bool) -> FloatArray:
        """Raise (or, with `project`, correct) where the velocity of p opens the loops."""
        t, guess, system = self.mechanism.tree, self.data.guess, self.system
        c, out = t.closure, p.copy()
        arrays = ((t.nodes, t.dofs, t.gravity), (c.rows, c.coefficients, c.count))
        data = (guess.links, guess.screws, guess.external)
        scratch = (tuple(system.end), bool(system.redundant[0]))
        momentum_projection(*arrays, data, q, out, *scratch)
        return fitting_momentum(p, out, project)

    def record(self, steps: int) -> Record:
        """As `Stepper.record`, with the forces [N or N m] in the loop equations, one per equation."""
        return super().record(steps) | {"multipliers": np.zeros((steps + 1, self.mechanism.tree.closure.count))}

    def step_derivatives(
        self, record: Record, u: FloatArray, stencils: Sequence[Any]
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Derivatives of the step in `record`, just solved, by (q, p), constant controls (nodes, nu) and parameters.

        Shapes (2 nv, 2 nv), (2 nv, nu) and (2 nv, len(stencils)).
        """
        raise NotImplementedError

    def solve(self, q: FloatArray, p: FloatArray, u: FloatArray) -> Record | None:
        """See `BisectingStepper.solve`."""
        q = self.prepare_start(q)
        return super().solve(q, self.prepare_momentum(q, p, False), u)

    def linearize_solved(self, record: Record, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """See `BisectingStepper.linearize_solved`."""
        return self.step_derivatives(record, u, ())[:2]

    def parameter_jacobian_solved(self, record: Record, u: FloatArray, stencils: Sequence[Any]) -> FloatArray:
        """See `BisectingStepper.parameter_jacobian_solved`."""
        return self.step_derivatives(record, u, stencils)[2]

    def pull_back_solved(
        self, record: Record, u: FloatArray, bar: FloatArray, stencils: Sequence[Any]
    ) -> tuple[FloatArray, FloatArray]:
        """As for trees, by the full linearization; the gradient by constant controls is in its first row."""
        if np.ptp(u, axis=0).any():
            raise IntegratorError("with loops, gradients need controls that are held over each step")
        A, B, E = self.step_derivatives(record, u, stencils)
        gradient = np.zeros(u.shape)
        gradient[0] = B.T @ bar
        by_parameters = E.T @ bar
        bar[:] = A.T @ bar
        return gradient, by_parameters

    def horizon_rows(self, q: FloatArray, u: FloatArray, dt: float, rows: FloatArray) -> None:
        """See `Stepper.horizon_rows`."""
        self.lam[:] = 0.0  # rows exclude the loop impulses of the last step
        super().horizon_rows(q, u, dt, rows)

    def horizon_blocks(
        self, q: FloatArray, u: FloatArray, dt: float, rows: FloatArray, D: FloatArray, C: FloatArray
    ) -> None:
        """See `Stepper.horizon_blocks`."""
        self.lam[:] = 0.0
        super().horizon_blocks(q, u, dt, rows, D, C)
