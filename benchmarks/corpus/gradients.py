"""Gradients through contact: the adjoint method by initial velocity, controls and parameters against differences."""

import math
import os
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

import leastaction as la
from benchmarks.corpus.driven import gripper
from benchmarks.corpus.figures import simulated
from benchmarks.corpus.loose_bodies import boxes, cubes
from benchmarks.corpus.scene import Scene, random_turn
from benchmarks.report import Measure, Report, Sheet
from leastaction.derivatives import reach
from leastaction.mechanism import Box, MechanismBuilder, Plane, Pose, Sphere
from leastaction.parameters.parameters import parameter, with_parameters

LONG = True
SEEDS, QUICK_SEEDS = 40, 2
STEPS, DT = 80, 0.01
DIFFERENCES = (1e-5, 1e-6)
"""Changes of velocities [rad/s or m/s] and controls for differences."""
SMOOTH = 1e-3
"""Forward and backward differences, and central ones of both changes, agree to this where a case is smooth."""
LEAST = 0.01
"""Gradients below this are compared with it."""
WRONG = (1e-3, 1e-4, 1e-6)

COLUMNS = ["scene", "by", "method", "runs", "failed", "refused", "smooth"]
COLUMNS += [*(f"wrong > {bound:g}" for bound in WRONG), "largest error"]

NOTES = f"""Objective: half the square of the distance of a random point of the last body from a random target after \
{STEPS} steps of {DT:g} s, plus a random linear function of the velocity there; its gradient by the initial velocity, \
by an offset of the controls, or by parameters (gravity, mass and centre of mass of the last body, damping of its \
hinge, and friction of its first shape or contact point, set a tenth above that of others, since a pair takes the \
larger of its two coefficients). Smooth: forward and backward differences agree to {SMOOTH:g} of the largest component \
(of {LEAST:g} at least), and so do central ones with changes of {DIFFERENCES[0]:g} and {DIFFERENCES[1]:g}. Wrong: \
error of the adjoint method in smooth cases, relative to the largest component, as above, against the closer of these \
two. Refused: the adjoint method raises an error."""


def links(rng) -> Scene:
    """A box with a hinged link that a motor turns."""
    b, mu = MechanismBuilder("links"), float(rng.choice([0.2, 0.5, 1.0]))
    b.body("trunk", mass=1.0, shapes=Box((0.3, 0.2, 0.1), friction=mu))
    b.free("trunk")
    foot = Sphere(0.03, pose=Pose((0, 0, -0.25)), friction=mu)
    b.body("leg", mass=0.5, com=(0, 0, -0.12), inertia=(3e-3, 3e-3, 3e-4), shapes=foot)
    b.revolute("hinge", "trunk", "leg", axis="y", position=(0.1, 0.12, 0), limits=(-1.5, 1.5), damping=0.02)
    b.actuator("motor", "hinge")
    b.add_shape("world", Plane())
    robot = b.build()
    q = la.robots.on_ground(robot, np.array([0, 0, 0, *random_turn(rng), rng.uniform(-1, 1)]), clearance=0.1)
    return Scene(robot, q, rng.normal(size=7), DT, STEPS, controls=rng.normal(size=1))


def slides(rng) -> Scene:
    """A box that slides flat on the ground and spins."""
    b = MechanismBuilder("slide")
    b.body("box", mass=1.0, shapes=Box((0.3, 0.2, 0.1), friction=float(rng.uniform(0.1, 0.5))))
    b.free("box")
    b.add_shape("world", Plane())
    v = np.array([0, 0, rng.normal(), *(2.0 * rng.normal(size=2)), 0])
    return Scene(b.build(), np.array([0, 0, 0.05, 1, 0, 0, 0]), v, DT, STEPS)


def rolls(rng) -> Scene:
    """A ball that slides, then rolls."""
    b = MechanismBuilder("ball")
    b.body("ball", mass=1.0, shapes=Sphere(0.1, friction=float(rng.uniform(0.1, 0.5))))
    b.free("ball")
    b.add_shape("world", Plane())
    v = np.concatenate([5.0 * rng.normal(size=3), rng.normal(size=2), [0.0]])
    return Scene(b.build(), np.array([0, 0, 0.1, *random_turn(rng)]), v, DT, STEPS)


