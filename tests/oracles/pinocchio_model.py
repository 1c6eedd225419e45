"""The same mechanism in Pinocchio, built from the description (not from our compiled arrays)."""

from typing import Self

import numpy as np
import pinocchio as pin

from leastaction.mechanism import Mechanism
from leastaction.mechanism.joints import Motion


def _se3(pose):
    return pin.SE3(pose.rotation, np.array(pose.position))


# Pinocchio's joints about a coordinate axis, which are faster than those about any axis.
_ALIGNED = {
    Motion.REVOLUTE: (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ),
    Motion.PRISMATIC: (pin.JointModelPX, pin.JointModelPY, pin.JointModelPZ),
    Motion.SCREW: (pin.JointModelHX, pin.JointModelHY, pin.JointModelHZ),
}
_UNALIGNED = {
    Motion.REVOLUTE: pin.JointModelRevoluteUnaligned,
    Motion.PRISMATIC: pin.JointModelPrismaticUnaligned,
    Motion.SCREW: pin.JointModelHelicalUnaligned,
}


def _joint_model(primitive):
    if primitive.motion == Motion.SPHERICAL:
        return pin.JointModelSpherical()
    if primitive.motion == Motion.FREE:
        return pin.JointModelFreeFlyer()
    pitch = (primitive.pitch,) if primitive.motion == Motion.SCREW else ()
    if sorted(primitive.axis) == [0.0, 0.0, 1.0]:
        return _ALIGNED[primitive.motion][primitive.axis.index(1.0)](*pitch)
    return _UNALIGNED[primitive.motion](np.array(primitive.axis), *pitch)


