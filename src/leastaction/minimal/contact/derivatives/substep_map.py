"""Linear map of a solved substep: from the state at its start and its controls to the state at its end.

A state is the configuration q and the momentum p. With the unknowns z = (displacements at the end, impulses, velocities
at the end, impulses of the momentum phase) and the equations F of both phases of a substep,

    F_z z = -(F_x x + F_theta),   out = O_x x + O_z z + O_theta,

for changes x of the state and the controls (implicit function theorem). The momentum phase is

    (M + d) v1 - P - N' (L - lam) = 0,    h N v1 + k (L - 2 lam) = 0   or another law of that row,

with the dampers d that are implicit at the end (`joint_momenta.end_damping_of`), p1 = M v1. It follows the position
phase, so F_z is a block triangle. Contacts of one rigid body share its load by their
compliance, as in the solver. Limits, torsional and rolling torques and loops have none: a tiny regularisation of their
impulses selects one of many distributions of the load and does not change the motion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction._jit.bound import Bound
from leastaction.contact.laws.compliance import DEEPEST
from leastaction.contact.laws.soft_contact import soft_law
from leastaction.contact.penetration.penetration_recovery import slight_overlap
from leastaction.dynamics import mass_matrix
from leastaction.dynamics.legendre import momentum_slopes
from leastaction.dynamics.loops import loop_jacobian
from leastaction.errors import IntegratorError
from leastaction.minimal.contact.arrays import RobotShapes
from leastaction.minimal.contact.derivatives.block_triangle import Block, BlockTriangle, Bordered, Solver
from leastaction.minimal.contact.derivatives.contact_kernels import (
    GAP,
    START_GAP,
    VALUES,
    Part,
    contact_values,
)
from leastaction.minimal.contact.derivatives.contact_laws import (
    Modes,
    Places,
    law_values,
    momentum_law_slopes,
    position_law_slopes,
)
from leastaction.minimal.contact.derivatives.contact_slopes import Joints, Rows, contact_columns, contact_slopes
from leastaction.minimal.contact.derivatives.smooth_equations import Placed, Smooth
from leastaction.minimal.contact.derivatives.solved_substep import Solved
from leastaction.minimal.contact.derivatives.stop_laws import (
    gravity_drop,
    rate_slopes,
    stop_rows,
    stop_slopes,
    stop_values,
)
from leastaction.minimal.contact.solver.contact_response import COMPLIANCE, remaining_overlap
from leastaction.parameters.parameter_differences import CENTRAL
from leastaction.typing import FloatArray

LENGTHEN = 1e-3
"""Step of central differences by the length of a substep, relative to that. They are of order 4, of explicit equations
at fixed unknowns, polynomials in h and 1 / h."""

_soft_law = getattr(soft_law, "py_func", soft_law)
_columns, _values, _slopes = Bound(contact_columns), Bound(contact_values), Bound(contact_slopes)
_law_values, _position_slopes, _momentum_slopes = map(Bound, (law_values, position_law_slopes, momentum_law_slopes))


class State(NamedTuple):
    """Changes of a state, or gradients by one: `q`, `p`, each (nv,) or (nv, columns); `t`: its time in the step [s],
    where that step has impacts."""

    q: Any
    p: Any
    t: Any = 0.0


class PartMap:
    """Derivatives of one substep.

    Args:
        solved: the substep.
        smooth: equations of its mechanism.
        shapes: for contact detection, beside spheres over planes.
        free: which controls are within their limits, shape (nu,).
        timed: whether its start time depends on the state, as after an impact.
        earlier: maps of its earlier solutions, after which contacts were added.

    Attributes:
        placed: its bodies.
        by_found: derivatives of the equations and of q and p at the end by the joints at the ends of these, each shape
            (equations + 2 n, n).
    """

    def __init__(
        self,
        solved: Solved,
        smooth: Smooth,
        shapes: RobotShapes | None,
        free: NDArray[np.bool_],
        timed: bool = False,
        earlier: Sequence[PartMap] = (),
    ) -> None:
        self.solved, self.smooth, self.timed, self.earlier = solved, smooth, timed, earlier
        self.n, self.reach = len(solved.p), reach_of(smooth, shapes)
        self.by_found: list[FloatArray] = []
        self.placed = placed = smooth.at(solved.q0, solved.q1, solved.u, solved.h, True)
        self.modes = modes_of(solved, smooth)
        self.k = smooth.end_damping(solved.h)
        if impulses_of(solved) or self.k.any():
            self._with_contacts(placed, np.where(free, placed.C, 0.0))
        else:
            self._without_contacts(placed, np.where(free, placed.C, 0.0))
        if timed:
            self._add_length(placed)

    def _without_contacts(self, placed: Placed, C: FloatArray) -> None:
        n, H = self.n, placed.H
        self.v = np.zeros(0)
        self.F_x = np.concatenate([H[0, :, 0], np.eye(n), C[0]], axis=1)
        self.solver: Solver = Block(H[0, :, 1], n)
        self.O_z = np.concatenate([np.eye(n), H[1, :, 1]])
        self.O_x = np.zeros((2 * n, self.F_x.shape[1]))
        self.O_x[n:, :n], self.O_x[n:, 2 * n :] = H[1, :, 0], C[1]

    def _with_contacts(self, placed: Placed, C: FloatArray) -> None:
        s, smooth, H, n, e = self.solved, self.smooth, placed.H, self.n, impulses_of(self.solved)
        first, size = n + e, 2 * (n + e)
        M, ((_, loops), (_, loops_end)) = damped_matrix(s, smooth), loop_equations(s, smooth)
        found = [placed, *(part.placed for part in self.earlier)]
        part = part_of(s, s.cones, s.contacts, found, self.reach)
        columns = contact_rows(smooth, part, found)
        D, N = rows_at(s, columns[0], loops), rows_at(s, columns[1], loops_end)
        self.v = v = np.asarray(np.linalg.solve(M, placed.rows[1] + N.T @ added(s)), np.float64)
        part = part._replace(twists=body_twists(smooth, placed, v))
        rows = slopes_of(smooth, part, found, columns)
        gaps = rows.values[:, START_GAP].copy()
        self.modes = self.modes._replace(overlaps=overlaps(s, gaps, self.modes), gaps=gaps)
        late, count = size + 2 * n + C.shape[2], len(self.earlier)
        F, places = np.zeros((size, late + count * n)), Places(n, first, first + n, size, late)
        _position_slopes(tuple(part), tuple(self.modes), tuple(places), tuple(rows), F)
        write_momentum_slopes(s, part, self.modes, places, rows, F)
        stop_slopes(s, F, places)
        kick, kick_end = rows.kick, rows.kick_end
        if len(s.loops):
            hessians, hessians_end = smooth.loop_hessians(s.q0), smooth.loop_hessians(s.q1)
            kick[0] += np.einsum("k,kab->ab", s.loops, hessians)
            kick_end[1] += np.einsum("k,kab->ab", s.loops_end - s.loops, hessians_end)
            F[first - len(loops) : first, :n] = loops_end
            own = slice(size - len(loops), size)
            F[own, :n], F[own, first : first + n] = s.h * (v @ hessians_end), s.h * loops_end
        x, last = slice(size, size + n), slice(first, first + n)
        F[:n, :n], F[:n, n:first], F[:n, x] = H[0, :, 1] + kick[1], D.T, H[0, :, 0] + kick[0]
        F[:n, size + n : size + 2 * n], F[:n, size + 2 * n : late] = np.eye(n), C[0]
        # The momentum at the end, and the equation that it is M v1.
        P = np.zeros((n, F.shape[1]))
        P[:, :n], P[:, x], P[:, size + 2 * n : late] = H[1, :, 1] + kick_end[1], H[1, :, 0] + kick_end[0], C[1]
        for r in range(count):
            own = slice(late + r * n, late + (r + 1) * n)
            F[:n, own], P[:, own] = kick[2 + r], kick_end[2 + r]
        P[:, n:first], P[:, first + n : size] = -N.T, N.T
        F[last] = -P
        F[last, :n] += heavier(smooth, s.q1, v)
        F[last, last] = M
        self.F_x, self.O_x = F[:, size:late], np.concatenate([np.zeros((n, late - size)), P[:, size:late]])
        for r, solution in enumerate(self.earlier):
            own = slice(late + r * n, late + (r + 1) * n)
            by_found, moved = np.concatenate([F[:, own], np.zeros((n, n)), P[:, own]]), solution.end_by(solution.F_x)
            self.by_found.append(by_found)
            self.F_x, self.O_x = self.F_x + by_found[:size] @ moved, self.O_x + by_found[size:] @ moved
        self.O_z = np.concatenate([np.eye(n, size), P[:, :size]])
        rigid, loose = n + rigid_rows(s.cones, e), len(s.loops)
        self.O_z[n:, last] -= np.diag(self.k)
        phases = slice(0, first), slice(first, size)
        self.solver = BlockTriangle(F[:, :size], [(at, Block(F[at, at], n, e, rigid, loose)) for at in phases])

    def _add_length(self, placed: Placed) -> None:
        """Make the length h of the substep the last unknown, and its start time part of the state.

        It ends where its step does, t + h = const, or at an impact, where a gap closes.
        """
        n, s, by_h = self.n, self.solved, self._by_length()
        for by_found, solution in zip(self.by_found, self.earlier, strict=True):
            by_h += by_found @ solution.end_by(solution._by_length())
        size, many = self.F_x.shape
        row, F_x, O_x = np.zeros(size), np.zeros((size + 1, many + 1)), np.zeros((2 * n + 1, many + 1))
        states = np.delete(np.arange(many + 1), 2 * n)
        F_x[:size, states], O_x[: 2 * n, states] = self.F_x, self.O_x
        if len(s.stops):  # prescribed motions depend on time
            own = size - len(s.loops) - len(s.stops)
            F_x[own : own + len(s.stops), 2 * n] = rate_slopes(s)
        O_z, corner = np.zeros((2 * n + 1, size + 1)), 1.0
        O_z[: 2 * n, :size], O_z[: 2 * n, size] = self.O_z, by_h[size:]
        if len(s.closing):
            part = part_of(s, s.closing, s.closing_contacts, [placed], self.reach)
            rows = slopes_of(self.smooth, part, [placed], contact_rows(self.smooth, part, [placed]))
            row[:n], F_x[size, :n] = rows.slopes[1, 0, :, GAP], rows.slopes[0, 0, :, GAP]
            O_x[2 * n, 2 * n] = O_z[2 * n, size] = 1.0
            corner = 0.0
        else:
            F_x[size, 2 * n] = 1.0
        solver = Bordered(self.solver, by_h[:size], row, corner)
        if not abs(solver.pivot) > 0.0:
            raise IntegratorError("Minimal: a contact only grazes at the end of a part of a step: no derivative")
        self.F_x, self.O_x, self.O_z, self.solver = F_x, O_x, O_z, solver

    def _by_length(self) -> FloatArray:
        """Derivatives of the equations and of q and p at the end by the length of the substep, at fixed unknowns."""
        s, out = self.solved, 0.0
        for offset, weight in CENTRAL:
            h = s.h * (1.0 + LENGTHEN * offset)
            cones, placed = s.cones.copy(), self.smooth.at(s.q0, s.q1, s.u, h, False)
            cones.drift *= h / s.h
            other = replace(s, h=h)
            out = out + weight / (LENGTHEN * s.h) * self._values(other, self.smooth, cones, s.stops, s.contacts, placed)
        return np.asarray(out, np.float64)

    def forward(self, state: State, du: Any, direct: Any = None) -> State:
        """Change of the state at the end, `q` and `p` each (nv, columns).

        Args:
            state: changes at the start.
            du: of the controls, shape (nu, columns).
            direct: derivatives of the equations and of the outputs by a parameter, see `equations`.
        """
        x = np.concatenate([state.q, state.p, np.atleast_2d(state.t), du] if self.timed else [state.q, state.p, du])
        F, out = self.F_x @ x, self.O_x @ x
        if direct is not None:
            F, out = F + direct[0], out + direct[1]
        out -= self.O_z @ self.solver.solve(F)
        n = self.n
        return State(out[:n], out[n : 2 * n], out[2 * n :] if self.timed else 0.0 * out[:1])

    def backward(self, bar: State) -> tuple[State, FloatArray, FloatArray]:
        """Gradients by (state at the start, controls), and by the equations and outputs at fixed unknowns.

        Args:
            bar: gradients by the state at the end.
        """
        n = self.n
        out = np.concatenate([bar.q, bar.p, [bar.t]] if self.timed else [bar.q, bar.p])
        F = -self.solver.solve_transposed(self.O_z.T @ out)
        x = self.F_x.T @ F + self.O_x.T @ out
        if self.timed:
            return State(x[:n], x[n : 2 * n], x[2 * n]), x[2 * n + 1 :], np.concatenate([F, out])
        return State(x[:n], x[n : 2 * n]), x[2 * n :], np.concatenate([F, out])

    def end_by(self, equations: FloatArray) -> FloatArray:
        """Derivative of the joints at the end by residuals of the first equations, at fixed unknowns."""
        return -self.solver.solve(equations[: self.O_z.shape[1]])[: self.n]

    @property
    def closing(self) -> tuple[Any, Any]:
        """`ROBOT_CONE` and `CONTACT` records of the contact whose impact ends the substep, if any."""
        return self.solved.closing, self.solved.closing_contacts

    @property
    def outputs(self) -> int:
        """Number of entries of the state at the end."""
        return len(self.O_x)

    def equations(
        self, smooth: Smooth, cones: Any, stops: Any, contacts: Any, placed: Placed, closing: Any
    ) -> FloatArray:
        """Equations and outputs at the unknowns of the substep with another value of a parameter; those at fixed ends.

        Args:
            smooth, placed: of the mechanism with that value.
            cones, stops, contacts: its records of those of the substep; closing: (cones, contacts) of the final impact.
        """
        out = self._values(self.solved, smooth, cones, stops, contacts, placed)
        if not self.timed:
            return out
        last, gap = len(out) - 2 * self.n, np.zeros(1)
        if len(self.solved.closing):
            gap = values_of(part_of(self.solved, closing[0], closing[1], [placed], self.reach))[:, GAP]
        return np.concatenate([out[:last], gap, out[last:], np.zeros(1)])

    def _values(self, s: Solved, smooth: Smooth, cones: Any, stops: Any, contacts: Any, placed: Placed) -> FloatArray:
        """`equations` of a substep that may have another length, without the equation of its end time."""
        n = self.n
        if not len(self.v):
            return np.concatenate([placed.rows[0], np.zeros(n), placed.rows[1]])
        (_, loops), (ends, loops_end) = loop_equations(s, smooth)
        part = part_of(s, cones, contacts, [placed], self.reach)
        part = part._replace(twists=body_twists(smooth, placed, self.v))
        columns = contact_rows(smooth, part, [placed])
        modes = with_coefficients(self.modes, s, cones)._replace(falls=np.array(gravity_drops(smooth.model.gravity, s)))
        first, second = contact_law_values(s, part, modes)
        kick = rows_at(s, columns[0], loops).T @ position_impulses(s)
        N = rows_at(s, columns[1], loops_end)
        p = placed.rows[1] + N.T @ added(s)
        stopped, stopped_end = stop_values(s, smooth, stops, self.v)
        own = damped_matrix(s, smooth) @ self.v - p, second, stopped_end, s.h * loops_end @ self.v
        p = p - smooth.end_damping(s.h) * self.v
        return np.concatenate([placed.rows[0] + kick, first, stopped, ends, *own, np.zeros(n), p])


def impulses_of(solved: Solved) -> int:
    """Number of impulses of a substep: of contacts, torques, stops and loops, in this order."""
    return 3 * len(solved.lam) + 3 * int(solved.turning.sum()) + len(solved.stops) + len(solved.loops)


def position_impulses(solved: Solved) -> FloatArray:
    """Impulses of the position phase, in the order of `impulses_of`."""
    s = solved
    return np.concatenate([s.lam.ravel(), s.torques[s.turning].ravel(), s.push, s.loops])


def added(solved: Solved) -> FloatArray:
    """Impulses that the momentum phase adds to them."""
    s = solved
    total = s.lam_end.ravel(), s.torques_end[s.turning].ravel(), s.push_end, s.loops_end
    return np.concatenate(total) - position_impulses(s)


def rows_at(solved: Solved, columns: FloatArray, loops: FloatArray) -> FloatArray:
    """Generalised impulses of unit impulses at one end, in the order of `impulses_of`, shape (e, nv).

    Args:
        columns: of the contacts there, shape (m, 6, nv); loops: gradients of loop constraints there.
    """
    n = columns.shape[2]
    along, about = columns[:, :3].reshape(-1, n), columns[solved.turning, 3:].reshape(-1, n)
    return np.concatenate([along, about, stop_rows(solved, n), loops])


def loop_equations(solved: Solved, smooth: Smooth) -> Any:
    """Values and gradients of loop constraints at both ends of a substep."""
    if not len(solved.loops):
        none = np.zeros(0), np.zeros((0, len(solved.p)))
        return none, none
    return tuple(loop_jacobian(smooth.mechanism, q) for q in (solved.q0, solved.q1))


def heavier(smooth: Smooth, q: FloatArray, v: FloatArray) -> FloatArray:
    """Derivative of M(q) v by q, shape (nv, nv)."""
    n = len(v)
    return momentum_slopes(smooth.mechanism, np.tile(q, (n, 1)), np.tile(v, (n, 1)), np.eye(n))


def values_of(part: Part) -> FloatArray:
    """Values of the contacts of a substep, shape (m, `VALUES`)."""
    values = np.zeros((len(part.cones), VALUES))
    _values(tuple(part), values)
    return values


def contact_law_values(solved: Solved, part: Part, modes: Modes) -> tuple[FloatArray, FloatArray]:
    """Residuals of the contact laws in both phases."""
    e = 3 * len(solved.lam) + 3 * int(solved.turning.sum())
    first, second = np.zeros(e), np.zeros(e)
    _law_values(tuple(part), tuple(modes), values_of(part), total_of(solved), (first, second))
    return first, second


def reach_of(smooth: Smooth, shapes: RobotShapes | None) -> FloatArray:
    """Radii of the bodies, for differences [m]."""
    if shapes is None:
        return np.ones(len(smooth.carried))
    return np.asarray(np.where(shapes.reach > 0.0, shapes.reach, 1.0), np.float64)


def gravity_drops(gravity: Any, solved: Solved) -> tuple[float, float]:
    """`gravity_drop` of a substep, and the overlap that counts as slight."""
    return gravity_drop(gravity, solved.h), _slight(gravity_drop(gravity, solved.whole), solved.whole)


@lru_cache(maxsize=64)
def _slight(fall: float, whole: float) -> float:
    """Memoised `penetration_recovery.slight_overlap`, whose call from Python takes longer than all else."""
    return slight_overlap(fall, whole)


def compliances(solved: Solved, cones: Any) -> FloatArray:
    """Compliances of the contacts with these records: see `contact_response.compliance_of`."""
    heavy = np.asarray(cones.mass) > 0.0
    return np.where(heavy, COMPLIANCE * solved.whole**2 / (np.where(heavy, cones.mass, 1.0) * solved.h), 0.0)


def modes_of(solved: Solved, smooth: Smooth) -> Modes:
    """`Modes` of a substep."""
    s, m = solved, len(solved.lam)
    none = np.zeros(m)
    modes = Modes(
        friction=none,
        spin=none,
        roll=none,
        slides=np.stack([s.slides, s.slides_end]),
        spins=np.stack([s.spins, s.spins_end]),
        rolls=np.stack([s.rolls, s.rolls_end]),
        pushes=s.pushes_end,
        creep=np.stack([s.soft, s.soft_end]),
        compliance=none,
        deepest=DEEPEST * s.whole**2,
        impulse_compliance=none,
        lag=none,
        end_compliance=none,
        least=s.least,
        overlaps=np.zeros(m, bool),
        gaps=none,
        falls=np.array(gravity_drops(smooth.model.gravity, s)),
        turn=np.where(s.turning, m + np.cumsum(s.turning) - 1, -1),
    )
    return with_coefficients(modes, s, s.cones)


def overlaps(solved: Solved, gaps: FloatArray, modes: Modes) -> NDArray[np.bool_]:
    """Whether the required gaps of contacts are remainders of initial overlaps."""
    left = -modes.lag * np.minimum(gaps, 0.0)
    out = (modes.impulse_compliance > 0.0) & (left != 0.0) & (np.abs(solved.least - left) <= 1e-6 * np.abs(left))
    for k in np.flatnonzero((gaps < 0.0) & (solved.least < 0.0) & (modes.impulse_compliance == 0.0)):
        kept = remaining_overlap(float(gaps[k]), *modes.falls.tolist())
        out[k] = abs(solved.least[k] - kept) <= 1e-6 * abs(kept)
    return out


def with_coefficients(modes: Modes, solved: Solved, cones: Any) -> Modes:
    """`Modes` with the coefficients of other records."""
    friction, spin, roll = (np.array(cones[name], float) for name in ("friction", "spin", "roll"))
    give, lag, hold = soft_laws(solved, cones)
    return modes._replace(
        friction=friction,
        spin=spin,
        roll=roll,
        compliance=compliances(solved, cones),
        impulse_compliance=give,
        lag=lag,
        end_compliance=hold,
    )


def soft_laws(solved: Solved, cones: Any) -> FloatArray:
    """`soft_law` of the contacts, with these records, shape (3, m)."""
    out = np.zeros((3, len(cones)))
    for k in np.flatnonzero(cones.compliance > 0.0):
        out[:, k] = _soft_law(float(cones.compliance[k]), float(cones.relaxation[k]), solved.h)
    return out


def part_of(solved: Solved, cones: Any, contacts: Any, placed: Sequence[Placed], reach: FloatArray) -> Part:
    """A substep as kernel arguments, with these records and bodies; other constraints than its own have no impulses.

    Args:
        placed: bodies in it, then those in its earlier solutions.
    """
    s, m, bodies, (now, *earlier) = solved, len(cones), len(placed[0].y), placed
    own = (s.lam, s.torques, s.lam_end - s.lam, s.torques_end - s.torques) if m == len(s.lam) else np.zeros((4, m, 3))
    lam, torques, more, more_torques = own
    of = np.where(cones.found >= 0, np.cumsum(cones.found >= 0) - 1, -1)
    R = np.concatenate([now.R, *(one.R[1:] for one in earlier)]).reshape(len(placed) + 1, -1, 9)
    x = np.concatenate([now.x, *(one.x[1:] for one in earlier)])
    twists, e = np.zeros((bodies, 6)), now.e[:bodies]
    return Part(cones, contacts, of, R, x, now.y, e, lam, torques, more, more_torques, twists, reach, s.h)


def joints_of(smooth: Smooth, placed: Sequence[Placed]) -> tuple[Any, ...]:
    """The joints as kernel arguments."""
    S = np.concatenate([placed[0].S, *(one.S[1:] for one in placed[1:])])
    return tuple(Joints(S, smooth.owner, smooth.model.nodes))


def contact_rows(smooth: Smooth, part: Part, placed: Sequence[Placed]) -> FloatArray:
    """Generalised impulses of unit contact impulses at both ends, see `contact_slopes.Rows`."""
    columns = np.zeros((2, len(part.cones), 6, placed[0].S.shape[1]))
    _columns(tuple(part), joints_of(smooth, placed), columns, np.zeros((columns.shape[3], 2), np.int64))
    return columns


def slopes_of(smooth: Smooth, part: Part, placed: Sequence[Placed], columns: FloatArray) -> Rows:
    """Values of the contacts of a substep and their derivatives by the joints."""
    m, n, ends = len(part.cones), placed[0].S.shape[1], 1 + len(placed)
    slopes, kick, kick_end = map(np.zeros, ((3, m, n, VALUES), (ends, n, n), (ends, n, n)))
    scratch = np.zeros((2, 6, 12)), np.zeros((2, 2, 6, VALUES)), np.zeros((n, 2), np.int64), np.zeros((n, 12))
    rows = Rows(np.zeros((m, VALUES)), columns, slopes, kick, kick_end, *scratch)
    _slopes(tuple(part), joints_of(smooth, placed), tuple(rows))
    return rows


def write_momentum_slopes(solved: Solved, part: Part, modes: Modes, places: Places, rows: Rows, F: FloatArray) -> None:
    """Fill the rows of contacts in the momentum phase in the matrix F of a substep."""
    _momentum_slopes(tuple(part), tuple(modes), tuple(places), tuple(rows), total_of(solved), F)


def total_of(solved: Solved) -> tuple[FloatArray, FloatArray]:
    """Impulses of the whole substep along and about normal and tangents, each shape (m, 3)."""
    return np.ascontiguousarray(solved.lam_end), np.ascontiguousarray(solved.torques_end)


def body_twists(smooth: Smooth, placed: Placed, v: FloatArray) -> FloatArray:
    """World twists of the bodies at the end with the velocities v, shape (bodies, 6)."""
    return (smooth.carried * v) @ placed.S[1]


def damped_matrix(solved: Solved, smooth: Smooth) -> FloatArray:
    """M + k at the end, see `Smooth.end_damping`, shape (nv, nv)."""
    return mass_matrix(smooth.mechanism, solved.q1) + np.diag(smooth.end_damping(solved.h))


def rigid_rows(cones: Any, e: int) -> NDArray[np.int64]:
    """Which of e impulses, the first of them three for each contact, have no compliance."""
    light = np.flatnonzero(cones.mass <= 0.0)
    return np.concatenate([(3 * light[:, None] + np.arange(3)).ravel(), np.arange(3 * len(cones), e)]).astype(np.int64)
