"""Robots on flat ground in joint coordinates: `Minimal` beside `Maximal` and MuJoCo."""

import importlib.util
import time
import warnings
from pathlib import Path
from statistics import median

import numpy as np

import leastaction as la
from benchmarks.report import Report, Requirement, Sheet

DT, COUNT, SEEDS = 0.005, 1000, (0, 1, 2)
FILES = ("hopper", "walker2d", "half_cheetah", "ant", "humanoid")
DROPPED = {"unitree_a1": 0.6, "littledog": 0.4, "nao": 0.6, "atlas": 1.5}

NOTES = f"""Steps of {DT} s, medians over seeds {SEEDS}, CPU time; MuJoCo runs `mujoco.rollout` on the same file with \
its default integrator and solver. Files: the robots of Gymnasium from their start pose, {COUNT} steps \
with random torques within 0.3 of the control range. Drops: the zoo's robots in random postures and \
orientations, {COUNT // 4} steps. \
Gain: largest rise of the energy in a step without controls, relative to the largest kinetic energy. \
Penetration: the deepest of any contact [m]."""


def peer_file(name):
    """Path of a robot of Gymnasium, None where it is not installed."""
    found = importlib.util.find_spec("gymnasium")
    if found is None or found.origin is None:
        return None
    path = Path(found.origin).parent / "envs" / "mujoco" / "assets" / f"{name}.xml"
    return path if path.exists() else None


def timed(robot, integrator, q, count, u=None):
    """The run, quietly, and its CPU time per step [us]; None where it fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        controls = None if u is None else u[:2]
        la.simulate(robot, q, dt=DT, steps=2, integrator=integrator, controls=controls)
        before = time.process_time()
        try:
            run = la.simulate(robot, q, dt=DT, steps=count, integrator=integrator, controls=u)
        except la.ConvergenceError:
            return None, np.inf
    return run, 1e6 * (time.process_time() - before) / count


def mujoco_time(path, u):
    """CPU time per step [us] of MuJoCo and its deepest penetration [m]."""
    import mujoco
    from mujoco import rollout

    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.timestep = DT
    data, state = mujoco.MjData(model), None
    state = np.zeros(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
    mujoco.mj_getState(model, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    times = []
    for _ in range(3):
        before = time.process_time()
        rollout.rollout(model, mujoco.MjData(model), state[None], u[None])
        times.append(1e6 * (time.process_time() - before) / len(u))
    deepest = 0.0
    for row in u:
        data.ctrl[:] = row
        mujoco.mj_step(model, data)
        deepest = max([deepest, *(-c.dist for c in data.contact[: data.ncon])])
    return min(times), deepest


def deepest(run):
    """Of a run's contacts [m]."""
    rows = run.stored["contacts"]
    return max(0.0, -float(rows[:, 9].min())) if len(rows) else 0.0


def files(report, steps, seeds, count):
    """The robots of Gymnasium."""
    columns = ["robot", "Minimal µs", "Maximal µs", "MuJoCo µs", "Minimal / MuJoCo", "iterations", "divided"]
    sheet = Sheet("Files of Gymnasium", [*columns, "penetration", "MuJoCo's"])
    report.sheets.append(sheet)
    for name in FILES:
        steps.next(name)
        path = peer_file(name)
        if path is None:
            report.notes += f"\n{name}: Gymnasium is not installed."
            steps.done()
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            robot = la.load(path)
        own, other, peer, deep = [], [], [], []
        for seed in seeds:
            u = np.random.default_rng(seed).uniform(-0.3, 0.3, (count, robot.nu))
            run, spent = timed(robot, la.Minimal(), robot.home(), count, u)
            own.append((spent, run.iterations.mean(), int((run.stored["divided"] > 0).sum()), deepest(run)))
            other.append(timed(robot, la.Maximal(), robot.home(), count, u)[1])
            spent, depth = mujoco_time(path, u)
            peer.append(spent)
            deep.append(depth)
        ours, iterations, divided, depth = (median(x) for x in zip(*own, strict=True))
        ratio = median(a[0] / b for a, b in zip(own, peer, strict=True))
        row = [name, ours, median(other), median(peer), ratio, float(iterations), divided, max(x[3] for x in own)]
        sheet.rows.append([*row, max(deep)])
        report.requirements.append(Requirement(f"{name}: Minimal over MuJoCo", ratio, 4.0))
        report.requirements.append(Requirement(f"{name}: penetration [m]", depth, 1e-6))
        steps.done()


def fallen(name, robot, seed):
    """A random posture and orientation over the ground."""
    rng = np.random.default_rng(seed)
    q, turn = robot.neutral(), rng.normal(size=4)
    q[2], q[3:7] = DROPPED[name], turn / np.linalg.norm(turn)
    joints = [joint for joint in robot.joints if joint.nq == joint.nv]
    lower, upper = (np.concatenate([getattr(joint, side) for joint in joints]) for side in ("lower", "upper"))
    q[7:] = rng.uniform(np.clip(lower, -1.0, 1.0), np.clip(upper, -1.0, 1.0))
    return q, lower, upper


def drops(report, steps, seeds, count):
    """The zoo's robots, thrown on the ground."""
    sheet = Sheet(
        "Drops", ["robot", "Minimal µs", "Maximal µs", "iterations", "divided", "gain", "beyond limits", "penetration"]
    )
    report.sheets.append(sheet)
    for name in DROPPED:
        steps.next(name)
        robot = getattr(la.robots, name)(ground=True)
        own, other = [], []
        for seed in seeds:
            q, lower, upper = fallen(name, robot, seed)
            run, spent = timed(robot, la.Minimal(), q, count // 4)
            gain = float(np.diff(run.energy).max() / run.kinetic_energy.max())
            beyond = float(max((lower - run.q[:, 7:]).max(), (run.q[:, 7:] - upper).max(), 0.0))
            own.append(
                (spent, run.iterations.mean(), int((run.stored["divided"] > 0).sum()), gain, beyond, deepest(run))
            )
            other.append(timed(robot, la.Maximal(self_collision=False), q, count // 4)[1])
        spent, iterations, divided, gain, beyond, depth = zip(*own, strict=True)
        row = [name, median(spent), median(other), float(median(iterations)), sum(divided)]
        sheet.rows.append([*row, max(gain), max(beyond), max(depth)])
        report.requirements.append(Requirement(f"{name}: rise of the energy", max(gain), 1e-3))
        report.requirements.append(Requirement(f"{name}: beyond limits [rad]", max(beyond), 1e-6))
        steps.done()


def run(steps, quick=False) -> Report:
    """All robots; quick: one seed."""
    seeds, count = SEEDS[:1] if quick else SEEDS, COUNT
    report = Report("Robots on flat ground", NOTES)
    steps.total(len(FILES) + len(DROPPED))
    files(report, steps, seeds, count)
    drops(report, steps, seeds, count)
    return report
