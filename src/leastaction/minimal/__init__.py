"""Motion in joint coordinates by variational integrators (Fan 2018, Villanueva 2025)."""

from leastaction.minimal.integrators import Galerkin, Grounded, Midpoint, Minimal

__all__ = ["Galerkin", "Grounded", "Midpoint", "Minimal"]


def __dir__() -> list[str]:
    return [*__all__]
