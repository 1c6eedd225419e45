"""Error against CPU time on a 12-link pendulum: Fan 2018, Figure 3, with more methods."""

import time
from functools import partial

import numpy as np

import leastaction as la
from benchmarks import mujoco_chain
from benchmarks.report import Plot, Report, Requirement, Sheet
from benchmarks.rollouts import Rollout, load_note
from benchmarks.starts import near_neutral

LINKS, COUNT, SAMPLE, ROUNDS = 12, 100, 0.1, 3
SEEDS = (0, 1, 2)
ACCURACIES = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)
SPLITS = (1, 2, 4, 5, 8, 10, 20, 40, 50, 100, 200, 400)
"""Steps per sample of 0.1 s."""

OURS = {
    **{f"Galerkin {order}": la.Galerkin(order=order) for order in (2, 4, 6, 8, 12)},
    **{f"Galerkin {order}, joints": la.Galerkin(order=order, interpolation="joints") for order in (4, 8, 10, 12, 16)},
    "Galerkin 12, joints, 1e-9": la.Galerkin(order=12, interpolation="joints", tolerance=1e-9),
    "Midpoint": la.Midpoint(),
    "HermiteSimpson": la.HermiteSimpson(tolerance=1e-12),
    "RungeKutta 4": la.RungeKutta(order=4),
}
MUJOCO = {"MuJoCo RK4": "RK4", "MuJoCo implicit": "implicit", "MuJoCo Euler": "Euler"}
FINEST = {"HermiteSimpson": 100, "Galerkin 12, joints, 1e-9": 5, "Galerkin 6": 50}
FINEST |= {f"Galerkin {order}{rule}": n for order, n in {4: 200, 8: 20, 12: 10}.items() for rule in ("", ", joints")}
FINEST |= {"Galerkin 10, joints": 10, "Galerkin 16, joints": 8}
"""Finer steps than these only collect rounding errors, or take long."""

NOTES = f"""A pendulum of {LINKS} rods of 1 m, 1 kg from rest, angles uniform in ±15 degrees, {len(SEEDS)} starts, \
{COUNT * SAMPLE:g} s. Error: mean over time of |q - q_ref|, mean over starts; q_ref from DOP853 with rtol = 1e-13. \
Time: seconds of the whole run in a compiled loop (MuJoCo: its own loop in C, without contacts and constraints), best \
of {ROUNDS} rounds. Time at an accuracy is interpolated between steps. Newton tolerance 1e-12 unless stated; 1e-9 \
suffices for six digits."""


def error(q, reference):
    return float(np.linalg.norm(q - reference, axis=1).mean())


def our_run(robot, integrator, q, split):
    """(seconds, positions at the samples, iterations per step); NaN where a step fails."""
    rollout = Rollout(robot, integrator, q, np.zeros(LINKS), SAMPLE / split, COUNT * split)
    seconds = rollout.seconds(repeats=1) * rollout.steps
    its = rollout.record["iterations"].mean() if "iterations" in rollout.record else 0.0
    return seconds, rollout.record["q"][::split] + 0.0 * seconds, float(its)


def mujoco_run(integrator, q, split):
    """The same with MuJoCo."""
    chain = mujoco_chain.Chain(LINKS, integrator, SAMPLE / split, q, np.zeros(LINKS))
    samples, _ = chain.samples(COUNT, split)
    chain.reset()
    began = time.perf_counter()
    chain.run(COUNT * split)
    return time.perf_counter() - began, samples, 0.0


def points(method, splits, starts, references):
    """Rows (dt, error, seconds, iterations per step), means over the starts."""
    for split in splits:
        runs = [method(q, split) for q in starts]
        errors = [error(run[1], reference) for run, reference in zip(runs, references, strict=True)]
        means = [float(np.mean([run[k] for run in runs])) for k in (0, 2)]
        yield [SAMPLE / split, float(np.mean(errors)), *means]


