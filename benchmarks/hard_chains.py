"""Chains and a humanoid in violent motion, with long steps: failures, energy, bisected steps.

The humanoid tree is thrown with joint velocities within 2 rad/s; its kinetic energy is relative to its centre of mass.
Chains of hinges start at rest from random angles within 0.5 rad, those of ball joints within 0.3 rad. A run counts as
violating the energy when it departs from the start by more than a fifth of the largest kinetic energy.
"""

import math
import time

import numpy as np

import leastaction as la
from benchmarks.division import has_substeps
from benchmarks.report import Report, Requirement, Sheet

DT, DURATION = 0.01, 5.0
BOUND = 0.2
"""Of the largest kinetic energy."""

JOINTS = [la.Galerkin(order=order, interpolation="joints") for order in (2, 4)]
BODIES = [la.Galerkin(order=order, interpolation="bodies") for order in (2, 4)]
CASES = [
    ("humanoid", DT, [*JOINTS, *BODIES, la.Midpoint()]),
    ("humanoid", 0.005, [JOINTS[0], BODIES[0]]),
    ("32 hinges", DT, [*JOINTS, *BODIES, la.Midpoint()]),
    ("128 hinges", DT, [*JOINTS, *BODIES, la.Midpoint()]),
    ("32 balls", DT, BODIES),
]


def start(name: str, seed: int) -> tuple:
    """(robot, q, v) of a case."""
    rng = np.random.default_rng(seed)
    if name == "humanoid":
        robot = la.robots.humanoid_tree()
        v = rng.uniform(-2.0, 2.0, robot.nv)
        v[:6] = 0.0
        return robot, robot.neutral(), v
    count, kind = name.split()
    joint, angle = ("spherical", 0.3) if kind == "balls" else ("revolute", 0.5)
    robot = la.robots.pendulum(int(count), joint=joint)
    return robot, robot.integrate(robot.neutral(), rng.uniform(-angle, angle, robot.nv)), np.zeros(robot.nv)


def measured(name: str, seed: int, integrator, dt: float) -> dict:
    """One run: whether it failed, departure of its energy, divided steps, iterations and CPU time per step."""
    robot, q, v = start(name, seed)
    steps = round(DURATION / dt)
    began = time.process_time()
    try:
        run, failed = la.simulate(robot, q, v, dt=dt, steps=steps, integrator=integrator), False
    except la.ConvergenceError as error:
        run, failed = error.trajectory, True
    spent = time.process_time() - began
    kinetic = run.kinetic_energy
    if name == "humanoid":
        kinetic = kinetic - 0.5 * np.square(run.p[:, 3:6]).sum(axis=1) / robot.tree.nodes.mass.sum()
    divided = has_substeps(run.stored, run.steps + 1)
    return {
        "failed": failed,
        "off": float(np.abs(run.energy - run.energy[0]).max() / kinetic.max()) if run.steps else math.nan,
        "divided": int(divided.sum()),
        "early": int(divided[: round(1.0 / dt) + 1].sum()),
        "iterations": float(run.iterations[1:].mean()) if run.steps else math.nan,
        "us": 1e6 * spent / max(1, run.steps),
    }


def sheet(progress, seeds) -> tuple[Sheet, list[Requirement]]:
    """Counts over runs with these seeds; `progress` as in `benchmarks.__main__`."""
    columns = ["robot", "dt [s]", "method", "runs", "failed", "energy violated", "worst energy"]
    columns += ["divided steps", "in the first second", "iterations a step", "CPU µs a step"]
    out = Sheet(f"Chains and a humanoid in violent motion, {DURATION:g} s each", columns)
    for name, dt, integrators in CASES:
        for integrator in integrators:
            rows = []
            for seed in seeds:
                progress.next(f"{name}, seed {seed}")
                rows.append(measured(name, seed, integrator, dt))
                progress.done()
            title = type(integrator).__name__
            if isinstance(integrator, la.Galerkin):
                title += f" {integrator.order}, {integrator.interpolation}"
            failed, violated = sum(r["failed"] for r in rows), sum(not r["off"] <= BOUND for r in rows)
            means = [float(np.mean([r[key] for r in rows])) for key in ("divided", "early", "iterations")]
            fastest = min(r["us"] for r in rows)
            out.rows.append(
                [name, dt, title, len(rows), failed, violated, max(r["off"] for r in rows), *means, fastest]
            )
    early = sum(row[8] for row in out.rows if row[0].endswith("balls"))
    requirements = [
        Requirement("violent motions that fail", float(sum(row[4] for row in out.rows)), 0.0),
        Requirement("violent motions with spurious energy", float(sum(row[5] for row in out.rows)), 0.0),
        Requirement("steps of ball chains that are divided in the first second", early, 0.0),
    ]
    return out, requirements


def run(progress, quick=False) -> Report:
    """Three seeds; quick: one."""
    seeds = range(1 if quick else 3)
    progress.total(len(seeds) * sum(len(integrators) for *_, integrators in CASES))
    table, requirements = sheet(progress, seeds)
    return Report("Fast motions of chains", __doc__.split("\n\n", 1)[1], [table], requirements)
