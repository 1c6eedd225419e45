"""Many robots at once: `simulate` runs a batch of states, or of parameters, on all cores or on a GPU."""

from leastaction.batch.run import BatchRun
from leastaction.batch.simulate import simulate
from leastaction.batch.simulator import Simulator

__all__ = ["BatchRun", "Simulator", "simulate"]


def __dir__() -> list[str]:
    return [*__all__]
