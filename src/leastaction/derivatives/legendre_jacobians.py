"""Jacobians between velocities, in which objectives and starts are given, and the momenta that integrators solve for.

The Legendre transform p = M(q) v depends on the positions and on the parameters of the mechanism, so gradients go
through it: by q along the tree, by parameters with stencils of fourth order.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from leastaction.dynamics.api import mass_matrix
from leastaction.dynamics.legendre import momentum_of_velocity, momentum_slopes, velocity_of_momentum
from leastaction.dynamics.loops import RANK_TOLERANCE, close_loops, loop_jacobian
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray
from leastaction.parameters.parameter_differences import CENTRAL, Stencil, by_name, stencils
from leastaction.parameters.parameters import parameter

INERTIAL = ("mass", "com", "inertia", "armature", "position", "rotation")
"""Kinds of parameters that the mass matrix depends on."""

CLOSED = 1e-14
"""How far loops may be open where a start is differentiated [m or rad]."""


class LegendreTransform:
    """Pulls gradients back through p = M(q) v and its inverse; sums up those by parameters.

    Args:
        mechanism: the robot.
        names: of its parameters.
    """

    def __init__(self, mechanism: Mechanism, names: Sequence[str]) -> None:
        self.mechanism = mechanism
        self.names = [name for name in names if name.partition(":")[0] in INERTIAL]
        self.by_parameters = np.zeros(sum(parameter(mechanism, name).size for name in self.names))

    @cached_property
    def stencils(self) -> list[Stencil]:
        """Those of all entries of the parameters; only made where there is something to differentiate."""
        return [stencil for name in self.names for stencil in stencils(self.mechanism, name)]

    def from_velocities(self, Q: FloatArray, P: FloatArray, bv: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Gradients by (q, p), rows of shape (nv,), from those by v = M^-1 p.

        Args:
            Q, P: positions and momenta, shape (rows, nq) and (rows, nv).
            bv: gradients by the velocities, shape (rows, nv).
        """
        bq, bp = np.zeros(bv.shape), np.zeros(bv.shape)
        rows = np.flatnonzero(bv.any(axis=1))
        if len(rows):
            Q = Q[rows]
            V = velocity_of_momentum(self.mechanism, Q, P[rows])
            bp[rows] = velocity_of_momentum(self.mechanism, Q, bv[rows])
            bq[rows] = -momentum_slopes(self.mechanism, Q, V, bp[rows])  # dv = M^-1 (dp - dM v)
            self._add(Q, V, -bp[rows])
        return bq, bp

    def from_momenta(self, Q: FloatArray, V: FloatArray, bp: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Gradients by (q, v), rows of shape (nv,), from those by p = M v."""
        self._add(Q, V, bp)
        return momentum_slopes(self.mechanism, Q, V, bp), momentum_of_velocity(self.mechanism, Q, bp)

    def _add(self, Q: FloatArray, V: FloatArray, w: FloatArray) -> None:
        """Add w' d(M v)/d(parameter), summed from the last row to the first, as rows that come in pieces are."""
        for k, stencil in enumerate(self.stencils):
            slopes = sum(weight * momentum_of_velocity(mechanism, Q, V) for weight, mechanism in stencil)
            rows = (w * slopes).sum(axis=1)[::-1]
            self.by_parameters[k] = np.add.accumulate(np.concatenate([self.by_parameters[k : k + 1], rows]))[-1]

    def gradients(self) -> dict[str, FloatArray]:
        """The sums, by name."""
        return by_name(self.mechanism, self.names, self.by_parameters)


class ClosedStart:
    """Pulls gradients back through the start of a run with loops, whose momentum is made to fit them.

    Where a parameter opens the loops, the first positions follow by the least change, and the momentum after them, as
    with `leastaction.simulate(project=True)`.

    Args:
        mechanism: the robot.
        names: of its parameters.
        q, v: the first state.
    """

    def __init__(self, mechanism: Mechanism, names: Sequence[str], q: FloatArray, v: FloatArray) -> None:
        self.mechanism, self.names, self.q, self.v = mechanism, list(names), q, v

    def from_state(self, bq: FloatArray, bp: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Gradients by (q, v), each of shape (nv,), from those by q and the momentum."""
        m, q, h = self.mechanism, self.q, 1e-3
        by_q = bq.copy()
        for k, e in enumerate(np.eye(m.nv)):
            for offset, weight in CENTRAL:
                p = fitting_momentum(m, m.integrate(q, offset * h * e), self.v)
                by_q[k] += weight / h * (bp @ p)
        return by_q, fitting_momentum(m, q, bp)  # the map from v is symmetric

    def by_parameters(self, bq: FloatArray, bp: FloatArray) -> dict[str, FloatArray]:
        """Gradients by the parameters, by name."""
        m, out = self.mechanism, []
        for stencil in (stencil for name in self.names for stencil in stencils(m, name)):
            total = 0.0
            for weight, mechanism in stencil:
                q = close_loops(mechanism, self.q, tolerance=CLOSED)
                total += weight * (bq @ m.difference(self.q, q) + bp @ fitting_momentum(mechanism, q, self.v))
            out.append(total)
        return by_name(m, self.names, np.array(out))


def fitting_momentum(mechanism: Mechanism, q: FloatArray, v: FloatArray) -> FloatArray:
    """M v without what would open the loops: M v + A' nu with A M^-1 (M v + A' nu) = 0."""
    M, A = mass_matrix(mechanism, q), loop_jacobian(mechanism, q)[1]
    S = A @ np.linalg.solve(M, A.T)
    return M @ v - A.T @ (np.linalg.pinv(S, rcond=RANK_TOLERANCE, hermitian=True) @ (A @ v))
