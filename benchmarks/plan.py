"""In which order all benchmarks run, and how long each may take: those that readers ask for first come first."""

import math
from dataclasses import dataclass

from benchmarks.catalogue import Entry

SLACK, COMPILING = 4.0, 300.0
"""A benchmark is stopped when it used its budget so many times, and this [s] for kernels that are not in the cache."""


@dataclass(frozen=True)
class Budget:
    """CPU seconds, with imports, of the short and of the long version, where kernels are in the cache."""

    quick: float
    full: float

    def of(self, quick: bool) -> float:
        """Of one version."""
        return self.quick if quick else self.full


BUDGETS: dict[str, Budget] = {}
"""In the order in which they run."""


def ordered(entries: list[Entry]) -> list[Entry]:
    """As `BUDGETS` has them; those that it does not know come last."""
    place = {name: k for k, name in enumerate(BUDGETS)}
    return sorted(entries, key=lambda entry: place.get(entry.name, len(place)))


def budget(name: str, quick: bool) -> float:
    """CPU seconds that a benchmark should take at most; infinite if nobody said."""
    return BUDGETS[name].of(quick) if name in BUDGETS else math.inf


def limit(name: str, quick: bool) -> float:
    """CPU seconds after which a benchmark is stopped."""
    return SLACK * budget(name, quick) + COMPILING
