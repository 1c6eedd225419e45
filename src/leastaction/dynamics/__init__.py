"""Classical dynamics in joint coordinates: the yardstick for everything else.

Functions take the mechanism first, then positions q [rad or m], shape (nq,), velocities v [rad/s or m/s], shape (nv,),
accelerations a [rad/s² or m/s²], shape (nv,), or generalised forces u [N m or N], shape (nv,). Forces of the
mechanism's own springs, dampers and constant wrenches are in `passive_forces`; inverse and forward dynamics leave them
to the caller, as Pinocchio's and MuJoCo's do. Loops are not closed here: these are the dynamics of the tree.
"""

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
from leastaction.dynamics.centroidal import centroidal_inertia, centroidal_momentum_matrix
from leastaction.dynamics.loops import close_loops, loop_jacobian
from leastaction.dynamics.regressor import inertial_parameters, inverse_dynamics_regressor

__all__ = [
    "bias_forces",
    "body_jacobian",
    "body_poses",
    "body_twists",
    "center_of_mass",
    "centroidal_inertia",
    "centroidal_momentum",
    "centroidal_momentum_matrix",
    "close_loops",
    "com_jacobian",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "gravity_forces",
    "inertial_parameters",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "inverse_dynamics_regressor",
    "kinetic_energy",
    "loop_jacobian",
    "mass_matrix",
    "momentum",
    "passive_forces",
    "potential_energy",
]


def __dir__() -> list[str]:
    return [*__all__]
