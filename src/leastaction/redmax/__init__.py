"""Motion in reduced coordinates through maximal ones (Sueda 2021): implicit integrators, constraints, friction."""

from leastaction.dynamics.hybrid import HybridSolution, InverseInertia, hybrid_dynamics, inverse_inertia_product
from leastaction.kinematics.reduced.state import body_poses, from_reduced_coordinates, reduced_coordinates
from leastaction.mechanism.building.deformable import Network, add_chain, add_cloth, add_network, add_tetrahedra
from leastaction.redmax.integrators import BDF, SDIRK2, LinearlyImplicitEuler
from leastaction.redmax.jacobians import (
    jacobian,
    jacobian_product,
    jacobian_rate,
    jacobian_rate_slopes,
    jacobian_slopes,
    jacobian_transposed_product,
)
from leastaction.redmax.linear_implicit import (
    Bearing,
    ConstrainedEuler,
    Constraint,
    HyperReduction,
    MaximalConstraint,
    MaximalEuler,
    MaximalMap,
    PrescribedMotion,
    PrescribedTwist,
    ReducedConstraint,
    Rows,
    StaggeredProjections,
    taken_apart,
)
from leastaction.redmax.step.body_forces import body_forces

__all__ = [
    "BDF",
    "SDIRK2",
    "Bearing",
    "ConstrainedEuler",
    "Constraint",
    "HybridSolution",
    "HyperReduction",
    "InverseInertia",
    "LinearlyImplicitEuler",
    "MaximalConstraint",
    "MaximalEuler",
    "MaximalMap",
    "Network",
    "PrescribedMotion",
    "PrescribedTwist",
    "ReducedConstraint",
    "Rows",
    "StaggeredProjections",
    "add_chain",
    "add_cloth",
    "add_network",
    "add_tetrahedra",
    "body_forces",
    "body_poses",
    "from_reduced_coordinates",
    "hybrid_dynamics",
    "inverse_inertia_product",
    "jacobian",
    "jacobian_product",
    "jacobian_rate",
    "jacobian_rate_slopes",
    "jacobian_slopes",
    "jacobian_transposed_product",
    "reduced_coordinates",
    "taken_apart",
]


def __dir__() -> list[str]:
    return [*__all__]
