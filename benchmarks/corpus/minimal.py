"""`Minimal` on random contact scenes: failures, energy gains, penetration, flips, limits, iterations, time."""

import leastaction as la
from benchmarks.corpus.table import corpus_report
from benchmarks.report import Report

LONG = True


def run(progress, quick: bool = False) -> Report:
    """All families; quick: two seeds."""
    return corpus_report(progress, la.Minimal(), quick)
