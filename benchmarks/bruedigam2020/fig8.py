"""Brüdigam 2020, Fig. 8, and 2023, Fig. 10: pendulums to three tolerances by three variational integrators."""

import time

import numpy as np

import leastaction as la
from benchmarks.division import has_substeps
from benchmarks.report import Measure, Plot, Report, Requirement, Sheet, judged
from benchmarks.rollouts import Rollout
from benchmarks.starts import bow

LENGTHS, FEW = (1, 2, 5, 10, 20, 50, 100), (2, 10, 40)
TOLERANCES = (1e-6, 1e-8, 1e-10)
DT, STEPS, SHORT = 0.01, 1000, 150
MAXIMAL, QUASI, NEWTON = "Maximal(1)", "order 2, quasi-Newton", "order 4, Newton"

NOTES = """Pendulums of n rods on hinges, in a curved initial posture, steps of 0.01 s, each method to the stated \
tolerance: Maximal(1), the paper's; order 2 in joint coordinates by the quasi-Newton method of Lee et al.; order 4 in \
joint coordinates by Fan's exact Newton method (the paper's third-order integrator). CPU time of a step over the whole \
run. "Divided": number of steps that did not converge as a whole; this package bisects them, where the paper's peers \
failed."""


def methods(tolerance):
    return {
        MAXIMAL: la.Maximal(order=1, tolerance=tolerance),
        QUASI: la.Galerkin(order=2, solver="quasi", tolerance=tolerance),
        NEWTON: la.Galerkin(order=4, interpolation="joints", tolerance=tolerance),
    }


def run(progress, quick=False) -> Report:
    """All lengths and tolerances."""
    lengths, steps = (FEW, SHORT) if quick else (LENGTHS, STEPS)
    progress.total(len(TOLERANCES) * len(lengths))
    sheet = Sheet(
        "CPU time of a step [µs]", ["tolerance", "links", *methods(1e-6), *(f"divided, {m}" for m in methods(1e-6))]
    )
    plots, measures, failed, divided, times = (
        [],
        [],
        dict.fromkeys(methods(1e-6), 0),
        dict.fromkeys(methods(1e-6), 0),
        {},
    )
    for tolerance in TOLERANCES:
        for n in lengths:
            progress.next(f"{n} links to {tolerance:g}")
            row, parts = [], []
            for name, method in methods(tolerance).items():
                rollout = Rollout(la.robots.pendulum(n), method, bow(n), np.zeros(n), DT, steps)
                rollout.run(2)
                began = time.process_time()
                done = rollout.run()
                times[tolerance, n, name] = (time.process_time() - began) / max(done, 1)
                failed[name] += done < steps
                split = int(has_substeps(rollout.record, steps + 1)[1:].sum())
                divided[name] += split
                row.append(1e6 * times[tolerance, n, name])
                parts.append(split)
                count = int(rollout.record["iterations"][1:].sum())
                measures.append(Measure(f"{name}, {n} links to {tolerance:g}: iterations", "count", [count]))
            sheet.rows.append([tolerance, n, *row, *parts])
            progress.done()
        lines = {m: (lengths, [1e6 * times[tolerance, n, m] for n in lengths]) for m in failed}
        plots.append(Plot(f"tolerance {tolerance:g}", "links", "CPU time of a step [µs]", lines, "xy"))
    n = lengths[-1]
    ratio = times[1e-10, n, MAXIMAL] / times[1e-10, n, NEWTON]
    claims = [
        judged(
            "Brüdigam 2020, Fig. 8; 2023, Fig. 10 (robustness)",
            "Maximal coordinates run at all tolerances; those in joint coordinates fail for longer chains "
            "and small ones.",
            f"runs that failed: {', '.join(f'{x} ({m})' for m, x in failed.items())}; steps that were not "
            "solved whole: "
            f"{', '.join(f'{x} ({m})' for m, x in divided.items())}.",
            failed[MAXIMAL] == 0 and divided[QUASI] + divided[NEWTON] > divided[MAXIMAL],
            "Those in joint coordinates run too: joints interpolated and solved as here are as robust.",
        ),
        judged(
            "Brüdigam 2020, Fig. 8; 2023, Fig. 10 (time)",
            "Despite its dimension, the time is comparable with that of joint coordinates.",
            f"with {n} links to 1e-10 {ratio:.2g} of the time of the exact Newton method in joint coordinates.",
            ratio < 3.0,
            "It takes longer.",
            better=ratio < 1.0,
        ),
    ]
    requirements = [Requirement("runs that failed", sum(failed.values()), 0)]
    return Report("Fig. 8: tolerances", NOTES, [sheet], requirements, claims, measures, plots)
