"""Derivatives of steps and rollouts."""

from leastaction.derivatives.linearize import action_blocks, backpropagate, linearize
from leastaction.derivatives.parameters import changed, parameter, parameter_jacobian

__all__ = ["action_blocks", "backpropagate", "changed", "linearize", "parameter", "parameter_jacobian"]
