"""Robots of Gymnasium on the ground with random torques: penetration against CPU time beside MuJoCo."""

import importlib.util
import warnings

import numpy as np

import leastaction as la
from benchmarks.flat_ground import peer_file
from benchmarks.races import course, engines

FILES, FEW = ("hopper", "walker2d", "half_cheetah", "ant", "humanoid"), ("hopper", "ant")
COUNTS, DURATION = (100, 200, 400, 800), 2.0
HOLD = 0.02
"""How long a torque is held [s]."""
SHARE = 0.3
SEEDS = (0, 1, 2)
ACCURACIES = (1e-2, 1e-3, 1e-6)
OURS = {"Minimal(2)": la.Minimal(), "Maximal(2)": la.Maximal()}

NOTES = f"""The robots of Gymnasium from their start pose, {DURATION:g} s, random torques within {SHARE} of the \
control range, each held for {HOLD:g} s, the same for all engines. Motions with contact are chaotic and soon diverge; \
the error is the largest penetration of a contact at any step [m]. MuJoCo: the same files with their own contact \
parameters. Pinocchio has no contacts, and Drake and PyBullet do not support all content of these files (tendons, \
gears, actuators), so they are not compared here."""


class Held:
    """Torques of a seed, as rows for any step."""

    def __init__(self, nu, seed):
        self.rows = np.random.default_rng(seed).uniform(-SHARE, SHARE, (round(DURATION / HOLD), nu))

    def __call__(self, dt, count):
        return self.rows[np.minimum((dt * np.arange(count) / HOLD + 1e-9).astype(int), len(self.rows) - 1)]


class Ours(engines.Planned):
    """One of our integrators."""

    def __init__(self, scene, dt, count, method):
        _, robot, held = scene
        self.rollout = engines.Rollout(robot, method, robot.home(), np.zeros(robot.nv), dt, count)
        self.rollout.controls[:] = held(dt, count)[:, None]
        self.again = {"dt": dt, "steps": count, "integrator": method, "controls": held(dt, count)}
        self.run, self.robot = self.rollout.run, robot

    def end(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = la.simulate(self.robot, self.robot.home(), **self.again).stored["contacts"]
        return np.array([max(1e-12, -float(rows[:, 9].min())) if len(rows) else 1e-12])


class Mujoco:
    """One of MuJoCo's integrators on the same file; `mujoco.rollout` runs its loop in C."""

    def __init__(self, scene, dt, count, integrator):
        import mujoco
        from mujoco import rollout

        path, _, held = scene
        self.mujoco, self.rollout, self.u = mujoco, rollout, held(dt, count)
        self.model = mujoco.MjModel.from_xml_path(str(path))
        self.model.opt.timestep = dt
        self.model.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
        self.data = mujoco.MjData(self.model)
        kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
        self.state = np.zeros(mujoco.mj_stateSize(self.model, kind))
        mujoco.mj_getState(self.model, self.data, self.state, kind)

    def run(self):
        self.rollout.rollout(self.model, self.data, self.state[None], self.u[None])

    def end(self):
        self.mujoco.mj_resetData(self.model, self.data)
        deepest = 1e-12
        for row in self.u:
            self.data.ctrl[:] = row
            self.mujoco.mj_step(self.model, self.data)
            deepest = max([deepest, *(-c.dist for c in self.data.contact[: self.data.ncon])])
        return np.array([deepest])


def run(progress, quick=False):
    """All robots and contenders."""
    files, counts, seeds = (FEW, COUNTS[1:2], SEEDS[:1]) if quick else (FILES, COUNTS, SEEDS)
    progress.total(len(files) * len(counts))
    makes = {name: (lambda s, q, v, dt, n, m=m: Ours(s, dt, n, m)) for name, m in OURS.items()}
    makes |= {f"MuJoCo {k}": (lambda s, q, v, dt, n, k=k: Mujoco(s, dt, n, k)) for k in engines.MUJOCO}
    races = course.Course(progress, makes, OURS, ACCURACIES)
    for name in files:
        path = peer_file(name)
        if path is None:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            robot = la.load(path)
        scenes = [(path, robot, Held(robot.nu, seed)) for seed in seeds]
        races.race_scenes(name, scenes, DURATION, counts, [np.zeros(1) for _ in scenes])
    report = races.report("Gymnasium's robots on the ground", NOTES, seeds, errors="")
    gone = ["Gymnasium"] if importlib.util.find_spec("gymnasium") is None else []
    report.missing = [*(peer for peer in report.missing if peer == "MuJoCo"), *gone]
    return report
