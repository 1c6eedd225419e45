"""Rigid contact and friction: what sinks in, creeps, gains energy; MuJoCo beside it; growth with the contacts."""

import math
import time

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

import leastaction as la
from benchmarks.report import Report, Requirement, Sheet
from benchmarks.rollouts import Rollout, load_note
from leastaction.mechanism import Box, MechanismBuilder, Plane, Pose, Sphere

DT = 0.01
EDGE, MU, G = 0.5, 0.5, 9.81
CHAINS, FEW = (10, 32, 100, 320, 1000), (10, 100, 320)
STEPS = 20
THROWS = 40

NOTES = f"""Steps of {DT} s. Cubes: {EDGE} m, 1 kg. MuJoCo: Euler, its default softness of contacts (solref, solimp), \
elliptic cones, mj_step in its own loop. Depth: largest penetration of the lowest corner. Chains of balls lie on the \
ground and slide sideways; CPU time of a step with all contacts, best of several runs."""


def cubes(count, friction=MU, slope=0.0):
    """Free cubes over a plane that goes down along x."""
    b = MechanismBuilder("cubes")
    for i in range(count):
        b.body(f"c{i}", mass=1.0, inertia=EDGE**2 / 6, shapes=Box((EDGE,) * 3, friction=friction))
        b.free(f"c{i}")
    b.add_shape("world", Plane(friction=friction, pose=Pose((0, 0, 0), turn(slope))))
    return b.build()


def turn(angle):
    return math.cos(angle / 2), 0.0, math.sin(angle / 2), 0.0


def chain(count):
    """Balls in a row, tied to each other by ball joints."""
    b = MechanismBuilder("chain")
    for i in range(count):
        b.body(f"s{i}", mass=1.0, shapes=Sphere(0.1, friction=MU))
        if i == 0:
            b.free("s0")
        else:
            b.spherical(f"j{i}", f"s{i - 1}", f"s{i}", position=(0.1, 0, 0), child_pose=Pose((0.1, 0, 0)))
    b.add_shape("world", Plane(friction=MU))
    return b.build()


def lowest(q):
    """Height of the lowest corner of all cubes at configurations (rows, 7 cubes)."""
    q = q.reshape(-1, 7)
    R = Rotation.from_quat(q[:, [4, 5, 6, 3]]).as_matrix()
    return float(np.min(q[:, 2] - 0.5 * EDGE * np.abs(R[:, 2]).sum(axis=1)))


def mujoco_cubes(heights, offsets=None):
    """MuJoCo's model of cubes at heights."""
    half, inertia = EDGE / 2, EDGE**2 / 6
    bodies = "".join(
        f'<body pos="0 0 {z}"><freejoint/><inertial pos="0 0 0" mass="1" diaginertia="{inertia} {inertia} {inertia}"/>'
        f'<geom type="box" size="{half} {half} {half}" friction="{MU}"/></body>'
        for z in heights
    )
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{DT}" integrator="Euler" cone="elliptic" gravity="0 0 {-G}"/><worldbody>'
        f'<geom type="plane" size="5 5 1" friction="{MU}"/>{bodies}</worldbody></mujoco>'
    )


def mujoco_run(model, steps):
    """Configurations (steps + 1, nq), and seconds a step."""
    data = mujoco.MjData(model)
    rows = [data.qpos.copy()]
    for _ in range(steps):
        mujoco.mj_step(model, data)
        rows.append(data.qpos.copy())
    best = math.inf
    for _ in range(5):
        mujoco.mj_resetData(model, data)
        began = time.perf_counter()
        mujoco.mj_step(model, data, nstep=steps)
        best = min(best, time.perf_counter() - began)
    return np.array(rows), best / steps


def our_run(robot, q, v, steps, integrator):
    """The run, and seconds a step."""
    run = la.simulate(robot, q, v, dt=DT, steps=steps, integrator=integrator)
    rollout = Rollout(robot, integrator, q, np.zeros(robot.nv) if v is None else v, DT, steps)
    return run, rollout.seconds(repeats=3, least=0.02)


