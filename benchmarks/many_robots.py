"""Many robots at once: robot-steps per second on all cores and on a GPU."""

import time

import numpy as np

import leastaction as la
from benchmarks.report import Report, Requirement, Sheet

DT, COUNT, CORE_COUNT = 0.01, 200, 100
BATCH = 2**18
TOLERANCE = {"float64": 1e-8, "float32": 1e-4}

NOTES = f"""Steps of {DT} s of the body-wise rule of order 2. Rates are of the steps alone: the time of {COUNT} steps \
less that of {COUNT // 2}, least of three. Newton's tolerance: 1e-8 rad in double, 1e-4 rad in single precision. \
Random: within 0.3 rad of neutral, velocities of 0.5 rad/s, seed 0. Sine: at rest, angle i of robot b is \
0.5 sin(1 + 7.3 i + 0.37 b) rad."""


def sine(robot, count):
    """Starts of a chain at rest, as the hand-written CUDA program that the bounds come from has them."""
    b, i = np.arange(count)[:, None], np.arange(robot.nq)
    return 0.5 * np.sin(1.0 + 7.3 * i + 0.37 * b), np.zeros((count, robot.nv))


def random(robot, count):
    """Random moving starts."""
    rng = np.random.default_rng(0)
    dq = rng.uniform(-0.3, 0.3, (count, robot.nv))
    return robot.integrate(np.broadcast_to(robot.neutral(), (count, robot.nq)), dq), 0.5 * rng.normal(size=dq.shape)


def cases():
    """(what, robot, starts, least rates [1/s] in double and in single precision)."""
    for links, double, single in ((2, 0.7 * 2.7e9, 0.7 * 6.5e9), (8, 145e6, 420e6), (32, 21e6, 40e6)):
        chain = la.robots.pendulum(links)
        yield f"pendulum of {links}, sine", chain, sine, double, single
        yield f"pendulum of {links}, random", chain, random, None, None
    yield "humanoid tree, random", la.robots.humanoid_tree(), random, 15e6, 30e6


def rate(robot, q, v, repeats=3, **options):
    """Robot-steps per second, and the last batch."""

    def spent(count):
        before = time.perf_counter()
        batch = la.batch.simulate(robot, q, v, dt=DT, steps=count, every=count, **options)
        return time.perf_counter() - before, batch

    spent(2)  # compiles
    pairs = [(spent(COUNT // 2)[0], spent(COUNT)) for _ in range(repeats)]
    batch = pairs[-1][1][1]
    took = min(whole for _, (whole, _) in pairs) - min(half for half, _ in pairs)
    return len(q) * (COUNT - COUNT // 2) / took, batch


def gpu(report, steps):
    """Rates on the GPU."""
    sheet = Sheet("One GPU", ["robot, start", "precision", "robots", "M steps/s", "iterations a step", "failed"])
    for what, robot, start, *bounds in cases():
        for (name, tolerance), bound in zip(TOLERANCE.items(), bounds, strict=True):
            integrator = la.Galerkin(order=2, interpolation="bodies", tolerance=tolerance)
            for count in (2**10, 2**14, BATCH):
                steps.next(f"{what}, {name}, {count}")
                q, v = start(robot, count)
                per_second, batch = rate(robot, q, v, device="cuda", dtype=np.dtype(name), integrator=integrator)
                failed, iterations = int((batch.failed >= 0).sum()), float(batch.iterations.mean()) / COUNT
                sheet.rows.append([what, name, count, per_second / 1e6, iterations, failed])
            if bound:
                text = f"{what}, {name}: least rate over that of {BATCH} robots"
                report.requirements.append(Requirement(text, bound / per_second, 1.0))
            steps.done()
    report.sheets.append(sheet)


def cores(report, steps):
    """Rates on one core and on all."""
    sheet = Sheet("Cores", ["robot, start", "robots", "workers", "M steps/s"])
    for what, robot, start, *_ in cases():
        steps.next(f"{what}, cores")
        q, v = start(robot, 64)
        rates = {}
        for workers in (1, None):
            integrator = la.Galerkin(order=2, interpolation="bodies", tolerance=1e-8)
            rates[workers], _ = rate(robot, q, v, integrator=integrator, workers=workers)
            sheet.rows.append([what, len(q), workers or "all", rates[workers] / 1e6])
        steps.done()
    report.sheets.append(sheet)


def has_gpu():
    """Whether numba-cuda finds a GPU."""
    try:
        from leastaction.batch import cuda

        cuda.load()
        return cuda.cuda.is_available()
    except la.LeastActionError:
        return False


def run(steps) -> Report:
    report = Report("Many robots at once", NOTES)
    found, count = has_gpu(), len(list(cases()))
    steps.total(count * (3 if found else 1))
    cores(report, steps)
    if found:
        gpu(report, steps)
    else:
        report.notes += "\nNo GPU was found: its rates are missing."
    return report
