"""Derivatives of steps and runs of `Maximal`: the maps of `sensitivity` and `pose_map`, chained."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from leastaction.dynamics.legendre import velocity_of_momentum
from leastaction.errors import IntegratorError
from leastaction.integrators import FloatArray
from leastaction.maximal.entries import IMPACT
from leastaction.maximal.placement import momenta_of, place
from leastaction.maximal.pose_map import PoseMap
from leastaction.maximal.sensitivity import BodyState, Solved, StepMap


class Parts:
    """The steps that one step of an integrator is composed of, each with a stepper of its own.

    Args:
        stepper: a `MaximalStepper`.
    """

    def __init__(self, stepper: Any) -> None:
        self.stepper = stepper
        self.steppers: dict[float, Any] = {}
        self.lengths: list[float] = (stepper.substeps * stepper.dt).tolist()
        plain = replace(stepper.integrator, order=min(stepper.integrator.order, 2))
        for h in self.lengths:
            if h not in self.steppers:
                # Not by `prepare`: parts of a composed step may go backwards.
                self.steppers[h] = type(stepper)(plain, stepper.mechanism, h)
                self.steppers[h].loops = False  # momenta are projected at the end of the whole step

    def start(self, q: FloatArray, p: FloatArray) -> BodyState:
        """Bodies of joint positions and momenta, as at the start of a run."""
        s = self.stepper
        v = velocity_of_momentum(s.mechanism, q[None], p[None])[0]
        Z, twists, rates = place(s.model, q, v)
        return BodyState(Z, momenta_of(s.model, Z, twists, rates), q.copy(), self.near(q), np.zeros_like(twists))

    def near(self, q: FloatArray) -> FloatArray:
        """Coordinates of the joints; zero for those that close loops, and for balls."""
        c = self.stepper.model.coordinates
        return np.where((c.iq >= 0) & (c.kind < 2), q[np.maximum(c.iq, 0)], 0.0)

    def plan(self, Z: FloatArray) -> None:
        """Lay out which bodies may touch near the poses Z."""
        for s in self.steppers.values():
            if len(s.table.movers) > 1:
                s._plan(Z)

    def solve(self, h: float, at: BodyState, u: FloatArray) -> Solved:
        """Solve a part of length h; u: controls at its ends, shape (2, nu)."""
        s = self.steppers[h]
        record = s.record(2)
        record["poses"][1], record["momenta"][1], record["q"][1] = at.Z, at.P, at.q
        s.cstates.value = at.near
        s.states.w, s.states.vc = at.V[:, :3], at.V[:, 3:]
        s.states.x, s.states.slope, s.clock[:] = 0.0, 0.0, 0.0
        s.rowstates.lam = s.rowstates.mu = 0.0
        if s.contact is not None:
            s.contact[0].s = 0.0  # every cone of a step has a slack, so this tells how many there are
        if s.advance(record, 1, 2, u[None] if s.halves < 1.0 else u[None, :1]) < 2:
            raise s.failure(0, record)
        count = 0 if s.contact is None else int(np.count_nonzero(s.contact[0].s > 0.0))
        if count and (s.contact[0].rest[:count] > 0.0).any():
            raise IntegratorError("Maximal has no derivative of a step in which restitution acts; set restitution to 0")
        V = np.hstack([s.states.w, s.states.vc])
        end = BodyState(*(record[name][2].copy() for name in ("poses", "momenta", "q")), s.cstates.value.copy(), V)
        return Solved(s, at, V, np.array(u, order="C"), count, end)

    def run(self, at: BodyState, u: FloatArray) -> list[StepMap]:
        """Solve and differentiate all parts of a step; u: controls at the nodes of the whole step, (nodes, nu)."""
        maps: list[StepMap] = []
        for j, h in enumerate(self.lengths):
            nodes = [0, 0] if self.stepper.halves == 1.0 else [j, j + 1]
            maps.append(StepMap(self.solve(h, at, u[nodes])))
            at = maps[-1].solved.end
        return maps

    def poses(self, at: BodyState, like: StepMap) -> PoseMap:
        """Joints and bodies at a state."""
        return PoseMap(like.solved.stepper, like.neighbours, at)


class OneStep:
    """Derivative of a whole step (q, p, u) -> (q', p').

    Attributes:
        q, p: at the end.
    """

    def __init__(self, parts: Parts, q: FloatArray, p: FloatArray, u: FloatArray) -> None:
        self.parts, self.n = parts, parts.stepper.mechanism.nv
        at = parts.start(q, p)
        parts.plan(at.Z)
        self.maps = parts.run(at, u)
        last = self.maps[-1]
        self.first = parts.poses(at, self.maps[0])
        self.first.hold(at.P, False)
        self.last = parts.poses(last.solved.end, last)
        self.held = last.held
        self.last.hold(last.minus if self.held else last.solved.end.P, parts.stepper.loops and not self.held)
        self.q, self.p = last.solved.end.q, self.last.p

    def forward(self, dq: Any, dp: Any, du: Any, direct: Any = None) -> tuple[FloatArray, FloatArray]:
        """Changes (dq', dp'), shapes (nv, m).

        Args:
            dq, dp: at the start, shape (nv, m).
            du: of the controls at each node, shape (nodes, nu, m).
            direct: of all parts by something else, see `parameters.Direct`.
        """
        dz = self.first.move(dq)
        if direct is not None:
            dz = dz + direct.dz
        dP = self.first.spread(dp - self.first.momenta(dz) - (0.0 if direct is None else direct.first))
        dx = np.zeros_like(dz)
        for j, step in enumerate(self.maps):
            nodes = (du[0], du[0]) if len(du) == 1 else (du[j], du[j + 1])
            dz, dP, dx = step.forward(dz, dP, nodes, None if direct is None else direct.steps[j])
        if self.held:
            dP = self.maps[-1].right @ dx
            if direct is not None:
                dP = dP + direct.minus
        dP = self.last.project(dz, dP, None if direct is None else direct.projection)
        dq, dp = self.last.Jq @ dz, self.last.momenta(dz) + self.last.gather(dP)
        return (dq, dp) if direct is None else (dq + direct.dq, dp + direct.dp)

    def jacobians(self) -> tuple[FloatArray, FloatArray]:
        """(A, B) of `leastaction.linearize`, for controls that are held over the step."""
        n, nu = self.n, self.parts.stepper.mechanism.nu
        eye = np.eye(2 * n + nu)
        nodes = len(self.parts.stepper.control_nodes)
        du = np.broadcast_to(eye[2 * n :], (nodes, nu, 2 * n + nu))
        W = np.vstack(self.forward(eye[:n], eye[n : 2 * n], du))
        return W[:, : 2 * n], W[:, 2 * n :]

    def backward(self, bq: FloatArray, bp: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Gradients (by q, by p, by the controls at the nodes) from those by (q', p')."""
        bz = self.last.Jq.T @ bq + self.last.momenta_transposed(bp)
        bP = self.last.move(bp)
        more, bP = self.last.project_transposed(bP)
        bx = self.maps[-1].right.T @ bP if self.held else np.zeros_like(bP)
        bz, bP, bu = backward(self.parts, self.maps, bz + more, np.zeros_like(bP) if self.held else bP, bx)
        by_p = self.first.spread_transposed(bP)
        return self.first.gather(bz - self.first.momenta_transposed(by_p)), by_p, bu


