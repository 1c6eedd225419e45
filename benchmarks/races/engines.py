"""One motion in each engine: the same robot from the same state, `count` steps of dt, timed in the engine's own loop.

Every runner has `run()` and `end()`, which gives the positions of all bodies [m] (bodies, 3) after a run: coordinates
differ between engines, places do not. Files of other engines are written by this package's own writers.
"""

import contextlib
import importlib.util
import os
import re
import tempfile
import warnings
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from scipy.spatial.transform import Rotation

import leastaction as la
from benchmarks.rollouts import Rollout

PEERS = {
    "MuJoCo": "mujoco",
    "Pinocchio": "pinocchio",
    "Drake": "pydrake",
    "PyBullet": "pybullet",
    "DART": "dartpy",
}

MUJOCO = ("Euler", "implicitfast", "RK4", "discrete")
"""Its integrators that are raced; `discrete` takes constraints at the end of the step."""

DEEP = 200
"""Bodies from which on MuJoCo's reader of files may find a chain too deep."""


def missing() -> list[str]:
    """Peers that are not installed."""
    return [name for name, module in PEERS.items() if importlib.util.find_spec(module) is None]


def places(robot, q):
    """Where the centres of mass of all bodies are [m]: the frame of a body on a fixed hinge never moves."""
    X = la.dynamics.body_poses(robot, q)
    return X[:, :3, 3] + np.einsum("bij,bj->bi", X[:, :3, :3], centres(robot))


def centres(robot):
    """Centres of mass in the frames of their bodies [m]."""
    return np.array([body.inertia.com for body in robot.bodies])


def text_of(robot, kind):
    """The robot as MJCF ("xml") or URDF ("urdf")."""
    save = la.formats.save_mjcf if kind == "xml" else la.formats.save_urdf
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / f"robot.{kind}"
        save(robot, path, lossy=True)
        return path.read_text(encoding="utf-8")


def single_axes(robot):
    """(name, place in q, place in v) of joints with one axis; all others start at rest and as they are."""
    return [
        (joint.name, robot.coordinate_index(joint.name), robot.velocity_index(joint.name))
        for joint in robot.joints
        if joint.nv == 1
    ]


def coordinates(robot, joint, q):
    """Of one joint."""
    return q[[robot.coordinate_index(name) for name in joint.coordinate_names()]]


def balls(robot, q):
    """(name, quaternion w, x, y, z) of ball joints."""
    return [(joint.name, coordinates(robot, joint, q)) for joint in robot.joints if joint.kind == "spherical"]


class Planned:
    """Runs of ours: the first step plans the run, as peers do when they read a model, and is not timed."""

    rollout: Rollout

    def ready(self):
        self.rollout.stepper.advance(self.rollout.record, 0, 1, self.rollout.controls[:1])

    def race(self):
        self.rollout.stepper.advance(self.rollout.record, 1, self.rollout.steps, self.rollout.controls[1:])

    @property
    def share(self):
        """Of the steps that are timed."""
        return (self.rollout.steps - 1) / self.rollout.steps


class Ours(Planned):
    """One of our integrators."""

    def __init__(self, robot, q, v, dt, count, method):
        self.robot, self.rollout = robot, Rollout(robot, method, q, v, dt, count)
        self.run = self.rollout.run

    def end(self):
        done = self.run()
        return places(self.robot, self.rollout.record["q"][-1]) if done == self.rollout.steps else np.nan


