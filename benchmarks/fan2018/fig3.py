"""Fan 2018, Fig. 3: Simpson's variational integrator beside Hermite-Simpson collocation on a 12-link pendulum."""

from functools import partial

import numpy as np

import leastaction as la
from benchmarks import peers, work_precision
from benchmarks.report import Measure, Plot, Report, Requirement, Sheet, judged
from benchmarks.starts import near_neutral

LINKS, STARTS, FEW = 12, 20, 2
SIMPSON = "Simpson (joints, order 4)"
SPLITS, SHORT = (1, 2, 5, 10, 20, 50), (2, 5, 10, 20)
METHODS = {
    SIMPSON: la.Galerkin(order=4, interpolation="joints"),
    "bodies, order 4": la.Galerkin(order=4),
    "Hermite-Simpson": la.HermiteSimpson(tolerance=1e-12),
}
FINEST = 10
"""Parts of the longest step that Hermite-Simpson is asked for: its step costs O(n³)."""

NOTES = f"""{LINKS} rods of 1 m and 1 kg from rest, angles uniform in ±15 degrees, 10 s of motion. Error: mean over \
time of |q - q_ref|, mean over starts; q_ref from DOP853 with rtol = 1e-13 (the paper's reference is Hermite-Simpson \
with 0.5 ms). CPU seconds of the whole motion in a compiled loop."""


def run(progress, quick=False) -> Report:
    """All methods, steps and starts."""
    robot = la.robots.pendulum(LINKS)
    seeds = range(FEW if quick else STARTS)
    starts = [near_neutral(robot, np.pi / 12, seed) for seed in seeds]
    tight = la.DOP853(rtol=1e-13, atol=1e-14)
    count, sample = work_precision.COUNT, work_precision.SAMPLE
    progress.total(1 + len(METHODS))
    progress.next("reference")
    references = [la.simulate(robot, q, dt=sample, steps=count, integrator=tight).q for q in starts]
    progress.done()
    sheet = Sheet("Runs", ["method", "dt [s]", "error [rad]", "CPU [s]", "its"])
    curves, measures = {}, []
    for name, integrator in METHODS.items():
        progress.next(name)
        splits = [k for k in (SHORT if quick else SPLITS) if k <= FINEST or name != "Hermite-Simpson"]
        runner = partial(work_precision.our_run, robot, integrator)
        curves[name] = list(work_precision.points(runner, splits, starts, references))
        for dt, error, _, _ in curves[name]:
            measures.append(Measure(f"{name}, {dt:g} s: error", "error", [error]))
        sheet.rows += [[name, *point] for point in curves[name]]
        progress.done()
    ours, theirs = curves[SIMPSON], curves["Hermite-Simpson"]
    pairs = [(a, b) for a in ours for b in theirs if a[0] == b[0] and np.isfinite(b[1])]
    good = {m: [p for p in c if np.isfinite(p[1])][-2:] for m, c in curves.items()}
    orders = {m: peers.exponent([p[0] for p in c], [p[1] for p in c]) for m, c in good.items()}
    gain = [b[1] / a[1] for a, b in pairs]
    speed = [b[2] / a[2] for a, b in pairs]
    accurate, faster = min(gain) > 1.0, min(speed) > 1.0
    accuracy = max(pairs[-1][0][1], pairs[-1][1][1])
    best = {m: work_precision.seconds_at(c, accuracy) for m, c in curves.items()}
    simpson, hermite = best[SIMPSON], best["Hermite-Simpson"]
    claims = [
        judged(
            "Fan 2018, Fig. 3 a",
            "The Simpson variational integrator (order 4) is more accurate than Hermite-Simpson (order 3) "
            "at equal steps.",
            f"error {min(gain):.2g} to {max(gain):.2g} times smaller; orders found {orders[SIMPSON]:.1f} and "
            f"{orders['Hermite-Simpson']:.1f}.",
            accurate,
            "Hermite-Simpson as built here is also of order 4, with a smaller constant at small steps.",
        ),
        judged(
            "Fan 2018, Fig. 3 b",
            "It takes less time at equal steps: O(n) instead of O(n³) per Newton step.",
            f"{min(speed):.2g} to {max(speed):.2g} times faster.",
            faster,
            "At 12 links.",
        ),
        judged(
            "Fan 2018, Fig. 3 c",
            "Less time for equal error.",
            f"{simpson:.2g} s beside {hermite:.2g} s to an error of {accuracy:.1g}; the rule on bodies takes "
            f"{best['bodies, order 4']:.2g} s.",
            simpson < hermite,
            "Follows from a.",
        ),
    ]
    axes = ("error", 0, 1), ("time", 0, 2), ("both", 2, 1)
    names = "dt [s]", "mean error [rad]", "CPU time [s]"
    plots = [
        Plot(title, names[x], names[y], {m: ([p[x] for p in c], [p[y] for p in c]) for m, c in curves.items()}, "xy")
        for title, x, y in axes
    ]
    requirements = [Requirement("CPU time at equal accuracy, Simpson / Hermite-Simpson", simpson / hermite, 1.0)]
    title = "Fig. 3: Simpson and Hermite-Simpson"
    return Report(title, NOTES, [sheet], requirements, claims, measures, plots, list(seeds))
