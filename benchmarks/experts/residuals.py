"""ContactBench's residuals of every step: Signorini's law, Coulomb's cone, maximum dissipation; self-consistency."""

import math
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import leastaction as la
from benchmarks import manipulation
from benchmarks.experts import bodies
from benchmarks.experts.bodies import Body, Box, Scene, Sphere
from benchmarks.menagerie import installed_mujoco, written_model
from benchmarks.report import Report, Sheet, judged
from leastaction.mechanism import Plane

DT, DURATION = 2e-3, 1.0
HALVINGS = (8e-3, 4e-3, 2e-3, 1e-3, 5e-4)
FOOT = 0.02
"""Radius of the balls at feet [m]."""

UP = np.array([0.0, 0.0, 1.0])
COLUMNS = ["engine", "Signorini, largest", "mean", "cone, largest", "dissipation, largest", "mean", "depth [mm]", "µs"]

NOTES = f"""The criteria of ContactBench (Le Lidec, Jallet, Montaut, Laptev, Schmid, Carpentier 2023), for every \
contact of every step of {1e3 * DT:g} ms over {DURATION:g} s, made dimensionless. With the weight W of the scene, its \
size L, the contact force f (mean over the step), the gap g after the step and the slip velocity s of the contact \
point (its displacement over the step divided by dt), all computed from poses and forces that the engines report: \
Signorini |min(f_n / W, g / L)|; cone: max(0, |f_t| - µ f_n) / W; dissipation: |f_t · s + µ f_n |s|| / (W · 1 m/s), \
the difference between the power of friction and that of Coulomb's law. Time-stepping schemes use the mean of s over \
the step or its value at the end: the smaller residual of the two counts, for every engine. Peers run with their \
defaults (MuJoCo: elliptic cones). Quadruped and humanoid have a ball of {1e3 * FOOT:g} mm at each point of their \
feet."""


@dataclass
class Residuals:
    """Residuals of all contacts of a run."""

    signorini: np.ndarray
    cone: np.ndarray
    dissipation: np.ndarray
    depth: float

    def row(self, seconds: float) -> list:
        """As it stands in tables."""

        def most(x):
            return float(x.max()) if len(x) else 0.0

        def mean(x):
            return float(x.mean()) if len(x) else 0.0

        s, d = self.signorini, self.dissipation
        return [most(s), mean(s), most(self.cone), most(d), mean(d), 1e3 * self.depth, 1e6 * seconds]


def measured(
    contacts, frames, twists, dt: float, weight: float, length: float, friction: float, normal_of: Any
) -> Residuals:
    """Residuals of contacts (rows of `bodies.Walk`), with the frames of the bodies (steps + 1, n, 4, 4) and the
    velocities of these frames' origins and angular velocities in the world (two arrays, (steps + 1, n, 3)).

    normal_of(first, second, point, frames of the step): the normal into the second, where an engine gives none.
    """
    found: list[list[float]] = [[], [], []]
    depth = 0.0
    for step, first, second, point, normal, force, gap in contacts:
        ours = normal is None
        n = normal_of(first, second, point, frames[step + 1]) if ours else normal
        way = moved(frames, step, second, point, ours) - moved(frames, step, first, point, ours)
        after = gap if ours else gap + way @ n
        push = float(force @ n)
        f_t = force - push * n
        found[0].append(abs(min(push / weight, after / length)))
        found[1].append(max(0.0, float(np.linalg.norm(f_t)) - friction * push) / weight)
        lost = []
        for v in (
            way / dt,
            speed_at(frames, twists, step, second, point) - speed_at(frames, twists, step, first, point),
        ):
            slip = v - (v @ n) * n
            lost.append(abs(float(f_t @ slip) + friction * push * float(np.linalg.norm(slip))) / weight)
        found[2].append(min(lost))
        depth = max(depth, -after)
    return Residuals(*map(np.array, found), depth)


def moved(frames, step: int, body: int, point, late: bool) -> np.ndarray:
    """How far the point of a body moves over a step that is at `point` at its end (late) or start [m]."""
    if body < 0:
        return np.zeros(3)
    here, there = frames[step + 1 if late else step, body], frames[step if late else step + 1, body]
    local = here[:3, :3].T @ (point - here[:3, 3])
    way = there[:3, :3] @ local + there[:3, 3] - point
    return -way if late else way