class Mujoco:
    """One of MuJoCo's integrators; `mj_step` runs its loop in C."""

    def __init__(self, robot, q, v, dt, count, integrator, *, constraints=False):
        import mujoco

        mujoco.set_mju_user_warning(lambda _: None)  # coarse steps are unstable, which the errors show
        self.mujoco, self.count, self.names = mujoco, count, robot.body_names
        text = text_of(robot, "xml")
        deep = len(robot.bodies) > DEEP
        self.model = m = deep_model(text) if deep else mujoco.MjModel.from_xml_string(text)
        m.opt.timestep, m.opt.integrator = dt, getattr(mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
        flags = mujoco.mjtDisableBit
        m.opt.disableflags |= flags.mjDSBL_CONTACT | (0 if constraints else flags.mjDSBL_CONSTRAINT)
        self.data = mujoco.MjData(m)
        self.start = np.array(self.data.qpos), np.zeros(m.nv)
        for joint in robot.joints:
            if joint.nv == 0:
                continue
            here, mine = m.joint(joint.name), coordinates(robot, joint, q)
            self.start[0][here.qposadr[0] : here.qposadr[0] + len(mine)] = mine
            if joint.nv == 1:
                self.start[1][here.dofadr[0]] = v[robot.velocity_index(joint.name)]

    def run(self):
        self.mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:], self.data.qvel[:] = self.start
        self.mujoco.mj_step(self.model, self.data, nstep=self.count)

    def end(self):
        self.run()
        self.mujoco.mj_kinematics(self.model, self.data)
        return np.array([self.data.body(name).xipos for name in self.names])


def deep_model(text):
    """MuJoCo's model of a tree of hinges and balls that is deeper than its reader of files goes."""
    import mujoco

    def numbers(element, key, default):
        return [float(x) for x in element.get(key, default).split()]

    root, spec = ElementTree.fromstring(text), mujoco.MjSpec()
    spec.option.gravity = numbers(root.find("option"), "gravity", "0 0 -9.81")
    kinds = {"hinge": mujoco.mjtJoint.mjJNT_HINGE, "ball": mujoco.mjtJoint.mjJNT_BALL}
    todo = [(spec.worldbody, root.find("worldbody"))]
    while todo:
        parent, element = todo.pop()
        for child in element.findall("body"):
            inertial, joint = child.find("inertial"), child.find("joint")
            body = parent.add_body(
                name=child.get("name"), pos=numbers(child, "pos", "0 0 0"), quat=numbers(child, "quat", "1 0 0 0")
            )
            body.explicitinertial, body.mass = True, float(inertial.get("mass"))
            body.ipos, body.inertia = numbers(inertial, "pos", "0 0 0"), numbers(inertial, "diaginertia", "")
            body.iquat = numbers(inertial, "quat", "1 0 0 0")
            body.add_joint(name=joint.get("name"), type=kinds[joint.get("type")], axis=numbers(joint, "axis", "0 0 1"))
            todo.append((body, child))
    return spec.compile()


class Pinocchio:
    """aba with Runge-Kutta of order 4, called from Python; where joints turn commutator-free (Celledoni 2003)."""

    def __init__(self, robot, q, v, dt, count):
        import pinocchio as pin

        from tests.oracles.pinocchio_model import PinocchioModel

        self.pin, self.peer, self.dt, self.count = pin, PinocchioModel(robot), dt, count
        self.start, self.centres = (self.peer.q(q), self.peer.P @ v), centres(robot)
        self.zero, self.flat = np.zeros(robot.nv), self.peer.model.nq == self.peer.model.nv

    def acceleration(self, q, v):
        return self.pin.aba(self.peer.model, self.peer.data, q, v, self.zero).copy()

    def run(self):
        return self.run_flat() if self.flat else self.run_turning()

    def run_flat(self):
        dt, (q, v) = self.dt, self.start
        for _ in range(self.count):
            a1 = self.acceleration(q, v)
            v2 = v + 0.5 * dt * a1
            a2 = self.acceleration(q + 0.5 * dt * v, v2)
            v3 = v + 0.5 * dt * a2
            a3 = self.acceleration(q + 0.5 * dt * v2, v3)
            v4 = v + dt * a3
            a4 = self.acceleration(q + dt * v3, v4)
            q = q + dt / 6.0 * (v + 2.0 * v2 + 2.0 * v3 + v4)
            v = v + dt / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
        return q

    def run_turning(self):
        model, move, dt, (q, v) = self.peer.model, self.pin.integrate, self.dt, self.start
        for _ in range(self.count):
            a1 = self.acceleration(q, v)
            v2 = v + 0.5 * dt * a1
            q2 = move(model, q, 0.5 * dt * v)
            a2 = self.acceleration(q2, v2)
            v3 = v + 0.5 * dt * a2
            a3 = self.acceleration(move(model, q, 0.5 * dt * v2), v3)
            v4 = v + dt * a3
            a4 = self.acceleration(move(model, q2, dt * (v3 - 0.5 * v)), v4)
            q = move(model, q, dt / 12.0 * (3.0 * v + 2.0 * v2 + 2.0 * v3 - v4))
            q = move(model, q, dt / 12.0 * (-v + 2.0 * v2 + 2.0 * v3 + 3.0 * v4))
            v = v + dt / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
        return q

    def end(self):
        q = self.run()
        self.pin.forwardKinematics(self.peer.model, self.peer.data, q)
        places = zip(self.peer.frames, self.centres, strict=True)
        return np.array([(self.peer.data.oMi[i] * X).act(centre) for (i, X), centre in places])


