"""IFToMM A01 to A05: error against CPU time for every formulation that can run them."""

import time

import numpy as np

import leastaction as la
from benchmarks.iftomm import problems
from benchmarks.report import Measure, Plot, Report, Requirement, Sheet, judged

METHODS = {
    "Galerkin(2)": la.Galerkin(order=2),
    "Galerkin(4)": la.Galerkin(order=4),
    "Galerkin(8)": la.Galerkin(order=8),
    "Galerkin(4), joints": la.Galerkin(order=4, interpolation="joints"),
    "Midpoint": la.Midpoint(),
    "Maximal(1)": la.Maximal(order=1),
    "Maximal(2)": la.Maximal(),
    "BDF2": la.BDF(order=2),
    "SDIRK2": la.SDIRK2(),
    "RungeKutta(4)": la.RungeKutta(order=4),
}
COUNTS, FEW = (30, 60, 125, 250, 500, 1000, 2000, 4000), (60, 250, 1000)
PROBLEMS = (problems.a01, problems.a02, problems.a03, problems.a04, problems.a05)
GRADED = {"A02"}
"""Problems whose bound is the library's own."""
STEPS = {"A01": 4, "A04": 2}
"""Longer motions take so many times as many steps."""

NOTES = """A01: a point on a massless rod from horizontal rest, 10 s, angle against DOP853. A02: two windows, 0.75 s, \
through the singular position, crank angle against the exact solution. A03: Andrews' squeezer, 0.03 s, angles against \
PSIDE's. A04: Bricard's linkage, 3 s, angles against the reference data. A05: the stiff governor, 0.15 s, height \
against Radau's. CPU time of the whole `simulate` call, best of two. Methods that refuse a problem or fail are \
listed."""


def curve(problem, method, counts):
    """([(steps, seconds, error, violation)], why there are none)."""
    found, why = [], ""
    for count in counts:
        steps = count * STEPS.get(problem.name, 1)
        best = np.inf
        try:
            for _ in range(2):
                began = time.process_time()
                run = la.simulate(
                    problem.robot, problem.q, problem.v, dt=problem.duration / steps, steps=steps, integrator=method
                )
                best = min(best, time.process_time() - began)
        except la.ConvergenceError as error:
            why = f"fails at step {error.step} of {steps}"
            continue
        except la.LeastActionError as error:
            return found, str(error)
        found.append((steps, best, problem.error(run.q[-1]), float(run.constraint_violation.max())))
    return found, why


def run(progress, quick=False) -> Report:
    """All problems and methods."""
    counts = FEW if quick else COUNTS
    progress.total(len(PROBLEMS) * len(METHODS))
    columns = ["problem", "method", "least error", "steps", "CPU [ms]", "violation"]
    sheet, refused = Sheet("The finest run of each", columns), Sheet("Not run", ["problem", "method", "why"])
    plots, claims, measures, worst = [], [], [], 0.0
    for make in PROBLEMS:
        problem, lines = make(), {}
        for name, method in METHODS.items():
            progress.next(f"{problem.name}, {name}")
            points, why = curve(problem, method, counts)
            if points:
                lines[name] = [1e3 * p[1] for p in points], [max(p[2], 1e-15) for p in points]
                least = min(points, key=lambda p: p[2])
                sheet.rows.append([problem.name, name, least[2], least[0], 1e3 * least[1], least[3]])
                measures.append(Measure(f"{problem.name}, {name}: error of the finest", "error", [points[-1][2]]))
                if name.startswith(("Galerkin", "Maximal")):
                    worst = max(worst, least[3])
            else:
                refused.rows.append([problem.name, name, why])
            progress.done()
        plots.append(Plot(f"{problem.name}: {problem.text}", "CPU time [ms]", "error at the end", lines, "xy"))
        best = min((row for row in sheet.rows if row[0] == problem.name), key=lambda row: row[2])
        bound = {"A01": 1e-5, "A02": 1e-3, "A03": 1e-4, "A04": 1e-4, "A05": 1e-5}[problem.name]
        graded = "the library's high precision" if problem.name in GRADED else "our bound; the library names none"
        claims.append(
            judged(
                f"IFToMM {problem.name}",
                f"{problem.text}: solved to {bound:g} ({graded}).",
                f"{best[2]:.0e} by {best[1]} in {best[4]:.2g} ms; {len(lines)} of {len(METHODS)} methods run it.",
                best[2] < bound,
                "No method gets there with these steps.",
                better=problem.name in GRADED and best[2] < 1e-2 * bound,
            )
        )
    requirements = [Requirement("largest violation of variational integrators", worst, 1e-8)]
    return Report("A01 to A05: accuracy and time", NOTES, [sheet, refused], requirements, claims, measures, plots)
