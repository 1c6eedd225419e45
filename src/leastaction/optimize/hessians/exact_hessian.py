"""The exact Hessian of the Lagrangian: dynamics, costs and constraints, each with its own second derivatives.

Parts that have none (a user's functions in NumPy, forces between bodies, collocation) are taken by central differences
of their own analytic gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from leastaction.optimize.constraints.reactions import Reaction
from leastaction.optimize.hessians import reaction_gradient
from leastaction.optimize.hessians.dynamics_hessian import Contraction
from leastaction.optimize.hessians.hessian_colouring import Coloured
from leastaction.optimize.hessians.impulse_hessian import ImpulsesPart
from leastaction.optimize.hessians.lagrangian_hessian import (
    Hessian,
    Joined,
    Part,
    in_upper,
    local,
    shared,
    upper,
)
from leastaction.optimize.transcriptions.chain_rule import Motion, Piece
from leastaction.optimize.transcriptions.sparsity import (
    NO_BLOCKS,
    NO_ROWS,
    Block,
    FloatArray,
    IntArray,
    Pattern,
    add_at,
    add_products,
    add_squares,
)
from leastaction.optimize.transcriptions.transcription import CostPiece, Transcription
from leastaction.optimize.transcriptions.variational import DRAWN, Variational


class ByDifferences(Part):
    """By differences of an analytic gradient(z, weight, multipliers, out)."""

    def __init__(
        self,
        program: Transcription,
        pairs: list[tuple[IntArray, IntArray]],
        gradient: Callable,
        central: bool = True,
    ) -> None:
        n, self.gradient = program.n, gradient
        own = Pattern((n, n))
        for a, b in pairs:
            own.add(np.minimum(a, b), np.maximum(a, b))
        own.close()
        time = program.layout.duration
        self.coloured = Coloured(own, program.lower < program.upper, time, central)
        self.values = np.zeros(own.count)
        self.columns = np.repeat(np.arange(n), np.diff(own.indptr))

    def register(self, pattern: Pattern) -> None:
        """Add the nonzeros to `pattern`."""
        self.ticket = pattern.add(self.coloured.pattern.indices, self.columns)

    def close(self, pattern: Pattern) -> None:
        """See `Part.close`."""
        self.slots = pattern.slots(self.ticket)

    def add(self, z: FloatArray, weight: float, multipliers: FloatArray, values: FloatArray) -> None:
        """See `Part.add`."""
        self.coloured.evaluate(z, lambda z, g: self.gradient(z, weight, multipliers, g), self.values)
        values[self.slots] += self.values


class DynamicsPart(Part):
    """Multipliers . rows of the dynamics, by `Contraction`."""

    def __init__(self, program: Variational, pattern: Pattern) -> None:
        self.program, self.contraction = program, Contraction(program)
        layout, controls, N = program.layout, program.controls, program.steps
        runs, alike = self._runs()
        c = self._at_random(runs)
        q = layout.q[program._points()].reshape(N, -1)
        size = q.shape[1]
        found = np.zeros((N, size * size), bool)
        for run in runs:
            found[run] = _found(c.blocks[run].reshape(-1, size, size)).reshape(-1, size * size)
        found[alike] = found[alike].any(axis=0)
        *entries, self.places = upper(q, found.any(axis=0).reshape(size, size))
        self.tickets = [pattern.add(np.where(found[:, self.places], entries[0], -1), entries[1])]
        if c.by_time is not None and c.controls_by_time is not None:
            width, time = controls.weights.shape[1], np.array(layout.duration)
            u = layout.u[controls.first[:, None] + np.arange(width)]
            found = c.by_time.reshape(N, -1) != 0.0
            self.tickets += [pattern.add(np.where(found, q, -1), time), pattern.add(u, time), pattern.add(time, time)]

        self.by_controls = -1
        if c.by_controls is not None:
            # Pairs of the values that the step reads with its configurations.
            u = layout.u[controls.first[:, None] + np.arange(controls.weights.shape[1])]
            found = (c.by_controls.reshape(N, c.by_controls.shape[1], -1) != 0.0)[:, None]
            a, b = np.broadcast_arrays(u[:, :, :, None], q[:, None, None])
            self.by_controls = len(self.tickets)
            self.tickets.append(pattern.add(np.where(found, np.minimum(a, b), -1), np.maximum(a, b)))

    def _runs(self) -> tuple[list[slice], IntArray]:
        """Steps that show the nonzeros of all, in a row each: some of those that are alike, the ends, and all others.

        Alike are steps within the horizon whose rows are kept alike; their numbers.
        """
        held = self.program.kept.reshape(self.program.steps, -1) >= 0
        same = (held == held[len(held) // 2]).all(axis=1)
        same[0] = same[-1] = False
        alike = np.flatnonzero(same)
        probed = ~same
        probed[alike[:DRAWN]] = True
        edges = np.flatnonzero(np.diff(probed, prepend=False, append=False)).tolist()
        return [slice(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True)], alike

    def _at_random(self, runs: list[slice]) -> Contraction:
        """The contraction where nothing is special, to find structural nonzeros."""
        program, rng = self.program, np.random.default_rng(0)
        z = 0.3 * rng.normal(size=program.n)
        if program.layout.duration >= 0:
            z[program.layout.duration] = program.problem.guess_duration
        self.contraction.evaluate(z, rng.normal(size=program.m), runs)
        return self.contraction

    def close(self, pattern: Pattern) -> None:
        """See `Part.close`."""
        self.slots = [pattern.slots(ticket) for ticket in self.tickets]

    def add(self, z: FloatArray, weight: float, multipliers: FloatArray, values: FloatArray) -> None:
        """See `Part.add`."""
        c = self.contraction
        if not multipliers.any():
            return
        c.evaluate(z, multipliers)
        add_at(values, self.slots[0], self.places, c.blocks.reshape(len(c.blocks), -1))
        if c.by_time is not None and c.controls_by_time is not None:
            np.add.at(values, self.slots[1], c.by_time.reshape(self.slots[1].shape))
            by_values = np.einsum("kan,ab->kbn", c.controls_by_time, self.program.controls.weights)
            np.add.at(values, self.slots[2], by_values)
            values[self.slots[3]] += c.twice_by_time
        if c.by_controls is not None:
            weights, blocks = self.program.controls.weights[0], c.by_controls.reshape(len(c.blocks), 1, -1)
            slots = self.slots[self.by_controls]
            np.add.at(values, slots, weights[:, None, None] * blocks.reshape(len(slots), 1, slots.shape[2], -1))


def _found(blocks: FloatArray) -> NDArray[np.bool_]:
    """Which entries of symmetric blocks (steps, n, n) are other than zero; NaN is.

    Round-off is small beside what the smaller of the two degrees of freedom does at most: a finger has entries far
    below those of the body that carries it.
    """
    sizes = np.abs(blocks)
    rows = sizes.max(axis=2)
    return ~(sizes <= 1e-11 * np.minimum(rows[:, :, None], rows[:, None, :]))


class PiecePart(Part):
    """One cost or constraint: element by element."""

    def __init__(self, program: Transcription, piece: Piece, pattern: Pattern) -> None:
        self.program, self.piece = program, piece
        self.index, self.taken = local(piece)
        pairs = shared(piece, self.taken)
        if self._timed():
            self.index, pairs = _with_time(program, self.index, pairs)
        *entries, self.places = upper(self.index, pairs)
        self.ticket = pattern.add(*entries)

    def _timed(self) -> bool:
        """Whether the final time is to be added to what the piece reads."""
        return False

    def close(self, pattern: Pattern) -> None:
        """See `Part.close`."""
        self.slots = pattern.slots(self.ticket)
        n = self.index.shape[1]
        self._work = np.zeros((n, n))
        self._upper = in_upper(self.places, n)

    @cached_property
    def _chosen(self) -> IntArray:
        """Which of all unknowns that the piece reads count."""
        at, chosen = 0, []
        for columns, taken in zip(self.piece.columns, self.taken, strict=True):
            chosen.append(at + taken)
            at += columns.index.shape[1]
        return np.concatenate([np.zeros(0, int), *chosen])

    def _put(
        self,
        values: FloatArray,
        curvature: FloatArray | None,
        J: FloatArray = NO_BLOCKS,
        shares: FloatArray = NO_ROWS,
        by_time: FloatArray = NO_ROWS,
    ) -> None:
        """Add second derivatives by all unknowns of the piece, 2 J' shares J, and those by unknowns and time."""
        curvature = NO_BLOCKS if curvature is None else np.ascontiguousarray(curvature)
        block = Block(self.places, self._upper, self._chosen, self._work, self._work.reshape(self._work.size))
        add_squares(values, self.slots, block, curvature, J, shares, by_time)


