"""Whole motions from random starts: what a step costs beside pin.aba and mj_step, and one solver beside the other."""

import numpy as np

import leastaction as la
from benchmarks import classical, mujoco_chain, peers
from benchmarks.report import Report, Requirement, Sheet
from benchmarks.rollouts import Rollout, load_note
from benchmarks.starts import near_neutral, thrown

DT, SECONDS, SEEDS, REPEATS = 0.01, 10.0, 4, 3
LENGTHS, FEW = tuple(2**k for k in range(1, 10)), (2, 32)
ORDERS, FIRST = (2, 4, 6, 8), 20

NOTES = f"""Motions of {SECONDS:g} s in steps of {DT} s from {SEEDS} random starts with fixed seeds: chains at rest \
within ±0.5 rad (balls: ±0.3 rad) of hanging, the humanoid thrown with joint velocities within ±2 rad/s. CPU time in a \
compiled loop, the best of {REPEATS} runs, measured in turns with pin.aba, whose time excludes the cost of a call from \
Python (see benchmarks/peers.py). Ratios: median and range over the starts; a start with a step that fails counts as \
failed."""

METHODS = {
    "bodies, order 2": la.Galerkin(order=2, interpolation="bodies"),
    "bodies, order 4": la.Galerkin(order=4, interpolation="bodies"),
    "joints, order 2": la.Galerkin(order=2, interpolation="joints"),
    "joints, order 4": la.Galerkin(order=4, interpolation="joints"),
    "Midpoint": la.Midpoint(),
    "Maximal": la.Maximal(),
}


def at_rest(robot, angle, seed):
    return near_neutral(robot, angle, seed), np.zeros(robot.nv)


MOTIONS = {
    "32 links": (lambda: la.robots.pendulum(32), lambda robot, seed: at_rest(robot, 0.5, seed)),
    "humanoid": (la.robots.humanoid_tree, lambda robot, seed: thrown(robot, 2.0, seed)),
    "32 balls": (lambda: la.robots.pendulum(32, joint="spherical"), lambda robot, seed: at_rest(robot, 0.3, seed)),
}


class MujocoRun:
    """mj_step on the chain of revolute links, timed as a `Rollout`."""

    def __init__(self, integrator, q, v):
        self.steps = round(SECONDS / DT)
        self.chain = mujoco_chain.Chain(len(q), integrator, DT, q, v)

    def seconds(self, *, repeats):
        def run(_):
            self.chain.reset()
            self.chain.run(self.steps)

        return peers.best(run, repeats=repeats, least=0.0) / self.steps


def aba(robot, one):
    """CPU seconds of pin.aba on a robot, without its call."""
    _, bare = classical.pinocchio_seconds(robot, "forward dynamics")
    return peers.without_call(bare, one, robot.nv)


def motion(name, seed, one, repeats):
    """{method: (seconds per step, iterations per step)} and seconds of pin.aba for one start."""
    make, start = MOTIONS[name]
    robot = make()
    q, v = start(robot, seed)
    runs = {
        method: Rollout(robot, integrator, q, v, DT, round(SECONDS / DT))
        for method, integrator in METHODS.items()
        if not (name == "32 balls" and method.startswith("joints"))  # folds: nearly every step would be divided
    }
    if name == "32 links":
        runs |= {f"mj_step, {kind}": MujocoRun(kind, q, v) for kind in ("Euler", "RK4")}
    best, theirs = dict.fromkeys(runs, np.inf), np.inf
    for _ in range(repeats):  # in turns: the speed of the machine changes with time
        theirs = min(theirs, aba(robot, one))
        for method, run in runs.items():
            best[method] = min(best[method], run.seconds(repeats=1))  # NaN stays infinite: it failed
    its = {m: float(r.record["iterations"][1:].mean()) if isinstance(r, Rollout) else 1.0 for m, r in runs.items()}
    return {method: (best[method], its[method]) for method in runs}, theirs


