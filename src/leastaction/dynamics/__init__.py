"""Classical dynamics in joint coordinates: the yardstick for everything else."""

from leastaction.dynamics.api import (
    bias_forces,
    body_jacobian,
    body_poses,
    body_twists,
    center_of_mass,
    centroidal_momentum,
    com_jacobian,
    forward_dynamics,
    forward_dynamics_derivatives,
    gravity_forces,
    inverse_dynamics,
    inverse_dynamics_derivatives,
    kinetic_energy,
    mass_matrix,
    momentum,
    passive_forces,
    potential_energy,
)
from leastaction.dynamics.loops import close_loops, loop_jacobian

__all__ = [
    "bias_forces",
    "body_jacobian",
    "body_poses",
    "body_twists",
    "center_of_mass",
    "centroidal_momentum",
    "close_loops",
    "com_jacobian",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "gravity_forces",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "kinetic_energy",
    "loop_jacobian",
    "mass_matrix",
    "momentum",
    "passive_forces",
    "potential_energy",
]
