"""The linear map of a solved part of a step: from the state at its start and its controls to the state at its end.

A state is the configuration q and the momentum p. With the unknowns z = (displacements at the end, impulses, velocities
at the end, impulses of the momentum phase) and the equations F of both phases of a part,

    F_z z = -(F_x x + F_theta),   out = O_x x + O_z z + O_theta,

for changes x of the state and the controls (implicit function theorem). The momentum phase is

    M v1 - P - N' (L - lam) = 0,    h N v1 + k (L - 2 lam) = 0   or   what else the law of a row is,

and comes after the position phase, so F_z is a block triangle. Contacts of one rigid body share its load by their
compliance, as in the solver. Limits, torques against turning and equations of loops have none: their impulses are held
back by a tiny share of what gives way under them, which picks one of many ways to share a load and leaves the motion.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction._jit.bound import Bound
from leastaction.dynamics import mass_matrix
from leastaction.dynamics.legendre import momentum_slopes
from leastaction.dynamics.loops import loop_jacobian
from leastaction.minimal.contact.arrays import RobotShapes
from leastaction.minimal.contact.compliance import COMPLIANCE, DEEPEST, overlap_kept, slight_overlap
from leastaction.minimal.contact.derivatives.contact_kernels import (
    START_GAP,
    VALUES,
    Joints,
    Part,
    Rows,
    contact_columns,
    contact_slopes,
    contact_values,
)
from leastaction.minimal.contact.derivatives.contact_laws import Modes, Places, law_slopes, law_values
from leastaction.minimal.contact.derivatives.smooth_equations import Placed, Smooth
from leastaction.minimal.contact.derivatives.solved_substep import Solved
from leastaction.minimal.contact.robot_records import DRY

FloatArray = NDArray[np.float64]

HOLD = 1e-10
"""Share of what gives way under them that holds impulses back which have no compliance."""

_columns, _values, _slopes = Bound(contact_columns), Bound(contact_values), Bound(contact_slopes)
_law_values, _law_slopes = Bound(law_values), Bound(law_slopes)


class State(NamedTuple):
    """Changes of a state, or gradients by one: `q`, `p`, each (nv,) or (nv, columns)."""

    q: Any
    p: Any


class Sizes(NamedTuple):
    """Numbers of joints n, of impulses of the position phase, and of those of the momentum phase with its rows.

    Attributes:
        e, e_end: impulses of contacts, torques, stops and equations of loops, in this order, of each phase.
        own: of these the first that is not of a contact, in each phase.
        where: of the impulses of the momentum phase which of the position phase each is, shape (e_end,).
    """

    n: int
    e: int
    e_end: int
    own: tuple[int, int]
    where: NDArray[np.int64]


class PartMap:
    """Derivatives of one part.

    Args:
        solved: the part.
        smooth: equations of its mechanism.
        shapes: what may touch beside balls over planes.
        free: which controls are within their limits, shape (nu,).
    """

    def __init__(self, solved: Solved, smooth: Smooth, shapes: RobotShapes | None, free: NDArray[np.bool_]) -> None:
        self.solved, self.smooth, self.reach = solved, smooth, reach_of(smooth, shapes)
        self.n = len(solved.p)
        placed = smooth.at(solved.q0, solved.q1, solved.u, solved.h, True)
        self.modes, self.sizes = modes_of(solved, smooth)
        if self.sizes.e == 0:
            self._without_contacts(placed, np.where(free, placed.C, 0.0))
        else:
            self._with_contacts(placed, np.where(free, placed.C, 0.0))

    def _without_contacts(self, placed: Placed, C: FloatArray) -> None:
        n, H = self.n, placed.H
        self.v = np.zeros(0)
        self.F_x = np.concatenate([H[0, :, 0], np.eye(n), C[0]], axis=1)
        self.inverse = np.asarray(np.linalg.inv(H[0, :, 1]), np.float64)
        self.O_z = np.concatenate([np.eye(n), H[1, :, 1]])
        self.O_x = np.concatenate([np.zeros((n, 2 * n + C.shape[2])), np.zeros((n, 2 * n + C.shape[2]))])
        self.O_x[n:, :n], self.O_x[n:, 2 * n :] = H[1, :, 0], C[1]

    def _with_contacts(self, placed: Placed, C: FloatArray) -> None:
        s, smooth, H, sizes = self.solved, self.smooth, placed.H, self.sizes
        n, e, e_end = sizes.n, sizes.e, sizes.e_end
        M = heavy_matrix(s, smooth)
        (_, loops), (_, loops_end) = (loop_jacobian(smooth.mechanism, q) for q in (s.q0, s.q1))
        part = part_of(s, s.cones, s.contacts, placed, np.zeros((len(smooth.carried), 6)), self.reach)
        rows = rows_for(len(s.cones), n)
        _columns(tuple(part), tuple(joints_of(smooth, placed)), rows.columns)
        N = rows_at_end(s, rows.columns[1], loops_end)
        L, half = impulses_of(s)
        self.v = v = np.linalg.solve(M, placed.rows[1] + N.T @ (L - half))
        part = part._replace(twists=body_twists(smooth, placed, v))
        _slopes(tuple(part), tuple(joints_of(smooth, placed)), tuple(rows))
        self.modes = self.modes._replace(overlaps=overlaps(s, rows.values[:, START_GAP], self.modes.falls))
        first, size = n + e, n + e + n + e_end
        F = np.zeros((size, size + 2 * n + C.shape[2]))
        places = Places(n, first, first + n, size)
        _law_slopes(tuple(part), tuple(self.modes), tuple(places), tuple(rows), total_of(s), F)
        along, about = rows.columns[0, :, :3].reshape(-1, n), rows.columns[0, s.turning, 3:].reshape(-1, n)
        columns = np.concatenate([along, about, stop_rows(s, n), loops])
        kick, kick_end = rows.kick, rows.kick_end
        stop_slopes(s, smooth, F, places, sizes)
        bends = None
        if len(s.loops):
            bends = smooth.bends(s.q0), smooth.bends(s.q1)
            kick[0] += np.einsum("k,kab->ab", s.loops, bends[0])
            kick_end[1] += np.einsum("k,kab->ab", s.loops_end - s.loops, bends[1])
            own = n + e - len(s.loops), size - len(s.loops)
            F[own[0] : n + e, :n] = loops_end
            F[own[1] : size, :n], F[own[1] : size, first : first + n] = s.h * (v @ bends[1]), s.h * loops_end
        x, last = slice(size, size + n), slice(first, first + n)
        F[:n, :n], F[:n, n:first], F[:n, x] = H[0, :, 1] + kick[1], columns.T, H[0, :, 0] + kick[0]
        F[:n, size + n : size + 2 * n], F[:n, size + 2 * n :] = np.eye(n), C[0]
        # The momentum at the end, and the equation that it is M v1.
        P = np.zeros((n, F.shape[1]))
        P[:, :n], P[:, x], P[:, size + 2 * n :] = H[1, :, 1] + kick_end[1], H[1, :, 0] + kick_end[0], C[1]
        P[:, n + sizes.where] -= N.T
        P[:, first + n : size] = N.T
        F[last] = -P
        heavier = momentum_slopes(smooth.mechanism, np.tile(s.q1, (n, 1)), np.tile(v, (n, 1)), np.eye(n))
        F[last, :n] += heavier
        F[last, last] = M
        self.F_x, self.O_x = F[:, size:], np.concatenate([np.zeros((n, F.shape[1] - size)), P[:, size:]])
        self.O_z = np.concatenate([np.eye(n, size), P[:, :size]])
        self.inverse = np.zeros((size, size))
        light = np.flatnonzero(s.cones.mass <= 0.0)
        closed = np.flatnonzero(np.asarray(s.cones.mass)[s.closed] <= 0.0)
        loose = len(s.loops)
        one = inverse(F[:first, :first], n, e, rigid_rows(light, n, 3 * len(s.cones), e), loose)
        two = inverse(F[first:, first:size], n, e_end, rigid_rows(closed, n, 3 * int(s.closed.sum()), e_end), loose)
        self.inverse[:first, :first], self.inverse[first:, first:] = one, two
        self.inverse[first:, :first] = -two @ F[first:, :first] @ one

    def forward(self, state: State, du: Any, direct: Any = None) -> State:
        """Change of the state at the end, each of its parts (nv, columns).

        Args:
            state: changes at the start.
            du: of the controls, shape (nu, columns).
            direct: of the equations and of the outputs by something else, see `equations`.
        """
        x = np.concatenate([*state, du])
        F, out = self.F_x @ x, self.O_x @ x
        if direct is not None:
            F, out = F + direct[0], out + direct[1]
        out -= self.O_z @ (self.inverse @ F)
        n = self.n
        return State(out[:n], out[n:])

    def backward(self, bar: State) -> tuple[State, FloatArray, FloatArray]:
        """Gradients by (state at the start, controls), and by the equations and outputs at fixed unknowns.

        Args:
            bar: gradients by the state at the end.
        """
        n = self.n
        out = np.concatenate([*bar])
        F = -self.inverse.T @ (self.O_z.T @ out)
        x = self.F_x.T @ F + self.O_x.T @ out
        return State(x[:n], x[n : 2 * n]), x[2 * n :], np.concatenate([F, out])

    def equations(self, smooth: Smooth, cones: Any, stops: Any, contacts: Any, placed: Placed) -> FloatArray:
        """Equations and outputs at the unknowns of the part with another value of a parameter; those at fixed ends.

        Args:
            smooth, placed: of the mechanism with that value.
            cones, stops, contacts: its records of those of the part.
        """
        s, sizes = self.solved, self.sizes
        n = sizes.n
        if sizes.e == 0:
            return np.concatenate([placed.rows[0], np.zeros(n), placed.rows[1]])
        (_, loops), (ends, loops_end) = (loop_jacobian(smooth.mechanism, q) for q in (s.q0, s.q1))
        part = part_of(s, cones, contacts, placed, body_twists(smooth, placed, self.v), self.reach)
        modes = with_coefficients(self.modes, s, cones)
        values, (first, second) = np.zeros((len(cones), VALUES)), (np.zeros(sizes.own[0]), np.zeros(sizes.own[1]))
        columns = np.zeros((2, len(cones), 6, n))
        _columns(tuple(part), tuple(joints_of(smooth, placed)), columns)
        _values(tuple(part), values)
        _law_values(tuple(part), tuple(modes), values, total_of(s), (first, second))
        kick = np.einsum("mi,min->n", np.concatenate([part.lam, part.torques], axis=1), columns[0])
        kick += s.push @ stop_rows(s, n) + s.loops @ loops
        N = rows_at_end(s, columns[1], loops_end)
        L, half = impulses_of(s)
        p = placed.rows[1] + N.T @ (L - half)
        w, (stopped, stopped_end) = s.h * N @ self.v, stop_values(s, smooth, stops, self.v)
        momenta = heavy_matrix(s, smooth) @ self.v - p
        laws = np.concatenate([first, stopped, ends, momenta, second, stopped_end, w[sizes.e_end - len(ends) :]])
        return np.concatenate([placed.rows[0] + kick, laws, np.zeros(n), p])


def reach_of(smooth: Smooth, shapes: RobotShapes | None) -> FloatArray:
    """Radii of the bodies, for differences [m]."""
    if shapes is None:
        return np.ones(len(smooth.carried))
    return np.asarray(np.where(shapes.reach > 0.0, shapes.reach, 1.0), np.float64)


def fall_of(gravity: Any, h: float) -> float:
    """See `contacts.fall_of`."""
    return h * h * float(np.abs(gravity).sum())


def falls_of(gravity: Any, solved: Solved) -> tuple[float, float]:
    """`fall_of` of a part of a step, and the overlap that is slight."""
    return fall_of(gravity, solved.h), slight_overlap(fall_of(gravity, solved.whole), solved.whole)


def compliances(solved: Solved, cones: Any) -> FloatArray:
    """Of the contacts, with these records: see `compliance.compliance_of`."""
    heavy = np.asarray(cones.mass) > 0.0
    return np.where(heavy, COMPLIANCE * solved.whole**2 / (np.where(heavy, cones.mass, 1.0) * solved.h), 0.0)


def modes_of(solved: Solved, smooth: Smooth) -> tuple[Modes, Sizes]:
    """What acts in a part, and how many equations that makes."""
    s, m = solved, len(solved.lam)
    turning, closed = np.flatnonzero(s.turning), np.flatnonzero(s.closed)
    closed_turns = closed[s.turning[closed]]
    places = np.full((3, m), -1)
    places[0, turning] = m + np.arange(len(turning))
    places[1, closed] = np.arange(len(closed))
    places[2, closed_turns] = len(closed) + np.arange(len(closed_turns))
    falls = falls_of(smooth.model.gravity, s)
    modes = Modes(
        *np.zeros((3, m)),
        *(np.stack(both) for both in ((s.slides, s.slides_end), (s.spins, s.spins_end), (s.rolls, s.rolls_end))),
        s.pushes_end,
        np.stack([s.soft, s.soft_end]),
        np.zeros(m),
        DEEPEST * s.whole**2,
        s.least,
        np.zeros(m, bool),
        np.array(falls),
        *places,
    )
    own = 3 * (m + len(turning)), 3 * (len(closed) + len(closed_turns))
    rest = len(s.stops) + len(s.loops)
    three = np.arange(3)
    triples = np.concatenate([closed, places[0, closed_turns]])
    where = np.concatenate([(3 * triples[:, None] + three).ravel(), own[0] + np.arange(rest)]).astype(np.int64)
    return with_coefficients(modes, s, s.cones), Sizes(len(s.p), own[0] + rest, own[1] + rest, own, where)


def overlaps(solved: Solved, gaps: FloatArray, falls: FloatArray) -> NDArray[np.bool_]:
    """Whether the gaps that contacts must have at the end are what is left of those at the start."""
    out = np.zeros(len(gaps), bool)
    for k in np.flatnonzero((gaps < 0.0) & (solved.least < 0.0)):
        left = overlap_kept(float(gaps[k]), *falls.tolist())
        out[k] = abs(solved.least[k] - left) <= 1e-6 * abs(left)
    return out


def with_coefficients(modes: Modes, solved: Solved, cones: Any) -> Modes:
    """The same modes with the coefficients of other records."""
    coefficients = (np.array(cones[name], float) for name in ("friction", "spin", "roll"))
    return modes._replace(**dict(zip(("friction", "spin", "roll"), coefficients, strict=True)))._replace(
        compliance=compliances(solved, cones)
    )


def part_of(solved: Solved, cones: Any, contacts: Any, placed: Placed, twists: FloatArray, reach: FloatArray) -> Part:
    """A part as kernels read it, with these records, bodies and twists at the end."""
    m, closed = len(cones), solved.closed[:, None]
    of = np.where(cones.found >= 0, np.cumsum(cones.found >= 0) - 1, -1)
    more = (
        np.where(closed, solved.lam_end - solved.lam, 0.0),
        np.where(closed, solved.torques_end - solved.torques, 0.0),
    )
    R, bodies = placed.R.reshape(2, -1, 9), len(placed.y)
    lam, torques = solved.lam.reshape(m, 3), solved.torques.reshape(m, 3)
    return Part(
        cones, contacts, of, R, placed.x, placed.y, placed.e[:bodies], lam, torques, *more, twists, reach, solved.h
    )


def joints_of(smooth: Smooth, placed: Placed) -> Joints:
    """The joints as kernels read them."""
    return Joints(placed.S, smooth.carried, smooth.owner, smooth.parents)


def rows_for(m: int, n: int) -> Rows:
    """Zeros for m contacts and n joints."""
    shapes = (m, VALUES), (2, m, 6, n), (2, m, VALUES, n), (2, n, n), (2, n, n), (2, 2, 6, VALUES), VALUES, (n, 6)
    return Rows(*map(np.zeros, shapes))


def total_of(solved: Solved) -> tuple[FloatArray, FloatArray]:
    """Impulses of the whole part along and about normal and tangents, each shape (m, 3)."""
    return np.ascontiguousarray(solved.lam_end), np.ascontiguousarray(solved.torques_end)


def impulses_of(solved: Solved) -> tuple[FloatArray, FloatArray]:
    """Impulses of the whole part and of its position phase that act at its end, each shape (e_end,)."""
    s, closed = solved, solved.closed
    turning = closed & s.turning
    two = s.lam_end[closed].ravel(), s.torques_end[turning].ravel(), s.push_end, s.loops_end
    one = s.lam[closed].ravel(), s.torques[turning].ravel(), s.push, s.loops
    return np.concatenate(two), np.concatenate(one)


def rows_at_end(solved: Solved, columns: FloatArray, loops: FloatArray) -> FloatArray:
    """Rows N of the momentum phase, shape (e_end, nv): what its unit impulses do along the joints.

    Args:
        columns: of the contacts at the end, shape (m, 6, nv); loops: gradients of the equations of loops there.
    """
    n, closed = columns.shape[2], solved.closed
    along, about = columns[closed, :3].reshape(-1, n), columns[closed & solved.turning, 3:].reshape(-1, n)
    return np.concatenate([along, about, stop_rows(solved, n), loops])


def body_twists(smooth: Smooth, placed: Placed, v: FloatArray) -> FloatArray:
    """World twists of the bodies at the end with the velocities v, shape (bodies, 6)."""
    return (smooth.carried * v) @ placed.S[1]


def stop_rows(solved: Solved, n: int) -> FloatArray:
    """What unit impulses of stops do along the joints, shape (stops, n)."""
    out = np.zeros((len(solved.stops), n))
    out[np.arange(len(out)), solved.stops.dof] = np.where(solved.stops.kind == DRY, 1.0, solved.side)
    return out


def idle_stops(solved: Solved) -> NDArray[np.bool_]:
    """Stops whose impulses stay, since another one on the same joint holds it: both would say where it ends.

    What rests on its limit, with dry friction, is held by the limit where it presses with more than friction can bear,
    and by friction else.
    """
    idle = np.zeros(len(solved.stops), bool)
    for j, stop in enumerate(solved.stops):
        if stop.kind != DRY or abs(solved.push[j]) >= solved.bounds[j]:
            continue
        beside = np.flatnonzero((solved.stops.dof == stop.dof) & (solved.stops.kind != DRY))
        for k in beside:
            held = abs(solved.push[j] + solved.side[k] * solved.push[k]) <= solved.bounds[j]
            idle[k if held else j] = True
    return idle


def stop_values(solved: Solved, smooth: Smooth, stops: Any, v: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The equations of limits and dry friction in both phases, with these records and the velocities v at the end."""
    s, idle, fall = solved, idle_stops(solved), fall_of(smooth.model.gravity, solved.h)
    out, end = np.zeros((2, len(stops)))
    for k, stop in enumerate(stops):
        dry = stop.kind == DRY
        bound = s.h * stop.friction if dry else 0.0
        end[k] = s.h * v[stop.dof] * (1.0 if dry else s.side[k])
        if not s.stops_stick[k]:
            end[k] = s.push_end[k] - np.copysign(bound, s.push_end[k])
        if idle[k]:
            continue
        if dry:
            out[k] = s.q1[stop.iq] - s.q0[stop.iq]
            if abs(s.push[k]) >= s.bounds[k]:
                out[k] = s.push[k] - np.copysign(0.5 * bound, s.push[k])
            continue
        first, last = (q[stop.iq] - stop.lower if s.side[k] > 0.0 else stop.upper - q[stop.iq] for q in (s.q0, s.q1))
        out[k] = last - min(0.0, first + 0.5 * fall)
    return out, end


