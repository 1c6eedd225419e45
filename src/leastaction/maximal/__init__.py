"""Motion in body coordinates: every body has its own pose, joints are explicit constraints (Brüdigam 2020, 2023)."""

from leastaction.maximal.graph_ldu import GraphLDU
from leastaction.maximal.integrator import Maximal

__all__ = ["GraphLDU", "Maximal"]
