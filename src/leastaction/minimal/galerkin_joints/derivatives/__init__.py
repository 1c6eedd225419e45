"""Derivatives of the joint-wise rule: linearization, second derivatives, parameters, rows for optimisers."""
