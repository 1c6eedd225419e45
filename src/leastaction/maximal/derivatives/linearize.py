"""Derivatives of a whole step of `Maximal`: the maps of `sensitivity` and `pose_map`, chained."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.integrators import FloatArray
from leastaction.maximal.derivatives.replay import Parts
from leastaction.maximal.derivatives.reversal import Sweep, guessed
from leastaction.maximal.derivatives.sensitivity import Bars
from leastaction.maximal.derivatives.solved_steps import BodyState
from leastaction.maximal.derivatives.way_back import WayBack


class OneStep:
    """Derivative of a whole step (q, p, u) -> (q', p').

    Attributes:
        q, p: at the end.
        last: joints and bodies at the end.
    """

    def __init__(self, parts: Parts, q: FloatArray, p: FloatArray, u: FloatArray) -> None:
        self.parts, self.n = parts, parts.stepper.mechanism.nv
        at = parts.start(q, p)
        parts.plan(at)
        self.maps = parts.run(at, u, parts.divided(q, p, u))
        last = self.maps[-1]
        self.first = parts.poses(at, self.maps[0])
        self.first.hold(at.P, self.maps[0].bounces)
        end = last.carried
        self.last = parts.poses(end, last)
        self.last.hold(end.P, parts.stepper.loops)
        self.q, self.p = end.q, self.last.p

    def forward(self, dq: Any, dp: Any, du: Any, direct: Any = None) -> tuple[FloatArray, FloatArray]:
        """Changes (dq', dp'), shapes (nv, m).

        Args:
            dq, dp: at the start, shape (nv, m).
            du: of the controls at each node, shape (nodes, nu, m).
            direct: of all that is computed on the way, by something else: see `parameters.Direct`.
        """
        dz = self.first.move(dq)
        if direct is not None:
            dz = dz + direct.dz
        dP = self.first.spread(dp - self.first.momenta(dz) - (0.0 if direct is None else direct.first))
        dV = np.zeros_like(dP)
        if self.maps[0].bounces:
            velocities = self.first.velocities(dz, dP, None if direct is None else direct.velocities)
            dV = guessed(self.parts)[:, :, None] * velocities
        of = None if direct is None else direct.of
        for step in self.maps:
            dz, dP, dV = step.forward(dz, dP, dV, du, of)
        dP = self.last.project(dz, dP, None if direct is None else direct.projection)
        dq, dp = self.last.positions(dz), self.last.momenta(dz) + self.last.gather(dP)
        return (dq, dp) if direct is None else (dq + direct.dq, dp + direct.dp)

    def jacobians(self) -> tuple[FloatArray, FloatArray]:
        """(A, B) of `leastaction.linearize`, for controls that are held over the step."""
        n, nu = self.n, self.parts.stepper.mechanism.nu
        eye = np.eye(2 * n + nu)
        nodes = len(self.parts.stepper.control_nodes)
        du = np.broadcast_to(eye[2 * n :], (nodes, nu, 2 * n + nu))
        W = np.vstack(self.forward(eye[:n], eye[n : 2 * n], du))
        return W[:, : 2 * n], W[:, 2 * n :]

    def backward(self, sweep: Sweep, bq: FloatArray, bp: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Gradients (by q, by p, by the controls at the nodes) from those by (q', p'); `sweep` those by parameters."""
        bz, bP = sweep.read(self.last, bq, bp)
        bars, bu = sweep.over(self.maps, sweep.project(self.last, Bars(bz, bP, np.zeros_like(bz))))
        return *sweep.start(self.first, bars), bu


def jacobians_back(parts: Parts, q: FloatArray, p: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """(A, B) of the step from (q, p) by the compiled way back for all of q' and p'; None where that is not known.

    Args:
        parts: of a `MaximalStepper`.
        u: controls at the nodes of the step, shape (nodes, nu), held.
    """
    if parts.stepper.loops:
        return None
    s = parts.stepper_of(parts.lengths[0], 1) if len(parts.lengths) == 1 else parts.stepper
    record = s.record(1)
    record["q"][0], record["p"][0] = q, p
    held = u[None]
    if s.advance(record, 0, 1, held) < 1:
        return None
    start = BodyState(record["rigid_poses"][0], record["momenta"][0], q, parts.near(q), s.before, True)
    return WayBack(parts, record, start, 0, held).jacobians()
