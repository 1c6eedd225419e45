"""Constraints of a contact without a schedule; see `contact_implicit`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leastaction.optimize.constraints.reaction_constraints import PointPiece, along
from leastaction.optimize.constraints.reaction_hessians import by_unknowns, gap_bends, slip_bends
from leastaction.optimize.transcriptions.chain_rule import Columns, Motion
from leastaction.typing import FloatArray

if TYPE_CHECKING:
    from leastaction.optimize.constraints.contact_implicit import ContactReaction
    from leastaction.optimize.transcriptions.transcription import Transcription

ALL, STARTS, ENDS, LAST = slice(None), slice(None, -1), slice(1, None), slice(-1, None)
"""Control points of a contact, those from which and to which it goes on, and the last one."""


def _kept(make: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function (reaction, motion, ...) keep what it finds with the motion: several pieces ask for it."""

    @wraps(make)
    def find(r: ContactReaction, motion: Motion, *more: bool) -> Any:
        key = (make, id(r), *more)
        if key not in motion.places:
            motion.places[key] = make(r, motion, *more)
        return motion.places[key]

    return find


@_kept
def gaps(r: ContactReaction, motion: Motion) -> tuple[FloatArray, FloatArray]:
    """Heights above the ground (points,) and their derivatives along the tangents (points, nv)."""
    h, A, _ = r.equations(motion, False)
    x, along_x = _ahead(r, h, A)
    z, slope = r.terrain.height(x)
    return h[:, r.axes[2]] - z - r.touch.radius, A[:, r.axes[2]] - slope[:, None] * along_x


