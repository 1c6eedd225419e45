"""Second derivatives of the dynamics by quasi-Newton updates, a block for each step.

The Lagrangian is a sum over steps, each of which reads few unknowns: the partially separable case of Griewank and Toint
(1982), whose updates learn each block from its own gradients, all N of them in every iteration. Blocks of the dynamics
are indefinite, so the updates are those of rank one (SR1): BFGS, which keeps blocks positive definite, leads astray on
every swing-up. Costs and constraints along the way keep their own second derivatives.
"""

from __future__ import annotations

import numpy as np

from leastaction._jit import entry
from leastaction.errors import ProblemError
from leastaction.optimize.hessians.exact_hessian import ByDifferences, Exact
from leastaction.optimize.hessians.lagrangian_hessian import Part, upper
from leastaction.optimize.transcriptions.sparsity import FloatArray, Pattern, add_at
from leastaction.optimize.transcriptions.transcription import Transcription
from leastaction.optimize.transcriptions.variational import Variational

LEAST = 1e-4
"""Cosine of the angle between a move and what its block did not foresee, below which that is not learnt."""


@entry
def update_blocks(B, S, G, v):
    """Symmetric updates of rank one of blocks B (steps, n, n) for moves S and changes of gradients G (steps, n).

    v: scratch (n,).
    """
    n = S.shape[1]
    for k in range(S.shape[0]):
        B_k, s, g = B[k], S[k], G[k]
        ss, vv, sv = 0.0, 0.0, 0.0
        for i in range(n):
            v[i] = g[i]
            for j in range(n):
                v[i] -= B_k[i, j] * s[j]
            ss += s[i] * s[i]
            vv += v[i] * v[i]
            sv += s[i] * v[i]
        if not abs(sv) > LEAST * (ss * vv) ** 0.5:
            continue
        for i in range(n):
            for j in range(n):
                B_k[i, j] += v[i] * v[j] / sv


class StagePart(Part):
    """Multipliers . rows of the dynamics, by the configurations of each step; what controls and time do is omitted.

    Attributes:
        blocks: shape (steps, n, n), with n unknowns of the configurations of a step.
    """

    def __init__(self, program: Variational, pattern: Pattern) -> None:
        self.program = program
        self.index = program.layout.q[program._points()].reshape(program.steps, -1)
        n = self.index.shape[1]
        *entries, self.places = upper(self.index, np.ones((n, n), bool))
        self.ticket = pattern.add(*entries)
        self.blocks, self._work = np.zeros((program.steps, n, n)), np.zeros(n)
        self._nonzeros = np.zeros(program.jacobian_pattern.count + 1)
        self._x: FloatArray | None = None
        self._D = program._D.copy()

    def close(self, pattern: Pattern) -> None:
        """See `Part.close`."""
        self.slots = pattern.slots(self.ticket)

    def add(self, z: FloatArray, weight: float, multipliers: FloatArray, values: FloatArray) -> None:
        """See `Part.add`; feasibility restoration, which has no weight, is Gauss and Newton's."""
        if weight == 0.0:
            return
        program, x = self.program, z[self.index]
        lam = np.append(multipliers, 0.0)[program.kept]
        self._nonzeros[:] = 0.0
        program._dynamics_jacobian(program.motion(z), self._nonzeros)
        if self._x is not None:
            change = np.einsum("kai,kaibj->kbj", lam, program._D - self._D).reshape(x.shape)
            update_blocks(self.blocks, x - self._x, change, self._work)
        self._x = x
        np.copyto(self._D, program._D)
        add_at(values, self.slots, self.places, self.blocks.reshape(len(x), -1))


class StageUpdates(Exact):
    """`Exact`, but for the dynamics."""

    def _add_dynamics(self, program: Transcription) -> list[ByDifferences]:
        """See `Exact`."""
        if not isinstance(program, Variational):
            raise ProblemError(
                "hessian='quasi-newton' is for Midpoint and Galerkin; use 'gauss-newton' or 'differences'"
            )
        self.parts.append(StagePart(program, self.pattern))
        return []
