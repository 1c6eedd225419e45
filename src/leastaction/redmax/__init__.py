"""Motion in reduced coordinates through maximal ones (Sueda 2021): implicit integrators, stiff forces, adjoints."""

from leastaction.redmax.integrators import BDF, SDIRK2, LinearlyImplicitEuler

__all__ = ["BDF", "SDIRK2", "LinearlyImplicitEuler"]
