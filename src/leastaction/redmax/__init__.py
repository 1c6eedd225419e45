"""Motion in reduced coordinates through maximal ones (Sueda 2021): implicit integrators, stiff forces, adjoints."""

from leastaction.redmax.body_forces import body_forces
from leastaction.redmax.integrators import BDF, SDIRK2, LinearlyImplicitEuler
from leastaction.redmax.jacobians import (
    jacobian,
    jacobian_product,
    jacobian_rate,
    jacobian_rate_slopes,
    jacobian_slopes,
    jacobian_transposed_product,
)
from leastaction.redmax.kinematics import body_poses

__all__ = [
    "BDF",
    "SDIRK2",
    "LinearlyImplicitEuler",
    "body_forces",
    "body_poses",
    "jacobian",
    "jacobian_product",
    "jacobian_rate",
    "jacobian_rate_slopes",
    "jacobian_slopes",
    "jacobian_transposed_product",
]