def stop_slopes(solved: Solved, smooth: Smooth, F: FloatArray, places: Places, sizes: Sizes) -> None:
    """Rows of `stop_values` in the matrix of a part."""
    s, idle, fall = solved, idle_stops(solved), fall_of(smooth.model.gravity, solved.h)
    for j, stop in enumerate(s.stops):
        row, end, dof, dry = sizes.n + sizes.own[0] + j, places.impulses + sizes.own[1] + j, stop.dof, stop.kind == DRY
        sign = 1.0 if dry else s.side[j]
        if s.stops_stick[j]:
            F[end, places.velocities + dof] = s.h * sign
        else:
            F[end, end] = 1.0
        if idle[j] or (dry and abs(s.push[j]) >= s.bounds[j]):
            F[row, row] = 1.0
            continue
        F[row, dof] = sign
        first = s.q0[stop.iq] - stop.lower if sign > 0.0 else stop.upper - s.q0[stop.iq]
        if dry or first + 0.5 * fall < 0.0:
            F[row, places.start + dof] = -sign


def heavy_matrix(solved: Solved, smooth: Smooth) -> FloatArray:
    """M at the end, with what of dampers momenta hold, shape (nv, nv)."""
    M = mass_matrix(smooth.mechanism, solved.q1)
    k, d, h = smooth.single, smooth.dofs[smooth.single], solved.h
    M[k, k] += np.maximum(0.5 * h * (d.damping - 0.5 * h * d.servo) - d.holds, 0.0)
    return np.asarray(M, np.float64)


