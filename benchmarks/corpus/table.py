"""The table of one integrator over all families."""

import os
from typing import Any

import numpy as np

from benchmarks.corpus.families import GROUPS, scene
from benchmarks.corpus.figures import FINE, FLIP, measured
from benchmarks.report import Measure, Report, Requirement, Sheet

SEEDS, QUICK_SEEDS = 50, 2
"""Scenes of each family, with seeds from 0 on; CORPUS_SEEDS and CORPUS_FIRST take others."""
GAINS = (1e-6, 1e-3, 0.02)
"""Energy gains of one step, relative to the largest kinetic energy of its run, above which steps are counted."""
ABOVE = 1e-3
"""Energy above that of the start, relative to the same, above which runs are counted."""
DEEP, OPEN, EXCESS = 1e-6, 1e-8, 1e-6
"""Penetration [m], joint gap [m or rad] and excess of a limit [rad or m] that must not be exceeded."""

COLUMNS = [
    "family",
    "runs",
    "refused",
    "failed",
    "steps",
    *(f"gain > {gain:g}" for gain in GAINS),
    "largest gain",
    "above start",
    f"runs > {ABOVE:g}",
    "penetration [m]",
    "joint gap",
    "flips",
    "limit excess",
    "iterations: mean",
    "99 %",
    "most",
    "CPU µs a step",
]

NOTES = f"""Random scenes of each family, one for each seed. Refused: scenes that the integrator does not support. \
Failed: runs that end in a `ConvergenceError`; their earlier steps count. Gain: number of steps whose energy, less the \
work of motors and prescribed motions, rises by more than the stated share of the largest kinetic energy of the run; \
the largest such rise; the largest energy above that of the start, and the number of runs in which it exceeds \
{ABOVE:g}. Energy oscillations due to steps that are too long for a smooth motion count, too. Penetration: of contacts \
that the integrator reports, and of the lowest points of all shapes below the ground. Flips: steps in which a joint \
rotates by {FLIP:g} rad more than its velocities at both ends explain and differs from a run in {FINE} smaller steps, \
in scenes without springs and tendons between bodies. Iterations: of Newton's method, including all substeps. Time: \
median over the runs. Last row: sums, maxima, or means over all steps."""


def corpus_report(progress, integrator: Any, quick: bool) -> Report:
    """Run all families with one integrator."""
    name = type(integrator).__name__
    count = int(os.environ.get("CORPUS_SEEDS", QUICK_SEEDS if quick else SEEDS))
    first = int(os.environ.get("CORPUS_FIRST", 0))
    seeds = range(first, first + count)
    progress.total(count * sum(map(len, GROUPS.values())))
    sheets, everything = [], []
    for title, families in GROUPS.items():
        sheet = Sheet(f"{title}, {name}", COLUMNS)
        for family in families:
            runs = []
            for seed in seeds:
                progress.next(f"{family}, seed {seed}")
                runs.append(measured(scene(family, seed), integrator))
                progress.done()
            sheet.rows.append(figures_of(family, runs))
            everything += runs
        sheets.append(sheet)
    total = figures_of("all", everything)
    sheets[-1].rows.append(total)
    found = dict(zip(COLUMNS, total, strict=True))
    requirements = [
        Requirement("runs that fail", float(found["failed"]), 0.0),
        Requirement(f"steps that gain more than {GAINS[-1]:g}", float(found[f"gain > {GAINS[-1]:g}"]), 0.0),
        Requirement("flips", float(found["flips"]), 0.0),
        Requirement("deepest penetration [m]", found["penetration [m]"], DEEP),
        Requirement("largest joint gap [m or rad]", found["joint gap"], OPEN),
        Requirement("largest excess of a limit [rad or m]", found["limit excess"], EXCESS),
    ]
    counted = ["failed", *(f"gain > {gain:g}" for gain in GAINS), "flips", "iterations: mean", "99 %", "most"]
    measures = [Measure(what, "count", [found[what]]) for what in counted]
    title = f"{name} on the corpus of random contact scenes"
    return Report(title, NOTES, sheets, requirements, measures=measures, seeds=list(seeds))


def figures_of(name: str, runs: list[dict]) -> list:
    """A row of the table; None where there are no steps."""
    taken = [run for run in runs if not run["refused"]]
    if not any(len(run["gains"]) for run in taken):
        failed = sum(bool(run["failure"]) for run in taken)
        return [name, len(runs), len(runs) - len(taken), failed, *[None] * (len(COLUMNS) - 4)]
    gains, iterations = (np.concatenate([run[key] for run in taken]) for key in ("gains", "iterations"))

    def largest(key: str) -> float:
        return max(run[key] for run in taken)

    counts = [float(iterations.mean()), float(np.percentile(iterations, 99)), int(iterations.max())]
    times = [1e6 * run["seconds"] / max(1, len(run["gains"])) for run in taken]
    return [
        *(name, len(runs), len(runs) - len(taken), sum(bool(run["failure"]) for run in taken), len(gains)),
        *(int((gains > bound).sum()) for bound in GAINS),
        *(float(gains.max(initial=0.0)), largest("gain"), sum(run["gain"] > ABOVE for run in taken)),
        *(largest("depth"), largest("open")),
        *(sum(run["flips"] for run in taken), largest("beyond")),
        *counts,
        float(np.median(times)),
    ]
