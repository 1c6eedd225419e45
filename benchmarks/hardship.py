"""Hard motions from random starts: drops, whips, piles and spins; what fails, flips, sinks or gains energy.

Every case of every study takes one seed after the other, until its share of the time is over: half an hour in all,
compiling apart, or HARDSHIP_MINUTES; and HARDSHIP_SEEDS seeds at most. `--quick` takes three of both. Each takes one
seed at least. The table says how many runs there were.
"""

import os
import time
from collections.abc import Iterator

from benchmarks import hard_chains, hard_drops, hard_scenes
from benchmarks.report import Report

LONG = True
FIRST = 1000
"""Other seeds than those that the code was worked on with."""

LOOPS = sum(len(methods) for *_, methods in hard_chains.CASES) + len(hard_drops.ROBOTS) + len(hard_scenes.KINDS)
"""How often studies go over the seeds."""


class Seeds:
    """Numbers from `FIRST` on; going over them ends after a time."""

    def __init__(self, most: int, seconds: float) -> None:
        self.most, self.seconds = most, seconds

    def __iter__(self) -> Iterator[int]:
        yield FIRST  # compiles
        end = time.perf_counter() + self.seconds
        for seed in range(FIRST + 1, FIRST + self.most):
            if time.perf_counter() > end:
                return
            yield seed


def run(progress, quick: bool = False) -> Report:
    """All studies; `quick`: a few minutes."""
    minutes = float(os.environ.get("HARDSHIP_MINUTES", "3" if quick else "30"))
    most = int(os.environ.get("HARDSHIP_SEEDS", "3" if quick else "100"))
    seeds = Seeds(most, 60.0 * minutes / LOOPS)
    progress.total(most * LOOPS)
    sheets, requirements = [], []
    for study in (hard_chains, hard_drops, hard_scenes):
        sheet, bounds = study.sheet(progress, seeds)
        sheets.append(sheet)
        requirements += bounds
    notes = f"Seeds from {FIRST} on, up to {most} or {minutes:g} minutes in all. Each study says what it counts."
    return Report("Hard motions", notes, sheets, requirements)
