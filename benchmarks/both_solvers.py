"""Examples with the package's own solver and with IPOPT: what each takes, and whether they find the same minimum."""

import time

import numpy as np

from benchmarks.report import Sheet
from leastaction.optimize.solvers.complementarity_relaxation import LAST

EXACT = 1e-9
"""Tolerance at which minima of problems with contact are compared: at their default of 1e-6 every bound costs a tenth
of it, which is more than 1e-6 of small costs."""
SAME = 1e-6
"""Relative difference of costs of one and the same minimum."""
COLUMNS = [
    "problem",
    "cost",
    "/ IPOPT's - 1",
    "from IPOPT's - 1",
    "IPOPT's from it - 1",
    "iterations",
    "of IPOPT",
    "CPU s",
    "of IPOPT",
    "found",
]


def cpu(function):
    """CPU seconds of a call, and what it gives."""
    began = time.process_time()
    out = function()
    return time.process_time() - began, out


def timed(problem, repeats, **options):
    """CPU seconds of a solution, the least of some, and the solution."""
    runs = [cpu(lambda: problem.solve(**options)) for _ in range(repeats + 1)]
    return min(seconds for seconds, _ in runs), runs[-1][1]


class Pairs:
    """The table of both solvers, row by row.

    Attributes:
        sheet: the table.
        worst: largest relative change of the cost when one solver starts from the other's minimum, the better of both
            ways for each problem.
        failed: problems that the own solver did not solve.
        seconds: CPU seconds by (problem, solver).
    """

    def __init__(self):
        self.sheet = Sheet("own solver beside IPOPT", list(COLUMNS))
        self.worst, self.failed, self.seconds = 0.0, 0, {}

    def add(self, name, problem, repeats=0, most=1500, **options):
        """Solve a problem with both, and each from the minimum of the other; gives (ours, IPOPT's).

        most: iterations of a search from the other's minimum.
        """
        solved = {}
        for solver in ("ipopt", "horizon"):
            self.seconds[name, solver], solved[solver] = timed(problem, repeats, solver=solver, **options)
        ours, theirs = solved["horizon"], solved["ipopt"]
        differs = [moved(problem, "horizon", theirs, most), moved(problem, "ipopt", ours, most)]
        self.failed += not ours.converged
        self.worst = max(self.worst, min(abs(np.inf if x is None else x) for x in differs))
        counts = [len(x.iterations) - 1 for x in (ours, theirs)]
        times = [self.seconds[name, solver] for solver in ("horizon", "ipopt")]
        found = verdict(ours, theirs, *differs)
        self.sheet.rows.append([name, ours.cost, ours.cost / theirs.cost - 1.0, *differs, *counts, *times, found])
        return ours, theirs


def moved(problem, solver, minimum, most):
    """How much a solver that starts at a minimum changes its cost, relatively; None where it finds no solution."""
    options = {}
    if problem.schedule.touches:  # both to a tolerance at which the barrier's rest does not count
        options = {"relaxations": [LAST], "tolerance": EXACT, "max_iterations": most}
        other = "ipopt" if solver == "horizon" else "horizon"
        minimum = problem.solve(solver=other, warm_start=minimum, **options)
    found = problem.solve(solver=solver, warm_start=minimum, **options)
    return found.cost / minimum.cost - 1.0 if found.converged and minimum.converged else None


def verdict(ours, theirs, from_theirs, from_ours):
    """Whether both found the same, or why not."""
    if not (ours.converged and theirs.converged):
        return "; ".join(f"{name}: {x.reason}" for name, x in (("own", ours), ("IPOPT", theirs)) if not x.converged)
    if abs(ours.cost / theirs.cost - 1.0) <= SAME:
        return "the same"
    stays = [x is not None and abs(x) <= SAME for x in (from_theirs, from_ours)]
    if not any(stays):
        return "neither stays at the other's"
    if abs(ours.cost / theirs.cost - 1.0) <= 1e-3:
        return "the same, but for the barrier's rest"
    return "another minimum, lower" if ours.cost < theirs.cost else "another minimum, higher"
