"""`Maximal` on random hard scenes: failures, energy from nowhere, overlaps, open joints, work of single steps."""

import math
import time
import warnings

import numpy as np

import leastaction as la
from benchmarks.hard_machines import MACHINES, Scene, random_surface, random_turn
from benchmarks.report import Report, Requirement, Sheet
from leastaction.errors import ConvergenceError
from leastaction.mechanism import Box, Capsule, MechanismBuilder, Plane, Pose, Sphere

SEEDS = 10
GAIN, COARSE = 0.02, 0.2
"""Energy above that of the start, relative to the largest kinetic energy, that counts as a gain: in scenes with
contacts, and in those with steps that are too long for the motion."""
DEEP, OPEN, WORK = 1e-6, 1e-8, 12_000
"""Overlap [m], gap of a joint [m or rad] and iterations of a step that count."""

NOTES = """Random scenes of each kind, one for each seed. Gain: largest energy above that of the start, relative to \
the largest kinetic energy of the run. Deep: largest overlap at the end of a step [m]. Open: largest violation of a \
joint [m or rad]. Work: most Newton iterations of one step."""


def pile(rng) -> Scene:
    """Boxes and balls that fall on each other."""
    b, q = MechanismBuilder("pile"), []
    for i in range(int(rng.integers(4, 8))):
        surface = random_surface(rng)
        skin = Sphere(0.1, **surface) if rng.random() < 0.4 else Box(tuple(rng.uniform(0.1, 0.3, 3)), **surface)
        b.body(f"b{i}", mass=float(10.0 ** rng.uniform(-1, 1)), shapes=skin)
        b.free(f"b{i}")
        q += [*rng.uniform(-0.1, 0.1, 2), 0.3 + 0.4 * i, *random_turn(rng)]
    b.add_shape("world", Plane())
    robot = b.build()
    return Scene(robot, np.array(q), rng.normal(size=robot.nv), 0.01, 150)


def stack(rng) -> Scene:
    """Boxes on each other with mass ratios up to 1e6."""
    b, q, z = MechanismBuilder("stack"), [], 0.0
    surface = random_surface(rng, 1.0)
    for i in range(int(rng.integers(2, 5))):
        b.body(f"b{i}", mass=float(10.0 ** rng.uniform(-3, 3)), shapes=Box((0.2, 0.2, 0.2), **surface))
        b.free(f"b{i}")
        z += 0.1 + float(rng.uniform(0.0, 0.05))
        q += [*rng.uniform(-0.02, 0.02, 2), z, 1, 0, 0, 0]
        z += 0.1
    b.add_shape("world", Plane())
    robot = b.build()
    return Scene(robot, np.array(q), 0.3 * rng.normal(size=robot.nv), 0.01, 100)


def chain(rng) -> Scene:
    """A free chain with mass ratios up to 1e6 that falls on the ground."""
    b = MechanismBuilder("chain")
    links = int(rng.integers(3, 8))
    surface = random_surface(rng, 1.0)
    for i in range(links):
        mass = float(10.0 ** rng.uniform(-3, 3))
        skin = Capsule(0.03, 0.2, pose=Pose((0, 0, -0.1)), **surface)
        b.body(f"l{i}", mass=mass, com=(0, 0, -0.1), inertia=tuple(mass * np.array([4e-3, 4e-3, 5e-4])), shapes=skin)
        if i == 0:
            b.free("l0")
        else:
            b.spherical(f"j{i}", f"l{i - 1}", f"l{i}", position=(0, 0, -0.2))
    b.add_shape("world", Plane())
    robot = b.build()
    q = robot.integrate(robot.neutral(), rng.uniform(-0.5, 0.5, robot.nv))
    q[:3] = 0, 0, 0.25 * links + 0.3
    return Scene(robot, q, rng.normal(size=robot.nv), 0.01, 100)