def speed_at(frames, twists, step: int, body: int, point) -> np.ndarray:
    """The velocity of the point of a body at the end of a step [m/s]."""
    if body < 0:
        return np.zeros(3)
    v, w = twists
    return v[step + 1, body] + np.cross(w[step + 1, body], point - frames[step + 1, body, :3, 3])


def of_walk(scene: Scene, walk: bodies.Walk) -> Residuals:
    """Residuals of free bodies on the ground; bodies on bodies: balls, or boxes that lie on each other."""
    frames = np.zeros((*walk.x.shape[:2], 4, 4))
    frames[..., :3, :3], frames[..., :3, 3] = walk.turn, walk.x

    def normal_of(first, second, point, at):
        if first < 0:
            return UP
        return at[first, :3, 2] if at[second, 2, 3] > at[first, 2, 3] else -at[first, :3, 2]

    weight = 9.81 * float(scene.masses.sum())
    return measured(walk.contacts, frames, (walk.v, walk.w), walk.dt, weight, scene.length, scene.friction, normal_of)


def ball() -> Scene:
    """A ball that lands, slides and rolls."""
    return Scene([Body(Sphere(0.1), 1.0, (0, 0, 0.15), velocity=(2.0, 0.5, 0.0))], friction=0.4)


def cube() -> Scene:
    """A cube that is tossed with spin."""
    turn, spin, velocity = (0.9, 0.3, 0.2, math.sqrt(1 - 0.94)), (3.0, -2.0, 1.0), (1.0, 0.5, 0.0)
    return Scene([Body(Box((0.2,) * 3), 1.0, (0, 0, 0.3), turn, velocity, spin)], friction=0.4)


def two_cubes() -> Scene:
    """A cube that lands flat on one that slides."""
    low = Body(Box((0.3, 0.3, 0.2)), 2.0, (0, 0, 0.1), velocity=(1.0, 0, 0))
    return Scene([low, Body(Box((0.2,) * 3), 1.0, (0.0, 0, 0.35))], friction=0.4)


FREE: dict[str, Callable[[], Scene]] = {"ball": ball, "cube": cube, "two cubes": two_cubes}


@dataclass
class Task:
    """A robot with its start, controls (nu,), and normals where bodies touch each other; the ground is z = 0."""

    robot: Any
    q: np.ndarray
    controls: np.ndarray
    friction: float
    normal: Any = None
    steps: int = round(DURATION / DT)


def _grounded(robot: Any, clearance: float, friction: float = 0.8) -> tuple[Any, np.ndarray]:
    """A robot over a plane, its parts without contact among themselves, and its start."""
    builder = robot.edit()
    if not robot.ground:
        builder.add_shape("world", Plane(friction=friction))
    for point in robot.contacts:  # MJCF has no contact points
        builder.remove(point.name)
        place = la.mechanism.Pose(tuple(np.array(point.point) + [0.0, 0.0, FOOT]))
        builder.add_shape(point.body, Sphere(FOOT, pose=place, friction=friction))
    names = robot.body_names
    for k in range(len(names) - 1):
        builder.exclude_contact(*names[k:])
    robot = builder.build()
    q = la.robots.on_ground(robot, la.robots.home(robot), clearance=clearance)
    return robot, q


def quadruped() -> Task:
    """Unitree's A1 that falls by 5 cm and folds up: no torques."""
    robot, q = _grounded(la.robots.unitree_a1(), 0.05)
    return Task(robot, q, np.zeros(robot.nu), 0.8)


def humanoid() -> Task:
    """Atlas that falls by 5 cm and down: no torques."""
    robot, q = _grounded(la.robots.atlas(), 0.05)
    return Task(robot, q, np.zeros(robot.nu), 0.8)


def arm() -> Task:
    """An arm of six joints that falls onto the ground and slides out."""
    builder = la.MechanismBuilder("arm")
    builder.add_shape("world", Plane(friction=0.4))
    size, parent = 0.3, "world"
    for k in range(6):
        builder.body(f"l{k}", mass=1.0, inertia=0.01)
        place = (0, 0, 0.6) if k == 0 else (size, 0, 0)
        builder.revolute(f"j{k}", parent, f"l{k}", axis=("z", "y")[k > 0], position=place, damping=0.2)
        parent = f"l{k}"
    builder.add_shape("l5", Sphere(0.05, pose=la.mechanism.Pose((0.2, 0, 0)), friction=0.4))
    robot = builder.build()
    q = np.array([0.0, -0.6, 0.3, 0.2, 0.1, 0.1])
    builder = robot.edit()
    builder.home({f"j{k}": x for k, x in enumerate(q)})
    robot = builder.build()
    return Task(robot, q, np.zeros(robot.nv), 0.4)


