"""MuJoCo's answers in our coordinates."""

import mujoco
import numpy as np

from leastaction.mechanism.pose import rotation_matrix


class MujocoState:
    """A MuJoCo model at a random state; velocities and forces are mapped to ours.

    MuJoCo's qvel of a free joint is (linear in the world, angular in the body), ours the twist (angular,
    linear) in the body: qvel = T(q) v, and forces map with the transpose of T.
    """

    def __init__(self, path, robot, seed):
        self.model = mujoco.MjModel.from_xml_path(str(path))
        self.data = mujoco.MjData(self.model)
        rng = np.random.default_rng(seed)
        assert (self.model.nq, self.model.nv) == (robot.nq, robot.nv)
        self.q = robot.random_configuration(rng)
        self.v = rng.normal(size=robot.nv)
        self.data.qpos[:] = self.q
        self.T = np.eye(robot.nv)
        # The part of d(T v)/dt that comes from the change of T.
        self.drift = np.zeros(robot.nv)
        iq = iv = 0
        for joint in robot.joints:
            if joint.kind == "free":
                R = rotation_matrix(self.q[iq + 3 : iq + 7])
                block = np.zeros((6, 6))
                block[:3, 3:], block[3:, :3] = R, np.eye(3)
                self.T[iv : iv + 6, iv : iv + 6] = block
                omega, linear = self.v[iv : iv + 3], self.v[iv + 3 : iv + 6]
                self.drift[iv : iv + 3] = R @ np.cross(omega, linear)
            iq, iv = iq + joint.nq, iv + joint.nv
        self.data.qvel[:] = self.T @ self.v
        mujoco.mj_forward(self.model, self.data)

    def _their_mass_matrix(self):
        M = np.zeros((self.model.nv, self.model.nv))
        for k, column in enumerate(np.eye(self.model.nv)):
            mujoco.mj_mulM(self.model, self.data, M[k], column)
        return M

    def mass_matrix(self):
        return self.T.T @ self._their_mass_matrix() @ self.T

    def bias_forces(self):
        """Forces at a = 0, where d(qvel)/dt = d(T v)/dt is the drift."""
        return self.T.T @ (self._their_mass_matrix() @ self.drift + self.data.qfrc_bias)

    def passive_forces(self):
        return self.T.T @ self.data.qfrc_passive

    def control_forces(self, u):
        self.data.ctrl[:] = u
        mujoco.mj_forward(self.model, self.data)
        return self.T.T @ self.data.qfrc_actuator

    def equality_residuals(self):
        return self.data.efc_pos[self.data.efc_type == int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)]