class ConstraintPart(PiecePart):
    """multipliers . function."""

    def __init__(self, program: Transcription, piece: Piece, first: int, pattern: Pattern) -> None:
        self.rows = slice(first, first + len(piece.index) * piece.size)
        super().__init__(program, piece, pattern)

    def add(self, z: FloatArray, weight: float, multipliers: FloatArray, values: FloatArray) -> None:
        """See `Part.add`."""
        bar = multipliers[self.rows].reshape(len(self.piece.index), -1)
        if not bar.any():
            return
        curvature = self.piece.curvatures(self.program.motion(z), bar)
        if curvature is not None:
            self._put(values, curvature)


class CostPart(PiecePart):
    """weight times a sum of squares, or of values."""

    def __init__(self, program: Transcription, c: CostPiece, pattern: Pattern) -> None:
        self.c = c
        super().__init__(program, c.piece, pattern)
        self._joined = Joined(self.taken)

    def _timed(self) -> bool:
        return self.program.layout.duration >= 0 and self.c.cost.integral

    def add(self, z: FloatArray, weight: float, multipliers: FloatArray, values: FloatArray) -> None:
        """See `Part.add`."""
        program, cost, motion = self.program, self.c.cost, self.program.motion(z)
        r, slopes = self.piece.slopes(motion)
        J = self._joined(slopes)
        shares = weight * self.c.shares(motion.dt)[:, None] * cost.weights
        bar = shares * (2.0 * r if cost.squares else 1.0)
        curvature = self.piece.curvatures(motion, bar)
        by_time = NO_ROWS
        if cost.integral and program.layout.duration >= 0:
            # Shares of time grow with the final time.
            by_time = np.einsum("km,kmi->ki", bar, J) / program.duration(z)
        self._put(values, curvature, J if cost.squares else NO_BLOCKS, shares, by_time)


