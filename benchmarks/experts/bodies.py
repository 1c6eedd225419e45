"""Free bodies on the ground in this package and its peers: one scene, poses after every step, contacts on demand.

Shapes are those of `leastaction.mechanism`. Friction is given for pairs; how each engine combines those of two bodies
is undone here. Peers have their default contacts, but for restitution where they know it.
"""

import importlib.util
import time
from dataclasses import dataclass, field

import numpy as np
from scipy.spatial.transform import Rotation

import leastaction as la
from benchmarks.foreign_run import least_time
from benchmarks.races.engines import quiet
from leastaction.mechanism import Box, Capsule, MechanismBuilder, Plane, Sphere

MODULES = {"MuJoCo": "mujoco", "Drake": "pydrake", "PyBullet": "pybullet", "DART": "dartpy"}


@dataclass
class Body:
    """A free body: a shape about its centre of mass, and how it starts, all in the world.

    Attributes:
        shape: Sphere, Box or Capsule. mass [kg]; inertia: principal moments [kg m²], by default those of the solid.
        turn: orientation, quaternion (w, x, y, z).
        velocity [m/s], spin [rad/s].
        force: constant force on the centre of mass [N].
    """

    shape: object
    mass: float
    position: tuple = (0.0, 0.0, 0.0)
    turn: tuple = (1.0, 0.0, 0.0, 0.0)
    velocity: tuple = (0.0, 0.0, 0.0)
    spin: tuple = (0.0, 0.0, 0.0)
    force: tuple = (0.0, 0.0, 0.0)
    inertia: tuple | None = None

    @property
    def moments(self) -> np.ndarray:
        """Principal moments [kg m²], shape (3,)."""
        if self.inertia is not None:
            return np.array(self.inertia, float)
        return np.diag(np.array(self.shape.inertia(mass=self.mass).matrix)[:3, :3])


@dataclass
class Scene:
    """Bodies over the plane z = 0, or without it; `ground_friction`: of pairs with the ground, where it differs."""

    bodies: list[Body]
    friction: float = 0.5
    restitution: float = 0.0
    ground: bool = True
    ground_friction: float | None = None
    gravity: tuple = (0.0, 0.0, -9.81)
    length: float = 0.1
    """Size to compare gaps with [m]."""

    @property
    def on_ground(self) -> float:
        """Friction of pairs with the ground."""
        return self.friction if self.ground_friction is None else self.ground_friction

    @property
    def masses(self) -> np.ndarray:
        """Of all bodies [kg]."""
        return np.array([body.mass for body in self.bodies])


@dataclass
class Walk:
    """What an engine made of a scene: states at the end of each step, the start in front.

    Attributes:
        x: positions [m], (steps + 1, n, 3). turn: rotation matrices, (steps + 1, n, 3, 3).
        v, w: velocities [m/s] and angular velocities in the world [rad/s], (steps + 1, n, 3).
        seconds: CPU time of a step [s]. iterations: most of a step, ours only.
        contacts: for each, (step, first, second, point, normal into the second or None, force on the second, gap);
            bodies by number, -1 the ground; point and gap are those of the end of the step in ours, of its start in
            peers'.
    """

    x: np.ndarray
    turn: np.ndarray
    v: np.ndarray
    w: np.ndarray
    dt: float
    seconds: float
    contacts: list = field(default_factory=list)
    iterations: float = float("nan")


class FailureError(Exception):
    """An engine that did not run a scene; says why."""


def energy(scene: Scene, walk: Walk) -> np.ndarray:
    """Kinetic and potential energy [J] at all states."""
    m, J = scene.masses, np.array([body.moments for body in scene.bodies])
    inner = np.einsum("kbij,kbi->kbj", walk.turn, walk.w)
    moving = 0.5 * np.einsum("b,kbi,kbi->k", m, walk.v, walk.v) + 0.5 * np.einsum("bi,kbi,kbi->k", J, inner, inner)
    return moving - np.einsum("b,kbi,i->k", m, walk.x, np.array(scene.gravity))


