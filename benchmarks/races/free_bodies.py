"""Boxes and balls on a plane in engines with contact: the runners of `engines`, for scenes of free bodies."""

from dataclasses import dataclass

import numpy as np

from benchmarks.races import engines
from leastaction.mechanism import Box, MechanismBuilder, Plane, Sphere

GRAVITY = 9.81


@dataclass
class Scene:
    """Equal boxes (edge [m]) or balls (radius [m]) of 1 kg, upright, with velocities (count, 3) [m/s]."""

    kind: str
    size: float
    friction: float
    positions: np.ndarray
    velocities: np.ndarray

    @property
    def inertia(self) -> float:
        return self.size**2 / 6.0 if self.kind == "box" else 0.4 * self.size**2


class Runner:
    """What all have in common: `walk` gives positions (steps + 1, count, 3), `end` what `measure` makes of them."""

    def __init__(self, scene, dt, count, measure):
        self.scene, self.dt, self.count, self.measure = scene, dt, count, measure

    def end(self):
        return self.measure(self.scene, self.walk())


class Ours(engines.Planned, Runner):
    """One of our integrators."""

    def __init__(self, scene, dt, count, measure, method):
        super().__init__(scene, dt, count, measure)
        b, n = MechanismBuilder("scene"), len(scene.positions)
        for k in range(n):
            surface = {"friction": scene.friction}
            skin = Box((scene.size,) * 3, **surface) if scene.kind == "box" else Sphere(scene.size, **surface)
            b.body(f"b{k}", mass=1.0, inertia=scene.inertia, shapes=skin)
            b.free(f"b{k}")
        b.add_shape("world", Plane(friction=scene.friction))
        q, v = np.zeros((n, 7)), np.zeros((n, 6))
        q[:, :3], q[:, 3], v[:, 3:] = scene.positions, 1.0, scene.velocities
        self.rollout = engines.Rollout(b.build(), method, q.ravel(), v.ravel(), dt, count)
        self.run = self.rollout.run

    def walk(self):
        done = self.run()
        if done < self.count:
            return np.full((1, len(self.scene.positions), 3), np.nan)
        return self.rollout.record["q"].reshape(self.count + 1, -1, 7)[:, :, :3]


class Mujoco(Runner):
    """MuJoCo with its default softness of contacts and elliptic cones."""

    def __init__(self, scene, dt, count, measure, integrator):
        import mujoco

        super().__init__(scene, dt, count, measure)
        self.mujoco, half = mujoco, 0.5 * scene.size
        skin = (
            f'type="box" size="{half} {half} {half}"' if scene.kind == "box" else f'type="sphere" size="{scene.size}"'
        )
        body = (
            f'<body><freejoint/><inertial pos="0 0 0" mass="1" diaginertia="{3 * f"{scene.inertia} "}"/>'
            f"<geom {skin}/></body>"
        )
        self.model = mujoco.MjModel.from_xml_string(
            f'<mujoco><option timestep="{dt!r}" integrator="{integrator}" gravity="0 0 {-GRAVITY}" cone="elliptic"/>'
            f'<default><geom friction="{scene.friction} 0 0"/></default><worldbody>'
            f'<geom type="plane" size="9 9 1"/>{len(scene.positions) * body}</worldbody></mujoco>'
        )
        self.data = mujoco.MjData(self.model)

    def reset(self):
        self.mujoco.mj_resetData(self.model, self.data)
        q, v = self.data.qpos.reshape(-1, 7), self.data.qvel.reshape(-1, 6)
        q[:, :3], q[:, 3:], v[:, :3] = self.scene.positions, [1, 0, 0, 0], self.scene.velocities

    def run(self):
        self.reset()
        self.mujoco.mj_step(self.model, self.data, nstep=self.count)

    def walk(self):
        self.reset()
        rows = [self.scene.positions]
        for _ in range(self.count):
            self.mujoco.mj_step(self.model, self.data)
            rows.append(self.data.qpos.reshape(-1, 7)[:, :3].copy())
        return np.array(rows)