def backward(parts: Parts, maps: list[StepMap], bz: Any, bP: Any, bx: Any, first: Any = None) -> tuple[Any, Any, Any]:
    """Pull gradients by (z, P) at the end and by the velocities of the last part back to the start.

    Args:
        first: gradient by the velocities of the first part.
    """
    nodes = len(parts.stepper.control_nodes)
    bu = np.zeros((nodes, parts.stepper.mechanism.nu))
    for j in range(len(maps) - 1, -1, -1):
        if j == 0 and first is not None:
            bx = bx + first
        bz, bP, start, end = maps[j].backward(bz, bP, bx)
        bu[min(j, nodes - 1)] += start
        bu[min(j + 1, nodes - 1)] += end
        bx = np.zeros_like(bx)
    return bz, bP, bu


def backpropagate(stepper: Any, run: Any, dq: FloatArray, dp: FloatArray, u: FloatArray) -> tuple[FloatArray, ...]:
    """Gradient of an objective of a whole run; see `leastaction.derivatives.backpropagate`.

    What a run carries from step to step are the poses and momenta of the bodies.
    """
    parts = Parts(stepper)
    gradient = np.zeros((run.steps, len(stepper.control_nodes), stepper.mechanism.nu))
    pending: Any = None
    after: list[StepMap] | None = None
    for k in range(run.steps, 0, -1):
        at = parts.start(run.q[0], run.p[0]) if k == 1 else state_of(parts, run, k - 1)
        if after is None or len(stepper.table.movers) > 1:
            parts.plan(at.Z)
        maps = parts.run(at, u[k - 1])
        last, end = maps[-1], maps[-1].solved.end
        momenta, weights = what_was_read(stepper, last, None if after is None else after[0])
        pose = parts.poses(end, last)
        pose.hold(momenta, stepper.loops and weights[0] == 1.0)
        by_momenta = pose.move(dp[k])
        bz, bP = np.zeros_like(by_momenta), np.zeros_like(by_momenta)
        if after is not None:
            bz, bP, gradient[k] = backward(parts, after, *pending, first=weights[2] * (after[0].left.T @ by_momenta))
        bz = bz + pose.Jq.T @ dq[k] + pose.momenta_transposed(dp[k])
        if stepper.loops and weights[0] == 0.0:
            pose = parts.poses(end, last)
            pose.hold(end.P, True)
        more, bP = pose.project_transposed(bP + weights[0] * by_momenta)
        pending, after = (bz + more, bP, weights[1] * (last.right.T @ by_momenta)), maps
    if after is None:
        return dq[0].copy(), dp[0].copy(), gradient
    bz, bP, gradient[0] = backward(parts, after, *pending)
    pose = parts.poses(after[0].solved.start, after[0])
    pose.hold(after[0].solved.start.P, False)
    by_p = pose.spread_transposed(bP)
    return pose.gather(bz - pose.momenta_transposed(by_p)) + dq[0], by_p + dp[0], gradient


