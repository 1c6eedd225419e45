"""One robot file of somebody else: loaded, put on the ground, run with random torques, and measured."""

import tempfile
import time
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import leastaction as la
from leastaction.initial_state.start_limits import within_limits
from leastaction.kinematics.tendon_jacobians import tendon_lengths
from leastaction.mechanism import Mechanism, Plane, Servo
from leastaction.mechanism.drives.servos import feedback, feedback_energy
from leastaction.mechanism.drives.tendons import drives_tendon, has_range

DT, PIECE = 0.005, 0.1
"""Time step, and how long torques are held [s]."""

STRENGTH = 0.3
"""Torques, in terms of what it takes to hold what a joint carries."""

BOUNDS = {"depth": 1e-6, "gap": 1e-9, "energy": 1e-3}
"""What a good run keeps: depth of contacts [m], opening of joints [m], rise of the energy."""


def serve(pipe) -> None:
    """Run the files whose (path, duration) come through a pipe, and send back their figures."""
    while True:
        path, duration = pipe.recv()
        try:
            pipe.send(figures(Path(path), duration))
        except Exception as error:
            pipe.send({"why": f"{type(error).__name__}: {error}"})


def load(path: Path) -> Mechanism:
    """The robot of a file, over a ground; those of URDF files fly unless they are tied to the world."""
    try:
        robot = la.load(path, **({"floating_base": True} if path.suffix == ".urdf" else {}))
    except la.FormatError as error:
        if "cannot float" not in str(error):
            raise
        robot = la.load(path)
    if flies(robot) and not robot.ground:
        builder = robot.edit()
        builder.add_shape("world", Plane())
        robot = builder.build()
    return robot


def flies(robot: Mechanism) -> bool:
    """Whether a body is tied to the world by a free joint."""
    return any(joint.parent == "world" and joint.kind == "free" for joint in robot.joints)


def start(robot: Mechanism) -> np.ndarray:
    """Home, lifted or lowered to the ground where the robot flies."""
    q = within_limits(la.Maximal().prepare(robot, DT), robot.home())
    q = q if robot.is_tree else la.dynamics.close_loops(robot, q)
    try:
        return la.robots.on_ground(robot, q, clearance=1e-3) if flies(robot) else q
    except la.MechanismError:
        return q


def strengths(robot: Mechanism, q: np.ndarray) -> np.ndarray:
    """How strong the random controls are, shape (nu,): a share of what holds up all that a joint carries."""
    X, masses = la.dynamics.body_poses(robot, q), np.array([body.inertia.mass for body in robot.bodies])
    places = X[:, :3, 3] + np.einsum("bij,bj->bi", X[:, :3, :3], [body.inertia.com for body in robot.bodies])
    size = max(float(np.ptp(np.concatenate([places, X[:, :3, 3]]), axis=0).max()), 1e-3)
    loads = {}
    for i, joint in enumerate(robot.joints):
        carried = [robot.body_index(name) for name in robot.subtree(joint.child)]
        reach = np.linalg.norm(places[carried] - X[i, :3, 3], axis=1) + 0.1 * size
        load = 0.0 if joint.kind == "free" else 9.81 * float(masses[carried] @ reach)
        loads |= dict.fromkeys(joint.velocity_names(), load)
    if not robot.actuators:
        return STRENGTH * np.array([loads[name] for name in robot.velocity_names])
    most = []
    for a in robot.actuators:
        load = loads.get(getattr(a, "coordinate", ""), 0.1 * 9.81 * robot.total_mass)
        load /= max(abs(getattr(a, "push", 1.0)), 1e-9)
        most.append(min(STRENGTH * load, abs(a.lower), abs(a.upper)))
    return np.array(most)


