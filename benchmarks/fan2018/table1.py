"""Fan 2018, Table 1: unknowns and equations of trajectory optimisation, counted in the programs themselves."""

import leastaction as la
from benchmarks.report import Claim, Measure, Report, Requirement, Sheet, verdict
from leastaction import optimize as opt

STAGES = (1, 5, 20)
ROBOTS = {
    "double pendulum": (la.robots.double_pendulum, 0),
    "7-joint arm": (lambda: la.robots.serial_arm(7), 0),
    "four-bar linkage": (la.robots.four_bar, 2),
}
"""With the number m of their constraints."""

NOTES = """N stages, n joints, all actuated, m loop constraints. Counted: unknowns and equations of the transcribed \
program without those of the two ends. Hermite-Simpson as this package transcribes it eliminates the midpoint of a \
step, so it is smaller than either formulation of the paper's table; it does not support loops."""


def count(robot, integrator, N, **options):
    """(unknowns, equations without those of the ends)."""
    problem = opt.Problem(robot, steps=N, dt=0.1, integrator=integrator, **options).start(v=0).finish(v=0)
    program = problem.minimize(opt.effort()).transcribe()
    return program.n, program.m - (2 * robot.nv if options else 0)


def run(progress, quick=False) -> Report:
    """All robots and numbers of stages."""
    columns = ["robot", "N", "n", "m", "Simpson: unknowns", "paper", "equations", "paper"]
    sheet = Sheet("Simpson's variational integrator", columns)
    other = Sheet(
        "Hermite-Simpson collocation", ["robot", "N", "unknowns", "paper, explicit", "equations", "paper, explicit"]
    )
    measures, off, fewer = [], 0, True
    progress.total(len(ROBOTS) * len(STAGES))
    for name, (make, m) in ROBOTS.items():
        robot = make()
        n = robot.nv
        for N in STAGES:
            progress.next(f"{name}, {N} stages")
            ours = count(robot, la.Galerkin(order=4, interpolation="joints"), N, momenta=True)
            theirs = (None, None) if m else count(robot, la.HermiteSimpson(), N)
            paper = (4 * N + 3) * n + (2 * N + 1) * m, 3 * N * n + (2 * N + 1) * m
            explicit = (6 * N + 3) * n + (2 * N + 1) * m, 4 * N * n + (6 * N + 3) * m
            off = max(off, abs(ours[0] - paper[0]), abs(ours[1] - paper[1]))
            fewer = fewer and ours[0] < explicit[0] and ours[1] < explicit[1]
            sheet.rows.append([name, N, n, m, ours[0], paper[0], ours[1], paper[1]])
            other.rows.append([name, N, theirs[0], explicit[0], theirs[1], explicit[1]])
            measures.append(Measure(f"{name}, N = {N}: unknowns", "count", [ours[0]]))
            progress.done()
    said = (
        "Simpson's variational integrator has (4N+3)n + (2N+1)m unknowns and 3Nn + (2N+1)m equations, fewer than "
        "collocation with (6N+3)n + (2N+1)m and 4Nn + (6N+3)m or more."
    )
    told = (
        f"our program differs from the formulas by {off}, with a loop too, and has fewer than the paper's collocation."
    )
    why = "Hermite-Simpson of this package, with the middle of each step eliminated, has fewer still (second table)."
    claim = Claim("Fan 2018, Table 1", said, told, verdict(off == 0 and fewer), why if off == 0 else "See the table.")
    return Report(
        "Table 1: sizes of programs",
        NOTES,
        [sheet, other],
        [Requirement("difference from the formulas", off, 0)],
        [claim],
        measures,
    )