def stacks(rng) -> Scene:
    """Two boxes, one dropped on the other."""
    b, mu, q = MechanismBuilder("stack"), float(rng.choice([0.2, 0.5, 1.0])), []
    for i in range(2):
        b.body(f"b{i}", mass=float(rng.uniform(0.5, 2.0)), shapes=Box((0.3 - 0.1 * i, 0.2, 0.1), friction=mu))
        b.free(f"b{i}")
        q += [*(0.03 * rng.normal(size=2)), 0.05 + 0.13 * i, 1, 0, 0, 0]
    b.add_shape("world", Plane())
    return Scene(b.build(), np.array(q), 0.3 * rng.normal(size=12), DT, STEPS)


def grasp(rng) -> Scene:
    """A box between two servo-driven fingers, off the middle and tilted."""
    turn = Pose.from_axis_angle("y", float(rng.uniform(-0.05, 0.05))).quaternion
    scene = gripper(tuple(rng.uniform(-0.002, 0.002, 3)), turn, mass=float(rng.uniform(0.2, 1.0)))
    return replace(scene, v=0.1 * rng.normal(size=scene.robot.nv))


def walk(rng) -> Scene:
    """A quadruped that trots on the spot, its servos following a gait of random height, rate and direction."""
    dog = la.robots.unitree_a1()
    b = dog.edit()
    for name in [a.name for a in dog.actuators]:
        b.remove(name, kind="actuator")
        b.position_servo(name, name, kp=80.0, kv=2.0)
    b.add_shape("world", Plane())
    robot = b.build()
    home = la.robots.home(dog)
    q = la.robots.on_ground(robot, home, clearance=float(rng.uniform(0.0, 0.02)))
    lift, rate, stride = rng.uniform(0.1, 0.4), rng.uniform(1.5, 3.0), rng.uniform(-0.15, 0.15)
    targets = np.tile(home[7:], (STEPS, 1))
    for leg in range(4):
        phase = 2.0 * math.pi * rate * DT * np.arange(STEPS) + (math.pi if leg in (1, 2) else 0.0)
        up = np.maximum(np.sin(phase), 0.0)
        targets[:, 3 * leg + 1] += lift * up + stride * np.cos(phase)
        targets[:, 3 * leg + 2] -= 2.0 * lift * up
    return Scene(robot, q, 0.1 * rng.normal(size=robot.nv), DT, STEPS, controls=targets)


LANDINGS = {
    "cubes": partial(cubes, friction=(0.2,)),
    "boxes": partial(boxes, restitution=(0.0,)),
    "two links": links,
    "slides": slides,
    "rolls": rolls,
    "stacks": stacks,
    "grasps": grasp,
    "walks": walk,
}
CASES = [(name, "v") for name in LANDINGS]
CASES += [(name, "controls") for name in ("two links", "grasps", "walks")]
CASES += [(name, "parameters") for name in ("boxes", "two links", "slides", "rolls", "stacks", "grasps", "walks")]


@dataclass
class Case:
    """One gradient: its status ("failed", "refused", "rough" or "smooth") and the error of the adjoint."""

    status: str
    error: float = 0.0


def objective_of(rng, scene: Scene) -> Any:
    """A random objective of the final position and velocity."""
    body = scene.robot.body_names[-1]
    place = reach(body, 0.1 * rng.normal(size=3), rng.normal(size=3))
    weights = 0.1 * rng.normal(size=scene.robot.nv)

    def objective(run):
        said, dv = place(run), np.zeros_like(run.v)
        dv[-1] = weights
        return said.value + weights @ run.v[-1], said.dq, dv

    return objective


def parameters_of(scene: Scene) -> list[str]:
    """Names of some parameters of the last body, its surface and its hinge, and gravity; none that is at its bound."""
    robot = scene.robot
    body = robot.bodies[-1]
    names = ["gravity", f"mass:{body.name}", f"com:{body.name}"]
    names += [f"friction:{robot.contacts[-1].name}"] if robot.contacts else [f"friction:{body.name}/0"]
    joint = robot.joints[-1]
    names += [f"damping:{joint.name}"] if joint.nv == 1 else []
    return [name for name in names if name[:1] not in "fd" or parameter(robot, name) > 0.0]


def with_rougher_body(scene: Scene) -> Scene:
    """The friction of the last body is larger than that of what it touches: the larger of two equal ones has a kink."""
    names = [name for name in parameters_of(scene) if name.startswith("friction:")]
    values = {name: 1.1 * parameter(scene.robot, name) for name in names}
    return replace(scene, robot=with_parameters(scene.robot, values))


