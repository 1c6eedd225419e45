"""Brüdigam 2023, Fig. 11: scaled pendulums with steps of all sizes, iterations and error of half a swing."""

import math

import numpy as np

import leastaction as la
from benchmarks.report import Measure, Plot, Report, Requirement, Sheet, judged
from benchmarks.rollouts import Rollout
from leastaction.mechanism import Inertia, MechanismBuilder

SCALES = (1.0, 0.5, 0.1)
STEPS, FEW = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 50_000), (10, 50, 200, 1000, 5000)
ORDERS = (1, 2)

NOTES = """A pendulum of mass s, length s² and moment m l²/3 about its joint, from horizontal rest for half a period; \
it then is at the same angle on the other side. Maximal(order=1) is the paper's method. Step sizes are divided by s, \
which makes the three motions similar. Half a period from horizontal is K(1/√2) 2/π times that of small oscillations; \
the paper's T/2 is that of small oscillations, where the final angle differs, so the exact half period is used here."""


def pendulum(s):
    """A thin rod."""
    b = MechanismBuilder("scaled_pendulum")
    m, length = s, s * s
    b.body(
        "rod",
        inertia=Inertia(m, (0.0, 0.0, -length / 2), (m * length**2 / 12, m * length**2 / 12, 1e-4 * m * length**2)),
    )
    b.revolute("joint", "world", "rod", axis="y")
    return b.build()


def half_swing(s):
    """Time from horizontal rest to horizontal rest [s]: 2 K(1/√2) √(2 l / 3 g)."""
    mean, other = 1.0, math.sqrt(0.5)
    while abs(mean - other) > 1e-15:
        mean, other = 0.5 * (mean + other), math.sqrt(mean * other)
    return math.pi / mean * math.sqrt(2.0 * s * s / (3.0 * 9.81))


def run(progress, quick=False) -> Report:
    """All scales and steps."""
    counts = FEW if quick else STEPS
    progress.total(len(SCALES) * len(ORDERS))
    sheet, measures = Sheet("Half a swing", ["order", "scale", "steps", "dt / s [s]", "iterations", "error [rad]"]), []
    failed, curves = 0, {}
    for order in ORDERS:
        for s in SCALES:
            progress.next(f"order {order}, scale {s:g}")
            T, robot = half_swing(s), pendulum(s)
            for count in counts:
                rollout = Rollout(robot, la.Maximal(order=order), [np.pi / 2], [0.0], T / count, count)
                failed += rollout.run() < count
                its = float(rollout.record["iterations"][1:].mean())
                error = abs(-np.pi / 2 - float(rollout.record["q"][-1, 0]))
                sheet.rows.append([order, s, count, T / count / s, its, error])
                curves.setdefault((order, s), []).append((T / count / s, its, error))
            measures.append(Measure(f"order {order}, scale {s:g}: error of the finest", "error", [error]))
            progress.done()
    first = [curves[1, s] for s in SCALES]
    falls = all(c[-1][2] < c[0][2] / 50 for c in first)
    claims = [
        judged(
            "Brüdigam 2023, Fig. 11 a",
            "All step sizes can be simulated; the mean number of iterations rises for small steps, by "
            "ill-conditioning.",
            f"{failed} runs failed; {min(x[1] for c in first for x in c):.1f} to "
            f"{max(x[1] for c in first for x in c):.1f} iterations, "
            f"{first[0][0][1]:.1f} with the coarsest and {first[0][-1][1]:.1f} with the finest steps.",
            failed == 0,
            "Some failed.",
            better=failed == 0 and all(c[-1][1] <= c[0][1] for c in first),
        ),
        judged(
            "Brüdigam 2023, Fig. 11 b",
            "Results are accurate down to small steps.",
            f"error from {first[0][0][2]:.1e} to {first[0][-1][2]:.1e} rad at order 1, to "
            f"{curves[2, 1.0][-1][2]:.1e} at order 2.",
            falls,
            "The error does not fall.",
        ),
    ]
    plots = [
        Plot(
            title,
            "dt / s [s]",
            title,
            {f"order {o}, s = {s:g}": ([x[0] for x in c], [x[k] for x in c]) for (o, s), c in curves.items()},
            log,
        )
        for title, k, log in (("mean iterations", 1, "x"), ("error of the final angle [rad]", 2, "xy"))
    ]
    return Report(
        "Fig. 11: scaled pendulums",
        NOTES,
        [sheet],
        [Requirement("runs that failed", failed, 0)],
        claims,
        measures,
        plots,
    )
