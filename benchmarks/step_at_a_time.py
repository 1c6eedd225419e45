"""`la.Simulator`: what a step costs beyond one of the compiled loop, for every integrator that has one."""

import time

import numpy as np

import leastaction as la
from benchmarks.report import Measure, Report, Requirement, Sheet
from benchmarks.rollouts import load_note
from leastaction._jit.batched_call import LATE, SOON
from leastaction.initial_state.start import first_state

WINDOW, WINDOWS, DT = 50, 6, 0.002
BOUND = 5.0

NOTES = f"""Time per step of {WINDOW} steps with controls from NumPy, compared with the same {WINDOW} steps in one \
call of the compiled loop; the least of all repetitions of each window, and the median of these over {WINDOWS - 1} \
windows. The first window is omitted, since it includes the start of the run (initial poses, first contact \
detection)."""


def contenders():
    cart, bar = la.robots.cart_pole(), la.robots.four_bar()
    dog = la.robots.unitree_a1(ground=True)
    for integrator in (
        la.Galerkin(order=4),
        la.Galerkin(order=4, interpolation="joints"),
        la.Midpoint(),
        la.Maximal(),
        la.Minimal(),
        la.BDF(order=2),
        la.SDIRK2(),
        la.LinearlyImplicitEuler(),
        la.HermiteSimpson(),
        la.RungeKutta(order=4),
        la.SemiImplicitEuler(),
    ):
        yield cart, integrator
    for integrator in (la.Galerkin(order=4), la.Maximal(), la.BDF(order=2)):
        yield bar, integrator
    yield la.robots.heavy_top(), la.BDF(order=2)
    yield la.robots.cube(), la.Maximal()
    for integrator in (la.Galerkin(order=2), la.Maximal(), la.Minimal()):
        yield dog, integrator


def windows(advance) -> list[float]:
    """Microseconds per step of each window; `advance` makes the steps of one, given by its number."""
    out = []
    for k in range(WINDOWS):
        began = time.perf_counter()
        advance(k)
        out.append(1e6 * (time.perf_counter() - began) / WINDOW)
    return out


def overhead(robot, integrator, repeats: int) -> tuple[float, float]:
    """(step of the compiled loop, what one of `Simulator` costs more) [µs]."""
    q, u = robot.home(), np.zeros(robot.nu)
    sim, stepper = la.Simulator(robot, integrator, dt=DT), integrator.prepare(robot, DT)
    fresh, first = stepper.memory(), first_state(stepper, q, None, None, False)
    record = stepper.record(WINDOW * WINDOWS)
    controls = np.zeros((WINDOW, len(stepper.control_nodes), robot.nu))

    def loop(k):
        last = (k + 1) * WINDOW
        if stepper.advance(record, k * WINDOW, last, controls) < last:
            raise stepper.failure(k * WINDOW, record)

    def steps(_):
        for _ in range(WINDOW):
            sim.step(u)

    found: tuple[list, list] = ([], [])
    for k in range(repeats + 2 + (LATE + SOON) // (WINDOW * WINDOWS)):
        for name, rows in first.states().items():
            record[name][:1] = rows
        stepper.restore_memory(fresh)
        sim.reset(q)
        times = windows(loop), windows(steps)
        if k >= (LATE + SOON) // (WINDOW * WINDOWS) + 2:
            found[0].append(times[0][1:])
            found[1].append(times[1][1:])
    plain, single = (np.array(x).min(axis=0) for x in found)
    return float(np.median(plain)), float(np.median(single - plain))


def run(progress, quick=False) -> Report:
    """Time single steps of many integrators."""
    sheet = Sheet("Simulator", ["robot", "integrator", "compiled loop [µs]", "more with Simulator [µs]"])
    found = []
    cases = list(contenders())
    progress.total(len(cases))
    for robot, integrator in cases:
        name = type(integrator).__name__
        progress.next(f"{robot.name}, {name}")
        plain, more = overhead(robot, integrator, 10 if quick else 60)
        sheet.rows.append([robot.name, name, plain, more])
        found.append(more)
        progress.done()
    worst = Requirement("most that a step of Simulator costs beyond one of the compiled loop [µs]", max(found), BOUND)
    notes = f"{NOTES} {load_note()}"
    measure = Measure("overhead of Simulator", "time", [1e-6 * x for x in found])
    return Report("Single steps of a simulator", notes, [sheet], [worst], measures=[measure])
