"""Robots that find their contacts themselves: solves of the examples, and how well a simulator follows."""

import time

import numpy as np

import leastaction as la
from benchmarks.both_solvers import SAME, Pairs
from benchmarks.report import Report, Requirement, Sheet
from leastaction import optimize
from leastaction.optimize import examples

NAMES = ("hopper", "spring_flamingo_walk", "spring_flamingo_stride", "spring_flamingo", "littledog")
"""Examples without a schedule of contacts."""
LONG = ("spring_flamingo_walk", "spring_flamingo_stride", "spring_flamingo", "littledog")
"""Those that take too long for tables of all kinds of solvers and derivatives."""
REHEARSED = "spring_flamingo"
STEP = 5e-3
"""Of the rehearsal and of what follows it [s]."""
TRACKED = {
    "Maximal, 5 ms": (la.Maximal(), 5e-3),
    "Maximal, 1 ms": (la.Maximal(), 1e-3),
    "Minimal, 5 ms": (la.Minimal(), 5e-3),
    "Minimal, 1 ms": (la.Minimal(), 1e-3),
}

NOTES = """Contact-implicit plans from the examples' initial guesses, both solvers to 1e-6; then each solver from the \
minimum of the other, to 1e-9. One plan is refined by iLQR through smoothed contact (`rehearse`), and tracked in other \
integrators with smaller steps."""


def solves(steps, names):
    """The examples from their first guesses, with both solvers; (plans, of the solvers beside each other, IPOPT's)."""
    columns = ["problem", "solver", "N", "solved", "iterations", "violation", "complementarity", "CPU s"]
    sheet, pairs, found = Sheet("Contact without a schedule", columns), Pairs(), {}
    for name in names:
        steps.next(f"{name}, contacts")
        solutions = pairs.add(name, examples.get(name), most=300, tolerance=1e-6, max_iterations=1500)
        for solver, s in zip(("horizon", "ipopt"), solutions, strict=True):
            row = [name, solver, len(s.u), s.converged, len(s.iterations) - 1, s.violation, s.complementarity]
            sheet.rows.append([*row, pairs.seconds[name, solver]])
        found[name] = solutions[1]
        steps.done()
    return sheet, pairs, found


def tracking(steps, plan):
    """Largest deviations from a plan when it is rehearsed and tracked."""
    sheet = Sheet(
        f"{REHEARSED}: largest deviations from the plan",
        ["run", "place of the base [m]", "pitch [rad]", "joints [rad]", "CPU s"],
    )
    steps.next(f"{REHEARSED}, rehearsed and tracked")
    began = time.process_time()
    shot = optimize.rehearse(plan, dt=STEP)
    runs = {"rehearsal, 5 ms": (shot.q[:: round(plan.trajectory.dt / STEP)], time.process_time() - began)}
    for name, (integrator, dt) in TRACKED.items():
        began = time.process_time()
        run = shot.track(integrator=integrator, dt=dt)
        runs[name] = run.q[:: round(plan.trajectory.dt / dt)], time.process_time() - began
    for name, (q, seconds) in runs.items():
        off = np.abs(q - plan.q).max(axis=0)
        sheet.rows.append([name, float(off[:2].max()), float(off[2]), float(off[3:].max()), seconds])
    steps.done()
    return sheet


def run(progress, quick=False) -> Report:
    """All robots; quick: the hopper alone, not tracked."""
    names = NAMES[:1] if quick else NAMES
    progress.total(len(names) + (not quick))
    sheet, pairs, found = solves(progress, names)
    requirements = [
        Requirement("contact without a schedule: violation * 1e6", 1e6 * max(row[5] for row in sheet.rows), 1.0),
        Requirement("contact without a schedule: complementarity * 1e4", 1e4 * max(row[6] for row in sheet.rows), 1.0),
        Requirement("examples that a solver does not solve", sum(not row[3] for row in sheet.rows), 0),
        Requirement("one solver from the other's minima: largest relative difference of costs", pairs.worst, SAME),
    ]
    sheets = [sheet, pairs.sheet]
    if not quick:
        sheets.append(tracking(progress, found[REHEARSED]))
        hips, trunk = (max(row[k] for row in sheets[-1].rows) for k in (1, 2))
        requirements.append(Requirement("Spring Flamingo, tracked: place of the hips [m]", hips, 0.1))
        requirements.append(Requirement("Spring Flamingo, tracked: turn of the trunk [rad]", trunk, 0.1))
    return Report("Contact-implicit plans of legged robots", NOTES, sheets, requirements)
