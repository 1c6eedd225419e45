"""Derivatives of steps and rollouts."""

from leastaction.derivatives.adjoint import adjoint, gradient
from leastaction.derivatives.linearize import action_blocks, backpropagate, linearize

__all__ = ["action_blocks", "adjoint", "backpropagate", "gradient", "linearize"]
