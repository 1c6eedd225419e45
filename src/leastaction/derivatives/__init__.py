"""Derivatives of steps and rollouts; `derivatives.torch` and `derivatives.jax` are bridges to those libraries."""

from leastaction.derivatives.adjoint import adjoint, gradient
from leastaction.derivatives.batch_gradient import batch_gradient
from leastaction.derivatives.by_parameters import parameter_jacobian
from leastaction.derivatives.checkpoints import piecewise
from leastaction.derivatives.linearize import action_blocks, backpropagate, linearize
from leastaction.derivatives.objective import SimulationObjective, reach
from leastaction.derivatives.objective_value import ObjectiveValue
from leastaction.parameters.parameters import parameter, with_parameters

__all__ = [
    "ObjectiveValue",
    "SimulationObjective",
    "action_blocks",
    "adjoint",
    "backpropagate",
    "batch_gradient",
    "gradient",
    "linearize",
    "parameter",
    "parameter_jacobian",
    "piecewise",
    "reach",
    "with_parameters",
]


def __dir__() -> list[str]:
    return [*__all__]