def state_of(parts: Parts, run: Any, k: int) -> BodyState:
    """State k > 0 of a run, with the velocities of the step before as the guess of the next."""
    Z, before = run.stored["poses"][k], run.stored["poses"][k - 1]
    a, b = before[:, 3:], Z[:, 3:]
    scalar = (a * b).sum(axis=1, keepdims=True)
    turn = a[:, :1] * b[:, 1:] - b[:, :1] * a[:, 1:] - np.cross(a[:, 1:], b[:, 1:])
    w = 2.0 * np.where(scalar < 0.0, -turn, turn) / run.dt
    V = np.hstack([w, (Z[:, :3] - before[:, :3]) / run.dt])
    return BodyState(Z, run.stored["momenta"][k], run.q[k], parts.near(run.q[k]), V)


def what_was_read(stepper: Any, last: StepMap, after: StepMap | None) -> tuple[FloatArray, tuple[float, float, float]]:
    """Momenta that p between two steps was read off, and their shares: carried, before and after the impulses there.

    As `entries.rollout` and `entries.read_mean_momenta` have it; only steps of order 2 with contacts differ.
    """
    carried, minus = last.solved.end.P, last.minus
    if after is not None and after.solved.count and stepper.halves < 1.0:
        bodies, left = stepper.model.bodies, after.plus
        scale = bodies.mass[:, None] * np.hstack(
            [np.repeat(bodies.radius[:, None], 3, axis=1), np.ones((len(left), 3))]
        )
        gravity = float(np.linalg.norm(stepper.mechanism.gravity)) or 1.0
        if not (np.abs(left - minus) > IMPACT * gravity * stepper.dt * scale).any():
            return 0.5 * (minus + left), (0.0, 0.5, 0.5)
    return (minus, (0.0, 1.0, 0.0)) if last.held else (carried, (1.0, 0.0, 0.0))