def momenta(scene: Scene, walk: Walk) -> tuple[np.ndarray, np.ndarray]:
    """Linear [kg m/s] and angular momentum about the origin [kg m²/s], (steps + 1, 3) each."""
    m, J = scene.masses, np.array([body.moments for body in scene.bodies])
    inner = np.einsum("kbij,kbi->kbj", walk.turn, walk.w)
    spin = np.einsum("kbij,bj,kbj->ki", walk.turn, J, inner)
    return np.einsum("b,kbi->ki", m, walk.v), spin + np.einsum("b,kbi->ki", m, np.cross(walk.x, walk.v))


def rotations(quaternions) -> np.ndarray:
    """Matrices of quaternions (w, x, y, z)."""
    return Rotation.from_quat(np.asarray(quaternions)[..., [1, 2, 3, 0]].reshape(-1, 4)).as_matrix()


def mechanism(scene: Scene):
    """The scene as a mechanism, with q and v of the start."""
    b = MechanismBuilder("scene", gravity=scene.gravity)
    surface = {"friction": scene.friction, "restitution": scene.restitution}
    if scene.ground:
        b.add_shape("world", Plane(**surface))
    q, v = [], []
    for k, body in enumerate(scene.bodies):
        kind = type(body.shape)
        size = {name: getattr(body.shape, name) for name in ("radius", "size", "length") if hasattr(body.shape, name)}
        b.body(f"b{k}", mass=body.mass, inertia=tuple(body.moments), shapes=kind(**size, **surface))
        b.free(f"b{k}")
        if scene.ground and scene.on_ground != scene.friction:
            b.contact_pair(f"b{k}", "world", friction=scene.on_ground, restitution=scene.restitution)
        if any(body.force):
            b.wrench(f"push{k}", f"b{k}", (0.0, 0.0, 0.0, *body.force))
        R = rotations(body.turn)[0]
        q += [*body.position, *body.turn]
        v += [*(R.T @ body.spin), *(R.T @ body.velocity)]
    return b.build(), np.array(q), np.array(v)


def ours(integrator):
    """A runner of one of our integrators."""

    def walk(scene: Scene, dt: float, steps: int, contacts: bool = False) -> Walk:
        robot, q, v = mechanism(scene)
        try:
            la.simulate(robot, q, v, dt=dt, steps=1, integrator=integrator)
            first, _ = least_time(lambda: la.simulate(robot, q, v, dt=dt, steps=1, integrator=integrator))
            whole, run = least_time(lambda: la.simulate(robot, q, v, dt=dt, steps=steps, integrator=integrator))
            spent = whole - first
        except la.LeastActionError as error:
            raise FailureError(f"{type(error).__name__}: {error}".splitlines()[0][:160]) from error
        poses, twists = run.com_poses, run.com_twists
        n = len(scene.bodies)
        turn = rotations(poses[..., 3:]).reshape(-1, n, 3, 3)
        w = np.einsum("kbij,kbj->kbi", turn, twists[..., :3])
        speed = np.einsum("kbij,kbj->kbi", turn, twists[..., 3:])
        found = Walk(poses[..., :3], turn, speed, w, dt, spent / max(steps - 1, 1))
        found.iterations = float(run.iterations.max())
        if contacts:
            for step, first, second, *rest in run.stored["contacts"]:
                row = int(step), int(first), int(second), np.array(rest[:3]), None, np.array(rest[3:6]), rest[6]
                found.contacts.append(row)
        return found

    return walk


