"""Hard motions from random starts: drops, whips, piles and spins; what fails, flips, sinks or gains energy."""

import os

from benchmarks import hard_chains, hard_drops, hard_scenes
from benchmarks.report import Report

SEEDS = range(1000, 1000 + int(os.environ.get("HARDSHIP_SEEDS", "12")))
"""Other seeds than those that the code was worked on with; HARDSHIP_SEEDS says how many."""


def run(progress) -> Report:
    """All studies."""
    sheets, requirements = [], []
    for study in (hard_chains, hard_drops, hard_scenes):
        sheet, bounds = study.sheet(progress, SEEDS)
        sheets.append(sheet)
        requirements += bounds
    first, last = SEEDS[0], SEEDS[-1]
    notes = f"Seeds {first} to {last}. Each study says what it counts; HARDSHIP_SEEDS=n takes n seeds."
    return Report("Hard motions", notes, sheets, requirements)
