"""Knots at which feet land or leave: the velocity there is an unknown, and each side has an equation of its own.

    row s of the step before + impulses of what held until then - M v = 0,   A v = 0,
    row 0 of the step after + impulses of what holds from then on + M v = 0:

a foot that leaves does not push itself off by an impulse, and one that lands stops at once, as in a simulation that
runs phase by phase.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from leastaction.dynamics.api import mass_matrix
from leastaction.dynamics.legendre import Momenta
from leastaction.optimize.constraints.reaction_constraints import PointPiece, along
from leastaction.optimize.constraints.reactions import Reaction
from leastaction.optimize.transcriptions.chain_rule import Columns, Motion
from leastaction.optimize.transcriptions.sparsity import Pattern
from leastaction.typing import FloatArray

if TYPE_CHECKING:
    from leastaction.optimize.transcriptions.transcription import Transcription

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


class Cuts:
    """All such knots of a transcription.

    Attributes:
        knots: their numbers; the last one, of a periodic motion, goes on at the first.
        index: velocities there in z, shape (knots, nv).
    """

    def __init__(self, owner: Transcription, knots: IntArray, index: IntArray) -> None:
        self.owner, self.knots, self.index = owner, knots, index
        self._seen: tuple[Motion | None, list[FloatArray]] = (None, [])

    @cached_property
    def _momenta(self) -> Momenta:
        return Momenta(self.owner.mechanism)

    def _sides(self) -> list[tuple[int, int, int, float, int]]:
        """(number, step, row, sign, knot) of both sides of each knot."""
        s, N = self.owner.s, self.owner.steps
        out = []
        for c, k in enumerate(self.knots):
            out.append((c, int(k) - 1, s, -1.0, int(k)))
            out.append((c, int(k) % N, 0, 1.0, int(k) % N))
        return out

    def _masses(self, motion: Motion) -> list[FloatArray]:
        """Mass matrices at both sides of each knot."""
        if self._seen[0] is not motion:
            m, s, out = self.owner.mechanism, self.owner.s, []
            for k in self.knots:
                out.append(mass_matrix(m, motion.q[s * k]))
                out.append(out[-1] if k < self.owner.steps else mass_matrix(m, motion.q[0]))
            self._seen = (motion, out)
        return self._seen[1]

    def add(self, motion: Motion, rows: FloatArray) -> None:
        """Add the momenta M v to the rows (steps, s + 1, nv)."""
        for (c, step, row, sign, _), M in zip(self._sides(), self._masses(motion), strict=True):
            rows[step, row] += sign * (M @ motion.z[self.index[c]])

    def add_slopes(self, motion: Motion, D: FloatArray) -> None:
        """Add their derivatives along the tangents to the blocks of the steps."""
        slopes: dict[int, FloatArray] = {}
        for c, step, row, sign, k in self._sides():
            if k not in slopes:
                q, v = motion.q[self.owner.s * k], motion.z[self.index[c]]
                slopes[k] = self._momenta.slope(q, v).copy()
            D[step, row, :, row] += sign * slopes[k]

    def add_pattern(self, pattern: Pattern, kept: IntArray, related: BoolArray) -> None:
        """Nonzeros by the velocities."""
        s, N = self.owner.s, self.owner.steps
        i, j = self.places = np.nonzero(related)
        self.tickets = []
        for c, k in enumerate(self.knots):
            for numbers in (kept[k - 1, s], kept[k % N, 0]):
                self.tickets.append(pattern.add(numbers[i], self.index[c][j]))

    def close_pattern(self, pattern: Pattern) -> None:
        """Where they are."""
        self.slots = [pattern.slots(ticket) for ticket in self.tickets]

    def jacobian(self, motion: Motion, values: FloatArray) -> None:
        """Derivatives by the velocities."""
        for (_, _, _, sign, _), M, slots in zip(self._sides(), self._masses(motion), self.slots, strict=True):
            values[slots] = sign * M[self.places]

    def add_gradient(self, motion: Motion, y: FloatArray, kept: IntArray, out: FloatArray) -> None:
        """Add the derivatives of y . rows by z to out (n,)."""
        layout, s = self.owner.layout, self.owner.s
        for (c, step, row, sign, k), M in zip(self._sides(), self._masses(motion), strict=True):
            Y, v = sign * y[kept[step, row]], motion.z[self.index[c]]
            slope = self._momenta.slope(motion.q[s * k], v)
            out[self.index[c]] += M.T @ Y
            out[layout.q[s * k]] += (slope if motion.turns is None else slope @ motion.turns[s * k]).T @ Y

    def couplings(self) -> list[tuple[IntArray, IntArray]]:
        """Pairs of unknowns that meet in second derivatives; see `Transcription.dynamics_couplings`."""
        q, s, N = self.owner.layout.q, self.owner.s, self.owner.steps
        out = []
        for knots in (self.knots, self.knots % N):
            out.append((self.index[:, :, None], q[s * knots][:, None, :]))
        return out

    def complete(self, z: FloatArray, q: FloatArray, dt: float) -> None:
        """Guess the velocities: mean ones of the steps before."""
        s, m = self.owner.s, self.owner.mechanism
        for c, k in enumerate(self.knots):
            z[self.index[c]] = m.difference(q[s * (k - 1)], q[s * k]) / dt


class AtRest(PointPiece):
    """A v = 0 for the equations of a reaction that ends at a cut."""

    def __init__(self, reaction: Reaction, velocity: IntArray) -> None:
        owner = reaction.owner
        labels = tuple(f"velocity, {label}" for label in reaction.labels)
        super().__init__(owner, reaction.name, reaction.points[-1:], labels)
        self.reaction, self.velocity = reaction, velocity
        reads = reaction.reads
        # What moves a row's screws and wrench is what the row reads.
        self.columns = [
            Columns(velocity[None], reads),
            Columns(owner.layout.q[self.points], owner.tangents.spread(reads)),
        ]

    def values(self, motion: Motion) -> FloatArray:
        """See `PointPiece.values`."""
        _, A, _ = self.reaction.equations(motion, False)
        return (A[-1] @ motion.z[self.velocity])[None]

    def slopes(self, motion: Motion) -> tuple[FloatArray, list[FloatArray]]:
        """See `PointPiece.slopes`."""
        _, A, dA = self.reaction.equations(motion, True)
        by_q = np.einsum("ckj,k->cj", dA[-1], motion.z[self.velocity])[None]
        return self.values(motion), [A[-1:], along(motion, by_q, self.points)]
