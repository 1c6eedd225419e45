"""Every scene of a folder of models such as MuJoCo Menagerie: both contact engines beside MuJoCo."""

import math
import os
import re
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.foreign_robots import Worker, files
from benchmarks.foreign_run import depth
from benchmarks.report import Report, Requirement, Sheet
from leastaction.initial_state.start import first_state

LONG = True
FOLDER, PICKED = "MENAGERIE", "MENAGERIE_SCENES"
"""Environment variables: the folder of the models; words, with commas between them, of which names hold one."""

DT = 0.005
"""Time step of robots whose files have none [s]."""

FEWEST, STEPS = 200, 2000
"""Fewest and most steps of a run: times of fewer drown in that of the start."""

WANTED, WANTED_MEDIAN = 2.0, 1.2
"""Largest time of a step in terms of that of MuJoCo's `implicitfast`, on every scene and in the median."""

ENGINES = "Maximal", "Minimal"
"""The engines that have contact, limits and dry friction; the default of robots without these is another one."""

COLUMNS = [
    "scene",
    "dof",
    "dt [ms]",
    "load [s]",
    "first [s]",
    "implicitfast [µs]",
    "discrete [µs]",
    *(f"{name} {what}" for name in ENGINES for what in ("[µs]", "ratio", "iterations")),
    "default",
    "depth [m]",
    "gap [m]",
    "ratio",
]

NOTES = f"""The scenes (`scene*.xml`, or else all `*.xml`) in the folder given by the environment variable {FOLDER}, \
the files of Gymnasium and dm_control where these are installed, and the robots of the catalogue. Each starts in the \
initial state of its file, with zero controls and the time step of the file (5 ms if it has none), and runs for 1 s, \
or {FEWEST} steps, with defaults. Load: `la.load` in a new process; first: the first call of `simulate`, with one \
step. Times of steps are CPU times of the compiled loop, the least of up to five runs, MuJoCo's for the same file or, \
for robots of the catalogue, for the MJCF that the library writes. Iterations: mean and maximum per step. Depth and \
gap of the default engine: largest penetration, except of pairs that overlap at the start, and largest opening of a \
joint. The last column is the ratio of the default engine to `implicitfast`. {PICKED}=panda,h1 selects the scenes \
whose names contain one of these words."""


def scenes(folder: Path) -> dict[str, str]:
    """Paths of the scenes below a folder by "robot/file": `scene*.xml`, or all `*.xml` of robots without such."""
    found = {}
    for robot in sorted({path.parent for path in folder.rglob("*.xml")}):
        own = sorted(robot.glob("scene*.xml")) or sorted(robot.glob("*.xml"))
        found |= {f"{robot.name}/{path.name}": str(path) for path in own}
    return found


def sources() -> dict[str, str]:
    """All that the table has by name: paths of files, and "zoo:" with the names of robots."""
    import leastaction as la

    named = os.environ.get(FOLDER, "")
    found = scenes(Path(named)) if named else {}
    found |= {name: str(path) for name, path in files()[0].items() if path.suffix == ".xml"}
    found |= {f"zoo/{entry.name}": f"zoo:{entry.name}" for entry in la.robots.catalogue()}
    words = os.environ.get(PICKED, "")
    return {name: path for name, path in found.items() if any(word in name for word in words.split(","))}


def serve(pipe) -> None:
    """Run the scenes whose (source, duration) come through a pipe, and send back their figures."""
    while True:
        source, duration = pipe.recv()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                pipe.send(figures(source, duration))
        except Exception as error:
            pipe.send({"why": reason(error)})


def reason(error: Exception) -> str:
    """The first line of an error, without the folders of files: where they are installed is of no concern."""
    return re.sub(r"(?:/[\w.+-]+)+/", "", f"{type(error).__name__}: {error}".splitlines()[0])


def figures(source: str, duration: float) -> dict[str, Any]:
    """What the table says of a scene."""
    import leastaction as la

    mujoco = installed_mujoco()
    began = time.process_time()
    if source.startswith("zoo:"):
        robot = la.robots.get(source[4:])
        spent = time.process_time() - began
        with tempfile.TemporaryDirectory() as folder:
            model = written_model(mujoco, robot, Path(folder) / "robot.xml")
        dt = DT
    else:
        robot = la.load(source)
        spent = time.process_time() - began
        model = model_of(mujoco, source)
        dt = DT if model is None else float(model.opt.timestep)
    steps = max(FEWEST, min(round(duration / dt), STEPS))
    default = la.default_integrator(robot)
    out = {"why": "", "dof": robot.nv, "dt": dt, "load": spent, "mujoco": {}, "engines": {}}
    for name in ("implicitfast", "discrete"):
        out["mujoco"][name] = mujoco_time(mujoco, model, name, dt, steps)
    for engine in {type(x): x for x in (la.Maximal(), la.Minimal(), default)}.values():
        name = type(engine).__name__
        try:
            out["engines"][name] = engine_figures(robot, engine, dt, steps)
        except la.LeastActionError as error:
            out["engines"][name] = {"why": reason(error)}
    out["default"] = type(default).__name__
    return out


def installed_mujoco() -> Any:
    """MuJoCo's module, or None."""
    try:
        import mujoco
    except ImportError:
        return None
    return mujoco


