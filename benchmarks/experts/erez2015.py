"""Erez, Tassa, Todorov 2015: planar chain, humanoid, the grasp of a capsule at growing steps, 27 capsules."""

import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import leastaction as la
from benchmarks import manipulation
from benchmarks.experts import bodies, robots
from benchmarks.experts.bodies import Body, Scene
from benchmarks.menagerie import installed_mujoco, written_model
from benchmarks.races import engines
from benchmarks.report import Report, Sheet, judged
from leastaction.mechanism import Capsule

STEPS = (1e-3, 2e-3, 4e-3, 8e-3, 16e-3, 32e-3)
TINY = 2.5e-4
"""Step of the run that each engine is compared with [s]."""

HELD = 1e-3
"""How far a thing that is held may slip in its hand in the second half of a second [m]."""

NOTES = f"""After Erez, Tassa and Todorov, "Simulation tools for model-based robotics" (ICRA 2015). Consistency: \
difference between an engine's result and its own result at {1e3 * TINY:g} ms after 1 s (chain of 5 links on hinges) \
or 0.5 s (humanoid of 36 degrees of freedom in flight), as the largest distance of a centre of mass. Ours are \
`Galerkin(4)` and `Maximal()`. Drift: the humanoid without gravity and contact, from random velocities, for 2 s: \
energy and angular momentum relative to their values at the start. Grasp: two fingers with 20 N lift a capsule of 0.2 \
kg at growing steps; it counts as held if it ends within 1 cm of its target and slips by less than {1e3 * HELD:g} mm \
in the last half second. Their arm of 35 degrees of freedom is not public; this is the gripper of the benchmark \
`manipulation`. Capsules: 3³ of them fall on a heap, 1.5 s: largest penetration into the ground, and largest energy \
above that of the start, relative to it. Peers run with their defaults."""


def random_state(robot: Any, size: float, seed: int = 0):
    """A posture near home, with velocities of joints of up to `size` [rad/s]; the trunk rests."""
    rng = np.random.default_rng(seed)
    q, v = robot.home(), np.zeros(robot.nv)
    for joint in robot.joints:
        if joint.nv == 1:
            q[robot.coordinate_index(joint.name)] += rng.uniform(-0.3, 0.3)
            v[robot.velocity_index(joint.name)] = size * rng.uniform(-1.0, 1.0)
    return q, v


def tree(robot: Any, gravity: bool = True) -> Any:
    """Without losses and limits of joints, which engines treat each in their way."""
    from benchmarks.races.trees import bare

    made = bare(robot)
    return made if gravity else made.replace(gravity=(0.0, 0.0, 0.0))


def runners() -> dict[str, Any]:
    """Contenders without contact, as those of races."""
    found: dict[str, Any] = {
        "Galerkin(4)": lambda *a: engines.Ours(*a, la.Galerkin(order=4)),
        "Maximal": lambda *a: engines.Ours(*a, la.Maximal()),
    }
    for kind in ("implicitfast", "discrete", "RK4"):
        found[f"MuJoCo {kind}"] = lambda *a, k=kind: engines.Mujoco(*a, k)
    found["Drake discrete"] = lambda *a: engines.Drake(*a, "discrete")
    found["PyBullet"] = engines.PyBullet
    gone = engines.missing()
    return {name: make for name, make in found.items() if name.split()[0] not in gone}


def consistency(progress, name: str, robot: Any, start, duration: float, steps=STEPS) -> Sheet:
    """Of all engines."""
    sheet = Sheet(
        f"{name}: distance from itself at {1e3 * TINY:g} ms [m]", ["engine", *(f"{1e3 * h:g} ms" for h in steps)]
    )
    q, v = start
    for engine, make in runners().items():
        progress.next(f"{name}, {engine}")
        progress.done()
        try:
            fine = make(robot, q, v, TINY, round(duration / TINY)).end()
            row = []
            for h in steps:
                count = round(duration / h)
                row.append(float(np.abs(make(robot, q, v, duration / count, count).end() - fine).max()))
            sheet.rows.append([engine, *row])
        except (RuntimeError, ValueError, la.LeastActionError) as error:
            sheet.rows.append(
                [engine, (str(error) or type(error).__name__).partition("\n")[0][:100], *["–"] * (len(steps) - 1)]
            )
    return sheet


