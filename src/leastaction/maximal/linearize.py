"""Derivatives of steps and runs of `Maximal`: the maps of `sensitivity` and `pose_map`, chained."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from leastaction.contact.cones import CONE
from leastaction.contact.records import CONTACT
from leastaction.dynamics.legendre import velocity_of_momentum
from leastaction.errors import IntegratorError
from leastaction.integrators import FloatArray
from leastaction.maximal.entries import IMPACT, READ_ALL
from leastaction.maximal.guess import FIRST, LATER
from leastaction.maximal.placement import momenta_of, place
from leastaction.maximal.pose_map import PoseMap
from leastaction.maximal.records import records
from leastaction.maximal.sensitivity import BodyState, Solved, StepMap
from leastaction.maximal.sparse_blocks import momenta_within


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
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # they came when `stepper` was made
                    self.steppers[h] = type(stepper)(plain, stepper.mechanism, h)
                self.steppers[h].acts = stepper.acts
                self.steppers[h]._make_room()

    def start(self, q: FloatArray, p: FloatArray) -> BodyState:
        """Bodies of joint positions and momenta, as at the start of a run."""
        s = self.stepper
        v = velocity_of_momentum(s.mechanism, q[None], p[None])[0]
        Z, twists, rates = place(s.model, q, v)
        # The guess of `MaximalStepper.begin`.
        fast = 0.5 * s.dt * np.linalg.norm(twists[:, :3], axis=1, keepdims=True) > 0.9
        V = np.hstack([np.where(fast, 0.0, twists[:, :3]), twists[:, 3:]])
        return BodyState(Z, momenta_of(s.model, Z, twists, rates), q.copy(), self.near(q), V)

    def near(self, q: FloatArray) -> FloatArray:
        """Coordinates of the joints; zero for those that close loops, and for balls."""
        c = self.stepper.model.coordinates
        return np.where((c.iq >= 0) & (c.kind < 2), q[np.maximum(c.iq, 0)], 0.0)

    def plan(self, at: BodyState) -> None:
        """Lay out which bodies may touch near a state."""
        for s in self.steppers.values():
            if s.contact is not None and len(s.table.movers) > 1:
                s.states.w, s.states.vc = at.V[:, :3], at.V[:, 3:]
                s._plan(at.Z)

    def solve(self, h: float, at: BodyState, u: FloatArray) -> Solved:
        """Solve a part of length h; u: controls at its ends, shape (2, nu)."""
        s = self.steppers[h]
        record = s.record(2)
        record["poses"][1], record["momenta"][1], record["q"][1] = at.Z, at.P, at.q
        s.cstates.value = at.near
        s.states.w, s.states.vc = at.V[:, :3], at.V[:, 3:]
        s.states.x, s.states.slope, s.clock[:] = at.V, 0.0, FIRST
        if at.slope is not None:
            s.states.slope, s.clock[:] = at.slope, (LATER, h)
        s.rowstates.lam, s.rowstates.mu = 0.0, 0.0
        if s.contact is not None:
            s.contact[7][8] = 0.0  # no warm start
            s.contact[0].s = 0.0  # every cone of a step has a slack, so this tells how many there are
        if s.advance(record, 1, 2, u[None] if s.halves < 1.0 else u[None, :1]) < 2:
            raise s.failure(0, record)
        cones, contacts = records(0, CONE), records(0, CONTACT)
        if s.contact is not None:
            cones = s.contact[0][: int(np.count_nonzero(s.contact[0].s > 0.0))].copy()
            contacts = s.contact[1][: int(cones.source.max(initial=-1)) + 1].copy()
        if (cones.rest > 0.0).any():
            raise IntegratorError("Maximal has no derivative of a step in which restitution acts; set restitution to 0")
        cones.side = np.where(cones.source >= 0, cones.rest < 0.0, cones.side)  # see `renew_cones`
        V = np.hstack([s.states.w, s.states.vc])
        if np.abs(at.Z[:, :3] + h * V[:, 3:] - record["poses"][2][:, :3]).max() > 1e-9 * (1.0 + np.abs(at.Z).max()):
            raise IntegratorError("Maximal: this step was divided to be solved, so it has no derivative; lower dt")
        reading = READ_ALL if s.contact is None else int(s.contact[7][6])
        Z, P, q = (np.array(record[name][2]) for name in ("poses", "momenta", "q"))
        end = BodyState(Z, P, q, s.cstates.value.copy(), V)
        return Solved(s, at, V, np.array(u, order="C"), cones, contacts, np.array(s.rowstates.lam), reading, end)

    def run(self, at: BodyState, u: FloatArray) -> list[StepMap]:
        """Solve and differentiate all parts of a step; u: controls at the nodes of the whole step, (nodes, nu)."""
        maps: list[StepMap] = []
        for j, h in enumerate(self.lengths):
            nodes = [0, 0] if self.stepper.halves == 1.0 else [j, j + 1]
            maps.append(StepMap(self.solve(h, at, u[nodes])))
            at = maps[-1].carried
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
        parts.plan(at)
        self.maps = parts.run(at, u)
        last = self.maps[-1]
        self.first = parts.poses(at, self.maps[0])
        self.first.hold(at.P, False)
        self.last = parts.poses(last.carried, last)
        self.held = last.held
        self.last.hold(last.shown if self.held else last.carried.P, parts.stepper.loops and not self.held)
        self.q, self.p = last.carried.q, self.last.p

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
        shown = dP
        for j, step in enumerate(self.maps):
            nodes = (du[0], du[0]) if len(du) == 1 else (du[j], du[j + 1])
            dz, dP, shown = step.forward(dz, dP, nodes, None if direct is None else direct.steps[j])
        dP = self.last.project(dz, shown if self.held else dP, None if direct is None else direct.projection)
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
        zero = np.zeros_like(bP)
        bP, shown = (zero, bP) if self.held else (bP, zero)
        bz, bP, bu = backward(self.parts, self.maps, bz + more, bP, shown, zero)
        by_p = self.first.spread_transposed(bP)
        return self.first.gather(bz - self.first.momenta_transposed(by_p)), by_p, bu


def backward(parts: Parts, maps: list[StepMap], bz: Any, bP: Any, shown: Any, push: Any) -> tuple[Any, Any, Any]:
    """Pull gradients by (z, P, `shown`) at the end of a step and by `push` at its start back to (z, P) and controls."""
    nodes = len(parts.stepper.control_nodes)
    bu = np.zeros((nodes, parts.stepper.mechanism.nu))
    zero = np.zeros_like(bz)
    for j in range(len(maps) - 1, -1, -1):
        bz, bP, start, end = maps[j].backward(bz, bP, shown, push if j == 0 else zero)
        bu[min(j, nodes - 1)] += start
        bu[min(j + 1, nodes - 1)] += end
        shown = zero
    return bz, bP, bu


def backpropagate(stepper: Any, run: Any, dq: FloatArray, dp: FloatArray, u: FloatArray) -> tuple[FloatArray, ...]:
    """Gradient of an objective of a whole run; see `leastaction.derivatives.backpropagate`.

    What a run carries from step to step are the poses and momenta of the bodies. In steps of order 2 with contacts, p
    between two steps has a share of the impulses that cones give in the step after (`entries.read_contact_momenta`).
    """
    parts = Parts(stepper)
    gradient = np.zeros((run.steps, len(stepper.control_nodes), stepper.mechanism.nu))
    pending: Any = None
    after: list[StepMap] | None = None
    for k in range(run.steps, 0, -1):
        at = parts.start(run.q[0], run.p[0]) if k == 1 else state_of(parts, run, k - 1)
        if after is None or len(stepper.table.movers) > 1:
            parts.plan(at)
        maps = parts.run(at, u[k - 1])
        last, end = maps[-1], maps[-1].carried
        carried = parts.poses(end, last)
        P = carried.hold(end.P, stepper.loops)
        share = 0.0 if after is None else share_of(stepper, last, after[0])
        reader, of_shown = carried, after is None and last.held
        if of_shown or (after is not None and share > 0.0):
            reader = parts.poses(end, last)
            reader.hold(last.shown if after is None else P + share * after[0].push, False)
        by_momenta = reader.move(dp[k])
        zero = np.zeros_like(by_momenta)
        bz, bP = zero, zero
        if after is not None:
            bz, bP, gradient[k] = backward(parts, after, *pending, push=share * by_momenta)
        bz = bz + reader.Jq.T @ dq[k] + reader.momenta_transposed(dp[k])
        more, bP = carried.project_transposed(bP if of_shown else bP + by_momenta)
        pending, after = (bz + more, bP, by_momenta if of_shown else zero), maps
    if after is None:
        return dq[0].copy(), dp[0].copy(), gradient
    bz, bP, shown = pending
    bz, bP, gradient[0] = backward(parts, after, bz, bP, shown, np.zeros_like(bz))
    pose = parts.poses(after[0].solved.start, after[0])
    pose.hold(after[0].solved.start.P, False)
    by_p = pose.spread_transposed(bP)
    return pose.gather(bz - pose.momenta_transposed(by_p)) + dq[0], by_p + dp[0], gradient


def state_of(parts: Parts, run: Any, k: int) -> BodyState:
    """State k > 0 of a run, with the velocities of the step before as the guess of the next."""
    Z, V = run.stored["poses"], velocities(run, k)
    slope = (V - velocities(run, k - 1)) / run.dt if k > 1 else None
    return BodyState(Z[k], run.stored["momenta"][k], run.q[k], parts.near(run.q[k]), V, slope)


def velocities(run: Any, k: int) -> FloatArray:
    """Velocities (bodies, 6) of the step that ends in state k > 0 of a run."""
    Z, before = run.stored["poses"][k], run.stored["poses"][k - 1]
    a, b = before[:, 3:], Z[:, 3:]
    scalar = (a * b).sum(axis=1, keepdims=True)
    turn = a[:, :1] * b[:, 1:] - b[:, :1] * a[:, 1:] - np.cross(a[:, 1:], b[:, 1:])
    w = 2.0 * np.where(scalar < 0.0, -turn, turn) / run.dt
    return np.hstack([w, (Z[:, :3] - before[:, :3]) / run.dt])


def share_of(stepper: Any, last: StepMap, after: StepMap) -> float:
    """Share of the cones' impulses in p between two steps: half of them, none at an impact (`entries.is_impact`)."""
    if not after.solved.count or stepper.halves == 1.0:
        return 0.0
    bodies, before, V = stepper.model.bodies, last.solved.V, after.solved.V
    jump = momenta_within(bodies, V, stepper.dt) - momenta_within(bodies, before, -stepper.dt)
    most = IMPACT * (float(np.linalg.norm(stepper.mechanism.gravity)) or 1.0) * stepper.dt
    turned = (np.abs(jump[:, :3]) > most * (bodies.mass * bodies.radius)[:, None]).any()
    return 0.0 if turned or (np.abs(V[:, 3:] - before[:, 3:]) > most).any() else 0.5
