"""Dynamics in maximal (body) coordinates: every body has its own pose, joints are constraints (Brüdigam 2020, 2023)."""

from leastaction.linalg.graph.ldu import GraphLDU
from leastaction.maximal.integrators import Maximal

__all__ = ["GraphLDU", "Maximal"]


def __dir__() -> list[str]:
    return [*__all__]
