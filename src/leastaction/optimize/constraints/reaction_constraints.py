"""Constraints at control points that come with reactions: what they hold, and how they may push.

Each class here is a piece of a transcription like `chain_rule.Piece`: values, and derivatives by the groups of unknowns
that its `columns` name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leastaction.optimize.constraints.reaction_hessians import by_unknowns, weighted
from leastaction.optimize.constraints.reactions import Reaction
from leastaction.optimize.functions.manifold_derivatives import times
from leastaction.optimize.transcriptions.chain_rule import Columns, Motion
from leastaction.typing import FloatArray

if TYPE_CHECKING:
    from leastaction.optimize.transcriptions.transcription import Transcription

IntArray = NDArray[np.int64]


class PointPiece(ABC):
    """Constraints at control points.

    Attributes:
        name, where, labels: what messages call them.
        index: number of the control point (of the knot, where there are no others) of each element.
        limits: lower and upper bounds, shape (labels,) each.
        columns: unknowns that they read, in groups.
        couples: which of all these unknowns meet in second derivatives, shape (n, n); None: those of one component.
    """

    columns: list[Columns]
    couples: NDArray[np.bool_] | None = None
    is_smooth: Any = False
    """Whether `curvatures` are known; otherwise they are taken by differences."""

    def __init__(self, owner: Transcription, name: str, points: IntArray, labels: tuple[str, ...]) -> None:
        self.owner, self.name, self.points, self.index, self.labels = owner, name, points, points, labels
        self.where = "knot" if owner.s == 1 else "control point"
        self.limits: tuple[Any, Any] = (0.0, 0.0)
        self.size = len(labels)

    @abstractmethod
    def values(self, motion: Motion) -> FloatArray:
        """Shape (elements, labels)."""

    @abstractmethod
    def slopes(self, motion: Motion) -> tuple[FloatArray, list[FloatArray]]:
        """Values, and derivatives by the unknowns of each of `columns`, shape (elements, labels, n)."""

    def curvatures(self, motion: Motion, bar: FloatArray) -> FloatArray | None:
        """Second derivatives of bar . values by all of `columns` together, shape (elements, n, n); None: zero.

        bar: shape (elements, labels).
        """
        raise NotImplementedError


def along(motion: Motion, J: FloatArray, points: IntArray) -> FloatArray:
    """Derivatives by the unknowns of control points, from those along the tangents there."""
    return times(J, None if motion.turns is None else motion.turns[points])


class HoldsAt(PointPiece):
    """Some equations of a reaction hold at some of its control points."""

    def __init__(self, reaction: Reaction, at: IntArray, picked: IntArray) -> None:
        owner = reaction.owner
        points = reaction.points[at]
        super().__init__(owner, reaction.name, points, tuple(reaction.labels[k] for k in picked))
        self.reaction, self.at, self.picked = reaction, at, picked
        self.columns = [Columns(owner.layout.q[points], owner.tangents.spread(reaction.reads[picked]))]

    def values(self, motion: Motion) -> FloatArray:
        """See `PointPiece.values`."""
        h, _, _ = self.reaction.equations(motion, False)
        return h[np.ix_(self.at, self.picked)]

    def slopes(self, motion: Motion) -> tuple[FloatArray, list[FloatArray]]:
        """See `PointPiece.slopes`."""
        h, A, _ = self.reaction.equations(motion, False)
        return h[np.ix_(self.at, self.picked)], [along(motion, A[np.ix_(self.at, self.picked)], self.points)]

    is_smooth = True

    def curvatures(self, motion: Motion, bar: FloatArray) -> FloatArray:
        """See `PointPiece.curvatures`."""
        return _second_derivatives(self, motion, self.at, bar)


def _second_derivatives(piece: HoldsAt | StaysAt, motion: Motion, at: IntArray, bar: FloatArray) -> FloatArray:
    """Second derivatives of bar . the equations that the piece picked, at some of the reaction's control points."""
    r = piece.reaction
    weights = np.zeros((len(at), len(r.rows)))
    weights[:, piece.picked] = bar
    return by_unknowns(piece.owner, motion, r.points[at], *weighted(r, motion, at, weights))