def drift(progress, steps=STEPS) -> tuple[Sheet, dict[str, float]]:
    """Energy and angular momentum of the humanoid without gravity."""
    robot = tree(la.robots.get("humanoid_tree"), gravity=False)
    q, v = random_state(robot, 3.0)
    columns = ["engine", "figure", *(f"{1e3 * h:g} ms" for h in steps)]
    sheet, worst = Sheet("Humanoid without gravity: largest change relative to the start", columns), {}
    task = robots.Task(robot, robot, q, v, ground=False)
    every = {"Galerkin(4)": robots.ours(la.Galerkin(order=4)), "Maximal": robots.ours(la.Maximal())}
    if installed_mujoco() is not None:
        every |= {f"MuJoCo {kind}": robots.mujoco(kind) for kind in ("implicitfast", "discrete", "RK4")}
    for engine, walk in every.items():
        progress.next(f"drift, {engine}")
        progress.done()
        rows: list[list] = [[engine, "energy"], [engine, "angular momentum"]]
        for h in steps:
            try:
                E, _, L = robots.quantities(robot, walk(task, h, round(2.0 / h)))
                found = [float(np.abs(E / E[0] - 1.0).max())]
                found.append(float(np.linalg.norm(L - L[0], axis=1).max() / np.linalg.norm(L[0])))
            except (bodies.FailureError, la.LeastActionError):
                found = ["failed", "failed"]
            for row, x in zip(rows, found, strict=True):
                row.append(x)
        sheet.rows += rows
        worst[engine] = max((x for x in rows[1][2:] if isinstance(x, float)), default=math.inf)
    return sheet, worst


def capsule_grasp() -> manipulation.Scene:
    """The gripper of `manipulation` lifts a lying capsule and holds it."""
    builder = manipulation._builder("grasp")
    manipulation._gripper(builder)
    mass, radius, length = 0.2, 0.02, 0.06
    moments = tuple(np.diag(Capsule(radius, length).inertia(mass=mass).matrix)[[0, 2, 1]])
    builder.body("cube", mass=mass, inertia=moments)
    builder.free("cube")
    lying = la.mechanism.Pose((0, 0, 0), (math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0))
    builder.add_shape("cube", Capsule(radius, length, pose=lying, friction=manipulation.FRICTION))
    builder.home({"cube_free.z": radius})
    up = [0, 0.1, 0, *manipulation.CLOSED]
    ramps = [[0, 0, 0, 0, 0], [0, 0, 0, *manipulation.CLOSED], up]
    hold = manipulation._in("palm", "cube")
    return manipulation.Scene(
        builder.build(), ramps, [0.0, 0.3, 1.0], hold, lambda X: float(X["cube"][2, 3]), (0.02, 0.12)
    )


def held(scene: manipulation.Scene, middle, end) -> tuple[float, bool]:
    """Slip in the hand over half a second [m], and whether it is still there."""
    slip = float(np.linalg.norm(np.array(scene.relative(end)) - scene.relative(middle)))
    return slip, bool(abs(scene.measure(end) - scene.goal[1]) < 0.01)


def ramps(scene: manipulation.Scene, dt: float) -> np.ndarray:
    """Controls of each step of 2 s, (steps, nu)."""
    t, points = dt * (np.arange(round(2.0 / dt)) + 0.5), np.array(scene.ramps, float)
    return np.column_stack([np.interp(t, scene.at, points[:, k]) for k in range(points.shape[1])])


def grasp(progress, steps) -> tuple[Sheet, dict[str, float]]:
    """Slip of the capsule at each step, and the largest step at which it is held."""
    scene = capsule_grasp()
    sheet = Sheet(
        "Grasp of a capsule: slip in 0.5 s [µm]", ["engine", *(f"{1e3 * h:g} ms" for h in steps), "held up to [ms]"]
    )
    best: dict[str, float] = {}
    every: dict[str, Any] = {"Maximal": la.Maximal(), "Minimal": la.Minimal()}
    mujoco = installed_mujoco()
    if mujoco is not None:
        every |= {f"MuJoCo {kind}": kind for kind in ("implicitfast", "discrete")}
    for engine, kind in every.items():
        progress.next(f"grasp, {engine}")
        progress.done()
        row, last = [], 0.0
        for h in steps:
            try:
                at = grasped(mujoco, scene, kind, h)
                slip, there = held(scene, *at)
                row.append(1e6 * slip if there else "dropped")
                last = h if there and slip < HELD else last
            except la.LeastActionError:
                row.append("failed")
        best[engine] = last
        sheet.rows.append([engine, *row, 1e3 * last])
    return sheet, best


def grasped(mujoco: Any, scene: manipulation.Scene, kind: Any, dt: float):
    """Poses half a second before the end, and there."""
    u = ramps(scene, dt)
    half = len(u) - round(0.5 / dt)
    if not isinstance(kind, str):
        run = la.simulate(scene.robot, controls=u, dt=dt, steps=len(u), integrator=kind)
        return [dict(zip(scene.robot.body_names, run.body_poses[k], strict=True)) for k in (half, -1)]
    with tempfile.TemporaryDirectory() as folder:
        model = written_model(mujoco, scene.robot, Path(folder) / "robot.xml")
    model.opt.integrator, model.opt.timestep = int(getattr(mujoco.mjtIntegrator, f"mjINT_{kind.upper()}")), dt
    data, at = mujoco.MjData(model), []
    mujoco.mj_resetDataKeyframe(model, data, 0)
    for k in range(len(u) + 1):
        if k in (half, len(u)):
            mujoco.mj_kinematics(model, data)
            at.append({name: manipulation._pose(data.body(name)) for name in scene.robot.body_names})
        if k < len(u):
            data.ctrl[:] = u[k]
            mujoco.mj_step(model, data)
    return at


