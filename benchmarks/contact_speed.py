"""Speed with contact: robots that fall, piles that come to rest and a robot that stands, beside MuJoCo's same file."""

import tempfile
import time
import warnings
import zlib
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any

import numpy as np

import leastaction as la
from benchmarks import foreign_run
from benchmarks.foreign_robots import files
from benchmarks.many_robots import sprung_quadruped, standing
from benchmarks.report import Measure, Report, Requirement, Sheet
from benchmarks.rollouts import Rollout, load_note
from leastaction.mechanism import Box, Capsule, Mechanism, MechanismBuilder, Plane, Sphere

DT, DURATION, WINDOW = 0.005, 5.0, 100
COUNT, HOLD = round(DURATION / DT), 20
"""Steps, and for how many of them torques are held."""
REPEATS, LONG_RUN = 3, 1.0
"""How often runs are repeated that take less CPU time than this [s]."""

GYMNASIUM = ("ant", "half_cheetah", "hopper", "humanoid", "humanoidstandup", "pusher_v5", "swimmer", "walker2d_v5")
SUITE = ("cheetah", "dog", "finger", "fish", "hopper", "humanoid", "humanoid_CMU", "manipulator", "quadruped")
SUITE = (*SUITE, "stacker", "swimmer", "walker")
FEW = ("gymnasium hopper", "dm_control humanoid")
BODIES, SIZE = 20, 0.1

ROBOT, PILE, REST = 4.0, 8.0, 3.0
"""Most that a step of `Maximal` may take, in steps of MuJoCo: of robots, of piles, of a robot that stands."""

NOTES = f"""Steps of {DT} s over {DURATION:g} s, CPU time of the compiled loop; medians over windows of {WINDOW} \
steps, of each the least of {REPEATS} runs (of one where that takes more than {LONG_RUN:g} s). Robots: the files of \
Gymnasium and of dm_control's suite with contacts, on the ground, with random torques held constant for {HOLD} steps, \
as in `foreign_robots`; the same torques for MuJoCo, with the contact parameters and solver of the file. Piles: \
{BODIES} balls, boxes of {2 * SIZE} m, or balls, boxes and capsules alternately, that fall on each other. Standing: \
the A1 on joint springs, dropped by a few millimetres. MuJoCo gets these two as MJCF written by the library. Depth: \
largest penetration, except of pairs that overlap at the start [m]."""


@dataclass
class Case:
    """A scene: a robot, its start, torques (windows of HOLD steps, nu), MuJoCo's model or None, and the bound."""

    name: str
    robot: Mechanism
    q: np.ndarray
    u: np.ndarray
    model: Any
    bound: float


def mujoco_of(robot: Any, path: Path | None) -> Any:
    """MuJoCo's model of a file, or of a robot as MJCF; None where MuJoCo is not installed."""
    try:
        import mujoco
    except ImportError:
        return None
    with tempfile.TemporaryDirectory() as folder:
        if path is None:
            path = Path(folder) / "scene.xml"
            la.formats.save_mjcf(robot, path)
        return mujoco.MjModel.from_xml_path(str(path))


