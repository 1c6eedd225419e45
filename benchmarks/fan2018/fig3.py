"""Fan 2018, Fig. 3: Simpson's variational integrator beside Hermite-Simpson collocation on a 12-link pendulum."""

from functools import partial

import numpy as np

import leastaction as la
from benchmarks import peers, work_precision
from benchmarks.report import Measure, Plot, Report, Requirement, Sheet, judged
from benchmarks.starts import near_neutral

LINKS, STARTS, FEW = 12, 20, 2
SIMPSON, BODIES, HERMITE = "Simpson (joints, order 4)", "Simpson (bodies, order 4)", "Hermite-Simpson"
SPLITS, SHORT = (1, 2, 5, 10, 20, 50), (2, 5, 10, 20)
METHODS = {
    SIMPSON: la.Galerkin(order=4, interpolation="joints"),
    BODIES: la.Galerkin(order=4),
    HERMITE: la.HermiteSimpson(tolerance=1e-12),
}

NOTES = f"""{LINKS} rods of 1 m and 1 kg from rest, angles uniform in ±15 degrees, 10 s of motion. Error: mean over \
time of |q - q_ref|, mean over starts; q_ref from DOP853 with rtol = 1e-13 (the paper's reference is Hermite-Simpson \
with 0.5 ms). CPU seconds of the whole motion in a compiled loop. Simpson's variational integrator interpolates joint \
coordinates (the paper's) or poses of bodies (this package's default). Hermite-Simpson is collocation at both ends and \
the midpoint, Lobatto IIIA with three stages, whose order is 4 (Hairer, Lubich, Wanner 2006, II.1.4); the paper calls \
it third-order. Orders: slopes between the two smallest steps. If Newton's method fails, a step of a variational \
integrator is bisected; Hermite-Simpson ends its run."""


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
        splits = SHORT if quick else SPLITS
        runner = partial(work_precision.our_run, robot, integrator)
        curves[name] = list(work_precision.points(runner, splits, starts, references))
        for dt, error, _, _ in curves[name]:
            measures.append(Measure(f"{name}, {dt:g} s: error", "error", [error]))
        sheet.rows += [[name, *point] for point in curves[name]]
        progress.done()
    theirs = curves[HERMITE]
    pairs = {m: [(a, b) for a in curves[m] for b in theirs if a[0] == b[0] and np.isfinite(b[1])] for m in METHODS}
    good = {m: [p for p in c if np.isfinite(p[1])][-2:] for m, c in curves.items()}
    orders = {m: peers.exponent([p[0] for p in c], [p[1] for p in c]) for m, c in good.items()}
    gain = {m: [b[1] / a[1] for a, b in pairs[m]] for m in METHODS}
    speed = [b[2] / a[2] for a, b in pairs[SIMPSON]]
    accuracy = max(pairs[SIMPSON][-1][0][1], pairs[SIMPSON][-1][1][1])
    best = {m: work_precision.seconds_at(c, accuracy) for m, c in curves.items()}
    simpson, hermite = best[SIMPSON], best[HERMITE]
    lost = [p[0] for p in theirs if not np.isfinite(p[1])]
    table = Sheet("Orders, and the error of Hermite-Simpson over that of each at equal steps", ["method", "order"])
    steps = [b[0] for _, b in pairs[HERMITE]]
    table.columns += [f"{dt:g} s" for dt in steps]
    table.rows = [[m, orders[m], *gain[m]] for m in METHODS]
    said = (
        "The Simpson variational integrator (order 4) is more accurate than Hermite-Simpson (order 3) at equal steps."
    )
    claims = [
        judged(
            "Fan 2018, Fig. 3 a (poses of bodies)",
            said,
            f"error {min(gain[BODIES]):.2g} to {max(gain[BODIES]):.2g} times smaller"
            + (f"; with steps of {min(lost):g} s and more Hermite-Simpson does not run." if lost else "."),
            min(gain[BODIES]) > 1.0,
            "Hermite-Simpson is also of order 4.",
            note=f"both are of order 4 ({orders[BODIES]:.1f} and {orders[HERMITE]:.1f} found).",
        ),
        judged(
            "Fan 2018, Fig. 3 a (joint coordinates)",
            said,
            f"error {1.0 / max(gain[SIMPSON]):.2g} to {1.0 / min(gain[SIMPSON]):.2g} times that of Hermite-Simpson; "
            f"orders found {orders[SIMPSON]:.2f} and {orders[HERMITE]:.2f}.",
            min(gain[SIMPSON]) > 1.0,
            "Hermite-Simpson is of order 4, not 3: its errors fall with the fourth power of the step, as theory "
            "predicts, and its error constant is smaller than that of the rule on joint coordinates.",
        ),
        judged(
            "Fan 2018, Fig. 3 b",
            "It takes less time at equal steps: O(n) instead of O(n³) per Newton step.",
            f"{min(speed):.2g} to {max(speed):.2g} times faster.",
            min(speed) > 1.0,
            "At 12 links.",
        ),
        judged(
            "Fan 2018, Fig. 3 c",
            "Less time for equal error.",
            f"{simpson:.2g} s beside {hermite:.2g} s to an error of {accuracy:.1g}; the rule on bodies takes "
            f"{best[BODIES]:.2g} s.",
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
    return Report(title, NOTES, [table, sheet], requirements, claims, measures, plots, list(seeds))