class Stepped:
    """What peers have in common: a loop of steps in Python that records states, and one that is timed."""

    def walk(self, scene: Scene, dt: float, steps: int, contacts: bool = False) -> Walk:
        """All states of a run; then its time, where the loop has no records."""
        with quiet():
            self.make(scene, dt)
            rows, touching = [self.state()], []
            began = time.process_time()
            for k in range(steps):
                self.step()
                if contacts:
                    touching += [(k, *row) for row in self.touching()]
                rows.append(self.state())
            spent = time.process_time() - began
            if spent < 2.0:
                self.make(scene, dt)
                began = time.process_time()
                for _ in range(steps):
                    self.step()
                spent = time.process_time() - began
        x, turn, v, w = (np.array([row[i] for row in rows]) for i in range(4))
        if not np.isfinite(x).all():
            raise FailureError(f"not finite from {dt * np.isfinite(x).all(axis=(1, 2)).argmin():.3g} s on")
        return Walk(x, turn, v, w, dt, spent / steps, touching)


class Mujoco(Stepped):
    """MuJoCo with elliptic cones and its default softness; restitution 1 as a spring without damping."""

    def __init__(self, integrator: str):
        self.integrator = integrator

    def make(self, scene, dt):
        import mujoco

        self.m, self.scene = mujoco, scene
        mujoco.set_mju_user_warning(lambda _: None)
        # A spring of half a period of 10 steps bounces; MuJoCo has no coefficient of restitution.
        elastic = f'solref="{-((np.pi / (10.0 * dt)) ** 2)!r} 0"' if scene.restitution == 1.0 else ""
        parts = []
        for body in scene.bodies:
            shape = body.shape
            if isinstance(shape, Sphere):
                skin = f'type="sphere" size="{shape.radius}"'
            elif isinstance(shape, Capsule):
                skin = f'type="capsule" size="{shape.radius} {0.5 * shape.length}"'
            else:
                skin = f'type="box" size="{" ".join(str(0.5 * x) for x in shape.size)}"'
            moments = " ".join(repr(float(x)) for x in body.moments)
            parts.append(
                f'<body><freejoint/><inertial pos="0 0 0" mass="{body.mass}" diaginertia="{moments}"/>'
                f'<geom {skin} friction="{scene.friction} 0 0"/></body>'
            )
        ground = f'<geom type="plane" size="99 99 1" friction="{scene.on_ground} 0 0" priority="1"/>'
        gravity = " ".join(map(str, scene.gravity))
        self.model = mujoco.MjModel.from_xml_string(
            f'<mujoco><option timestep="{dt!r}" integrator="{self.integrator}" gravity="{gravity}" cone="elliptic"/>'
            f"<default><geom condim='3' {elastic}/></default><worldbody>{ground if scene.ground else ''}"
            f"{''.join(parts)}</worldbody></mujoco>"
        )
        self.data = mujoco.MjData(self.model)
        q, v = self.data.qpos.reshape(-1, 7), self.data.qvel.reshape(-1, 6)
        for k, body in enumerate(scene.bodies):
            q[k] = [*body.position, *body.turn]
            v[k] = [*body.velocity, *(rotations(body.turn)[0].T @ body.spin)]
            self.data.xfrc_applied[k + 1, :3] = body.force

    def step(self):
        self.m.mj_step(self.model, self.data)

    def state(self):
        q, v = self.data.qpos.reshape(-1, 7), self.data.qvel.reshape(-1, 6)
        R = rotations(q[:, 3:])
        return q[:, :3].copy(), R, v[:, :3].copy(), np.einsum("bij,bj->bi", R, v[:, 3:])

    def touching(self):
        found, wrench = [], np.zeros(6)
        for i in range(self.data.ncon):
            c = self.data.contact[i]
            self.m.mj_contactForce(self.model, self.data, i, wrench)
            frame = c.frame.reshape(3, 3)
            a, b = (int(self.model.geom_bodyid[g]) - 1 for g in (c.geom1, c.geom2))
            found.append((a, b, c.pos.copy(), frame[0].copy(), frame.T @ wrench[:3], float(c.dist)))
        return found


