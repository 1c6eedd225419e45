"""Derivatives of the body-wise rule: linearization, second derivatives, and stacked rows for optimisers."""
