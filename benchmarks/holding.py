"""Poses after five seconds of holding by a file's own actuators, beside MuJoCo at a tenth of the step."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.foreign_robots import Worker
from benchmarks.menagerie import DT, FOLDER, PICKED, model_of, reason, sources
from benchmarks.report import Report, Requirement, Sheet

LONG = True
DURATION, FINER = 5.0, 10
"""How long each robot is held [s], and how many steps MuJoCo makes in one of the file's."""

WANTED = 1e-3
"""Largest difference of a pose [rad or m] that is wanted."""

COLUMNS = [
    "scene",
    "engine",
    "soft rows",
    "rigid [rad]",
    "rigid [m]",
    "soft [rad]",
    "soft [m]",
    "MuJoCo's own step [rad]",
    "[m]",
    "no dry friction [rad]",
    "nor limits [rad]",
]

NOTES = f"""The scenes of `menagerie` (selected by {FOLDER} and {PICKED}) that have position servos. Each starts in \
the first keyframe of its file, or else in its initial state, with the controls of that keyframe, or with servo \
targets at the current position, and runs for {DURATION:g} s with the default engine and the step of the file; the \
reference is MuJoCo (`implicitfast`) with {FINER} steps in each of these. Columns: largest final difference of a hinge \
[rad] and of a slider or the position of a free body [m], with rigid contacts and with `la.load(..., \
contacts="soft")`, and that of MuJoCo with the step of the file. Soft rows: number of active constraints in MuJoCo at \
the end (contacts, limits, dry friction, equations), all of them compliant. Where there are none, only the integrators \
differ. The last columns separate causes: differences of hinges with rigid contacts when both engines read the file \
without dry friction, through which MuJoCo creeps, and then also without limits, which are compliant in MuJoCo."""


def serve(pipe) -> None:
    """Hold the robots whose (path, duration) come through a pipe, and send back the figures."""
    while True:
        path, duration = pipe.recv()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                pipe.send(figures(path, duration))
        except Exception as error:
            pipe.send({"why": reason(error)})


def figures(path: str, duration: float) -> dict[str, Any]:
    """What the table says of a scene; `why` where it says nothing."""
    import mujoco

    import leastaction as la

    model = model_of(mujoco, path)
    if model is None:
        return {"why": "MuJoCo does not read it"}
    if not np.any(holds(model)):
        return {"why": "no actuator holds a position"}
    dt = float(model.opt.timestep) or DT
    q, u = start(mujoco, model)
    fine, rows = held(mujoco, model, q, u, dt / FINER, duration)
    coarse, _ = held(mujoco, model, q, u, dt, duration)
    out: dict[str, Any] = {"why": "", "rows": rows, "mujoco": apart(model, coarse, fine)}
    for kind, contacts in (("rigid", True), ("soft", "soft")):
        robot = la.load(path, contacts=contacts)
        if robot.nq != model.nq or robot.nu != model.nu:
            return {"why": f"nq, nu = {robot.nq}, {robot.nu}, MuJoCo's {model.nq}, {model.nu}"}
        steps = round(duration / dt)
        run = la.simulate(robot, q, dt=dt, steps=steps, controls=np.tile(u, (steps, 1)))
        out["engine"], out[kind] = type(run.integrator).__name__, apart(model, run.q[-1], fine)
    out["causes"] = [hinges_without(mujoco, path, limits, duration) for limits in (False, True)]
    return out


def hinges_without(mujoco: Any, path: str, limits: bool, duration: float) -> float:
    """Difference of hinges [rad] where the file is read without dry friction, and perhaps without limits."""
    import leastaction as la

    spec = mujoco.MjSpec.from_file(path)
    for part in (*spec.joints, *spec.tendons):
        part.frictionloss = 0.0
        part.limited = 0 if limits else part.limited
    model = spec.compile()
    dt, (q, u) = float(model.opt.timestep) or DT, start(mujoco, model)
    fine, _ = held(mujoco, model, q, u, dt / FINER, duration)
    robot, steps = la.load_string(spec.to_xml(), folder=Path(path).parent), round(duration / dt)
    run = la.simulate(robot, q, dt=dt, steps=steps, controls=np.tile(u, (steps, 1)))
    return apart(model, run.q[-1], fine)[0]


