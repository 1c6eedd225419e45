"""Villanueva 2025, Table 5: the constraint Jacobian of NAO, analytic and by differences."""

import numpy as np

from benchmarks import timing
from benchmarks.report import Measure, Plot, Report, Requirement, Sheet, judged
from leastaction.optimize import examples

KNOTS, FEW = (30, 60, 100), (30, 60)
PAPER = {30: (17.92, 1.13, 0.10), 60: (70.46, 2.27, 0.24), 100: (191.42, 3.92, 0.46)}
"""Seconds of numerical differences, of Johnson et al., and of the paper's method."""

NOTES = """One constraint Jacobian of `optimize.examples.nao` by the midpoint rule: all discrete equations and the \
centre of mass by all unknowns, in the sparse layout of IPOPT. Differences: column by column, as in the paper; their \
time is that of one evaluation of the constraints times the number of unknowns. CPU time, medians. The paper's machine \
is another."""


def jacobian_seconds(N, repeats):
    """(program, [seconds of the Jacobian], seconds of one evaluation of the constraints)."""
    problem = examples.nao(N)
    program = problem.transcribe()
    z, values, rows = problem.initial_unknowns(program), np.zeros(program.jacobian_pattern.count), np.zeros(program.m)

    def jacobian():
        program._motion = None
        program.jacobian(z, values)

    def constraints():
        program._motion = None
        program.constraints(z, rows)

    times = timing.in_turns({"jacobian": jacobian, "constraints": constraints}, repeats, least=0.01)
    return program, times["jacobian"], float(np.median(times["constraints"]))


def run(progress, quick=False) -> Report:
    """All numbers of steps."""
    knots = FEW if quick else KNOTS
    progress.total(len(knots))
    columns = [
        "N",
        "unknowns",
        "rows",
        "nonzeros",
        "here [ms]",
        "differences [s]",
        "paper [s]",
        "Johnson [s]",
        "differences, paper [s]",
    ]
    sheet, measures, medians = Sheet("Constraint Jacobian", columns), [], {}
    for N in knots:
        progress.next(f"N = {N}")
        program, times, one = jacobian_seconds(N, timing.REPEATS)
        medians[N] = float(np.median(times))
        numerical, johnson, paper = PAPER[N]
        size = [program.n, program.m, program.jacobian_pattern.count]
        sheet.rows.append([N, *size, 1e3 * medians[N], one * program.n, paper, johnson, numerical])
        measures.append(Measure(f"N = {N}", "time", times))
        measures.append(Measure(f"N = {N}: nonzeros", "count", [size[2]]))
        progress.done()
    gain = min(PAPER[N][2] / medians[N] for N in knots)
    over = min(row[5] / (1e-3 * row[4]) for row in sheet.rows)
    claim = judged(
        "Villanueva 2025, Table 5",
        "0.10 to 0.46 s, about ten times faster than Johnson et al. and 180 to 420 times faster than differences.",
        ", ".join(f"{1e3 * medians[N]:.2g} ms with N = {N}" for N in knots) + f": {gain:.0f} times faster "
        "than the paper; "
        f"{over:.0f} times faster than differences of our own constraints.",
        gain > 1.0,
        "Slower.",
        better=gain > 2.0,
    )
    lines = {"here": (list(knots), [medians[N] for N in knots])} | {
        name: (list(PAPER), [PAPER[N][k] for N in PAPER])
        for k, name in ((2, "paper"), (1, "paper, Johnson"), (0, "paper, differences"))
    }
    requirements = [Requirement("time of a Jacobian, ours / paper, × 50", 50.0 / gain, 1.0)]
    return Report(
        "Table 5: Jacobians",
        NOTES,
        [sheet],
        requirements,
        [claim],
        measures,
        [Plot("one Jacobian", "N", "seconds", lines, "xy")],
    )
