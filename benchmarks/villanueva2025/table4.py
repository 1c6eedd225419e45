"""Villanueva 2025, Table 4: NAO on one foot, time to solve for growing numbers of steps."""

import time

from benchmarks.report import Measure, Plot, Report, Requirement, Sheet, judged
from leastaction.optimize import examples

KNOTS, FEW = (20, 30, 40, 50), (20, 50)
PAPER = {20: (290.21, 39.42), 30: (655.44, 77.98), 40: (907.19, 122.77), 50: (1370.32, 188.88)}
"""Table 4: seconds by the method of Johnson et al. 2015, and by the paper's."""

NOTES = """`optimize.examples.nao`: 24 joints, the left foot on the ground, the right leg and the arms are lifted \
within 2 s, the cost of Eq. 80, the centre of mass above the foot; IPOPT with Gauss-Newton's Hessian to 1e-6. The \
paper's postures are not known and its machine another (i7, 2.6 GHz): its times only indicate orders of magnitude. CPU \
seconds, one run each."""


def run(progress, quick=False) -> Report:
    """All numbers of steps."""
    knots = FEW if quick else KNOTS
    progress.total(len(knots))
    columns = ["N", "iterations", "violation", "CPU [s]", "paper [s]", "paper, Johnson [s]"]
    sheet, measures, seconds, failed = Sheet("NAO", columns), [], {}, 0
    examples.nao(4).solve(hessian="gauss-newton", tolerance=1e-6)  # compiles
    for N in knots:
        progress.next(f"N = {N}")
        began = time.process_time()
        solution = examples.nao(N).solve(hessian="gauss-newton", tolerance=1e-6)
        seconds[N] = time.process_time() - began
        failed += not solution.converged
        count = len(solution.iterations) - 1
        sheet.rows.append([N, count, solution.violation, seconds[N], PAPER[N][1], PAPER[N][0]])
        measures.append(Measure(f"N = {N}: iterations", "count", [count]))
        progress.done()
    gain = min(PAPER[N][1] / seconds[N] for N in knots)
    claims = [
        judged(
            "Villanueva 2025, Table 4",
            "NAO is solved in 39 s (N = 20) to 189 s (N = 50), seven times faster than with the methods before.",
            ", ".join(f"{seconds[N]:.2g} s with N = {N}" for N in knots) + f": at least {gain:.0f} times faster.",
            gain > 1.0 and failed == 0,
            "Not faster.",
            better=gain > 2.0,
        ),
    ]
    lines = {"here": (list(seconds), list(seconds.values()))} | {
        name: (list(PAPER), [PAPER[N][k] for N in PAPER])
        for k, name in ((1, "paper"), (0, "paper, Johnson et al. 2015"))
    }
    plots = [Plot("time to solve", "N", "seconds", lines, "xy")]
    return Report(
        "Table 4: NAO",
        NOTES,
        [sheet],
        [Requirement("runs without a solution", failed, 0)],
        claims,
        measures,
        plots,
    )
