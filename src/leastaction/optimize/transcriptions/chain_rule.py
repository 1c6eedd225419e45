"""Functions of the motion as functions of the unknowns z: the chain rule, for all knots or steps at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leastaction.optimize.functions import knot_kinematics
from leastaction.optimize.functions.manifold_derivatives import Matrices, times
from leastaction.optimize.functions.motion_functions import Function, Place
from leastaction.optimize.hessians.midpoint_hessians import chord_hessian
from leastaction.typing import FloatArray

if TYPE_CHECKING:
    from leastaction.optimize.transcriptions.transcription import Transcription

IntArray = NDArray[np.int64]


@dataclass
class Motion:
    """The motion that the unknowns z describe.

    Attributes:
        z: the unknowns.
        dt: time step [s].
        q: configurations at all control points, shape (points, nq).
        u: controls at the nodes of the steps, shape (steps, nodes, nu).
        turns: derivatives of q by the unknowns along the tangent, shape (points, nv, nv).
        chords: of all steps, made when first asked for.
        places: of pieces, likewise.
    """

    z: FloatArray
    dt: float
    q: FloatArray
    u: FloatArray
    turns: Matrices
    chords: Any = None
    places: dict[Any, Any] = field(default_factory=dict)


@dataclass
class Chords:
    """Steps by their ends: displacement x, middle q, and derivatives of both by the ends; see `Tangents`."""

    x: FloatArray
    q: FloatArray
    x_end: Matrices
    x_start: Matrices
    q_end: Matrices
    q_start: Matrices


@dataclass
class Columns:
    """Some unknowns that a function reads: for each element their numbers (elements, n), and which rows read which."""

    index: IntArray
    mask: NDArray[np.bool_]


class Piece:
    """One function on one transcription.

    Attributes:
        function: of the motion.
        index: knots or steps, shape (elements,).
        columns: unknowns that it reads, in groups.
        share: of each element in integrals over time, in steps, shape (elements,).
        couples: see `PointPiece`.
    """

    couples: NDArray[np.bool_] | None = None

    def __init__(self, owner: Transcription, function: Function) -> None:
        self.owner, self.function = owner, function
        layout, N, s, controls = owner.layout, owner.steps, owner.s, owner.controls
        pattern, nv, nu, size = function.pattern(), owner.mechanism.nv, owner.mechanism.nu, function.size
        none = {"q": nv, "v": nv, "x": nv, "u": nu}
        read = {name: pattern.get(name, np.zeros((size, n), bool)) for name, n in none.items()}
        spread = owner.tangents.spread
        self.index = function.indices(N + 1 if function.where == "knots" else N)
        k = self.index
        self.reads_controls = bool(read["u"].any())
        self.columns: list[Columns] = []
        self.share = np.ones(len(k))
        self._bends: FloatArray | None = None  # of `curvatures`
        self._last: tuple[Motion | None, Any] = (None, None)
        self._kept: dict[str, FloatArray] = {}
        if function.where == "knots":
            self.columns.append(Columns(layout.q[s * k], spread(read["q"])))
            if function.at is None:
                self.share[[0, -1]] = 0.5
            return
        if function.where == "controls":
            nodes = len(controls.quadrature)
            self.index, self.node = np.repeat(k, nodes), np.tile(np.arange(nodes), len(k))
            self.share = controls.quadrature[self.node]
            self.weights = controls.weights[self.node]
        else:
            by_ends = spread(read["q"] | read["v"] | read["x"])
            self.columns += [Columns(layout.q[s * k], by_ends), Columns(layout.q[s * (k + 1)], by_ends)]
            self.weights = np.tile(controls.middle, (len(k), 1))
        for b in range(self.weights.shape[1]):
            self.columns.append(Columns(layout.u[controls.first[self.index] + b], read["u"]))
        if function.where == "steps" and layout.duration >= 0:
            timed = read["v"].any(axis=1) | pattern.get("dt", np.zeros(size, bool))
            self.columns.append(Columns(np.full((len(k), 1), layout.duration), timed[:, None]))

    def _place(self, motion: Motion) -> Place:
        if self not in motion.places:
            motion.places[self] = self._find_place(motion)
        return motion.places[self]

    def _find_place(self, motion: Motion) -> Place:
        owner, k = self.owner, self.index
        none = np.zeros((len(k), 0))
        if self.function.where == "knots":
            return Place(k, np.asarray(motion.dt * k, float), motion.q[owner.s * k], none, none, motion.dt)
        if self.function.where == "controls":
            t = np.asarray(motion.dt * (k + np.array(owner.nodes)[self.node]), float)
            return Place(k, t, none, none, motion.u[k, self.node], motion.dt)
        chords = owner.chords(motion)
        mean = np.einsum("a,kan->kn", owner.controls.quadrature, motion.u[k])
        return Place(k, np.asarray(motion.dt * (k + 0.5), float), chords.q[k], chords.x[k] / motion.dt, mean, motion.dt)

    def values(self, motion: Motion) -> FloatArray:
        """Shape (elements, size)."""
        return self.function.evaluate(self._place(motion), False).value

    def slopes(self, motion: Motion) -> tuple[FloatArray, list[FloatArray]]:
        """Values (elements, size), and derivatives by the unknowns of each of `columns`, shape (elements, size, n).

        Kept for the last motion; the arrays are used again for the next one, and not to be written to.
        """
        if self._last[0] is not motion:
            self._last = (motion, self._find_slopes(motion))
        value, slopes = self._last[1]
        return value, list(slopes)

    def _room(self, name: str, *shape: int) -> FloatArray:
        """Memory that stays: large arrays cost more to allocate than to fill."""
        if name not in self._kept or self._kept[name].shape != shape:
            self._kept[name] = np.zeros(shape)
        return self._kept[name]

    def _find_slopes(self, motion: Motion) -> tuple[FloatArray, list[FloatArray]]:
        place, owner, where = self._place(motion), self.owner, self.function.where
        f = self.function.evaluate(place, True)
        K, m, nv = len(self.index), self.function.size, owner.mechanism.nv
        out: list[FloatArray] = []
        if where == "knots":
            turns = None if motion.turns is None else motion.turns[owner.s * self.index]
            return f.value, [times(np.zeros((K, m, nv)) if f.q is None else f.q, turns)]
        if where == "steps":
            out += self._by_ends(motion, f.q, f.v, f.x)
        for b in range(self.weights.shape[1]):
            by_u = self._room(f"controls {b}", K, m, owner.mechanism.nu)
            if f.u is not None:
                np.multiply(self.weights[:, b, None, None], f.u, out=by_u)
            out.append(by_u)
        if where == "steps" and owner.layout.duration >= 0:
            by_dt = np.zeros((K, m)) if f.dt is None else f.dt
            if f.v is not None:
                by_dt = by_dt - np.einsum("kmn,kn->km", f.v, place.v) / motion.dt
            out.append(by_dt[:, :, None] / owner.steps)
        return f.value, out

    @property
    def size(self) -> int:
        """Number of components."""
        return self.function.size

    @property
    def is_smooth(self) -> bool:
        """Whether `curvatures` are known."""
        return self.function.has_curvatures

    def curvatures(self, motion: Motion, bar: FloatArray) -> FloatArray | None:
        """Second derivatives of bar . function by all of `columns` together, shape (elements, n, n); None: zero.

        bar: shape (elements, size). Controls at the end of `columns` that are not read may be omitted. The array is
        used again by the next call.
        """
        function, owner, where = self.function, self.owner, self.function.where
        place = self._place(motion)
        if where == "knots":
            return self._at_knots(motion, place, bar)
        if where == "controls":
            return None
        curvature = function.curvatures(place, bar)
        if owner.tangents.curved and function.reads_motion:
            return chord_hessian(self, motion, place, bar, curvature)
        if curvature is None or (curvature.second is None and owner.layout.duration < 0):
            return None
        # From (q, v, u, dt) to the two ends, the controls and the final time, of which v is no linear function.
        nv, dt = owner.mechanism.nv, motion.dt
        timed = owner.layout.duration >= 0
        # Controls that no component reads have no second derivatives either.
        n = sum(columns.index.shape[1] for columns in self.columns) if timed or self.reads_controls else 2 * nv
        if self._bends is None or self._bends.shape[1] != n:
            self._bends = np.zeros((len(self.index), n, n))
        H = self._bends
        H[:] = 0.0
        if curvature.second is not None:
            rates = place.v / (dt * owner.steps) if timed else place.v
            knot_kinematics.end_hessian(curvature.second, self.weights, rates, dt, nv, timed, H)
        if timed and curvature.by_v is not None:
            # d^2 v / d(ends) dT = -(+-1) / dt^2 / N, d^2 v / dT^2 = 2 v / (dt N)^2.
            slope = curvature.by_v / (dt * dt * owner.steps)
            for at, sign in ((0, 1.0), (nv, -1.0)):
                H[:, at : at + nv, -1] += sign * slope
                H[:, -1, at : at + nv] += sign * slope
            H[:, -1, -1] += 2.0 * np.einsum("kn,kn->k", curvature.by_v, place.v) / (dt * owner.steps) ** 2
        return H

    def _at_knots(self, motion: Motion, place: Place, bar: FloatArray) -> FloatArray | None:
        curvature, tangents, points = (
            self.function.curvatures(place, bar),
            self.owner.tangents,
            self.owner.s * self.index,
        )
        if motion.turns is None:
            return None if curvature is None else curvature.second
        by_q = self.function.evaluate(place, True).q
        if by_q is None:
            return None
        gradient, turns = np.einsum("km,kmn->kn", bar, by_q), motion.turns[points]
        H = tangents.curvature(motion.z[self.owner.layout.q[points]], gradient)
        assert H is not None
        return (
            H
            if curvature is None or curvature.second is None
            else H + np.swapaxes(turns, 1, 2) @ curvature.second @ turns
        )

    def _by_ends(self, motion: Motion, q: Any, v: Any, x: Any) -> list[FloatArray]:
        """Derivatives by the unknowns of the first and the last configuration of the steps."""
        shape = len(self.index), self.function.size, self.owner.mechanism.nv
        start, end = self._room("start", *shape), self._room("end", *shape)
        # By the difference of the ends, which stands for x and dt v,
        if v is None:
            end[:] = 0.0
        else:
            np.divide(v, motion.dt, out=end)
        if x is not None:
            end += x
        # and by their mean.
        half = None if q is None else np.multiply(q, 0.5, out=self._room("half", *shape))
        if motion.turns is not None:
            return self._by_turned_ends(motion, end, half)
        np.negative(end, out=start)
        if half is not None:
            start += half
            end += half
        return [start, end]

    def _by_turned_ends(self, motion: Motion, moved: FloatArray, half: FloatArray | None) -> list[FloatArray]:
        chords, k, s, turns, out = self.owner.chords(motion), self.index, self.owner.s, motion.turns, []
        assert turns is not None
        for sign, by_x, by_q, points in (
            (-1.0, chords.x_start, chords.q_start, s * k),
            (1.0, chords.x_end, chords.q_end, s * (k + 1)),
        ):
            J = sign * times(moved, None if by_x is None else by_x[k])
            if half is not None:
                J = J + times(half, None if by_q is None else by_q[k])
            out.append(times(J, turns[points]))
        return out
