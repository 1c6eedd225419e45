"""SimBenchmark's robots: ANYmal held by springs, hit in free flight, dropped elastically; Atlas; beside peers."""

import importlib.util
import math
import tempfile
import time
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import leastaction as la
from benchmarks.experts import bodies
from benchmarks.experts.simbenchmark import claim
from benchmarks.foreign_run import depth, least_time
from benchmarks.menagerie import installed_mujoco, written_model
from benchmarks.races.engines import bullet_text, quiet
from benchmarks.report import Report, Sheet
from leastaction.mechanism import Box, Plane, Sphere

CROWD = (1, 9, 49)
PATIENCE = 8.0
"""CPU time of a run [s]; what takes longer is cut, and says so."""

FAR = 1e3
"""Where no body gets that moves by the laws of these scenes [m]."""

KP, KD = 40.0, 1.0
LEGS = ("LF", "RF", "LH", "RH")

NOTES = """ANYmal: the file of `example-robot-data`, its feet and a box for its trunk as collision shapes; Unitree's \
A1 of the catalogue if that package is not installed. PD: kp 40, kd 1, dt = 5 ms, 1 to 49 robots in one scene, 1 s; \
ours and MuJoCo use their servos, PyBullet gets torques. Momentum: no gravity, no motors, hit by a ball of 10 kg at 5 \
m/s, 10 s of 1 ms: largest change of linear and angular momentum relative to that of the ball (angular momentum: \
relative to that times 1 m). Energy: dropped from 2 m with e = 1 and without friction and motors, 2 s of 1 ms: \
relative to the energy at the start. MuJoCo has no coefficient of restitution; its contacts are undamped springs here. \
Atlas: dropped by 5 cm with springs in its joints (kp 500, kd 5), dt = 0.5 ms, 1 s. Times are CPU times of a step of \
the whole scene; peers are called from Python."""


def anymal() -> tuple[Any, str]:
    """A quadruped with balls as feet, its joints without limits and friction, and its name."""
    try:
        named = [
            f
            for f in files("example-robot-data") or ()
            if str(f).endswith("anymal_b_simple_description/robots/anymal.urdf")
        ]
    except PackageNotFoundError:
        named = []
    if not named:
        return la.robots.unitree_a1(), "A1"
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of meshes for display
        robot = la.load(str(named[0].locate()), floating_base=True)
    return robot, "ANYmal"


def bare(robot: Any, friction: float, restitution: float) -> Any:
    """The robot with a box and four feet that touch, and no losses in its joints; nothing touches itself."""
    surface = {"friction": friction, "restitution": restitution}
    kept = []
    for k, body in enumerate(robot.bodies):
        shapes: tuple = ()
        if k == 0:
            shapes = (Box((0.5, 0.25, 0.15), **surface),)
        else:
            shapes = tuple(
                replace(s, collision=True, **surface) for s in body.shapes if isinstance(s, Sphere) and s.collision
            )
        kept.append(replace(body, shapes=shapes))
    free = {"lower": -math.inf, "upper": math.inf} | dict.fromkeys(("damping", "friction", "stiffness"), 0.0)
    joints = tuple(
        joint if joint.nv != 1 else replace(joint, **{key: (x,) for key, x in free.items()}) for joint in robot.joints
    )
    made = robot.replace(bodies=tuple(kept), joints=joints, contacts=(), actuators=())
    builder = made.edit()
    for point in robot.contacts:
        builder.add_shape(point.body, Sphere(0.02, pose=la.mechanism.Pose(point.point), **surface))
    names = made.body_names
    for k in range(len(names) - 1):
        builder.exclude_contact(*names[k:])
    return builder.build()


def stance(robot: Any) -> dict[str, float]:
    """Joint angles that it stands with [rad]."""
    names = robot.velocity_names
    if "LF_HFE" in names:
        sides = {"F": 1.0, "H": -1.0}
        return {f"{leg}_{j}": sides[leg[1]] * x for leg in LEGS for j, x in (("HFE", 0.4), ("KFE", -0.8))}
    q = la.robots.home(robot)
    return {j.name: float(q[robot.coordinate_index(j.name)]) for j in robot.joints if j.nv == 1}


