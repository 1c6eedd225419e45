"""Derivatives of steps and runs of `Maximal`: the maps of `sensitivity` and `pose_map`, chained."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from leastaction.integrators import FloatArray
from leastaction.maximal.derivatives.replay import Parts, Replay
from leastaction.maximal.derivatives.sensitivity import StepMap
from leastaction.maximal.derivatives.sparse_blocks import momenta_within
from leastaction.maximal.step.judgement import IMPACT


class OneStep:
    """Derivative of a whole step (q, p, u) -> (q', p').

    Attributes:
        q, p: at the end.
        after: the step after, in which contacts give impulses; None if it does not count.
        share: share of these impulses in p.
        carried, last: joints and bodies at the end, with the momenta carried on and with those that p is read off.
    """

    def __init__(self, parts: Parts, q: FloatArray, p: FloatArray, u: FloatArray) -> None:
        self.parts, self.n = parts, parts.stepper.mechanism.nv
        at = parts.start(q, p)
        parts.plan(at)
        self.maps = parts.run(at, u, parts.divided(q, p, u))
        last = self.maps[-1]
        self.first = parts.poses(at, self.maps[0])
        self.first.hold(at.P, self.maps[0].bounces)
        self.guessed = guessed(parts)
        end = last.carried
        self.last = self.carried = parts.poses(end, last)
        P = self.carried.hold(end.P, parts.stepper.loops)
        self.after = parts.ahead(replace(end, P=P), u)
        self.share = 0.0 if self.after is None else share_of(parts.stepper, last, self.after)
        if self.after is not None:
            self.last = parts.poses(end, last)
            self.last.hold(P + self.share * self.after.push, False)
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
            dV = self.guessed * self.first.velocities(dz, dP, None if direct is None else direct.velocities)
        for j, step in enumerate(self.maps):
            dz, dP, dV, _ = step.forward(dz, dP, dV, du, None if direct is None else direct.steps[j])
        dP = self.carried.project(dz, dP, None if direct is None else direct.projection)
        if self.after is not None:
            dP = dP + self.share * self.after.forward(dz, dP, dV, du, None if direct is None else direct.after)[3]
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
        zero = np.zeros_like(bP)
        bV, held = zero, 0.0
        if self.after is not None:
            *more, bV, held = backward(self.parts, [self.after], zero, zero, zero, self.share * bP)
            bz, bP = bz + more[0], bP + more[1]
        more, bP = self.carried.project_transposed(bP)
        *bars, bu = backward(self.parts, self.maps, bz + more, bP, bV, zero)
        return *to_joints(self.parts, self.first, *bars), bu + held


def guessed(parts: Parts) -> FloatArray:
    """1 for velocities (6 bodies, 1) that a run starts with, 0 for spins that are not guessed."""
    return np.where(np.arange(6) < 3, ~parts.fast, True).astype(float).reshape(-1, 1)


def to_joints(parts: Parts, first: Any, bz: Any, bP: Any, bV: Any) -> tuple[FloatArray, FloatArray]:
    """Gradients by the initial (q, p) from those by poses, momenta and velocities there; `first` is a `PoseMap`."""
    if first.projection is not None:
        by_pose, by_momenta = first.velocities_transposed(guessed(parts)[:, 0] * bV)
        bz, bP = bz + by_pose, bP + by_momenta
    by_p = first.spread_transposed(bP)
    return first.gather(bz - first.momenta_transposed(by_p)), by_p


def backward(parts: Parts, maps: list[StepMap], bz: Any, bP: Any, bV: Any, push: Any) -> tuple[Any, ...]:
    """Pull gradients back over a step to (z, P, V) at its start and to the controls at its nodes.

    Args:
        bz, bP, bV: by poses, momenta and velocities at the end of the step.
        push: by `push` at its start.
    """
    bu = np.zeros((len(parts.stepper.control_nodes), parts.stepper.mechanism.nu))
    zero = np.zeros_like(bz)
    for j in range(len(maps) - 1, -1, -1):
        bz, bP, bV, start, end = maps[j].backward(bz, bP, bV, push if j == 0 else zero)
        bu[maps[j].solved.nodes[0]] += start
        bu[maps[j].solved.nodes[1]] += end
    return bz, bP, bV, bu


def backpropagate(stepper: Any, run: Any, dq: FloatArray, dp: FloatArray, u: FloatArray) -> tuple[FloatArray, ...]:
    """Gradient of an objective of a whole run; see `leastaction.derivatives.backpropagate`.

    What a run carries from step to step are the poses and momenta of the bodies, and their velocities, which
    restitution looks at. In steps of order 2 with contacts, p between two steps has a share of the impulses that cones
    give in the step after (`joint_momenta.read_contact_momenta`), also at the end (`MaximalStepper.finish`).
    """
    parts = Parts(stepper)
    replay = Replay(parts, run, u)
    gradient = np.zeros((run.steps, len(stepper.control_nodes), stepper.mechanism.nu))
    pending: Any = None
    after: list[StepMap] = []
    for k in range(run.steps, 0, -1):
        maps = replay.step(k - 1)
        last, end = maps[-1], maps[-1].carried
        carried = parts.poses(end, last)
        P = carried.hold(end.P, stepper.loops)
        if k == run.steps:
            ahead = parts.ahead(replace(end, P=P), u[k - 1])
            after = [] if ahead is None else [ahead]
        share = share_of(stepper, last, after[0]) if after else 0.0
        reader = carried
        if share > 0.0:
            reader = parts.poses(end, last)
            reader.hold(P + share * after[0].push, False)
        by_momenta = reader.move(dp[k])
        bz, bP, bV = pending if k < run.steps else (np.zeros_like(by_momenta),) * 3
        if after:
            bz, bP, bV, by_controls = backward(parts, after, bz, bP, bV, share * by_momenta)
            gradient[min(k, run.steps - 1)] += by_controls
        bz = bz + reader.Jq.T @ dq[k] + reader.momenta_transposed(dp[k])
        more, bP = carried.project_transposed(bP + by_momenta)
        pending, after = (bz + more, bP, bV), maps
    if not after:
        return dq[0].copy(), dp[0].copy(), gradient
    bz, bP, bV = pending
    *bars, by_controls = backward(parts, after, bz, bP, bV, np.zeros_like(bz))
    gradient[0] += by_controls
    pose = parts.poses(after[0].solved.start, after[0])
    pose.hold(after[0].solved.start.P, after[0].bounces)
    by_q, by_p = to_joints(parts, pose, *bars)
    return by_q + dq[0], by_p + dp[0], gradient


def share_of(stepper: Any, last: StepMap, after: StepMap) -> float:
    """Share of the cones' impulses in p between two steps: half of them, none at an impact (`judgement.is_impact`)."""
    if not after.solved.count or stepper.halves == 1.0:
        return 0.0
    bodies, before, V = stepper.model.bodies, last.solved.V, after.solved.V
    dt = after.solved.stepper.dt
    jump = momenta_within(bodies, V, dt) - momenta_within(bodies, before, -dt)
    most = IMPACT * (float(np.linalg.norm(stepper.mechanism.gravity)) or 1.0) * dt
    turned = (np.abs(jump[:, :3]) > most * (bodies.mass * bodies.radius)[:, None]).any()
    return 0.0 if turned or (np.abs(V[:, 3:] - before[:, 3:]) > most).any() else 0.5