class PinocchioModel:
    """Pinocchio's model and data of a mechanism's tree, with maps between its coordinates and ours."""

    def __init__(self, mechanism: Mechanism):
        model = pin.Model()
        model.gravity.linear = np.array(mechanism.gravity)
        place = {"world": (0, pin.SE3.Identity())}
        joints, frames = [], []
        for body, joint in zip(mechanism.bodies, mechanism.joints, strict=True):
            parent, X = place[joint.parent]
            X = X * _se3(joint.pose)
            for k, primitive in enumerate(joint.primitives):
                parent = model.addJoint(parent, _joint_model(primitive), X, f"{joint.name}/{k}")
                joints.append(parent)
                X = pin.SE3.Identity()
            X = X * _se3(joint.child_pose)
            place[body.name] = (parent, X)
            inertia = pin.Inertia(body.inertia.mass, np.array(body.inertia.com), body.inertia.matrix)
            model.appendBodyToJoint(parent, inertia, X)
            frames.append((parent, X))
        self._set(mechanism, model, joints, frames)

    @classmethod
    def from_urdf(cls, path, mechanism: Mechanism, *, floating_base: bool) -> Self:
        """Pinocchio's own reading of the file of `mechanism`; joints and links are matched by name."""
        root = (pin.JointModelFreeFlyer(),) if floating_base else ()
        model = pin.buildModelFromUrdf(str(path), *root)
        joints = []
        for joint in mechanism.joints:
            assert joint.nv <= 1 or joint.kind == "free"
            if joint.kind != "fixed":
                joints.append(model.getJointId("root_joint" if joint.kind == "free" else joint.name))
        assert sorted(joints) == list(range(1, model.njoints))
        named = [model.frames[model.getFrameId(name, pin.BODY)] for name in mechanism.body_names]
        peer = cls.__new__(cls)
        peer._set(mechanism, model, joints, [(frame.parentJoint, frame.placement) for frame in named])
        return peer

    def _set(self, mechanism, model, joints, frames):
        """`joints`: Pinocchio's index of each primitive; `frames`: (joint, placement) of each body."""
        self.model, self.frames = model, frames
        self.ours = []
        iq = iv = 0
        primitives = [p for joint in mechanism.joints for p in joint.primitives]
        for index, primitive in zip(joints, primitives, strict=True):
            self.ours.append((index, primitive.motion, iq, iv))
            iq, iv = iq + primitive.nq, iv + primitive.nv
        # P maps our velocity to Pinocchio's (which orders free joints linear first): v_pin = P v.
        self.P = np.zeros((model.nv, mechanism.nv))
        for index, motion, _, k in self.ours:
            i = model.joints[index].idx_v
            if motion == Motion.FREE:
                self.P[i : i + 3, k + 3 : k + 6] = np.eye(3)
                self.P[i + 3 : i + 6, k : k + 3] = np.eye(3)
            else:
                n = model.joints[index].nv
                self.P[i : i + n, k : k + n] = np.eye(n)
        model.armature = self.P @ mechanism.tree.dofs.armature
        self.data = model.createData()

    def q(self, q):
        """Our q in Pinocchio's order."""
        out = pin.neutral(self.model)
        for index, motion, k, _ in self.ours:
            i = self.model.joints[index].idx_q
            if motion == Motion.SPHERICAL:
                out[i : i + 4] = [*q[k + 1 : k + 4], q[k]]
            elif motion == Motion.FREE:
                out[i : i + 7] = [*q[k : k + 3], *q[k + 4 : k + 7], q[k + 3]]
            elif self.model.joints[index].nq == 2:  # an unbounded hinge is a point on the circle
                out[i : i + 2] = np.cos(q[k]), np.sin(q[k])
            else:
                out[i] = q[k]
        return out

    def mass_matrix(self, q):
        """M in our coordinates."""
        M = pin.crba(self.model, self.data, self.q(q))
        M = np.triu(M) + np.triu(M, 1).T
        return self.P.T @ M @ self.P

    def inverse_dynamics(self, q, v, a):
        """Generalised forces in our coordinates."""
        return self.P.T @ pin.rnea(self.model, self.data, self.q(q), self.P @ v, self.P @ a)

    def forward_dynamics(self, q, v, tau):
        """Accelerations in our coordinates."""
        return self.P.T @ pin.aba(self.model, self.data, self.q(q), self.P @ v, self.P @ tau)

    def inverse_dynamics_derivatives(self, q, v, a):
        """(dtau/dq, dtau/dv) in our coordinates."""
        dq, dv, _ = pin.computeRNEADerivatives(self.model, self.data, self.q(q), self.P @ v, self.P @ a)
        return self.P.T @ dq @ self.P, self.P.T @ dv @ self.P

    def forward_dynamics_derivatives(self, q, v, tau):
        """(da/dq, da/dv, da/dtau) in our coordinates."""
        three = pin.computeABADerivatives(self.model, self.data, self.q(q), self.P @ v, self.P @ tau)
        full = three[2]
        full = np.triu(full) + np.triu(full, 1).T
        return tuple(self.P.T @ x @ self.P for x in (three[0], three[1], full))

    def body_poses(self, q):
        """(bodies, 4, 4)."""
        pin.forwardKinematics(self.model, self.data, self.q(q))
        return np.array([(self.data.oMi[i] * X).homogeneous for i, X in self.frames])

    def energies(self, q, v):
        """(kinetic without armatures, potential) [J]."""
        vp = self.P @ v
        T = pin.computeKineticEnergy(self.model, self.data, self.q(q), vp)
        V = pin.computePotentialEnergy(self.model, self.data, self.q(q))
        return T, V

    def center_of_mass(self, q):
        """Of all bodies [m], shape (3,); Pinocchio itself leaves out those that are welded to the world."""
        welded = self.model.inertias[0]
        if self.model.nv == 0:
            return welded.lever
        moving = pin.centerOfMass(self.model, self.data, self.q(q))
        mass = self.data.mass[0]
        return (mass * moving + welded.mass * welded.lever) / (mass + welded.mass)

    def momentum(self, q, v):
        """Spatial momentum about the world's origin (angular, linear), shape (6,)."""
        h = pin.computeCentroidalMomentum(self.model, self.data, self.q(q), self.P @ v)
        com = pin.centerOfMass(self.model, self.data, self.q(q))
        return np.concatenate([h.angular + np.cross(com, h.linear), h.linear])
