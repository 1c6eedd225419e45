"""Motion in reduced coordinates through maximal ones (Sueda 2021): implicit integrators, constraints, friction."""

from leastaction.dynamics.hybrid import HybridSolution, InverseInertia, hybrid_dynamics, inverse_inertia_product
from leastaction.kinematics.reduced.state import body_poses, from_reduced_coordinates, reduced_coordinates
from leastaction.linear_implicit.bearings import Bearing
from leastaction.linear_implicit.constrained_euler import ConstrainedEuler
from leastaction.linear_implicit.constraints import (
    Constraint,
    MaximalConstraint,
    PrescribedMotion,
    PrescribedTwist,
    ReducedConstraint,
    Rows,
)
from leastaction.linear_implicit.hyper_reduced import HyperReduction
from leastaction.linear_implicit.maximal_euler import MaximalEuler, MaximalMap, taken_apart
from leastaction.linear_implicit.staggered import StaggeredProjections
from leastaction.mechanism.deformable import Network, add_chain, add_cloth, add_network, add_tetrahedra
from leastaction.redmax.integrators import BDF, SDIRK2, LinearlyImplicitEuler
from leastaction.redmax.jacobians import (
    jacobian,
    jacobian_product,
    jacobian_rate,
    jacobian_rate_slopes,
    jacobian_slopes,
    jacobian_transposed_product,
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