def figures(path: Path, duration: float) -> dict:
    """What the table says of a file."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            robot = load(path)
        except la.FormatError as error:
            told = str(error).splitlines()[0].replace(f"{path.parent}/", "")  # nobody asks where it is installed
            return {"why": told.replace(str(path.parent), "."), "refused": True}
        q = start(robot)
        rng = np.random.default_rng(zlib.crc32(path.name.encode()))
        pieces, per = round(duration / PIECE), round(PIECE / DT)
        u = rng.uniform(-1.0, 1.0, (pieces, robot.nu)) * strengths(robot, q)
        out = {"dof": robot.nv, "why": ""}
        held, options = np.repeat(u, per, axis=0), {"dt": DT, "integrator": la.Maximal()}
        try:
            la.simulate(robot, q, steps=1, controls=held[:1], **options)  # this compiles
            ready, _ = least_time(lambda: la.simulate(robot, q, steps=1, controls=held[:1], **options))
            whole, run = least_time(lambda: la.simulate(robot, q, steps=len(held), controls=held, **options))
            out["step"] = (whole - ready) / (len(held) - 1)
        except la.LeastActionError as error:
            return out | {"why": f"{type(error).__name__}: {error}".splitlines()[0]}
        out |= {"depth": depth(run), "gap": float(np.max(run.constraint_violation)), "energy": rise(run)}
        out["iterations"] = int(run.iterations.max())
        out["mujoco"] = mujoco_time(path, robot, run.q[0], u, per)
        out["said"] = [str(w.message) for w in said]
    return out


def least_time(call: Callable[[], Any]) -> tuple[float, Any]:
    """Least CPU time of a call [s], of several where it is short, and what it gives back.

    Small robots take no longer for a run than to get ready for it, and other programs disturb both.
    """
    times, out = [], None
    while len(times) < 5 and sum(times) < 0.5:
        began = time.process_time()
        out = call()
        times.append(time.process_time() - began)
    return min(times), out


def depth(run) -> float:
    """How far things are in each other after a step [m]; of those that overlap at the start, after the last."""
    log = np.asarray(run.stored["contacts"])
    deepest = 0.0
    if not len(log):
        return deepest
    pairs = log[:, 1] * (len(run.mechanism.bodies) + 2) + log[:, 2]
    for pair in np.unique(pairs):
        own = log[pairs == pair]
        first, last = own[own[:, 0] == own[0, 0], 9].min(), own[own[:, 0] == own[-1, 0], 9].min()
        deepest = max(deepest, -(last if own[0, 0] == 0 and first < -BOUNDS["depth"] else own[:, 9].min()))
    return float(deepest)


def work(run) -> np.ndarray:
    """Work of the controls that acted and of the feedback of servos since the start [J], shape (steps + 1,)."""
    robot, u = run.mechanism, run.stored["u"].mean(axis=1)
    damping = feedback(robot).damping
    along = [(k, a) for k, a in enumerate(robot.actuators) if has_range(a) or drives_tendon(robot, a)]
    plain = u.copy()
    plain[:, [k for k, _ in along]] = 0.0
    done = np.zeros(len(run.t))
    for k in range(len(run.t) - 1):
        by = robot.difference(run.q[k], run.q[k + 1])
        done[k + 1] = done[k] + (robot.generalized_forces(plain[k], run.q[k]) - damping * by / run.dt) @ by
    pulls: dict[str, np.ndarray] = {}
    for k, a in along:
        x = lengths(robot, a.coordinate, run.q)
        change, middle = np.diff(x), 0.5 * (x[1:] + x[:-1])
        force = a.push * u[:, k]
        if isinstance(a, Servo):
            force += a.gear * (-a.kp * (a.gear * middle - a.rest) - a.kv * a.gear * change / run.dt)
            if a.force_limits is not None:
                low, high = sorted(a.gear * x for x in a.force_limits)
                force = np.clip(force, low, high)
        pulls[a.coordinate] = pulls.get(a.coordinate, 0.0) + force
    limits = {t.name: t.force_limits for t in robot.tendons if t.force_limits is not None}
    for name, force in pulls.items():
        done[1:] += np.cumsum(np.clip(force, *limits.get(name, (None, None))) * np.diff(lengths(robot, name, run.q)))
    stored = feedback_energy(robot, run.q) * np.ones(len(run.t))
    return done - (stored - stored[0]) + lifted(run)


def lifted(run) -> np.ndarray:
    """Work of forces that hold bodies up (MJCF's `gravcomp`) since the start [J], shape (steps + 1,)."""
    robot, done = run.mechanism, np.zeros(len(run.t))
    if not robot.wrenches:
        return done
    X = np.array([la.dynamics.body_poses(robot, q) for q in run.q])
    for w in robot.wrenches:
        X_body = X[:, robot.body_index(w.body)]
        at = X_body[:, :3, 3] + X_body[:, :3, :3] @ np.array(w.point)
        done += (at - at[0]) @ np.array(w.wrench[3:])
    return done


def lengths(robot: Mechanism, name: str, Q: np.ndarray) -> np.ndarray:
    """A joint's position or a tendon's length, which an actuator drives, at all rows of Q."""
    names = [t.name for t in robot.tendons]
    if name not in names:
        return Q[:, robot.coordinate_index(name)]
    return np.array([tendon_lengths(robot, q)[names.index(name)] for q in Q])


def rise(run) -> float:
    """Most that the energy rises above that of the start and the work of the controls, relative to the largest of
    kinetic energy, work, and what free fall gives the robot in a step, for those that never move."""
    done = work(run)
    fall = 0.5 * run.mechanism.total_mass * (9.81 * run.dt) ** 2
    scale = max(run.kinetic_energy.max(), np.abs(done).max(), fall)
    told = moving(run) + run.potential_energy
    return float((told - told[0] - done).max() / scale)


def moving(run) -> np.ndarray:
    """Kinetic energy that is in the velocities of a run and in the steps beside them [J], shape (steps + 1,).

    Where torques jump on what dry friction, limits or contacts hold, velocities at that time are given to 0.3 of what
    gravity adds in a step (`leastaction.maximal.step.pressed`), though nothing moves; a gain of energy is in both.
    """
    robot, q = run.mechanism, run.q
    steps = [robot.difference(q[k], q[k + 1]) / run.dt for k in range(len(q) - 1)]
    mean = [la.dynamics.kinetic_energy(robot, x, v) for x, v in zip(q[:-1], steps, strict=True)]
    beside = np.maximum([*mean[:1], *mean], [*mean, *mean[-1:]])
    return np.minimum(run.kinetic_energy, beside)


def mujoco_time(path: Path, robot: Mechanism, q: np.ndarray, u: np.ndarray, per: int) -> float:
    """CPU time of a step of MuJoCo [s] that is as long, over the same time; 0 where it has no model of the robot."""
    try:
        import mujoco
    except ImportError:
        return 0.0
    if (model := mujoco_model(mujoco, path, robot)) is None:
        return 0.0
    model.opt.timestep = DT
    data = mujoco.MjData(model)
    if path.suffix == ".urdf" and model.nq == robot.nq:
        data.qpos[:] = q
    began = time.process_time()
    for row in u:
        if len(row) == model.nu:
            data.ctrl[:] = row
        mujoco.mj_step(model, data, per)
    return (time.process_time() - began) / (per * len(u))


def mujoco_model(mujoco: Any, path: Path, robot: Mechanism) -> Any:
    """MuJoCo's model of an MJCF file; for a URDF file, whose meshes it does not find, that of the robot as MJCF."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            if path.suffix == ".urdf":
                path = Path(folder) / "robot.xml"
                la.formats.save_mjcf(robot, path)
            return mujoco.MjModel.from_xml_path(str(path))
        except (ValueError, la.LeastActionError):
            return None
