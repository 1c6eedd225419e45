"""Maximal coordinates: every body by its own pose and twist, joints as constraints (Sueda 2021, 1.8 and 1.10 to 1.13).

Maximal coordinates are reduced coordinates of another mechanism, in which every body is free and every joint closes a
loop: then J_mr is the unit matrix, M is block diagonal and the step with loops is the KKT system (1.88). So this file
only takes a mechanism apart and puts its states together again; the steps are those of `ConstrainedEuler`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from leastaction.dynamics import api
from leastaction.errors import ConvergenceError, IntegratorError
from leastaction.integrators import PENALTIES, Integrator, Stepper
from leastaction.linear_implicit.constrained_euler import ConstrainedEuler
from leastaction.linear_implicit.joint_coordinates import joint_coordinates, joint_motion
from leastaction.mechanism import Joint, Mechanism, Pose
from leastaction.mechanism.arguments import FloatArray
from leastaction.mechanism.joints import free
from leastaction.mechanism.pose import quaternion_of_matrix
from leastaction.mechanism.pose_arrays import carried
from leastaction.record import Record


def taken_apart(mechanism: Mechanism) -> Mechanism:
    """The same mechanism in maximal coordinates: every body free, every joint a constraint.

    Its q are poses of the body frames in the world, its v their twists in the body frames. Bodies keep their order.
    """
    for coupling in mechanism.couplings:
        raise IntegratorError(f"maximal coordinates have no joint angles for the coupling {coupling.name!r}")
    for joint in mechanism.joints:
        if any(joint.armature):
            raise IntegratorError(f"joint {joint.name!r}: maximal coordinates have no place for an armature")
    bodies = [Joint(f"pose of {b.name}", "free", "world", b.name, (free(),)) for b in mechanism.bodies]
    ties = [replace(j, loop=True) for j in (*mechanism.joints, *mechanism.loops) if j.kind != "free"]
    return mechanism.replace(joints=tuple(bodies), loops=tuple(ties), actuators=())


class MaximalMap:
    """Between the reduced coordinates of a mechanism and the maximal ones of it `taken_apart`."""

    def __init__(self, mechanism: Mechanism, apart: Mechanism) -> None:
        self.mechanism, self.apart = mechanism, apart
        self.order = [apart.body_index(name) for name in mechanism.body_names]
        self.placements = [(np.linalg.inv(j.pose.matrix), np.linalg.inv(j.child_pose.matrix)) for j in mechanism.joints]

    def poses(self, q: FloatArray) -> FloatArray:
        """Maximal positions of reduced ones, shape (7 bodies,)."""
        out = np.zeros((len(self.order), 7))
        for i, X in zip(self.order, api.body_poses(self.mechanism, q), strict=True):
            out[i, :3], out[i, 3:] = X[:3, 3], quaternion_of_matrix(X[:3, :3])
        return out.ravel()

    def twists(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Maximal velocities of reduced ones, shape (6 bodies,)."""
        out = np.zeros((len(self.order), 6))
        out[self.order] = api.body_twists(self.mechanism, q, v)
        return out.ravel()

    def reduced(self, poses: FloatArray, twists: FloatArray, guess: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Reduced positions (nq,) and velocities (nv,) of maximal ones; `guess` are positions near them."""
        m = self.mechanism
        X = np.zeros((len(self.order) + 1, 4, 4)) + np.eye(4)  # the last one is the world
        V = np.zeros((len(self.order) + 1, 6))
        for i, k in enumerate(self.order):
            row = poses[7 * k : 7 * k + 7]
            X[i] = Pose(tuple(row[:3].tolist()), tuple((row[3:] / np.linalg.norm(row[3:])).tolist())).matrix
            V[i] = twists[6 * k : 6 * k + 6]
        q, v, iq, iv = guess.copy(), np.zeros(m.nv), 0, 0
        for i, (joint, (place, child)) in enumerate(zip(m.joints, self.placements, strict=True)):
            p = m.parents[i]
            E = place @ np.linalg.inv(X[p]) @ X[i] @ child
            q[iq : iq + joint.nq] = joint_coordinates(joint, E, q[iq : iq + joint.nq])
            if joint.nv:
                # Both twists in the moved frame of the joint.
                at = X[i] @ child
                relative = _seen_from(at, X[i], V[i]) - _seen_from(at, X[p], V[p])
                S = joint_motion(joint, q[iq : iq + joint.nq])[1]
                v[iv : iv + joint.nv] = np.linalg.lstsq(S, relative, rcond=None)[0]
            iq, iv = iq + joint.nq, iv + joint.nv
        return q, v

    def wrenches(self, q: FloatArray, tau: FloatArray) -> FloatArray:
        """Wrenches on the bodies, each in its own frame, of forces in the joints; shape (6 bodies,)."""
        m = self.mechanism
        X = np.concatenate([api.body_poses(m, q), np.eye(4)[None]])
        out = np.zeros((len(self.order) + 1, 6))
        iq = iv = 0
        for i, (joint, (_, child)) in enumerate(zip(m.joints, self.placements, strict=True)):
            f = tau[iv : iv + joint.nv]
            if f.any():
                S = joint_motion(joint, q[iq : iq + joint.nq])[1]
                W = np.linalg.pinv(S).T @ f  # of all wrenches with this power the smallest
                at = X[i] @ child
                out[self.order[i]] += _carried_to(X[i], at, W)
                if m.parents[i] >= 0:
                    out[self.order[m.parents[i]]] -= _carried_to(X[m.parents[i]], at, W)
            iq, iv = iq + joint.nq, iv + joint.nv
        return out[:-1].ravel()


def _seen_from(at: FloatArray, X: FloatArray, V: FloatArray) -> FloatArray:
    """The twist V, given in the frame X, in the frame `at`."""
    E = np.linalg.inv(at) @ X
    w = E[:3, :3] @ V[:3]
    return np.concatenate([w, E[:3, :3] @ V[3:] + np.cross(E[:3, 3], w)])


def _carried_to(X: FloatArray, at: FloatArray, W: FloatArray) -> FloatArray:
    """The wrench W, given in the frame `at`, in the frame X."""
    E = np.linalg.inv(X) @ at
    f = E[:3, :3] @ W[3:]
    return np.concatenate([E[:3, :3] @ W[:3] + np.cross(E[:3, 3], f), f])


class _MaximalStepper(Stepper):
    acts = frozenset({"contacts"})
    control_nodes = (1.0,)

    def __init__(self, integrator: Any, mechanism: Mechanism, dt: float) -> None:
        super().__init__(integrator, mechanism, dt)
        self.apart = taken_apart(mechanism)
        self.map = MaximalMap(mechanism, self.apart)
        shared = {
            name: getattr(integrator, name)
            for name in ("stabilization", "baumgarte", "friction", "qp", "self_collision")
        }
        self.inner: Any = ConstrainedEuler(**shared).prepare(self.apart, dt)

    def record(self, steps: int) -> Record:
        """q and v, the frames and twists of the bodies that they come from, and what the steps tell."""
        inner = self.inner.record(steps)
        return super().record(steps) | {"body_frames": inner.q, "body_twists": inner.v, **inner.extras}

    def advance(self, record: Record, first: int, last: int, u: FloatArray) -> int:
        """See `Stepper.advance`."""
        m = self.mechanism
        self.inner.start_time = self.start_time
        inner = Record(record["body_frames"], v=record["body_twists"], extras=record.extras)
        for k in range(first, last):
            q, v = record["q"][k], record["v"][k]
            if k == 0:
                inner["q"][0], inner["v"][0] = self.map.poses(q), self.map.twists(q, v)
            control = u[k - first, 0]
            tau = m.generalized_forces(control, q) if control.any() else np.zeros(m.nv)
            wrenches = self.map.wrenches(q, tau)
            if self.inner.advance(inner, k, k + 1, wrenches[None, None]) <= k:
                return k
            record["q"][k + 1], record["v"][k + 1] = self.map.reduced(inner["q"][k + 1], inner["v"][k + 1], q)
        return last

    def finish(self, record: Record) -> None:
        """See `Stepper.finish`."""
        self.inner.finish(record)
        frames = record["body_frames"].reshape(len(record.q), -1, 7)[:, self.map.order]
        record.poses = np.stack(
            [carried(frames[:, i], Pose(b.inertia.com)) for i, b in enumerate(self.mechanism.bodies)], axis=1
        )
        if "contacts" in record:
            names = [*self.apart.body_names, "world"]
            index = np.array([self.mechanism.body_index(name) for name in names])
            record["contacts"][:, 1:3] = index[record["contacts"][:, 1:3].astype(int)]

    def failure(self, step: int, record: Record) -> ConvergenceError:
        """The error of the step that failed."""
        return self.inner.failure(step, record)


@dataclass(frozen=True)
class MaximalEuler(Integrator):
    """Euler steps in maximal coordinates, joints by a KKT system, order 1 (Sueda 2021, 1.28, 1.88, 1.95, 1.103).

    The run also holds `stored["body_frames"]`, 7 numbers per body (position, quaternion), and `stored["body_twists"]`,
    6 per body in its own frame; q and v are recovered from them. Joint limits do not act.

    Attributes:
        stabilization: "baumgarte", "post" or "none": against the drift of the joints (1.12).
        baumgarte: rate gamma at which violations are taken back [1/s]; 1/dt at most.
        friction: "none", or "single_qp" for friction of contacts in a single quadratic program (1.13).
        qp: solver of quadratic programs: "auto", "daqp" or "piqp".
        self_collision: whether shapes of bodies touch each other too, not only the ground.
    """

    stabilization: str = "baumgarte"
    baumgarte: float = 5.0
    friction: str = "none"
    qp: str = "auto"
    self_collision: bool = False
    handles: ClassVar[frozenset[str]] = PENALTIES - {"limit spring of joint"}
    stepper_class: ClassVar[Any] = _MaximalStepper

    def __post_init__(self) -> None:
        ConstrainedEuler(stabilization=self.stabilization, baumgarte=self.baumgarte, friction=self.friction, qp=self.qp)
