"""Fan 2018, Figs. 4 to 6: Spring Flamingo over an obstacle, LittleDog over gaps, Atlas on one foot."""

import time

from benchmarks.report import NOT_REPRODUCED, Claim, Measure, Report, Requirement, Sheet, judged
from leastaction.optimize import examples

LIMIT = 400.0
"""Seconds that a search may take."""
LONG = {
    "spring_flamingo": (
        "Fig. 4",
        "Spring Flamingo jumps over an obstacle of 0.16 m, without scheduled contact, at about 0.9 m/s.",
    ),
    "littledog": ("Fig. 5", "LittleDog walks over terrain with two gaps at 0.25 m/s, without scheduled contact."),
}
"""Figures and what the paper says, of those that take minutes."""

NOTES = """`optimize.examples.atlas`, `.spring_flamingo` and `.littledog` (short version: Atlas only, since the others \
take minutes); robots from published figures, with our costs and bounds. The paper solves with SNOPT and gives neither \
times nor iterations, so only the existence and the content of the plan can be compared. CPU seconds, one run."""


def plan(name, progress, **options):
    """(solution, CPU seconds)."""
    progress.next(name)
    began = time.process_time()
    solution = examples.get(name).solve(time_limit=LIMIT, **options)
    progress.done()
    return solution, time.process_time() - began


def run(progress, quick=False) -> Report:
    """The robots whose problems are part of the package."""
    progress.total(1 if quick else 1 + len(LONG))
    sheet = Sheet("Plans", ["robot", "steps", "duration [s]", "iterations", "violation", "CPU [s]", "found"])
    claims, measures, lost = [], [], 0
    wanted = {
        "atlas": ("Fig. 6", "Atlas picks a ball, balanced on one foot, in about 1.3 s.", {"hessian": "gauss-newton"}),
    }
    if not quick:
        wanted |= {name: (*told, {"tolerance": 1e-6, "max_iterations": 1500}) for name, told in LONG.items()}
    for name, (figure, said, options) in wanted.items():
        solution, seconds = plan(name, progress, **options)
        count = len(solution.iterations) - 1
        lost += not solution.converged
        sheet.rows.append(
            [name, len(solution.u), solution.duration, count, solution.violation, seconds, str(solution.converged)]
        )
        measures.append(Measure(f"{name}: iterations", "count", [count]))
        way = abs(solution.q[-1, 0] - solution.q[0, 0])
        told = (
            f"a plan of {solution.duration:.2g} s in {count} iterations and {seconds:.2g} s; violation "
            f"{solution.violation:.0e}; the base moves on by {way:.2f} m, at {way / solution.duration:.2f} m/s."
        )
        claims.append(
            judged(f"Fan 2018, {figure}", said, told, solution.converged, solution.reason or "No plan was found.")
        )
    if quick:
        why = "The long version runs it: `python -m benchmarks fan2018/fig4to6`."
        for figure, said in LONG.values():
            claims.append(Claim(f"Fan 2018, {figure}", said, "not run in the short version.", NOT_REPRODUCED, why))
    requirements = [Requirement("plans not found", lost, 0)]
    return Report("Figs. 4 to 6: three robots", NOTES, [sheet], requirements, claims, measures)
