"""Maximal coordinates: every body by its own pose and twist, joints as constraints (Sueda 2021, 1.8 and 1.10 to 1.13).

Maximal coordinates are reduced coordinates of another mechanism, in which every body is free and every joint closes a
loop: then J_mr is the unit matrix, M is block diagonal and the step with loops is the KKT system (1.88). So this file
only takes a mechanism apart and puts its states together again.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from leastaction.dynamics import api
from leastaction.errors import IntegratorError, MechanismError
from leastaction.mechanism import Joint, Mechanism, Pose, Servo
from leastaction.mechanism.arguments import FloatArray, configuration, robot, state_vector, tangent
from leastaction.mechanism.drives.tendons import drives_tendon
from leastaction.mechanism.joints import free
from leastaction.mechanism.pose import quaternion_of_matrix
from leastaction.redmax.linear_implicit.maximal_coordinates.joint_coordinates import joint_coordinates, joint_motion


def taken_apart(mechanism: Mechanism) -> Mechanism:
    """The same mechanism in maximal coordinates: every body free, every joint a constraint.

    Its q are poses of the body frames in the world, its v their twists in the body frames. Bodies keep their order.
    """
    for coupling in robot(mechanism).couplings:
        raise IntegratorError(f"maximal coordinates have no joint angles for the coupling {coupling.name!r}")
    for actuator in mechanism.actuators:
        if isinstance(actuator, Servo) and drives_tendon(mechanism, actuator):
            raise IntegratorError(f"maximal coordinates know no feedback along a tendon, which {actuator.name!r} has")
    for joint in mechanism.joints:
        if any(joint.armature):
            raise IntegratorError(f"joint {joint.name!r}: maximal coordinates have no place for an armature")
    bodies = [Joint(f"pose of {b.name}", "free", "world", b.name, (free(),)) for b in mechanism.bodies]
    ties = [replace(j, loop=True) for j in (*mechanism.driven_joints, *mechanism.loops) if j.kind != "free"]
    paths = tuple(t for t in mechanism.tendons if t.via)
    return mechanism.replace(joints=tuple(bodies), loops=tuple(ties), actuators=(), tendons=paths)


class MaximalMap:
    """Between the reduced coordinates of a mechanism and the maximal ones of it `taken_apart`."""

    def __init__(self, mechanism: Mechanism, apart: Mechanism) -> None:
        self.mechanism, self.apart = robot(mechanism), robot(apart)
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
        poses = state_vector(m, poses, 7 * len(self.order), "poses")
        twists = state_vector(m, twists, 6 * len(self.order), "twists")
        guess = configuration(m, guess)
        if not (np.linalg.norm(poses.reshape(-1, 7)[:, 3:], axis=1) > 0.5).all():
            raise MechanismError("poses: their quaternions must have unit norm")
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
        q, tau = configuration(m, q), tangent(m, tau, "tau")
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