class PinocchioLoops(Pinocchio):
    """constraintDynamics with Baumgarte's stabilisation, points of the loops held together in space."""

    def __init__(self, robot, q, v, dt, count):
        super().__init__(robot.replace(loops=()), q, v, dt, count)
        pin, model = self.pin, self.peer.model
        frames = dict(zip(robot.body_names, self.peer.frames, strict=True))
        self.constraints = pin.StdVec_RigidConstraintModel()
        for a, p, b, r in loop_points(robot):
            (i, X), (j, Y) = frames[a], frames[b]
            ends = X * pin.SE3(np.eye(3), p), Y * pin.SE3(np.eye(3), r)
            held = pin.RigidConstraintModel(
                pin.ContactType.CONTACT_3D, model, i, ends[0], j, ends[1], pin.ReferenceFrame.LOCAL
            )
            held.setBaumgarteCorrectorParameters(pin.BaumgarteCorrectorParameters(100.0, 20.0))
            self.constraints.append(held)
        self.datas = pin.StdVec_RigidConstraintData()
        for held in self.constraints:
            self.datas.append(held.createData())
        self.settings = pin.ProximalSettings(1e-12, 1e-10, 20)
        pin.initConstraintDynamics(model, self.peer.data, self.constraints, self.datas)

    def acceleration(self, q, v):
        return self.pin.constraintDynamics(
            self.peer.model, self.peer.data, q, v, self.zero, self.constraints, self.datas, self.settings
        ).copy()


CENIC_LONGEST = 0.1
"""Longest step that CENIC may choose [s]: Drake's default."""


def cenic_accuracy(dt):
    """What CENIC is asked for where others have steps of dt [s]: its error estimate is of order 2."""
    return min(0.1, dt * dt)


def error_controlled(simulator, dt):
    """Let CENIC run a simulator of Drake's."""
    from pydrake.systems.analysis import ResetIntegratorFromFlags

    integrator = ResetIntegratorFromFlags(simulator, "cenic", CENIC_LONGEST)
    integrator.set_target_accuracy(cenic_accuracy(dt))
    return integrator


