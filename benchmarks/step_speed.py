"""One step of the variational integrators: beside pin.aba, and one solver beside the other."""

import numpy as np

import leastaction as la
from benchmarks import classical, peers
from benchmarks.report import Report, Requirement, Sheet
from benchmarks.rollouts import Rollout, load_note
from benchmarks.starts import bow, near_neutral

LENGTHS = tuple(2**k for k in range(1, 10))
ORDERS = (2, 4, 6, 8)
DT, STEPS = 0.01, 20

NOTES = f"""Steps of {DT} s, mean of {STEPS}, best of several runs in a compiled loop; chains start bent like \
a bow, the humanoid falls from a random posture. pin.aba without the cost of a call from Python (see \
benchmarks/peers.py). "Auto" is the solver chosen by default; "lost" the time it needs over the better one."""


def start(robot):
    chain = robot.name == "pendulum"
    return bow(robot.nv) if chain else near_neutral(robot, np.pi / 12, 0), np.zeros(robot.nv)


def timed(robot, integrator, repeats=5):
    """(seconds per step, mean iterations)."""
    rollout = Rollout(robot, integrator, *start(robot), DT, STEPS)
    seconds = rollout.seconds(repeats=repeats, least=0.1)
    return seconds, float(rollout.record["iterations"][1:].mean())


def auto_choice(robot, integrator):
    return integrator.prepare(robot, DT).solver


def too_slow(robot, order):
    """Where the sparse solver would take seconds per step."""
    return robot.nv * order > 1024


def against_pinocchio(progress, robots):
    """The figures that are required, each beside pin.aba in the same minute."""
    _, one = classical.pinocchio_seconds(la.robots.pendulum(1), "forward dynamics")
    columns = ["robot", "integrator", "its", "step [µs]", "pin.aba [µs]", "ratio", "our aba [µs]"]
    sheet = Sheet("A step beside one forward dynamics", columns)
    ratios = {}
    methods = [la.Galerkin(order=order) for order in ORDERS] + [la.Midpoint()]
    for robot in (robots["32 links"], robots["humanoid"]):
        name = "32 links" if robot.name == "pendulum" else "humanoid"
        for method in methods:
            label = f"Galerkin {method.order}" if isinstance(method, la.Galerkin) else "Midpoint"
            progress.next(f"{name}, {label}")
            step = theirs = np.inf
            for _ in range(3):  # in turns: the load changes with time
                seconds, its = timed(robot, method)
                _, bare = classical.pinocchio_seconds(robot, "forward dynamics")
                step, theirs = min(step, seconds), min(theirs, peers.without_call(bare, one, robot.nv))
            ours = classical.our_seconds(robot, "forward dynamics")
            ratios[name, label] = step / theirs
            sheet.rows.append([name, label, its, 1e6 * step, 1e6 * theirs, step / theirs, 1e6 * ours])
            progress.done()
    return sheet, ratios


def solvers(progress, robots):
    """Sparse and recursive side by side."""
    sheet = Sheet("Solvers", ["robot", "order", "its", "sparse [µs]", "recursive [µs]", "auto", "lost [%]"])
    worst = 0.0
    for name, robot in robots.items():
        for order in ORDERS:
            progress.next(f"{name}, order {order}, both solvers")
            times, its = {"sparse": np.nan}, 0.0
            for _ in range(2):
                for solver in ("recursive",) if too_slow(robot, order) else ("sparse", "recursive"):
                    seconds, its = timed(robot, la.Galerkin(order=order, solver=solver), repeats=3)
                    times[solver] = float(np.nanmin([seconds, times.get(solver, np.nan)]))
            auto = auto_choice(robot, la.Galerkin(order=order))
            lost = 100.0 * (times[auto] / np.nanmin(list(times.values())) - 1.0)
            worst = max(worst, lost)
            row = [name, order, its, 1e6 * times["sparse"], 1e6 * times["recursive"], auto, float(lost)]
            sheet.rows.append(row)
            progress.done()
    return sheet, worst


def run(progress) -> Report:
    """Time all."""
    robots = {f"{n} links": la.robots.pendulum(n) for n in LENGTHS}
    robots["humanoid"] = la.robots.humanoid_tree()
    progress.total(2 * (len(ORDERS) + 1) + len(ORDERS) * len(robots))
    first, ratios = against_pinocchio(progress, robots)
    second, worst = solvers(progress, robots)
    requirements = [
        Requirement("trapezoidal step, 32 links / pin.aba", ratios["32 links", "Galerkin 2"], 5.0),
        Requirement("Simpson step, humanoid / pin.aba", ratios["humanoid", "Galerkin 4"], 8.0),
        Requirement("time lost by the choice of the solver [%]", worst, 25.0),
    ]
    return Report("Speed of a step", f"{NOTES} {load_note()}", [first, second], requirements)
