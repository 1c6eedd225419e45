"""Newton beside the quasi-Newton method of Lee et al. 2016: Fan 2018, Figure 1."""

import time

import matplotlib
import numpy as np

import leastaction as la
from benchmarks.report import Report, Requirement, Sheet
from benchmarks.rollouts import Rollout, load_note, save_figure

LINKS, STATES = 32, 1000
STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06)
METHODS = {"Newton": la.Galerkin(order=2, interpolation="joints"), "quasi": la.Galerkin(order=2, solver="quasi")}

NOTES = """One step of the trapezoidal variational integrator of a 32-link pendulum from 1000 random states, \
angles and velocities uniform in ±pi/2 (rad, rad/s), to an update below 1e-10. Iterations (mean, median, \
worst) and times (median, µs) are those of the steps that succeed. "Residual": the largest left in any, \
relative to the largest momentum. "Far": answers more than 1 rad from the true motion (Runge-Kutta, small steps); \
large steps have several solutions, and not every one is near the motion."""
SUBSTEPS = 100


def states(count, seed=1):
    """Random (Q, V)."""
    rng = np.random.default_rng(seed)
    return rng.uniform(-np.pi / 2, np.pi / 2, (2, count, LINKS))


def one_steps(robot, integrator, dt, Q, V):
    """Iterations (0 where it failed), seconds, relative residuals and ends of one step from each state."""
    rollout = Rollout(robot, integrator, Q[0], V[0], dt, 1)
    rollout.run()
    stepper, record = rollout.stepper, rollout.record
    call = min(_seconds(lambda: stepper.advance(record, 0, 0, rollout.controls[:0])) for _ in range(50))
    iterations, seconds, left = np.zeros(len(Q), int), np.zeros(len(Q)), np.zeros(len(Q))
    ends = np.full_like(Q, np.nan)
    for k, (q, v) in enumerate(zip(Q, V, strict=True)):
        record["q"][0] = q
        record["p"][0] = la.dynamics.mass_matrix(robot, q) @ v
        seconds[k] = min(_seconds(rollout.run) for _ in range(3)) - call
        if rollout.run() == 1:
            iterations[k] = record["iterations"][1]
            left[k] = np.abs(stepper.data.points.r).max() / np.abs(record["p"]).max()
            ends[k] = record["q"][1]
    return iterations, seconds, left, ends


def true_ends(robot, dt, Q, V):
    """Where the motion gets to in dt."""
    rollout = Rollout(robot, la.RungeKutta(order=4), Q[0], V[0], dt / SUBSTEPS, SUBSTEPS)
    ends = np.zeros_like(Q)
    for k, (q, v) in enumerate(zip(Q, V, strict=True)):
        rollout.record["q"][0], rollout.record["v"][0] = q, v
        rollout.run()
        ends[k] = rollout.record["q"][-1]
    return ends


def _seconds(function):
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def figure(rows):
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, 3, figsize=(12, 3.5), layout="constrained")
    for name in METHODS:
        mine = [row for row in rows if row[1] == name]
        dt = [row[0] for row in mine]
        for ax, column in zip(axes, (6, 3, 2), strict=True):
            ax.plot(dt, [row[column] for row in mine], "o-", label=name)
    for ax, title in zip(axes, ("median time [µs]", "mean iterations", "success [%]"), strict=True):
        ax.set(xlabel="dt [s]", title=title)
        ax.legend()
    return save_figure(fig, "newton_success")


def run(progress) -> Report:
    """One step from every state, with every dt and both methods."""
    robot = la.robots.pendulum(LINKS)
    Q, V = states(STATES)
    progress.total(len(STEPS) * len(METHODS))
    columns = ["dt", "method", "success [%]", "mean", "median", "worst", "time", "residual", "far [%]"]
    sheet = Sheet("One step from 1000 states", columns)
    for dt in STEPS:
        truth = true_ends(robot, dt, Q, V)
        for name, integrator in METHODS.items():
            progress.next(f"{name}, dt = {dt:g} s")
            its, seconds, left, ends = one_steps(robot, integrator, dt, Q, V)
            good = its > 0
            numbers, far = [np.nan, np.nan, 0, np.nan], 0.0
            if good.any():
                its, timing = its[good], 1e6 * float(np.median(seconds[good]))
                numbers = [float(its.mean()), float(np.median(its)), int(its.max()), timing]
                far = 100.0 * float((np.abs(ends - truth)[good].max(axis=1) > 1.0).mean())
            sheet.rows.append([dt, name, 100.0 * good.mean(), *numbers, float(left.max()), far])
            progress.done()
    figure(sheet.rows)
    newton = [row for row in sheet.rows if row[1] == "Newton"]
    ratios = [n[3] / q[3] for n, q in zip(newton, sheet.rows[1::2], strict=True) if n[0] <= 0.02]
    requirements = [
        Requirement("steps that Newton fails [%]", max(100.0 - row[2] for row in newton), 0.0),
        Requirement("worst relative residual of Newton", max(row[7] for row in newton), 1e-8),
        Requirement("mean iterations, Newton / quasi-Newton, dt <= 0.02 s", max(ratios), 1.0),
    ]
    return Report("Newton and quasi-Newton", f"{NOTES} {load_note()}", [sheet], requirements)