def _ahead(r: ContactReaction, h: FloatArray, A: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Places along x (points,) and their derivatives (points, nv)."""
    k = r.axes[0]
    return (h[:, k], A[:, k]) if k >= 0 else (np.full(len(h), r.constant), np.zeros((len(A), A.shape[2])))


@_kept
def distances(r: ContactReaction, motion: Motion) -> tuple[FloatArray, FloatArray, FloatArray]:
    """What must vanish where a force acts, from each control point to the next (P - 1,): gaps, and what is not level.

    With derivatives along the tangents of the first and of the second one, shape (P - 1, nv).
    """
    g, G = gaps(r, motion)
    h, A, _ = r.equations(motion, False)
    x, along_x = _ahead(r, h, A)
    steep, slope = r.terrain.steepness(x)
    steep, J = steep[:-1], (slope[:, None] * along_x)[:-1]
    if r.early:
        return g[1:] + steep, J, G[1:]
    return g[:-1] + g[1:] + steep, G[:-1] + J, G[1:]


@_kept
def slips(r: ContactReaction, motion: Motion, slopes: bool) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Slip velocities (P - 1, m) from each control point to the next, and derivatives.

    Along the tangents of the first and of the second one, shape (P - 1, m, nv), and by dt (P - 1, m).
    """
    owner, rates = r.owner, _rates(r, motion)
    h, A, dA = r.equations(motion, slopes and r.rolls)
    if not r.rolls:
        v = rates * (h[1:, r.slides] - h[:-1, r.slides])
        by_start, by_end = -rates[:, :, None] * A[:-1, r.slides], rates[:, :, None] * A[1:, r.slides]
        return v, by_start, by_end, -v / motion.dt
    # The contact point of a ball: its Jacobian at the first control point, along the way to the next.
    x = owner.mechanism.difference(motion.q[r.points[:-1]], motion.q[r.points[1:]])
    J = rates[:, :, None] * A[:-1, r.slides]
    v = np.einsum("pmn,pn->pm", J, x)
    if not slopes:
        return v, J, J, v
    end, start = owner.tangents.differences(x)
    curvature = rates[:, :, None] * np.einsum("pmkj,pk->pmj", dA[:-1, r.slides], x)
    by_end = J if end is None else J @ end
    by_start = curvature - (J if start is None else J @ start)
    return v, by_start, by_end, -v / motion.dt


@_kept
def _rates(r: ContactReaction, motion: Motion) -> FloatArray:
    """Inverse times from each control point to the next [1/s], shape (P - 1, 1)."""
    fractions = np.diff(np.array(r.owner.points))
    return 1.0 / (motion.dt * np.resize(fractions, len(r.points) - 1))[:, None]


def _read(r: ContactReaction, rows: Any) -> NDArray[np.bool_]:
    """Which degrees of freedom some of the contact's equations read, shape (1, nv)."""
    return r.owner.tangents.spread(np.any(r.reads[rows], axis=0, keepdims=True))


def _gap_rows(r: ContactReaction) -> list[int]:
    """Equations for the gap: along x it does not matter where level ground is."""
    return [int(r.axes[2]), *([int(r.axes[0])] if r.axes[0] >= 0 and r.terrain.edges else [])]


def _joined(r: ContactReaction, rows: list[int]) -> NDArray[np.bool_]:
    """Which two degrees of freedom change some of the contact's equations, or the ground below it, together."""
    out = np.any(r.curvature[rows], axis=0)
    if r.terrain.edges and r.axes[0] in rows:
        out = out | (r.reads[r.axes[0]][:, None] & r.reads[r.axes[0]])
    return r.owner.tangents.joined(out)


class _ContactPiece(PointPiece):
    """Constraints from each control point of a contact to the next one; `rows`: equations that each of them reads."""

    def __init__(self, r: ContactReaction, labels: tuple[str, ...], points: NDArray[np.int64], rows: list[Any]) -> None:
        super().__init__(r.owner, r.name, points, labels)
        self.r, self.timed = r, r.owner.layout.duration >= 0
        mask, q = np.concatenate([_read(r, ALL if r.rolls else each) for each in rows]), r.owner.layout.q
        self.columns = [
            Columns(q[points], mask),
            Columns(q[points + 1], mask),
            Columns(r.index[: len(points)], np.ones((len(labels), len(r.labels)), bool)),
        ]
        if self.timed:
            self.columns.append(
                Columns(np.full((len(points), 1), r.owner.layout.duration), np.ones((len(labels), 1), bool))
            )
        if not r.rolls:
            n, forces = r.owner.mechanism.nv, len(r.labels)
            couples = np.zeros((2 * n + forces + self.timed,) * 2, bool)
            joined = _joined(r, sorted({row for each in rows for row in each}))
            couples[:n, :n] = couples[n : 2 * n, n : 2 * n] = joined
            if self.timed:
                couples[-1] = couples[:, -1] = True
            self.couples = couples

    @property
    def is_smooth(self) -> bool:
        """See `PointPiece.is_smooth`: of points."""
        return not self.r.rolls

    def _blocks(
        self, motion: Motion, start: tuple[FloatArray, FloatArray], end: tuple[FloatArray, FloatArray]
    ) -> FloatArray:
        """Second derivatives by configurations, forces and final time, of which those by configurations are filled."""
        n = self.owner.mechanism.nv
        H = np.zeros((len(self.points), *(2 * n + len(self.r.labels) + self.timed,) * 2))
        H[:, :n, :n] = by_unknowns(self.owner, motion, self.points, *start)
        H[:, n : 2 * n, n : 2 * n] = by_unknowns(self.owner, motion, self.points + 1, *end)
        return H

    def _add_time(self, motion: Motion, first: list[FloatArray], value: FloatArray, H: FloatArray) -> None:
        """Second derivatives by the final time, with which slip falls: dv/dT = -v / T.

        first: derivatives of what goes with slip by the configurations and by the forces, (points, ...) each; value:
        that itself, shape (points,).
        """
        T = motion.dt * self.owner.steps
        H[:, :-1, -1] = H[:, -1, :-1] = -np.concatenate(first, axis=1) / T
        H[:, -1, -1] = 2.0 * value / (T * T)

    def _turned(self, motion: Motion, start: FloatArray, end: FloatArray, f: FloatArray, dt: FloatArray) -> list:
        out = [along(motion, start, self.points), along(motion, end, self.points + 1), f]
        return [*out, dt[:, :, None] / self.owner.steps] if self.timed else out


class Gap(PointPiece):
    """The point is not in the ground."""

    def __init__(self, r: ContactReaction) -> None:
        super().__init__(r.owner, r.name, r.points, ("gap",))
        self.r, self.limits = r, (0.0, np.inf)
        self.columns = [Columns(r.owner.layout.q[r.points], _read(r, _gap_rows(r)))]
        self.couples = _joined(r, _gap_rows(r))

    def values(self, motion: Motion) -> FloatArray:
        """See `PointPiece.values`."""
        return gaps(self.r, motion)[0][:, None]

    def slopes(self, motion: Motion) -> tuple[FloatArray, list[FloatArray]]:
        """See `PointPiece.slopes`."""
        g, J = gaps(self.r, motion)
        return g[:, None], [along(motion, J[:, None], self.points)]

    is_smooth = True

    def curvatures(self, motion: Motion, bar: FloatArray) -> FloatArray:
        """See `PointPiece.curvatures`."""
        return by_unknowns(self.owner, motion, self.points, *gap_bends(self.r, motion, ALL, bar[:, 0]))


class Slip(_ContactPiece):
    """The slip speed is at least that along each direction of friction, backwards."""

    def __init__(self, r: ContactReaction) -> None:
        super().__init__(r, r.labels[1:-1], r.points[:-1], [[row] for row in r.slides for _ in range(2)])
        self.limits = (0.0, np.inf)
        last = self.columns[2].mask
        last[:] = False
        last[:, -1] = True
        if self.timed:
            self.columns[3].mask[:] = True

    def values(self, motion: Motion) -> FloatArray:
        """See `PointPiece.values`."""
        v, *_ = slips(self.r, motion, False)
        return _both(v) + self.r.forces(motion.z)[:-1, -1:]

    def slopes(self, motion: Motion) -> tuple[FloatArray, list[FloatArray]]:
        """See `PointPiece.slopes`."""
        v, start, end, by_dt = slips(self.r, motion, True)
        f = self.r.forces(motion.z)[:-1]
        by_f = np.zeros((len(f), 2 * v.shape[1], f.shape[1]))
        by_f[:, :, -1] = 1.0
        return _both(v) + f[:, -1:], self._turned(motion, _both(start), _both(end), by_f, _both(by_dt))

    def curvatures(self, motion: Motion, bar: FloatArray) -> FloatArray:
        """See `PointPiece.curvatures`."""
        rates, net = _rates(self.r, motion), bar[:, 0::2] - bar[:, 1::2]
        start, end = (slip_bends(self.r, motion, at, s * rates, net) for at, s in ((STARTS, -1.0), (ENDS, 1.0)))
        H = self._blocks(motion, start, end)
        if self.timed:
            v, *_ = slips(self.r, motion, False)
            first = [np.einsum("pm,pmn->pn", bar, J) for J in self.slopes(motion)[1][:2]]
            forces = np.zeros((len(bar), len(self.r.labels)))
            self._add_time(motion, [*first, forces], (bar * _both(v)).sum(axis=1), H)
        return H


def _both(x: FloatArray) -> FloatArray:
    """Along each direction and against it: components (points, m, ...) as (points, 2 m, ...)."""
    out = np.zeros((x.shape[0], 2 * x.shape[1], *x.shape[2:]))
    out[:, 0::2], out[:, 1::2] = x, -x
    return out


class Complementarity(_ContactPiece):
    """Products that vanish in a true motion stay below the relaxation: of normal force and gap, and of friction."""

    def __init__(self, r: ContactReaction, relaxation: float) -> None:
        labels = ("complementarity", *(["complementarity of friction"] if r.count else []))
        super().__init__(r, labels, r.points[:-1], [_gap_rows(r), *([r.slides] if r.count else [])])
        if self.couples is not None:
            at = 2 * r.owner.mechanism.nv
            last = at + len(r.labels) - 1
            for k, each in enumerate([_gap_rows(r), *([row] for row in r.slides for _ in range(2))]):
                self.couples[:at, at + k] = self.couples[at + k, :at] = np.tile(_read(r, each)[0], 2)
            if r.count:
                self.couples[at, last] = self.couples[last, at] = True
        self.limits = (-np.inf, relaxation)
        self.columns[2].mask[0, 1:] = False
        if self.timed:
            self.columns[3].mask[0] = False

    def values(self, motion: Motion) -> FloatArray:
        """See `PointPiece.values`."""
        r = self.r
        f = r.forces(motion.z)[:-1]
        out = np.zeros((len(f), len(self.labels)))
        out[:, 0] = f[:, 0] * distances(r, motion)[0]
        if r.count:
            v, *_ = slips(r, motion, False)
            # c (mu n - sum b) + sum b (d . s + c): the products of c and b cancel.
            out[:, 1] = r.touch.friction * f[:, 0] * f[:, -1] + (f[:, 1:-1] * _both(v)).sum(axis=1)
        return out

    def slopes(self, motion: Motion) -> tuple[FloatArray, list[FloatArray]]:
        """See `PointPiece.slopes`."""
        r = self.r
        f, (far, far_start, far_end) = r.forces(motion.z)[:-1], distances(r, motion)
        P, m, nv = len(f), len(self.labels), far_end.shape[1]
        start, end, by_f, by_dt = (
            np.zeros((P, m, nv)),
            np.zeros((P, m, nv)),
            np.zeros((P, m, f.shape[1])),
            np.zeros((P, m)),
        )
        start[:, 0], end[:, 0] = f[:, :1] * far_start, f[:, :1] * far_end
        by_f[:, 0, 0] = far
        if r.count:
            v, v_start, v_end, v_dt = slips(r, motion, True)
            start[:, 1] = np.einsum("pm,pmn->pn", f[:, 1:-1], _both(v_start))
            end[:, 1] = np.einsum("pm,pmn->pn", f[:, 1:-1], _both(v_end))
            by_f[:, 1, 0], by_f[:, 1, -1] = r.touch.friction * f[:, -1], r.touch.friction * f[:, 0]
            by_f[:, 1, 1:-1] = _both(v)
            by_dt[:, 1] = (f[:, 1:-1] * _both(v_dt)).sum(axis=1)
        return self.values(motion), self._turned(motion, start, end, by_f, by_dt)

    def curvatures(self, motion: Motion, bar: FloatArray) -> FloatArray:
        """See `PointPiece.curvatures`."""
        r, n = self.r, self.owner.mechanism.nv
        f = r.forces(motion.z)[:-1]
        normal, (_, far_start, far_end) = bar[:, 0] * f[:, 0], distances(r, motion)
        start = gap_bends(r, motion, STARTS, np.zeros_like(normal) if r.early else normal, normal)
        end = gap_bends(r, motion, ENDS, normal)
        by_f = np.zeros((len(f), 2, n, f.shape[1]))
        by_f[:, 0, :, 0], by_f[:, 1, :, 0] = bar[:, :1] * far_start, bar[:, :1] * far_end
        if r.count:
            rates, net = _rates(r, motion), bar[:, 1:] * (f[:, 1:-1:2] - f[:, 2:-1:2])
            parts = [slip_bends(r, motion, at, s * rates, net) for at, s in ((STARTS, -1.0), (ENDS, 1.0))]
            start, end = ((a + c, b + d) for (a, b), (c, d) in zip((start, end), parts, strict=True))
            _, v_start, v_end, _ = slips(r, motion, True)
            for k, v in enumerate((v_start, v_end)):
                by_f[:, k, :, 1:-1] = np.swapaxes(bar[:, 1:, None] * _both(v), 1, 2)
        H, last = self._blocks(motion, start, end), 2 * n + f.shape[1] - 1
        for k in range(2):
            turns = None if motion.turns is None else motion.turns[self.points + k]
            block = by_f[:, k] if turns is None else np.swapaxes(turns, 1, 2) @ by_f[:, k]
            own, forces = slice(k * n, (k + 1) * n), slice(2 * n, last + 1)
            H[:, own, forces], H[:, forces, own] = block, np.swapaxes(block, 1, 2)
        if r.count:
            H[:, 2 * n, last] = H[:, last, 2 * n] = bar[:, 1] * r.touch.friction
        if r.count and self.timed:
            v, *_ = slips(r, motion, False)
            first = [bar[:, 1:] * J[:, 1] for J in self.slopes(motion)[1][:2]]
            by_forces = np.zeros_like(f)
            by_forces[:, 1:-1] = bar[:, 1:] * _both(v)
            self._add_time(motion, [*first, by_forces], (by_forces * f).sum(axis=1), H)
        return H


class LastComplementarity(PointPiece):
    """At the last control point, which has none after it: force times gap stays below the relaxation."""

    is_smooth = True

    def __init__(self, r: ContactReaction, relaxation: float) -> None:
        super().__init__(r.owner, r.name, r.points[-1:], ("complementarity",))
        self.r, self.limits = r, (-np.inf, relaxation)
        self.columns = [
            Columns(r.owner.layout.q[self.points], _read(r, _gap_rows(r))),
            Columns(r.index[-1:, :1], np.ones((1, 1), bool)),
        ]
        n = r.owner.mechanism.nv
        self.couples = np.ones((n + 1, n + 1), bool)
        self.couples[:n, :n], self.couples[n, n] = _joined(r, _gap_rows(r)), False

    def values(self, motion: Motion) -> FloatArray:
        """See `PointPiece.values`."""
        return self.r.forces(motion.z)[LAST, :1] * self._far(motion)[0][:, None]

    def slopes(self, motion: Motion) -> tuple[FloatArray, list[FloatArray]]:
        """See `PointPiece.slopes`."""
        n, (far, J) = self.r.forces(motion.z)[LAST, :1], self._far(motion)
        return n * far[:, None], [along(motion, (n * J)[:, None], self.points), far[:, None, None]]

    def curvatures(self, motion: Motion, bar: FloatArray) -> FloatArray:
        """See `PointPiece.curvatures`."""
        r, n = self.r, self.owner.mechanism.nv
        force = bar[:, 0] * r.forces(motion.z)[LAST, 0]
        H = np.zeros((1, n + 1, n + 1))
        H[:, :n, :n] = by_unknowns(self.owner, motion, self.points, *gap_bends(r, motion, LAST, force, force))
        H[:, :n, n] = H[:, n, :n] = bar * along(motion, self._far(motion)[1][:, None], self.points)[:, 0]
        return H

    def _far(self, motion: Motion) -> tuple[FloatArray, FloatArray]:
        r = self.r
        (g, G), (h, A, _) = gaps(r, motion), r.equations(motion, False)
        x, along_x = _ahead(r, h, A)
        steep, slope = r.terrain.steepness(x[LAST])
        return g[LAST] + steep, G[LAST] + slope[:, None] * along_x[LAST]


def largest_product(program: Transcription, z: FloatArray) -> float | None:
    """The largest complementarity product of a motion [N m or W]; None without contacts that are to be found."""
    motion = program.motion(z)
    kinds = (Complementarity, LastComplementarity)
    products = [piece.values(motion) for piece in program.paths if isinstance(piece, kinds)]
    return max((float(np.abs(p).max(initial=0.0)) for p in products), default=None)
