"""Brüdigam 2023, Fig. 14: gains of an arm exoskeleton."""

import math

import numpy as np

from benchmarks.report import Measure, Plot, Report, Requirement, Sheet, judged
from examples import exoskeleton as example

DT, BISECTIONS = 0.001, 8
SHORT = 0.002, 4
NOTES = """`examples/exoskeleton.py`: an arm in an exoskeleton; two cuffs close two loops; PD controllers track \
sinusoids. A spastic elbow is modelled by a spring and a damper (values chosen here, since the paper gives none). One \
period of the exercise; the gains are scaled by bisection."""


def run(progress, quick=False) -> Report:
    """Before and after tuning."""
    dt, bisections = SHORT if quick else (DT, BISECTIONS)
    duration = 2.0 * math.pi
    progress.total(bisections + 4)
    progress.next("tuning")
    scale = example.tune(duration, dt, bisections, lambda *_: progress.done())
    sheet = Sheet("Torque of the elbow's drive", ["gains", "patient", "peak [N m]", "loops [m]"])
    plots, peaks, gap = [], {}, 0.0
    for gains, factor in (("original", 1.0), ("tuned", scale)):
        lines = {}
        for patient in (example.HEALTHY, example.SPASTIC):
            progress.next(f"{gains}, {patient.name}")
            motion = example.rehabilitate(patient, factor, duration, dt)
            torque = example.drive_torque(motion, factor)
            peaks[gains, patient.name] = float(np.abs(torque).max())
            gap = max(gap, float(motion.constraint_violation.max()))
            lines[patient.name] = motion.t[::20], torque[::20]
            sheet.rows.append(
                [gains, patient.name, peaks[gains, patient.name], float(motion.constraint_violation.max())]
            )
            progress.done()
        ends = lines["healthy"][0][[0, -1]]
        lines |= {f"{sign}{example.LIMIT:g} N m": (ends, [float(f"{sign}{example.LIMIT}")] * 2) for sign in "+-"}
        plots.append(Plot(f"{gains} gains", "time [s]", "torque of the elbow [N m]", lines, marks=False))
    limit = example.LIMIT
    before = peaks["original", "healthy"] < limit < peaks["original", "spastic"]
    after = max(peaks["tuned", "healthy"], peaks["tuned", "spastic"]) < limit
    claims = [
        judged(
            "Brüdigam 2023, Fig. 14 c",
            "High gains stay within 5 N m for the healthy patient and exceed them for the spastic one.",
            f"{peaks['original', 'healthy']:.2f} and {peaks['original', 'spastic']:.2f} N m.",
            before,
            "Both do.",
        ),
        judged(
            "Brüdigam 2023, Fig. 14 d",
            "Adapted gains stay within the limits for both.",
            f"{peaks['tuned', 'healthy']:.2f} and {peaks['tuned', 'spastic']:.2f} N m at {scale:.3g} of the gains.",
            after,
            "They do not.",
        ),
    ]
    measures = [Measure(f"peak torque, {g}, {p}", "error", [x]) for (g, p), x in peaks.items()]
    requirements = [Requirement("opening of the loops [m]", gap, 1e-9)]
    return Report("Fig. 14: exoskeleton", NOTES, [sheet], requirements, claims, measures, plots)
