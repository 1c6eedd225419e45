"""What the steppers of mechanisms with loops have in common: starts, records, derivatives by whole linearizations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from leastaction.dynamics.loops import check_closed, is_redundant, momentum_projection
from leastaction.errors import IntegratorError, MechanismError
from leastaction.integrators import FloatArray, Stepper
from leastaction.minimal.elimination import LoopSystem
from leastaction.record import Record


class LoopStepper(Stepper):
    """Mixed into a stepper for trees; multipliers are part of the record.

    Attributes:
        system: loop equations of a step.
        lam: impulses of the loops that the rows of the action contain, shape (points, equations).
        data: with the scratch `guess` of the classical recursions.
    """

    system: LoopSystem
    lam: FloatArray
    data: Any

    def prepare_start(self, q: FloatArray) -> FloatArray:
        """Refuse open loops; find out whether their equations depend on each other."""
        check_closed(self.mechanism, q)
        self.system.redundant[0] = is_redundant(self.mechanism, q)
        return q

    def prepare_momentum(self, q: FloatArray, p: FloatArray, project: bool) -> FloatArray:
        """Refuse (or, with `project`, mend) a momentum whose velocity opens the loops."""
        t, guess, system = self.mechanism.tree, self.data.guess, self.system
        c, out = t.closure, p.copy()
        arrays = (t.nodes, t.dofs, c.rows, c.coefficients, c.count, guess.links, guess.screws)
        momentum_projection(*arrays, q, out, system.end_h, system.end_A, system.end_M, bool(system.redundant[0]))
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

    def step_derivatives(
        self, q: FloatArray, p: FloatArray, u: FloatArray, stencils: Sequence[Any]
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Derivatives of a step from a state that fits the loops by (q, p), held controls (nodes, nu) and parameters.

        Shapes (2 nv, 2 nv), (2 nv, nu) and (2 nv, len(stencils)).
        """
        raise NotImplementedError

    def _linearize(
        self, q: FloatArray, p: FloatArray, u: FloatArray, stencils: Sequence[Any] = ()
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        q = self.prepare_start(q)
        held = np.array(np.broadcast_to(u, (len(self.control_nodes), self.mechanism.nu)), order="C")
        return self.step_derivatives(q, self.prepare_momentum(q, p, False), held, stencils)

    def linearize(self, q: FloatArray, p: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(A, B) of a step with loops."""
        return self._linearize(q, p, u)[:2]

    def parameter_jacobian(self, q: FloatArray, p: FloatArray, u: FloatArray, stencils: Sequence[Any]) -> FloatArray:
        """See `Stepper.parameter_jacobian`."""
        return self._linearize(q, p, u, stencils)[2]

    def residual_blocks(
        self, q: FloatArray, p: FloatArray, u: FloatArray, x: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """See `Stepper.residual_blocks`."""
        self.lam[:] = 0.0  # those of the last step are no part of the rows
        return super().residual_blocks(q, p, u, x)

    def horizon_rows(self, q: FloatArray, u: FloatArray, dt: float, rows: FloatArray) -> None:
        """See `Stepper.horizon_rows`."""
        self.lam[:] = 0.0
        super().horizon_rows(q, u, dt, rows)

    def horizon_blocks(
        self, q: FloatArray, u: FloatArray, dt: float, rows: FloatArray, D: FloatArray, C: FloatArray
    ) -> None:
        """See `Stepper.horizon_blocks`."""
        self.lam[:] = 0.0
        super().horizon_blocks(q, u, dt, rows, D, C)

    def action_blocks(self, q: FloatArray, p: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(D, C) of a step with loops, the work of their multipliers included."""
        q = self.prepare_start(q)
        return super().action_blocks(q, self.prepare_momentum(q, p, False), u)

    def pull_back(self, q: FloatArray, p: FloatArray, u: FloatArray, bar: FloatArray) -> FloatArray:
        """As for trees, by the full linearization; the gradient by held controls stands in its first row."""
        return self.pull_back_all(q, p, u, bar, ())[0]

    def pull_back_all(
        self, q: FloatArray, p: FloatArray, u: FloatArray, bar: FloatArray, stencils: Sequence[Any]
    ) -> tuple[FloatArray, FloatArray]:
        """See `Stepper.pull_back_all`."""
        if np.ptp(u, axis=0).any():
            raise IntegratorError("with loops, gradients need controls that are held over each step")
        A, B, E = self._linearize(q, p, u[0], stencils)
        gradient = np.zeros((len(self.control_nodes), self.mechanism.nu))
        gradient[0] = B.T @ bar
        by_parameters = E.T @ bar
        bar[:] = A.T @ bar
        return gradient, by_parameters