class PyBullet(Runner):
    """Bullet's sequential impulses."""

    def __init__(self, scene, dt, count, measure):
        import pybullet as p

        super().__init__(scene, dt, count, measure)
        self.p, self.client = p, {"physicsClientId": p.connect(p.DIRECT)}
        p.setGravity(0, 0, -GRAVITY, **self.client)
        p.setTimeStep(dt, **self.client)
        plane = p.createMultiBody(0, p.createCollisionShape(p.GEOM_PLANE, **self.client), **self.client)
        p.changeDynamics(plane, -1, lateralFriction=1.0, **self.client)
        size = {"halfExtents": 3 * [0.5 * scene.size]} if scene.kind == "box" else {"radius": scene.size}
        skin = p.createCollisionShape(p.GEOM_BOX if scene.kind == "box" else p.GEOM_SPHERE, **size, **self.client)
        self.bodies = [p.createMultiBody(1.0, skin, **self.client) for _ in scene.positions]
        for body in self.bodies:
            inertia = 3 * [scene.inertia]
            # Bullet multiplies the frictions of two bodies.
            friction = scene.friction if scene.kind == "box" else np.sqrt(scene.friction)
            p.changeDynamics(
                body, -1, linearDamping=0, angularDamping=0, lateralFriction=friction, localInertiaDiagonal=inertia,
                **self.client,
            )  # fmt: skip

    def reset(self):
        for body, x, v in zip(self.bodies, self.scene.positions, self.scene.velocities, strict=True):
            self.p.resetBasePositionAndOrientation(body, x.tolist(), [0, 0, 0, 1], **self.client)
            self.p.resetBaseVelocity(body, v.tolist(), [0, 0, 0], **self.client)

    def run(self):
        self.reset()
        for _ in range(self.count):
            self.p.stepSimulation(**self.client)

    def walk(self):
        self.reset()
        rows = [self.scene.positions]
        for _ in range(self.count):
            self.p.stepSimulation(**self.client)
            rows.append([self.p.getBasePositionAndOrientation(body, **self.client)[0] for body in self.bodies])
        return np.array(rows)


class Drake(Runner):
    """Drake's plant with point contact of stiffness 1e5 N/m and its default dissipation, "discrete" or by "cenic"."""

    def __init__(self, scene, dt, count, measure, scheme):
        from pydrake import geometry as g
        from pydrake.math import RigidTransform
        from pydrake.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction
        from pydrake.multibody.tree import SpatialInertia, UnitInertia
        from pydrake.systems.analysis import Simulator
        from pydrake.systems.framework import DiagramBuilder

        super().__init__(scene, dt, count, measure)
        builder = DiagramBuilder()
        self.plant, _ = AddMultibodyPlantSceneGraph(builder, dt if scheme == "discrete" else 0.0)
        material = g.ProximityProperties()
        g.AddContactMaterial(1.0, 1e5, CoulombFriction(scene.friction, scene.friction), material)
        unit, tiny = UnitInertia(*3 * [scene.inertia]), 1e-4
        corners = (0.5 * scene.size - tiny) * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        for k in range(len(scene.positions)):
            body = self.plant.AddRigidBody(f"b{k}", SpatialInertia(1.0, np.zeros(3), unit))
            skins = (
                [(np.zeros(3), g.Sphere(scene.size))]
                if scene.kind == "ball"
                else [(c, g.Sphere(tiny)) for c in corners]
            )
            for i, (place, skin) in enumerate(skins):
                self.plant.RegisterCollisionGeometry(body, RigidTransform(place), skin, f"skin{i}", material)
        world = self.plant.world_body()
        self.plant.RegisterCollisionGeometry(world, RigidTransform(), g.HalfSpace(), "ground", material)
        self.plant.mutable_gravity_field().set_gravity_vector([0, 0, -GRAVITY])
        self.plant.Finalize()
        self.simulator = Simulator(builder.Build())
        if scheme == "cenic":
            engines.error_controlled(self.simulator, dt)
        self.root = self.simulator.get_mutable_context()
        self.context = self.plant.GetMyMutableContextFromRoot(self.root)

    def reset(self):
        n = len(self.scene.positions)
        q, v = np.zeros((n, 7)), np.zeros((n, 6))
        q[:, 0], q[:, 4:], v[:, 3:] = 1.0, self.scene.positions, self.scene.velocities
        self.root.SetTime(0.0)
        self.plant.SetPositions(self.context, q.ravel())
        self.plant.SetVelocities(self.context, v.ravel())
        self.simulator.Initialize()

    def run(self):
        self.reset()
        self.simulator.AdvanceTo(self.dt * self.count)

    def walk(self):
        self.reset()
        rows = [self.scene.positions]
        for k in range(self.count):
            self.simulator.AdvanceTo(self.dt * (k + 1))
            rows.append(self.plant.GetPositions(self.context).reshape(-1, 7)[:, 4:].copy())
        return np.array(rows)


