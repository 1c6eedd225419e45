"""The linear map of a solved part of a step: from the state at its start and its controls to the state at its end.

A state is the configuration q, the momentum p without the impulses there, and the mean velocities of the part before,
which restitution looks at. With the unknowns z = (displacements at the end, impulses) and the equations G of a part,

    G_z z = -(G_x x + G_theta),   out = O_x x + O_z z + O_theta,

for changes x of the state and the controls. The momentum that is told at its start is another output. Contacts of one
rigid body share its load by their compliance, as in the solver. Limits, torques against turning and equations of loops
have none: their impulses are held back by a tiny share of what gives way under them, which picks one of many ways to
share a load and leaves the motion.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction.mechanism import Mechanism
from leastaction.minimal.lanes.arrays import LaneShapes
from leastaction.minimal.lanes.bounces import LEFT
from leastaction.minimal.lanes.derivatives import laws as law
from leastaction.minimal.lanes.derivatives.smooth import Placed, Smooth, bodies_by_joints
from leastaction.minimal.lanes.derivatives.solved import Solved
from leastaction.minimal.lanes.derivatives.told import told_momentum, told_slopes
from leastaction.minimal.lanes.derivatives.touching import changes, touching

FloatArray = NDArray[np.float64]

HOLD = 1e-10
"""Share of what gives way under them that holds impulses back which have no compliance."""


class State(NamedTuple):
    """Changes of a state, or gradients by one: `q`, `p`, `near`, each (nv,) or (nv, columns)."""

    q: Any
    p: Any
    near: Any


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

    def __init__(self, solved: Solved, smooth: Smooth, shapes: LaneShapes | None, free: NDArray[np.bool_]) -> None:
        self.solved, self.smooth, self.shapes = solved, smooth, shapes
        self.n = n = len(solved.p)
        placed = smooth.at(solved.q0, solved.q1, solved.u, solved.h, True)
        C, H = np.where(free, placed.C, 0.0), placed.H
        touch = touching(solved.cones, solved.contacts, placed)
        self.kinds = law.kinds_of_gaps(solved, touch, law.falls_of(smooth.model.gravity, solved))
        found = law.laws(solved, smooth, placed, touch, self.kinds, solved.cones, solved.stops, solved.near)
        moved = bodies_by_joints(smooth, placed, 0)
        change = changes(solved.cones, solved.contacts, placed, moved, shapes)
        slope = law.slopes(solved, smooth, placed, touch, self.kinds, found, change)
        e, nu = len(found.values), C.shape[2]
        rates = rates_by_ends(smooth.mechanism, solved)
        self.bends = bool((self.kinds == law.BOUNCE).any()) and self._is_bent(found.kick)
        size = n + e + self.bends
        G_z, G_x = np.zeros((size, size)), np.zeros((size, 3 * n + nu))
        G_z[:n, :n], G_z[:n, n : n + e] = H[0, :, 1], slope.columns.T
        G_z[n : n + e, :n], G_z[n : n + e, n : n + e] = slope.by_end, slope.by_impulses
        G_x[:n, :n], G_x[:n, n : 2 * n], G_x[:n, 3 * n :] = H[0, :, 0] + slope.kick, np.eye(n), C[0]
        G_x[n : n + e, :n], G_x[n : n + e, 2 * n : 3 * n] = slope.by_start, slope.by_near
        # Rows of the outputs: q, p and near at the end, p as it is told at the start.
        self.O_z, self.O_x = np.zeros((4 * n, size)), np.zeros((4 * n, 3 * n + nu))
        self.O_z[:n, :n], self.O_z[n : 2 * n, :n] = np.eye(n), H[1, :, 1]
        self.O_x[n : 2 * n, :n], self.O_x[n : 2 * n, 3 * n :] = H[1, :, 0], C[1]
        self.O_x[2 * n : 3 * n, :n], self.O_z[2 * n : 3 * n, :n] = rates
        kick_z, kick_x = np.zeros((n, size)), np.zeros((n, 3 * n + nu))
        kick_x[:, :n], kick_z[:, n : n + e] = slope.kick, slope.columns.T
        told, mean, end = told_slopes(solved, smooth, placed, touch, found, change), solved.mean, slice(2 * n, 3 * n)
        self.O_z[3 * n :] = mean * (told.by_b @ kick_z + told.by_u @ self.O_z[end])
        self.O_x[3 * n :] = mean * (told.by_b @ kick_x + told.by_u @ self.O_x[end])
        self.O_x[3 * n :, : 3 * n] += np.hstack([told.by_q, told.by_b, (1.0 - mean) * told.by_u])
        if self.bends:
            self._bend(G_z, G_x, (kick_z, kick_x), found.kick, slope.by_share)
        self.G_x, self.inverse = G_x, self._inverse(G_z, n, e)
        self.touches = e > 0

    def _inverse(self, G_z: FloatArray, n: int, e: int) -> FloatArray:
        """The inverse of G_z, with impulses held back that have no compliance."""
        if e == 0:
            return np.asarray(np.linalg.inv(G_z), np.float64)
        free = np.linalg.solve(G_z[:n, :n], G_z[:n, n : n + e])
        compliance = -np.einsum("en,ne->e", G_z[n : n + e, :n], free)
        scale = np.abs(compliance) + np.abs(np.diag(G_z)[n : n + e])
        at = n + np.arange(e)
        rest = at[3 * len(self.solved.lam) :]  # contacts have a compliance of their own
        G_z[rest, rest] += HOLD * np.abs(compliance[rest - n])
        loops = at[e - len(self.solved.loops) :]
        if len(loops):  # some may say what others do
            least = HOLD * np.abs(compliance[loops - n]).max()
            G_z[loops, loops] += least
            scale[loops - n] += least
        # Impulses in units that move things by as much as displacements do.
        unit = np.ones(len(G_z))
        unit[at] = 1.0 / np.where(scale > 0.0, scale, 1.0)
        scaled = G_z * unit
        rows = np.abs(scaled).max(axis=1, keepdims=True)
        return unit[:, None] * np.linalg.inv(scaled / rows) / rows.T

    def _is_bent(self, kick: FloatArray) -> bool:
        """Whether restitution is held back such that impulses do no work."""
        s = self.solved
        energy = 0.5 * max(float(s.p @ s.near), 0.0)
        work = 0.5 * float(kick @ (s.near + s.rates)) - LEFT * energy
        return 0.0 < s.share < 1.0 and abs(work) <= 1e-6 * energy

    def _bend(self, G_z: FloatArray, G_x: FloatArray, kicks: Any, kick: FloatArray, by_share: FloatArray) -> None:
        """The share of the restitution is an unknown, and the work of the impulses an equation.

        Args:
            kicks: derivatives of what the impulses do, `kick`, by the unknowns and by the state.
        """
        n, s, last = self.n, self.solved, len(G_z) - 1
        G_z[n : n + len(by_share), last] = by_share
        speed = 0.5 * (s.near + s.rates)
        for G, O, by in ((G_z, self.O_z, kicks[0]), (G_x, self.O_x, kicks[1])):
            G[last] = speed @ by + 0.5 * kick @ O[2 * n : 3 * n]
        G_x[last, 2 * n : 3 * n] += 0.5 * kick

    def forward(self, state: State, du: Any, direct: Any = None) -> tuple[State, FloatArray]:
        """(change of the state at the end, of the momentum that is told at the start), each (nv, columns).

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
        return State(out[:n], out[n : 2 * n], out[2 * n : 3 * n]), out[3 * n :]

    def backward(self, bar: State, told: Any = None) -> tuple[State, FloatArray, FloatArray]:
        """Gradients by (state at the start, controls), and by the equations and outputs at fixed unknowns.

        Args:
            bar: gradients by the state at the end.
            told: by the momentum that is told at the start; None is zero.
        """
        n = self.n
        out = np.concatenate([*bar, np.zeros(n) if told is None else told])
        G = -self.inverse.T @ (self.O_z.T @ out)
        x = self.G_x.T @ G + self.O_x.T @ out
        return State(x[:n], x[n : 2 * n], x[2 * n : 3 * n]), x[3 * n :], np.concatenate([G, out])

    def equations(self, smooth: Smooth, cones: Any, stops: Any, contacts: Any, placed: Placed) -> FloatArray:
        """Equations and outputs at the unknowns of the part with another value of a parameter; those at fixed ends.

        Args:
            smooth, placed: of the mechanism with that value.
            cones, stops, contacts: its records of those of the part.
        """
        s = self.solved
        touch = touching(cones, contacts, placed)
        found = law.laws(s, smooth, placed, touch, self.kinds, cones, stops, s.near)
        work = [0.5 * found.kick @ (s.near + s.rates)] if self.bends else []
        zero = np.zeros(self.n)
        told = told_momentum(s, smooth, found)
        return np.concatenate([placed.rows[0] + found.kick, found.values, work, zero, placed.rows[1], zero, told])


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
