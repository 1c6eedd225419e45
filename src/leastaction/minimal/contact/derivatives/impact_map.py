"""Linear map of an impact: from the state before to that after it, at the same positions (`laws.restitution`).

The plastic impact is a momentum phase without impulses of the position phase, with velocities v1 and momenta p1. The
restitution impulse R = N_n' e L_n keeps loops and prescribed motions by additional impulses mu of their equations.
With

    p2 = p1 + R + A' mu,   M v2 = p2,   A v2 = 0,   p' = p1 + c (p2 - p1),

the share c of the restitution is 1, or an unknown with T(p') = T(p). The contribution of moving surfaces is neglected.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.dynamics import mass_matrix
from leastaction.dynamics.legendre import momentum_slopes
from leastaction.errors import IntegratorError
from leastaction.minimal.contact.arrays import RobotShapes
from leastaction.minimal.contact.derivatives.block_triangle import Block, BlockTriangle
from leastaction.minimal.contact.derivatives.contact_kernels import Part
from leastaction.minimal.contact.derivatives.contact_laws import Places
from leastaction.minimal.contact.derivatives.smooth_equations import Placed, Smooth
from leastaction.minimal.contact.derivatives.solved_substep import Solved
from leastaction.minimal.contact.derivatives.stop_laws import (
    driven_rows,
    is_prescribed,
    rate_slopes,
    stop_slopes,
    stop_values,
)
from leastaction.minimal.contact.derivatives.substep_map import (
    PartMap,
    added,
    body_twists,
    contact_law_values,
    contact_rows,
    heavier,
    impulses_of,
    loop_equations,
    modes_of,
    part_of,
    reach_of,
    rigid_rows,
    rows_at,
    slopes_of,
    with_coefficients,
    write_momentum_slopes,
)
from leastaction.typing import FloatArray


class HitMap(PartMap):
    """Derivatives of one impact.

    Args:
        solved: the plastic impact, see `solved_substep.hit_by`.
        smooth: equations of its mechanism.
        shapes: for contact detection, beside spheres over planes.
        share: of the restitution that acts.
        loops: impulses mu, those of loops first.
    """

    def __init__(
        self, solved: Solved, smooth: Smooth, shapes: RobotShapes | None, share: float, loops: FloatArray
    ) -> None:
        self.solved, self.smooth, self.timed, self.earlier, self.by_found = solved, smooth, True, (), []
        self.share, self.mu, self.reach = share, loops, reach_of(smooth, shapes)
        self.n, self.modes = len(solved.p), modes_of(solved, smooth)
        s, n, e, f, nu = solved, self.n, impulses_of(solved), len(loops), len(solved.u)
        placed = smooth.at(s.q0, s.q0, s.u, s.h, False)
        M, part = mass_matrix(smooth.mechanism, s.q0), part_of(s, s.cones, s.contacts, [placed], self.reach)
        columns, (_, (_, A)) = contact_rows(smooth, part, [placed]), loop_equations(s, smooth)
        N, driven, own_loops = rows_at(s, columns[1], A), driven_rows(s, n), len(A)
        if share < 1.0 and len(driven):
            raise IntegratorError("Minimal: a hit that moves prescribed bodies gives back less than e: no derivative")
        first = s.p + N.T @ added(s)
        self.v = v1 = np.asarray(np.linalg.solve(M, first), np.float64)
        held_rows = np.concatenate([A, driven])
        second = self._given_back(first, s.cones, columns[1], held_rows)
        self.v_back = v2 = np.asarray(np.linalg.solve(M, second), np.float64)
        hessians = np.zeros((f, n, n))
        if own_loops:
            hessians[:own_loops] = smooth.loop_hessians(s.q0)
        # The plastic impact: rows of momenta and of its laws, by (v1, L) and by the joints.
        part = part._replace(twists=body_twists(smooth, placed, v1))
        rows, places = slopes_of(smooth, part, [placed], columns), Places(n, n, 2 * n, 2 * n + e, 3 * n + e)
        F = np.zeros((2 * n + e, 3 * n + e))
        write_momentum_slopes(s, part, self.modes, places, rows, F)
        stop_slopes(s, F, places, False)
        if own_loops:
            last = slice(len(F) - own_loops, len(F))
            F[last, :n], F[last, n : 2 * n] = s.h * (v1 @ hessians[:own_loops]), s.h * A
        own, by_q = F[n:, n : 2 * n + e], F[n:, :n] + F[n:, 2 * n + e :]
        kick = rows.kick_end.sum(axis=0) + np.einsum("k,kab->ab", s.loops_end, hessians[:own_loops])
        # The restitution.
        back = part._replace(more=self._restitution(s.cones), more_torques=np.zeros((len(s.cones), 3)))
        given = slopes_of(smooth, back, [placed], columns).kick_end.sum(axis=0)
        held = share < 1.0
        size = 2 * n + e + f
        G_z, G_x = np.zeros((size + held, size + held)), np.zeros((size + held, 2 * n + 1 + nu))
        # p1, then p2, by the unknowns (v1, L, v2, mu) and by the state.
        p_z, p_x = np.zeros((2, n, size + held)), np.zeros((2, n, 2 * n + 1 + nu))
        p_x[:, :, n : 2 * n], p_x[:, :, :n] = np.eye(n), kick
        p_z[:, :, n : n + e] = N.T
        p_x[1, :, :n] += given + np.einsum("k,kab->ab", loops, hessians)
        by_normals = np.zeros((n, e))
        by_normals[:, : 3 * len(s.cones) : 3] = (N[: 3 * len(s.cones) : 3] * s.cones.restitution[:, None]).T
        p_z[1, :, n : n + e] += by_normals
        p_z[1, :, size - f : size] = held_rows.T
        one, two = slice(0, n + e), slice(n + e, size)
        G_z[one, one], G_x[one, :n] = own, by_q
        for at, v, p in ((0, v1, 0), (n + e, v2, 1)):
            momenta = slice(at, at + n)
            G_z[momenta], G_x[momenta] = -p_z[p], -p_x[p]
            G_z[momenta, at : at + n] = M
            G_x[momenta, :n] += heavier(smooth, s.q0, v)
        G_z[size - f : size, n + e : 2 * n + e], G_x[size - f : size, :n] = s.h * held_rows, s.h * (v2 @ hessians)
        if len(driven):  # prescribed motions depend on time
            slopes, stops = rate_slopes(s), n + e - own_loops - len(s.stops)
            G_x[stops : stops + len(s.stops), 2 * n] = slopes
            G_x[size - len(driven) : size, 2 * n] = slopes[[is_prescribed(stop) for stop in s.stops]]
        out_z, out_x = p_z[0] + share * (p_z[1] - p_z[0]), p_x[0] + share * (p_x[1] - p_x[0])
        if held:
            v, start = v1 + share * (v2 - v1), np.asarray(np.linalg.solve(M, s.p), np.float64)
            out_z[:, size] = second - first
            G_z[size], G_x[size] = v @ out_z, v @ out_x
            G_x[size, n : 2 * n] -= start
            q = s.q0[None]
            for rates, half in ((v[None], 0.5), (start[None], -0.5)):
                G_x[size, :n] -= half * momentum_slopes(smooth.mechanism, q, rates, rates)[0]
        O_z, O_x = np.zeros((2 * n + 1, size + held)), np.zeros((2 * n + 1, 2 * n + 1 + nu))
        O_x[:n, :n], O_x[2 * n, 2 * n] = np.eye(n), 1.0
        O_z[n : 2 * n], O_x[n : 2 * n] = out_z, out_x
        blocks = [
            (one, Block(G_z[one, one], n, e, n + rigid_rows(s.cones, e), f)),
            (two, Block(G_z[two, two], n, f, (), f)),
        ]
        if held:
            blocks.append((slice(size, size + 1), Block(G_z[size:, size:], 1)))
        self.F_x, self.O_x, self.O_z, self.solver = G_x, O_x, O_z, BlockTriangle(G_z, blocks)

    def _restitution(self, cones: Any) -> FloatArray:
        """Restitution impulses along and across normals, shape (m, 3)."""
        out = np.zeros((len(cones), 3))
        out[:, 0] = cones.restitution * self.solved.lam_end[:, 0]
        return out

    def _given_back(self, p: FloatArray, cones: Any, columns: FloatArray, loops: FloatArray) -> FloatArray:
        """Momenta p + R + A' mu after the restitution."""
        return p + np.einsum("mi,min->n", self._restitution(cones), columns[:, :3]) + loops.T @ self.mu

    def equations(
        self, smooth: Smooth, cones: Any, stops: Any, contacts: Any, placed: Placed, closing: Any
    ) -> FloatArray:
        """See `PartMap.equations`."""
        s, n = self.solved, self.n
        cones.mass = 0.0  # no compliance
        part: Part = part_of(s, cones, contacts, [placed], self.reach)
        part = part._replace(twists=body_twists(smooth, placed, self.v))
        columns, (_, (_, A)) = contact_rows(smooth, part, [placed]), loop_equations(s, smooth)
        M, first = mass_matrix(smooth.mechanism, s.q0), s.p + rows_at(s, columns[1], A).T @ added(s)
        second = self._given_back(first, cones, columns[1], np.concatenate([A, driven_rows(s, n)]))
        p = first + self.share * (second - first)
        work: list[float] = []
        if self.share < 1.0:
            work.append(0.5 * float(p @ np.linalg.solve(M, p) - s.p @ np.linalg.solve(M, s.p)))
        laws = contact_law_values(s, part, with_coefficients(self.modes, s, cones))[1]
        stopped = stop_values(s, smooth, stops, self.v)[1]
        plastic = [M @ self.v - first, laws, stopped, s.h * A @ self.v]
        driven = s.h * driven_rows(s, n) @ self.v_back
        given = [M @ self.v_back - second, s.h * A @ self.v_back, driven]
        return np.concatenate([*plastic, *given, np.array(work), np.zeros(n), p, np.zeros(1)])