class Drake:
    """`MultibodyPlant`: "discrete" with steps of its own, "runge_kutta3" with fixed steps, or "cenic"; all in C++."""

    def __init__(self, robot, q, v, dt, count, scheme):
        from pydrake.multibody.parsing import Parser
        from pydrake.multibody.plant import AddMultibodyPlantSceneGraph
        from pydrake.systems.analysis import ResetIntegratorFromFlags, Simulator
        from pydrake.systems.framework import DiagramBuilder

        tree, builder = robot.replace(loops=()), DiagramBuilder()
        self.plant, _ = plant, _ = AddMultibodyPlantSceneGraph(builder, dt if scheme == "discrete" else 0.0)
        with quiet():
            Parser(plant).AddModelsFromString(drake_text(tree), "urdf")
        self.bodies, self.centres = [plant.GetBodyByName(name) for name in robot.body_names], centres(robot)
        where = dict(zip(robot.body_names, self.bodies, strict=True))
        plant.mutable_gravity_field().set_gravity_vector(np.array(robot.gravity))
        for a, p, b, r in loop_points(robot):
            plant.AddBallConstraint(where[a], p, where[b], r)
        plant.Finalize()
        self.simulator, self.time = Simulator(builder.Build()), dt * count
        self.root = self.simulator.get_mutable_context()
        if scheme == "cenic":
            error_controlled(self.simulator, dt)
        elif scheme != "discrete":
            ResetIntegratorFromFlags(self.simulator, scheme, dt)
            integrator = self.simulator.get_mutable_integrator()
            integrator.set_fixed_step_mode(True)
            integrator.set_maximum_step_size(dt)
        self.context = plant.GetMyMutableContextFromRoot(self.root)
        for name, iq, iv in single_axes(tree):
            joint = plant.GetJointByName(name)
            joint.set_angle(self.context, q[iq])
            joint.set_angular_rate(self.context, v[iv])
        for name, turn in balls(tree, q):
            x, y, z = Rotation.from_quat(turn[[1, 2, 3, 0]]).as_euler("xyz")
            plant.GetJointByName(name).set_angles(self.context, [x, y, z])
        for joint in tree.joints:
            if joint.kind == "free":
                self._float(where[joint.child], coordinates(tree, joint, q))
        self.start = plant.GetPositions(self.context).copy(), plant.GetVelocities(self.context).copy()

    def _float(self, body, pose):
        from pydrake.common.eigen_geometry import Quaternion
        from pydrake.math import RigidTransform, RotationMatrix

        turn = RotationMatrix(Quaternion(wxyz=pose[3:] / np.linalg.norm(pose[3:])))
        self.plant.SetFreeBodyPose(self.context, body, RigidTransform(turn, pose[:3]))

    def run(self):
        self.root.SetTime(0.0)
        self.plant.SetPositions(self.context, self.start[0])
        self.plant.SetVelocities(self.context, self.start[1])
        self.simulator.Initialize()
        self.simulator.AdvanceTo(self.time)

    def end(self):
        self.run()
        pose = self.plant.EvalBodyPoseInWorld
        return np.array([pose(self.context, b) @ c for b, c in zip(self.bodies, self.centres, strict=True)])