class Exact(Hessian):
    """Exact second derivatives of all parts that have them, differences of the analytic gradients of the others.

    Attributes:
        parts: of the Lagrangian.
    """

    def __init__(self, program: Transcription) -> None:
        n = program.n
        self.pattern = pattern = Pattern((n, n))
        self.parts: list[Part] = []
        others = self._add_dynamics(program)
        for c in program.costs:
            if c.piece.is_smooth:
                self.parts.append(CostPart(program, c, pattern))
            else:
                others.append(
                    ByDifferences(program, _piece_pairs(program, c.piece, c.cost.integral), _cost_gradient(program, c))
                )
        first = program.first_path
        for piece in program.paths:
            size = len(piece.index) * piece.size
            if piece.is_smooth:
                self.parts.append(ConstraintPart(program, piece, first, pattern))
            else:
                others.append(
                    ByDifferences(program, _piece_pairs(program, piece, False), _path_gradient(program, piece, first))
                )
            first += size
        for part in others:
            part.register(pattern)
        self.parts += others
        diagonal = np.arange(n)
        pattern.add(diagonal, diagonal)
        pattern.close()
        for part in self.parts:
            part.close(pattern)
        self._values = np.zeros(pattern.count + 1)

    def _add_dynamics(self, program: Transcription) -> list[ByDifferences]:
        """Add the parts of the dynamics to `parts`; gives those by differences, which are yet to be registered."""
        pattern = self.pattern
        others: list[ByDifferences] = []
        if isinstance(program, Variational) and program.has_contraction:
            self.parts.append(DynamicsPart(program, pattern))
            if program.reactions:
                left = reaction_gradient.by_differences(program)
                self.parts += [
                    ImpulsesPart(program, r, pattern)
                    for r in program.reactions.all
                    if all(r is not other for other in left)
                ]
                if left or len(program.cuts.knots):
                    met = reaction_gradient.pairs(program, left)
                    others.append(ByDifferences(program, met, _held_gradient(program, left)))
        else:
            # Collocation is there to compare with: one-sided differences are what it would have without exact ones.
            central = isinstance(program, Variational)
            others.append(ByDifferences(program, _dynamics_pairs(program), _dynamics_gradient(program), central))
        return others

    def evaluate(self, z: FloatArray, weight: float, multipliers: FloatArray, out: FloatArray) -> None:
        """See `Hessian.evaluate`."""
        values = self._values
        values[:] = 0.0
        for part in self.parts:
            part.add(z, weight, multipliers, values)
        out[:] = values[:-1]


