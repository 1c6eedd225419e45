"""The momentum phase of a solved part of a step as equations, and their derivatives; see `contact.momentum_phase`.

With the unknowns v1 and L, at the end q1 and with the impulses l0 of the position phase,

    M v1 - P - N' (L - l0) = 0,    h N v1 + k (L - 2 l0) = 0   or   what else the law of a row is.

Which of them act is fixed by the solution.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction.dynamics import mass_matrix
from leastaction.dynamics.legendre import momentum_slopes
from leastaction.dynamics.loops import loop_jacobian
from leastaction.minimal.contact.arrays import RobotShapes
from leastaction.minimal.contact.compliance import DEEPEST, TANGENTIAL
from leastaction.minimal.contact.derivatives import contact_laws as law
from leastaction.minimal.contact.derivatives.contact_geometry import Changes, Touching, changes, touching
from leastaction.minimal.contact.derivatives.smooth_equations import Placed, Smooth, bodies_by_joints, wrenches
from leastaction.minimal.contact.derivatives.solved_substep import Solved
from leastaction.minimal.contact.derivatives.torsional_rolling_laws import torque_slopes, turn_rates
from leastaction.minimal.contact.robot_records import DRY

FloatArray = NDArray[np.float64]


class Rows(NamedTuple):
    """What acts at the end of a part: rows of contacts that are closed, three each, then of torques, stops and loops.

    Attributes:
        N: what unit impulses do along the joints, shape (e, nv).
        L, half: impulses of the whole part and of its position phase, shape (e,).
        where: of the impulses of the position phase which one each is, shape (e,).
    """

    N: FloatArray
    L: FloatArray
    half: FloatArray
    where: NDArray[np.int64]


def closed_ones(solved: Solved) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Contacts, and those among them that resist turning."""
    return np.arange(len(solved.lam)), np.flatnonzero(solved.turning)


def placed_at_end(solved: Solved, smooth: Smooth) -> Placed:
    """Bodies at the end of the part, as if it were a start."""
    return smooth.at(solved.q1, solved.q1, solved.u, solved.h, False)


def rows_of(solved: Solved, smooth: Smooth, placed: Placed, touch: Touching) -> Rows:
    """The rows; `placed` and `touch` are at the end of the part."""
    nv, (closed, turning) = len(solved.p), closed_ones(solved)
    m, S, sides = len(solved.lam), placed.S[0], law.sides_of(smooth, touch)
    frames = np.stack([touch.n, touch.t, touch.s], axis=1)
    along = (wrenches(frames, touch.x[:, None]) @ S.T * sides[:, None])[closed]
    about = (np.einsum("mic,nc->min", frames, S[:, :3]) * sides[:, None])[turning]
    stops = np.zeros((len(solved.stops), nv))
    for k, stop in enumerate(solved.stops):
        stops[k, stop.dof] = 1.0 if stop.kind == DRY else solved.side[k]
    N = np.concatenate(
        [along.reshape(-1, nv), about.reshape(-1, nv), stops, loop_jacobian(smooth.mechanism, solved.q1)[1]]
    )
    two = solved.lam_end[closed].ravel(), solved.torques_end[turning].ravel(), solved.push_end, solved.loops_end
    one = solved.lam[closed].ravel(), solved.torques[turning].ravel(), solved.push, solved.loops
    turns = np.flatnonzero(solved.turning)
    at_turns = 3 * m + 3 * np.searchsorted(turns, turning)
    rest = 3 * m + 3 * len(turns) + np.arange(len(solved.stops) + len(solved.loops))
    three = np.arange(3)
    where = np.concatenate([(3 * closed[:, None] + three).ravel(), (at_turns[:, None] + three).ravel(), rest])
    return Rows(N, np.concatenate(two), np.concatenate(one), where.astype(np.int64))


def heavy_matrix(solved: Solved, smooth: Smooth) -> FloatArray:
    """M at the end, with what of dampers momenta hold, shape (nv, nv)."""
    M = mass_matrix(smooth.mechanism, solved.q1)
    k, d, h = smooth.single, smooth.dofs[smooth.single], solved.h
    M[k, k] += np.maximum(0.5 * h * (d.damping - 0.5 * h * d.servo) - d.holds, 0.0)
    return np.asarray(M, np.float64)


