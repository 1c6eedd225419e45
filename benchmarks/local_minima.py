"""Which minima the two solvers find, and whether plans replay: random problems of arms, a cart-pole and an acrobot."""

import time

import numpy as np

import leastaction as la
from benchmarks.report import Report, Requirement, Sheet
from leastaction.optimize import Problem
from leastaction.optimize.functions import costs

SEEDS, FEW = range(10), range(1)
STEPS, DURATION = (30, 60), 1.5
WORSE = 0.01
"""Relative difference of costs from which on one minimum is higher than another."""

NOTES = f"""{{count}} problems: from rest to rest in {DURATION:g} s, {STEPS[0]} and {STEPS[1]} steps of `Midpoint()`, \
minimal integral of u²; pendulums of 1 to 3 links with a motor at each joint to random postures within ±2.5 rad, a \
cart-pole and an acrobot (one motor for two joints) swung up from random angles. Both solvers start from their default \
initial guess. Worse: its cost is more than {WORSE:.0%} above that of the other solver. Replay: `simulate` with its \
controls stays within 1e-3 rad or m of the plan."""


def reach(links):
    """make(rng, steps): a pendulum to a random posture."""

    def make(rng, steps):
        robot = la.robots.pendulum(links)
        problem = Problem(robot, steps=steps, duration=DURATION, integrator=la.Midpoint())
        problem.start(q=np.zeros(links), v=0).finish(q=rng.uniform(-2.5, 2.5, links), v=0)
        return problem.minimize(costs.effort())

    return make


def swing_up(robot, goal):
    """make(rng, steps): an underactuated robot to its upright posture from a random one."""

    def make(rng, steps):
        problem = Problem(robot, steps=steps, duration=DURATION, integrator=la.Midpoint())
        problem.start(q=robot.neutral() + rng.uniform(-0.5, 0.5, robot.nq), v=0).finish(q=goal, v=0)
        return problem.minimize(costs.effort())

    return make


def kinds():
    """{name: make(rng, steps)}."""
    pole, acrobot = la.robots.cart_pole(), la.robots.acrobot()
    return {
        "1 link": reach(1),
        "2 links": reach(2),
        "3 links": reach(3),
        "cart-pole": swing_up(pole, np.array([0.0, np.pi])),
        "acrobot": swing_up(acrobot, np.array([np.pi, 0.0])),
    }


def solved(problem, solver):
    """(cost, infinite where there is no solution; whether it replays; CPU seconds; iterations)."""
    began = time.process_time()
    found = problem.solve(solver=solver)
    seconds = time.process_time() - began
    cost = found.cost if found.converged else np.inf
    return cost, found.success, seconds, len(found.iterations) - 1


def run(progress, quick=False):
    """All problems with both solvers."""
    seeds, makes = FEW if quick else SEEDS, kinds()
    progress.total(len(makes) * len(seeds) * len(STEPS))
    columns = ["problems", "steps", "solver", "solved", "worse than the other", "replay", "mean cost / best"]
    sheet = Sheet("Minima", [*columns, "CPU ms, median", "iterations"])
    odd = Sheet("Where they differ", ["problem", "steps", "seed", "IPOPT", "horizon"])
    solvers = {"ipopt": "IPOPT", "horizon": "horizon"}
    missed, worse = dict.fromkeys(solvers, 0), dict.fromkeys(solvers, 0)
    for (kind, make), steps in ((item, steps) for item in makes.items() for steps in STEPS):
        rows = {solver: [] for solver in solvers}
        for seed in seeds:
            progress.next(f"{kind}, {steps} steps, {seed}")
            for solver in solvers:
                rows[solver].append(solved(make(np.random.default_rng(seed), steps), solver))
            pair = [rows[solver][-1][0] for solver in solvers]
            if not abs(pair[0] - pair[1]) <= WORSE * min(pair):
                odd.rows.append([kind, steps, seed, *("none" if np.isinf(x) else float(x) for x in pair)])
            progress.done()
        costs_of = {solver: np.array([x[0] for x in some]) for solver, some in rows.items()}
        best = np.min(list(costs_of.values()), axis=0)
        for solver, cost in costs_of.items():
            fine, some = np.isfinite(cost), rows[solver]
            higher = int((cost[fine] > (1.0 + WORSE) * best[fine]).sum())
            missed[solver] += int((~fine).sum())
            worse[solver] += higher
            ratio = float((cost[fine] / best[fine]).mean()) if fine.any() else np.nan
            shares = f"{fine.sum()} of {len(some)}", higher, f"{sum(x[1] for x in some)} of {fine.sum()}"
            medians = float(np.median([1e3 * x[2] for x in some])), float(np.median([x[3] for x in some]))
            sheet.rows.append([kind, steps, solvers[solver], *shares, ratio, *medians])
    count = len(makes) * len(seeds) * len(STEPS)
    report = Report("Local minima found by two solvers", NOTES.format(count=count), [sheet, odd], seeds=list(seeds))
    report.requirements = [
        Requirement(
            "problems that only IPOPT solves, less those of the own solver", missed["horizon"] - missed["ipopt"], 5
        ),
        Requirement("worse minima of the own solver, less those of IPOPT", worse["horizon"] - worse["ipopt"], 5),
    ]
    return report
