"""The same mechanism in Pinocchio, built joint by joint from the description (not from our compiled arrays)."""

import numpy as np
import pinocchio as pin

from leastaction.mechanism import Mechanism
from leastaction.mechanism.joints import Motion


def _se3(pose):
    return pin.SE3(pose.rotation, np.array(pose.position))


def _joint_model(primitive):
    axis = np.array(primitive.axis)
    if primitive.motion == Motion.REVOLUTE:
        return pin.JointModelRevoluteUnaligned(axis)
    if primitive.motion == Motion.PRISMATIC:
        return pin.JointModelPrismaticUnaligned(axis)
    if primitive.motion == Motion.SCREW:
        return pin.JointModelHelicalUnaligned(axis, primitive.pitch)
    if primitive.motion == Motion.SPHERICAL:
        return pin.JointModelSpherical()
    return pin.JointModelFreeFlyer()


class PinocchioModel:
    """Pinocchio's model and data of a mechanism's tree, with maps between its coordinates and ours."""

    def __init__(self, mechanism: Mechanism):
        model = pin.Model()
        model.gravity.linear = np.array(mechanism.gravity)
        place = {"world": (0, pin.SE3.Identity())}
        self.frames, self.ours_v, self.ours_q = [], [], []
        iq = iv = 0
        armature = {}
        for body, joint in zip(mechanism.bodies, mechanism.joints, strict=True):
            parent, X = place[joint.parent]
            X = X * _se3(joint.placement)
            jv = 0
            for k, primitive in enumerate(joint.primitives):
                parent = model.addJoint(parent, _joint_model(primitive), X, f"{joint.name}/{k}")
                self.ours_q.append((parent, primitive.motion, iq))
                self.ours_v.append((parent, primitive.motion, iv))
                for d in range(primitive.nv):
                    armature[iv + d] = joint.armature[jv + d]
                iq, iv, jv, X = iq + primitive.nq, iv + primitive.nv, jv + primitive.nv, pin.SE3.Identity()
            X = X * _se3(joint.child_placement)
            place[body.name] = (parent, X)
            inertia = pin.Inertia(body.inertia.mass, np.array(body.inertia.com), body.inertia.matrix)
            model.appendBodyToJoint(parent, inertia, X)
            self.frames.append((parent, X))
        self.model = model
        self.nv = mechanism.nv
        # P maps our velocity to Pinocchio's (which orders free joints linear first): v_pin = P v.
        self.P = np.zeros((model.nv, mechanism.nv))
        for index, motion, k in self.ours_v:
            i = model.joints[index].idx_v
            if motion == Motion.FREE:
                self.P[i : i + 3, k + 3 : k + 6] = np.eye(3)
                self.P[i + 3 : i + 6, k : k + 3] = np.eye(3)
            else:
                n = model.joints[index].nv
                self.P[i : i + n, k : k + n] = np.eye(n)
        model.armature = self.P @ np.array([armature[k] for k in range(mechanism.nv)])
        self.data = model.createData()

    def q(self, q):
        """Our q in Pinocchio's order."""
        out = pin.neutral(self.model)
        for index, motion, k in self.ours_q:
            i = self.model.joints[index].idx_q
            if motion == Motion.SPHERICAL:
                out[i : i + 4] = [*q[k + 1 : k + 4], q[k]]
            elif motion == Motion.FREE:
                out[i : i + 7] = [*q[k : k + 3], *q[k + 4 : k + 7], q[k + 3]]
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
        """(kinetic, potential) [J]; armatures are added by hand, Pinocchio leaves them out of the kinetic energy."""
        vp = self.P @ v
        T = pin.computeKineticEnergy(self.model, self.data, self.q(q), vp)
        V = pin.computePotentialEnergy(self.model, self.data, self.q(q))
        return T, V

    def center_of_mass(self, q):
        """[m], shape (3,)."""
        return pin.centerOfMass(self.model, self.data, self.q(q))

    def momentum(self, q, v):
        """Centroidal momentum (angular, linear)."""
        h = pin.computeCentroidalMomentum(self.model, self.data, self.q(q), self.P @ v)
        return np.concatenate([h.angular, h.linear])