def engine_figures(robot: Any, engine: Any, dt: float, steps: int) -> dict[str, Any]:
    """Times [s], iterations, depth and gap [m] of one engine."""
    import leastaction as la

    began = time.process_time()
    la.simulate(robot, dt=dt, steps=1, integrator=engine)
    first = time.process_time() - began
    run = la.simulate(robot, dt=dt, steps=steps, integrator=engine)
    iterations = np.asarray(run.iterations)[1:]
    return {
        "why": "",
        "first": first,
        "step": loop_time(robot, engine, dt, run.q[0], steps),
        "iterations": [float(iterations.mean()), int(iterations.max())],
        "depth": depth(run) if "contacts" in run.stored else 0.0,
        "gap": float(np.max(run.constraint_violation)),
    }


def loop_time(robot: Any, engine: Any, dt: float, q: np.ndarray, steps: int) -> float:
    """CPU time of a step of the compiled loop from rest at q [s]: without the start, beside which few steps drown."""
    stepper = engine.prepare(robot, dt)
    fresh, first, record = stepper.memory(), first_state(stepper, q, None, None, False), stepper.record(steps)
    controls = np.zeros((steps, len(stepper.control_nodes), robot.nu))

    def roll() -> None:
        stepper.restore_memory(fresh)
        for name, rows in first.states().items():
            record[name][:1] = rows
        if stepper.advance(record, 0, steps, controls) < steps:
            raise stepper.failure(0, record)

    return least_time(roll)[0] / steps


def least_time(call: Callable[[], Any]) -> tuple[float, Any]:
    """Least CPU time of up to five calls that take two seconds together [s], and what the last gives back."""
    times, out = [], None
    while len(times) < 5 and sum(times) < 2.0:
        began = time.process_time()
        out = call()
        times.append(time.process_time() - began)
    return min(times), out


def model_of(mujoco: Any, path: str | Path) -> Any:
    """MuJoCo's model of a file; None where it is not installed or does not read it."""
    try:
        return None if mujoco is None else mujoco.MjModel.from_xml_path(str(path))
    except ValueError:
        return None


def written_model(mujoco: Any, robot: Any, path: Path) -> Any:
    """MuJoCo's model of a robot as the library writes it as MJCF; None where it has none."""
    import leastaction as la

    try:
        la.formats.save_mjcf(robot, path)
    except la.LeastActionError:
        return None
    return model_of(mujoco, path)


def mujoco_time(mujoco: Any, model: Any, integrator: str, dt: float, steps: int) -> float | None:
    """CPU time of a step of MuJoCo [s]; None without a model, or where it knows no such integrator."""
    kind = getattr(getattr(mujoco, "mjtIntegrator", None), f"mjINT_{integrator.upper()}", None)
    if model is None or kind is None:
        return None
    model.opt.integrator, model.opt.timestep = int(kind), dt

    def roll() -> None:
        mujoco.mj_resetData(model, data)
        mujoco.mj_step(model, data, steps)

    data = mujoco.MjData(model)
    return least_time(roll)[0] / steps


def run(progress, quick: bool = False) -> Report:
    """The table; quick: 0.2 s of every fortieth scene in place of 1 s of each."""
    chosen = sources()
    chosen = dict(list(chosen.items())[::40]) if quick else chosen
    report = Report("Third-party models and the catalogue, compared with MuJoCo", NOTES)
    sheet, reasons = Sheet("Time per step", COLUMNS), Sheet("Why not", ["scene", "engine", "reason"])
    ratios, failed = [], 0
    progress.total(len(chosen))
    for name, source in chosen.items():
        progress.next(name)
        worker = Worker(serve)  # each in a process of its own: what is loaded first pays for nothing of another
        result = worker.result(source, 0.2 if quick else 1.0)
        worker.close()
        progress.done()
        if result["why"]:
            failed += 1
            reasons.rows.append([name, "", result["why"]])
            continue
        refused = {key: x["why"] for key, x in result["engines"].items() if x["why"]}
        reasons.rows += [[name, key, why] for key, why in refused.items()]
        sheet.rows.append([name, *row_of(result)])
        failed += len(refused) == len(result["engines"])
        if math.isfinite(sheet.rows[-1][-1]):
            ratios.append(sheet.rows[-1][-1])
    report.sheets += [sheet, reasons]
    report.requirements.append(Requirement("scenes that do not run", float(failed), 0.0))
    if ratios:
        report.requirements.append(Requirement("time of a step in terms of MuJoCo's, largest", max(ratios), WANTED))
        median = statistics.median(ratios)
        report.requirements.append(Requirement("the same, in the median", median, WANTED_MEDIAN))
    return report


def row_of(result: dict[str, Any]) -> list:
    """The cells of a scene but its name; the last is the ratio of the default engine, or nan."""
    engines, theirs = result["engines"], result["mujoco"]["implicitfast"] or math.nan
    ran = {name: x for name, x in engines.items() if not x["why"]}
    chosen = ran.get(result["default"]) or next(iter(ran.values()), {})
    micro = [None if x is None else 1e6 * x for x in result["mujoco"].values()]
    cells = [result["dof"], 1e3 * result["dt"], result["load"], chosen.get("first"), *micro]
    for x in (engines[name] for name in ENGINES):
        mean, most = x.get("iterations", (math.nan, 0))
        cells += ["", "", ""] if x["why"] else [1e6 * x["step"], x["step"] / theirs, f"{mean:.1f}, {most}"]
    step = chosen.get("step", math.nan)
    return [*cells, result["default"], chosen.get("depth"), chosen.get("gap"), step / theirs]
