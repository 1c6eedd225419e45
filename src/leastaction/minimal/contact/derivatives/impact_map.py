"""The linear map of a hit: from the state before it to that after it, at the same positions (`contact.restitution`).

The plastic hit is a momentum phase without impulses of the position phase, with velocities v1 and momenta p1. What is
given back, R = N_n' e L_n, opens no loops: it has impulses mu of their equations beside it. With

    p2 = p1 + R + A' mu,   M v2 = p2,   A v2 = 0,   p' = p1 + c (p2 - p1),

the share c of the restitution is 1, or an unknown with T(p') = T(p). What moving surfaces give there is left out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.dynamics.legendre import momentum_slopes
from leastaction.minimal.contact.arrays import RobotShapes
from leastaction.minimal.contact.derivatives import contact_laws as law
from leastaction.minimal.contact.derivatives.contact_geometry import changes
from leastaction.minimal.contact.derivatives.momentum_phase_map import Phase, frames_at_end, placed_at_end, slopes
from leastaction.minimal.contact.derivatives.smooth_equations import Placed, Smooth, bodies_by_joints
from leastaction.minimal.contact.derivatives.solved_substep import NO_CONES, NO_CONTACTS, Solved
from leastaction.minimal.contact.derivatives.substep_map import PartMap, inverse, rigid_rows

FloatArray = NDArray[np.float64]


class HitMap(PartMap):
    """Derivatives of one hit.

    Args:
        solved: the plastic hit, see `solved_substep.hit_by`.
        smooth: equations of its mechanism.
        shapes: what may touch beside balls over planes.
        share: of the restitution that acts.
        loops: impulses mu.
    """

    def __init__(
        self, solved: Solved, smooth: Smooth, shapes: RobotShapes | None, share: float, loops: FloatArray
    ) -> None:
        self.solved, self.smooth, self.shapes, self.timed = solved, smooth, shapes, True
        self.n = n = len(solved.p)
        self.share = share
        nothing = np.zeros(0, np.bool_)
        fields = ("slides_end", "pushes_end", "turning", "spins_end", "rolls_end", "stops_stick")
        self.rest = replace(
            solved,
            cones=NO_CONES,
            contacts=NO_CONTACTS,
            stops=NO_CONES,
            lam=np.zeros((0, 3)),
            torques=np.zeros((0, 3)),
            lam_end=np.zeros((0, 3)),
            torques_end=np.zeros((0, 3)),
            push=np.zeros(0),
            push_end=np.zeros(0),
            side=np.zeros(0),
            soft_end=np.zeros(0),
            loops_end=loops,
            **dict.fromkeys(fields, nothing),
        )
        placed = placed_at_end(solved, smooth)
        self.first = Phase(solved, smooth, solved.cones, solved.stops, solved.contacts, solved.p)
        self.second = self._given_back(self.first, smooth, solved.cones)
        start = np.asarray(np.linalg.solve(self.first.M, solved.p), np.float64)
        change = changes(solved.cones, solved.contacts, placed, bodies_by_joints(smooth, placed, 0), shapes)
        one = slopes(self.first, shapes, len(self.first.rows.L), change)
        none = changes(NO_CONES, NO_CONTACTS, placed, np.zeros((0, 6, n)), None)
        two = slopes(self.second, None, len(self.second.rows.L), none)
        e, f, nu = len(one.own) - n, len(two.own) - n, len(solved.u)
        bends = share < 1.0
        size, last = 2 * n + e + f, 2 * n + e + f
        G_z, G_x = np.zeros((size + bends, size + bends)), np.zeros((size + bends, 2 * n + 1 + nu))
        # p1 and p2 by the unknowns and by the state.
        p_z, p_x = np.zeros((2, n, size + bends)), np.zeros((2, n, 2 * n + 1 + nu))
        p_x[0, :, n : 2 * n] = np.eye(n)
        p_x[0, :, :n] = one.kick + one.kick_start
        p_z[0, :, n : n + e] = self.first.rows.N.T
        back, by_normals = self._back(self.first, change)
        p_z[1], p_x[1] = p_z[0], p_x[0]
        p_z[1, :, n : n + e] += by_normals
        p_x[1, :, :n] += back
        end = p_z[1].copy(), p_x[1].copy()
        p_z[1, :, size - f : size] = self.second.rows.N.T
        p_x[1, :, :n] += two.kick
        A, B = slice(0, n + e), slice(n + e, size)
        G_z[A, A], G_x[A, :n] = one.own, one.by_end + one.by_start
        G_x[:n, n : 2 * n] -= np.eye(n)
        G_z[B, B], G_x[B, :n] = two.own, two.by_end
        G_z[n + e : 2 * n + e] -= end[0]
        G_x[n + e : 2 * n + e] -= end[1]
        out_z, out_x = p_z[0] + share * (p_z[1] - p_z[0]), p_x[0] + share * (p_x[1] - p_x[0])
        if bends:
            v = np.asarray(self.first.v + share * (self.second.v - self.first.v), np.float64)
            out_z[:, last] = self.second.p - self.first.p
            G_z[last], G_x[last] = v @ out_z, v @ out_x
            G_x[last, n : 2 * n] -= start
            q = solved.q0[None]
            for rates, half in ((v[None], 0.5), (start[None], -0.5)):
                G_x[last, :n] -= half * momentum_slopes(smooth.mechanism, q, rates, rates)[0]
        O_z, O_x = np.zeros((2 * n + 1, size + bends)), np.zeros((2 * n + 1, 2 * n + 1 + nu))
        O_x[:n, :n], O_x[2 * n, 2 * n] = np.eye(n), 1.0
        O_z[n : 2 * n], O_x[n : 2 * n] = out_z, out_x
        rigid = n + rigid_rows(solved.cones, e)
        inner = inverse(G_z[A, A], n, e, rigid, len(solved.loops))
        outer = inverse(G_z[B, B], n, f, n + np.arange(0), f)
        whole = np.zeros_like(G_z)
        whole[A, A], whole[B, B] = inner, outer
        whole[B, A] = -outer @ G_z[B, A] @ inner
        if bends:
            whole[last, last] = 1.0 / G_z[last, last]
            whole[last, :last] = -(G_z[last, :last] @ whole[:last, :last]) / G_z[last, last]
        self.G_x, self.O_x, self.O_z, self.inverse = G_x, O_x, O_z, whole

    def _given_back(self, first: Phase, smooth: Smooth, cones: Any, v: Any = None) -> Phase:
        """The momenta p2 as a phase of loops alone."""
        normals = first.rows.N[: 3 * len(cones) : 3]
        end = first.p + normals.T @ (cones.restitution * self.solved.lam_end[:, 0])
        return Phase(self.rest, smooth, NO_CONES, NO_CONES, NO_CONTACTS, end, v)

    def _back(self, first: Phase, change: Any) -> tuple[FloatArray, FloatArray]:
        """Derivatives of R by the joints and by the impulses of the plastic hit."""
        s, n = self.solved, self.n
        by_normals, m = np.zeros((n, len(first.rows.L))), len(s.cones)
        if not m:
            return np.zeros((n, n)), by_normals
        lam = np.zeros((m, 3))
        lam[:, 0] = s.cones.restitution * s.lam_end[:, 0]
        end, start = frames_at_end(first, self.shapes, change)
        back = law.impulse_slopes(self.smooth, first.placed, first.touch, end, lam)
        back += law.impulse_slopes(self.smooth, first.placed, first.touch, start, lam, False)
        by_normals[:, : 3 * m : 3] = (first.rows.N[: 3 * m : 3] * s.cones.restitution[:, None]).T
        return back, by_normals

    def equations(
        self, smooth: Smooth, cones: Any, stops: Any, contacts: Any, placed: Placed, closing: Any
    ) -> FloatArray:
        """See `PartMap.equations`."""
        s, n = self.solved, self.n
        cones.mass = 0.0  # no compliance
        first = Phase(s, smooth, cones, stops, contacts, s.p, self.first.v)
        second = self._given_back(first, smooth, cones, self.second.v)
        p = first.p + self.share * (second.p - first.p)
        work: list[float] = []
        if self.share < 1.0:
            work.append(0.5 * float(p @ np.linalg.solve(first.M, p) - s.p @ np.linalg.solve(first.M, s.p)))
        return np.concatenate([first.values(), second.values(), np.array(work), np.zeros(n), p, np.zeros(1)])