def changed(scene: Scene, by: str, change: np.ndarray) -> Scene:
    """The scene with another initial velocity, other controls or other parameters."""
    if by == "v":
        return replace(scene, v=scene.v + change)
    if by == "controls":
        return replace(scene, controls=scene.controls + change)
    values, first = {}, 0
    for name in parameters_of(scene):
        value = parameter(scene.robot, name)
        values[name] = value + change[first : first + value.size].reshape(value.shape)
        first += value.size
    return replace(scene, robot=with_parameters(scene.robot, values))


def gradient_of(scene: Scene, by: str, objective: Any, integrator: Any) -> np.ndarray:
    """The gradient of an objective by the adjoint method, in the order of `changed`."""
    names = tuple(parameters_of(scene)) if by == "parameters" else (by,)
    options = {"dt": scene.dt, "steps": scene.steps, "progress": False, "controls": scene.controls}
    found = la.adjoint(scene.robot, integrator, objective, names, q=scene.q, v=scene.v, **options)[1]
    if by == "controls":
        return found[by].sum(axis=0)
    return np.concatenate([np.ravel(found[name]) for name in names])


def differences(scene: Scene, by: str, value: Any) -> np.ndarray:
    """Forward, backward and central differences by every component, with each of the changes: shape (2, 3, n)."""
    sizes = {"v": scene.robot.nv, "controls": scene.robot.nu}
    n = sizes[by] if by in sizes else sum(parameter(scene.robot, name).size for name in parameters_of(scene))
    middle, found = value(np.zeros(n)), np.zeros((len(DIFFERENCES), 3, n))
    for rows, change in zip(found, DIFFERENCES, strict=True):
        for k in range(n):
            ahead, behind = (value(sign * change * np.eye(n)[k]) for sign in (1.0, -1.0))
            rows[:, k] = (ahead - middle) / change, (middle - behind) / change, (ahead - behind) / (2.0 * change)
    return found


def checked(scene: Scene, by: str, rng, integrator: Any) -> Case:
    """The gradient of a random objective by the adjoint method, beside differences."""
    objective = objective_of(rng, scene)

    def value(change: np.ndarray) -> float:
        return float(objective(simulated(changed(scene, by, change), integrator))[0])

    try:
        found = differences(scene, by, value)
    except la.ConvergenceError:
        return Case("failed")
    try:
        gradient = gradient_of(scene, by, objective, integrator)
    except la.LeastActionError:
        return Case("refused")
    central = found[:, 2]
    scale = max(LEAST, float(np.abs(central).max()))
    rough = max(float(np.abs(found[:, 0] - found[:, 1]).max()), float(np.abs(central[0] - central[1]).max()))
    if rough > SMOOTH * scale:
        return Case("rough")
    return Case("smooth", float(np.abs(gradient - central).max(axis=1).min()) / scale)


def run(progress, quick: bool = False) -> Report:
    """All landings with both integrators; quick: a few seeds."""
    seeds = range(int(os.environ.get("CORPUS_SEEDS", QUICK_SEEDS if quick else SEEDS)))
    methods = la.Maximal(), la.Minimal()
    progress.total(len(CASES) * len(methods) * len(seeds))
    sheet, measures = Sheet("Gradients of landings", COLUMNS), []
    for integrator in methods:
        method = type(integrator).__name__
        for name, by in CASES:
            found = []
            for seed in seeds:
                progress.next(f"{name}, {method}, seed {seed}")
                rng = np.random.default_rng([seed, *name.encode()])
                scene = replace(LANDINGS[name](rng), dt=DT, steps=STEPS)
                scene = with_rougher_body(scene) if by == "parameters" else scene
                found.append(checked(scene, by, rng, integrator))
                progress.done()
            errors = np.array([case.error for case in found if case.status == "smooth"])
            counts = [sum(case.status == status for case in found) for status in ("failed", "refused", "smooth")]
            wrong = [int((errors > bound).sum()) for bound in WRONG]
            sheet.rows.append([name, by, method, len(found), *counts, *wrong, float(errors.max(initial=0.0))])
            measures.append(Measure(f"{method}, {name} by {by}: wrong > {WRONG[0]:g}", "count", [wrong[0]]))
    return Report("Gradients of landings", NOTES, [sheet], measures=measures, seeds=list(seeds))
