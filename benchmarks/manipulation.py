"""Manipulation: grasp and lift, a stack, a peg in a hole, a drawer, a cube that is turned; creep beside MuJoCo."""

import math
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import leastaction as la
from benchmarks.foreign_run import depth
from benchmarks.menagerie import installed_mujoco, written_model
from benchmarks.report import Report, Requirement, Sheet
from leastaction.mechanism import Box, Plane, Pose

DT, HOLD = 0.002, 1.0
"""Time step, and how long everything is held in the end, over which creep is measured [s]."""

CREEP, DEPTH, DONE = 1.0, 1e-6, 0.01
"""Most creep [µm/s], penetration [m], and how far from its goal a task may end, relative to the way [1]."""

FRICTION = 0.8

NOTES = f"""Each scene is a robot of sliders and hinges with servos, and objects that are free or hang on a joint; its \
controls follow ramps and are constant for the last {HOLD:g} s. Creep: mean velocity of the object relative to the \
part that holds it, over the second half of that time; MuJoCo's is that of the same robot, written as MJCF, with the \
same controls and time step ({1e3 * DT:g} ms), its default contact parameters and `implicitfast`. Depth: largest \
penetration. Goal: final distance from the goal, relative to the path length. Time per step is CPU time."""

COLUMNS = ["scene", "engine", "steps", "µs a step", "creep [µm/s]", "depth [m]", "goal off", "MuJoCo's µs", "its creep"]


Poses = dict[str, np.ndarray]
"""Poses of bodies by name, shape (4, 4) each."""


class Scene(NamedTuple):
    """A task.

    Attributes:
        robot: with the things that it handles.
        ramps: for each control its values at the times of `at`, held after the last, shape (times, nu).
        at: times [s], shape (times,).
        relative: the place of the thing against what should hold it [m].
        measure: what tells how far the task has come [m or rad]; goal: where it begins and ends.
    """

    robot: Any
    ramps: Any
    at: Any
    relative: Callable[[Poses], list[float]]
    measure: Callable[[Poses], float]
    goal: tuple[float, float]


def _slider(builder: Any, name: str, parent: str, axis: Any, mass: float, kp: float, **options: Any) -> None:
    """A body on a slider with a damped servo."""
    builder.body(name, mass=mass, inertia=1e-3 * mass)
    place = options.pop("position", (0.0, 0.0, 0.0))
    builder.prismatic(f"{name}_slide", parent, name, axis=axis, position=place)
    builder.position_servo(f"{name}_servo", f"{name}_slide", kp=kp, kv=2.0 * math.sqrt(kp * mass), **options)


def _gripper(builder: Any) -> None:
    """Two fingers, 6 cm apart, on a palm that moves along x and z and turns; they press with up to 20 N each."""
    _slider(builder, "rail", "world", (1, 0, 0), 2.0, 4e4)
    _slider(builder, "wrist", "rail", (0, 0, 1), 1.0, 4e4, position=(0, 0, 0.02))
    builder.body("palm", mass=0.5, inertia=1e-3)
    builder.revolute("turn", "wrist", "palm", axis=(0, 0, 1))
    builder.position_servo("turn_servo", "turn", kp=200.0, kv=4.0)
    for name, side in (("left", 1.0), ("right", -1.0)):
        _slider(builder, name, "palm", (-side, 0, 0), 0.1, 2e3, force_limits=(-20.0, 20.0))
        builder.add_shape(name, Box((0.01, 0.03, 0.03), pose=Pose((0.035 * side, 0, 0)), friction=FRICTION))
        builder.exclude_contact("palm", name)


def _loose(builder: Any, name: str, size: tuple[float, float, float], mass: float, at: tuple[float, ...]) -> None:
    """A box that lies free, with its home at a place."""
    a, b, c = size
    builder.body(name, mass=mass, inertia=tuple(mass / 12.0 * x for x in (b * b + c * c, a * a + c * c, a * a + b * b)))
    builder.free(name)
    builder.add_shape(name, Box(size, friction=FRICTION))
    builder.home({f"{name}_free.{axis}": x for axis, x in zip("xyz", at, strict=True)})


def _in(holder: str, thing: str) -> Callable[[Poses], list[float]]:
    """The place of a thing in the frame of what holds it [m]."""
    return lambda X: (X[holder][:3, :3].T @ (X[thing][:3, 3] - X[holder][:3, 3])).tolist()


def _builder(name: str) -> Any:
    builder = la.MechanismBuilder(name)
    builder.add_shape("world", Plane(friction=FRICTION))
    return builder


