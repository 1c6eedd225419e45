"""The pendulum of `leastaction.robots.pendulum` in MuJoCo, without contacts, constraints and damping."""

import mujoco
import numpy as np

# Coarse steps are unstable, which the errors show; the default is to write a log file where Python runs.
mujoco.set_mju_user_warning(lambda _: None)


def model(links, integrator, dt, *, mass=1.0, length=1.0, radius=0.02):
    """MuJoCo's model of a pendulum of uniform thin rods; hinges about y."""
    across, along = mass * length**2 / 12.0, 0.5 * mass * radius**2
    body = (
        '<body pos="0 0 {z}"><joint type="hinge" axis="0 1 0"/>'
        f'<inertial pos="0 0 {-0.5 * length}" mass="{mass}" diaginertia="{across} {across} {along}"/>'
    )
    bodies = "".join(body.format(z=0.0 if k == 0 else -length) for k in range(links)) + links * "</body>"
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{dt!r}" integrator="{integrator}" gravity="0 0 -9.81">'
        '<flag contact="disable" constraint="disable"/></option>'
        f"<worldbody>{bodies}</worldbody></mujoco>"
    )


class Chain:
    """One MuJoCo run from (q, v)."""

    def __init__(self, links, integrator, dt, q, v):
        self.model = model(links, integrator, dt)
        self.data = mujoco.MjData(self.model)
        self.start = np.array(q), np.array(v)
        self.reset()

    def reset(self):
        """Back to the start."""
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:], self.data.qvel[:] = self.start

    def run(self, steps):
        """Steps in MuJoCo's own loop, without a return to Python."""
        mujoco.mj_step(self.model, self.data, nstep=steps)

    def samples(self, count, every):
        """(q, v) at the start and then `count` times `every` steps."""
        self.reset()
        q, v = [self.data.qpos.copy()], [self.data.qvel.copy()]
        for _ in range(count):
            self.run(every)
            q.append(self.data.qpos.copy())
            v.append(self.data.qvel.copy())
        return np.array(q), np.array(v)