def spin(rng) -> Scene:
    """A chain of bodies without ground, with velocities of some 100 m/s and rad/s."""
    b = MechanismBuilder("spin")
    links = int(rng.integers(2, 6))
    for i in range(links):
        b.body(f"l{i}", mass=float(rng.uniform(0.5, 2)), com=(0, 0, -0.1), inertia=tuple(rng.uniform(0.01, 0.015, 3)))
        if i == 0:
            b.free("l0")
        elif rng.random() < 0.5:
            b.spherical(f"j{i}", f"l{i - 1}", f"l{i}", position=(0, 0, -0.2))
        else:
            b.revolute(f"j{i}", f"l{i - 1}", f"l{i}", axis="xyz"[int(rng.integers(3))], position=(0, 0, -0.2))
    robot = b.build()
    q = robot.integrate(robot.neutral(), rng.uniform(-1, 1, robot.nv))
    speed = float(rng.choice([10.0, 30.0, 100.0]))
    return Scene(robot, q, speed * rng.normal(size=robot.nv), 0.01, 100)


def tumbling(rng) -> Scene:
    """Boxes thrown at each other, fast beside dt."""
    b, q = MechanismBuilder("tumbling"), []
    for i in range(int(rng.integers(2, 5))):
        b.body(f"b{i}", mass=1.0, shapes=Box((0.2, 0.15, 0.3), friction=0.5))
        b.free(f"b{i}")
        q += [*rng.uniform(-0.3, 0.3, 2), 0.4 + 0.4 * i, *random_turn(rng)]
    b.add_shape("world", Plane(friction=0.5))
    robot = b.build()
    return Scene(robot, np.array(q), 6.0 * rng.normal(size=robot.nv), 0.02, 60)


def minitaur(rng) -> Scene:
    """Minitaur dropped on elastic ground, with friction."""
    b = MechanismBuilder.from_mechanism(la.robots.minitaur(friction=0.5))
    b.add_shape("world", Plane(restitution=float(rng.choice([0.5, 1.0]))))
    robot = b.build()
    q = robot.neutral()
    q[2] = 0.4
    v = np.zeros(robot.nv)
    v[:6] = rng.normal(size=6)
    return Scene(robot, q, v, 0.005, 100)


def large_steps(rng) -> Scene:
    """A double pendulum from random angles, with a dt that is too large for it."""
    robot = la.robots.pendulum(2)
    return Scene(robot, rng.uniform(-math.pi, math.pi, 2), rng.normal(size=2), float(rng.choice([0.05, 0.1])), 200)


def loose_pairs(rng) -> Scene:
    """Two bodies with random inertias in random joints, with a dt that is too large for them."""
    b = MechanismBuilder("pair")
    for i, parent in enumerate(("world", "b0")):
        moments = np.sort(rng.uniform(0.01, 0.02, 3))
        b.body(f"b{i}", mass=float(rng.uniform(0.5, 2.0)), com=tuple(rng.uniform(-0.3, 0.3, 3)), inertia=tuple(moments))
        kind = b.spherical if rng.random() < 0.5 else b.revolute
        kind(f"j{i}", parent, f"b{i}", position=tuple(rng.uniform(-0.3, 0.3, 3)))
    robot = b.build()
    q = robot.integrate(robot.neutral(), rng.uniform(-2, 2, robot.nv))
    return Scene(robot, q, 5.0 * rng.normal(size=robot.nv), float(rng.choice([0.02, 0.05])), 200)


GAINS = {"spin": COARSE, "large_steps": COARSE, "loose_pairs": COARSE, "swings": COARSE, "paddle": math.inf}
"""Paddles bring energy in."""

