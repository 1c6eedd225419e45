"""Chains of 1 to 50 four-link segments for 10 s: loops that stay closed (Bruedigam 2020, Figure 5)."""

import time

import numpy as np

import leastaction as la
from benchmarks.report import Report, Requirement, Sheet
from benchmarks.rollouts import load_note

SEGMENTS = (1, 2, 5, 10, 20, 50)
DT, DURATION = 0.01, 10.0

NOTES = f"""Maximal coordinates, order 2, steps of {DT} s for {DURATION:g} s from the home configuration. "Energy" is \
the largest error of the energy beside the largest kinetic energy; the weight of 50 segments makes waves that steps \
of {DT} s do not resolve, and steps that Newton cannot solve are divided. Time as the wall clock tells it, once."""


def run(progress) -> Report:
    """One run for each number of segments."""
    progress.total(len(SEGMENTS))
    columns = ["segments", "bodies", "violation", "energy", "updates", "most", "per step [µs]"]
    sheet = Sheet("Chains of four-link segments", columns)
    violation = energy = 0.0
    failures = 0
    note = load_note()
    for segments in SEGMENTS:
        progress.next(f"{segments} segments")
        robot = la.robots.four_bar_chain(segments)
        began = time.perf_counter()
        try:
            run = la.simulate(robot, dt=DT, duration=DURATION, integrator=la.Maximal())
        except la.ConvergenceError as error:
            failures += 1
            sheet.rows.append([segments, len(robot.bodies), f"failed at step {error.step}", "", "", "", ""])
            progress.done()
            continue
        spent = (time.perf_counter() - began) / run.steps
        error = float(np.abs(run.energy - run.energy[0]).max() / run.kinetic_energy.max())
        worst = float(run.constraint_violation.max())
        violation, energy = max(violation, worst), max(energy, error if segments <= 20 else 0.0)
        row = [segments, len(robot.bodies), worst, error, float(run.iterations[1:].mean()), int(run.iterations.max())]
        sheet.rows.append([*row, 1e6 * spent])
        progress.done()
    requirements = [
        Requirement("runs that failed", failures, 0),
        Requirement("largest violation [m or rad]", violation, 1e-10),
        Requirement("largest error of the energy, to 20 segments", energy, 0.1),
    ]
    return Report("Chains of four-link segments in maximal coordinates", f"{NOTES} {note}", [sheet], requirements)