CUBE = (0.04, 0.04, 0.04)
CLOSED = (0.02, 0.02)
"""Where the servos of the fingers want to be on a cube: 1 cm within it."""


def grasp() -> Scene:
    """A gripper closes on a cube of 0.2 kg, lifts it by 0.1 m and holds it."""
    builder = _builder("grasp")
    _gripper(builder)
    _loose(builder, "cube", CUBE, 0.2, (0, 0, 0.02))
    ramps = [[0, 0, 0, 0, 0], [0, 0, 0, *CLOSED], [0, 0.1, 0, *CLOSED]]
    hold = _in("palm", "cube")
    return Scene(builder.build(), ramps, [0.0, 0.3, 1.0], hold, lambda X: float(X["cube"][2, 3]), (0.02, 0.12))


def turn() -> Scene:
    """The gripper lifts the cube and turns it by a right angle."""
    builder = _builder("turn")
    _gripper(builder)
    _loose(builder, "cube", CUBE, 0.2, (0, 0, 0.02))
    up = [0, 0.05, 0, *CLOSED]
    ramps = [[0, 0, 0, 0, 0], [0, 0, 0, *CLOSED], up, [0, 0.05, 0.5 * math.pi, *CLOSED]]
    hold = _in("palm", "cube")
    angle = lambda X: math.atan2(X["cube"][1, 0], X["cube"][0, 0])  # noqa: E731
    return Scene(builder.build(), ramps, [0.0, 0.3, 0.7, 1.5], hold, angle, (0.0, 0.5 * math.pi))


def stack() -> Scene:
    """The gripper lifts the cube, sets it down on another one, lets go and draws back."""
    builder = _builder("stack")
    _gripper(builder)
    _loose(builder, "cube", CUBE, 0.2, (0, 0, 0.02))
    _loose(builder, "base", (0.06, 0.06, 0.04), 0.4, (0.12, 0, 0.02))
    down, above = [0.12, 0.0405, 0], [0.12, 0.06, 0]
    ramps = [[0, 0, 0, 0, 0], [0, 0, 0, *CLOSED], [0, 0.06, 0, *CLOSED], [*above, *CLOSED], [*down, *CLOSED]]
    ramps += [[*down, 0, 0], [0.12, 0.12, 0, 0, 0]]
    goal = lambda X: float(X["cube"][0, 3])  # noqa: E731
    at = [0.0, 0.3, 0.6, 1.1, 1.4, 1.6, 2.0]
    return Scene(builder.build(), ramps, at, _in("base", "cube"), goal, (0.0, 0.12))


def peg() -> Scene:
    """A peg with 0.5 mm of play, pressed against a wall with 0.4 N, goes 4 cm into a square hole."""
    builder = la.MechanismBuilder("peg")
    for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        size = (0.02, 0.06, 0.05) if x else (0.02, 0.02, 0.05)
        place = Pose((0.02 * x, 0.02 * y, 0.025))
        builder.add_shape("world", Box(size, pose=place, friction=0.3))
    _slider(builder, "z", "world", (0, 0, 1), 1.0, 4e4, position=(0, 0, 0.085))
    _slider(builder, "x", "z", (1, 0, 0), 0.2, 200.0)
    _slider(builder, "peg", "x", (0, 1, 0), 0.1, 200.0)
    builder.add_shape("peg", Box((0.019, 0.019, 0.06), friction=0.3))
    ramps = [[0, 0, 0], [-0.01, 0, 0], [-0.01, 0.002, 0.001], [-0.04, 0.002, 0.001]]
    where = lambda X: X["peg"][:3, 3].tolist()  # noqa: E731
    return Scene(builder.build(), ramps, [0.0, 0.2, 0.4, 1.2], where, lambda X: float(X["peg"][2, 3]), (0.085, 0.045))


def drawer() -> Scene:
    """A hook opens a drawer of 2 kg with 3 N of dry friction by 0.2 m, by its handle."""
    builder = la.MechanismBuilder("drawer")
    builder.body("drawer", mass=2.0, inertia=0.02)
    builder.prismatic("runner", "world", "drawer", axis=(1, 0, 0), lower=0.0, upper=0.3, friction=3.0, damping=2.0)
    builder.add_shape("drawer", Box((0.01, 0.1, 0.01), pose=Pose((0.25, 0, 0)), friction=FRICTION))
    _slider(builder, "hook", "world", (1, 0, 0), 0.5, 2e4, position=(0.235, 0, 0))
    builder.add_shape("hook", Box((0.01, 0.02, 0.04), friction=FRICTION))
    ramps = [[0.0], [0.005], [0.195], [0.205]]  # slowly in the end, or the drawer rolls on
    where = lambda X: X["drawer"][:3, 3].tolist()  # noqa: E731
    return Scene(builder.build(), ramps, [0.0, 0.2, 1.2, 1.8], where, lambda X: float(X["drawer"][0, 3]), (0.0, 0.2))


