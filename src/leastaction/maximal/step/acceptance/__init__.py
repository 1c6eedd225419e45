"""Acceptance of a substep: energy balance, rotation limit, and the rollback to its start where it is rejected."""
