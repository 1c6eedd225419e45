"""Direct collocation as implicit integrators, to compare with (Fan 2018, Section 5.3)."""

from leastaction.collocation.integrators import HermiteSimpson, ImplicitTrapezoidal

__all__ = ["HermiteSimpson", "ImplicitTrapezoidal"]


def __dir__() -> list[str]:
    return [*__all__]
