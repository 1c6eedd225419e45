"""One linear step under equations: v = A^-1 (b + G' lambda) with G v = c (Sueda 2021, 1.88, 2.106, 2.130).

The Schur complement G A^-1 G' is solved in the least-squares sense, so equations may depend on one another (a planar
loop closed by a spatial hinge) or, where they contradict each other, are kept as well as can be.
"""

from __future__ import annotations

import numpy as np

from leastaction._jit import entry
from leastaction.dynamics.loops import RANK_TOLERANCE
from leastaction.errors import ConvergenceError
from leastaction.linalg.dense import solve_in_place
from leastaction.mechanism.arguments import FloatArray


@entry
def invert(A, B):
    """B <- A^-1 B for the unit matrix B, without LAPACK, whose threads cost more than they gain; A is destroyed."""
    return solve_in_place(A, B)


class Projection:
    """Velocities of a step under equations, and how further impulses change them.

    Args:
        A: matrix of the step, M + dt D - dt^2 K, shape (n, n).
        b: its right-hand side, shape (n,).
        G: Jacobian of the equations, shape (m, n).
        c: their right-hand side, shape (m,).

    Attributes:
        v: velocities that obey the equations, shape (n,).
    """

    def __init__(self, A: FloatArray, b: FloatArray, G: FloatArray, c: FloatArray) -> None:
        self._A = np.eye(len(b))
        if not invert(A.copy(), self._A):
            raise ConvergenceError("the matrix of a step is singular; is there a joint that moves no mass?")
        self._G, self._b, self._c = G, b, c
        self._AG = self._A @ G.T
        self._inverse = np.linalg.pinv(G @ self._AG, rcond=RANK_TOLERANCE) if len(G) else np.zeros((0, 0))
        free = self._A @ b
        self.v = free + self._AG @ (self._inverse @ (c - G @ free))

    def response(self, C: FloatArray) -> FloatArray:
        """Change of the velocities per impulse along each row of C (m, n), equations kept; shape (n, m)."""
        Y = self._A @ C.T
        return Y - self._AG @ (self._inverse @ (self._G @ Y))

    def multipliers(self, impulse: FloatArray | float = 0.0) -> FloatArray:
        """Impulses of the equations where the generalised impulse (n,) acts as well, shape (m,)."""
        free = self._A @ (self._b + impulse)
        return self._inverse @ (self._c - self._G @ free)