def drop_and_stack(progress):
    """A cube dropped from 0.4 m, and ten stacked ones."""
    columns = ["scene", "engine", "deepest [mm]", "rest [mm]", "creep in 10 s [mm]", "step [µs]"]
    sheet, figures = Sheet("Sinking in", columns), {}
    scenes = (
        ("drop", [0.5 * EDGE + 0.4], 200),
        ("stack of ten", [EDGE * (i + 0.5) for i in range(10)], 1000),
    )
    for scene, heights, steps in scenes:
        robot = cubes(len(heights))
        q = np.concatenate([[0, 0, z, 1, 0, 0, 0] for z in heights])
        rest = np.array([EDGE * (i + 0.5) for i in range(len(heights))])
        for name, integrator in (
            ("Maximal(order=1)", la.Maximal(order=1)),
            ("Maximal()", la.Maximal()),
            ("MuJoCo", None),
        ):
            progress.next(f"{scene}, {name}")
            if integrator is None:
                rows, seconds = mujoco_run(mujoco_cubes(heights), steps)
            else:
                run, seconds = our_run(robot, q, None, steps, integrator)
                rows = run.q
            depth = max(0.0, -lowest(rows))
            off = np.abs(rows[-1, 2::7] - rest).max()
            creep = np.abs(rows[-1] - rows[0]).max() if scene != "drop" else math.nan
            figures[scene, name] = depth, off, creep
            sheet.rows.append([scene, name, 1e3 * depth, 1e3 * off, 1e3 * creep, 1e6 * seconds])
            progress.done()
    return sheet, figures


def tosses(progress, throws):
    """Cubes thrown with spin: what they gain and how deep they get."""
    columns = ["integrator", "cone", "throws", "deepest [m]", "largest rise in a step [J]", "most iterations"]
    sheet, worst = Sheet("Thrown cubes", columns), {}
    robot = cubes(1)
    for order in (1, 2):
        for friction in ("cone", "linear"):
            progress.next(f"order {order}, {friction}")
            rng = np.random.default_rng(0)
            depth = rise = 0.0
            most = 0
            for _ in range(throws):
                q = robot.normalize(np.concatenate([[0, 0, 1.0], rng.normal(size=4)]))
                v = np.concatenate([5 * rng.normal(size=3), 2 * rng.normal(size=3)])
                integrator = la.Maximal(order=order, friction=friction)
                run = la.simulate(robot, q, v, dt=DT, duration=4.0, integrator=integrator)
                depth, rise = max(depth, -lowest(run.q)), max(rise, np.diff(run.energy).max())
                most = max(most, int(run.iterations.max()))
            sheet.rows.append([f"Maximal(order={order})", friction, throws, depth, rise, most])
            worst[order, friction] = depth, rise
            progress.done()
    return sheet, worst


def slopes(progress):
    """Sliding down, sticking, and the way off of linearised cones."""
    sheet, figures = Sheet("Friction", ["what", "measured", "exact"]), {}
    for part in (0.9, 1.2):
        progress.next(f"slope, {part}")
        slope = part * math.atan(MU)
        robot = cubes(1, slope=slope)
        q = np.array([0.25 * math.sin(slope), 0, 0.25 * math.cos(slope), *turn(slope)])
        run = la.simulate(robot, q, dt=DT, duration=1.0, integrator=la.Maximal())
        moved = float((run.q[-1, :3] - q[:3]) @ [math.cos(slope), 0, -math.sin(slope)])
        exact = max(0.0, 0.5 * G * (math.sin(slope) - MU * math.cos(slope)))
        sheet.rows.append([f"slope {part} atan(mu), down in 1 s [m]", f"{moved:.6g}", f"{exact:.6g}"])
        figures[part] = abs(moved - exact)
        progress.done()
    robot = cubes(1)
    start, angle = np.array([0, 0, 0.25, 1, 0, 0, 0]), math.pi / 8
    v = np.array([0, 0, 0, 2 * math.cos(angle), 2 * math.sin(angle), 0])
    for name, settings in [("exact cone", {})] + [
        (f"{n} directions", {"friction": "linear", "n_directions": n}) for n in (4, 8, 16)
    ]:
        progress.next(name)
        x, y = la.simulate(robot, start, v, dt=DT, duration=1.5, integrator=la.Maximal(**settings)).q[-1, :2]
        off = math.degrees(math.atan2(y, x) - angle)
        sheet.rows.append([f"{name}: sliding distance [m]", f"{math.hypot(x, y):.6g}", f"{4 / (2 * MU * G):.6g}"])
        sheet.rows.append([f"{name}: off its way [deg]", f"{off:.3g}", "0"])
        figures[name] = abs(off)
        progress.done()
    return sheet, figures


