"""Sueda 2021: scenes of the author's code, step by step, BDF1 and BDF2."""

import time

import numpy as np

import leastaction as la
from benchmarks.report import Measure, Plot, Report, Requirement, Sheet, judged
from tests.redmax import scenes

NUMBERS = (0, 2, 8, 12)
NOTES = """Runs of the author's reference code (RedMax in MATLAB, recorded in `tests/data/redmax`) compared with ours: \
the same scenes, units and steps. Differences relative to the largest coordinate, velocity and energy of the run. CPU \
time of our whole `simulate` call."""


def run(progress, quick=False) -> Report:
    """All scenes and both orders."""
    progress.total(2 * len(NUMBERS))
    columns = ["scene", "method", "steps", "positions", "velocities", "energy", "[ms]"]
    sheet, worst, lines, measures = Sheet("Beside the author's code", columns), 0.0, {}, []
    for number in NUMBERS:
        for order in (1, 2):
            progress.next(f"scene {number}, BDF{order}")
            robot, q, v, dt = scenes.load(number)
            t, T, V, Q, QD = scenes.reference(number, f"BDF{order}")
            began = time.process_time()
            motion = la.simulate(robot, q, v, dt=dt, steps=len(t) - 1, integrator=la.BDF(order=order))
            spent = time.process_time() - began
            off = [
                float(np.abs(a - b).max() / np.abs(size).max())
                for a, b, size in ((motion.q, Q, Q), (motion.v, QD, QD), (motion.energy, T + V, T + V))
            ]
            worst = max(worst, *off)
            sheet.rows.append([number, f"BDF{order}", len(t) - 1, *off, 1e3 * spent])
            measures.append(Measure(f"scene {number}, BDF{order}: difference", "error", [max(off)]))
            if number == 0:
                lines[f"BDF{order}, author"] = (t[::4], (T + V)[::4])
                lines[f"BDF{order}, here"] = (t[::4], motion.energy[::4])
            progress.done()
    claim = judged(
        "Sueda 2021, scenes of the author's code",
        "Coordinates, velocities and energies of scenes 0, 2, 8 and 12 with BDF1 and BDF2.",
        f"within {worst:.0e} of them at every step.",
        worst < 1e-7,
        "They differ.",
    )
    plots = [Plot("scene 0", "time [s]", "energy", lines, marks=False)]
    return Report("Scenes", NOTES, [sheet], [Requirement("largest difference", worst, 1e-7)], [claim], measures, plots)
