"""Direct collocation, to compare with: velocities are unknowns too, and accelerations those of forward dynamics.

    trapezoidal:      y1 - y0 = dt/2 (f0 + f1)
    Hermite-Simpson:  y1 - y0 = dt/6 (f0 + 4 f(ym) + f1),   ym = (y0 + y1)/2 + dt/8 (f0 - f1)

with y = (q, v) and f = (v, a(q, v, u)); compressed: ym is no unknown. For joints with single axes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from leastaction.errors import ProblemError
from leastaction.integration.integrators import Stepper
from leastaction.optimize.transcriptions.chain_rule import Motion
from leastaction.optimize.transcriptions.sparsity import Pattern
from leastaction.optimize.transcriptions.transcription import FloatArray, IntArray, Transcription

if TYPE_CHECKING:
    from leastaction.optimize.problem.problem import Problem


class Collocation(Transcription):
    """Defects of the steps in q and in v; `stepper` gives accelerations."""

    def __init__(self, problem: Problem, stepper: Stepper) -> None:
        self.stepper = stepper
        if problem.schedule.reactions(problem, (0.0, 1.0)) or problem.schedule.shift is not None:
            raise ProblemError(
                f"{type(problem.integrator).__name__} takes no loops, feet, contacts or periods; use "
                "leastaction.Midpoint() or leastaction.Galerkin()"
            )
        super().__init__(problem, (0.0, 1.0), stepper.control_nodes, velocities=True)
        if self.tangents.curved:
            raise ProblemError(
                f"{type(problem.integrator).__name__} is for joints with single axes; for ball and free joints use "
                "leastaction.Midpoint() or leastaction.Galerkin()"
            )

    def _add_dynamics(self) -> None:
        N, names = self.steps, self.mechanism.velocity_names
        self.kept = np.concatenate(
            [self.add_rows(f"defect of {what}", "step", np.arange(N), names) for what in ("q", "v")], axis=1
        )

    def _columns(self) -> IntArray:
        """Unknowns of each step: q0, v0, q1, v1, then its controls, then the final time, shape (steps, columns)."""
        layout, controls, N = self.layout, self.controls, self.steps
        width = controls.weights.shape[1]
        u = layout.u[controls.first[:, None] + np.arange(width)].reshape(N, -1)
        groups = [layout.q[:-1], layout.v[:-1], layout.q[1:], layout.v[1:], u]
        if layout.duration >= 0:
            groups.append(np.full((N, 1), layout.duration))
        return np.concatenate(groups, axis=1)

    def _add_dynamics_pattern(self, pattern: Pattern) -> None:
        n, columns = self.mechanism.nv, self._columns()
        full = np.ones((2 * n, columns.shape[1]), bool)
        # Of the trapezoidal rule positions do not depend on accelerations, nor on other degrees of freedom.
        if len(self.nodes) == 2:
            full[:n] = False
            for g in range(4):
                full[:n, g * n : (g + 1) * n] = np.eye(n, dtype=bool)
            if self.layout.duration >= 0:
                full[:n, -1] = True
        self.places = np.nonzero(full)
        r, c = self.places
        self.ticket = pattern.add(self.kept[:, r], columns[:, c])

    def _close_dynamics_pattern(self, pattern: Pattern) -> None:
        self.slots = pattern.slots(self.ticket)

    def _rates(self, motion: Motion, slopes: bool) -> Any:
        """Velocities and accelerations at the ends of the steps, with derivatives; controls as each step reads them."""
        v = motion.z[self.layout.v]
        ends = [(motion.q[:-1], v[:-1], motion.u[:, 0]), (motion.q[1:], v[1:], motion.u[:, -1])]
        return [(q, w, *self.stepper.accelerations(q, w, u, slopes)) for q, w, u in ends]

    def _dynamics(self, motion: Motion, out: FloatArray) -> None:
        (q0, v0, a0, _), (q1, v1, a1, _) = self._rates(motion, False)
        dt = motion.dt
        if len(self.nodes) == 2:
            by_q, by_v = 0.5 * (v0 + v1), 0.5 * (a0 + a1)
        else:
            qm, vm = 0.5 * (q0 + q1) + 0.125 * dt * (v0 - v1), 0.5 * (v0 + v1) + 0.125 * dt * (a0 - a1)
            am, _ = self.stepper.accelerations(qm, vm, motion.u[:, 1], False)
            by_q, by_v = (v0 + 4.0 * vm + v1) / 6.0, (a0 + 4.0 * am + a1) / 6.0
        out[self.kept] = np.concatenate([q1 - q0 - dt * by_q, v1 - v0 - dt * by_v], axis=1)

    def _dynamics_jacobian(self, motion: Motion, values: FloatArray) -> None:
        (q0, v0, a0, G0), (q1, v1, a1, G1) = self._rates(motion, True)
        N, n, nu, dt = self.steps, self.mechanism.nv, self.mechanism.nu, motion.dt
        nodes = len(self.nodes)
        width = 4 * n + nodes * nu
        eye = np.eye(n)

        def at(block: int) -> slice:
            return slice(block * n, (block + 1) * n)

        def control(node: int) -> slice:
            return slice(4 * n + node * nu, 4 * n + (node + 1) * nu)

        def lifted(G: FloatArray, end: int) -> FloatArray:
            """Derivatives of an acceleration at an end by all that the step reads."""
            out = np.zeros((N, n, width))
            out[:, :, at(2 * end)], out[:, :, at(2 * end + 1)] = G[:, :, :n], G[:, :, n : 2 * n]
            out[:, :, control((nodes - 1) * end)] = G[:, :, 2 * n :]
            return out

        A0, A1 = lifted(G0, 0), lifted(G1, 1)
        Q = [np.zeros((n, width)) for _ in range(4)]  # q0, v0, q1, v1 by all
        for block in range(4):
            Q[block][:, at(block)] = eye
        if nodes == 2:
            by_q, by_v = 0.5 * (Q[1] + Q[3]) + np.zeros((N, 1, 1)), 0.5 * (A0 + A1)
            rate = np.concatenate([0.5 * (v0 + v1), 0.5 * (a0 + a1)], axis=1)
        else:
            qm, vm = 0.5 * (q0 + q1) + 0.125 * dt * (v0 - v1), 0.5 * (v0 + v1) + 0.125 * dt * (a0 - a1)
            am, Gm = self.stepper.accelerations(qm, vm, motion.u[:, 1], True)
            Qm = 0.5 * (Q[0] + Q[2]) + 0.125 * dt * (Q[1] - Q[3])
            Vm = 0.5 * (Q[1] + Q[3]) + 0.125 * dt * (A0 - A1)
            Am = Gm[:, :, :n] @ Qm + Gm[:, :, n : 2 * n] @ Vm
            Am[:, :, control(1)] += Gm[:, :, 2 * n :]
            by_q, by_v = (Q[1] + 4.0 * Vm + Q[3]) / 6.0, (A0 + 4.0 * Am + A1) / 6.0
            # The middle moves with dt, too.
            turn = np.einsum("kij,kj->ki", Gm[:, :, :n], v0 - v1) + np.einsum(
                "kij,kj->ki", Gm[:, :, n : 2 * n], a0 - a1
            )
            rate = np.concatenate(
                [(v0 + 4.0 * vm + v1 + 0.5 * dt * (a0 - a1)) / 6.0, (a0 + 4.0 * am + a1 + 0.5 * dt * turn) / 6.0],
                axis=1,
            )
        J = np.concatenate([(Q[2] - Q[0]) - dt * by_q, (Q[3] - Q[1]) - dt * by_v], axis=1)
        by_u = J[:, :, 4 * n :].reshape(N, 2 * n, nodes, nu)
        by_u = np.einsum("kian,ab->kibn", by_u, self.controls.weights).reshape(N, 2 * n, -1)
        parts = [J[:, :, : 4 * n], by_u]
        if self.layout.duration >= 0:
            parts.append(-rate[:, :, None] / self.steps)
        r, c = self.places
        values[self.slots] = np.concatenate(parts, axis=2)[:, r, c]

    def dynamics_couplings(self) -> list[tuple[IntArray, IntArray]]:
        """See `Transcription.dynamics_couplings`."""
        columns = self._columns()
        return [(columns[:, :, None], columns[:, None, :])]

    def _complete(self, z: FloatArray, q: FloatArray, dt: float) -> None:
        z[self.layout.v] = np.gradient(q, dt, axis=0)

    def stored(self, z: FloatArray) -> dict[str, FloatArray]:
        """Velocities at the knots."""
        return {"v": z[self.layout.v].copy()}
