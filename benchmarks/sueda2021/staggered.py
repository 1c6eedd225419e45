"""Sueda 2021, Algorithms 7 and 8: BISP against staggered projections, friction in joints."""

import time

import numpy as np

import leastaction as la
from benchmarks.report import Measure, Plot, Report, Requirement, Sheet, judged
from leastaction import redmax

CHAINS, FEW = (5, 10, 20, 40), (5, 10, 20)
STEPS, SHORT, DT = 20, 8, 1e-3
TOLERANCES = {"bisp": 1e-8, "sp": 1e-5}

NOTES = """Pendulums of 1 m rods on pins with friction 0.3 and radius 5 cm, steps of 1 ms from rest at 0.3 rad; SP \
stops at a relative change of contact forces of 1e-5, BISP at 1e-8 of the velocities. CPU time of a step, best of \
three runs."""


def staggered(n, method, steps):
    """(seconds per step, mean iterations, run) of one method on a chain of n links."""
    robot = la.robots.pendulum(links=n)
    bearings = tuple(redmax.Bearing(name, 0.3, radius=0.05) for name in robot.joint_names)
    integrator = la.StaggeredProjections(bearings, method, 5000, TOLERANCES[method])
    seconds = []
    for _ in range(3):
        began = time.process_time()
        run = la.simulate(robot, q=np.full(n, 0.3), dt=DT, steps=steps, integrator=integrator)
        seconds.append((time.process_time() - began) / steps)
    return min(seconds), float(run.iterations[1:].mean()), run


def run(progress, quick=False) -> Report:
    """All lengths."""
    chains, steps = (FEW, SHORT) if quick else (CHAINS, STEPS)
    progress.total(len(chains))
    columns = ["links", "BISP [ms/step]", "its", "SP [ms/step]", "its", "SP / BISP", "difference of v"]
    sheet, measures = Sheet("Friction in joints", columns), []
    for n in chains:
        progress.next(f"{n} links")
        (fast, few, a), (slow, many, b) = staggered(n, "bisp", steps), staggered(n, "sp", steps)
        apart = float(np.abs(a.v[-1] - b.v[-1]).max() / np.abs(a.v[-1]).max())
        sheet.rows.append([n, 1e3 * fast, few, 1e3 * slow, many, slow / fast, apart])
        measures.append(Measure(f"{n} links: iterations of BISP", "count", [int(a.iterations.sum())]))
        progress.done()
    last = sheet.rows[-1]
    claim = judged(
        "Sueda 2021, Sect. 2.11",
        "BISP is an order of magnitude faster than staggered projections.",
        f"{', '.join(f'{row[5]:.2g}' for row in sheet.rows)} times faster with {', '.join(map(str, chains))} "
        f"links ({last[2]:.1f} beside {last[4]:.1f} iterations); velocities within {last[6]:.0e}.",
        last[5] > 10.0,
        "It is faster, but not by that much.",
    )
    sizes = [row[0] for row in sheet.rows]
    plots = [
        Plot(
            "time of a step",
            "links",
            "CPU time [ms]",
            {"BISP": (sizes, [r[1] for r in sheet.rows]), "SP": (sizes, [r[3] for r in sheet.rows])},
            "xy",
        ),
        Plot(
            "iterations",
            "links",
            "iterations of a step",
            {"BISP": (sizes, [r[2] for r in sheet.rows]), "SP": (sizes, [r[4] for r in sheet.rows])},
            "xy",
        ),
    ]
    requirements = [Requirement("BISP / SP, longest chain", 1.0 / last[5], 0.5)]
    return Report("BISP and staggered projections", NOTES, [sheet], requirements, [claim], measures, plots)