class StaysAt(PointPiece):
    """Some values of a reaction's equations stay what they were at the control point before."""

    def __init__(self, reaction: Reaction, at: IntArray, picked: IntArray) -> None:
        owner, points = reaction.owner, reaction.points[at]
        labels = tuple(f"{reaction.labels[k]} stays" for k in picked)
        super().__init__(owner, reaction.name, points, labels)
        self.reaction, self.at, self.picked = reaction, at, picked
        mask = owner.tangents.spread(reaction.reads[picked])
        self.columns = [Columns(owner.layout.q[points], mask), Columns(owner.layout.q[points - 1], mask)]

    def values(self, motion: Motion) -> FloatArray:
        """See `PointPiece.values`."""
        h, _, _ = self.reaction.equations(motion, False)
        return h[np.ix_(self.at, self.picked)] - h[np.ix_(self.at - 1, self.picked)]

    def slopes(self, motion: Motion) -> tuple[FloatArray, list[FloatArray]]:
        """See `PointPiece.slopes`."""
        _, A, _ = self.reaction.equations(motion, False)
        after, before = A[np.ix_(self.at, self.picked)], A[np.ix_(self.at - 1, self.picked)]
        return self.values(motion), [along(motion, after, self.points), along(motion, -before, self.points - 1)]

    is_smooth = True

    def curvatures(self, motion: Motion, bar: FloatArray) -> FloatArray:
        """See `PointPiece.curvatures`."""
        n = self.owner.mechanism.nv
        H = np.zeros((len(self.at), 2 * n, 2 * n))
        H[:, :n, :n], H[:, n:, n:] = (
            _second_derivatives(self, motion, self.at, bar),
            _second_derivatives(self, motion, self.at - 1, -bar),
        )
        return H


class ForceLimits(PointPiece):
    """Functions of the forces alone stay positive: friction cones, centres of pressure."""

    def __init__(
        self,
        reaction: Reaction,
        labels: tuple[str, ...],
        function: Callable[[FloatArray], tuple[FloatArray, FloatArray]],
    ) -> None:
        """`function` of forces (points, forces) gives values (points, labels) and derivatives (points, labels, n)."""
        super().__init__(reaction.owner, reaction.name, reaction.points, labels)
        self.reaction, self.function = reaction, function
        self.limits = (0.0, np.inf)
        _, J = function(np.random.default_rng(0).normal(size=reaction.index.shape))
        self.columns = [Columns(reaction.index, np.abs(J).max(axis=0) > 0.0)]
        n = reaction.index.shape[1]
        slopes = function(np.concatenate([np.eye(n), np.zeros((1, n))]))[1]
        self.second = np.moveaxis(slopes[:-1] - slopes[-1], 0, 2)
        self.couples = np.any(self.second != 0.0, axis=0)

    def values(self, motion: Motion) -> FloatArray:
        """See `PointPiece.values`."""
        return self.function(self.reaction.forces(motion.z))[0]

    def slopes(self, motion: Motion) -> tuple[FloatArray, list[FloatArray]]:
        """See `PointPiece.slopes`."""
        value, J = self.function(self.reaction.forces(motion.z))
        return value, [J]

    is_smooth = True

    def curvatures(self, motion: Motion, bar: FloatArray) -> FloatArray | None:
        """See `PointPiece.curvatures`: the functions are of second degree at most."""
        return np.einsum("pl,lij->pij", bar, self.second) if self.second.any() else None


class Periodic(PointPiece):
    """The last configuration is the first one, moved by a given shift of the coordinates (nq,)."""

    def __init__(self, owner: Transcription, shift: FloatArray) -> None:
        last = owner.s * owner.steps
        super().__init__(owner, "periodic q", np.array([last]), tuple(owner.mechanism.velocity_names))
        self.shift = shift
        mask = owner.tangents.spread(np.eye(owner.mechanism.nv, dtype=bool))
        self.columns = [Columns(owner.layout.q[[k]], mask) for k in (last, 0)]

    def values(self, motion: Motion) -> FloatArray:
        """See `PointPiece.values`."""
        return self.owner.mechanism.difference(motion.q[:1] + self.shift, motion.q[-1:])

    def slopes(self, motion: Motion) -> tuple[FloatArray, list[FloatArray]]:
        """See `PointPiece.slopes`."""
        x = self.values(motion)
        by_end, by_start = self.owner.tangents.differences(x)
        eye = np.eye(x.shape[1])[None]
        after, before = eye if by_end is None else by_end, -(eye if by_start is None else by_start)
        return x, [along(motion, after, self.points), along(motion, before, np.array([0]))]