def rigid_rows(light: NDArray[np.int64], n: int, first: int, e: int) -> NDArray[np.int64]:
    """Rows, from n on, of those of e impulses that have no compliance: of light contacts and all from `first` on."""
    return n + np.concatenate([(3 * light[:, None] + np.arange(3)).ravel(), np.arange(first, e)]).astype(np.int64)


def inverse(G: FloatArray, n: int, e: int, rest: Any, loops: int) -> FloatArray:
    """The inverse of a matrix whose rows and columns from n on are those of e impulses, of which `rest` have no
    compliance, the last ones those of equations of loops."""
    G = G.copy()
    if e == 0:
        return np.asarray(np.linalg.inv(G), np.float64)
    free = np.linalg.solve(G[:n, :n], G[:n, n : n + e])
    compliance = -np.einsum("en,ne->e", G[n : n + e, :n], free)
    scale = np.abs(compliance) + np.abs(np.diag(G)[n : n + e])
    at = n + np.arange(e)
    G[rest, rest] += HOLD * np.abs(compliance[rest - n])
    own = at[e - loops :]
    if len(own):  # some may say what others do
        least = HOLD * np.abs(compliance[own - n]).max()
        G[own, own] += least
        scale[own - n] += least
    # Impulses in units that move things by as much as displacements do.
    unit = np.ones(len(G))
    unit[at] = 1.0 / np.where(scale > 0.0, scale, 1.0)
    scaled = G * unit
    rows = np.abs(scaled).max(axis=1, keepdims=True)
    return unit[:, None] * np.linalg.inv(scaled / rows) / rows.T