class PyBullet:
    """Bullet's multibodies; a step is a call from Python, which takes less than a microsecond of it."""

    def __init__(self, robot, q, v, dt, count):
        import pybullet as p

        self.p, self.count = p, count
        tree = robot.replace(loops=())
        self.client = {"physicsClientId": p.connect(p.DIRECT)}
        p.setGravity(*robot.gravity, **self.client)
        p.setTimeStep(dt, **self.client)
        free = [joint for joint in tree.joints if joint.kind == "free"]
        with tempfile.TemporaryDirectory() as folder, quiet():
            path = Path(folder) / "robot.urdf"
            path.write_text(bullet_text(tree), encoding="utf-8")
            self.body = p.loadURDF(str(path), useFixedBase=not free, flags=p.URDF_USE_INERTIA_FROM_FILE, **self.client)
        infos = [p.getJointInfo(self.body, k, **self.client) for k in range(p.getNumJoints(self.body, **self.client))]
        self.links = {info[12].decode(): k for k, info in enumerate(infos)}
        joints = {info[1].decode(): k for k, info in enumerate(infos)}
        self.links |= {name: -1 for name in robot.body_names if name not in self.links}
        for k in range(-1, len(infos)):
            p.changeDynamics(
                self.body, k, linearDamping=0, angularDamping=0, jointDamping=0, maxJointVelocity=1e6, **self.client
            )
        self.start = [(joints[name], q[iq], v[iv]) for name, iq, iv in single_axes(tree)]
        for k, _, _ in self.start:
            p.setJointMotorControl2(self.body, k, p.VELOCITY_CONTROL, force=0, **self.client)
        self.turns = [(joints[name], turn[[1, 2, 3, 0]].tolist()) for name, turn in balls(tree, q)]
        for k, _ in self.turns:
            p.setJointMotorControlMultiDof(
                self.body, k, p.POSITION_CONTROL, [0, 0, 0, 1], positionGain=0, velocityGain=0, force=[0, 0, 0],
                **self.client,
            )  # fmt: skip
        self.base = None
        if free:
            pose = coordinates(tree, free[0], q)
            self.base = pose[:3].tolist(), pose[[4, 5, 6, 3]].tolist()
            local = p.getDynamicsInfo(self.body, -1, **self.client)[3:5]
            self.base = p.multiplyTransforms(*self.base, *local)
        for a, x, b, y in loop_points(robot):
            centers = [p.getDynamicsInfo(self.body, self.links[name], **self.client)[3] for name in (a, b)]
            p.createConstraint(
                self.body, self.links[a], self.body, self.links[b], p.JOINT_POINT2POINT, [0, 0, 0],
                (x - centers[0]).tolist(), (y - centers[1]).tolist(), **self.client,
            )  # fmt: skip
        self.names = robot.body_names

    def run(self):
        p = self.p
        if self.base is not None:
            p.resetBasePositionAndOrientation(self.body, *self.base, **self.client)
            p.resetBaseVelocity(self.body, [0, 0, 0], [0, 0, 0], **self.client)
        for k, q, v in self.start:
            p.resetJointState(self.body, k, q, v, **self.client)
        for k, turn in self.turns:
            p.resetJointStateMultiDof(self.body, k, turn, [0, 0, 0], **self.client)
        for _ in range(self.count):
            p.stepSimulation(**self.client)

    def end(self):
        self.run()
        rows = []
        for name in self.names:
            k = self.links[name]
            if k >= 0:
                rows.append(self.p.getLinkState(self.body, k, computeForwardKinematics=1, **self.client)[0])
            else:
                rows.append(self.p.getBasePositionAndOrientation(self.body, **self.client)[0])
        return np.array(rows)


def loop_points(robot):
    """(body, point of it, other body, point of that) for each loop [m]."""
    found = []
    for joint in robot.loops:
        inverse = -joint.child_pose.rotation.T @ np.array(joint.child_pose.position)
        found.append((joint.parent, np.array(joint.pose.position), joint.child, inverse))
    return found


def bullet_text(robot):
    """URDF with ball joints as Bullet spells them, and the floating body as its root."""
    text = text_of(robot, "urdf").replace('type="ball"', 'type="spherical"')
    if any(joint.kind == "free" for joint in robot.joints):
        text = re.sub(r'<joint [^>]*type="floating".*?</joint>', "", text, flags=re.DOTALL)
        text = text.replace('<link name="world"/>', "", 1)
    return text


def drake_text(robot):
    """URDF with ball joints as Drake spells them."""
    text = re.sub(
        r'<joint( [^>]*type="ball".*?)</joint>',
        r"<drake:joint\1</drake:joint>",
        text_of(robot, "urdf"),
        flags=re.DOTALL,
    )
    return text.replace("<robot ", '<robot xmlns:drake="http://drake.mit.edu" ', 1)


@contextlib.contextmanager
def quiet():
    """Without what libraries print while they read files."""
    kept, nowhere = [os.dup(1), os.dup(2)], os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        yield
    finally:
        for k, descriptor in zip((1, 2), kept, strict=True):
            os.dup2(descriptor, k)
            os.close(descriptor)
        os.close(nowhere)
