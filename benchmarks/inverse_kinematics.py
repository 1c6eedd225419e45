"""Inverse kinematics of ten arms within limits: ours, Pinocchio's loop and mink, of one file, from the same starts."""

import importlib
import math
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import leastaction as la
from benchmarks.arms import ARMS, arm
from benchmarks.report import Measure, Report, Requirement, Sheet
from benchmarks.rollouts import load_note

SEED, GOALS, STARTS, TOLERANCE, REACHED = 0, 40, 21, 1e-8, 1e-6
OURS = "solve_ik"

NOTES = f"""Goals are the poses of the tool in random configurations within the limits. All read one MJCF file, which \
the library writes, and start in the middle of the limits, then in the same random configurations, {STARTS} in all, \
until the error's norm is at most {TOLERANCE:g}. Results are checked with MuJoCo's kinematics: a goal counts as \
reached within {REACHED:g} m, {REACHED:g} rad and the limits. Pinocchio has no solver, but its documentation shows an \
iteration: damped least squares on log6, steps of dt 0.1 (up to 1000 from a start), damping 1e-12; here joints are \
clamped to their limits after each step. With dt 1 (up to 100 steps) these are Gauss-Newton steps, with damping 1e-6. \
mink: a FrameTask with costs 1 and lm_damping 1e-6, as in some of its examples, or 1e-2, the best of 1e-6, 1e-3, 1e-2, \
0.1 and 1 on other goals; `ConfigurationLimit`, DAQP, up to 100 steps from a start. Times: CPU time of a goal, all \
starts together."""

Solve = Callable[[np.ndarray, list[np.ndarray]], tuple[np.ndarray, int]]
"""From a goal, shape (4, 4), and starts, shape (nq,) each: the last configuration, and how many starts were tried."""