class PyBullet(Stepped):
    """Bullet's sequential impulses."""

    def make(self, scene, dt):
        import pybullet as p

        self.p, self.scene = p, scene
        p.connect(p.DIRECT) if not p.isConnected() else p.resetSimulation()
        p.setGravity(*scene.gravity)
        p.setTimeStep(dt)
        p.setPhysicsEngineParameter(restitutionVelocityThreshold=1e-3)
        root = np.sqrt(scene.friction)  # Bullet multiplies the coefficients of two bodies
        if scene.ground:
            plane = p.createMultiBody(0, p.createCollisionShape(p.GEOM_PLANE))
            friction = scene.on_ground / root if root > 0.0 else 0.0
            p.changeDynamics(plane, -1, lateralFriction=friction, restitution=np.sqrt(scene.restitution))
        self.bodies = []
        for body in scene.bodies:
            shape = body.shape
            if isinstance(shape, Sphere):
                skin = p.createCollisionShape(p.GEOM_SPHERE, radius=shape.radius)
            elif isinstance(shape, Capsule):
                skin = p.createCollisionShape(p.GEOM_CAPSULE, radius=shape.radius, height=shape.length)
            else:
                skin = p.createCollisionShape(p.GEOM_BOX, halfExtents=[0.5 * x for x in shape.size])
            turn = [*body.turn[1:], body.turn[0]]
            i = p.createMultiBody(body.mass, skin, basePosition=list(body.position), baseOrientation=turn)
            options = {"lateralFriction": root, "restitution": np.sqrt(scene.restitution), "spinningFriction": 0.0}
            options |= {"linearDamping": 0.0, "angularDamping": 0.0, "localInertiaDiagonal": body.moments.tolist()}
            p.changeDynamics(i, -1, activationState=p.ACTIVATION_STATE_DISABLE_SLEEPING, **options)
            p.resetBaseVelocity(i, list(body.velocity), list(body.spin))
            self.bodies.append(i)

    def step(self):
        for i, body in zip(self.bodies, self.scene.bodies, strict=True):
            if any(body.force):
                where = self.p.getBasePositionAndOrientation(i)[0]
                self.p.applyExternalForce(i, -1, list(body.force), where, self.p.WORLD_FRAME)
        self.p.stepSimulation()

    def state(self):
        places = [self.p.getBasePositionAndOrientation(i) for i in self.bodies]
        speeds = [self.p.getBaseVelocity(i) for i in self.bodies]
        x, turn = np.array([a for a, _ in places]), Rotation.from_quat([b for _, b in places]).as_matrix()
        return x, turn, np.array([a for a, _ in speeds]), np.array([b for _, b in speeds])

    def touching(self):
        number, found = {i: k for k, i in enumerate(self.bodies)}, []
        for c in self.p.getContactPoints():
            a, b = number.get(c[1], -1), number.get(c[2], -1)
            normal = np.array(c[7])  # on B towards A
            force = c[9] * normal + c[10] * np.array(c[11]) + c[12] * np.array(c[13])
            found.append((b, a, np.array(c[6]), normal, force, c[8]))
        return found


