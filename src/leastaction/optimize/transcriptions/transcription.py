"""`Transcription`: a problem of optimal control as a nonlinear program with sparse derivatives.

    minimise f(z)  such that  lower <= z <= upper,  c_lower <= c(z) <= c_upper

The unknowns z are the configurations at the control points of all steps, the controls, and what else a transcription
asks for (`Layout`). Configurations are displacements from a reference along the tangent, so ball and free joints have
no singular orientation; `recenter` moves the reference to where the motion is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leastaction.optimize.constraints.impact_knots import Cuts
from leastaction.optimize.constraints.reactions import Reactions
from leastaction.optimize.functions.manifold_derivatives import Tangents
from leastaction.optimize.transcriptions.chain_rule import Chords, Motion, Piece
from leastaction.optimize.transcriptions.layout import Controls, Layout
from leastaction.optimize.transcriptions.sparsity import Pattern, add_products, add_slopes
from leastaction.typing import FloatArray

if TYPE_CHECKING:
    from leastaction.optimize.functions.costs import Cost
    from leastaction.optimize.problem.problem import Problem

IntArray = NDArray[np.int64]

TURN = 3.0
"""How far components of a ball joint's displacement from its reference may go [rad]; at 2 pi the map is singular."""


@dataclass(frozen=True)
class Rows:
    """Constraints of one kind.

    Attributes:
        name: what messages call them.
        where: "knot", "step" or "control point".
        first: number of the first one.
        index: knot or step of each element, shape (elements,).
        labels: of the components of an element.
    """

    name: str
    where: str
    first: int
    index: IntArray
    labels: tuple[str, ...]

    @property
    def count(self) -> int:
        """Number of constraints."""
        return len(self.index) * len(self.labels)

    def describe(self, row: int) -> str:
        """Constraint `row`, in words."""
        element, component = divmod(row - self.first, len(self.labels))
        label = self.labels[component]
        return f"{self.name}{f' ({label})' if label else ''} at {self.where} {self.index[element]}"


@dataclass
class CostPiece:
    """One cost on the unknowns."""

    cost: Cost
    piece: Piece

    def shares(self, dt: float) -> FloatArray:
        """What each element counts, shape (elements,)."""
        return dt * self.piece.share if self.cost.integral else np.ones(len(self.piece.index))

    def terms(self, r: FloatArray) -> FloatArray:
        """The cost of each element for values r (elements, size)."""
        return np.einsum("km,m->k", r * r if self.cost.squares else r, self.cost.weights)  # `@` would wake other cores