@dataclass
class Case:
    """An arm, its file, and MuJoCo's view of it, which judges all."""

    robot: la.Mechanism
    path: Path
    goals: list[np.ndarray]
    starts: list[list[np.ndarray]]

    def __post_init__(self) -> None:
        import mujoco

        self.engine = mujoco
        self.model = mujoco.MjModel.from_xml_path(str(self.path))
        self.data = mujoco.MjData(self.model)

    def pose(self, q: np.ndarray) -> np.ndarray:
        """World from the tool, as MuJoCo sees it."""
        self.data.qpos[:] = q
        self.engine.mj_kinematics(self.model, self.data)
        site, X = self.data.site("tool"), np.eye(4)
        X[:3, :3], X[:3, 3] = site.xmat.reshape(3, 3), site.xpos
        return X

    def errors(self, q: np.ndarray, goal: np.ndarray) -> tuple[float, float, float]:
        """Distances from the goal [m, rad], and beyond the limits [rad or m]."""
        X, (low, high) = self.pose(q), self.model.jnt_range.T
        R = X[:3, :3].T @ goal[:3, :3]
        sine = np.linalg.norm([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / 2.0
        turn = float(np.arctan2(sine, (np.trace(R) - 1.0) / 2.0))
        over = float(np.maximum(low - q, q - high).max(initial=0.0))
        return float(np.linalg.norm(X[:3, 3] - goal[:3, 3])), turn, over


def case_of(name: str, goals: int, seed: int, folder: Path) -> Case:
    """An arm as its file shows it, goals and starts."""
    path = folder / f"{name.replace(' ', '_')}.xml"
    la.formats.save_mjcf(arm(name), path)
    robot = la.load(path)
    low, high = (np.array([x for joint in robot.joints for x in getattr(joint, end)]) for end in ("lower", "upper"))
    rng = np.random.default_rng([seed, list(ARMS).index(name)])
    middle, starts = 0.5 * (low + high), []
    for k in range(goals):
        own = np.random.default_rng(k)  # as `solve_ik` draws them
        starts.append([middle, *(robot.random_configuration(own) for _ in range(STARTS - 1))])
    case = Case(robot, path, [], starts)
    case.goals = [case.pose(rng.uniform(low, high)) for _ in range(goals)]
    return case


def ours(case: Case) -> Solve:
    """`solve_ik`; its starts are those of its seed, its tolerance is that of each entry."""
    seeds = iter(range(len(case.goals)))

    def solve(goal, starts):
        task = la.kinematics.reach_pose("tool", goal)
        found = la.kinematics.solve_ik(
            case.robot, task, starts[0], tolerance=TOLERANCE / math.sqrt(3.0), restarts=STARTS - 1, seed=next(seeds)
        )
        return found.q, found.starts

    return solve


def pinocchio(case: Case, dt: float, damping: float, most: int) -> Solve:
    """The loop of Pinocchio's documentation ("Inverse kinematics"), with joints put back to their limits."""
    import pinocchio as pin

    model = pin.buildModelFromMJCF(str(case.path))
    data, tool = model.createData(), model.getFrameId("tool")
    low, high = model.lowerPositionLimit, model.upperPositionLimit
    identity = damping * np.eye(6)

    def descend(target: Any, q: np.ndarray) -> tuple[np.ndarray, bool]:
        for _ in range(most):
            pin.framesForwardKinematics(model, data, q)
            toward = data.oMf[tool].actInv(target)
            error = pin.log6(toward).vector
            if np.linalg.norm(error) <= TOLERANCE:
                return q, True
            J = -pin.Jlog6(toward.inverse()) @ pin.computeFrameJacobian(model, data, q, tool, pin.LOCAL)
            v = -J.T @ np.linalg.solve(J @ J.T + identity, error)
            q = np.clip(pin.integrate(model, q, v * dt), low, high)
        return q, False

    return from_many(lambda goal: pin.SE3(goal), descend)


def mink(case: Case, damping: float) -> Solve:
    """Steps of mink until the error of its task is small; `damping` is its `lm_damping`."""
    import mink

    configuration = mink.Configuration(case.model)
    limits = [mink.ConfigurationLimit(case.model)]
    task = mink.FrameTask("tool", "site", position_cost=1.0, orientation_cost=1.0, lm_damping=damping)

    def target(goal: np.ndarray) -> None:
        task.set_target(mink.SE3.from_matrix(goal))

    def descend(_: None, q: np.ndarray) -> tuple[np.ndarray, bool]:
        configuration.update(q)
        for _ in range(100):
            if np.linalg.norm(task.compute_error(configuration)) <= TOLERANCE:
                return configuration.q, True
            try:
                v = mink.solve_ik(configuration, [task], 1.0, "daqp", limits=limits)
            except mink.NoSolutionFound:
                break
            configuration.integrate_inplace(v, 1.0)
        return configuration.q, bool(np.linalg.norm(task.compute_error(configuration)) <= TOLERANCE)

    return from_many(target, descend)


def from_many(target: Callable[[np.ndarray], Any], descend: Callable[[Any, np.ndarray], tuple[np.ndarray, bool]]):
    """One start after the other, until one reaches the goal."""

    def solve(goal, starts):
        wanted, q = target(goal), starts[0]
        for k, start in enumerate(starts):
            q, found = descend(wanted, start.copy())
            if found:
                return q, k + 1
        return q, len(starts)

    return solve


CONTENDERS: dict[str, tuple[str | None, Callable[[Case], Solve]]] = {
    OURS: (None, ours),
    "Pinocchio, dt 0.1": ("pinocchio", lambda case: pinocchio(case, 0.1, 1e-12, 1000)),
    "Pinocchio, dt 1": ("pinocchio", lambda case: pinocchio(case, 1.0, 1e-6, 100)),
    "mink, 1e-6": ("mink", lambda case: mink(case, 1e-6)),
    "mink, 1e-2": ("mink", lambda case: mink(case, 1e-2)),
}
"""Package and solver of each."""


@dataclass
class Tally:
    """What one contender did on one arm."""

    reached: np.ndarray
    at_once: np.ndarray
    position: float
    rotation: float
    seconds: np.ndarray


def tally(case: Case, make: Callable[[Case], Solve]) -> Tally:
    """All goals of a case."""
    warm = make(case)
    warm(case.goals[0], case.starts[0])
    solve, rows = make(case), []
    for goal, starts in zip(case.goals, case.starts, strict=True):
        began = time.process_time()
        q, tried = solve(goal, starts)
        spent = time.process_time() - began
        position, rotation, over = case.errors(q, goal)
        reached = max(position, rotation) <= REACHED and over <= 1e-9
        rows.append((reached, reached and tried == 1, position, rotation, spent))
    reached, at_once, position, rotation, seconds = (np.array(x) for x in zip(*rows, strict=True))
    return Tally(reached, at_once, *(float(x[reached].max(initial=0.0)) for x in (position, rotation)), seconds)


def racers() -> tuple[dict[str, Callable[[Case], Solve]], list[str]]:
    """Those whose packages are installed, and packages that are not."""
    found, missing = {}, []
    for name, (package, make) in CONTENDERS.items():
        try:
            importlib.import_module(package or "leastaction")
            found[name] = make
        except ImportError:
            missing.append(str(package))
    return found, sorted(set(missing))


def run(progress, quick=False) -> Report:
    """Goals, errors and times of all arms."""
    makers, missing = racers()
    count = 5 if quick else GOALS
    found: dict[str, dict[str, Tally]] = {}
    progress.total(len(ARMS) * len(makers))
    with tempfile.TemporaryDirectory() as folder:
        for name in ARMS:
            case = case_of(name, count, SEED, Path(folder))
            found[name] = {}
            for who, make in makers.items():
                progress.next(f"{name}, {who}")
                found[name][who] = tally(case, make)
                progress.done()
    return report_of(found, list(makers), count, missing)


def report_of(found: dict[str, dict[str, Tally]], who: list[str], count: int, missing: list[str]) -> Report:
    """Tables of all tallies."""
    goals = Sheet(f"Goals reached, of {count}", ["arm", *who])
    first = Sheet(f"Goals reached from the first start, of {count}", ["arm", *who])
    times = Sheet("CPU time of a goal [ms]: mean (median)", ["arm", *who])
    for name, row in found.items():
        goals.rows.append([name, *(int(row[w].reached.sum()) for w in who)])
        first.rows.append([name, *(int(row[w].at_once.sum()) for w in who)])
        spent = [1e3 * row[w].seconds for w in who]
        times.rows.append([name, *(f"{x.mean():.3g} ({np.median(x):.3g})" for x in spent)])
    for sheet in (goals, first):
        sheet.rows.append(["all", *(int(sum(row[k + 1] for row in sheet.rows)) for k in range(len(who)))])
    everything = {w: np.concatenate([row[w].seconds for row in found.values()]) for w in who}
    spent = [1e3 * everything[w] for w in who]
    times.rows.append(["all", *(f"{x.mean():.3g} ({np.median(x):.3g})" for x in spent)])
    errors = Sheet("Largest errors of goals that were reached", ["", "position [m]", "rotation [rad]"])
    for w in who:
        errors.rows.append([w, *(max(getattr(row[w], x) for row in found.values()) for x in ("position", "rotation"))])
    lost = sum(
        int((np.logical_or.reduce([row[w].reached for w in who]) & ~row[OURS].reached).sum()) for row in found.values()
    )
    worst = max(max(row[OURS].position, row[OURS].rotation) for row in found.values())
    missed = sum(int((~row[OURS].reached).sum()) for row in found.values())
    return Report(
        "Inverse kinematics",
        f"{NOTES} {load_note()}",
        [goals, first, errors, times],
        [
            Requirement("goals that a peer reaches and solve_ik does not", lost, 0),
            Requirement("largest error of solve_ik where it reaches a goal [m or rad]", worst, 1e-7),
        ],
        measures=[
            Measure("goals missed by solve_ik", "count", [missed]),
            Measure("mean time of solve_ik", "time", [float(everything[OURS].mean())]),
        ],
        seeds=[SEED],
        missing=missing,
    )
