"""Motion in reduced coordinates through maximal ones (Sueda 2021)."""

from leastaction.redmax.hybrid import HybridSolution, InverseInertia, hybrid_dynamics, inverse_inertia_product

__all__ = ["HybridSolution", "InverseInertia", "hybrid_dynamics", "inverse_inertia_product"]
