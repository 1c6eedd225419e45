"""Many robots at once: robot-steps per second on all cores and on a GPU."""

from dataclasses import replace
from functools import partial

import numpy as np

import leastaction as la
from benchmarks.report import Report, Requirement, Sheet
from leastaction.batch.threads import number_of_cores

DT, COUNT, DISTINCT = 0.01, 200, 4096
SIZES = (2**10, 2**14, 2**18)
TOLERANCE = {"float64": 1e-8, "float32": 1e-4}
TWO_CORES = 1.8
"""How much more than one core two of them do at least."""

NOTES = f"""Steps of {DT} s of `Galerkin(order=2)` on body poses, {COUNT} of them, wall-clock time of the loop alone, \
least of three, measured in turns. Comparing two cores with one requires an otherwise idle machine. Newton's \
tolerance: 1e-8 rad in double, 1e-4 rad in single precision. Random: {DISTINCT} starts within 0.3 rad of neutral with \
velocities of 0.5 rad/s, seed 0. Sine: at rest, angle i of robot b is 0.5 sin(1 + 7.3 i + 0.37 b) rad. Standing: \
dropped by 0 to 2 cm onto four feet, rigid contact and friction, held by joint springs of 60 N m/rad and dampers of 2 \
N m s/rad, steps of 0.005 s."""


def sine(robot, count):
    """Starts of a chain at rest, as the hand-written CUDA program that the bounds come from has them."""
    b, i = np.arange(count)[:, None], np.arange(robot.nq)
    return 0.5 * np.sin(1.0 + 7.3 * i + 0.37 * b), np.zeros((count, robot.nv))


def random(robot, count):
    """Random moving starts."""
    rng = np.random.default_rng(0)
    few = min(count, DISTINCT)
    q = np.stack([robot.integrate(robot.neutral(), dq) for dq in rng.uniform(-0.3, 0.3, (few, robot.nv))])
    return np.tile(q, (count // few, 1)), np.tile(0.5 * rng.normal(size=(few, robot.nv)), (count // few, 1))


def standing(robot, count):
    """Over the ground in the rest position of the springs."""
    q = np.tile(robot.neutral(), (count, 1))
    q[:, 7:] = [joint.rest[0] for joint in robot.joints if joint.nv == 1]
    q[:, 2] = 0.30 + 0.02 * np.random.default_rng(0).uniform(size=count)
    return q, np.zeros((count, robot.nv))


def sprung_quadruped():
    """A1 on level ground, its legs held by springs and dampers."""
    robot = la.robots.unitree_a1(ground=True)
    angle = {"hip": 0.0, "thigh": 0.8, "calf": -1.6}
    return robot.replace(
        joints=tuple(
            replace(joint, stiffness=(60.0,), damping=(2.0,), rest=(angle[joint.name.split("_")[1]],))
            if joint.nv == 1
            else joint
            for joint in robot.joints
        )
    )


def cases():
    """(what, robot, starts, kind of integrator, dt [s], least rates [1/s] in double and in single precision)."""
    free = partial(la.Galerkin, order=2, interpolation="bodies")
    for links, double, single in ((2, 0.7 * 2.7e9, 0.7 * 6.5e9), (8, 145e6, 420e6), (32, 21e6, 40e6)):
        chain = la.robots.pendulum(links)
        yield f"pendulum of {links}, sine", chain, sine, free, DT, double, single
        yield f"pendulum of {links}, random", chain, random, free, DT, None, None
    yield "humanoid tree, random", la.robots.humanoid_tree(), random, free, DT, 15e6, 30e6
    yield "A1, standing", sprung_quadruped(), standing, la.Minimal, 0.005, 2e6, 5e6


def bounded_cases():
    """Those with least rates."""
    return [case for case in cases() if case[-1] is not None]


def timed(robot, q, v, dt, **options):
    """A batch of all steps."""
    return la.batch.simulate(robot, q, v, dt=dt, steps=COUNT, every=COUNT, **options)


def rate(robot, q, v, dt, repeats, **options):
    """Robot-steps per second, and the last batch."""
    timed(robot, q, v, dt, **options)  # compiles
    batches = [timed(robot, q, v, dt, **options) for _ in range(repeats)]
    return len(q) * COUNT / min(batch.seconds for batch in batches), batches[-1]


def gpu(report, steps, sizes, repeats):
    """Rates on the GPU."""
    sheet = Sheet("One GPU", ["robot, start", "precision", "robots", "M steps/s", "iterations a step", "failed"])
    report.sheets.append(sheet)
    for what, robot, start, kind, dt, *bounds in cases():
        for (name, tolerance), bound in zip(TOLERANCE.items(), bounds, strict=True):
            for count in sizes:
                steps.next(f"{what}, {name}, {count}")
                q, v = start(robot, count)
                options = {"device": "cuda", "dtype": np.dtype(name), "integrator": kind(tolerance=tolerance)}
                per_second, batch = rate(robot, q, v, dt, repeats, **options)
                failed, iterations = int((batch.failed >= 0).sum()), float(batch.iterations.mean()) / COUNT
                sheet.rows.append([what, name, count, per_second / 1e6, iterations, failed])
            if bound:
                text = f"{what}, {name}: least rate over that of {sizes[-1]} robots"
                report.requirements.append(Requirement(text, bound / per_second, 1.0))
            steps.done()


def cores(report, steps, repeats):
    """Rates on one core, on two and on all, in turns."""
    sheet = Sheet("Cores", ["robot, start", "robots", "workers", "M steps/s", "times one core"])
    report.sheets.append(sheet)
    there = number_of_cores()
    counts = [count for count in (1, 2, there) if count <= there]
    for what, robot, start, kind, dt, *_ in bounded_cases():
        steps.next(f"{what}, cores")
        (q, v), integrator = start(robot, 256), kind(tolerance=1e-8)
        timed(robot, q, v, dt, integrator=integrator)  # compiles
        best = dict.fromkeys(counts, 0.0)
        for workers in repeats * counts:
            seconds = timed(robot, q, v, dt, integrator=integrator, workers=workers).seconds
            best[workers] = max(best[workers], len(q) * COUNT / seconds)
        for workers, per_second in best.items():
            sheet.rows.append([what, len(q), workers, per_second / 1e6, per_second / best[1]])
        if 2 in best:
            text = f"{what}: {TWO_CORES} over the rate of two cores in terms of that of one"
            report.requirements.append(Requirement(text, TWO_CORES * best[1] / best[2], 1.0))
        steps.done()


def has_gpu():
    """Whether numba-cuda finds a GPU."""
    try:
        from leastaction.batch import cuda

        return cuda.load().is_available()
    except la.LeastActionError:
        return False


def run(steps, quick=False) -> Report:
    """All robots on the cores and, where there is one, a GPU; quick: once, and the largest batch alone."""
    repeats, sizes = (1, SIZES[-1:]) if quick else (3, SIZES)
    report = Report("Many robots at once", NOTES)
    found = has_gpu()
    steps.total(len(bounded_cases()) + (2 * len(list(cases())) if found else 0))
    cores(report, steps, 3)
    if found:
        gpu(report, steps, sizes, repeats)
    else:
        report.notes += "\nNo GPU was found, so GPU rates are missing."
    return report