def holds(model: Any) -> np.ndarray:
    """Which actuators pull towards a place, shape (nu,)."""
    return (model.actuator_biastype == 1) & (model.actuator_biasprm[:, 1] < 0.0)


def start(mujoco: Any, model: Any) -> tuple[np.ndarray, np.ndarray]:
    """(q, u): the first keyframe, or the pose of the file and the controls that hold it where they may."""
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
        return data.qpos.copy(), np.array(model.key_ctrl[0])
    mujoco.mj_forward(model, data)
    servo, u = holds(model), np.zeros(model.nu)
    bias = model.actuator_biasprm[:, 0] + model.actuator_biasprm[:, 1] * data.actuator_length
    u[servo] = -bias[servo] / model.actuator_gainprm[servo, 0]
    limited = model.actuator_ctrllimited.astype(bool)
    u[limited] = np.clip(u, *model.actuator_ctrlrange.T)[limited]
    return data.qpos.copy(), u


def held(mujoco: Any, model: Any, q: np.ndarray, u: np.ndarray, dt: float, duration: float) -> tuple[np.ndarray, int]:
    """Joint positions of MuJoCo in the end, and the rows of its constraints there."""
    model.opt.integrator, model.opt.timestep = int(mujoco.mjtIntegrator.mjINT_IMPLICITFAST), dt
    data = mujoco.MjData(model)
    data.qpos[:], data.ctrl[:] = q, u
    mujoco.mj_step(model, data, round(duration / dt))
    return data.qpos.copy(), int(data.nefc)


def apart(model: Any, q: np.ndarray, p: np.ndarray) -> tuple[float, float]:
    """Largest differences of hinges [rad], and of sliders and places of free bodies [m]."""
    angles, places = [0.0], [0.0]
    for kind, at in zip(model.jnt_type, model.jnt_qposadr, strict=True):
        if kind == 0:
            places.append(float(np.linalg.norm(q[at : at + 3] - p[at : at + 3])))
        elif kind > 1:
            (places if kind == 2 else angles).append(abs(float(q[at] - p[at])))
    return max(angles), max(places)


def run(progress, quick: bool = False) -> Report:
    """The table; quick: every tenth scene."""
    chosen = {name: path for name, path in sources().items() if not path.startswith("zoo:")}
    chosen = dict(list(chosen.items())[::10]) if quick else chosen
    report, free, soft = Report("Poses held by servos, compared with MuJoCo", NOTES), [], []
    sheet, reasons = Sheet(f"After {DURATION:g} s", COLUMNS), Sheet("Why not", ["scene", "reason"])
    progress.total(len(chosen))
    for name, path in chosen.items():
        progress.next(name)
        worker = Worker(serve)
        result = worker.result(path, DURATION)
        worker.close()
        progress.done()
        if result["why"]:
            reasons.rows.append([name, result["why"]])
            continue
        kinds = [result[kind] for kind in ("rigid", "soft", "mujoco")]
        sheet.rows.append(
            [name, result["engine"], result["rows"], *(x for pair in kinds for x in pair), *result["causes"]]
        )
        soft.append(max(result["soft"]))
        if result["rows"] == 0:
            free.append(max(result["rigid"]))
    report.sheets += [sheet, reasons]
    for what, found in (("no soft constraint", free), ("soft contacts", soft)):
        if found:
            report.requirements.append(Requirement(f"largest difference, {what} [rad or m]", max(found), WANTED))
            beyond = sum(not x <= WANTED for x in found)
            report.requirements.append(Requirement(f"scenes beyond that, of {len(found)}", float(beyond), 0.0))
    return report