class Drake(Stepped):
    """Drake's discrete plant with point contact of 1e5 N/m; boxes touch by their corners, and by edges each other."""

    def make(self, scene, dt):
        from pydrake import geometry as g
        from pydrake.math import RigidTransform
        from pydrake.multibody.math import SpatialForce
        from pydrake.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction, ExternallyAppliedSpatialForce
        from pydrake.multibody.tree import SpatialInertia, UnitInertia
        from pydrake.systems.analysis import Simulator
        from pydrake.systems.framework import DiagramBuilder

        self.scene, self.dt, self.count = scene, dt, 0
        builder = DiagramBuilder()
        self.plant, graph = AddMultibodyPlantSceneGraph(builder, dt)
        plant = self.plant
        free = 0.0 if scene.restitution == 1.0 else 1.0

        def material(friction):
            made = g.ProximityProperties()
            g.AddContactMaterial(free, 1e5, CoulombFriction(friction, friction), made)
            return made

        mu, pair = scene.friction, scene.on_ground
        of_ground = pair * mu / (2.0 * mu - pair) if mu > 0.0 else 0.0  # Drake takes the harmonic mean
        blocks, earth, self.bodies = [], [], []
        for k, body in enumerate(scene.bodies):
            unit = UnitInertia(*(body.moments / body.mass))
            mine = plant.AddRigidBody(f"b{k}", SpatialInertia(body.mass, np.zeros(3), unit))
            self.bodies.append(mine)
            shape, tiny = body.shape, 1e-4
            if isinstance(shape, Sphere):
                skins = [(np.zeros(3), g.Sphere(shape.radius))]
            elif isinstance(shape, Capsule):
                skins = [(np.zeros(3), g.Capsule(shape.radius, shape.length))]
            else:
                corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
                skins = [(c, g.Sphere(tiny)) for c in corners * (0.5 * np.array(shape.size) - tiny)]
                skins.append((np.zeros(3), g.Box(*shape.size)))
            for i, (place, skin) in enumerate(skins):
                found = plant.RegisterCollisionGeometry(mine, RigidTransform(place), skin, f"s{i}", material(mu))
                if isinstance(skin, g.Box):
                    blocks.append(found)
        if scene.ground:
            half = g.HalfSpace()
            world, mat = plant.world_body(), material(of_ground)
            earth.append(plant.RegisterCollisionGeometry(world, RigidTransform(), half, "ground", mat))
        if blocks and earth:
            rule = g.CollisionFilterDeclaration().ExcludeBetween(g.GeometrySet(blocks), g.GeometrySet(earth))
            graph.collision_filter_manager().Apply(rule)
        plant.mutable_gravity_field().set_gravity_vector(scene.gravity)
        plant.Finalize()
        self.simulator = Simulator(builder.Build())
        self.root = self.simulator.get_mutable_context()
        self.context = plant.GetMyMutableContextFromRoot(self.root)
        pushes = []
        for mine, body in zip(self.bodies, scene.bodies, strict=True):
            if any(body.force):
                push = ExternallyAppliedSpatialForce()
                push.body_index, push.F_Bq_W = mine.index(), SpatialForce(np.zeros(3), np.array(body.force, float))
                pushes.append(push)
        if pushes:
            plant.get_applied_spatial_force_input_port().FixValue(self.context, pushes)
        q, v = [], []
        for body in scene.bodies:
            q += [*body.turn, *body.position]
            v += [*body.spin, *body.velocity]
        plant.SetPositions(self.context, q)
        plant.SetVelocities(self.context, v)
        self.simulator.Initialize()

    def step(self):
        self.count += 1
        self.simulator.AdvanceTo(self.dt * self.count)

    def state(self):
        q = self.plant.GetPositions(self.context).reshape(-1, 7)
        v = self.plant.GetVelocities(self.context).reshape(-1, 6)
        return q[:, 4:].copy(), rotations(q[:, :4]), v[:, 3:].copy(), v[:, :3].copy()

    def touching(self):
        number = {int(body.index()): k for k, body in enumerate(self.bodies)}
        results, found = self.plant.get_contact_results_output_port().Eval(self.context), []
        for i in range(results.num_point_pair_contacts()):
            c = results.point_pair_contact_info(i)
            a, b = (number.get(int(j), -1) for j in (c.bodyA_index(), c.bodyB_index()))
            normal, gap = -np.array(c.point_pair().nhat_BA_W), -c.point_pair().depth
            found.append((a, b, np.array(c.contact_point()), normal, np.array(c.contact_force()), gap))
        return found