# ---------------------------------------------------------------------- gradients of parts, for differences


def _dynamics_pairs(program: Transcription) -> list[tuple[IntArray, IntArray]]:
    pairs = program.dynamics_couplings()
    if program.layout.duration >= 0:
        pairs.append((np.arange(program.n), np.array(program.layout.duration)))
    return pairs


def _dynamics_gradient(program: Transcription) -> Callable:
    pattern, paths = program.jacobian_pattern, program.first_path
    nonzeros = np.zeros(pattern.count + 1)

    def gradient(z: FloatArray, weight: float, multipliers: FloatArray, out: FloatArray) -> None:
        nonzeros[:] = out[:] = 0.0
        program._dynamics_jacobian(program.motion(z), nonzeros)
        y = multipliers.copy()
        y[paths:] = 0.0
        add_products(pattern.indptr, pattern.indices, nonzeros, y, out)

    return gradient


def _held_gradient(program: Transcription, reactions: list[Reaction]) -> Callable:
    return lambda z, weight, multipliers, out: reaction_gradient.gradient(program, z, multipliers, out, reactions)


def _with_time(program: Transcription, index: IntArray, pairs: NDArray[np.bool_]) -> tuple[IntArray, NDArray[np.bool_]]:
    """The final time beside the unknowns `index`, paired with all of them."""
    n, time = len(pairs), np.full((len(index), 1), program.layout.duration)
    more = np.ones((n + 1, n + 1), bool)
    more[:n, :n] = pairs
    more[n, n] = False  # nothing is quadratic in the share of time
    return np.concatenate([index, time], axis=1), more


def _piece_pairs(program: Transcription, piece: Piece, integral: bool) -> list[tuple[IntArray, IntArray]]:
    index, taken = local(piece)
    pairs = shared(piece, taken)
    if integral and program.layout.duration >= 0:
        index, pairs = _with_time(program, index, pairs)
    a, b = np.nonzero(pairs)
    return [(index[:, a], index[:, b])]


def _add_gradient(piece: Piece, slopes: list[FloatArray], bar: FloatArray, out: FloatArray) -> None:
    for columns, J in zip(piece.columns, slopes, strict=True):
        out += np.bincount(columns.index.ravel(), np.einsum("km,kmn->kn", bar, J).ravel(), len(out))


def _cost_gradient(program: Transcription, c: CostPiece) -> Callable:
    def gradient(z: FloatArray, weight: float, multipliers: FloatArray, out: FloatArray) -> None:
        motion: Motion = program.motion(z)
        r, slopes = c.piece.slopes(motion)
        shares = weight * c.shares(motion.dt)
        out[:] = 0.0
        _add_gradient(c.piece, slopes, shares[:, None] * c.cost.weights * (2.0 * r if c.cost.squares else 1.0), out)
        if c.cost.integral and program.layout.duration >= 0:
            out[program.layout.duration] += shares @ c.terms(r) / program.duration(z)

    return gradient


def _path_gradient(program: Transcription, piece: Piece, first: int) -> Callable:
    rows = slice(first, first + len(piece.index) * piece.size)

    def gradient(z: FloatArray, weight: float, multipliers: FloatArray, out: FloatArray) -> None:
        out[:] = 0.0
        bar = multipliers[rows].reshape(len(piece.index), -1)
        _add_gradient(piece, piece.slopes(program.motion(z))[1], bar, out)

    return gradient
