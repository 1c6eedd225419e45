"""What the steppers of `Galerkin` and `Midpoint` make of the equations of many steps: those of one."""

from __future__ import annotations

import numpy as np

from leastaction.division import HalvingStepper
from leastaction.integrators import FloatArray


class ActionStepper(HalvingStepper):
    """A stepper that gives the rows of its discrete action by `horizon_rows` and `horizon_blocks`."""

    def residual(self, q: FloatArray, p: FloatArray, u: FloatArray, x: FloatArray) -> FloatArray:
        """See `Stepper.residual`."""
        rows = np.zeros((1, len(x) + 1, self.mechanism.nv))
        self.horizon_rows(self._control_points(q, x), self.held(u)[None], self.dt, rows)
        rows[0, 0] += p
        return rows[0]

    def residual_blocks(
        self, q: FloatArray, p: FloatArray, u: FloatArray, x: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """See `Stepper.residual_blocks`."""
        points, n = len(x) + 1, self.mechanism.nv
        rows, D = np.zeros((1, points, n)), np.zeros((1, points, n, points, n))
        C = np.zeros((1, points, n, len(self.control_nodes), self.mechanism.nu))
        self.horizon_blocks(self._control_points(q, x), self.held(u)[None], self.dt, rows, D, C)
        rows[0, 0] += p
        return rows[0], D[0], C[0]

    def _control_points(self, q: FloatArray, x: FloatArray) -> FloatArray:
        """Configurations displaced from q by 0 and x, shape (s + 1, nq)."""
        return np.concatenate([q[None], self.mechanism.integrate(q, x)])