class Dart(Stepped):
    """DART 6: semi-implicit Euler with its boxed linear complementarity problem."""

    def make(self, scene, dt):
        import dartpy as d

        self.d, self.scene = d, scene
        self.world = d.simulation.World()
        self.world.setTimeStep(dt)
        self.world.setGravity(np.array(scene.gravity, float))
        if any(isinstance(body.shape, Capsule) for body in scene.bodies):
            self.world.setCollisionDetector(d.simulation.CollisionDetectorType.BULLET)

        def surface(node, friction):
            node.createCollisionAspect()
            node.createDynamicsAspect()
            node.getDynamicsAspect().setFrictionCoeff(friction)
            node.getDynamicsAspect().setRestitutionCoeff(np.sqrt(scene.restitution))

        self.bodies = []
        for k, body in enumerate(scene.bodies):
            skeleton = d.dynamics.Skeleton(f"b{k}")
            joint, node = skeleton.createFreeJointAndBodyNodePair()
            shape = body.shape
            if isinstance(shape, Sphere):
                skin = d.dynamics.SphereShape(shape.radius)
            elif isinstance(shape, Capsule):
                skin = d.dynamics.CapsuleShape(shape.radius, shape.length)
            else:
                skin = d.dynamics.BoxShape(np.array(shape.size))
            surface(node.createShapeNode(skin), scene.friction)
            J = body.moments
            node.setInertia(d.dynamics.Inertia(body.mass, np.zeros(3), np.diag(J)))
            place = d.math.Isometry3()
            place.set_rotation(rotations(body.turn)[0])
            place.set_translation(np.array(body.position, float))
            joint.setTransform(place)
            joint.setLinearVelocity(np.array(body.velocity, float))
            joint.setAngularVelocity(np.array(body.spin, float))
            self.world.addSkeleton(skeleton)
            self.bodies.append(node)
        if scene.ground:
            ground = d.dynamics.Skeleton("ground")
            _, node = ground.createWeldJointAndBodyNodePair()
            size = 200.0
            skin = node.createShapeNode(d.dynamics.BoxShape(np.array([size, size, 2.0])))
            skin.setRelativeTranslation(np.array([0.0, 0.0, -1.0]))
            surface(skin, scene.on_ground)
            self.world.addSkeleton(ground)

    def step(self):
        for node, body in zip(self.bodies, self.scene.bodies, strict=True):
            if any(body.force):
                node.setExtForce(np.array(body.force, float))
        self.world.step()

    def state(self):
        x, turn, v, w = [], [], [], []
        for node in self.bodies:
            place = node.getWorldTransform()
            x.append(place.translation())
            turn.append(place.rotation())
            v.append(node.getLinearVelocity())
            w.append(node.getAngularVelocity())
        return np.array(x), np.array(turn), np.array(v), np.array(w)

    def touching(self):
        number, found = {f"b{k}": k for k in range(len(self.bodies))}, []
        for c in self.world.getLastCollisionResult().getContacts():
            names = [
                o.getShapeFrame().asShapeNode().getBodyNodePtr().getSkeleton().getName()
                for o in (c.collisionObject1, c.collisionObject2)
            ]
            a, b = (number.get(name, -1) for name in names)
            found.append((b, a, np.array(c.point), np.array(c.normal), np.array(c.force), -c.penetrationDepth))
        return found


def peers() -> dict:
    """Runners of peers that are installed, by name."""
    every = {
        "MuJoCo implicitfast": Mujoco("implicitfast"),
        "MuJoCo discrete": Mujoco("discrete"),
        "Drake": Drake(),
        "PyBullet": PyBullet(),
        "DART": Dart(),
    }
    return {name: peer.walk for name, peer in every.items() if importlib.util.find_spec(MODULES[name.split()[0]])}


def engines() -> dict:
    """All runners by name: ours first."""
    return {"Maximal": ours(la.Maximal()), "Minimal": ours(la.Minimal())} | peers()


def missing() -> list[str]:
    """Peers that are not installed."""
    return [name for name, module in MODULES.items() if importlib.util.find_spec(module) is None]


__all__ = ["Body", "Box", "Capsule", "Scene", "Sphere", "Walk", "energy", "engines", "mechanism", "missing", "momenta"]