def hand() -> Task:
    """Two fingers that close on a cube on the ground and hold it."""
    scene = manipulation.grasp()
    robot = scene.robot

    def normal(first, second, point, at):
        names = robot.body_names
        fingers = {names.index(name): side for name, side in (("left", 1.0), ("right", -1.0))}
        n = lambda body: -fingers[body] * at[body, :3, 0]  # noqa: E731
        return n(first) if first in fingers else -n(second)

    return Task(robot, robot.home(), np.array([0, 0, 0, *manipulation.CLOSED]), manipulation.FRICTION, normal)


ROBOTS: dict[str, Callable[[], Task]] = {"arm": arm, "quadruped": quadruped, "hand": hand, "humanoid": humanoid}


def of_ours(task: Task, integrator: Any) -> list:
    """A row of one of our engines."""
    robot, options = task.robot, {"dt": DT, "integrator": integrator, "controls": task.controls}
    la.simulate(robot, task.q, steps=1, **options)
    first, _ = bodies.least_time(lambda: la.simulate(robot, task.q, steps=1, **options))
    whole, run = bodies.least_time(lambda: la.simulate(robot, task.q, steps=task.steps, **options))
    rows = [
        (int(r[0]), int(r[1]), int(r[2]), r[3:6], None, r[6:9], float(r[9])) for r in np.array(run.stored["contacts"])
    ]

    def normal_of(first, second, point, at):
        if min(first, second) < 0:
            return UP if first < 0 else -UP
        return task.normal(first, second, point, at)

    weight = 9.81 * robot.total_mass
    X, V = run.body_poses, run.body_twists
    twists = (
        np.einsum("kbij,kbj->kbi", X[..., :3, :3], V[..., 3:]),
        np.einsum("kbij,kbj->kbi", X[..., :3, :3], V[..., :3]),
    )
    found = measured(rows, X, twists, DT, weight, 0.1, task.friction, normal_of)
    return found.row((whole - first) / (task.steps - 1))


def of_mujoco(mujoco: Any, task: Task, integrator: str) -> list | None:
    """A row of MuJoCo, whose model our writer makes."""
    builder = task.robot.edit()
    builder.home(dict(zip(task.robot.coordinate_names, map(float, task.q), strict=True)))
    robot = builder.build()
    with tempfile.TemporaryDirectory() as folder:
        model = written_model(mujoco, robot, Path(folder) / "robot.xml")
    if model is None:
        return None
    kind = f"mjINT_{integrator.upper()}"
    model.opt.integrator, model.opt.timestep = int(getattr(mujoco.mjtIntegrator, kind)), DT
    model.opt.cone = int(mujoco.mjtCone.mjCONE_ELLIPTIC)
    names = robot.body_names
    number = {model.body(name).id: k for k, name in enumerate(names)}

    def started():
        data = mujoco.MjData(model)
        if model.nkey:
            mujoco.mj_resetDataKeyframe(model, data, 0)
        if model.nu:
            data.ctrl[:] = task.controls
        return data

    def frames(data):
        mujoco.mj_kinematics(model, data)
        X = np.tile(np.eye(4), (len(names), 1, 1))
        for body, k in number.items():
            X[k, :3, :3], X[k, :3, 3] = data.xmat[body].reshape(3, 3), data.xpos[body]
        return X

    def speeds(data):
        found, six = np.zeros((2, len(names), 3)), np.zeros(6)
        for body, k in number.items():
            mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, body, six, 0)
            found[:, k] = six[3:], six[:3]
        return found

    data, rows, wrench = started(), [], np.zeros(6)
    at, moving = [frames(data)], [speeds(data)]
    for k in range(task.steps):
        mujoco.mj_step(model, data)
        for i in range(data.ncon):
            c = data.contact[i]
            mujoco.mj_contactForce(model, data, i, wrench)
            frame = c.frame.reshape(3, 3)
            a, b = (number.get(int(model.geom_bodyid[g]), -1) for g in (c.geom1, c.geom2))
            rows.append((k, a, b, c.pos.copy(), frame[0].copy(), frame.T @ wrench[:3], float(c.dist)))
        at.append(frames(data))
        mujoco.mj_comPos(model, data)
        mujoco.mj_comVel(model, data)
        moving.append(speeds(data))
    data = started()
    began = bodies.time.process_time()
    mujoco.mj_step(model, data, nstep=task.steps)
    spent = (bodies.time.process_time() - began) / task.steps
    weight = 9.81 * robot.total_mass
    twists = tuple(np.array(moving).transpose(1, 0, 2, 3))
    return measured(rows, np.array(at), twists, DT, weight, 0.1, task.friction, None).row(spent)