def single(robot: Any) -> list[str]:
    """Joints with one axis."""
    return [j.name for j in robot.joints if j.nv == 1]


@dataclass
class Task:
    """A robot (or several), how it starts, targets of its servos, and what it stands on.

    Attributes:
        text: the one robot, for engines that read URDF files; count: how many of them.
        q, v: the start. kp, kd: of springs that hold q, 0 for none.
        ball: a body of `bodies` that flies, or None.
        points: (x, y) of each robot.
    """

    robot: Any
    one: Any
    q: np.ndarray
    v: np.ndarray
    kp: float = 0.0
    kd: float = 0.0
    ball: Any = None
    ground: bool = True
    friction: float = 0.8
    restitution: float = 0.0
    places: list = field(default_factory=lambda: [(0.0, 0.0)])
    height: float = 0.0


def task(
    one: Any, posture: dict[str, float], *, count=1, height=0.0, kp=0.0, kd=0.0, ball=None, ground=True, friction=0.8,
    restitution=0.0,
) -> Task:  # fmt: skip
    """Copies of a robot in a grid, `height` above the ground, with servos that hold their posture."""
    gravity = (0.0, 0.0, -9.81 if ground else 0.0)
    one = one.replace(gravity=gravity)
    q1 = one.home()
    for name, x in posture.items():
        q1[one.coordinate_index(name)] = x
    free = next(j for j in one.joints if j.kind == "free")
    if ground:
        builder = one.edit()
        builder.add_shape("world", Plane(friction=friction, restitution=restitution))
        q1 = la.robots.on_ground(builder.build(), q1, clearance=height)
    side = math.ceil(math.sqrt(count))
    places = [(1.5 * (k % side), 1.5 * (k // side)) for k in range(count)]
    scene = la.MechanismBuilder("scene", gravity=gravity)
    if ground:
        scene.add_shape("world", Plane(friction=friction, restitution=restitution))
    home: dict[str, float] = {}
    for k, (x, y) in enumerate(places):
        prefix = f"r{k}/"
        scene.attach(one, prefix=prefix)
        values = dict(zip(one.coordinate_names, map(float, q1), strict=True))
        values[f"{free.name}.x"] += x
        values[f"{free.name}.y"] += y
        home |= {prefix + name: value for name, value in values.items()}
        if kp:
            for name in single(one):
                scene.position_servo(f"{prefix}{name}_servo", prefix + name, kp=kp, kv=kd)
    if ball is not None:
        scene.body("ball", mass=ball.mass, inertia=tuple(ball.moments), shapes=ball.shape)
        scene.free("ball")
        home |= {f"ball_free.{axis}": x for axis, x in zip("xyz", ball.position, strict=True)}
    scene.home(home)
    robot = scene.build()
    v = np.zeros(robot.nv)
    if ball is not None:
        v[-3:] = ball.velocity
    return Task(robot, one, robot.home(), v, kp, kd, ball, ground, friction, restitution, places, height)


@dataclass
class Motion:
    """States of the centres of mass of all bodies [(steps + 1, n, …)] and the CPU time of a step [s]."""

    x: np.ndarray
    turn: np.ndarray
    v: np.ndarray
    w: np.ndarray
    seconds: float
    depth: float = math.nan


def quantities(robot: Any, motion: Motion) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Energy [J], linear [kg m/s] and angular momentum [kg m²/s] at all states, from where bodies are and move."""
    m = np.array([body.inertia.mass for body in robot.bodies])
    J = np.array([body.inertia.matrix for body in robot.bodies])
    inner = np.einsum("kbij,kbi->kbj", motion.turn, motion.w)
    E = 0.5 * np.einsum("b,kbi,kbi->k", m, motion.v, motion.v) + 0.5 * np.einsum("bij,kbi,kbj->k", J, inner, inner)
    E -= np.einsum("b,kbi,i->k", m, motion.x, np.array(robot.gravity))
    L = np.einsum("kbij,bjl,kbl->ki", motion.turn, J, inner)
    return E, np.einsum("b,kbi->ki", m, motion.v), L + np.einsum("b,kbi->ki", m, np.cross(motion.x, motion.v))


def ours(integrator: Any):
    """A runner of one of our engines."""

    def walk(t: Task, dt: float, steps: int) -> Motion:
        options: dict[str, Any] = {"dt": dt, "integrator": integrator}
        if t.kp:
            options["controls"] = np.array([t.q[t.robot.coordinate_index(a.coordinate)] for a in t.robot.actuators])
        try:
            la.simulate(t.robot, t.q, t.v, steps=1, **options)
            first, _ = least_time(lambda: la.simulate(t.robot, t.q, t.v, steps=1, **options))
            whole, run = least_time(lambda: la.simulate(t.robot, t.q, t.v, steps=steps, **options))
        except la.LeastActionError as error:
            raise bodies.FailureError(f"{type(error).__name__}: {error}".splitlines()[0][:160]) from error
        poses, twists = run.com_poses, run.com_twists
        deepest = depth(run) if "contacts" in run.stored else math.nan
        turn = bodies.rotations(poses[..., 3:]).reshape(*poses.shape[:2], 3, 3)
        w, v = (np.einsum("kbij,kbj->kbi", turn, part) for part in (twists[..., :3], twists[..., 3:]))
        return Motion(poses[..., :3], turn, v, w, (whole - first) / (steps - 1), deepest)

    return walk


def without_restitution(robot: Any) -> Any:
    """As MJCF can say it."""

    def dead(shapes):
        return tuple(replace(shape, restitution=0.0) for shape in shapes)

    some = tuple(replace(body, shapes=dead(body.shapes)) for body in robot.bodies)
    return robot.replace(bodies=some, ground=dead(robot.ground))


def mujoco(integrator: str):
    """A runner of MuJoCo, whose model our writer makes."""

    def walk(t: Task, dt: float, steps: int) -> Motion:
        import mujoco as m

        with tempfile.TemporaryDirectory() as folder:
            model = written_model(m, without_restitution(t.robot), Path(folder) / "robot.xml")
        m.set_mju_user_warning(lambda _: None)
        model.opt.integrator, model.opt.timestep = int(getattr(m.mjtIntegrator, f"mjINT_{integrator.upper()}")), dt
        model.opt.cone = int(m.mjtCone.mjCONE_ELLIPTIC)
        if t.restitution == 1.0:
            model.geom_solref[:] = [-((math.pi / (10.0 * dt)) ** 2), 0.0]
        ids = [model.body(name).id for name in t.robot.body_names]

        def started():
            data = m.MjData(model)
            for joint in t.robot.joints:
                if joint.nv:
                    here, k = model.joint(joint.name), t.robot.velocity_index(joint.velocity_names()[0])
                    mine = t.q[[t.robot.coordinate_index(name) for name in joint.coordinate_names()]]
                    data.qpos[here.qposadr[0] : here.qposadr[0] + len(mine)] = mine
                    speed = t.v[k : k + joint.nv]
                    data.qvel[here.dofadr[0] : here.dofadr[0] + joint.nv] = (
                        [*speed[3:], *speed[:3]] if joint.nv == 6 else speed
                    )
            if t.kp:
                data.ctrl[:] = [t.q[t.robot.coordinate_index(a.coordinate)] for a in t.robot.actuators]
            return data

        def state(data):
            m.mj_kinematics(model, data)
            m.mj_comPos(model, data)
            m.mj_comVel(model, data)
            six, out = np.zeros(6), []
            for i in ids:
                m.mj_objectVelocity(model, data, m.mjtObj.mjOBJ_BODY, i, six, 0)
                # Rotation of the body, and not that of its principal axes: inertias are given in the former.
                out.append((data.xipos[i].copy(), data.xmat[i].reshape(3, 3).copy(), six[3:].copy(), six[:3].copy()))
            return [np.array(part) for part in zip(*out, strict=True)]

        data = started()
        rows, deepest = [state(data)], 0.0
        for _ in range(steps):
            m.mj_step(model, data)
            deepest = max(deepest, -float(min(data.contact.dist, default=0.0)))
            rows.append(state(data))
        data = started()
        began = time.process_time()
        m.mj_step(model, data, nstep=steps)
        spent = (time.process_time() - began) / steps
        return _motion(rows, spent, deepest)

    return walk


def _motion(rows: list, seconds: float, deepest: float) -> Motion:
    x, turn, v, w = (np.array([row[i] for row in rows]) for i in range(4))
    if not np.isfinite(x).all() or np.abs(x).max() > FAR:
        raise bodies.FailureError(f"bodies fly off, beyond {FAR:g} m")
    return Motion(x, turn, v, w, seconds, deepest)


def pybullet(t: Task, dt: float, steps: int) -> Motion:
    """PyBullet, from our URDF; springs as torques of each step."""
    import pybullet as p

    p.connect(p.DIRECT) if not p.isConnected() else p.resetSimulation()
    p.setGravity(*t.robot.gravity)
    p.setTimeStep(dt)
    p.setPhysicsEngineParameter(restitutionVelocityThreshold=1e-3)
    root = math.sqrt(t.friction)
    surface = {"lateralFriction": root, "restitution": math.sqrt(t.restitution)}
    if t.ground:
        plane = p.createMultiBody(0, p.createCollisionShape(p.GEOM_PLANE))
        p.changeDynamics(plane, -1, **surface)
    robots, joints, targets = [], [], []
    free = next(j for j in t.one.joints if j.kind == "free")
    with tempfile.TemporaryDirectory() as folder, quiet():
        path = Path(folder) / "robot.urdf"
        path.write_text(bullet_text(t.one), encoding="utf-8")
        for k in range(len(t.places)):
            robots.append(p.loadURDF(str(path), flags=p.URDF_USE_INERTIA_FROM_FILE))
            infos = [p.getJointInfo(robots[k], i) for i in range(p.getNumJoints(robots[k]))]
            joints.append({info[1].decode(): i for i, info in enumerate(infos)})
            links = {info[12].decode(): i for i, info in enumerate(infos)}
            for i in range(-1, len(infos)):
                losses = {"linearDamping": 0, "angularDamping": 0, "jointDamping": 0, "maxJointVelocity": 1e6}
                p.changeDynamics(robots[k], i, activationState=p.ACTIVATION_STATE_DISABLE_SLEEPING, **losses, **surface)
            pose = [t.q[t.robot.coordinate_index(f"r{k}/{name}")] for name in free.coordinate_names()]
            base = p.multiplyTransforms(pose[:3], [*pose[4:], pose[3]], *p.getDynamicsInfo(robots[k], -1)[3:5])
            p.resetBasePositionAndOrientation(robots[k], *base)
            mine = [joints[k][name] for name in single(t.one)]
            targets.append(np.array([t.q[t.robot.coordinate_index(f"r{k}/{name}")] for name in single(t.one)]))
            for i, x in zip(mine, targets[k], strict=True):
                p.resetJointState(robots[k], i, x, 0.0)
                p.setJointMotorControl2(robots[k], i, p.VELOCITY_CONTROL, force=0)
            joints[k] = mine
    loose = None
    if t.ball is not None:
        skin = p.createCollisionShape(p.GEOM_SPHERE, radius=t.ball.shape.radius)
        loose = p.createMultiBody(t.ball.mass, skin, basePosition=list(t.ball.position))
        p.changeDynamics(
            loose, -1, linearDamping=0, angularDamping=0, localInertiaDiagonal=t.ball.moments.tolist(), **surface
        )
        p.resetBaseVelocity(loose, list(t.ball.velocity), [0, 0, 0])

    def state():
        out = []
        for robot in robots:
            for name in t.one.body_names:
                if name in links:
                    s = p.getLinkState(robot, links[name], computeLinkVelocity=1, computeForwardKinematics=1)
                    out.append((s[0], s[5], s[6], s[7]))
                else:
                    x, turn = p.getBasePositionAndOrientation(robot)
                    turn = p.multiplyTransforms(x, turn, *p.invertTransform(*p.getDynamicsInfo(robot, -1)[3:5]))[1]
                    out.append((x, turn, *p.getBaseVelocity(robot)))
        if loose is not None:
            out.append((*p.getBasePositionAndOrientation(loose), *p.getBaseVelocity(loose)))
        x, turn, v, w = (np.array(part) for part in zip(*out, strict=True))
        return x, Rotation.from_quat(turn).as_matrix(), v, w

    rows, deepest, spent = [state()], 0.0, 0.0
    for _ in range(steps):
        began = time.process_time()
        if t.kp:
            for robot, mine, target in zip(robots, joints, targets, strict=True):
                now = np.array([s[:2] for s in p.getJointStates(robot, mine)])
                torque = t.kp * (target - now[:, 0]) - t.kd * now[:, 1]
                p.setJointMotorControlArray(robot, mine, p.TORQUE_CONTROL, forces=torque.tolist())
        p.stepSimulation()
        spent += time.process_time() - began
        deepest = max(deepest, -min((c[8] for c in p.getContactPoints()), default=0.0))
        rows.append(state())
    return _motion(rows, spent / steps, deepest)


def engines() -> dict:
    """Ours, and peers that are installed."""
    found = {"Maximal": ours(la.Maximal()), "Minimal": ours(la.Minimal())}
    if installed_mujoco() is not None:
        found |= {f"MuJoCo {kind}": mujoco(kind) for kind in ("implicitfast", "discrete")}
    if importlib.util.find_spec("pybullet"):
        found["PyBullet"] = pybullet
    return found


def ran(progress, name: str, t: Task, dt: float, steps: int, sheet: Sheet, measure, first=()) -> dict[str, list]:
    """Rows of all engines, and their figures by name."""
    found = {}
    for engine, walk_of in engines().items():
        progress.next(f"{name}, {engine}")
        progress.done()
        try:
            within = max(3, int(PATIENCE / max(walk_of(t, dt, min(steps, 20)).seconds, 1e-9)))
            motion = walk_of(t, dt, min(steps, within))
        except bodies.FailureError as failure:
            sheet.rows.append([engine, *first, *["–"] * (len(sheet.columns) - 2 - len(first)), str(failure)])
            continue
        found[engine] = measure(t, motion)
        cut = f" (first {dt * within:.2g} s)" if within < steps else ""
        sheet.rows.append([engine + cut, *first, *found[engine], 1e6 * motion.seconds])
    return found


def standing(t: Task, motion: Motion) -> list:
    """How far trunks are from where they stood half a second before [mm], and depth [mm]."""
    half = len(motion.x) // 2
    per = len(t.one.bodies)
    return [1e3 * float(np.linalg.norm(motion.x[-1, ::per] - motion.x[half, ::per], axis=1).max()), 1e3 * motion.depth]


def kept_momentum(t: Task, motion: Motion) -> list:
    """Largest change of linear and angular momentum, relative to the ball's."""
    _, p, L = quantities(t.robot, motion)
    scale = t.ball.mass * float(np.linalg.norm(t.ball.velocity))
    return [
        float(np.linalg.norm(p - p[0], axis=1).max()) / scale,
        float(np.linalg.norm(L - L[0], axis=1).max()) / scale,
    ]


def kept_energy(t: Task, motion: Motion) -> list:
    """Change over the run and largest rise of the energy, relative to the start's, over the ground."""
    E, _, _ = quantities(t.robot, motion)
    return [float(E[-1] / E[0] - 1.0), float(E.max() / E[0] - 1.0)]


def settled(t: Task, motion: Motion) -> list:
    """Depth [mm]."""
    return [1e3 * motion.depth]


def atlas_task() -> Task:
    """Atlas of the zoo, 5 cm above the ground."""
    robot = bare_feet(la.robots.atlas())
    q = la.robots.home(la.robots.atlas())
    posture = {j.name: float(q[robot.coordinate_index(j.name)]) for j in robot.joints if j.nv == 1}
    return task(robot, posture, height=0.05, kp=500.0, kd=5.0)


def bare_feet(robot: Any) -> Any:
    """Contact points as balls of 1 cm, which every engine knows; nothing touches itself, joints without losses."""
    joints = tuple(
        joint
        if joint.nv != 1
        else replace(joint, lower=(-math.inf,), upper=(math.inf,), damping=(0.0,), friction=(0.0,))
        for joint in robot.joints
    )
    builder = robot.replace(contacts=(), actuators=(), joints=joints).edit()
    for point in robot.contacts:
        builder.add_shape(point.body, Sphere(0.01, pose=la.mechanism.Pose(point.point), friction=0.8))
    names = robot.body_names
    for k in range(len(names) - 1):
        builder.exclude_contact(*names[k:])
    return builder.build()


def run(progress, quick: bool = False) -> Report:
    """All scenes and engines."""
    whole, name = anymal()
    crowd, short = (CROWD[:1], 0.1) if quick else (CROWD, 1.0)
    progress.total((len(crowd) + 3) * len(engines()))
    report = Report("SimBenchmark: robots", NOTES, missing=bodies.missing())
    walker = bare(whole, 0.8, 0.0)
    posture = stance(walker)
    sheet = Sheet(f"{name} PD, 1 s", ["engine", "robots", "creep in 0.5 s [mm]", "depth [mm]", "µs a step"])
    found: dict[str, list] = {}
    for count in crowd:
        t = task(walker, posture, count=count, height=1e-3, kp=KP, kd=KD)
        found = ran(progress, f"PD, {count}", t, 5e-3, round(200 * short), sheet, standing, (count,)) or found
    report.sheets.append(sheet)
    report.claims.append(claim("PD", "Feet do not enter the ground, to 0.1 mm.", 0.1, found, 1))

    ball = bodies.Body(Sphere(0.2), 10.0, (-1.5, 0.05, 0.05), velocity=(5.0, 0.0, 0.0))
    t = task(walker, posture, ball=ball, ground=False)
    sheet = Sheet(f"{name} momentum, 10 s", ["engine", "linear", "angular", "µs a step"])
    found = ran(progress, "momentum", t, 1e-3, round(10_000 * short), sheet, kept_momentum)
    report.sheets.append(sheet)
    report.claims.append(claim("Momentum", "Angular momentum is kept to 1e-6.", 1e-6, found, 1))

    t = task(bare(whole, 0.0, 1.0), posture, height=2.0, friction=0.0, restitution=1.0)
    sheet = Sheet(f"{name} energy, 2 s", ["engine", "change", "largest rise", "µs a step"])
    found = ran(progress, "energy", t, 1e-3, round(2000 * short), sheet, kept_energy)
    report.sheets.append(sheet)
    report.claims.append(claim("Energy", "Energy is kept to 1 %.", 1e-2, found))

    sheet = Sheet("Atlas, 1 s", ["engine", "depth [mm]", "µs a step"])
    found = ran(progress, "Atlas", atlas_task(), 5e-4, round(2000 * short), sheet, settled)
    report.sheets.append(sheet)
    report.claims.append(claim("Atlas", "Feet do not enter the ground, to 1 µm.", 1e-3, found))
    return report