def growth(progress, chains):
    """Time per step against the number of balls on the ground."""
    columns = ["balls", "step [µs]", "per ball [µs]", "iterations", "deepest [m]"]
    sheet, per_ball = Sheet("Growth with contacts", columns), []
    for count in chains:
        progress.next(f"{count} balls")
        robot = chain(count)
        q, v = robot.neutral(), np.zeros(robot.nv)
        q[2], v[4] = 0.1, 0.5
        rollout = Rollout(robot, la.Maximal(self_collision=False), q, v, DT, STEPS)
        rollout.run()
        times = []
        for _ in range(max(12, 3000 // count)):
            rollout.stepper.advance(rollout.record, 0, 1, rollout.controls[:1])  # places the bodies and plans the graph
            began = time.thread_time()
            reached = rollout.stepper.advance(rollout.record, 1, STEPS, rollout.controls[1:])
            times.append(time.thread_time() - began if reached == STEPS else math.nan)
        seconds = min(times) / (STEPS - 1)
        heights = rollout.record["rigid_poses"][:, :, 2]
        iterations = float(rollout.record["iterations"][1:].mean())
        per_ball.append(1e6 * seconds / count)
        sheet.rows.append([count, 1e6 * seconds, per_ball[-1], iterations, float(max(0.0, 0.1 - heights.min()))])
        progress.done()
    return sheet, per_ball, max(row[4] for row in sheet.rows)


def run(progress, quick=False) -> Report:
    """All tables."""
    chains, throws = (FEW, THROWS // 8) if quick else (CHAINS, THROWS)
    progress.total(6 + 4 + 6 + len(chains))
    note = load_note()
    first, sunk = drop_and_stack(progress)
    second, gained = tosses(progress, throws)
    third, friction = slopes(progress)
    fourth, per_ball, depth = growth(progress, chains)
    ours = [sunk[key] for key in sunk if key[1] != "MuJoCo"]
    far = per_ball[chains.index(100) :]
    requirements = [
        Requirement("deepest of dropped and stacked cubes [m]", max(x[0] for x in ours), 1e-6),
        Requirement("rest of the dropped cube off the plane [m]", max(x[1] for x in ours), 1e-4),
        Requirement(
            "creep of a stack in 10 s [m]",
            max(x[2] for key, x in sunk.items() if key[0] != "drop" and key[1] != "MuJoCo"),
            1e-6,
        ),
        Requirement("deepest of thrown cubes [m]", max(x[0] for x in gained.values()), 1e-6),
        Requirement(
            "rise of the energy of thrown cubes, order 1 [J]", max(gained[1, c][1] for c in ("cone", "linear")), 1e-8
        ),
        Requirement("sliding where friction holds [m]", friction[0.9], 1e-5),
        Requirement("sliding down off the closed form [m]", friction[1.2], DT**2),
        Requirement("exact cone off its way [deg]", friction["exact cone"], 1e-4),
        Requirement("deepest of chains of balls [m]", depth, 1e-6),
        Requirement(f"time per ball, most over least, 100 to {chains[-1]}", max(far) / min(far), 1.15),
    ]
    return Report("Rigid contact and friction", f"{NOTES} {note}", [first, second, third, fourth], requirements)