def whole_motions(progress, seeds, repeats):
    """The figures that are required."""
    _, one = classical.pinocchio_seconds(la.robots.pendulum(1), "forward dynamics")
    columns = ["robot", "method", "failed", "its", "step [µs]", "pin.aba [µs]", "ratio", "least", "most"]
    sheet, ratios, its = Sheet("A step beside one forward dynamics, over whole motions", columns), {}, {}
    for name in MOTIONS:
        found = []
        for seed in range(seeds):
            progress.next(f"{name}, start {seed}")
            found.append(motion(name, seed, one, repeats))
            progress.done()
        for method in found[0][0]:
            good = [(times[method], theirs) for times, theirs in found if np.isfinite(times[method][0])]
            if not good:
                sheet.rows.append([name, method, seeds, *6 * ["-"]])
                continue
            ratio = [seconds / theirs for (seconds, _), theirs in good]
            step, bare = (float(np.median(x)) for x in ([t[0] for t, _ in good], [theirs for _, theirs in good]))
            count = float(np.mean([t[1] for t, _ in good]))
            ratios[name, method], its[name, method] = float(np.median(ratio)), count
            spread = [ratios[name, method], min(ratio), max(ratio)]
            sheet.rows.append([name, method, seeds - len(good), count, 1e6 * step, 1e6 * bare, *spread])
    return sheet, ratios, its


def first_steps(robot, integrator, repeats):
    """(seconds per step, mean iterations) of the first steps alone."""
    chain = robot.name == "pendulum"
    start = at_rest(robot, 0.5, 0) if chain else thrown(robot, 2.0, 0)
    rollout = Rollout(robot, integrator, *start, DT, FIRST)
    seconds = rollout.seconds(repeats=repeats, least=0.05)
    return seconds, float(rollout.record["iterations"][1:].mean())


def solvers(progress, robots, orders):
    """Sparse and recursive side by side, on joint coordinates."""
    title = f"Solvers of the rule on joint coordinates: the first {FIRST} steps only, from random starts"
    sheet = Sheet(title, ["robot", "order", "its", "sparse [µs]", "recursive [µs]", "auto", "lost [%]"])
    worst = 0.0
    for name, robot in robots.items():
        for order in orders:
            progress.next(f"{name}, order {order}, both solvers")
            times, its = {"sparse": np.nan}, 0.0
            for _ in range(2):
                # The sparse solver would take seconds per step on the longest chains.
                for solver in ("recursive",) if robot.nv * order > 1024 else ("sparse", "recursive"):
                    method = la.Galerkin(order=order, solver=solver, interpolation="joints")
                    seconds, its = first_steps(robot, method, repeats=3)
                    times[solver] = float(np.nanmin([seconds, times.get(solver, np.nan)]))
            auto = la.Galerkin(order=order, interpolation="joints").prepare(robot, DT).solver
            lost = 100.0 * (times[auto] / np.nanmin(list(times.values())) - 1.0)
            worst = max(worst, lost)
            row = [name, order, its, 1e6 * times["sparse"], 1e6 * times["recursive"], auto, float(lost)]
            sheet.rows.append(row)
            progress.done()
    return sheet, worst


def run(progress, quick=False) -> Report:
    """Time all; quick: one start each, and a few robots for the solvers."""
    lengths, orders, seeds = (FEW, ORDERS[:2], 1) if quick else (LENGTHS, ORDERS, SEEDS)
    robots = {f"{n} links": la.robots.pendulum(n) for n in lengths} | {"humanoid": la.robots.humanoid_tree()}
    progress.total(len(MOTIONS) * seeds + len(orders) * len(robots))
    first, ratios, its = whole_motions(progress, seeds, 1 if quick else REPEATS)
    second, worst = solvers(progress, robots, orders)

    def ratio(name, method, bound):
        value = ratios.get((name, method), np.inf)
        return Requirement(f"{method}, {name}: step / pin.aba", value, bound)

    bodies = [("32 balls", f"bodies, order {k}") for k in (2, 4)]
    balls = [ratios.get(key, np.inf) / ratios["32 balls", "Maximal"] for key in bodies]
    requirements = [
        ratio("32 links", "bodies, order 2", 4.0),
        ratio("32 links", "bodies, order 4", 8.0),
        ratio("humanoid", "bodies, order 4", 8.0),
        ratio("32 links", "joints, order 2", 7.0),
        ratio("32 links", "joints, order 4", 12.0),
        Requirement("bodies, order 2, 32 balls: step / Maximal's", balls[0], 1.0),
        Requirement("bodies, order 4, 32 balls: step / Maximal's", balls[1], 1.0),
        Requirement(
            "bodies, 32 balls: iterations",
            max(its.get(("32 balls", f"bodies, order {k}"), np.inf) for k in (2, 4)),
            6.0,
        ),
        Requirement("time lost by the choice of the solver [%]", worst, 25.0),
    ]
    return Report("Speed of a step", f"{NOTES} {load_note()}", [first, second], requirements)
