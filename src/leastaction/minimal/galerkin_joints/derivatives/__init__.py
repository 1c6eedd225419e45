"""Derivatives of the joint-wise rule: linearization, second derivatives, parameters, stacked rows for optimisers."""
