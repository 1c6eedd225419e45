"""Many jobs on many machines (extra `cluster`: Ray): sweeps whose results are on disk and can be taken up again."""

from leastaction.cluster.sweep import Sweep, sweep

__all__ = ["Sweep", "sweep"]
