"""Many robots at once: `simulate` runs a batch of states, or of parameters, on all cores or on a GPU."""

from leastaction.batch.batch_simulate import simulate
from leastaction.batch.batch_simulator import Simulator
from leastaction.batch.run import BatchRun

__all__ = ["BatchRun", "Simulator", "simulate"]


def __dir__() -> list[str]:
    return [*__all__]