SCENES = {scene.__name__: scene for scene in (grasp, turn, stack, peg, drawer)}


def controls(scene: Scene) -> np.ndarray:
    """Those of each step, shape (steps, nu)."""
    steps, ramps = round((scene.at[-1] + HOLD) / DT), np.array(scene.ramps, float)
    t = DT * (np.arange(steps) + 0.5)
    return np.column_stack([np.interp(t, scene.at, ramps[:, k]) for k in range(ramps.shape[1])])


def creep(scene: Scene, middle: Poses, end: Poses) -> float:
    """How far the thing has moved over half of HOLD, per time [µm/s]."""
    way = np.array(scene.relative(end)) - scene.relative(middle)
    return 1e6 * float(np.linalg.norm(way)) / (0.5 * HOLD)


def ours(scene: Scene, engine: Any) -> list:
    """Figures of an engine: steps, time, creep, depth, and how far from the goal."""
    u = controls(scene)
    la.simulate(scene.robot, controls=u[:1], dt=DT, steps=1, integrator=engine)  # compiles
    began = time.process_time()
    run = la.simulate(scene.robot, controls=u, dt=DT, steps=len(u), integrator=engine)
    spent = (time.process_time() - began) / len(u)
    half = len(u) - round(0.5 * HOLD / DT)
    at = [dict(zip(scene.robot.body_names, run.body_poses[k], strict=True)) for k in (half, -1)]
    return [len(u), 1e6 * spent, creep(scene, *at), depth(run), off(scene, at[1])]


def off(scene: Scene, end: Poses) -> float:
    """How far from the goal, in terms of the way there."""
    first, last = scene.goal
    return abs(scene.measure(end) - last) / abs(last - first)


def theirs(mujoco: Any, scene: Scene) -> list:
    """Time [µs] and creep of MuJoCo."""
    with tempfile.TemporaryDirectory() as folder:
        model = written_model(mujoco, scene.robot, Path(folder) / "robot.xml")
    if model is None:
        return [None, None]
    model.opt.integrator, model.opt.timestep = int(mujoco.mjtIntegrator.mjINT_IMPLICITFAST), DT
    data, u, at = mujoco.MjData(model), controls(scene), []
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    half, spent = len(u) - round(0.5 * HOLD / DT), 0.0
    for k in range(len(u) + 1):
        if k in (half, len(u)):
            mujoco.mj_kinematics(model, data)
            at.append({name: _pose(data.body(name)) for name in scene.robot.body_names})
        if k < len(u):
            data.ctrl[:] = u[k]
            began = time.perf_counter()
            mujoco.mj_step(model, data)
            spent += time.perf_counter() - began
    return [1e6 * spent / len(u), creep(scene, *at)]


def _pose(body: Any) -> np.ndarray:
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = body.xmat.reshape(3, 3), body.xpos
    return X


def run(progress, quick: bool = False) -> Report:
    """All scenes with both engines; quick: the first alone."""
    report, sheet = Report("Manipulation", NOTES), Sheet("Tasks", COLUMNS)
    mujoco, worst = installed_mujoco(), {"creep [µm/s]": 0.0, "depth [m]": 0.0, "goal off": 0.0}
    chosen = dict(list(SCENES.items())[:1]) if quick else SCENES
    progress.total(len(chosen))
    for name, make in chosen.items():
        progress.next(name)
        scene = make()
        peer = [None, None] if mujoco is None else theirs(mujoco, scene)
        for engine in (la.Maximal(), la.Minimal()):
            try:
                row = ours(scene, engine)
            except la.LeastActionError as error:
                sheet.rows.append([name, type(engine).__name__, str(error).splitlines()[0], *[""] * 4, *peer])
                worst["goal off"] = math.inf
                continue
            sheet.rows.append([name, type(engine).__name__, *row, *peer])
            worst = {what: max(x, new) for (what, x), new in zip(worst.items(), row[2:], strict=True)}
        progress.done()
    report.sheets.append(sheet)
    for (what, value), bound in zip(worst.items(), (CREEP, DEPTH, DONE), strict=True):
        report.requirements.append(Requirement(f"{what}, largest", value, bound))
    return report
