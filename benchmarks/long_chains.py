"""Long chains: every step of pendulums of 1 to 512 links converges, in time that grows linearly."""

import matplotlib
import numpy as np

import leastaction as la
from benchmarks.report import Report, Requirement, Sheet
from benchmarks.rollouts import Rollout, load_note, save_figure
from benchmarks.starts import bow

LENGTHS = tuple(2**k for k in range(10))
ORDERS = (2, 4, 6)
DT, STEPS, TIMED = 0.01, 1000, 20

NOTES = f"""Pendulums of 1 m rods from rest, bent like a bow, {STEPS} steps of {DT} s, each until the next \
update would be below 1e-10 rad. Times: best of several runs of {TIMED} steps with the recursive solver; the \
long runs use the exact one that "auto" chose."""


def full_run(robot, order):
    """Steps that converged, and the iterations of each."""
    solver = la.Galerkin(order=order).prepare(robot, DT).solver  # Newton alone: no sweeps ahead of it
    rollout = Rollout(robot, la.Galerkin(order=order, solver=solver), bow(robot.nv), np.zeros(robot.nv), DT, STEPS)
    done = rollout.run()
    return done, rollout.record["iterations"][1 : done + 1]


def recursive_seconds(robots, order):
    """{links: (seconds per step, per iteration)}; lengths in turns: a busy minute hits all of them."""
    rollouts = {
        n: Rollout(robot, la.Galerkin(order=order, solver="recursive"), bow(n), np.zeros(n), DT, TIMED)
        for n, robot in robots.items()
    }
    best = dict.fromkeys(rollouts, np.inf)
    for _ in range(5):
        for n, rollout in rollouts.items():
            best[n] = min(best[n], rollout.seconds(repeats=3, least=0.05))
    its = {n: rollout.record["iterations"][1:].mean() for n, rollout in rollouts.items()}
    return {n: (best[n], best[n] / its[n]) for n in rollouts}


def figure(times):
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    for order in ORDERS:
        line = [1e6 * times[order][n][1] for n in LENGTHS]
        ax.loglog(LENGTHS, line, "o-", label=f"order {order}")
        ax.loglog(LENGTHS, [line[6] * n / LENGTHS[6] for n in LENGTHS], "k:", lw=0.8)
    ax.set(xlabel="links", ylabel="time per Newton iteration [µs]", title="recursive solver; dotted: linear")
    ax.legend()
    return save_figure(fig, "long_chains")


def run(progress) -> Report:
    """Run all lengths and orders."""
    columns = ["links", "order", "auto", "steps", "mean its", "worst its", "[µs/step]", "[µs/iteration]"]
    sheet = Sheet("Pendulums", columns)
    growth = Sheet("Time of 512 links / (8 x time of 64)", ["order", "per step", "per iteration"])
    progress.total(len(LENGTHS) * len(ORDERS))
    robots = {n: la.robots.pendulum(n) for n in LENGTHS}
    times = {}
    for order in ORDERS:
        progress.next(f"order {order}, times")
        times[order] = recursive_seconds(robots, order)
        for n, robot in robots.items():
            progress.next(f"{n} links, order {order}")
            done, its = full_run(robot, order)
            solver = la.Galerkin(order=order).prepare(robot, DT).solver
            seconds = [1e6 * t for t in times[order][n]]
            sheet.rows.append([n, order, solver, done, float(its.mean()), int(its.max()), *seconds])
            progress.done()
        growth.rows.append([order, *(times[order][512][k] / (8 * times[order][64][k]) for k in (0, 1))])
    figure(times)
    requirements = [
        Requirement("steps that failed", max(STEPS - row[3] for row in sheet.rows), 0),
        Requirement("mean iterations", max(row[4] for row in sheet.rows), 5.0),
    ]
    for order, _, ratio in growth.rows:
        what = f"departure from linear growth, 64 to 512 links, order {order}"
        requirements.append(Requirement(what, ratio - 1.0, 0.15))
    return Report("Long chains", f"{NOTES} {load_note()}", [sheet, growth], requirements)
