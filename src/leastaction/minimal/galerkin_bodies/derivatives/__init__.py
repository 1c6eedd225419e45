"""Derivatives of the body-wise rule: linearization, second derivatives, and the rows that optimisers take."""
