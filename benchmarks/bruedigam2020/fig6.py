"""Brüdigam 2020, Fig. 6, and 2023, Fig. 9 a: chains of four-link segments for 10 s, loops that stay closed."""

import time

import numpy as np

import leastaction as la
from benchmarks import peers
from benchmarks.report import Measure, Plot, Report, Requirement, Sheet, judged

SEGMENTS, FEW = (1, 2, 5, 10, 20, 50), (1, 2, 5, 10)
DT, STEPS, SHORT = 0.01, 1000, 300

NOTES = f"""Maximal coordinates, order 2, steps of {DT} s for 10 s (short version 3 s) from the home configuration. \
"Energy" is the largest error of the energy beside the largest kinetic energy; the weight of 50 segments makes waves \
that steps of {DT} s do not resolve, and steps that Newton cannot solve are divided. CPU time of the whole run, \
once."""


def run(progress, quick=False) -> Report:
    """One run for each number of segments."""
    chains, steps = (FEW, SHORT) if quick else (SEGMENTS, STEPS)
    progress.total(len(chains))
    columns = ["segments", "bodies", "violation", "energy", "updates", "most", "per step [µs]"]
    sheet = Sheet("Chains of four-link segments", columns)
    violation = energy = 0.0
    failures, measures, times = 0, [], {}
    la.simulate(la.robots.four_bar_chain(1), dt=DT, steps=2, integrator=la.Maximal())  # compiles
    for segments in chains:
        progress.next(f"{segments} segments")
        robot = la.robots.four_bar_chain(segments)
        began = time.process_time()
        try:
            run = la.simulate(robot, dt=DT, steps=steps, integrator=la.Maximal())
        except la.ConvergenceError as error:
            failures += 1
            sheet.rows.append([segments, len(robot.bodies), f"failed at step {error.step}", "", "", "", ""])
            progress.done()
            continue
        times[segments] = (time.process_time() - began) / run.steps
        error = float(np.abs(run.energy - run.energy[0]).max() / run.kinetic_energy.max())
        worst = float(run.constraint_violation.max())
        violation, energy = max(violation, worst), max(energy, error if segments <= 20 else 0.0)
        row = [segments, len(robot.bodies), worst, error, float(run.iterations[1:].mean()), int(run.iterations.max())]
        sheet.rows.append([*row, 1e6 * times[segments]])
        measures.append(Measure(f"{segments} segments: time of a step", "time", [times[segments]]))
        progress.done()
    requirements = [
        Requirement("runs that failed", failures, 0),
        Requirement("largest violation [m or rad]", violation, 1e-10),
        Requirement("largest error of the energy, to 20 segments", energy, 0.1),
    ]
    tail = [n for n in times if 2 <= n <= 20]
    slope = peers.exponent(tail, [times[n] for n in tail])
    claims = [
        judged(
            "Brüdigam 2020, Fig. 6",
            "Chains of four-link segments run for 10 s, where joint coordinates fail with two or more.",
            f"{len(times)} of {len(chains)} chains run, to {max(times)} segments, and stay closed to {violation:.0e}.",
            failures == 0,
            "Some failed.",
        ),
        judged(
            "Brüdigam 2023, Fig. 9 a",
            "The time grows modestly with the number of segments.",
            f"exponent {slope:.2f} of a step's time from {tail[0]} to {tail[-1]} segments.",
            slope < 1.5,
            "Longer chains move faster and need more updates, see the column.",
        ),
    ]
    plots = [
        Plot(
            "chains of segments",
            "segments",
            "CPU time of a step [µs]",
            {"Maximal": (list(times), [1e6 * x for x in times.values()])},
            "xy",
        )
    ]
    return Report("Fig. 6: chains of four-link segments", NOTES, [sheet], requirements, claims, measures, plots)