def robot_of(name: str, path: Path) -> Case:
    """A robot of a file."""
    robot = foreign_run.load(path)
    q = foreign_run.start(robot)
    rng = np.random.default_rng(zlib.crc32(path.name.encode()))
    u = rng.uniform(-1.0, 1.0, (COUNT // HOLD, robot.nu)) * foreign_run.strengths(robot, q)
    return Case(name, robot, q, u, mujoco_of(None, path), ROBOT)


def still(name: str, robot: Mechanism, q: np.ndarray, bound: float) -> Case:
    """A scene without torques."""
    return Case(name, robot, q, np.zeros((COUNT // HOLD, robot.nu)), mujoco_of(robot, None), bound)


def pile(kinds: tuple[str, ...]) -> Case:
    """Bodies in layers of four, a little apart, of these kinds in turns."""
    rng, b = np.random.default_rng(0), MechanismBuilder("pile")
    shapes = {
        "balls": Sphere(SIZE),
        "boxes": Box((2.0 * SIZE, 2.0 * SIZE, 2.0 * SIZE)),
        "capsules": Capsule(0.6 * SIZE, SIZE),
    }
    for k in range(BODIES):
        b.body(f"b{k}", mass=1.0, inertia=0.4 * SIZE**2, shapes=shapes[kinds[k % len(kinds)]])
        b.free(f"b{k}")
    b.add_shape("world", Plane())
    k, q = np.arange(BODIES), np.zeros((BODIES, 7))
    q[:, :3] = np.stack([(k % 2) - 0.5, (k // 2 % 2) - 0.5, k // 4 + 0.6], axis=1) * 2.4 * SIZE
    q[:, :3] += rng.uniform(-0.15, 0.15, (BODIES, 3)) * SIZE
    q[:, 3] = 1.0
    return still(f"{BODIES} {', '.join(kinds)}", b.build(), q.ravel(), PILE)


def cases(quick: bool):
    """(name, function that makes the case, or None where a package is missing)."""
    paths, _ = files()
    for package, folder, names in (("gymnasium", "mujoco", GYMNASIUM), ("dm_control", "suite", SUITE)):
        for file in names:
            name, path = f"{package} {file}", paths.get(f"{package}/{folder}/{file}.xml")
            if not quick or name in FEW:
                yield name, path and (lambda n=name, p=path: robot_of(n, p))
    for kinds in (("balls",),) if quick else (("balls",), ("boxes",), ("balls", "boxes", "capsules")):
        yield f"{BODIES} {', '.join(kinds)}", lambda kinds=kinds: pile(kinds)
    dog = sprung_quadruped()
    yield "A1, standing", lambda: still("A1, standing", dog, standing(dog, 1)[0][0], REST)


class Ours:
    """One of our integrators."""

    def __init__(self, case: Case, integrator):
        self.run = Rollout(case.robot, integrator, case.q, np.zeros(case.robot.nv), DT, COUNT)
        self.run.controls[:] = np.repeat(case.u, HOLD, axis=0)[:, None]
        stepper, record = self.run.stepper, self.run.record
        record["q"][0] = stepper.prepare_start(stepper.clear_start(record["q"][0]))
        self.run.run(2)  # compiles

    def windows(self) -> list[float]:
        """CPU time of a step in each window [s]."""
        out = []
        self.run.stepper.clear_contacts()
        for k in range(0, COUNT, WINDOW):
            began = time.process_time()
            done = self.run.stepper.advance(self.run.record, k, k + WINDOW, self.run.controls[k : k + WINDOW])
            out.append((time.process_time() - began) / WINDOW)
            if done < k + WINDOW:
                raise self.run.stepper.failure(done, self.run.record)
        return out

    def depth(self, robot: Mechanism) -> float:
        """How far things are in each other in the last run [m]."""
        return foreign_run.depth(
            SimpleNamespace(mechanism=robot, stored={"contacts": self.run.stepper.logged_contacts()})
        )


class Theirs:
    """MuJoCo."""

    def __init__(self, case: Case):
        import mujoco

        self.mujoco, self.case, self.data = mujoco, case, mujoco.MjData(case.model)
        case.model.opt.timestep = DT

    def windows(self) -> list[float]:
        """As `Ours.windows`."""
        mujoco, case, data = self.mujoco, self.case, self.data
        mujoco.mj_resetData(case.model, data)
        if case.bound != ROBOT:
            data.qpos[:] = case.q
        elif foreign_run.flies(case.robot) and case.robot.joints[0].kind == "free":
            data.qpos[:3] = case.q[:3]
        out = []
        for k in range(0, len(case.u), WINDOW // HOLD):
            began = time.process_time()
            for row in case.u[k : k + WINDOW // HOLD]:
                if len(row) == case.model.nu:
                    data.ctrl[:] = row
                mujoco.mj_step(case.model, data, HOLD)
            out.append((time.process_time() - began) / WINDOW)
        return out


def step_of(contender) -> float:
    """Median over the windows of the least CPU time of a step [s]."""
    began = time.process_time()
    best = np.array(contender.windows())
    for _ in range(1, REPEATS):
        if time.process_time() - began < LONG_RUN:
            best = np.minimum(best, contender.windows())
    return float(np.median(best))


def figures(case: Case) -> dict[str, float]:
    """Times of a step [s] and depths [m] by contender; infinite where a run fails, without those that refuse."""
    out = {}
    if case.model is not None:
        out["MuJoCo"] = step_of(Theirs(case))
    for name, integrator in (("Maximal", la.Maximal()), ("Minimal", la.Minimal())):
        try:
            ours = Ours(case, integrator)
        except la.LeastActionError:  # loops, tendons: not in joint coordinates
            continue
        try:
            out[name], out[f"{name} depth"] = step_of(ours), ours.depth(case.robot)
        except la.ConvergenceError:
            out[name], out[f"{name} depth"] = np.inf, np.inf
    return out


def run(steps, quick=False) -> Report:
    """All scenes; quick: a few of them."""
    columns = ["scene", "bodies", "Maximal µs", "Minimal µs", "MuJoCo µs", "Maximal / MuJoCo", "Minimal / MuJoCo"]
    sheet = Sheet(f"{DURATION:g} s of each", [*columns, "depth, Maximal", "depth, Minimal"])
    report = Report("Speed with contact", f"{NOTES} {load_note()}", [sheet])
    todo, ratios = list(cases(quick)), []
    steps.total(len(todo))
    for name, make in todo:
        steps.next(name)
        if make is None:
            report.missing = sorted({*report.missing, name.partition(" ")[0]})
            steps.done()
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            case = make()
            found = figures(case)
        steps.done()
        peer = found.get("MuJoCo")
        cells = [1e6 * found[k] if k in found else "" for k in ("Maximal", "Minimal", "MuJoCo")]
        over = {k: found[k] / peer for k in ("Maximal", "Minimal") if peer and k in found}
        depths = [found.get(f"{k} depth", "") for k in ("Maximal", "Minimal")]
        cells += [over.get(k, "") for k in ("Maximal", "Minimal")]
        sheet.rows.append([name, len(case.robot.bodies), *cells, *depths])
        for k, ratio in over.items():
            report.requirements.append(Requirement(f"{name}: {k} over MuJoCo", ratio, case.bound))
        deepest = max(depth for k, depth in found.items() if k.endswith("depth"))
        report.requirements.append(Requirement(f"{name}: depth [m]", deepest, 1e-6))
        ratios.append(over.get("Maximal", np.nan))
    if ratios and not np.isnan(ratios).any():
        report.measures.append(Measure("median of Maximal over MuJoCo", "ratio", [median(ratios)]))
    else:
        report.missing = sorted({*report.missing, "MuJoCo"})
    return report