class Dart(Runner):
    """DART with a boxed LCP, its default."""

    def __init__(self, scene, dt, count, measure):
        import dartpy as dart

        from benchmarks.races.dart import skin

        super().__init__(scene, dt, count, measure)
        self.world, self.joints = dart.simulation.World(), []
        self.world.setGravity([0.0, 0.0, -GRAVITY])
        self.world.setTimeStep(dt)
        self.world.getConstraintSolver().setCollisionDetector(dart.collision.BulletCollisionDetector())
        ground = dart.dynamics.Skeleton("ground")
        _, floor = ground.createWeldJointAndBodyNodePair()
        skin(floor, dart.dynamics.BoxShape([20.0, 20.0, 1.0]), 1.0).setRelativeTranslation([0.0, 0.0, -0.5])
        self.world.addSkeleton(ground)
        shape = (
            dart.dynamics.BoxShape(3 * [scene.size]) if scene.kind == "box" else dart.dynamics.SphereShape(scene.size)
        )
        for k in range(len(scene.positions)):
            body = dart.dynamics.Skeleton(f"b{k}")
            joint, node = body.createFreeJointAndBodyNodePair()
            node.setInertia(dart.dynamics.Inertia(1.0, np.zeros(3), scene.inertia * np.eye(3)))
            skin(node, shape, scene.friction)  # of two bodies the lesser friction acts
            self.world.addSkeleton(body)
            self.joints.append(joint)

    def reset(self):
        for joint, x, v in zip(self.joints, self.scene.positions, self.scene.velocities, strict=True):
            joint.setPositions(np.concatenate([np.zeros(3), x]))
            joint.setVelocities(np.concatenate([np.zeros(3), v]))

    def run(self):
        self.reset()
        for _ in range(self.count):
            self.world.step()

    def walk(self):
        self.reset()
        rows = [self.scene.positions]
        for _ in range(self.count):
            self.world.step()
            rows.append([joint.getPositions()[3:] for joint in self.joints])
        return np.array(rows)


def contenders(methods, measure):
    """{name: make(scene, _, _, dt, count)}; Pinocchio has no contacts of its own."""
    found = {name: (lambda s, q, v, dt, n, m=m: Ours(s, dt, n, measure, m)) for name, m in methods.items()}
    found |= {
        f"MuJoCo {kind}": (lambda s, q, v, dt, n, k=kind: Mujoco(s, dt, n, measure, k)) for kind in engines.MUJOCO
    }
    found |= {
        f"Drake {label}": (lambda s, q, v, dt, n, k=scheme: Drake(s, dt, n, measure, k))
        for label, scheme in (("discrete", "discrete"), ("CENIC", "cenic"))
    }
    found["PyBullet"] = lambda s, q, v, dt, n: PyBullet(s, dt, n, measure)
    found["DART"] = lambda s, q, v, dt, n: Dart(s, dt, n, measure)
    gone = engines.missing()
    return {name: make for name, make in found.items() if name.split()[0] not in gone}
