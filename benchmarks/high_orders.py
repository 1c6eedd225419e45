"""What Galerkin steps of orders 4 to 12 cost at equal accuracy, where they interpolate joints or bodies."""

import numpy as np

import leastaction as la
from benchmarks.report import Report, Sheet
from benchmarks.rollouts import Rollout, load_note

ORDERS, RULES = (4, 6, 8, 12), ("joints", "bodies")
ACCURACIES = (1e-4, 1e-6, 1e-8)
DURATION = 0.96
COUNTS = (6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192)
ROBOTS = {
    "12-link pendulum": lambda: la.robots.pendulum(12),
    "double pendulum": la.robots.double_pendulum,
    "spatial chain": la.robots.spatial_chain,
    "serial arm": lambda: la.robots.serial_arm(7),
    "4 ball links": lambda: la.robots.pendulum(4, joint="spherical"),
    "unitree a1": la.robots.unitree_a1,
    "nao": la.robots.nao,
    "humanoid tree": la.robots.humanoid_tree,
}

NOTES = f"""From a random start within 0.4 rad or m of zero with velocities of 1 rad/s or m/s, {DURATION} s in \
{COUNTS[0]} to {COUNTS[-1]} steps. Error: of q at the end, against order 10 in {2 * COUNTS[-1]} steps. CPU \
milliseconds of the whole run in a compiled loop, best of two, interpolated between numbers of steps; a dash where no \
run reaches the accuracy, where the coarsest run already exceeds it, or where steps are bisected."""


def curve(robot, integrator, q, v, end):
    """(errors, CPU seconds) for growing numbers of steps."""
    errors, seconds = [], []
    for count in COUNTS:
        rollout = Rollout(robot, integrator, q, v, DURATION / count, count)
        spent = rollout.seconds(repeats=2) * count
        if not np.isfinite(spent) or rollout.record["divided"].any():
            continue
        errors.append(np.abs(robot.difference(end, rollout.record["q"][-1])).max())
        seconds.append(spent)
        if errors[-1] < 0.1 * ACCURACIES[-1]:
            break
    return np.minimum.accumulate(errors) if errors else np.zeros(0), np.array(seconds)


def time_at(accuracy, errors, seconds):
    """CPU seconds that an accuracy takes; NaN if it is not between the errors."""
    if len(errors) < 2 or not errors.min() <= accuracy <= errors.max():
        return np.nan
    return float(np.exp(np.interp(-np.log(accuracy), -np.log(errors), np.log(seconds))))


def run(progress, quick=False) -> Report:
    """Run all; quick: two robots and orders."""
    robots, orders = (dict(list(ROBOTS.items())[:2]), ORDERS[:2]) if quick else (ROBOTS, ORDERS)
    progress.total(len(robots) * len(orders))
    columns = ["robot", "order", *(f"{rule}, {accuracy:g} [ms]" for accuracy in ACCURACIES for rule in RULES)]
    sheet = Sheet("CPU time at equal accuracy", columns)
    for name, make in robots.items():
        robot, rng = make(), np.random.default_rng(3)
        q = robot.integrate(robot.neutral(), 0.4 * rng.uniform(-1, 1, robot.nv))
        v = rng.normal(size=robot.nv)
        fine = Rollout(robot, la.Galerkin(order=10, tolerance=1e-14), q, v, DURATION / 384, 384)
        assert fine.run() == fine.steps
        for order in orders:
            progress.next(f"{name}, order {order}")
            both = [
                curve(robot, la.Galerkin(order=order, interpolation=rule), q, v, fine.record["q"][-1]) for rule in RULES
            ]
            times = [1e3 * time_at(accuracy, *one) for accuracy in ACCURACIES for one in both]
            sheet.rows.append([name, order, *(x if np.isfinite(x) else "–" for x in times)])
            progress.done()
    return Report("Orders 4 to 12, interpolation of joints or of bodies", f"{NOTES} {load_note()}", [sheet])
