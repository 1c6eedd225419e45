"""Derivatives of steps and rollouts."""

from leastaction.derivatives.linearize import action_blocks, backpropagate, linearize

__all__ = ["action_blocks", "backpropagate", "linearize"]