BEFORE = {
    "pile": (0, 0, 3.5e-3, 0, 137),
    "stack": (0, 1, 0.16, 0, 250),
    "chain": (2, 4, 0.32, 1, 6749),
    "spin": (3, 0, 0.061, 0, 177),
    "tumbling": (0, 0, 2.4e-11, 0, 96),
    "minitaur": (0, 2, 0.12, 0, 277),
    "large_steps": (0, 6, 1.04, 0, 567),
    "loose_pairs": (0, 2, 0.56, 0, 165),
}
"""Failures, gains, worst gain, runs with open joints and most work of seeds 0 to 9 before restitution was bounded by
energy and long steps were divided. Work of steps that failed is not in it."""

NOTHING = ("", "", "", "", "")
"""In place of such a row, for kinds that were not measured then."""

OWN = (pile, stack, chain, spin, tumbling, minitaur, large_steps, loose_pairs)
KINDS = {f.__name__: f for f in (*OWN, *MACHINES)}


def measured(scene: Scene) -> dict:
    """What a run of a scene comes to."""
    failure, began = "", time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            run = la.simulate(
                scene.robot,
                scene.q,
                scene.v,
                dt=scene.dt,
                steps=scene.steps,
                integrator=la.Maximal(),
                motions=scene.motions,
                progress=False,
            )
        except ConvergenceError as error:
            run, failure = error.trajectory, str(error)
    gaps = run.stored["contacts"][:, 9] if "contacts" in run.stored else np.zeros(0)
    kinetic = max(float(run.kinetic_energy.max()), 1e-12)
    return {
        "failure": failure,
        "gain": float((run.energy - run.energy[0]).max()) / kinetic,
        "deep": max(0.0, -float(gaps.min(initial=0.0))),
        "open": float(run.stored["violation"].max()),
        "work": int(run.iterations.max()),
        "divided": int((run.stored["divided"] != 0).sum()),
        "seconds": time.process_time() - began,
    }


def sheet(progress, seeds) -> tuple[Sheet, list[Requirement]]:
    """Counts over the scenes of every kind with these seeds, and what they must be."""
    columns = ["scene", "runs", "failed", "gains", "worst gain", "open", "widest", "work", "deep", "deepest", "s"]
    columns += [f"before: {name}" for name in ("failed", "gains", "worst gain", "open", "work")]
    out = Sheet(f"Maximal on hard scenes (before: {SEEDS} of each kind, seeds 0 to {SEEDS - 1})", columns)
    for name, make in KINDS.items():
        rows = []
        for seed in seeds:
            progress.next(f"{name}, seed {seed}")
            rows.append(measured(make(np.random.default_rng([seed, *name.encode()]))))
            progress.done()
        out.rows.append([name, len(rows), *_counts(rows, GAINS.get(name, GAIN)), *BEFORE.get(name, NOTHING)])
    failed, gains, opened = (sum(row[k] for row in out.rows) for k in (2, 3, 5))
    work = max(row[7] for row in out.rows)
    requirements = [
        Requirement("hard scenes that fail", float(failed), 0.02 * sum(row[1] for row in out.rows)),
        Requirement("hard scenes that gain energy", float(gains), 0.0),
        Requirement("hard scenes with open joints", float(opened), 0.0),
        Requirement("most iterations of a step", float(work), WORK),
    ]
    return out, requirements


def _counts(rows: list[dict], gain: float) -> list:
    def column(name):
        return np.array([row[name] for row in rows])

    gains, deep, gap = column("gain"), column("deep"), column("open")
    failed = sum(bool(row["failure"]) for row in rows)
    return [
        *(failed, int((gains > gain).sum()), float(gains.max()), int((gap > OPEN).sum()), float(gap.max())),
        *(int(column("work").max()), int((deep > DEEP).sum()), float(deep.max()), float(column("seconds").sum())),
    ]


def run(progress, quick=False) -> Report:
    """All kinds of scenes."""
    seeds = range(2 if quick else SEEDS)
    progress.total(len(seeds) * len(KINDS))
    table, requirements = sheet(progress, seeds)
    return Report("Hard scenes in body coordinates", NOTES, [table], requirements)
