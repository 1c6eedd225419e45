"""Runs restarted from (q, p) and (q, v) in contact, speed at rest, and the roll of symmetric grasps."""

import os
from dataclasses import replace
from typing import Any

import numpy as np

import leastaction as la
from benchmarks.corpus.driven import gripper
from benchmarks.corpus.families import scene
from benchmarks.corpus.figures import simulated
from benchmarks.corpus.scene import Scene
from benchmarks.report import Measure, Report, Sheet

LONG = True
SEEDS, QUICK_SEEDS = 10, 2
FAMILIES = (
    "cubes",
    "boxes",
    "dominoes",
    "trees",
    "gears",
    "ground_springs",
    "motor_presses",
    "grasps",
    "three_fingers",
)
FAMILIES += ("drop_unitree_a1",)
STARTS, LATER = 5, 60
"""Restarts of a run, at steps with contact, and steps after which they are compared with it."""
BOUNDS = (1e-12, 1e-9, 1e-6)
SETTLED, SETTLING, STILL = 1e-6, 2.5, 0.25
"""A run rests where positions [rad or m] change by less than this in the last `STILL` seconds of `SETTLING`."""

NOTES = f"""Restarts: the run is restarted from its state at up to {STARTS} steps with contact, spread over the run, \
and compared {LATER} steps later: largest difference of positions and velocities. Rest: largest velocity after \
{SETTLING:g} s, of runs whose positions change by less than {SETTLED:g} rad or m in the last {STILL:g} s. Symmetric \
grasps: two equal fingers hold a box in the middle; its rotation and its lateral displacement."""


def restarts(case: Scene, integrator: Any) -> tuple[list[float], list[float]]:
    """Differences of runs that begin anew from (q, p), and from (q, v)."""
    try:
        run = simulated(case, integrator)
    except la.LeastActionError:
        return [], []
    touching = np.unique(run.stored["contacts"][:, 0].astype(int))
    touching = touching[(touching > 0) & (touching < run.steps - LATER)]
    chosen = touching[np.linspace(0, len(touching) - 1, STARTS).astype(int)] if len(touching) else []
    found: tuple[list[float], list[float]] = [], []
    for k in map(int, np.unique(chosen)):
        for differences, start in zip(found, ({"p": run.p[k]}, {"v": run.v[k]}), strict=True):
            differences.append(_difference(case, run, k, start, integrator))
    return found


def _difference(case: Scene, run: Any, k: int, start: dict, integrator: Any) -> float:
    options = {"dt": case.dt, "steps": LATER, "integrator": integrator, "controls": case.controls, "progress": False}
    try:
        other = la.simulate(case.robot, run.q[k], **start, **options)
    except la.LeastActionError:
        return np.inf
    moved = case.robot.difference(run.q[k + LATER], other.q[-1])
    return float(max(np.abs(moved).max(), np.abs(run.v[k + LATER] - other.v[-1]).max()))


def speed_at_rest(case: Scene, integrator: Any) -> float:
    """Largest velocity at the end of a run of `SETTLING` seconds; not a number where it fails or does not rest.

    Whether it rests is read off the positions, so that the velocities that are looked at have no say in it.
    """
    try:
        run = simulated(replace(case, steps=round(SETTLING / case.dt)), integrator)
    except la.LeastActionError:
        return np.nan
    last = range(run.steps - round(STILL / case.dt), run.steps)
    moved = max(float(np.abs(case.robot.difference(run.q[-1], run.q[k])).max()) for k in last)
    return float(np.abs(run.v[-1]).max()) if moved < SETTLED else np.nan


def symmetric_grasp(rng, integrator: Any) -> tuple[float, float]:
    """Turn of the box [rad] and how far it moves along the fingers and across [m]."""
    mass, friction, kp = float(rng.uniform(0.1, 2.0)), float(rng.uniform(0.3, 1.0)), float(10.0 ** rng.uniform(2, 4))
    run = simulated(gripper(mass=mass, friction=friction, kp=kp), integrator)
    turn = 2.0 * np.arcsin(np.clip(np.linalg.norm(run.q[:, 6:9], axis=1), 0.0, 1.0))
    return float(turn.max()), float(np.abs(run.q[:, 2:4]).max())


def run(progress, quick: bool = False) -> Report:
    """All three tables; quick: two seeds."""
    seeds = range(int(os.environ.get("CORPUS_SEEDS", QUICK_SEEDS if quick else SEEDS)))
    methods = la.Maximal(), la.Minimal()
    progress.total(len(methods) * len(seeds) * (len(FAMILIES) + 1))
    columns = [f"{what} {bound:g}" for what in ("from (q, p): >",) for bound in BOUNDS]
    anew = Sheet("Restarts in contact", ["family", "method", "restarts", *columns, "largest", "from (q, v): largest"])
    rest = Sheet("Speed at rest", ["family", "method", "runs", "at rest", "median [rad/s or m/s]", "largest"])
    grasps = Sheet("Symmetric grasps", ["method", "runs", "largest turn [rad]", "largest shift [m]"])
    measures = []
    for integrator in methods:
        method = type(integrator).__name__
        for family in FAMILIES:
            p_found, v_found, speeds = [], [], []
            for seed in seeds:
                progress.next(f"{family}, {method}, seed {seed}")
                case = scene(family, seed)
                for known, new in zip((p_found, v_found), restarts(case, integrator), strict=True):
                    known += new
                speeds.append(speed_at_rest(case, integrator))
                progress.done()
            above = [int((np.array(p_found) > bound).sum()) for bound in BOUNDS]
            widest = [max(found, default=np.nan) for found in (p_found, v_found)]
            anew.rows.append([family, method, len(p_found), *above, *widest])
            resting = [speed for speed in speeds if not np.isnan(speed)]
            found = [float(np.median(resting)), max(resting)] if resting else [None, None]
            rest.rows.append([family, method, len(speeds), len(resting), *found])
            measures.append(Measure(f"{method}, {family}: restarts that differ > {BOUNDS[-1]:g}", "count", [above[-1]]))
        motions = []
        for seed in seeds:
            progress.next(f"symmetric grasps, {method}, seed {seed}")
            motions.append(symmetric_grasp(np.random.default_rng(seed), integrator))
            progress.done()
        grasps.rows.append([method, len(motions), *(max(column) for column in zip(*motions, strict=True))])
    return Report("Restarts, rest and symmetry", NOTES, [anew, rest, grasps], measures=measures, seeds=list(seeds))