def capsules() -> Scene:
    """27 capsules of 1 kg above the ground, turned at random."""
    rng = np.random.default_rng(0)
    found = []
    for k in range(27):
        turn = rng.normal(size=4)
        at = 0.35 * np.array([k % 3, k // 3 % 3, k // 9]) + [0.0, 0.0, 0.25]
        found.append(Body(bodies.Capsule(0.05, 0.2), 1.0, tuple(at), tuple(turn / np.linalg.norm(turn))))
    return Scene(found, friction=0.6)


def heap(progress, steps) -> tuple[Sheet, dict[str, float]]:
    """Depth in the ground and rise of the energy."""
    columns = ["engine", *(f"depth [mm], {1e3 * h:g} ms" for h in steps), "energy, largest rise", "µs a step"]
    sheet, worst = Sheet("27 capsules", columns), {}
    scene = capsules()
    for engine, walk_of in bodies.engines().items():
        progress.next(f"capsules, {engine}")
        progress.done()
        row, rise, seconds = [], 0.0, math.nan
        for h in steps:
            try:
                walk = walk_of(scene, h, round(1.5 / h))
            except bodies.FailureError:
                row.append("failed")
                continue
            low = walk.x[..., 2] - 0.1 * np.abs(walk.turn[..., 2, 2]) - 0.05
            E = bodies.energy(scene, walk)
            row.append(max(0.0, -1e3 * float(low.min())))
            rise, seconds = max(rise, float(E.max() / E[0] - 1.0)), walk.seconds
        sheet.rows.append([engine, *row, rise, 1e6 * seconds])
        worst[engine] = max(math.inf if isinstance(x, str) else x for x in row)
    return sheet, worst


def run(progress, quick: bool = False) -> Report:
    """All tests and engines."""
    steps = STEPS[3:4] if quick else STEPS
    piled = (8e-3,) if quick else (2e-3, 8e-3)
    progress.total(2 * len(runners()) + 9 + len(bodies.engines()))
    report = Report("Erez, Tassa, Todorov 2015", NOTES, seeds=[0], missing=bodies.missing())
    chain = la.robots.pendulum(5)
    report.sheets.append(consistency(progress, "Planar chain", chain, random_state(chain, 0.0), 1.0, steps))
    humanoid = tree(la.robots.get("humanoid_tree"))
    report.sheets.append(consistency(progress, "Humanoid", humanoid, random_state(humanoid, 3.0), 0.5, steps))
    sheet, drifts = drift(progress, steps)
    report.sheets.append(sheet)
    mine, peer = (
        max(drifts["Galerkin(4)"], drifts["Maximal"]),
        max((x for name, x in drifts.items() if name.startswith("MuJoCo")), default=math.nan),
    )
    text = "Angular momentum of a free humanoid is kept to 1e-9 at steps of up to 32 ms."
    said = f"{mine:.2g}; MuJoCo up to {peer:.2g}."
    report.claims.append(judged("Momentum", text, said, mine < 1e-9, "See the table.", better=mine < peer))
    sheet, best = grasp(progress, steps)
    report.sheets.append(sheet)
    mine = min(best["Maximal"], best["Minimal"])
    peer = max((x for name, x in best.items() if name.startswith("MuJoCo")), default=math.nan)
    text = f"A capsule stays in the hand at steps of up to {1e3 * steps[-1]:g} ms."
    said = f"up to {1e3 * mine:g} ms; MuJoCo up to {1e3 * peer:g} ms."
    report.claims.append(judged("Grasp", text, said, mine >= steps[-1], "See the table.", better=mine > peer))
    sheet, depths = heap(progress, piled)
    report.sheets.append(sheet)
    mine = max(depths["Maximal"], depths["Minimal"])
    peer = min((x for name, x in depths.items() if name not in ("Maximal", "Minimal")), default=math.nan)
    text = "Capsules do not enter the ground, to 1 µm."
    told = ", ".join(f"{name}() {depths[name]:.2g} mm" for name in ("Maximal", "Minimal"))
    said = f"{told}; the best peer {peer:.2g} mm."
    why = "Where it says inf, a step at one of these lengths has not converged; see the table."
    report.claims.append(judged("Capsules", text, said, mine < 1e-3, why, better=mine < peer))
    return report
