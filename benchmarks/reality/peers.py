"""The cube of `examples/cube_toss.py` in other simulators: each gives the motion at the times of the pictures.

Contact has two numbers in each: friction, and what its makers let users choose of the bounce.
"""

import importlib.util

import numpy as np
from scipy.spatial.transform import Rotation

from examples.cube_toss import GRAVITY, INERTIA

PARTS = 7
"""Steps between two pictures: about 1 ms, since penalty contact needs small ones."""


def world_start(toss):
    """(position, rotation, angular velocity, velocity) in the world."""
    turn = Rotation.from_quat(toss.start[[4, 5, 6, 3]])
    return toss.start[:3], turn, turn.apply(toss.start[7:10]), turn.apply(toss.start[10:])


class Mujoco:
    """MuJoCo's Euler, elliptic cones; `bounce` is the damping ratio of its contacts' springs (1 by default)."""

    module, first = "mujoco", 1.0
    bounds = (0.02, 2.0)

    def __init__(self, dt, edge, mass, friction, bounce):
        import mujoco

        self.mujoco, half = mujoco, 0.5 * edge
        self.model = mujoco.MjModel.from_xml_string(
            f'<mujoco><option timestep="{dt / PARTS!r}" gravity="0 0 {-GRAVITY}" cone="elliptic"/><default>'
            f'<geom solref="0.02 {bounce}" friction="{friction} 0 0"/></default><worldbody>'
            f'<geom type="plane" size="9 9 1"/><body><freejoint/><inertial pos="0 0 0" mass="{mass}" '
            f'diaginertia="{INERTIA} {INERTIA} {INERTIA}"/><geom type="box" size="{half} {half} {half}"/></body>'
            "</worldbody></mujoco>"
        )
        self.data = mujoco.MjData(self.model)

    def motion(self, toss):
        self.mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:] = toss.start[:7]
        _, _, _, v = world_start(toss)
        self.data.qvel[:3], self.data.qvel[3:] = v, toss.start[7:10]
        rows = [self.data.qpos.copy()]
        for _ in range(toss.steps):
            self.mujoco.mj_step(self.model, self.data, nstep=PARTS)
            rows.append(self.data.qpos.copy())
        return np.array(rows)


class PyBullet:
    """Bullet's sequential impulses; `bounce` is its restitution."""

    module, first = "pybullet", 0.0
    bounds = (0.0, 0.8)

    def __init__(self, dt, edge, mass, friction, bounce):
        import pybullet

        self.p = p = pybullet
        self.client = p.connect(p.DIRECT)
        own = {"physicsClientId": self.client}
        p.setGravity(0, 0, -GRAVITY, **own)
        p.setTimeStep(dt / PARTS, **own)
        plane = p.createMultiBody(0, p.createCollisionShape(p.GEOM_PLANE, **own), **own)
        box = p.createCollisionShape(p.GEOM_BOX, halfExtents=[edge / 2] * 3, **own)
        self.cube = p.createMultiBody(mass, box, **own)
        damping = {"linearDamping": 0.0, "angularDamping": 0.0, "localInertiaDiagonal": [INERTIA] * 3}
        p.changeDynamics(self.cube, -1, lateralFriction=friction, restitution=bounce, **damping, **own)
        p.changeDynamics(plane, -1, lateralFriction=1.0, restitution=1.0, **own)

    def motion(self, toss):
        own = {"physicsClientId": self.client}
        x, turn, w, v = world_start(toss)
        self.p.resetBasePositionAndOrientation(self.cube, x.tolist(), turn.as_quat().tolist(), **own)
        self.p.resetBaseVelocity(self.cube, v.tolist(), w.tolist(), **own)
        rows = [toss.start[:7].copy()]
        for _ in range(toss.steps):
            for _ in range(PARTS):
                self.p.stepSimulation(**own)
            at, quaternion = self.p.getBasePositionAndOrientation(self.cube, **own)
            rows.append(np.concatenate([at, np.array(quaternion)[[3, 0, 1, 2]]]))
        return np.array(rows)

    def __del__(self):
        self.p.disconnect(self.client)


class Drake:
    """Drake's discrete plant with point contact at the corners; `bounce` is its Hunt-Crossley dissipation [s/m]."""

    module, first = "pydrake", 1.0
    bounds = (0.0, 20.0)

    def __init__(self, dt, edge, mass, friction, bounce):
        from pydrake.geometry import AddContactMaterial, HalfSpace, ProximityProperties, Sphere
        from pydrake.math import RigidTransform
        from pydrake.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction
        from pydrake.multibody.tree import SpatialInertia, UnitInertia
        from pydrake.systems.framework import DiagramBuilder

        self.dt, builder, tiny = dt, DiagramBuilder(), 1e-4
        self.plant, _ = AddMultibodyPlantSceneGraph(builder, dt / PARTS)
        g = INERTIA / mass
        self.body = self.plant.AddRigidBody("cube", SpatialInertia(mass, np.zeros(3), UnitInertia(g, g, g)))
        material = ProximityProperties()
        AddContactMaterial(bounce, 1e5, CoulombFriction(friction, friction), material)
        for k in range(8):
            corner = (0.5 * edge - tiny) * (2.0 * np.array([k & 1, (k >> 1) & 1, k >> 2]) - 1.0)
            name = f"corner{k}"
            self.plant.RegisterCollisionGeometry(self.body, RigidTransform(corner), Sphere(tiny), name, material)
        ground = ProximityProperties()
        AddContactMaterial(bounce, 1e5, CoulombFriction(friction, friction), ground)
        world = self.plant.world_body()
        self.plant.RegisterCollisionGeometry(world, RigidTransform(), HalfSpace(), "board", ground)
        self.plant.mutable_gravity_field().set_gravity_vector([0, 0, -GRAVITY])
        self.plant.Finalize()
        self.diagram = builder.Build()

    def motion(self, toss):
        from pydrake.systems.analysis import Simulator

        x, _, w, v = world_start(toss)
        simulator = Simulator(self.diagram)
        context = self.plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
        self.plant.SetPositions(context, np.concatenate([toss.start[3:7], x]))
        self.plant.SetVelocities(context, np.concatenate([w, v]))
        simulator.Initialize()
        rows = [toss.start[:7].copy()]
        for k in range(toss.steps):
            simulator.AdvanceTo((k + 1) * self.dt)
            q = self.plant.GetPositions(context)
            rows.append(np.concatenate([q[4:], q[:4]]))
        return np.array(rows)


ALL = {"MuJoCo": Mujoco, "PyBullet": PyBullet, "Drake": Drake}


def installed():
    """({name: class} of those that can be imported, names of the others)."""
    found = {name: peer for name, peer in ALL.items() if importlib.util.find_spec(peer.module)}
    return found, [name for name in ALL if name not in found]
