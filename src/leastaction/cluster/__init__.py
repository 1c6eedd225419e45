"""Many jobs on many machines (extra `cluster`: Ray): sweeps and searches whose results are on disk and can go on."""

from leastaction.cluster.search import CrossEntropy, RandomSearch, Search, search
from leastaction.cluster.sweep import Sweep, sweep

__all__ = ["CrossEntropy", "RandomSearch", "Search", "Sweep", "search", "sweep"]


def __dir__() -> list[str]:
    return [*__all__]