def giving(solved: Solved, cones: Any) -> FloatArray:
    """(k of the normal, k of tangents, and their slopes by the impulse l0 of the normal) of contacts, shape (4, m)."""
    soft, push, deepest = law.compliances(solved, cones), solved.lam[:, 0], DEEPEST * solved.whole**2
    share = deepest / (deepest + soft * push)
    less = -(share**2) * soft / deepest
    return 0.5 * soft * np.stack([share**2, TANGENTIAL * share, 2.0 * share * less, TANGENTIAL * less])


class Phase:
    """The equations of the momentum phase of a part.

    Args:
        solved: the part.
        smooth: equations of its mechanism, or of one with another value of a parameter.
        cones, stops, contacts: records with the coefficients of that.
        end: momentum at the end without impulses there, shape (nv,).
        v: velocities at the end; None where they are to be solved for.
    """

    def __init__(
        self, solved: Solved, smooth: Smooth, cones: Any, stops: Any, contacts: Any, end: FloatArray, v: Any = None
    ) -> None:
        self.solved, self.smooth, self.cones, self.stops, self.contacts = solved, smooth, cones, stops, contacts
        self.placed = placed_at_end(solved, smooth)
        self.touch = touching(cones, contacts, self.placed)
        self.rows = rows_of(solved, smooth, self.placed, self.touch)
        self.M, self.give = heavy_matrix(solved, smooth), giving(solved, cones)
        self.p = end + self.rows.N.T @ (self.rows.L - self.rows.half)
        self.v = np.asarray(np.linalg.solve(self.M, self.p) if v is None else v, np.float64)

    def values(self) -> FloatArray:
        """Of all equations, shape (nv + e,)."""
        s, rows = self.solved, self.rows
        w, out = s.h * rows.N @ self.v, np.zeros(len(rows.L))
        closed, turning = closed_ones(s)
        for j, c in enumerate(closed):
            at = slice(3 * j, 3 * j + 3)
            out[at] = self._contact(c, w[at], rows.L[at], rows.half[at])
        first = 3 * len(closed)
        for j, c in enumerate(turning):
            at = slice(first + 3 * j, first + 3 * j + 3)
            out[at] = self._turning(c, w[at], rows.L[at])
        first += 3 * len(turning)
        for j, stop in enumerate(self.stops):
            k = first + j
            out[k] = w[k]
            if not s.stops_stick[j]:
                bound = s.h * stop.friction if stop.kind == DRY else 0.0
                out[k] = rows.L[k] - np.copysign(bound, rows.L[k])
        last = first + len(self.stops)
        out[last:] = w[last:]
        return np.concatenate([self.M @ self.v - self.p, out])

    def _contact(self, c: int, w: FloatArray, L: FloatArray, half: FloatArray) -> FloatArray:
        s, mu = self.solved, float(self.cones.friction[c])
        if not s.pushes_end[c]:
            return L.copy()
        w = w + np.append(0.0, self.cones.drift[c]) + self._soft(c) * L - 2.0 * self._give(c) * half
        if mu == 0.0:
            return np.append(w[0], L[1:])
        if s.slides_end[c]:
            along, beside = directions(L[1:])
            return np.array([w[0], along @ L[1:] - mu * L[0], beside @ w[1:]])
        return w

    def _give(self, c: int) -> FloatArray:
        return self.give[[0, 1, 1], c]

    def _soft(self, c: int) -> FloatArray:
        return self._give(c) + np.array([0.0, 1.0, 1.0]) * self.solved.soft_end[c]

    def _turning(self, c: int, w: FloatArray, L: FloatArray) -> FloatArray:
        s, out = self.solved, w.copy()
        push, spin, roll = s.lam_end[c, 0], float(self.cones.spin[c]), float(self.cones.roll[c])
        if not s.pushes_end[c]:
            return L.copy()
        if spin == 0.0 or s.spins_end[c]:
            out[0] = L[0] - np.copysign(spin * push, L[0])
        if roll == 0.0:
            out[1:] = L[1:]
        elif s.rolls_end[c]:
            along, beside = directions(L[1:])
            out[1:] = along @ L[1:] - roll * push, beside @ w[1:]
        return out


