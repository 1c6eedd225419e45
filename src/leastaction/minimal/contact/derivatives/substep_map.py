"""The linear map of a solved part of a step: from the state at its start and its controls to the state at its end.

A state is the configuration q and the momentum p; restitution looks at the velocities of the latter. With the unknowns
z = (displacements at the end, impulses, and those of the momentum phase, see `momenta`) and the equations G of a part,

    G_z z = -(G_x x + G_theta),   out = O_x x + O_z z + O_theta,

for changes x of the state and the controls. Contacts of one rigid body share its load by their compliance, as in the
solver. Limits, torques against turning and equations of loops have none: their impulses are held back by a tiny share
of what gives way under them, which picks one of many ways to share a load and leaves the motion.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction.dynamics.legendre import momentum_slopes, velocity_of_momentum
from leastaction.mechanism import Mechanism
from leastaction.minimal.contact.arrays import RobotShapes
from leastaction.minimal.contact.derivatives import contact_laws as law
from leastaction.minimal.contact.derivatives.contact_geometry import changes, touching
from leastaction.minimal.contact.derivatives.momentum_phase_map import Phase, PhaseSlopes, closed_ones, slopes
from leastaction.minimal.contact.derivatives.smooth_equations import Placed, Smooth, bodies_by_joints
from leastaction.minimal.contact.derivatives.solved_substep import Solved
from leastaction.minimal.contact.newton_restitution import LEFT

FloatArray = NDArray[np.float64]

HOLD = 1e-10
"""Share of what gives way under them that holds impulses back which have no compliance."""


class State(NamedTuple):
    """Changes of a state, or gradients by one: `q`, `p`, each (nv,) or (nv, columns)."""

    q: Any
    p: Any


class PartMap:
    """Derivatives of one part.

    Args:
        solved: the part.
        smooth: equations of its mechanism.
        shapes: what may touch beside balls over planes.
        free: which controls are within their limits, shape (nu,).

    Attributes:
        kinds: what says how large the gaps of its contacts must be.
    """

    def __init__(self, solved: Solved, smooth: Smooth, shapes: RobotShapes | None, free: NDArray[np.bool_]) -> None:
        self.solved, self.smooth, self.shapes = solved, smooth, shapes
        self.n = n = len(solved.p)
        placed = smooth.at(solved.q0, solved.q1, solved.u, solved.h, True)
        C, H = np.where(free, placed.C, 0.0), placed.H
        touch = touching(solved.cones, solved.contacts, placed)
        self.kinds = law.kinds_of_gaps(solved, touch, law.falls_of(smooth.model.gravity, solved))
        found = law.laws(solved, smooth, placed, touch, self.kinds, solved.cones, solved.stops, solved.v0)
        moved = bodies_by_joints(smooth, placed, 0)
        change = changes(solved.cones, solved.contacts, placed, moved, shapes)
        slope = law.slopes(solved, smooth, placed, touch, self.kinds, found, change)
        e, nu = len(found.values), C.shape[2]
        bounces = bool((self.kinds == law.BOUNCE).any())
        self.bends = bounces and self._is_bent(found.kick)
        size = n + e + self.bends
        G_z, G_x = np.zeros((size, size)), np.zeros((size, 2 * n + nu))
        G_z[:n, :n], G_z[:n, n : n + e] = H[0, :, 1], slope.columns.T
        G_z[n : n + e, :n], G_z[n : n + e, n : n + e] = slope.by_end, slope.by_impulses
        G_x[:n, :n], G_x[:n, n : 2 * n], G_x[:n, 2 * n :] = H[0, :, 0] + slope.kick, np.eye(n), C[0]
        G_x[n : n + e, :n] = slope.by_start
        velocities = (
            np.concatenate(start_velocities(smooth.mechanism, solved.q0, solved.v0), axis=1) if bounces else None
        )
        if velocities is not None:
            G_x[n : n + e, : 2 * n] += slope.by_velocity @ velocities
        # Rows of the outputs: q and p at the end.
        O_z, O_x = np.zeros((2 * n, size)), np.zeros((2 * n, 2 * n + nu))
        O_z[:n, :n], O_z[n:, :n] = np.eye(n), H[1, :, 1]
        O_x[n:, :n], O_x[n:, 2 * n :] = H[1, :, 0], C[1]
        if self.bends:
            kick_z, kick_x = np.zeros((n, size)), np.zeros((n, 2 * n + nu))
            kick_x[:, :n], kick_z[:, n : n + e] = slope.kick, slope.columns.T
            self._bend(G_z, G_x, (kick_z, kick_x), velocities, found.kick, slope.by_share)
        rest = n + rigid_rows(solved.cones, e)
        self.G_x, self.O_x, self.O_z = G_x, O_x, O_z
        self.inverse = inverse(G_z, n, e, rest, len(solved.loops))
        self.touches = e > 0
        self.phase = Phase(solved, smooth, solved.cones, solved.stops, solved.contacts, placed.rows[1])
        if len(self.phase.rows.L):
            self._add_phase(slopes(self.phase, shapes, e, change), e)

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

    def _is_bent(self, kick: FloatArray) -> bool:
        """Whether restitution is held back such that impulses do no work."""
        s = self.solved
        energy = 0.5 * max(float(s.p @ s.v0), 0.0)
        work = 0.5 * float(kick @ (s.v0 + s.rates)) - LEFT * energy
        return 0.0 < s.share < 1.0 and abs(work) <= 1e-6 * energy

    def _bend(
        self, G_z: FloatArray, G_x: FloatArray, kicks: Any, velocities: Any, kick: FloatArray, by_share: FloatArray
    ) -> None:
        """The share of the restitution is an unknown, and the work of the impulses an equation.

        Args:
            kicks: derivatives of what the impulses do, `kick`, by the unknowns and by the state.
            velocities: derivatives of those at the start by q and p there, shape (nv, 2 nv).
        """
        n, s, last = self.n, self.solved, len(G_z) - 1
        G_z[n : n + len(by_share), last] = by_share
        speed = 0.5 * (s.v0 + s.rates)
        first, end = rates_by_ends(self.smooth.mechanism, s)
        G_z[last], G_x[last] = speed @ kicks[0], speed @ kicks[1]
        G_z[last, :n] += 0.5 * kick @ end
        G_x[last, :n] += 0.5 * kick @ first
        G_x[last, : 2 * n] += 0.5 * kick @ velocities

    def forward(self, state: State, du: Any, direct: Any = None) -> State:
        """Change of the state at the end, each of its parts (nv, columns).

        Args:
            state: changes at the start.
            du: of the controls, shape (nu, columns).
            direct: of the equations and of the outputs by something else, see `equations`.
        """
        x = np.concatenate([*state, du])
        G, out = self.G_x @ x, self.O_x @ x
        if direct is not None:
            G, out = G + direct[0], out + direct[1]
        out -= self.O_z @ (self.inverse @ G)
        n = self.n
        return State(out[:n], out[n:])

    def backward(self, bar: State) -> tuple[State, FloatArray, FloatArray]:
        """Gradients by (state at the start, controls), and by the equations and outputs at fixed unknowns.

        Args:
            bar: gradients by the state at the end.
        """
        n = self.n
        out = np.concatenate([*bar])
        G = -self.inverse.T @ (self.O_z.T @ out)
        x = self.G_x.T @ G + self.O_x.T @ out
        return State(x[:n], x[n : 2 * n]), x[2 * n :], np.concatenate([G, out])

    def equations(self, smooth: Smooth, cones: Any, stops: Any, contacts: Any, placed: Placed) -> FloatArray:
        """Equations and outputs at the unknowns of the part with another value of a parameter; those at fixed ends.

        Args:
            smooth, placed: of the mechanism with that value.
            cones, stops, contacts: its records of those of the part.
        """
        s = self.solved
        touch = touching(cones, contacts, placed)
        v0 = s.v0
        if (self.kinds == law.BOUNCE).any():
            v0 = velocity_of_momentum(smooth.mechanism, s.q0[None], s.p[None])[0]
        found = law.laws(s, smooth, placed, touch, self.kinds, cones, stops, v0)
        work = [0.5 * found.kick @ (v0 + s.rates)] if self.bends else []
        zero = np.zeros(self.n)
        phase = Phase(s, smooth, cones, stops, contacts, placed.rows[1], self.phase.v)
        own = phase.values() if len(phase.rows.L) else []
        return np.concatenate([placed.rows[0] + found.kick, found.values, work, own, zero, phase.p])


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


def start_velocities(mechanism: Mechanism, q: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Derivatives of v = M(q)^-1 p by q along the tangent and by p, each shape (nv, nv)."""
    n = mechanism.nv
    rows = np.tile(q, (n, 1))
    inverse = velocity_of_momentum(mechanism, rows, np.eye(n))
    return -momentum_slopes(mechanism, rows, np.tile(v, (n, 1)), inverse), inverse


def rates_by_ends(mechanism: Mechanism, solved: Solved) -> tuple[FloatArray, FloatArray]:
    """Derivatives of the mean velocities of a part by the joints at its start and at its end, each shape (nv, nv)."""
    n, h = len(solved.p), 1.0 / solved.h
    first, last = -h * np.eye(n), h * np.eye(n)
    for node in mechanism.tree.nodes:
        if node.nv == 1:
            continue
        at = slice(node.iv, node.iv + node.nv)
        x = solved.h * solved.rates[at]
        first[at, at], last[at, at] = -h * inverse_right_jacobian(-x), h * inverse_right_jacobian(x)
    return first, last


def inverse_right_jacobian(x: FloatArray) -> FloatArray:
    """Of the exponential map at a small turn (3) or twist (6): 1 + ad / 2 + ad^2 / 12 + ..., to order 4 in x."""
    ad = np.zeros((len(x), len(x)))
    for at in range(0, len(x), 3):
        w = x[:3]
        ad[at : at + 3, at : at + 3] = [[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]]
    if len(x) == 6:
        v = x[3:]
        ad[3:, :3] = [[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]]
    square = ad @ ad
    return np.eye(len(x)) + 0.5 * ad + square / 12.0 - square @ square / 720.0
