"""Force laws, each implemented once for all formulations."""

from leastaction.forces.user import PointForce

__all__ = ["PointForce"]


def __dir__() -> list[str]:
    return [*__all__]
