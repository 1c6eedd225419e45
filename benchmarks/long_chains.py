"""Long chains: pendulums of 1 to 512 links from random starts, in time that grows linearly."""

import math

import numpy as np

import leastaction as la
from benchmarks.report import Plot, Report, Requirement, Sheet
from benchmarks.rollouts import Rollout, load_note
from benchmarks.starts import near_neutral

LENGTHS, FEW = tuple(2**k for k in range(10)), (8, 64, 128, 512)
ORDERS = (2, 4, 6)
RULES = ("bodies", "joints")
DT, STEPS, ANGLE, SEED = 0.005, 200, 0.1, 0
SEEN, FINE = 20, 16
"""Every how many steps one is compared with the motion, and into how many that is divided for it."""

NOTES = f"""Pendulums of 1 m rods from rest, each link turned by up to ±{ANGLE} rad against the one before, {STEPS} \
steps of {DT} s, each iterated until the next Newton update would be below 1e-12 rad. CPU time, best of several runs \
of all steps, the lengths measured in turns; the rule on joint coordinates with the recursive solver. Longer chains \
move less smoothly, which the table measures by the mean over the steps of the largest fourth difference of joint \
angles, and by the local error of a step, the same mean over every {SEEN}th step (reference: {FINE} steps of bodies, \
order 4). This local error is the distance that Newton's method covers from an initial guess on the exact motion. \
Columns list the cost of an iteration and the number of iterations separately."""


def method(rule, order):
    solver = "auto" if rule == "bodies" else "recursive"
    return la.Galerkin(order=order, interpolation=rule, solver=solver)


def timed(robots, rule, order, repeats):
    """{links: (steps done, iterations, seconds per step, per iteration, roughness, way off the motion [rad])}."""
    rollouts = {
        n: Rollout(robot, method(rule, order), near_neutral(robot, ANGLE, SEED), np.zeros(n), DT, STEPS)
        for n, robot in robots.items()
    }
    done = {n: rollout.run() for n, rollout in rollouts.items()}
    best = dict.fromkeys(rollouts, np.inf)
    for _ in range(repeats):  # in turns: a busy minute hits all of them
        for n, rollout in rollouts.items():
            best[n] = min(best[n], rollout.seconds(repeats=1))
    its = {n: rollout.record["iterations"][1 : done[n] + 1] for n, rollout in rollouts.items()}
    rough = {n: roughness(rollout.record["q"][: done[n] + 1]) for n, rollout in rollouts.items()}
    off = {n: off_the_motion(robots[n], rollout.record, done[n]) for n, rollout in rollouts.items()}
    return {n: (done[n], its[n], best[n], best[n] / its[n].mean(), rough[n], off[n]) for n in rollouts}


def roughness(q):
    """Mean over the steps of the largest fourth difference of joint angles q (steps + 1, links) [rad]."""
    return float(np.abs(np.diff(q, 4, axis=0)).max(axis=1).mean())


def off_the_motion(robot, record, done):
    """Mean over some steps of the largest angle between where a step ends and the motion leads to [rad]."""
    fine = Rollout(robot, method("bodies", 4), robot.neutral(), np.zeros(robot.nv), DT / FINE, FINE)
    away = []
    for k in range(SEEN // 2, done, SEEN):
        fine.record["q"][0], fine.record["p"][0] = record["q"][k], record["p"][k]
        if fine.run() == FINE:
            away.append(np.abs(record["q"][k + 1] - fine.record["q"][FINE]).max())
    return float(np.mean(away)) if away else math.nan


def run(progress, quick=False) -> Report:
    """Run all lengths and orders."""
    lengths, orders, repeats = (FEW, ORDERS[:2], 1) if quick else (LENGTHS, ORDERS, 3)
    columns = ["rule", "links", "order", "steps", "mean its", "worst its", "[µs/step]", "[µs/iteration]"]
    columns += ["4th difference [rad]", "off the motion [rad]"]
    sheet = Sheet("Pendulums", columns)
    ways = ["64 to 512, per step", "per iteration", "128 to 512, per step", "per iteration"]
    growth = Sheet("Time of 512 links over that of fewer, divided by the ratio of links", ["rule", "order", *ways])
    progress.total(len(RULES) * len(orders))
    robots = {n: la.robots.pendulum(n) for n in lengths}
    times = {}
    for rule in RULES:
        for order in orders:
            progress.next(f"{rule}, order {order}")
            found = times[rule, order] = timed(robots, rule, order, repeats)
            for n, (done, its, step, iteration, *ways_off) in found.items():
                count = [done, float(its.mean()), int(its.max())]
                sheet.rows.append([rule, n, order, *count, 1e6 * step, 1e6 * iteration, *ways_off])
            ratios = [found[512][k] * n / (512 * found[n][k]) for n in (64, 128) for k in (2, 3)]
            growth.rows.append([rule, order, *ratios])
            progress.done()
    plots = []
    for rule in RULES:
        lines = {f"order {k}": (list(lengths), [1e6 * times[rule, k][n][2] for n in lengths]) for k in orders}
        plots.append(Plot(f"interpolation of {rule}", "links", "time per step [µs]", lines, "xy"))
    requirements = [
        Requirement("steps that failed", max(STEPS - row[3] for row in sheet.rows), 0),
        Requirement("mean iterations", max(row[4] for row in sheet.rows), 6.0),
    ]
    for rule, order, ratio, *_ in growth.rows:
        what = f"departure from linear growth, 64 to 512 links, {rule}, order {order}"
        requirements.append(Requirement(what, ratio - 1.0, 0.15))
    return Report("Long chains", f"{NOTES} {load_note()}", [sheet, growth], requirements, plots=plots)
