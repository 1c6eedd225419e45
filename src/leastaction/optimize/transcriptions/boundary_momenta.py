"""Velocities that are given at the start and at the finish, as momenta M(q) v (Villanueva 2025, Eqs. 19 to 21)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from leastaction.dynamics.legendre import Momenta
from leastaction.optimize.functions.manifold_derivatives import CENTRAL_STEP
from leastaction.optimize.transcriptions.chain_rule import Motion
from leastaction.optimize.transcriptions.layout import Layout
from leastaction.optimize.transcriptions.sparsity import Pattern
from leastaction.typing import FloatArray

if TYPE_CHECKING:
    from leastaction.optimize.problem.problem import Problem

IntArray = NDArray[np.int64]


class Ends:
    """The ends of a motion.

    Attributes:
        given: (0 for the start or -1 for the finish, velocity) where one is given.
        rows: where momenta are unknowns, numbers of the constraints p = M(q) v, for each of `given`.
    """

    def __init__(self, problem: Problem) -> None:
        self.mechanism = problem.mechanism
        self._momenta = Momenta(problem.mechanism)
        ends = ((0, problem.start_velocity), (-1, problem.finish_velocity))
        self.given: list[tuple[int, FloatArray]] = [(k, v) for k, v in ends if v is not None]
        self.rows: list[IntArray] = []

    def _momentum(self, q: FloatArray, v: FloatArray) -> FloatArray:
        return self._momenta.at(q, v) if v.any() else np.zeros(len(v))

    def _slope(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """d(M v)/dq, until it is asked for again."""
        return self._momenta.slope(q, v) if v.any() else np.zeros((len(v), len(v)))

    # ------------------------------------------------------------------ momenta are eliminated

    def add(self, q: FloatArray, rows: FloatArray) -> None:
        """Eqs. 20 and 21: the momentum at the start joins row 0 of its step, that at the finish leaves row s."""
        for k, v in self.given:
            rows[k, k] += (-1.0 if k else 1.0) * self._momentum(q[k], v)

    def add_slopes(self, q: FloatArray, D: FloatArray) -> None:
        """The derivatives of `add`."""
        for k, v in self.given:
            D[k, k, :, k] += (-1.0 if k else 1.0) * self._slope(q[k], v)

    def add_curvatures(
        self, q: FloatArray, multipliers: FloatArray, lam: FloatArray, H: FloatArray, gradient: FloatArray
    ) -> None:
        """Add derivatives of multipliers . (the rows here) along the tangents: second ones to H, first to gradient.

        lam: multipliers of the rows of the steps. By differences of d(M v)/dq: an end has only nv directions.
        """
        n = lam.shape[-1]
        for i, (k, v) in enumerate(self.given):
            if not v.any():
                continue
            y = -multipliers[self.rows[i]] if self.rows else (-1.0 if k else 1.0) * lam[k, k]
            T = np.zeros((n, n))
            for b, e in enumerate(CENTRAL_STEP * np.eye(n)):
                more, less = (y @ self._slope(self.mechanism.integrate(q[k], x), v) for x in (e, -e))
                T[:, b] = (more - less) / (2.0 * CENTRAL_STEP)
            H[k, k, :, k] += 0.5 * (T + T.T)
            gradient[k, k] += y @ self._slope(q[k], v)

    # ------------------------------------------------------------------ momenta are unknowns

    def momenta(self, motion: Motion, p: FloatArray, out: FloatArray) -> None:
        """p - M(q) v."""
        for (k, v), rows in zip(self.given, self.rows, strict=True):
            out[rows] += p[k] - self._momentum(motion.q[k], v)

    def add_pattern(self, pattern: Pattern, layout: Layout, related: NDArray[np.bool_]) -> None:
        """Nonzeros of `momenta`; moving the whole robot with a joint on the world changes no momentum."""
        nodes = self.mechanism.tree.nodes
        for node in nodes[nodes.parent < 0]:
            related[:, int(node.iv) : int(node.iv + node.nv)] = False
        i, j = self.moved = np.nonzero(related)
        self.tickets = [
            (pattern.add(rows, layout.p[k]), pattern.add(rows[i], layout.q[k][j]) if v.any() else None)
            for (k, v), rows in zip(self.given, self.rows, strict=True)
        ]

    def close_pattern(self, pattern: Pattern) -> None:
        """Where they are."""
        self.slots = [(pattern.slots(a), None if b is None else pattern.slots(b)) for a, b in self.tickets]

    def jacobian(self, motion: Motion, values: FloatArray) -> None:
        """Derivatives of `momenta`."""
        for (k, v), (by_p, by_q) in zip(self.given, self.slots, strict=True):
            values[by_p] = 1.0
            if by_q is not None:
                slope = -self._slope(motion.q[k], v)
                values[by_q] = (slope if motion.turns is None else slope @ motion.turns[k])[self.moved]