def seconds_at(points, accuracy):
    """CPU time at which a method reaches the accuracy, interpolated (log-log); infinite if it never does."""
    points = sorted(p[1:3] for p in points if np.isfinite(p[1]) and p[1] > 0.0)
    good = [p for p in points if p[0] <= accuracy]
    if not good:
        return np.inf
    cheapest = min(good, key=lambda p: p[1])
    worse = [p for p in points if p[0] > accuracy and p[1] < cheapest[1]]
    if not worse:
        return cheapest[1]
    near = min(worse, key=lambda p: p[0])
    x = np.log([cheapest[0], near[0]])
    y = np.log([cheapest[1], near[1]])
    return float(np.exp(np.interp(np.log(accuracy), x, y)))


def figure(curves):
    """Error over time, where it is below 1 rad."""
    lines = {}
    for name, points in curves.items():
        good = [p[1:3] for p in points if np.isfinite(p[1]) and p[1] < 1.0]
        lines[name] = [p[1] for p in good], [p[0] for p in good]
    return Plot(f"{LINKS}-link pendulum", f"CPU time for {COUNT * SAMPLE:g} s [s]", "mean error [rad]", lines, "xy")


def run(progress, quick=False) -> Report:
    """All methods over all steps; quick: one start and every third size of steps."""
    robot, seeds, rounds = la.robots.pendulum(LINKS), SEEDS[:1] if quick else SEEDS, 1 if quick else ROUNDS
    starts = [near_neutral(robot, np.pi / 12, seed) for seed in seeds]
    methods = {name: partial(our_run, robot, integrator) for name, integrator in OURS.items()}
    methods |= {name: partial(mujoco_run, integrator) for name, integrator in MUJOCO.items()}
    progress.total(rounds * len(methods) + 1)
    progress.next("reference")
    tight = la.DOP853(rtol=1e-13, atol=1e-14)
    references = [la.simulate(robot, q, dt=SAMPLE, steps=COUNT, integrator=tight).q for q in starts]
    progress.done()
    curves = {}
    for _ in range(rounds):  # in turns: a busy minute must not hit all runs of one method
        for name, method in methods.items():
            progress.next(name)
            splits = [s for s in SPLITS if s <= FINEST.get(name, SPLITS[-1])][:: 3 if quick else 1]
            rows = list(points(method, splits, starts, references))
            for row, before in zip(rows, curves.get(name, rows), strict=True):
                row[2] = min(row[2], before[2])
            curves[name] = rows
            progress.done()
    raw = Sheet("Runs", ["method", "dt [s]", "error [rad]", "CPU [s]", "its"])
    raw.rows = [[name, *point] for name, points in curves.items() for point in points]
    table = Sheet("CPU seconds to reach an accuracy", ["method", *(f"{a:g}" for a in ACCURACIES)])
    times = {name: [seconds_at(points, a) for a in ACCURACIES] for name, points in curves.items()}
    table.rows = [[name, *row] for name, row in times.items()]
    fastest = [min(times, key=lambda name: times[name][k]) for k in range(len(ACCURACIES))]
    best = Sheet("Fastest", ["accuracy", "method", "CPU [s]", "Galerkin 4 / Hermite-Simpson"])
    for k, (accuracy, name) in enumerate(zip(ACCURACIES, fastest, strict=True)):
        ratio = times["Galerkin 4"][k] / times["HermiteSimpson"][k]
        best.rows.append([f"{accuracy:g}", name, times[name][k], ratio])
    worst = max(row[3] for row in best.rows if np.isfinite(row[3]))
    requirements = [Requirement("time of Galerkin 4 / Hermite-Simpson, worst accuracy", worst, 1.0)]
    for k, accuracy in enumerate(ACCURACIES[1:], start=1):
        ours = min(row[k] for name, row in times.items() if name.startswith("Galerkin"))
        other = min(row[k] for name, row in times.items() if not name.startswith("Galerkin"))
        requirements.append(Requirement(f"best Galerkin order / best other method at {accuracy:g}", ours / other, 1.0))
    return Report(
        "Work and precision", f"{NOTES} {load_note()}", [raw, table, best], requirements, plots=[figure(curves)]
    )
