"""The linear map of a solved part of a step: from the state at its start and its controls to the state at its end.

A state is the configuration q and the momentum p. With the unknowns
z = (displacements at the end, impulses, and those of the momentum phase, see `momenta`) and the equations G of a part,

    G_z z = -(G_x x + G_theta),   out = O_x x + O_z z + O_theta,

for changes x of the state and the controls. Contacts of one rigid body share its load by their compliance, as in the
solver. Limits, torques against turning and equations of loops have none: their impulses are held back by a tiny share
of what gives way under them, which picks one of many ways to share a load and leaves the motion.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction.errors import IntegratorError
from leastaction.minimal.contact.arrays import RobotShapes
from leastaction.minimal.contact.derivatives import contact_laws as law
from leastaction.minimal.contact.derivatives.contact_geometry import changes, touching
from leastaction.minimal.contact.derivatives.momentum_phase_map import Phase, PhaseSlopes, closed_ones, slopes
from leastaction.minimal.contact.derivatives.smooth_equations import Placed, Smooth, bodies_by_joints, wrenches
from leastaction.minimal.contact.derivatives.solved_substep import Solved
from leastaction.parameter_stencils import CENTRAL

FloatArray = NDArray[np.float64]

LENGTHEN = 1e-3
"""Central differences by the length of a part are this share of it wide. They are of order 4, of explicit equations at
fixed unknowns, polynomials in h and 1 / h."""

HOLD = 1e-10
"""Share of what gives way under them that holds impulses back which have no compliance."""


class State(NamedTuple):
    """Changes of a state, or gradients by one: `q`, `p`, each (nv,) or (nv, columns); `t`: when it is reached in its
    step [s], where that step has impacts."""

    q: Any
    p: Any
    t: Any = 0.0


class PartMap:
    """Derivatives of one part.

    Args:
        solved: the part.
        smooth: equations of its mechanism.
        shapes: what may touch beside balls over planes.
        free: which controls are within their limits, shape (nu,).
        timed: whether when it starts depends on the state, as of a part after an impact.

    Attributes:
        kinds: what says how large the gaps of its contacts must be.
    """

    def __init__(
        self, solved: Solved, smooth: Smooth, shapes: RobotShapes | None, free: NDArray[np.bool_], timed: bool = False
    ) -> None:
        self.solved, self.smooth, self.shapes, self.timed = solved, smooth, shapes, timed
        self.n = n = len(solved.p)
        placed = smooth.at(solved.q0, solved.q1, solved.u, solved.h, True)
        C, H = np.where(free, placed.C, 0.0), placed.H
        touch = touching(solved.cones, solved.contacts, placed)
        self.kinds = law.kinds_of_gaps(solved, touch, law.falls_of(smooth.model.gravity, solved))
        found = law.laws(solved, smooth, placed, touch, self.kinds, solved.cones, solved.stops)
        moved = bodies_by_joints(smooth, placed, 0)
        change = changes(solved.cones, solved.contacts, placed, moved, shapes)
        slope = law.slopes(solved, smooth, placed, touch, self.kinds, found, change)
        e, nu = len(found.values), C.shape[2]
        size = n + e
        G_z, G_x = np.zeros((size, size)), np.zeros((size, 2 * n + nu))
        G_z[:n, :n], G_z[:n, n : n + e] = H[0, :, 1], slope.columns.T
        G_z[n : n + e, :n], G_z[n : n + e, n : n + e] = slope.by_end, slope.by_impulses
        G_x[:n, :n], G_x[:n, n : 2 * n], G_x[:n, 2 * n :] = H[0, :, 0] + slope.kick, np.eye(n), C[0]
        G_x[n : n + e, :n] = slope.by_start
        # Rows of the outputs: q and p at the end.
        O_z, O_x = np.zeros((2 * n, size)), np.zeros((2 * n, 2 * n + nu))
        O_z[:n, :n], O_z[n:, :n] = np.eye(n), H[1, :, 1]
        O_x[n:, :n], O_x[n:, 2 * n :] = H[1, :, 0], C[1]
        rest = n + rigid_rows(solved.cones, e)
        self.G_x, self.O_x, self.O_z = G_x, O_x, O_z
        self.inverse = inverse(G_z, n, e, rest, len(solved.loops))
        self.touches = e > 0
        self.phase = Phase(solved, smooth, solved.cones, solved.stops, solved.contacts, placed.rows[1])
        if len(self.phase.rows.L):
            self._add_phase(slopes(self.phase, shapes, e, change), e)
        if timed:
            self._add_length(placed, moved)

    def _add_phase(self, own: PhaseSlopes, e: int) -> None:
        """Add the equations of the momentum phase, whose unknowns come last."""
        n, size, phase = self.n, len(self.inverse), self.phase
        more, rows, last = len(own.own), phase.rows, slice(n, 2 * n)
        G_z, G_x = np.zeros((more, size)), np.zeros((more, self.G_x.shape[1]))
        G_z[:, :n], G_z[:, n : n + e] = own.by_end, own.by_half
        G_z[:n] -= self.O_z[last]
        G_x[:n] = -self.O_x[last]
        G_x[:, :n] += own.by_start
        rest = n + rigid_rows(self.solved.cones[closed_ones(self.solved)[0]], len(rows.L))
        inner = inverse(own.own, n, len(rows.L), rest, len(self.solved.loops))
        O_z = np.zeros((2 * n, size + more))
        O_z[:, :size] = self.O_z
        O_z[last, :n] += own.kick
        self.O_x[last, :n] += own.kick_start
        O_z[last, n + rows.where] -= rows.N.T
        O_z[last, size + n :] = rows.N.T
        whole = np.zeros((size + more, size + more))
        whole[:size, :size], whole[size:, size:] = self.inverse, inner
        whole[size:, :size] = -inner @ G_z @ self.inverse
        self.G_x, self.O_z, self.inverse = np.concatenate([self.G_x, G_x]), O_z, whole

    def _add_length(self, placed: Placed, moved: FloatArray) -> None:
        """Let the length h of the part be an unknown, the last one, and when it starts part of the state.

        It ends where its step does, t + h = const, or at an impact, where a gap closes.
        """
        n, s, by_h = self.n, self.solved, self._by_length()
        size, many = self.G_x.shape
        row, G_x, O_x = np.zeros(size), np.zeros((size + 1, many + 1)), np.zeros((2 * n + 1, many + 1))
        states = np.delete(np.arange(many + 1), 2 * n)
        G_x[:size, states], O_x[: 2 * n, states] = self.G_x, self.O_x
        O_z, corner = np.zeros((2 * n + 1, size + 1)), 1.0
        O_z[: 2 * n, :size], O_z[: 2 * n, size] = self.O_z, by_h[size:]
        if len(s.closing):
            touch = touching(s.closing, s.closing_contacts, placed)
            row[:n] = (wrenches(touch.n1, touch.x1) @ placed.S[1].T * law.sides_of(self.smooth, touch))[0]
            G_x[size, :n] = changes(s.closing, s.closing_contacts, placed, moved, self.shapes).end[0]
            O_x[2 * n, 2 * n] = O_z[2 * n, size] = 1.0
            corner = 0.0
        else:
            G_x[size, 2 * n] = 1.0
        column, across = self.inverse @ by_h[:size], row @ self.inverse
        pivot = corner - row @ column
        if not abs(pivot) > 0.0:
            raise IntegratorError("Minimal: a contact only grazes at the end of a part of a step: no derivative")
        whole = np.empty((size + 1, size + 1))
        whole[:size, :size] = self.inverse + np.outer(column, across) / pivot
        whole[:size, size], whole[size, :size], whole[size, size] = -column / pivot, -across / pivot, 1.0 / pivot
        self.G_x, self.O_x, self.O_z, self.inverse = G_x, O_x, O_z, whole

    def _by_length(self) -> FloatArray:
        """Derivatives of the equations and of q and p at the end by the length of the part, at fixed unknowns."""
        s, out = self.solved, 0.0
        for offset, weight in CENTRAL:
            h = s.h * (1.0 + LENGTHEN * offset)
            cones, placed = s.cones.copy(), self.smooth.at(s.q0, s.q1, s.u, h, False)
            cones.drift *= h / s.h
            other = replace(s, h=h)
            out = out + weight / (LENGTHEN * s.h) * self._values(other, self.smooth, cones, s.stops, s.contacts, placed)
        return np.asarray(out, np.float64)

    def forward(self, state: State, du: Any, direct: Any = None) -> State:
        """Change of the state at the end, each of its parts (nv, columns).

        Args:
            state: changes at the start.
            du: of the controls, shape (nu, columns).
            direct: of the equations and of the outputs by something else, see `equations`.
        """
        x = np.concatenate([state.q, state.p, np.atleast_2d(state.t), du] if self.timed else [state.q, state.p, du])
        G, out = self.G_x @ x, self.O_x @ x
        if direct is not None:
            G, out = G + direct[0], out + direct[1]
        out -= self.O_z @ (self.inverse @ G)
        n = self.n
        return State(out[:n], out[n : 2 * n], out[2 * n :] if self.timed else 0.0 * out[:1])

    def backward(self, bar: State) -> tuple[State, FloatArray, FloatArray]:
        """Gradients by (state at the start, controls), and by the equations and outputs at fixed unknowns.

        Args:
            bar: gradients by the state at the end.
        """
        n = self.n
        out = np.concatenate([bar.q, bar.p, [bar.t]] if self.timed else [bar.q, bar.p])
        G = -self.inverse.T @ (self.O_z.T @ out)
        x = self.G_x.T @ G + self.O_x.T @ out
        if self.timed:
            return State(x[:n], x[n : 2 * n], x[2 * n]), x[2 * n + 1 :], np.concatenate([G, out])
        return State(x[:n], x[n : 2 * n]), x[2 * n :], np.concatenate([G, out])

    @property
    def outputs(self) -> int:
        """How many numbers the state at the end has."""
        return len(self.O_x)

    def equations(
        self, smooth: Smooth, cones: Any, stops: Any, contacts: Any, placed: Placed, closing: Any
    ) -> FloatArray:
        """Equations and outputs at the unknowns of the part with another value of a parameter; those at fixed ends.

        Args:
            smooth, placed: of the mechanism with that value.
            cones, stops, contacts: its records of those of the part; closing: (cones, contacts) of that which ends it.
        """
        out = self._values(self.solved, smooth, cones, stops, contacts, placed)
        if not self.timed:
            return out
        last, gap = len(out) - 2 * self.n, np.zeros(1)
        if len(self.solved.closing):
            gap = touching(closing[0], closing[1], placed).end
        return np.concatenate([out[:last], gap, out[last:], np.zeros(1)])

    def _values(self, s: Solved, smooth: Smooth, cones: Any, stops: Any, contacts: Any, placed: Placed) -> FloatArray:
        """`equations` of a part that may have another length, without when it ends."""
        touch = touching(cones, contacts, placed)
        found = law.laws(s, smooth, placed, touch, self.kinds, cones, stops)
        zero = np.zeros(self.n)
        phase = Phase(s, smooth, cones, stops, contacts, placed.rows[1], self.phase.v)
        own = phase.values() if len(phase.rows.L) else []
        return np.concatenate([placed.rows[0] + found.kick, found.values, own, zero, phase.p])


def rigid_rows(cones: Any, e: int) -> NDArray[np.int64]:
    """Which of e impulses, the first of them three for each contact, have no compliance."""
    light = np.flatnonzero(cones.mass <= 0.0)
    return np.concatenate([(3 * light[:, None] + np.arange(3)).ravel(), np.arange(3 * len(cones), e)])


def inverse(G: FloatArray, n: int, e: int, rest: Any, loops: int) -> FloatArray:
    """The inverse of a matrix whose rows and columns from n on are those of e impulses, of which `rest` have no
    compliance, the last ones those of equations of loops."""
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
