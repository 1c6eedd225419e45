"""Villanueva 2025, Tables 4 and 6: NAO on one foot, time to solve and error, for growing numbers of steps."""

import time
from itertools import pairwise

from benchmarks.report import Measure, Plot, Report, Requirement, Sheet, judged
from leastaction.optimize import examples

KNOTS, FEW = (20, 30, 40, 50, 60, 100), (20, 30, 60)
PAPER = {20: (290.21, 39.42), 30: (655.44, 77.98), 40: (907.19, 122.77), 50: (1370.32, 188.88)}
"""Table 4: seconds by the method of Johnson et al. 2015, and by the paper's."""
ERRORS = {30: (1.136, 1.479, 1.547), 60: (0.1814, 0.194, 0.2186), 100: (0.0615, 0.0462, 0.0577)}
"""Table 6: errors of three motions."""

NOTES = """`optimize.examples.nao`: 24 joints, the left foot on the ground, the right leg and the arms are lifted \
within 2 s, the cost of Eq. 80, the centre of mass above the foot; IPOPT with Gauss-Newton's Hessian to 1e-6. The \
paper's postures are not known and its machine another (i7, 2.6 GHz): its times tell orders of magnitude. CPU \
seconds, once each."""


def run(progress, quick=False) -> Report:
    """All numbers of steps."""
    knots = FEW if quick else KNOTS
    progress.total(len(knots))
    columns = ["N", "iterations", "violation", "error", "CPU [s]", "paper [s]", "paper, Johnson [s]", "paper, errors"]
    sheet, measures, seconds, errors, failed = Sheet("NAO", columns), [], {}, {}, 0
    examples.nao(4).solve(hessian="gauss-newton", tolerance=1e-6)  # compiles
    for N in knots:
        progress.next(f"N = {N}")
        began = time.process_time()
        solution = examples.nao(N).solve(hessian="gauss-newton", tolerance=1e-6)
        seconds[N], errors[N] = time.process_time() - began, solution.error
        failed += not solution.success
        theirs = PAPER.get(N, (None, None))
        told = ", ".join(f"{x:.3g}" for x in ERRORS.get(N, ())) or None
        count = len(solution.iterations) - 1
        sheet.rows.append([N, count, solution.violation, solution.error, seconds[N], theirs[1], theirs[0], told])
        measures += [
            Measure(f"N = {N}: iterations", "count", [count]),
            Measure(f"N = {N}: error", "error", [solution.error]),
        ]
        progress.done()
    shared = [N for N in knots if N in PAPER]
    gain = min(PAPER[N][1] / seconds[N] for N in shared)
    some = sorted(errors)
    claims = [
        judged(
            "Villanueva 2025, Table 4",
            "NAO is solved in 39 s (N = 20) to 189 s (N = 50), seven times faster than with the methods before.",
            ", ".join(f"{seconds[N]:.2g} s with N = {N}" for N in shared) + f": at least {gain:.0f} times faster.",
            gain > 1.0 and failed == 0,
            "Not faster.",
            better=gain > 2.0,
        ),
        judged(
            "Villanueva 2025, Table 6",
            "The error falls from 1.1 to 1.5 (N = 30) to 0.18 to 0.22 (N = 60) and 0.05 to 0.06 (N = 100).",
            ", ".join(f"{errors[N]:.2g} with N = {N}" for N in some) + ".",
            all(errors[a] > errors[b] for a, b in pairwise(some)) and errors[60] < 0.5 * errors[30],
            "It hardly falls. The cause was not found; the paper's postures and bounds are not known.",
            better=all(errors[N] < min(ERRORS[N]) for N in some if N in ERRORS),
        ),
    ]
    lines = {"here": (list(seconds), list(seconds.values()))} | {
        name: (list(PAPER), [PAPER[N][k] for N in PAPER])
        for k, name in ((1, "paper"), (0, "paper, Johnson et al. 2015"))
    }
    plots = [
        Plot("time to solve", "N", "seconds", lines, "xy"),
        Plot(
            "error",
            "N",
            "error",
            {"here": (some, [errors[N] for N in some])}
            | {f"paper, {k + 1}": (list(ERRORS), [ERRORS[N][k] for N in ERRORS]) for k in range(3)},
            "xy",
        ),
    ]
    return Report(
        "Tables 4 and 6: NAO",
        NOTES,
        [sheet],
        [Requirement("runs without a solution", failed, 0)],
        claims,
        measures,
        plots,
    )
