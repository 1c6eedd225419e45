"""Robots that find their contacts themselves: solves of the examples, and how well a simulator follows."""

import time

import numpy as np

import leastaction as la
from benchmarks.report import Report, Requirement, Sheet
from leastaction import optimize
from leastaction.optimize import examples

NAMES = ("hopper", "spring_flamingo_walk", "spring_flamingo_stride", "spring_flamingo", "littledog")
"""Examples without a schedule of contacts."""
LONG = ("spring_flamingo_walk", "spring_flamingo_stride", "spring_flamingo", "littledog")
"""Those that take too long for tables of all kinds of solvers and derivatives."""
REHEARSED = "spring_flamingo"
WAY = 1e4
"""Weight of the hips' place along the way in the regulator, beside 100 of all else: with less they drift off."""
TRACKED = {"Maximal, 5 ms": (la.Maximal(), 5e-3), "Grounded, 5 ms": (la.Grounded(), 5e-3)}

NOTES = """Contact without a schedule, from the examples' first guesses, IPOPT to 1e-6; one plan is rehearsed by iLQR \
through smoothed contact, and tracked in other integrators with smaller steps."""


def solves(steps, names):
    """The examples from their first guesses."""
    columns = ["problem", "N", "solved", "iterations", "violation", "complementarity", "CPU s"]
    sheet, found = Sheet("Contact without a schedule (IPOPT)", columns), {}
    for name in names:
        steps.next(f"{name}, contacts")
        began = time.process_time()
        found[name] = s = examples.get(name).solve(tolerance=1e-6, max_iterations=1500)
        seconds = time.process_time() - began
        row = [name, len(s.u), s.success, len(s.iterations) - 1, s.violation, s.complementarity, seconds]
        sheet.rows.append(row)
        steps.done()
    return sheet, found


def tracking(steps, plan):
    """Largest deviations from a plan when it is rehearsed and tracked."""
    sheet = Sheet(
        f"{REHEARSED}: largest deviations from the plan",
        ["run", "place of the base [m]", "pitch [rad]", "joints [rad]", "CPU s"],
    )
    steps.next(f"{REHEARSED}, rehearsed and tracked")
    began = time.process_time()
    shot = optimize.rehearse(plan)
    weights = np.r_[WAY, np.full(plan.mechanism.nv - 1, 100.0)]
    runs = {"rehearsal": (shot.q, time.process_time() - began)}
    for name, (integrator, dt) in TRACKED.items():
        began = time.process_time()
        run = shot.track(integrator=integrator, dt=dt, position=weights)
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
    sheet, found = solves(progress, names)
    requirements = [
        Requirement("contact without a schedule: violation * 1e6", 1e6 * max(row[4] for row in sheet.rows), 1.0),
        Requirement("contact without a schedule: complementarity * 1e4", 1e4 * max(row[5] for row in sheet.rows), 1.0),
    ]
    sheets = [sheet]
    if not quick:
        sheets.append(tracking(progress, found[REHEARSED]))
        off = max(row[1] for row in sheets[1].rows)
        requirements.append(Requirement("Spring Flamingo, tracked: place of the hips [m]", off, 0.15))
    return Report("Robots that find their contacts", NOTES, sheets, requirements)