def directions(L: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Along an impulse in a plane, and across it."""
    size = np.linalg.norm(L)
    along = L / size if size > 0.0 else np.array([1.0, 0.0])
    return along, np.array([-along[1], along[0]])


class PhaseSlopes(NamedTuple):
    """Derivatives of the equations, with n joints and e rows, and of the momentum p1.

    Attributes:
        by_start: by the joints at the start, where features of contacts were found, shape (n + e, n).
        by_end: by those at the end, shape (n + e, n).
        by_half: by the impulses of the position phase, shape (n + e, impulses).
        own: by v1 and L, shape (n + e, n + e).
        kick_start, kick: of N' (L - l0) by the joints at the start and at the end, shape (n, n).
    """

    by_start: FloatArray
    by_end: FloatArray
    by_half: FloatArray
    own: FloatArray
    kick_start: FloatArray
    kick: FloatArray


def frames_at_end(phase: Phase, shapes: RobotShapes | None, found: Changes) -> tuple[Changes, Changes]:
    """How contacts at the end of the part change with the joints there, and with those at its start; see `slopes`."""
    s, smooth, placed, touch = phase.solved, phase.smooth, phase.placed, phase.touch
    moved = bodies_by_joints(smooth, placed, 0)
    change = changes(s.cones, s.contacts, placed, moved, shapes, False)
    start = found._replace(n=found.n1, x=found.x1)
    # Tangents at the end are those at the start, projected on the plane there.
    before, normal = np.array(s.cones.first), np.array(s.cones.normal)
    tilt = (before * touch.n).sum(axis=1)
    size = np.sqrt(1.0 - tilt**2)
    change = change._replace(twist=-(tilt / size)[:, None] * np.einsum("mc,mcn->mn", touch.s, change.n))
    turned_before = -np.einsum("mc,mcn->mn", before, found.n) * (touch.s * normal).sum(axis=1)[:, None]
    twist = turned_before - tilt[:, None] * np.einsum("mc,mcn->mn", touch.s, start.n)
    start = start._replace(twist=twist / size[:, None])
    return change, start


def slopes(phase: Phase, shapes: RobotShapes | None, impulses: int, found: Changes) -> PhaseSlopes:
    """Derivatives of the equations at a solved part.

    Args:
        phase: the equations.
        shapes: what may touch beside balls over planes.
        impulses: how many its position phase has.
        found: how contacts change with the joints at the start.
    """
    s, smooth, placed, touch, rows = phase.solved, phase.smooth, phase.placed, phase.touch, phase.rows
    n, e, m, (closed, turning) = len(s.p), len(rows.L), len(s.lam), closed_ones(s)
    change, start = frames_at_end(phase, shapes, found)
    turned, sides = law.frame_changes(touch, change), law.sides_of(smooth, touch)
    (kick, kick_start), (rates, rates_start) = np.zeros((2, n, n)), np.zeros((2, e, n))
    first, last = 3 * len(closed), 3 * len(closed) + 3 * len(turning)
    if m:
        lam, torques = np.zeros((m, 3)), np.zeros((m, 3))
        lam[closed], torques[turning] = (s.lam_end - s.lam)[closed], (s.torques_end - s.torques)[turning]
        kick += law.impulse_slopes(smooth, placed, touch, change, lam)
        rates[:first] = law.rate_slopes(smooth, placed, touch, change, phase.v)[closed].reshape(-1, n)
        kick_start += law.impulse_slopes(smooth, placed, touch, start, lam, False)
        by_rates = law.rate_slopes(smooth, placed, touch, start, phase.v, False)
        rates_start[:first] = by_rates[closed].reshape(-1, n)
        if len(turning):
            kick += torque_slopes(smooth, placed, touch, sides, turned, torques)
            about = turn_rates(smooth, placed, touch, sides, turned, phase.v)
            rates[first:last] = about[turning].reshape(-1, n)
    if len(s.loops):
        bends, own = smooth.bends(s.q1), slice(e - len(s.loops), e)
        kick += np.einsum("k,kab->ab", s.loops_end - s.loops, bends)
        rates[own] = phase.v @ bends
    (by_start, by_end), by_half = np.zeros((2, n + e, n)), np.zeros((n + e, impulses))
    own = np.zeros((n + e, n + e))
    heavier = momentum_slopes(smooth.mechanism, np.tile(s.q1, (n, 1)), np.tile(phase.v, (n, 1)), np.eye(n))
    by_end[:n], own[:n, :n], own[:n, n:] = heavier - kick, phase.M, -rows.N.T
    by_half[:n, rows.where] = rows.N.T
    # As if all rows were w = h N v = 0, then those that are not.
    own[n:, :n], by_end[n:] = s.h * rows.N, s.h * rates
    by_start[:n], by_start[n:] = -kick_start, s.h * rates_start
    others = by_start, by_end, by_half
    w = s.h * rows.N @ phase.v
    for j, c in enumerate(closed):
        _contact_slopes(phase, int(c), 3 * j, w[3 * j : 3 * j + 3], own, others)
    for j, c in enumerate(turning):
        at = first + 3 * j
        _turning_slopes(phase, int(c), at, 3 * int(np.searchsorted(closed, c)), w[at : at + 3], own, others)
    for j in range(len(s.stops)):
        if not s.stops_stick[j]:
            _fix(n + last + j, own, others)
    return PhaseSlopes(by_start, by_end, by_half, own, kick_start, kick)


def _fix(row: int, own: FloatArray, others: Sequence[FloatArray]) -> None:
    """Make an equation say that its impulse does not change."""
    for matrix in (own, *others):
        matrix[row] = 0.0
    own[row, row] = 1.0


def _across(row: int, beside: FloatArray, matrices: Sequence[FloatArray]) -> None:
    """Replace equations `row` and the next, along tangents, by none and the one across the impulse."""
    for matrix in matrices:
        matrix[row + 1] = beside @ matrix[row : row + 2]
        matrix[row] = 0.0


def _contact_slopes(
    phase: Phase, c: int, at: int, w: FloatArray, own: FloatArray, others: Sequence[FloatArray]
) -> None:
    """Rows of closed contact c, from `at` on."""
    by_half = others[-1]
    s, rows, n = phase.solved, phase.rows, len(phase.solved.p)
    L, half, mu, first = rows.L[at : at + 3], rows.half[at : at + 3], float(s.cones.friction[c]), n + at
    if not s.pushes_end[c]:
        for k in range(3):
            _fix(first + k, own, others)
        return
    give, soft, more = phase._give(c), phase._soft(c), phase.give[[2, 3, 3], c]
    for k in range(3):
        own[first + k, first + k] += soft[k]
        by_half[first + k, rows.where[at + k]] -= 2.0 * give[k]
        by_half[first + k, rows.where[at]] += more[k] * (L[k] - 2.0 * half[k])
    if mu == 0.0:
        for k in (1, 2):
            _fix(first + k, own, others)
    elif s.slides_end[c]:
        along, beside = directions(L[1:])
        moved = w[1:] + phase.cones.drift[c] + soft[1:] * L[1:] - 2.0 * give[1:] * half[1:]
        _across(first + 1, beside, (own, *others))
        own[first + 1, first], own[first + 1, first + 1 : first + 3] = -mu, along
        own[first + 2, first + 1 : first + 3] += np.linalg.norm(moved) / (mu * L[0]) * beside


def _turning_slopes(
    phase: Phase, c: int, at: int, push: int, w: FloatArray, own: FloatArray, others: Sequence[FloatArray]
) -> None:
    """Rows of torques of closed contact c, from `at` on; `push` is the row of its normal."""
    s, n, L = phase.solved, len(phase.solved.p), phase.rows.L[at : at + 3]
    spin, roll, first = float(s.cones.spin[c]), float(s.cones.roll[c]), n + at
    if not s.pushes_end[c]:
        for k in range(3):
            _fix(first + k, own, others)
        return
    if spin == 0.0 or s.spins_end[c]:
        _fix(first, own, others)
        own[first, n + push] = -np.copysign(spin, L[0])
    if roll == 0.0:
        for k in (1, 2):
            _fix(first + k, own, others)
    elif s.rolls_end[c]:
        along, beside = directions(L[1:])
        _across(first + 1, beside, (own, *others))
        own[first + 1, n + push], own[first + 1, first + 1 : first + 3] = -roll, along
        own[first + 2, first + 1 : first + 3] += np.linalg.norm(w[1:]) / (roll * s.lam_end[c, 0]) * beside