def consistency(progress, quick: bool) -> Sheet:
    """Where the tossed cube is after 0.5 s, beside the same engine at a 16th of the smallest step."""
    sheet = Sheet(
        "Self-consistency: ball and cube after 0.3 s, error [mm] beside an eighth of the smallest step",
        ["scene", "engine", *(f"{1e3 * dt:g} ms" for dt in HALVINGS)],
    )
    duration = 0.3
    for name in ("ball", "cube"):
        for engine, walk in bodies.engines().items():
            progress.next(f"self-consistency, {name}, {engine}")
            fine = HALVINGS[-1] / 8.0
            try:
                end = walk(FREE[name](), fine, round(duration / fine)).x[-1]
                row = []
                for dt in HALVINGS:
                    steps = round(duration / dt)
                    there = walk(FREE[name](), duration / steps, steps).x[-1]
                    row.append(1e3 * float(np.linalg.norm(there - end)))
                sheet.rows.append([name, engine, *row])
            except bodies.FailureError as failure:
                sheet.rows.append([name, engine, str(failure), *["–"] * (len(HALVINGS) - 1)])
            progress.done()
    return sheet


def run(progress, quick: bool = False) -> Report:
    """All scenes and engines."""
    engines = bodies.engines()
    robots = dict(list(ROBOTS.items())[: 1 if quick else None])
    scenes = dict(list(FREE.items())[: 1 if quick else None])
    progress.total((len(scenes) + 2 * (not quick)) * len(engines) + 4 * len(robots))
    report = Report("ContactBench: residuals of every step", NOTES, missing=bodies.missing())
    worst: dict[str, list[float]] = {}
    for name, make in scenes.items():
        sheet, scene = Sheet(name.capitalize(), COLUMNS), make()
        for engine, walk_of in engines.items():
            progress.next(f"{name}, {engine}")
            try:
                walk = walk_of(scene, DT, round(DURATION / DT), contacts=True)
                row = of_walk(scene, walk).row(walk.seconds)
                worst.setdefault(engine, []).append(row)
                sheet.rows.append([engine, *row])
            except bodies.FailureError as failure:
                sheet.rows.append([engine, *["–"] * (len(COLUMNS) - 2), str(failure)])
            progress.done()
        report.sheets.append(sheet)
    mujoco = installed_mujoco()
    for name, make in robots.items():
        sheet, task = Sheet(name.capitalize(), COLUMNS), make()
        runs = {"Maximal": lambda t: of_ours(t, la.Maximal()), "Minimal": lambda t: of_ours(t, la.Minimal())}
        if mujoco is not None:
            runs |= {f"MuJoCo {k}": (lambda t, k=k: of_mujoco(mujoco, t, k)) for k in ("implicitfast", "discrete")}
        for engine, of in runs.items():
            progress.next(f"{name}, {engine}")
            try:
                row = of(task)
            except la.LeastActionError as error:
                row, said = None, str(error).splitlines()[0][:160]
                sheet.rows.append([engine, *["–"] * (len(COLUMNS) - 2), said])
            if row is not None:
                worst.setdefault(engine, []).append(row)
                sheet.rows.append([engine, *row])
            progress.done()
        report.sheets.append(sheet)
    if not quick:
        report.sheets.append(consistency(progress, quick))
    ours = np.array([row for engine in ("Maximal", "Minimal") for row in worst.get(engine, [])])
    theirs = np.array([row for engine, rows in worst.items() if engine not in ("Maximal", "Minimal") for row in rows])
    for column, what, bound in (
        (0, "Signorini's law", 1e-6),
        (2, "Coulomb's cone", 1e-6),
        (3, "Maximum dissipation", 0.02),
    ):
        mine = float(ours[:, column].max())
        peer = float(theirs[:, column].max()) if len(theirs) else math.nan
        said = f"largest of all scenes {mine:.2g}; of peers {peer:.2g}."
        text = f"{what} holds at every contact of every step to {bound:g}."
        why = (
            "In a step with an impact, Maximal() reports the mean of its substeps; Minimal() is at 2e-7 in all scenes."
        )
        report.claims.append(judged(what, text, said, mine <= bound, why, better=mine < peer))
    return report