class Transcription(ABC):
    """A nonlinear program; see the module's text.

    Attributes:
        problem: what it was made of.
        steps, s: number of steps, and of intervals between the control points of a step.
        points, nodes: fractions of a step at which configurations are unknown, and at which controls are read.
        layout: where the unknowns stand in z.
        lower, upper: bounds of z, shape (n,).
        c_lower, c_upper: bounds of the constraints, shape (m,).
        rows: kinds of constraints, in order.
        jacobian_pattern: structural nonzeros of dc/dz.
        kept: where the rows of the dynamics of each step stand, shape (steps, s + 1, nv), -1 for those omitted.
        first_path: number of the first constraint that is not of the dynamics.
        reference: configurations from which displacements are counted, shape (points, nq).
    """

    kept: IntArray

    def __init__(self, problem: Problem, points: tuple[float, ...], nodes: tuple[float, ...], **unknowns: bool) -> None:
        self.problem, self.mechanism = problem, problem.planned
        self.steps, self.s, self.points, self.nodes = problem.steps, len(points) - 1, points, nodes
        self.tangents = Tangents(problem.mechanism)
        self.controls = Controls.of(problem.controls, problem.steps, nodes)
        m, reactions = problem.mechanism, problem.schedule.reactions(problem, points)
        cuts = problem.schedule.impact_knots
        acting = [*((r.points, len(r.labels)) for r in reactions), (self.s * cuts, m.nv)]
        free = problem.fixed_duration is None
        self.layout = Layout.of(
            self.steps, self.s, m.nv, m.nu, self.controls, free_time=free, forces=acting, **unknowns
        )
        for reaction, index in zip(reactions, self.layout.forces[:-1], strict=True):
            reaction.bind(self, index)
        self.reactions, self.cuts = Reactions(self, reactions), Cuts(self, cuts, self.layout.forces[-1])
        self.rows: list[Rows] = []
        self._limits: list[tuple[FloatArray, FloatArray]] = []
        self.costs = [CostPiece(cost, Piece(self, cost.function)) for cost in problem.costs]
        self.paths: list[Any] = [Piece(self, constraint.function) for constraint in problem.constraints]
        self._add_dynamics()
        for constraint, piece in zip(problem.constraints, self.paths, strict=True):
            where = "knot" if constraint.function.where == "knots" else "step"
            labels = problem.labels(constraint.function)
            self.add_rows(constraint.function.name, where, piece.index, labels, *constraint.limits)
        for piece in problem.schedule.point_pieces(self):
            self.add_rows(piece.name, piece.where, piece.index, piece.labels, *piece.limits)
            self.paths.append(piece)
        self.c_lower, self.c_upper = (np.concatenate([np.zeros(0), *(x[i] for x in self._limits)]) for i in (0, 1))
        self.lower, self.upper = problem.variable_bounds(self)
        self._find_patterns()
        self.reference = self._neutral_reference()
        self._motion: Motion | None = None

    # ------------------------------------------------------------------ the dynamics, by subclasses

    @abstractmethod
    def _add_dynamics(self) -> None:
        """Register the rows of the dynamics with `add_rows`."""

    @abstractmethod
    def _add_dynamics_pattern(self, pattern: Pattern) -> None:
        """Register their nonzeros."""

    @abstractmethod
    def _close_dynamics_pattern(self, pattern: Pattern) -> None:
        """Remember where they are."""

    @abstractmethod
    def _dynamics(self, motion: Motion, out: FloatArray) -> None:
        """Add their values to `out`."""

    @abstractmethod
    def _dynamics_jacobian(self, motion: Motion, values: FloatArray) -> None:
        """Add their derivatives to the nonzeros."""

    @abstractmethod
    def dynamics_couplings(self) -> list[tuple[IntArray, IntArray]]:
        """Pairs of unknowns that their second derivatives may join: arrays (..., n) and (..., m) that broadcast."""

    @abstractmethod
    def stored(self, z: FloatArray) -> dict[str, FloatArray]:
        """What a `Trajectory` stores besides q: "p" or "v" at the knots."""

    # ------------------------------------------------------------------ construction

    def add_rows(
        self,
        name: str,
        where: str,
        index: IntArray,
        labels: tuple[str, ...],
        lower: ArrayLike = 0.0,
        upper: ArrayLike = 0.0,
    ) -> IntArray:
        """Register constraints, one element for each of `index`; returns their numbers (elements, labels)."""
        first = sum(rows.count for rows in self.rows)
        rows = Rows(name, where, first, np.asarray(index), labels)
        shape = (len(rows.index), len(labels))
        self.rows.append(rows)
        self._limits.append((np.broadcast_to(lower, shape).ravel(), np.broadcast_to(upper, shape).ravel()))
        return first + np.arange(rows.count).reshape(shape)

    def _find_patterns(self) -> None:
        pattern = self.jacobian_pattern = Pattern((self.m, self.n))
        self._add_dynamics_pattern(pattern)
        tickets: list[list[tuple[int, Any]]] = []
        paths = self.rows[len(self.rows) - len(self.paths) :]
        for rows, piece in zip(paths, self.paths, strict=True):
            numbers = rows.first + np.arange(rows.count).reshape(len(rows.index), -1)
            tickets.append([])
            for columns in piece.columns:
                r, c = np.nonzero(columns.mask)
                tickets[-1].append((pattern.add(numbers[:, r], columns.index[:, c]), (r, c)))
        pattern.close()
        self._close_dynamics_pattern(pattern)
        self._slots = [[(pattern.slots(t), rc) for t, rc in group] for group in tickets]
        self.first_path = paths[0].first if paths else self.m
        self._values = np.zeros(pattern.count + 1)

    def _neutral_reference(self) -> FloatArray:
        """Neutral configurations; zero for joints with single axes, whose unknowns then are their positions."""
        q = self.mechanism.neutral()
        for group in self.mechanism.coordinate_groups:
            if group.nv == 1:
                q[group.iq] = 0.0
        return np.tile(q, (self.s * self.steps + 1, 1))

    def recenter(self, q: FloatArray) -> None:
        """Take q (points, nq) as reference of the ball and free joints."""
        for group in self.mechanism.coordinate_groups:
            if group.nv > 1:
                entries = slice(group.iq, group.iq + (7 if group.nv == 6 else 4))
                self.reference[:, entries] = q[:, entries]
        self._motion = None

    @property
    def n(self) -> int:
        """Number of unknowns."""
        return self.layout.size

    @property
    def m(self) -> int:
        """Number of constraints."""
        return sum(rows.count for rows in self.rows)

    def describe(self, row: int) -> str:
        """Constraint `row`, in words."""
        return next(rows for rows in self.rows if row < rows.first + rows.count).describe(row)

    # ------------------------------------------------------------------ between motions and unknowns

    def unknowns(self, q: FloatArray, u: FloatArray, duration: float, like: FloatArray | None = None) -> FloatArray:
        """z of configurations (points, nq) and controls (blocks, nu); references move to q.

        Momenta, velocities and forces are those of the unknowns `like`, or guessed.
        """
        self.recenter(q)
        z = np.zeros(self.n)
        z[self.layout.q] = self.mechanism.difference(self.reference, q)
        z[self.layout.u] = u
        if self.layout.duration >= 0:
            z[self.layout.duration] = duration
        self._complete(z, q, duration / self.steps)
        if like is not None:
            for index in (self.layout.p, self.layout.v, *self.layout.forces):
                z[index] = like[index]
        return z

    def _complete(self, z: FloatArray, q: FloatArray, dt: float) -> None:
        """Fill in what else z holds; nothing where q and u are all."""
        del z, q, dt

    def motion(self, z: FloatArray) -> Motion:
        """The motion that z describes; kept until another z is asked for."""
        if self._motion is not None and (self._motion.z == z).all():
            return self._motion
        layout, controls = self.layout, self.controls
        x = z[layout.q]
        q = self.mechanism.integrate(self.reference, x) if self.tangents.curved else self.reference + x
        values = z[layout.u][controls.first[:, None] + np.arange(controls.weights.shape[1])]
        u = np.einsum("ab,kbn->kan", controls.weights, values)
        self._motion = Motion(np.array(z), self.duration(z) / self.steps, q, u, self.tangents.retraction(x))
        return self._motion

    def duration(self, z: FloatArray) -> float:
        """Final time [s]."""
        return float(z[self.layout.duration]) if self.layout.duration >= 0 else self.problem.guess_duration

    def chords(self, motion: Motion) -> Chords:
        """The steps of a motion by their ends."""
        if motion.chords is None:
            knots = motion.q[:: self.s]
            if self.tangents.curved:
                x = self.mechanism.difference(knots[:-1], knots[1:])
                q = self.mechanism.integrate(knots[:-1], 0.5 * x)
            else:
                x, q = knots[1:] - knots[:-1], 0.5 * (knots[1:] + knots[:-1])
            motion.chords = Chords(x, q, *self.tangents.differences(x), *self.tangents.middles(x))
        return motion.chords

    # ------------------------------------------------------------------ the program

    def cost(self, z: FloatArray) -> float:
        """f(z)."""
        motion = self.motion(z)
        return float(sum((c.shares(motion.dt) * c.terms(c.piece.values(motion))).sum() for c in self.costs))

    def gradient(self, z: FloatArray, out: FloatArray) -> None:
        """df/dz into out (n,)."""
        motion = self.motion(z)
        out[:] = 0.0
        for c in self.costs:
            r, slopes = c.piece.slopes(motion)
            shares = c.shares(motion.dt)
            bar = shares[:, None] * c.cost.weights * (2.0 * r if c.cost.squares else 1.0)
            for columns, J in zip(c.piece.columns, slopes, strict=True):
                add_slopes(columns.index, bar, np.ascontiguousarray(J), out)
            if c.cost.integral and self.layout.duration >= 0:
                out[self.layout.duration] += shares @ c.terms(r) / self.duration(z)

    def constraints(self, z: FloatArray, out: FloatArray) -> None:
        """c(z) into out (m,)."""
        motion = self.motion(z)
        out[:] = 0.0
        self._dynamics(motion, out)
        at = self.first_path
        for piece in self.paths:
            values = piece.values(motion)
            out[at : at + values.size] = values.ravel()
            at += values.size

    def jacobian(self, z: FloatArray, out: FloatArray) -> None:
        """Nonzeros of dc/dz into out (nonzeros,), in the order of `jacobian_pattern`."""
        motion, values = self.motion(z), self._values
        values[:] = 0.0
        self._dynamics_jacobian(motion, values)
        for piece, slots in zip(self.paths, self._slots, strict=True):
            for J, (where, (r, c)) in zip(piece.slopes(motion)[1], slots, strict=True):
                values[where] = J[:, r, c]
        out[:] = values[:-1]

    def lagrangian_gradient(self, z: FloatArray, weight: float, multipliers: FloatArray, out: FloatArray) -> None:
        """weight df/dz + (dc/dz)' multipliers into out (n,)."""
        pattern = self.jacobian_pattern
        self.gradient(z, out)
        out *= weight
        nonzeros = np.zeros(pattern.count)
        self.jacobian(z, nonzeros)
        add_products(pattern.indptr, pattern.indices, nonzeros, multipliers, out)
